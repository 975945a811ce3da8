# SPDX-License-Identifier: GPL-2.0-only
"""Runs a program of Dask so that Ctrl-C ends it with exit code 130, at any time.

While modules are imported, a signal ends it at once. From then on Dask closes its connections,
removes its temporary directory and exits with 0.
"""

import asyncio
import logging
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from airtcp import interrupts


def run(program: ModuleType, arguments: Sequence[str]) -> NoReturn:
    """Run a module of distributed.cli with these arguments, after interrupts.at_start()."""
    received: list[int] = []
    interrupts.record(received)
    # The dashboard is off, but Dask logs its address.
    for logger in ("distributed.scheduler", "distributed.worker"):
        logging.getLogger(logger).addFilter(_is_not_of_dashboard)
    wait_for_signals = program.wait_for_signals

    async def noted() -> int:
        """The number of the signal, which may have arrived before Dask handles signals."""
        waiting = asyncio.ensure_future(wait_for_signals())
        await asyncio.sleep(0)  # afterwards Dask handles them
        if received:
            waiting.cancel()
        else:
            received.append(await waiting)
        return received[0]

    program.wait_for_signals = noted  # type: ignore[attr-defined]
    try:
        program.main(arguments)
    except SystemExit:
        if not received:
            raise
    sys.exit(interrupts.CODE if received else 0)


def _is_not_of_dashboard(record: logging.LogRecord) -> bool:
    return "dashboard at:" not in record.getMessage()
