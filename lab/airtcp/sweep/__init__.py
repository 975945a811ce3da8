# SPDX-License-Identifier: GPL-2.0-only
"""Executes runs: on all processors of this machine, or on the workers of a cluster."""
