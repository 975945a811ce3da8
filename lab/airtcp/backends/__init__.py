# SPDX-License-Identifier: GPL-2.0-only
"""Guests: User Mode Linux or QEMU, a kernel image and a plan become the files of a run."""
