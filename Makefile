# Everything from a fresh clone: `make demo` and `make test` need only Python >= 3.11.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
DEMO := .venv-demo
SITE := docs/_build/html
# Hundreds of tests start the command, which starts a quarter of a second sooner from bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint browser test-slow fuzz test-lowest behaviour bench bench-peers bench-scaling paper paper-quick docs dist clean

$(STAMP): pyproject.toml
	@echo "Setting up $(VENV), once: a minute or two"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

# What the demo needs and no more: no tools for developers.
$(DEMO)/.installed: pyproject.toml
	@echo "Setting up $(DEMO), once: a minute or two, 800 MB with all dependencies"
	@test -x $(DEMO)/bin/python || $(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[plot,graphs]'
	@touch $@

demo: $(DEMO)/.installed
	$(DEMO)/bin/softvec demo --output demo-output

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m mypy --strict --follow-imports silent --cache-dir .mypy_cache/strict tests/embedding/typed_script.py
	$(VENV)/bin/lint-imports --no-logo
	$(PY) tools/house.py --check

# Chromium and playwright for the tests of pages. Where they cannot be installed those tests are skipped.
browser: $(STAMP)
	@sh tests/install_browser.sh $(PY)

test: lint browser
	$(PY) -m pytest -m 'not slow and not alone' -n 2 --dist loadfile
	$(PY) -m pytest -m 'alone and not slow'

test-slow: browser
	$(PY) -m pytest -m slow

# 200,000 damaged files through every reader, and the table in docs/reliability.md: some minutes.
fuzz: $(STAMP)
	$(PY) -m tests.fuzz.run --reads 200000 --seed 8 --record

# The lowest versions that pyproject.toml admits, in an environment of their own. Old packages warn of newer ones below them
# (matplotlib 3.9 of pyparsing 3.3), so warnings are no errors here.
test-lowest:
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct -e '.[dev]' 'pyparsing==3.2.*'
	.venv-lowest/bin/python -m pytest -m 'not slow' -W default

# The bits of fits, the text of commands and the public names, against the record in tools/behaviour.json.
behaviour: $(STAMP)
	$(PY) tools/behaviour.py compare

# The site, from the pages in docs and the examples, which are run. No network.
docs: $(VENV)/.docs
	$(PY) -m sphinx -b html -W --keep-going -q docs $(SITE)
	@echo "open $(SITE)/index.html"

$(VENV)/.docs: $(STAMP)
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $(VENV)/.docs

# Wheel and sdist; the wheel is installed into an empty environment, and the demo run from it, away from the source.
dist: $(STAMP)
	rm -rf dist .venv-dist
	$(PY) -m pip install --quiet --disable-pip-version-check build
	$(PY) -m build --outdir dist .
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[plot,graphs]"
	cd dist && ../.venv-dist/bin/softvec demo --output "$$(mktemp -d)/demo"

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
	rm -rf $(VENV) $(DEMO) .venv-lowest .venv-dist dist docs/_build docs/gallery docs/api/generated docs/figures/generated demo-output
