# Two commands on a bare machine (Python 3.11, make, git): `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
FOLDER ?=
MODEL ?=
LANE ?=
TASKS ?=
SUITE ?= agentdojo
RECORD ?=
LOOP ?=
ANEW ?=
SEED ?=
COUNT ?=
ACCEPT ?=
# uv trusts what the system trusts, as pip does: a company's own certificates work too.
export UV_SYSTEM_CERTS := 1
# What is compiled is kept: else each worker of the tests compiles them all, and each process of theirs compiles Actum.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo studio studio-parts test docs reference gallery wheel interop chaos mutants lint check fmt lock rules shape isolation approval bench fit results local live clean
help:
	@echo "make demo [FOLDER=path] [MODEL=name]   run the examples, make studio   see their runs in a browser, make test   run the tests,"
	@echo "make lint   format, lint, types and import rules, make check   lint and test, make docs   build the site of the docs, make reference   write its reference from the code, make gallery   draw its pictures, make wheel   prove a built wheel in bare environments, make chaos   test with all cases, make mutants   see which changes of the core no test notices, make engines   test workers with each version of the queue that is allowed, make interop   try it with real MCP servers, hosts and suites, make fmt   format, make rules   rule → tests, make shape   measure the code, make isolation   compare what sub-agents see, make approval   compare runs that wait, make bench   measure beside the peers, make fit MODEL=name [SUITE=] [TASKS=] [LANE=]   what fits into one answer of a model, make results   write docs/results.md from the records, make local ACCEPT=1   try it with a small real model, make live [MODEL=name]   one small run on each wire whose key is there, make lock   pin versions, make clean"

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Actum needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || \
	  { echo "$(PYTHON) can't make a virtual environment; on Debian: apt install python3-venv"; exit 1; }
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

demo: $(READY)
	@rm -f out/runs/music.json* out/runs/corpus.json*
	$(BIN)/actum run examples/music/producer.json --save out/runs/music.json
	$(BIN)/actum run examples/corpus/corpus.json --save out/runs/corpus.json $(if $(FOLDER),-i "folder=$(FOLDER)") $(if $(MODEL),--model "$(MODEL)")

# Opens the Studio on the examples, and on what `make demo` has left of their runs.
studio: $(READY)
	@test -e out/runs/corpus.json || $(MAKE) --no-print-directory demo
	$(BIN)/actum studio examples --runs out/runs

# What only the tests of the pages in a browser use (the Studio, the site): axe-core, from npm, by its lock file.
studio-parts:
	@cd tests/studio/npm && npm ci --silent --ignore-scripts --no-audit --no-fund

test: $(READY)
	$(BIN)/python -m pytest -n 4 --dist worksteal --durations 10

lint: $(READY)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache

