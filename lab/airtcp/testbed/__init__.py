# SPDX-License-Identifier: GPL-2.0-only
"""The testbed of a run: its nodes with their addresses, its flows with their ports."""
