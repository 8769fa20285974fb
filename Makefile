# Everything a user needs, one line each. `make help` lists it.
PYTHON ?= python3
JOBS ?= 2
LANES := 5
SAMPLE ?=
FUZZ_S ?= 180
RESTARTS ?= 100
MUTANTS ?= 200
SEED ?= 1
CPU_S ?= 60
SEEDS ?= 1..1000
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.9
STAMP := $(VENV)/.installed
# Tests start hundreds of processes: none of them shall compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: conversations help setup collected demo demo-svg picture golden decisions test-python test test-all unsampled test-busy heavy conform mixed mixed-all mixed-demo fuzz isolation page containers waiting style lint scenarios both-worlds matrix sweep mutants steer restarts bench lock clean report-card guide

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## make .venv from requirements.lock and install the project into it

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jbodlab needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $(STAMP)

demo: setup  ## break a disk under load and watch the cluster survive it
	$(BIN)/jbodlab demo

demo-svg: setup  ## the same, and write docs/demo.svg, the picture in README.md
	$(BIN)/jbodlab demo --svg docs/demo.svg

# Types and contracts are checked beside the tests, with what processor time those leave. What they
# say is printed last unless only tests failed, so that the end always shows what is wrong.
test: style collected  ## linters, types, import contracts and all tests, of exhaustive ones a sample
	@nice $(MAKE) --no-print-directory lint >$(VENV)/lint.txt 2>&1 & lint=$$!; \
	$(BIN)/pytest -n $(LANES) --costs $(SEEDED); tests=$$?; \
	wait $$lint; lint=$$?; \
	if [ $$lint -ne 0 ] || [ $$tests -eq 0 ]; then cat $(VENV)/lint.txt; fi; \
	if [ $$lint -ne 0 ]; then echo "make test: types or import contracts are broken (above)"; fi; \
	if [ $$tests -ne 0 ]; then echo "make test: tests failed (pytest's summary names them)"; fi; \
	if [ $$((lint | tests)) -eq 0 ]; then echo "make test: linters, types, import contracts and tests are fine"; fi; \
	exit $$((lint | tests))

# Every worker collects all tests, and none finds what the others compile: the first time, two
# processes compile half of the tests each, before the workers start.
collected: setup
	@ls tests/__pycache__/*-pytest-*.pyc >/dev/null 2>&1 || { \
	$(BIN)/pytest --collect-only -qq tests/[a-j]*/ >/dev/null & \
	$(BIN)/pytest --collect-only -qq tests/[k-z]*/ >/dev/null; wait; }

test-all: test heavy  ## all of the above and what takes long, nothing sampled

# What .ci/run runs after `make test`: within an hour, both together, on two cores. Fuzzing, which
# keeps one core busy, runs beside what mostly waits; of both all is printed when it has ended.
heavy: unsampled  ## what takes long: exhaustive tests in full, fuzzing, restarts under load
	$(MAKE) --no-print-directory --jobs 2 --output-sync=recurse fuzz waiting

waiting: setup
	$(MAKE) --no-print-directory conform
	$(MAKE) --no-print-directory mixed
	$(MAKE) --no-print-directory restarts RESTARTS=10

# With SAMPLE=N `make test` draws its sample by that number, and this runs what it left out.
SEEDED = $(if $(SAMPLE),--randomly-seed=$(SAMPLE))
REST = $(if $(SAMPLE),--left-out $(SEEDED),--unsampled -m "sampled or sampled_among")
unsampled: setup  ## the exhaustive tests of which `make test` runs a sample, in full
	$(BIN)/pytest -n $(LANES) $(REST) --ignore=tests/mixed --costs

mixed: setup  ## brokers of Apache Kafka 3.9.2 with ZooKeeper under a checking client: disks, leaders, replicas
	$(BIN)/pytest -q --unsampled -m "not mixed_all" tests/mixed

mixed-all: setup  ## the same, long stories, and the recorded ones with one to three brokers of jbodlab, as a table
	$(BIN)/pytest -q --unsampled tests/mixed
	$(BIN)/python -m tests.mixed

mixed-demo: setup  ## break a disk of jbodlab's broker beside Apache Kafka's; Apache Kafka's controller elects
	$(BIN)/jbodlab demo --beside kafka

conform: setup  ## judge Apache Kafka by what was recorded of it, and tell how many wrong answers are noticed
	$(BIN)/python -m tests.conformance judge --runs 1
	$(BIN)/python -m tests.conformance judge --runs 1 --profile secured
	$(BIN)/python -m tests.conformance teeth
	$(MAKE) --no-print-directory conversations

CONVERSATIONS ?= 1..30
conversations: setup  ## tell jbodlab and Apache Kafka the same, seeds of CONVERSATIONS, and compare all they answer
	$(BIN)/python -m tests.conversations --release kafka-4.3 --seeds $(CONVERSATIONS)
	$(BIN)/python -m tests.conversations --release kafka-3.9 --seeds $(CONVERSATIONS)

