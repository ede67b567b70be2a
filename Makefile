# Two commands: `make demo` and `make test`. Each makes its own environment in .venv first, from the
# releases in locks/.
PYTHON ?= python3
VENV ?= .venv
MPICH ?= .venv-mpich
RELEASES ?= locked
EXTRAS ?= dev,docs
BIN := $(VENV)/bin
WORKERS ?= $(shell env -u OMP_NUM_THREADS nproc 2> /dev/null || echo 2)
# What `make quick` runs: tests from all floors, some of them over MPI. It takes some minutes on two
# cores, and CI runs it in several environments. So of tests/runs it has only the quick files, and no
# tests/house: what these look at in the sources is the same in all environments.
QUICK := tests/messages tests/crypto tests/parties tests/curator tests/evaluation \
  tests/protocols/test_head_count.py tests/runs/test_column_types.py \
  tests/runs/test_default_logs.py tests/runs/test_options.py tests/runs/test_possible.py \
  tests/runs/test_private_place.py \
  tests/runs/test_record.py tests/runs/test_refused_logs.py tests/runs/test_values.py
PYTEST := $(BIN)/python -m pytest
PARALLEL := --numprocesses=$(WORKERS) --dist=worksteal
ALONE := $(PYTEST) -ra -m
ONCE_MORE := --last-failed --last-failed-no-failures none

# Without bytecode every rank that a test starts would compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check lint types unit long quick newest oldest coverage mutants docs package mpich bench \
  lock schema release image clean

# DP-SUBN on made-up people, three parties and a curator as four processes: as printed, then
# corrected.
demo: $(VENV)/.done
	@echo 'As printed in 2016 (mode paper): Pathak noise, sequential updates, secure noise replacement under Paillier'
	$(BIN)/sottovoce run dp-subn --mode paper --parties 3 --epsilon 1 --classify income --out runs/as-printed --overwrite
	@echo
	@echo 'Corrected (the default)'
	$(BIN)/sottovoce run dp-subn --parties 3 --epsilon 1 --classify income --out runs/corrected --overwrite
	@echo
	@echo 'Our own: all pairs of attributes by a few secure sums'
	$(BIN)/sottovoce run adaptive-pairs --parties 3 --epsilon 1 --classify income --out runs/pairs --overwrite
	@echo
	@echo 'Side by side: people made up for the demo, three parties and a curator, Paillier keys of 3072 bits'
	$(BIN)/sottovoce compare runs/as-printed runs/corrected runs/pairs
	@echo
	@echo 'The tables are synthetic.csv in runs/as-printed, runs/corrected and runs/pairs; beside them, report.html'

test: lint types unit docs package

# Before a commit: under 90 seconds on two cores. It runs tests that touch what changed, none of
# them over MPI.
check: export SOTTOVOCE_TEST_SECONDS := 45
check: lint types
	tests=$$($(BIN)/python .ci/changed.py) && echo "$$tests" && \
	  $(PYTEST) -q -m 'not mpi and not timed and not hosts and not long' $(PARALLEL) $$tests

lint: $(VENV)/.done
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check .
	$(BIN)/codespell

types: $(VENV)/.done
	$(BIN)/mypy

# Tests run on every core, one thread each; those that are held to seconds run alone. The machine may
# be busy with other things, so those of them that fail are run once more. So are at most two of the
# others, which are named (.ci/tests).
unit long coverage: export SOTTOVOCE_MPICH := $(CURDIR)/$(MPICH)
check unit long quick coverage: export OMP_NUM_THREADS := 1
check unit long quick coverage: export OPENBLAS_NUM_THREADS := 1

unit: $(VENV)/.done $(MPICH)/.done
	.ci/tests $(BIN)/python -ra -m 'not timed and not long' $(PARALLEL) --durations=20
	$(ALONE) 'timed and not long' || $(ALONE) 'timed and not long' $(ONCE_MORE)
	$(PYTEST) -q --doctest-modules --pyargs sottovoce -p no:cacheprovider

