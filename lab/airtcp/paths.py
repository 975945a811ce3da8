# SPDX-License-Identifier: GPL-2.0-only
"""Paths of the repository and of the guest."""

import os
import shlex
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent

# A wheel has the files of the repository that airtcp uses in the package.
_SHARE = PACKAGE / "share"
IS_WHEEL = _SHARE.is_dir()
REPOSITORY = _SHARE if IS_WHEEL else PACKAGE.parents[1]

PROGRAM = shlex.quote(
    os.environ.get("AIRTCP_PROGRAM")
    or ("airtcp" if Path(sys.argv[0]).name == "airtcp" else "./airtcp")
)
"""How to call this program, for messages: as in the command that the user has typed."""

INSTALL_CLUSTER = (
    "pip install 'airtcp[cluster]'"
    if IS_WHEEL
    else "in the clone of airtcp's repository, pip install -e '.[cluster]'"
)
"""How to install the libraries of sweeps on other machines, for messages."""

EXPERIMENTS_DIR = REPOSITORY / "experiments"

_NEEDED = ("experiments", "kernel/patches/series", "lab/guest", "lab/requirements.txt")


def missing() -> str:
    """Error message if the repository's files cannot be found, in one line; otherwise empty.

    They are not part of the Python package, so a wheel that `make wheel` did not make lacks them.
    """
    if all((REPOSITORY / name).exists() for name in _NEEDED):
        return ""
    return (
        f"{REPOSITORY} has no kernel/ and experiments/: airtcp runs from its repository; in a "
        "clone of it, run ./airtcp, or install it with `pip install -e .` or from the wheel of "
        "`make wheel`"
    )


GUEST_DIR = "/run/tools"
"""The directory of the guest's programs in the guest; it is in its PATH."""

RUN_DIR_IN_GUEST = "/run/airtcp"
"""The directory of the run in the guest."""

BEGAN = "began"
"""A file of a run: start time of the flows of a custom topology, in ns of the guest's clock."""
