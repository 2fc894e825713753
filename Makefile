# Everything from a fresh clone: `make demo` and `make test` need only Python >= 3.11.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed

.PHONY: demo test lint browser test-slow bench bench-peers bench-scaling paper paper-quick docs clean

$(STAMP): pyproject.toml
	@echo "Setting up $(VENV), once: a minute or two"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)
	$(VENV)/bin/softvec demo --output demo-output

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

# Chromium and playwright for the tests of pages. Where they cannot be installed those tests are skipped.
browser: $(STAMP)
	@sh tests/install_browser.sh $(PY)

test: lint browser
	$(PY) -m pytest -m 'not slow'

test-slow: browser
	$(PY) -m pytest -m slow

bench: $(STAMP)
	$(PY) -m benchmarks.core

bench-peers: $(STAMP)
	$(PY) -m benchmarks.peers

bench-scaling: $(STAMP)
	$(PY) -m benchmarks.scaling

paper: $(STAMP)
	$(PY) -m experiments

paper-quick: $(STAMP)
	$(PY) -m experiments --quick

clean:
	rm -rf $(VENV) demo-output
