# SPDX-License-Identifier: GPL-2.0-only
"""Metrics of runs in custom topologies."""
