# SPDX-License-Identifier: GPL-2.0-only
"""Plain kernels of other versions of Linux: a run is possible, and repeatable byte for byte.

AIRTCP_TEST_KERNELS builds the sources of all installed packages linux-source-* (`make
kernels-check`), which takes minutes for each. AIRTCP_TEST_KERNELS can also be a list of tarballs,
separated by colons.
"""

import os
from pathlib import Path

import pytest
from guests import RecordCount, Say, thesis_case

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel import image
from airtcp.kernel.source import OLDEST
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

CHOSEN = os.environ.get("AIRTCP_TEST_KERNELS", "")
INSTALLED = sorted(map(str, Path("/usr/src").glob("linux-source-[0-9]*.tar.xz")))
SOURCES = CHOSEN.split(":") if "/" in CHOSEN else INSTALLED

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHOSEN, reason="takes minutes: make kernels-check"),
]


@pytest.mark.parametrize(
    "source", SOURCES or [pytest.param("", marks=pytest.mark.skip(f"no linux-source-{OLDEST}"))]
)
def test_runs_of_a_plain_kernel_are_identical(
    source: str, tools: GuestTools, say: Say, tmp_path: Path, record_property: RecordCount
) -> None:
    kernel = image.build(Path(source), plain=True, say=say)
    case = thesis_case("capture=server,station,air")
    one, other = (
        run_one(RunRequest.of(kernel, tools, case, 1), tmp_path / name)
        for name in ("one", "longer")
    )
    assert one.error is None
    assert one.kernel.version == kernel.version
    goodput = one.values["goodput_mbps"]
    say(f"Linux {kernel.version}: {goodput:.1f} Mbit/s")
    record_property(f"goodput on {kernel.version} Mbit/s", round(goodput, 1))
    assert 100 < goodput < 200
    assert one.metrics == other.metrics
    assert {name: file.sha256 for name, file in one.artifacts.items()} == {
        name: file.sha256 for name, file in other.artifacts.items()
    }
