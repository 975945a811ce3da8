# SPDX-License-Identifier: GPL-2.0-only
"""What every test that boots a guest needs."""

import sys

import pytest

from airtcp import guesttools, kernel
from airtcp.guesttools import GuestTools
from airtcp.kernel import Kernel


def say(text: str) -> None:
    print(text, file=sys.__stderr__, flush=True)  # past pytest: a build takes minutes


@pytest.fixture(scope="session")
def lab_kernel() -> Kernel:
    return kernel.build(say=say)


@pytest.fixture(scope="session")
def tools() -> GuestTools:
    return guesttools.build_tools(say)