fuzz: setup  ## random bytes into every decoder for FUZZ_S seconds
	$(BIN)/python -m tests.fuzz -max_total_time=$(FUZZ_S)

isolation: setup  ## transactions of seeds 1..200, judged by adya, a checker of isolation that is built by cargo
	$(BIN)/python -m tests.isolation

page: setup  ## the console and a report in a real Chromium: disks are broken by click, pictures drawn
	$(BIN)/python -m tests.browser

containers: setup  ## the image and both compose files in a container engine; SPARK=--spark: the image with Spark, too
	$(BIN)/python -m tests.containers $(SPARK)

test-busy: setup  ## all tests beside six loops that keep the machine busy
	$(BIN)/python -m tests.busy

OTHER_VENV = build/venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# What can differ from one Python to the next: the rules, sockets, Spark's workers, a real cluster.
QUICK := $(foreach room,protocol broker/core controller/core simulation/core,tests/$(room)) \
	tests/analytics/test_session.py tests/integration/test_starts.py

test-python:  ## the quick part, about 3 minutes, on another Python: make test-python PYTHON=python3.13
	@$(MAKE) --no-print-directory setup PYTHON=$(PYTHON) VENV=$(OTHER_VENV)
	$(OTHER_VENV)/bin/pytest -q -n $(JOBS) --dist worksteal --costs $(QUICK)

style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Its young objects get room: a seventh of its time was to look for garbage among them.
lint: style  ## linters, types and import contracts
	NODE_OPTIONS=--max-semi-space-size=128 $(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache

scenarios: setup  ## which numbered scenarios, and which bugs of Kafka, the tests show
	$(BIN)/python -m tests.scenarios
	$(BIN)/python -m tests.scenarios --bugs

both-worlds: setup  ## every scenario file in the simulation and in real processes, as a table
	$(BIN)/python -m jbodlab scenario run --all --world both

matrix: setup  ## crash brokers and controller of a simulated cluster at every disk operation, as a table
	$(BIN)/jbodlab swap-matrix

sweep: setup  ## ten thousand seeds of the simulated world, to the first violation
	$(BIN)/jbodlab simulate --seeds 1..10000 --jobs $(JOBS) --reduce build/reduced

# Hours of processor time; interrupted, it goes on where it was.
mutants: setup  ## plant MUTANTS bugs drawn by SEED, CPU_S seconds of seeds each; tell which nobody finds
	nice $(BIN)/python -m tests.mutation_testing --mutants $(MUTANTS) --seed $(SEED) --cpu-s $(CPU_S) --jobs $(JOBS)

steer: setup  ## write the table of what seeds draw anew, from a sweep over SEEDS
	mkdir -p build
	-$(BIN)/jbodlab simulate --seeds $(SEEDS) --jobs $(JOBS) --seconds 5 --json >build/sweep.json
	$(BIN)/python -m tests.steering build/sweep.json

picture: setup  ## write the picture of the rooms in docs/architecture.md
	$(BIN)/python -m tests.rooms

golden: setup  ## have Apache Kafka make the golden files anew, and compare
	$(BIN)/python -m tests.golden

decisions: setup  ## 3000 decisions drawn by SEED, by Apache Kafka's authorizer and by ours
	$(BIN)/python -m tests.random_decisions --seed $(SEED)

bench: setup  ## the benchmarks; PEER=kafka also measures Apache Kafka
	$(BIN)/python -m benchmarks $(if $(PEER),--peer $(PEER))

restarts: setup  ## RESTARTS clean restarts and as many kill -9 under producers of three clients
	$(BIN)/python -m tests.restarts --clean $(RESTARTS) --kill $(RESTARTS)

report-card: setup  ## every Kafka client against a cluster whose disks fail; writes docs/clients.md
	$(BIN)/python -m tests.clients
	$(BIN)/python -m tests.clients --secured

guide: setup  ## write the guide's reference from the code and build the site into build/guide, links checked
	$(BIN)/python -m tests.guide
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

lock: setup  ## write the lock files from requirements*.in
	$(BIN)/uv pip compile requirements.in --no-emit-index-url --generate-hashes --no-header --no-annotate --universal --python-version 3.11 -q -o requirements.lock
	$(BIN)/uv pip compile requirements-runtime.in -c requirements.lock --no-emit-index-url --generate-hashes --no-header --no-annotate --universal --python-version 3.11 -q -o requirements-runtime.lock
	$(BIN)/uv pip compile requirements-spark.in -c requirements.lock --no-emit-index-url --generate-hashes --no-header --no-annotate --universal --python-version 3.11 -q -o requirements-spark.lock

clean:  ## remove .venv, caches and the data of the example cluster
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis data build *.egg-info
