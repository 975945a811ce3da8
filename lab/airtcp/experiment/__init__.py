# SPDX-License-Identifier: GPL-2.0-only
"""What a user writes: experiments in YAML, checked before anything runs."""
