# SPDX-License-Identifier: GPL-2.0-only
"""A worker process: Dask's worker, with the fingerprint of this machine as its resources.

It accepts the arguments of Dask's worker.
"""

import sys

from distributed.cli import dask_worker

from airtcp.sweep import clusterworker

if __name__ == "__main__":
    resources = " ".join(f"{name}={count:g}" for name, count in clusterworker.resources().items())
    dask_worker.main([*sys.argv[1:], "--resources", resources])
