# SPDX-License-Identifier: GPL-2.0-only
"""Computes metrics, tables and verdicts from the files of runs."""
