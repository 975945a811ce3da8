# SPDX-License-Identifier: GPL-2.0-only
"""A scheduler process: Dask's scheduler, whose arguments it accepts."""

import sys

from airtcp import interrupts

if __name__ == "__main__":
    interrupts.at_start()
    from distributed.cli import dask_scheduler

    from airtcp.sweep import daskprogram

    daskprogram.run(dask_scheduler, sys.argv[1:])
