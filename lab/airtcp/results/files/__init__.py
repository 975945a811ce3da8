# SPDX-License-Identifier: GPL-2.0-only
"""Readers of what a run leaves in its directory, one for each program that writes there.

Each raises AirtcpError with one line that names the file when it is missing, cut short or not what
it should be.
"""
