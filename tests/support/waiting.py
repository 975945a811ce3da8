# SPDX-License-Identifier: GPL-2.0-only
"""Waits for what another process or thread does."""

import time
from collections.abc import Callable

TIMEOUT_S = 120
"""Busy machines are slow."""


def wait_until(
    condition: Callable[[], object],
    message: str = "it takes too long",
    *,
    timeout_s: float = TIMEOUT_S,
) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, message
        time.sleep(0.02)
