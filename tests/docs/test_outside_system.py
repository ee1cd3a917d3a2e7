"""The worked example of docs/howto/add-a-system.md: a package that brings a system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "hardalign-slope"
GUIDE = ROOT / "docs/howto/add-a-system.md"

AGREE = """
import numpy as np
import torch
from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Encoded
from hardalign.data.vocabulary import Alphabet, Vocabulary
from hardalign.systems.network import Network, collate
from hardalign.systems.model import Targets, Words
from hardalign.systems.model import build_model
from hardalign.systems.parameters import parameter_shapes

config = ModelConfig("hard-slope", embedding=3, encoder=4, decoder=5)
vocabulary = Vocabulary(Alphabet(tuple("abc"), ("N",)), Alphabet(tuple("xyz")))
model = Network(config, vocabulary).double().eval()
with torch.no_grad():
    for parameter in model.parameters():
        parameter.normal_()
tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
shapes = {name: tensor.shape for name, tensor in tensors.items()}
assert shapes == parameter_shapes(config, vocabulary)
pairs = [Encoded([1, 7, 4, 5, 6, 3], 1, [4, 5, 3]), Encoded([1, 6, 3], 0, [6, 6, 6, 4, 3])]
wanted = model.symbol_log_likelihood(collate(pairs)).detach().numpy()
runtime = build_model(config, tensors, vocabulary)
memory = runtime.read(Words.of(pairs))
lattice = runtime.follow(memory, Targets.of([0, 1], [pair.target for pair in pairs]))
assert np.abs(lattice.log_probs() - wanted).max() < 1e-10
state, previous = runtime.start(memory), np.array([1, 1])
for i in range(3):
    step = runtime.step(state, np.arange(2), previous)
    previous = np.array([pair.target[i] for pair in pairs])
    scores = step.log_probs[np.arange(2), previous - 3]
    assert np.abs(scores - wanted[:, i]).max() < 1e-10
    state = step.state
print("both sides agree")
"""


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """An environment in which the example is installed, as pip would leave it."""
    about = tmp_path / "hardalign_slope-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hardalign-slope\nVersion: 0.1\n")
    section = (EXAMPLE / "pyproject.toml").read_text().partition("entry-points.")[2]
    entry = section.splitlines()[1].replace('"', "")
    (about / "entry_points.txt").write_text(f"[hardalign.systems]\n{entry}\n")
    path = os.pathsep.join([str(tmp_path), str(EXAMPLE), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def run(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, *arguments]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_it_is_a_system_like_any_other(installed: dict[str, str], tmp_path: Path):
    out = str(tmp_path / "model")
    corpus = ["--corpus", "toy:copy", "--set", "words=60", "--epochs", "1"]
    # In the process that trains, which has torch.
    code = f"{AGREE}\nfrom hardalign.cli.main import main; main()"
    options = ["train", *corpus, "--system", "hard-slope", "--out", out]
    assert run(installed, "-c", code, *options) == "both sides agree\n"
    assert "hard-slope" in run(installed, "-m", "hardalign", "info", out)
    assert "hard-slope" in run(installed, "-m", "hardalign", "info")
    words = tmp_path / "words.txt"
    words.write_text("abc\n")
    line = run(installed, "-m", "hardalign", "predict", out, str(words), "--scores")
    source, _, score = line.rstrip("\n").split("\t")
    assert source == "abc"
    assert float(score) < 0
    graph = str(tmp_path / "slope.onnx")
    run(installed, "-m", "hardalign", "export", out, graph)
    greedy = str(EXAMPLE.parent / "onnx_greedy.py")
    assert run(installed, greedy, graph, "abc").strip() == line.split("\t")[1]
    # Where it is not installed, the model names what is missing.
    command = [sys.executable, "-m", "hardalign", "info", out]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "hard-slope" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_guide_lists_all_there_is_to_touch():
    guide = GUIDE.read_text(encoding="utf-8")
    files = [file for file in EXAMPLE.rglob("*") if file.suffix in (".py", ".toml")]
    assert len(files) == 2
    for file in files:
        assert f"`{file.relative_to(EXAMPLE).as_posix()}`" in guide
    lines = (EXAMPLE / "hardalign_slope.py").read_text().splitlines()
    assert f"`hardalign_slope.py`, {len(lines)} lines" in guide
