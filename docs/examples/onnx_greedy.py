"""Greedy prediction with onnxruntime alone: python onnx_greedy.py FILE.onnx WORD ..."""

import json
import sys
from unicodedata import normalize

import numpy as np
from onnxruntime import InferenceSession


def run(graph, **inputs):
    outputs = graph.run(None, {name: np.asarray(value) for name, value in inputs.items()})
    return dict(zip((output.name for output in graph.get_outputs()), outputs, strict=True))


def greedy(encoder, step, about, word):
    layout, begin, unknown, end = (about[x] for x in ("format", "begin", "unknown", "end"))
    form, separator = layout["normalization"], layout["source_separator"]
    lemma, _, tags = word.partition("\t")
    lemma = lemma.lower() if layout["source_case"] == "lower" else lemma
    lemma, tags = (text if form == "none" else normalize(form, text) for text in (lemma, tags))
    tags = [about["tags"].get(tag, unknown) for tag in tags.split(layout["tag_separator"]) if tag]
    letters = filter(None, lemma.split(separator)) if separator else lemma
    source = [begin, *tags, *(about["letters"].get(letter, unknown) for letter in letters), end]
    state = run(encoder, source=[source], lengths=[len(source)], tags=[len(tags)])
    chosen = [begin]
    while chosen[-1] != end and len(chosen) <= about["length_limit"] * len(source):
        result = run(step, previous=chosen[-1:], **state)
        state |= {name[5:]: result[name] for name in result if name.startswith("next_")}
        chosen.append(end + result["log_probs"][0].argmax())  # column 0 is the end, 1 a letter
    return layout["target_separator"].join(about["target"][k] for k in chosen[1:] if k != end)


file = sys.argv[1]
encoder, step = map(InferenceSession, (file, file.removesuffix(".onnx") + ".step.onnx"))
about = json.loads(encoder.get_modelmeta().custom_metadata_map["hardalign"])
sys.stdout.writelines(greedy(encoder, step, about, word) + "\n" for word in sys.argv[2:])
