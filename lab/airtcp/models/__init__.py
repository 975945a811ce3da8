# SPDX-License-Identifier: GPL-2.0-only
"""Models from the literature, as functions, for comparison with measurements."""