# Builds the wheel, installs it where nothing else is (the core alone, each extra alone), and runs programs of users
# with it, which both checkers judge.
wheel: $(READY)
	@rm -rf out/wheel
	@$(BIN)/uv build --quiet --wheel --out-dir out/wheel
	@$(BIN)/uv venv --quiet --python $(BIN)/python out/wheel/venv
	@$(BIN)/uv pip install --quiet --python out/wheel/venv/bin/python "$$(echo out/wheel/*.whl)[openai]"
	ACTUM_PYTHON=$(CURDIR)/out/wheel/venv/bin/python $(BIN)/python -m pytest tests/wheel
	@for extra in "" $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"])'); do \
	  $(BIN)/uv venv --quiet --clear --python $(BIN)/python out/wheel/alone && \
	  $(BIN)/uv pip install --quiet --python out/wheel/alone/bin/python "$$(echo out/wheel/*.whl)$${extra:+[$$extra]}" && \
	  (cd out/wheel && alone/bin/python $(CURDIR)/tests/wheel/alone.py $$extra) || exit 1; done

# Tries it with parts that nobody here wrote: real MCP servers, the suite of conformance, the Inspector, other clients
# and frameworks, each in an environment of its own. Where no registry can be reached, it says so and is skipped.
interop: $(READY)
	@$(BIN)/python -m interop.parts || { code=$$?; test $$code = 3 && test -z "$$ACTUM_INTEROP" && exit 0 || exit 1; }; \
	  $(BIN)/python -m pytest interop -n 2 --timeout 300 --durations 5

# Everything that the tests can try: more kills and cases, an hour rather than minutes. What runs came to under faults
# is written into the table of docs/scale.md.
chaos: $(READY)
	ACTUM_EFFORT=all $(BIN)/python -m pytest -n 2 --timeout 1200 --durations 20; code=$$?; \
	  $(BIN)/python -m tests.runs.tally && exit $$code

# Changes the core at random places (SEED, COUNT) and says which changes no test has noticed.
mutants: $(READY)
	@$(BIN)/python -m tests.mutants $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

# The tests of workers with the lowest and the highest version of the queue's engine that pyproject.toml allows.
engines: $(READY)
	@engine=$$($(BIN)/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; print(next(one for one in extras["workers"] if one.startswith("procrastinate")))') && \
	for which in lowest-direct highest; do \
	  $(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python out/engines/$$which && \
	  $(BIN)/uv pip install --quiet --python out/engines/$$which/bin/python --require-hashes -r requirements.lock && \
	  $(BIN)/uv pip install --quiet --python out/engines/$$which/bin/python --no-deps --editable . && \
	  $(BIN)/uv pip install --quiet --python out/engines/$$which/bin/python --no-deps --reinstall-package procrastinate \
	    --resolution $$which "$$engine" && \
	  out/engines/$$which/bin/python -c 'from importlib.metadata import version; print("procrastinate", version("procrastinate"))' && \
	  ACTUM_TEST_POSTGRES=required out/engines/$$which/bin/python -m pytest -n 0 -k postgres \
	    tests/contracts/test_queue_port.py tests/runs/test_faults.py tests/runs/test_deliveries.py || exit 1; done

check: lint test

fmt: $(READY)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# Resolves anew within pyproject.toml's bounds. The lock names versions and hashes, never where they come from.
lock: $(READY)
	$(BIN)/uv export --quiet --all-extras --all-groups --no-emit-project --no-header --no-annotate \
	  --format requirements.txt --output-file requirements.lock

rules: $(READY)
	@$(BIN)/python tests/rules/manifest.py

# Builds the site into out/site; a page without a place, or a link or an anchor that leads nowhere, ends it.
docs: $(READY)
	@$(BIN)/python docs/generate --check
	$(BIN)/python docs/site

# Writes the pages of docs/reference anew from what the code knows; the tests fail where they are stale.
reference: $(READY)
	@$(BIN)/python docs/generate

# Draws the pictures of the gallery anew, from runs without a model, and takes those of the Studio, with Chromium.
gallery: $(READY)
	@$(BIN)/python docs/gallery >/dev/null
	@$(BIN)/python docs/studio

# Measures the source into docs/design.md and beside the goals; it takes other packages too: docs/shape [NAME=]PATH …
shape: $(READY)
	@$(BIN)/python docs/shape --page docs/design.md
	@$(BIN)/python docs/shape src/actum --run actum=docs/shape/one_answer.py --goals docs/shape/goals.toml

# Captures anew what the sub-agents of four systems are sent, each in an environment of its own, into docs/isolation.md.
isolation: $(READY)
	@for system in pydantic-ai openai-agents langgraph; do \
	  $(BIN)/uv venv --quiet --allow-existing out/isolation/$$system && \
	  $(BIN)/uv pip install --quiet --python out/isolation/$$system/bin/python \
	    -r docs/isolation/requirements-$$system.txt || exit 1; done
	$(BIN)/python docs/isolation/capture.py --venvs out/isolation

# Runs the cases of approval in three systems anew, in the same environments (and a saver), into docs/approval.md.
approval: $(READY)
	@for system in pydantic-ai langgraph; do \
	  $(BIN)/uv venv --quiet --allow-existing out/isolation/$$system && \
	  $(BIN)/uv pip install --quiet --python out/isolation/$$system/bin/python \
	    -r docs/approval/requirements-$$system.txt || exit 1; done
	$(BIN)/python docs/approval/compare.py --venvs out/isolation

# Measures Actum beside its peers, each in an environment of its own, into docs/performance.md (about ten minutes).
bench: $(READY)
	$(BIN)/python -m bench.environments
	$(BIN)/python -m bench
	$(BIN)/python -m bench.turns

# Lets a model carry out tasks of a public suite, by Actum and in other ways, and reports; MODEL=gold are the suite's own
# answers (bench/README.md says more). A suite that can't be installed is named, and is not run.
fit: $(READY)
	@test -n "$(MODEL)" || { echo "name a model: make fit MODEL=openai:…, a program, turn, scripted, or gold"; exit 2; }
	@$(BIN)/python -m bench.environments actum-$(SUITE:agentdojo=fit) || { code=$$?; \
	  test $$code = 3 && test "$(MODEL)" = gold && test -z "$$ACTUM_SUITES" && echo "$(SUITE) is not run" && exit; exit $$code; }; \
	$(BIN)/python -m bench.fit run "$(MODEL)" --suite $(SUITE) $(if $(RECORD),--record) $(if $(LANE),--lane "$(LANE)") \
	  $(if $(TASKS),--tasks "$(TASKS)") $(if $(SEED),--seed "$(SEED)") \
	  $(if $(LOOP),--loop "$(LOOP)") $(if $(ANEW),--anew) || { code=$$?; test $$code = 3 || exit $$code; }

# Tries it with a small open model that is served on loopback, in an environment of its own (272 MB once). The model has
# its maker's terms: ACCEPT=1 accepts them. Where the packages can't be installed, it says so and is skipped.
local: $(READY)
	@$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python out/local; \
	  if ! $(BIN)/uv pip install --quiet --python out/local/bin/python -r tests/local/requirements.txt --editable .; then \
	    echo "the model and its server can't be installed here: the tests with a real model are skipped"; exit 0; fi; \
	  test -n "$(ACCEPT)" || { out/local/bin/python -m actum.models.local; echo "then: make local ACCEPT=1"; exit 2; }; \
	  ACTUM_LOCAL=$(CURDIR)/out/local/bin/python $(BIN)/python -m pytest tests/local -n 0 --timeout 600 --durations 3

# One small recorded run on each wire whose key is in the environment; of the others it says what they need.
live: $(READY)
	@$(BIN)/python -m tests.live $(MODEL)

# Writes docs/results.md from the records that `make fit … RECORD=1` and `make bench` have left.
results: $(READY)
	@$(BIN)/python -m bench.fit page

clean:
	rm -rf $(VENV) bench/.venvs out dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
