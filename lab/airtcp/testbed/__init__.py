# SPDX-License-Identifier: GPL-2.0-only
"""What a run is about: its nodes with their addresses, its flows with their ports."""
