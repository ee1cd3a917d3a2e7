"""Greedy prediction with onnxruntime alone: python onnx_greedy.py FILE.onnx WORD ..."""

import json
import sys
from unicodedata import normalize

import numpy as np
from onnxruntime import InferenceSession


def greedy(encoder, step, about, word):
    layout, begin, unknown, end = (about[x] for x in ("format", "begin", "unknown", "end"))
    form, separator = layout["normalization"], layout["source_separator"]
    lemma, _, tags = word.partition("\t")
    lemma = lemma.lower() if layout["source_case"] == "lower" else lemma
    lemma, tags = (text if form == "none" else normalize(form, text) for text in (lemma, tags))
    source = [about["tags"].get(tag, unknown) for tag in tags.split(layout["tag_separator"]) if tag]
    letters = filter(None, lemma.split(separator)) if separator else lemma
    source = [begin, *source, *(about["letters"].get(letter, unknown) for letter in letters), end]
    memory = encoder.run(None, {"source": np.array([source]), "lengths": np.array([len(source)])})
    state = dict(zip(("attention_key", "output_key", "present", "h", "c"), memory, strict=True))
    chosen = [begin]
    while chosen[-1] != end and len(chosen) <= about["length_limit"] * len(source):
        feed = {"previous": np.array(chosen[-1:]), **state}
        log_probs, _alpha, state["h"], state["c"] = step.run(None, feed)
        chosen.append(end + log_probs[0].argmax())  # column 0 is the end, column 1 the first letter
    return layout["target_separator"].join(about["target"][k] for k in chosen[1:] if k != end)


encoder, step = map(InferenceSession, (sys.argv[1], sys.argv[1].replace(".onnx", ".step.onnx")))
about = json.loads(encoder.get_modelmeta().custom_metadata_map["hardalign"])
sys.stdout.writelines(greedy(encoder, step, about, word) + "\n" for word in sys.argv[2:])
