# SPDX-License-Identifier: GPL-2.0-only
"""Parameters become the shell script that a guest runs: network, workload, instruments."""
