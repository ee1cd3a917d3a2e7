# Everything runs in .venv, which each target creates or refreshes as needed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test test-browser bench check docs results reference model format \
	fuzz kill licences hashes package clean

demo: $(READY)  ## train on real words, evaluate, predict, draw alignments
	$(BIN)/hardalign train --corpus cmudict --set strip_stress=true --set words=8000 --epochs 8 \
		--out runs/demo --overwrite
	$(BIN)/hardalign evaluate runs/demo
	printf 'action\nphone\nknight\nthought\n' | $(BIN)/hardalign predict runs/demo --scores
	$(BIN)/hardalign plot runs/demo action
	$(BIN)/hardalign plot runs/demo knight

# Let Python cache bytecode, or each of the many processes compiles everything anew.
test: $(READY)  ## the whole test suite
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 3 --dist worksteal

test-browser: $(READY)  ## the page of `hardalign serve` in Chromium
	$(BIN)/pytest tests/browser

bench: $(READY)  ## speed, memory and answers against another checkout: OTHER=DIR
	$(BIN)/python benchmarks/gates.py $(OTHER)

check: $(READY)  ## formatting, lint, types, layering
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)  ## the documentation site, in docs/_build
	$(BIN)/sphinx-build -W -q -b html docs docs/_build

results: $(READY)  ## the tables of results in the documents; RUNS=DIR adds runs to them
	$(BIN)/python tools/results.py $(RUNS)

reference: $(READY)  ## docs/reference/commands.md, from --help
	$(BIN)/python tools/commands.py

model: $(READY)  ## retrain a bundled model: minutes to an hour; NAME=is-g2p
	$(BIN)/python recipes/models.py $(NAME)

fuzz: $(READY)  ## damaged files, arguments, folders, requests, surroundings: ten minutes; FUZZ="--seconds N"
	PYTHONPATH=tools $(BIN)/python -m attack.fuzz $(FUZZ)

kill: $(READY)  ## training, split, lexicon, serve and others killed at random moments: KILL="--kills N"
	PYTHONPATH=tools $(BIN)/python -m attack.kill $(KILL)

licences: $(READY)  ## the licence of every package here; fails if one is not allowed
	$(BIN)/python tools/licences.py

hashes: $(READY)  ## rewrite requirements/hashes.txt after changing the pins there
	$(BIN)/python tools/hashes.py

package: $(READY)  ## wheel and source distribution in dist, tested in empty environments
	$(BIN)/python tools/package.py

format: $(READY)  ## fix what the formatter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis dist

# Packages with a hash must match it, the build backend included. PyTorch has none: which of its
# builds a machine gets depends on pip's index.
$(READY): pyproject.toml requirements/constraints.txt requirements/hashes.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement requirements/hashes.txt
	$(BIN)/python -m pip install --quiet --constraint requirements/constraints.txt \
		--no-build-isolation --editable '.[dev]'
	touch $@
