# SPDX-License-Identifier: GPL-2.0-only
"""Parsers of the files of a run, with a module for each program that writes them.

They raise AirtcpError with a one-line message that names the file if it is missing or malformed.
"""
