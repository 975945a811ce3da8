# SPDX-License-Identifier: GPL-2.0-only
#
# demo       a small thesis-lan, default against aad: prints the table, writes report.html
# test       unit, system and KUnit tests; make test PYTEST=tests/unit for some of them
# test-debug all tests in User Mode Linux on a kernel with KASAN, UBSAN, lockdep and kmemleak
# fuzz       a million random inputs for the ACK policies, on such a kernel
# kcsan      a part of soak and fuzz on a kernel that finds data races
# soak       100,000 connections on x86-64 with SMP, under QEMU; make soak CONNECTIONS=40 for some
# series-check  builds the kernel after each patch of the series for posting; make series-check
#            PYTEST="-k postable-03" for one
# deb-check  builds Debian packages of a small kernel and boots it with the sample policy
# bpf-check  BPF programs choose ACK policies on x86-64 with lockdep; MPTCP; TCP's hooks are no-ops
# verify     soak, kcsan, fuzz, selftests, series-check, deb-check, bpf, test-debug, instructions,
#            in parts that resume; make verify STEPS="fuzz soak" for some (CONTRIBUTING.md)
# lint       style, types, and that packages import only downwards
# bench      virtual seconds per wall second, what stations and rates cost, ns-3 beside it (it
#            installs ns-3)
# instructions  what a received segment costs: plain Linux, and every ACK policy
# delivery   what a delivered gigabyte costs the kernel, by ACK policy
# selftests  the kernel's own tests of TCP, on plain Linux and on ours
# bianchi    saturated stations against Bianchi's model, and the picture of it in docs
# tables     writes the tables of docs/reference/experiments.md from the schema
# plan-hashes  records the hash of the plan of every case of experiments/, after a change of plans
# lock       writes the versions of Python's libraries (lab/requirements*.txt) from pyproject.toml
# clean      removes results; distclean: the cache of kernels and libraries too

CACHE := $(or $(AIRTCP_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airtcp)
PYTHON := python=$$(lab/setup.sh test) && PYTHONPATH=lab "$$python"
BENCH := python=$$(lab/setup.sh test) && PYTHONPATH=lab:tests/support "$$python"
CHECKPATCH := $(CACHE)/kernel/work-*/linux/scripts/checkpatch.pl

.PHONY: demo test test-debug fuzz soak kcsan series-check deb-check bpf-check verify lint bench \
	instructions delivery selftests bianchi tables plan-hashes lock clean distclean

demo:
	./airtcp run thesis-lan --set ack_policy=default,aad --set delay=0ms,10ms \
		--duration 10s --seeds 3 --out results/demo
	./airtcp report results/demo

test:
	$(PYTHON) -P -m pytest $(PYTEST)

test-debug:
	AIRTCP_TEST_DEBUG=1 $(MAKE) test PYTEST="$(or $(PYTEST),tests/system tests/determinism)"

fuzz:
	AIRTCP_TEST_FUZZ=1000000 $(MAKE) test PYTEST=tests/system/test_ackpol_fuzz.py

CONNECTIONS ?= 100000
soak:
	AIRTCP_SOAK=$(CONNECTIONS) $(MAKE) test PYTEST=tests/system/test_smp.py

kcsan:
	AIRTCP_SOAK=$(CONNECTIONS) $(MAKE) test PYTEST="-k race tests/system/test_smp.py"

series-check:
	AIRTCP_TEST_STEPS=1 $(MAKE) test PYTEST='tests/system/test_series.py $(PYTEST)'

deb-check:
	AIRTCP_TEST_DEB=1 $(MAKE) test PYTEST=tests/system/test_packages.py

bpf-check:
	AIRTCP_TEST_BPF=1 $(MAKE) test PYTEST="tests/system/test_bpf.py tests/system/test_no_op_hooks.py"

# make signals its child alone, which has to be Python.
verify:
	python=$$(lab/setup.sh verify) && exec env PYTHONPATH=lab "$$python" tests/verify.py \
		$(if $(AGAIN),--again) $(if $(SMALL),--small) $(STEPS)

# checkpatch does not understand the macros of tracepoints, and takes the name Taht for "that".
lint:
	$(PYTHON) -P -m ruff check
	$(PYTHON) -P -m ruff format --check
	python=$$(lab/setup.sh test) && PYTHONPATH=lab "$${python%/*}/lint-imports" --no-cache --no-logo
	$(PYTHON) -P -m mypy lab/airtcp lab/guest/set_policy.py tests/verify.py
	shellcheck airtcp lab/lock.sh lab/setup.sh lab/guest/modprobe .ci/run
	@ls $(CHECKPATCH) >/dev/null 2>&1 || ./airtcp kernel build
	set -- $(CHECKPATCH) && find kernel -name '*.[ch]' ! -path '*/trace/*' \
		! -path '*/core/tcp_ack_filter.c' -print0 | \
		xargs -0 perl "$$1" --no-tree --strict --terse --quiet --no-summary -f && \
		perl "$$1" --no-tree --strict --terse --quiet --no-summary --ignore TYPO_SPELLING \
			-f kernel/net/core/tcp_ack_filter.c

bench:
	$(BENCH) bench/speed.py
	$(BENCH) bench/stations.py
	$(BENCH) bench/ns3.py

instructions:
	$(BENCH) bench/instructions.py

delivery:
	$(BENCH) bench/delivery.py

selftests:
	$(PYTHON) tests/verification/selftests.py

bianchi:
	$(BENCH) bench/bianchi.py

tables:
	$(PYTHON) -P -m airtcp.experiment.doctables docs/reference/experiments.md

lock:
	lab/lock.sh

plan-hashes:
	$(PYTHON) -P tests/unit/test_plan_hashes.py

clean:
	rm -rf results .mypy_cache .pytest_cache .ruff_cache
	find lab tests bench -name __pycache__ -prune -exec rm -r {} +

distclean: clean
	rm -rf "$(CACHE)"
