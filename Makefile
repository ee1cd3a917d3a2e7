# Everything runs in .venv, which each target creates or refreshes as needed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test bench check format clean

demo: $(READY)  ## train on real words, evaluate, predict, draw alignments
	$(BIN)/hardalign train --corpus cmudict --strip-stress --words 8000 --epochs 8 \
		--out runs/demo --overwrite
	$(BIN)/hardalign evaluate runs/demo
	printf 'action\nphone\nknight\nthought\n' | $(BIN)/hardalign predict runs/demo --scores
	$(BIN)/hardalign plot runs/demo action
	$(BIN)/hardalign plot runs/demo knight

test: $(READY)  ## the whole test suite
	$(BIN)/pytest -n 2

bench: $(READY)  ## speeds, as ratios in one run
	$(BIN)/python benchmarks/speed.py

check: $(READY)  ## formatting, lint, types, layering
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## mend what the formatter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis dist

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[data,dev]'
	touch $@
