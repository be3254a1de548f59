RUN = python3 -m venv .venv && .venv/bin/pip install -q uv && .venv/bin/uv run --frozen

.PHONY: docs docs-serve demo cluster test thorough lint mutants model nightly soak bench jar wheel release clean

# Build the site into build/site; every link in it must lead somewhere.
docs:
	NO_MKDOCS_2_WARNING=1; export NO_MKDOCS_2_WARNING; $(RUN) --extra docs python -m mkdocs build --strict
	@echo "wrote build/site: open build/site/index.html, or run make docs-serve"

docs-serve:
	NO_MKDOCS_2_WARNING=1; export NO_MKDOCS_2_WARNING; $(RUN) --extra docs python -m mkdocs serve

demo:
	$(RUN) --extra demo python examples/flights.py

# Run the demo on the servers of docker-compose.yml, as local processes.
cluster:
	$(RUN) --extra test python examples/local_cluster.py --store --connect -- python examples/flights.py --remote {remote} --keep {warehouse}

test:
	$(RUN) --extra test python -m pytest

# The tests that take longer; .ci/run runs them after the others.
thorough:
	$(RUN) --extra test --extra docs python -m pytest -m "thorough and not nightly"

lint:
	$(RUN) --extra test sh -c 'ruff check && ruff format --check && mypy'

mutants:
	$(RUN) --extra test python tests/replay_mutants.py

# Explore the model of the protocol with Spin (Debian package spin); see docs/guarantees.md.
model:
	python3 tests/protocol/check.py

nightly:
	HYPOTHESIS_PROFILE=nightly; PYTEST_DEBUG_TEMPROOT=$${TMPDIR:-/tmp}; export HYPOTHESIS_PROFILE PYTEST_DEBUG_TEMPROOT; $(RUN) --extra test --extra docs python -m pytest -m "nightly or not nightly"

# Run all operations for half an hour in processes that are killed; see docs/guarantees.md. Not part of nightly.
soak:
	PYTHONPATH=tests; export PYTHONPATH; $(RUN) --extra test python -m soak --minutes 30

bench:
	$(RUN) --extra bench python -m benchmarks

jar:
	$(RUN) --extra test python connector/jvm/build.py

wheel:
	$(RUN) --extra test python -m hatchling build

# Check, build, try and tag a release: make release VERSION=0.1.0, or with DRY_RUN=1 without the tag. See docs/releasing.md.
release:
	$(RUN) --extra test python .ci/release.py $(if $(DRY_RUN),--dry-run) $(VERSION)

clean:
	rm -rf dist build connector/pyspark_versioned/jars spark-warehouse metastore_db derby.log .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find catalog connector tests -name __pycache__ -prune -exec rm -rf {} +
