# SPDX-License-Identifier: GPL-2.0-only
"""Runs on real hosts, over OpenSSH."""
