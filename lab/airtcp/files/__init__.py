# SPDX-License-Identifier: GPL-2.0-only
"""Parsers of the files of a run, a module for each program that writes them.

They raise AirtcpError, with one line that names the file, if it is missing, truncated or malformed.
"""
