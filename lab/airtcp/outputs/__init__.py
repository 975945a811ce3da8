# SPDX-License-Identifier: GPL-2.0-only
"""A run's files become figures, series, tables and files for other programs."""
