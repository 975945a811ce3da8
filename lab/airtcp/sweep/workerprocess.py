# SPDX-License-Identifier: GPL-2.0-only
"""A worker's process: Dask's, which tells its scheduler what runs would meet on this machine.

It takes the arguments of Dask's own worker.
"""

import sys

from distributed.cli import dask_worker

from airtcp.sweep import clusterworker

if __name__ == "__main__":
    resources = " ".join(f"{name}={count:g}" for name, count in clusterworker.resources().items())
    dask_worker.main([*sys.argv[1:], "--resources", resources])
