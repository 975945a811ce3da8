# SPDX-License-Identifier: GPL-2.0-only
"""What a user writes: experiments, their parameters and units, checked before anything runs."""
