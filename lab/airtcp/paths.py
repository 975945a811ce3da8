# SPDX-License-Identifier: GPL-2.0-only
"""Paths of the repository and of the guest."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

EXPERIMENTS_DIR = REPOSITORY / "experiments"

_NEEDED = ("experiments", "kernel/patches/series", "lab/guest", "lab/requirements.txt")


def missing() -> str:
    """Error message if the repository's files cannot be found, in one line; otherwise empty.

    They are not part of the Python package, so an ordinary `pip install` does not include them.
    """
    if all((REPOSITORY / name).exists() for name in _NEEDED):
        return ""
    return (
        f"{REPOSITORY} has no kernel/ and experiments/: airtcp runs from its repository; in a "
        "clone of it, run ./airtcp, or install it with `pip install -e .`"
    )


GUEST_DIR = "/run/tools"
"""The directory of the guest's programs in the guest; it is in its PATH."""

RUN_DIR_IN_GUEST = "/run/airtcp"
"""The directory of the run in the guest."""

BEGAN = "began"
"""A file of a run: start time of the flows of a custom topology, in ns of the guest's clock."""
