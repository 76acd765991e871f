# make demo   sets up .venv and shows what Ratchet does        make check   fast and strict: lint, types, layers, unit tests that are quick
# make test   sets up .venv and runs every test                make bench   prints every published figure with its baseline
# make soak   the long campaigns                               make docs    writes docs/reference from the code
# make site   builds the documentation as a site, strictly, into site/
# make wheel  builds the wheel into dist/                      make changelog  writes CHANGELOG.md from changelog.d
# make pictures  makes the pictures anew (needs Chromium)

PYTHON ?= python3
BIN    := .venv/bin
READY  := .venv/.ready
BENCH  := .venv/.bench
SITE   := .venv/.site
LONG   := tests/surfaces tests/loops
PARTS  := $(LONG) tests/contract tests/unit

# What `make check` has shown just before is left out by `make test CHECKED=1`: of tests/unit all but what is slow, and the
# properties, which it asks for a few examples only.
REST_OF_UNIT := $(if $(CHECKED),-m "slow or hypothesis")
BESIDE       := $(PARTS) $(if $(CHECKED),tests/architecture)

# Or each of a hundred processes would compile what it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test $(PARTS) others peers test-postgres check lessons units types static statistics bench soak docs site wheel changelog pictures clean

demo: $(READY)
	@$(BIN)/ratchet demo

# Two at a time, the longest first, the next as soon as one has ended, each in two processes: much of what the tests of the first
# two do is to wait, for servers, clients and sandboxes. Tests of one file share what they set up.
SPREAD := -p xdist --numprocesses 2 --dist loadfile

test: $(READY)
	@$(MAKE) --no-print-directory --jobs 2 $(LONG) others $(filter-out $(LONG),$(PARTS))

$(PARTS): $(READY)
	$(BIN)/python -m pytest $(SPREAD) $@ $(if $(filter %/unit,$@),$(REST_OF_UNIT))

others: $(READY)
	$(BIN)/python -m pytest $(BESIDE:%=--ignore=%)

# The tests of packages that `ratchet.compat` stands in for.
peers: $(READY)
	bash scripts/peers.sh

# The same tests on a Postgres: that of RATCHET_TEST_POSTGRES, else one that is started for them.
test-postgres: $(READY)
	RATCHET_TEST_STORE=postgres $(BIN)/python -m pytest -q $(SPREAD) $(ON_POSTGRES)

UNITS := lessons/test_credit failures/test_ingest failures/test_patterns lessons/test_recall lessons/test_portable \
  healing/test_purse failures/test_loops improving/test_settings lessons/test_lessons store/test_keeping test_client
ON_POSTGRES := $(UNITS:%=tests/unit/%.py) tests/loops/test_guard.py tests/loops/test_improve.py \
  tests/loops/test_live.py tests/loops/test_global.py tests/loops/test_heal.py

# Two at a time, since a machine has two cores at least, the longest first, the next as soon as one has ended.
check: $(READY)
	@$(MAKE) --no-print-directory --jobs 2 units lessons types static statistics

LESSONS := tests/unit/lessons tests/unit/failures
STATISTICS := tests/unit/gate tests/unit/evolving
QUICKLY := $(BIN)/python -m pytest -q --hypothesis-profile quick -m 'not slow'

lessons: $(READY)
	$(QUICKLY) $(LESSONS)

units: $(READY)
	$(QUICKLY) tests/unit $(LESSONS:%=--ignore=%) $(STATISTICS:%=--ignore=%)

statistics: $(READY)
	$(QUICKLY) $(STATISTICS)

types: $(READY)
	$(BIN)/mypy

static: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python docs/generate.py --check
	$(BIN)/python -m pytest -q tests/architecture

bench: $(BENCH)
	@for script in $(BENCHMARKS) figures_page; do $(BIN)/python benchmarks/$$script.py || exit 1; done

BENCHMARKS := hot_path store hook start learn grouping recall classification report gate statements optimizers guard guard_call guard_live sandbox domains clusters scale postgres redis_recall evolve serve secret_forms page overseer watch homes

soak: $(READY)
	$(BIN)/python -m pytest -m soak --soak
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile searching tests

docs: $(READY)
	$(BIN)/python docs/generate.py

site: $(SITE)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

wheel: $(READY)
	$(BIN)/python -m hatchling build -t wheel -d dist

changelog: $(READY)
	$(BIN)/python scripts/changelog.py

pictures: $(SITE)
	$(BIN)/python scripts/pictures.py

INSTALLING := 2 of 2: installing Ratchet and its packages into .venv (the longest part; silent until done)

# A Debian Python may lack ensurepip: then the environment borrows the pip that is there.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Ratchet needs Python 3.11 or newer; \
	this is %s. Name another: make PYTHON=python3.12" % sys.version.split()[0])'
	@echo "1 of 2: making the environment .venv"
	@if $(PYTHON) -m venv .venv >/dev/null 2>&1; then \
	   echo "$(INSTALLING)"; \
	   $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'; \
	 else \
	   rm -rf .venv && $(PYTHON) -m venv --without-pip .venv && \
	   echo "$(INSTALLING)" && \
	   $(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check -e '.[dev]'; \
	 fi
	@touch $@

$(BENCH) $(SITE): .venv/.%: $(READY)
	@echo "installing the packages of [$*] into .venv"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 \
	  && $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]' \
	  || $(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist site
