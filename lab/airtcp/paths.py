# SPDX-License-Identifier: GPL-2.0-only
"""Where the repository is, where a guest sees its directories, and files that others read."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

EXPERIMENTS_DIR = REPOSITORY / "experiments"

GUEST_DIR = "/run/tools"
"""Where the guest sees the directory of its programs; it is on its PATH."""

RUN_DIR_IN_GUEST = "/run/airtcp"
"""Where the guest sees the directory of the run."""

BEGAN = "began"
"""When the flows of a custom topology began, in ns of the guest's clock: a file of the run."""
