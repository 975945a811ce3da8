# SPDX-License-Identifier: GPL-2.0-only
"""The qdisc of dkms/ackhold as a part of a kernel of the laboratory, which has no modules.

It is only in kernels for cases that use it, as net/sched/ackhold/, so all others stay the same.
"""

from airtcp.kernel.source import Changes, Step
from airtcp.paths import REPOSITORY

_MODULE = REPOSITORY / "dkms" / "ackhold"
_FILES = ("sch_ackhold.c", "ackhold.h", "tcp_ackpol_auto.h", "dkms.conf")
_IN_TREE = "net/sched/ackhold"


def changes() -> Changes:
    """The changes to Linux that add the qdisc, applied after all others."""
    # Builds in what the module's own Kbuild names in obj-m.
    files = {"Kbuild": REPOSITORY / "lab" / "own_policy" / "Kbuild", "Makefile": _MODULE / "Kbuild"}
    files |= {name: _MODULE / name for name in _FILES}
    in_tree = {f"{_IN_TREE}/{name}": path for name, path in files.items()}
    return (Step(REPOSITORY / "lab" / "ackhold" / "hook.patch", in_tree),)
