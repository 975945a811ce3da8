# SPDX-License-Identifier: GPL-2.0-only
# `make` lists the targets; CONTRIBUTING.md explains when to run them.

CACHE := $(or $(AIRTCP_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airtcp)
# Only demo and test install anything; see lab/packages.txt for the sets.
PYTHON = python=$$(lab/python.sh test) && PYTHONPATH=lab "$$python"
BENCH = python=$$(lab/python.sh test) && PYTHONPATH=lab:tests/support "$$python"
NS3 = python=$$(lab/python.sh bench) && PYTHONPATH=lab:tests/support "$$python"
VERIFY = python=$$(lab/python.sh verify) && PYTHONPATH=lab:tests/support "$$python"
TESTS = $(PYTHON) -P -m pytest
SYSTEM := tests/models tests/system tests/determinism
LINUX := /usr/src/linux-source-6.12.tar.xz
CHECKPATCH := $(CACHE)/checkpatch

.PHONY: help demo test test-unit test-all test-debug lint lint-python lint-shell lint-kernel verify fuzz soak \
	kcsan series-check deb-check packages-check bpf-check bpf-soak ackhold-check chroot-check kernels-check \
	interrupts selftests bench bench-peer \
	bench-reports bench-sweeps \
	instructions delivery bianchi growth hardware thesis tsq-paper tsq-fit tables man findings plan-hashes \
	tournament tournament-full wheel packages lock clean distclean

help: ## this list
	@sed -En 's/^([a-z-]+):.*## (.*)/\1\t\2/p' Makefile | expand -t 16

# A wheel in dist/ saves building the kernel, if it has the same patches and configuration.
WHEEL := $(lastword $(sort $(wildcard dist/airtcp-*.whl)))
demo: ## a small thesis-lan with default, aad and auto: prints a table, writes report.html
ifdef WHEEL
	./airtcp setup --yes run
	./airtcp kernel import $(WHEEL) || ./airtcp setup --yes
else
	./airtcp setup --yes
endif
	./airtcp demo

test: ## unit, system and KUnit tests except slow ones; PYTEST="-k radio": only those
	./airtcp setup --yes test
ifdef PYTEST
	$(TESTS) $(PYTEST)
else
	$(MAKE) --no-print-directory test-unit
	./airtcp kernel build
	$(TESTS) $(PARALLEL) 4 -m "not slow" $(SYSTEM)
endif

# One test file per process; at most one process per processor, and at most the number that follows.
PARALLEL := -n logical --dist loadfile --maxprocesses

test-unit: ## unit tests, which need neither a kernel nor a browser
	$(TESTS) $(PARALLEL) 8 tests/unit

test-all: test-unit ## all tests, including slow ones
	$(TESTS) $(SYSTEM)

lint: lint-python lint-shell lint-kernel ## check style, types and imports between packages

lint-python: ## only the checks of Python
	$(PYTHON) -P -m ruff check
	$(PYTHON) -P -m ruff format --check
	python=$$(lab/python.sh test) && PYTHONPATH=lab "$${python%/*}/lint-imports" --no-cache --no-logo
	$(PYTHON) -P -m mypy lab/airtcp lab/debs.py lab/wheel.py lab/hatch_build.py tests bench

lint-shell: ## only the checks of shell scripts
	python=$$(lab/python.sh test) && \
		shellcheck -x airtcp dkms/ackhold/50-airtcp-ackhold lab/airtcp/hosts/agent.sh lab/environment.sh \
			lab/hostapd.sh lab/lock.sh lab/python.sh lab/setup.sh lab/guest/modprobe packaging/airtcp \
			packaging/debian/*.p*inst packaging/debian/*.p*rm .ci/run

# checkpatch does not understand the macros of tracepoints and tables of macros, and considers the
# name Taht a misspelling of "that". Without the whole tree, it does not know struct Qdisc. BPF programs
# need some of the kernel's own definitions.
AIRSIM_TABLES := include/uapi/linux/airsim.h $(addprefix drivers/net/wireless/virtual/airsim/,config.h \
	control.h netlink.c)
BPF_TYPES := tools/testing/selftests/bpf/progs/bpf_ackpol.h
ACKHOLD := $(addprefix dkms/ackhold/,ackhold.h sch_ackhold.c) $(wildcard tests/guest/ackhold/*.c)
lint-kernel: ## only the checks of C, with checkpatch.pl
	@[ "$(CHECKPATCH)/checkpatch.pl" -nt $(LINUX) ] || { \
		rm -rf "$(CHECKPATCH)" "$(CHECKPATCH).new" && mkdir -p "$(CHECKPATCH).new" && \
		tar -C "$(CHECKPATCH).new" --strip-components=2 -xmf $(LINUX) --occurrence=1 --wildcards \
			'*/scripts/checkpatch.pl' '*/scripts/const_structs.checkpatch' '*/scripts/spelling.txt' && \
		mv "$(CHECKPATCH).new" "$(CHECKPATCH)"; }
	set -- "$(CHECKPATCH)/checkpatch.pl" && find kernel -name '*.[ch]' ! -path '*/trace/*' \
		! -path '*/core/tcp_ack_filter.c' $(AIRSIM_TABLES:%=! -path 'kernel/%') \
		! -path 'kernel/$(BPF_TYPES)' -print0 | \
		xargs -0 perl "$$1" --no-tree --strict --terse --quiet --no-summary -f && \
		perl "$$1" --no-tree --strict --terse --quiet --no-summary --ignore COMPLEX_MACRO \
			--ignore MACRO_ARG_REUSE --ignore MACRO_ARG_UNUSED --ignore TRAILING_SEMICOLON \
			--ignore MULTISTATEMENT_MACRO_USE_DO_WHILE -f $(AIRSIM_TABLES:%=kernel/%) && \
		perl "$$1" --no-tree --strict --terse --quiet --no-summary --ignore TYPO_SPELLING \
			-f kernel/net/core/tcp_ack_filter.c && \
		perl "$$1" --no-tree --strict --terse --quiet --no-summary --ignore VOLATILE \
			--ignore AVOID_EXTERNS -f kernel/$(BPF_TYPES) && \
		perl "$$1" --no-tree --strict --terse --quiet --no-summary --ignore CAMELCASE -f $(ACKHOLD)

interrupts: export AIRTCP_TEST_INTERRUPTS := 100
interrupts: ## Ctrl-C at 100 random instants of each subcommand; PYTEST="-k report" for some of them
	$(TESTS) tests/system/test_interrupt_instants.py $(PYTEST)

# make signals only its child, which must be Python.
verify: ## the checks in docs/reference/verification.md, takes hours; STEPS="fuzz bpf", AGAIN=1, SMALL=1
	python=$$(lab/python.sh verify) && exec env PYTHONPATH=lab "$$python" tests/verify.py \
		$(if $(AGAIN),--again) $(if $(SMALL),--small) $(STEPS)

test-debug: export AIRTCP_TEST_DEBUG := 1
test-debug: ## all tests in User Mode Linux on a kernel with KASAN, UBSAN, lockdep and kmemleak
	$(TESTS) $(or $(PYTEST),tests/system tests/determinism)

fuzz: export AIRTCP_TEST_FUZZ := 1000000
fuzz: ## a million random inputs for the ACK policies, on the same kernel
	$(TESTS) tests/system/test_ackpol_fuzz.py

CONNECTIONS ?= 100000
soak kcsan: export AIRTCP_SOAK := $(CONNECTIONS)
soak: ## 100,000 connections on x86-64 with SMP, in QEMU; CONNECTIONS=40 for fewer
	$(TESTS) tests/system/test_smp.py

kcsan: ## a part of soak and fuzz on a kernel that detects data races
	$(TESTS) -k race tests/system/test_smp.py

series-check: export AIRTCP_TEST_STEPS := 1
series-check: ## build a kernel after each patch for posting; PYTEST="-k postable-03" for one
	$(TESTS) tests/system/test_series.py $(PYTEST)

deb-check: export AIRTCP_TEST_DEB := 1
deb-check: ## build Debian packages of a small kernel and boot it with the sample policy
	$(VERIFY) -P -m pytest tests/system/test_packages.py

packages-check: export AIRTCP_TEST_PACKAGES := 1
packages-check: ## install, upgrade and purge the Debian packages in a minimal Debian 12
	$(VERIFY) -P -m pytest tests/system/test_debian_packages.py

chroot-check: export AIRTCP_TEST_CHROOTS := 1
chroot-check: ## install the wheel in minimal Debian 12, 13 and sid, and compare captures
	$(VERIFY) -P -m pytest tests/system/test_chroots.py

TRANSFERS ?= 1000
ackhold-check: export AIRTCP_TEST_ACKHOLD := $(TRANSFERS)
ackhold-check: ## the qdisc ackhold on Debian's kernels: builds, 1,000 transfers in QEMU; TRANSFERS=20
	$(TESTS) tests/system/test_ackhold_stock.py

kernels-check: export AIRTCP_TEST_KERNELS := 1
kernels-check: ## build and run plain kernels from all installed packages linux-source-*
	$(TESTS) tests/system/test_other_kernels.py

bpf-check: export AIRTCP_TEST_BPF := 1
bpf-check: ## select ACK policies with BPF, and policies in BPF, on x86-64; MPTCP; no-op hooks of TCP
	$(TESTS) tests/system/test_bpf.py tests/system/test_bpf_policies.py tests/system/test_bpf_packets.py \
		tests/system/test_bpf_command.py tests/system/test_no_op_hooks.py

bpf-soak: export AIRTCP_TEST_BPF := 1
bpf-soak: export AIRTCP_BPF_SOAK := $(or $(filter-out 100000,$(CONNECTIONS)),20000)
bpf-soak: ## 20,000 connections while ACK policies in BPF are replaced 1,000 times; CONNECTIONS=400
	$(TESTS) -k replaced tests/system/test_bpf_policies.py

selftests: ## the kernel's own TCP tests, on plain Linux and on ours
	$(VERIFY) tests/verification/selftests.py

instructions: ## count instructions per received segment, on plain Linux and by ACK policy
	$(BENCH) bench/instructions.py

bench: ## measure virtual seconds per wall second and the cost of stations and rates; compare with ns-3
	$(BENCH) bench/speed.py
	$(BENCH) bench/stations.py
	$(NS3) bench/ns3.py

bench-sweeps: ## measure the cost of a run in sweeps of up to 100,000 runs; PARTS="local indexed"
	$(BENCH) bench/sweep_scale.py $(PARTS)

bench-peer: ## compare the radio with ns-3's, and write docs/reference/bench-peer.md
	$(NS3) bench/peer.py

bench-reports: ## measure the CPU time of reports of 12 runs, 54 cases and all experiments
	$(BENCH) bench/reports.py

delivery: ## measure the kernel's CPU time per gigabyte received, by ACK policy
	$(BENCH) bench/delivery.py

bianchi: ## compare saturated stations with Bianchi's model, and write the plot in docs
	$(BENCH) bench/bianchi.py

growth: ## plot the growth of windows, Figure 2.9 of Statkus' dissertation, in docs
	$(BENCH) bench/growth.py

hardware: ## compare with measurements on real hardware, and write the errors and the plot in docs
	$(BENCH) bench/hardware.py

thesis: ## run thesis-lan as often as the thesis, and write the table of its results in docs; 15 minutes
	$(BENCH) bench/thesis.py

tsq-paper: ## run the experiments of the TSQ paper, and write their tables in docs; EXPERIMENTS=tsq-size
	$(BENCH) bench/tsq_paper.py $(EXPERIMENTS)

tsq-fit: ## fit the radio of the TSQ paper's experiments with 802.11ac, and write the errors in docs
	$(BENCH) bench/tsq_fit.py

tournament: ## compare all ACK policies, and write docs/reference/tournament.md
	./airtcp tournament --quick
	cp results/tournament/tournament.md docs/reference

tournament-full: ## the same under all conditions, 2 hours: docs/reference/tournament-full.md
	./airtcp tournament --full --out results/tournament-full
	cp results/tournament-full/tournament.md docs/reference/tournament-full.md

tables: ## write the tables of docs/reference/experiments.md from the schema
	$(BENCH) -P tests/support/doctables.py docs/reference/experiments.md

plan-hashes: ## record the hash of the plan of every case in experiments/, after a change of plans
	$(PYTHON) -P tests/unit/test_plan_hashes.py

findings: ## make the five reports of docs/reference/figures.md, and write their first sentences there
	$(PYTHON) -P tests/system/test_docs.py

man: ## write the manual page docs/reference/airtcp.1 from the command line's help
	python=$$(lab/python.sh test) && PYTHONPATH=lab "$$python" -P tests/unit/test_man_page.py

wheel: ## build the wheel, which contains the kernel and its root file system, and the sdist, in dist/
	$(PYTHON) -P lab/wheel.py dist

# A kernel for all hardware takes hours: KERNEL=no leaves it out, CONFIG=FILE selects a small one.
packages: ## Debian packages in dist/; KERNEL=no: without airtcp-kernel; CONFIG=FILE: its configuration
	python=$$(lab/python.sh verify) && PYTHONPATH=lab "$$python" -P lab/debs.py dist
ifneq ($(KERNEL),no)
	./airtcp kernel deb --out dist $(if $(CONFIG),--config '$(CONFIG)')
endif

lock: ## lock the newest versions of the Python libraries in lab/requirements*.txt
	lab/lock.sh

clean: ## remove results and caches of tools
	rm -rf results .mypy_cache .pytest_cache .ruff_cache
	find lab tests bench -name __pycache__ -prune -exec rm -r {} +

distclean: clean ## also remove the cache of kernels and libraries
	rm -rf "$(CACHE)"
