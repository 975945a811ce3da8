# SPDX-License-Identifier: GPL-2.0-only
# demo   a small thesis-lan: the default policy against aad, ends with the table and report.html
# test   unit, system and KUnit tests        lint   style and types
# bench  virtual seconds per wall second     clean  results; distclean: the cache too

PYTHON = $$(lab/setup.sh)
RUN_PYTHON = python=$(PYTHON) && PYTHONPATH=lab "$$python"
DEMO = results/demo
LINUX_SCRIPTS = $$(ls -d $${AIRTCP_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/airtcp}/kernel/work-*/linux | head -n 1)/scripts

.PHONY: demo test lint bench clean distclean

demo:
	./airtcp run thesis-lan --set ack_policy=default,aad --set delay=0ms,50ms \
		--duration 10s --seeds 3 --out $(DEMO)
	./airtcp report $(DEMO)

test:
	$(RUN_PYTHON) -m pytest $(PYTEST)

lint:
	$(RUN_PYTHON) -m ruff check
	$(RUN_PYTHON) -m ruff format --check
	$(RUN_PYTHON) -m mypy lab/airtcp
	@command -v shellcheck >/dev/null || { echo "shellcheck is missing: apt-get install shellcheck"; exit 1; }
	shellcheck airtcp lab/setup.sh lab/guest/init .ci/run
	@[ -e $(LINUX_SCRIPTS)/checkpatch.pl ] || ./airtcp kernel build
	find kernel lab/guest -name '*.[ch]' -print0 | \
		xargs -0 $(LINUX_SCRIPTS)/checkpatch.pl --no-tree --strict --terse --quiet -f

bench:
	$(RUN_PYTHON) -m pytest -s bench

clean:
	rm -rf results .mypy_cache .pytest_cache .ruff_cache
	find lab tests bench -name __pycache__ -prune -exec rm -r {} + 2>/dev/null || true

distclean: clean
	rm -rf "$${AIRTCP_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/airtcp}"
