# SPDX-License-Identifier: GPL-2.0-only
"""The names of the KUnit suites of kernel/."""

import re
from pathlib import Path

from airtcp.kernel.source import OVERLAY

_SUITE = re.compile(r'^static struct kunit_suite \w+ = \{\n\t\.name = "(\w+)",', re.M)


def suites(directory: str = "") -> set[str]:
    """The suites in the files *_test.c of a directory of kernel/. Each has at least one."""
    found: set[str] = set()
    for path in Path(OVERLAY, directory).rglob("*_test.c"):
        names = _SUITE.findall(path.read_text())
        assert names, path
        found.update(names)
    assert found
    return found
