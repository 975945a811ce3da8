# SPDX-License-Identifier: GPL-2.0-only
"""What every test that boots a guest needs."""

from collections.abc import Callable

import pytest

from airtcp import guesttools, kernel
from airtcp.guesttools import GuestTools
from airtcp.kernel import Kernel

Say = Callable[[str], None]


@pytest.fixture(scope="session")
def say(pytestconfig: pytest.Config) -> Say:
    """Print past pytest's capture: building a kernel takes minutes."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def print_at_once(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(text, flush=True)

    return print_at_once


@pytest.fixture(scope="session")
def lab_kernel(say: Say) -> Kernel:
    return kernel.build(say=say)


@pytest.fixture(scope="session")
def tools(say: Say) -> GuestTools:
    return guesttools.build_tools(say)
