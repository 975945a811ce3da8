# SPDX-License-Identifier: GPL-2.0-only
"""The subcommands `scheduler` and `worker`."""

import argparse

from airtcp.backends import hostcpu
from airtcp.cli import doctor
from airtcp.cli.certificates import add_certificates, certificates_of
from airtcp.cli.common import require_cluster_libraries
from airtcp.cli.options import Subcommands, add_jobs, path, port, word
from airtcp.sweep import certificates


def add(subcommands: Subcommands) -> None:
    """Add `scheduler` and `worker`."""
    scheduler = subcommands.add_parser(
        "scheduler", help="distribute the runs of `run --cluster` to workers"
    )
    scheduler.add_argument(
        "--port", metavar="PORT", type=port, default=8786, help="port to listen on (default: 8786)"
    )
    scheduler.add_argument(
        "--host",
        metavar="ADDRESS",
        type=word,
        default="127.0.0.1",
        help="local address to listen on, 0.0.0.0 for all addresses (default: 127.0.0.1, this "
        "machine only); other addresses require --certificates",
    )
    add_certificates(scheduler)
    scheduler.add_argument(
        "--create-certificates",
        metavar="DIR",
        type=path,
        help="create the certificates of a cluster in a new directory and exit",
    )
    scheduler.set_defaults(do=_scheduler)

    worker = subcommands.add_parser("worker", help="execute runs until the scheduler exits")
    worker.add_argument(
        "scheduler",
        metavar="tls://HOST:PORT",
        help="address of the scheduler; without certificates tcp://127.0.0.1:PORT",
    )
    add_certificates(worker)
    add_jobs(worker)
    worker.set_defaults(do=_worker)


def _scheduler(options: argparse.Namespace) -> int:
    from airtcp.sweep import clusterservers

    require_cluster_libraries()
    if options.create_certificates:
        print(certificates.create(options.create_certificates).directory)
        return 0
    clusterservers.scheduler(options.host, options.port, certificates_of(options))


def _worker(options: argparse.Namespace) -> int:
    from airtcp.sweep import clusterservers

    require_cluster_libraries()
    doctor.require_programs(has_guest=True)
    jobs = options.jobs or hostcpu.default_jobs()
    clusterservers.worker(options.scheduler, jobs, certificates_of(options))
