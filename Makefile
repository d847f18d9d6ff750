# Everything is set up in .venv, from wheels alone: no compiler, no system package.
# Only Python 3.11+, pip and make are needed; the pip of that Python installs into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint clean

demo: $(READY)
	rm -rf demo
	$(BIN)/gridveil plan case39_epri --hide 10% --draws 5 --ledger demo/ledger.sqlite
	$(BIN)/gridveil release case39_epri --hide 10% --ledger demo/ledger.sqlite -o demo/release
	$(BIN)/gridveil verify demo/release
	@echo "open demo/release/report.html in a browser"

test: $(READY) lint
	$(BIN)/pytest -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Gridveil needs Python 3.11 or newer; set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv --clear --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --only-binary :all: \
		--constraint constraints.txt --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV)
