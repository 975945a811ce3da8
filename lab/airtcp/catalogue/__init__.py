# SPDX-License-Identifier: GPL-2.0-only
"""All experiments together, and what of the published figures they reproduce."""
