# SPDX-License-Identifier: GPL-2.0-only
"""Checks that take hours: run in parts, resumed after interruptions, recorded by kernel."""