# The tests that tests/long.txt names: one in twenty-five, with two thirds of the time.
long: $(VENV)/.done $(MPICH)/.done
	.ci/tests $(BIN)/python -ra -m 'long and not timed' $(PARALLEL) --durations=20
	$(ALONE) 'long and timed' || $(ALONE) 'long and timed' $(ONCE_MORE)

# A part of the tests: for other releases of Python and of the dependencies.
quick: $(VENV)/.done
	.ci/tests $(BIN)/python -q -m 'not timed and not long' $(PARALLEL) $(QUICK)

# The newest releases of the dependencies, and the least that pyproject.toml allows.
newest oldest:
	rm -f .venv-$@/.done
	$(MAKE) quick VENV=.venv-$@ RELEASES=$@ EXTRAS=test

# Which lines and branches the tests reach, ranks under mpiexec included. It takes twice as long as
# without counting.
coverage: $(VENV)/.done $(MPICH)/.done
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -ra -m 'not timed' $(PARALLEL)
	$(BIN)/coverage run -m pytest -ra -m timed
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --sort=cover | tail -n 40

# How many random changes of the code the tests notice: `make mutants MODULE=crypto/packing N=40 SEED=2`.
N ?= 100
SEED ?= 1
mutants: $(VENV)/.done
	PYTHONPATH=tools $(BIN)/python -m mutants $(MODULE) --number $(N) --seed $(SEED)

docs: $(VENV)/.done
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The example plug-ins, installed from their own wheels beside sottovoce's, and tested there.
package: $(VENV)/.done
	bash examples/check.sh "$(CURDIR)/$(VENV)"

bench: $(VENV)/.done
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/messages.py
	$(BIN)/python benchmarks/idle.py
	$(BIN)/python benchmarks/roles.py
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/paillier.py
	$(BIN)/python benchmarks/modulus_proof.py
	$(BIN)/python benchmarks/marginals.py
	$(BIN)/python benchmarks/thousand_parties.py
	$(BIN)/python benchmarks/plans.py
	$(BIN)/python benchmarks/counting.py
	$(BIN)/python benchmarks/judging.py
	$(BIN)/python benchmarks/dp_subn.py
	$(BIN)/python benchmarks/family.py parties=3,10
	$(BIN)/python benchmarks/randomizers.py
	$(BIN)/python benchmarks/pages.py
	$(BIN)/python benchmarks/users.py
	$(BIN)/python benchmarks/local.py 1
	$(BIN)/python benchmarks/jtree.py 1
	$(BIN)/python benchmarks/heads.py
	$(BIN)/python benchmarks/uneven.py seeds=1 skew=0,1
	$(BIN)/sottovoce reproduce all --quick

# A second environment with the other MPI: the two wheels cannot share one.
mpich: $(MPICH)/.done

$(VENV)/.done: pyproject.toml .ci/install $(wildcard locks/*.txt)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	.ci/install $(VENV) $(RELEASES) --editable '.[$(EXTRAS)]'
	touch $@

$(MPICH)/.done: pyproject.toml .ci/install $(wildcard locks/*.txt)
	test -x $(MPICH)/bin/python || $(PYTHON) -m venv $(MPICH)
	.ci/install $(MPICH) $(RELEASES) --editable '.[mpich]' 'coverage[toml]>=7.10'
	touch $@

# Write down the newest releases, which the two commands install from now on: one file for each
# Python found.
lock:
	$(PYTHON) .ci/lock.py $$(.ci/pythons)

# docs/report-schema.json, from the structs of report/report.py.
schema: $(VENV)/.done
	$(BIN)/python tests/report/test_report_schema.py

# Wheel and source distribution, each tested in a fresh environment. CONTRIBUTING.md says what else
# a release is.
release: $(VENV)/.done
	.ci/release "$(VENV)"

# The container image, built and tried without a registry and a daemon: docs/clusters.md.
image: $(VENV)/.done
	launch/cluster/image.sh $(BIN)/python

clean:
	rm -rf .venv* build dist site .coverage* .mypy_cache .ruff_cache .pytest_cache
