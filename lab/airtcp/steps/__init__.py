# SPDX-License-Identifier: GPL-2.0-only
"""Parameters or a testbed become the shell script that a guest runs: network, workload, probes."""
