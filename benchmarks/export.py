"""Whether the ONNX graphs of a model predict what hardalign predicts, and how fast each is.

    python benchmarks/export.py MODEL FILE [--words N]

Greedy predictions of the example in docs/examples, word by word, beside those of hardalign, word by
word as well. Times are of one processor, in milliseconds per word.
"""

from __future__ import annotations

import argparse
import runpy
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import onnxruntime

import hardalign
from hardalign.data.reading import read_examples
from hardalign.model_folder import find_model, load_folder
from hardalign.systems.export import export_onnx, step_file

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "onnx_greedy.py"


def one_by_one(predict: Callable[[str], str], words: list[str]) -> tuple[list[str], list[float]]:
    """Returns the predictions, and the processor's milliseconds for each."""
    predict(words[0])  # the first one pays for what is set up only once
    predictions, times = [], []
    for word in words:
        start = time.process_time()
        predictions.append(predict(word))
        times.append(1000 * (time.process_time() - start))
    return predictions, times


def onnx_predict(file: Path) -> Callable[[str], str]:
    """Returns the example's function, with the graphs on one thread."""
    sys.argv = [str(EXAMPLE), str(file)]
    example = runpy.run_path(str(EXAMPLE))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graphs = [onnxruntime.InferenceSession(one, options) for one in (file, step_file(file))]
    return lambda word: example["greedy"](*graphs, example["about"], word)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("file")
    parser.add_argument("--words", type=int, default=1000)
    options = parser.parse_args()
    predictor = hardalign.load(options.model)
    layout = predictor.description.format
    examples = list(read_examples(options.file, layout, "prediction"))[: options.words]
    words = [
        "\t".join([one.text, *([layout.tag_separator.join(one.tags)] if one.tags else [])])
        for one in examples
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        start = time.perf_counter()
        export_onnx(*load_folder(find_model(options.model)), file)
        print(f"exported in {time.perf_counter() - start:.2f} s")
        onnx, onnx_times = one_by_one(onnx_predict(file), words)
    ours, our_times = one_by_one(lambda word: predictor(word).text, words)
    equal = sum(a == b for a, b in zip(onnx, ours, strict=True))
    print(f"{equal} of {len(words)} words equal")
    for a, b, word in zip(onnx, ours, words, strict=True):
        if a != b:
            print(f"differs: {word}: {a} (onnxruntime), {b} (hardalign)")
    for name, times in (("onnxruntime", onnx_times), ("hardalign", our_times)):
        mean, median = statistics.mean(times), statistics.median(times)
        print(f"{name:<12}{mean:.2f} ms per word (median {median:.2f})")


if __name__ == "__main__":
    main()
