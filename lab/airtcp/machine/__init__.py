# SPDX-License-Identifier: GPL-2.0-only
"""The guest: a kernel image and a plan become the files of a run."""
