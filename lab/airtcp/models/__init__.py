# SPDX-License-Identifier: GPL-2.0-only
"""The models that the literature gives for what the laboratory measures, as functions."""
