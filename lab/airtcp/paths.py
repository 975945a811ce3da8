# SPDX-License-Identifier: GPL-2.0-only
"""Where the repository is, where a guest sees its directories, and files that others read."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

EXPERIMENTS_DIR = REPOSITORY / "experiments"

_NEEDED = ("experiments", "kernel/patches/series", "lab/guest", "lab/requirements.txt")


def missing() -> str:
    """Why the repository's files cannot be found, in one line; "" where they are.

    They are not part of the Python package, so an ordinary `pip install` comes without them.
    """
    if all((REPOSITORY / name).exists() for name in _NEEDED):
        return ""
    return (
        f"{REPOSITORY} has no kernel/ and experiments/: airtcp runs from its repository; in a "
        "clone of it, run ./airtcp, or install it with `pip install -e .`"
    )


GUEST_DIR = "/run/tools"
"""Where the guest sees the directory of its programs; it is on its PATH."""

RUN_DIR_IN_GUEST = "/run/airtcp"
"""Where the guest sees the directory of the run."""

BEGAN = "began"
"""When the flows of a custom topology began, in ns of the guest's clock: a file of the run."""
