# SPDX-License-Identifier: GPL-2.0-only
"""Guests (User Mode Linux or QEMU): run a plan on a kernel image and write the files of a run."""
