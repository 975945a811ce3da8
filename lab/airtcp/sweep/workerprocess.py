# SPDX-License-Identifier: GPL-2.0-only
"""A worker process: Dask's worker, with the fingerprint of this machine as its resources.

It accepts the arguments of Dask's worker.
"""

import sys

from airtcp import interrupts

if __name__ == "__main__":
    interrupts.at_start()
    from distributed.cli import dask_worker

    from airtcp.sweep import clusterworker, daskprogram

    resources = " ".join(f"{name}={count:g}" for name, count in clusterworker.resources().items())
    daskprogram.run(dask_worker, [*sys.argv[1:], "--resources", resources])
