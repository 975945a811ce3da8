# SPDX-License-Identifier: GPL-2.0-only
"""A read-only page on this machine for looking through finished sweeps."""
