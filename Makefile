# From a fresh clone: git, make, Python >= 3.11 and the package registry are all it takes.
#   make try     take sessions into .try/archive, then list and read them
#   make test    run the tests (more: make test ARGS='-k manifest')
#   make check   formatting, lint, types, and the doors between the rooms
#   make format  write what `make check` asks for
#   make docs    write the pages that come from the code

PYTHONS = python3.13 python3.12 python3.11 python3
BIN = .venv/bin
READY = .venv/.ready

# What another environment left behind must not reach into this one.
unexport PYTHONHOME PYTHONPATH VIRTUAL_ENV
export PIP_USER = 0

.PHONY: try test check format docs clean

try: $(READY)
	@sh samples/try.sh

test: $(READY)
	@$(BIN)/pytest -n auto $(ARGS)

check: $(READY)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/sqlfmt --check --quiet sql
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(READY)
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/sqlfmt --quiet sql

docs: $(READY)
	$(BIN)/python docs/generate.py

clean:
	rm -rf .venv .try build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# A command named python3.13 may be a stub, too old, or lack venv: each candidate is asked.
$(READY): pyproject.toml
	@for python in $(PYTHONS); do \
	  if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "setting up .venv with $$("$$python" --version) (once, about a minute) ..." >&2; \
	    "$$python" -m venv --clear .venv && $(BIN)/python -m pip install -qq -e '.[dev]' && touch $@ && exit; \
	    echo "could not set up .venv: see above, then run make again" >&2; exit 1; \
	  fi; \
	done; \
	echo "no Python >= 3.11 with venv among: $(PYTHONS); install one, or run make PYTHONS=/path/to/python3" >&2; exit 1
