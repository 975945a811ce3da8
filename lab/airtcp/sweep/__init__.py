# SPDX-License-Identifier: GPL-2.0-only
"""Runs, one or many: here on all processors, or on the workers of a cluster."""
