# SPDX-License-Identifier: GPL-2.0-only
"""Experiments, which users write in YAML, checked before anything runs."""
