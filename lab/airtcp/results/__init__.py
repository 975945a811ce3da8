# SPDX-License-Identifier: GPL-2.0-only
"""The files of runs become metrics, tables and verdicts."""
