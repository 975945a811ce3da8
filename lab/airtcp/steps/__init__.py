# SPDX-License-Identifier: GPL-2.0-only
"""Converts a testbed to the steps of a run: network, workload, probes."""
