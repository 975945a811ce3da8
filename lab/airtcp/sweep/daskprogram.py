# SPDX-License-Identifier: GPL-2.0-only
"""Runs a program of Dask so that Ctrl-C ends it with exit code 130, at any time.

While it starts, a signal ends it at once. Then Dask handles signals: it closes its connections and
exits with 0.
"""

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from airtcp import interrupts


def run(program: ModuleType, arguments: Sequence[str]) -> NoReturn:
    """Run a module of distributed.cli with these arguments, after interrupts.at_start()."""
    received: list[int] = []
    wait_for_signals = program.wait_for_signals

    async def noted() -> int:
        number: int = await wait_for_signals()
        received.append(number)
        return number

    program.wait_for_signals = noted  # type: ignore[attr-defined]
    try:
        program.main(arguments)
    except SystemExit:
        if not received:
            raise
    sys.exit(interrupts.CODE if received else 0)
