# SPDX-License-Identifier: GPL-2.0-only
"""Options of the subcommands that measure, and the preparation of a sweep."""

import argparse
import errno
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from airtcp import cache
from airtcp.backends import hostapd
from airtcp.backends.guesttools import build_tools
from airtcp.cli import doctor
from airtcp.cli.certificates import add_certificates, certificates_of
from airtcp.cli.common import require_cluster_libraries
from airtcp.cli.messages import say
from airtcp.cli.options import add_jobs, add_verify, path, word
from airtcp.errors import NO_SPACE, InputError
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.sweep import certificates, session
from airtcp.sweep.certificates import Certificates
from airtcp.sweep.session import SweepOptions
from airtcp.testbed.build import testbed_of


def add_where(parser: argparse.ArgumentParser, name: str = "NAME") -> None:
    """Options for where runs are executed and written, by default in results/`name`."""
    add_jobs(parser)
    parser.add_argument(
        "--cluster",
        metavar="tls://HOST:PORT|FILE",
        type=word,
        help="run on the workers of a Dask scheduler (see `scheduler` and `worker`), or in batch "
        "jobs, such as Slurm's, described by a dask-jobqueue configuration",
    )
    add_certificates(parser)
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=path,
        help=f"directory for runs and results (default: results/{name})",
    )
    add_verify(parser)


def out_dir_of(options: argparse.Namespace, name: str) -> Path:
    """The directory of --out, by default results/`name`."""
    return options.out or Path("results") / name


def make_out_dir(out_dir: Path) -> None:
    """Create the directory of --out after what is quick to check, but before anything is built.

    Raises InputError if that is not possible.
    """
    try:
        session.require_outside_runs(out_dir)
        out_dir.mkdir(parents=True, exist_ok=True)
        cache.check_writable(out_dir)
    except OSError as error:
        if error.errno in (*NO_SPACE, errno.EIO):
            raise
        why = "is a file" if isinstance(error, FileExistsError) else error.strerror
        raise InputError(
            f"--out {out_dir}: {why}; give a new or existing directory that you can write"
        ) from None


def _check_cluster(where: str, known: Certificates | None) -> None:
    """Raise InputError for an invalid address or file now, before a kernel is built."""
    if "://" in where:
        certificates.address(where, known)
        return
    from airtcp.sweep import batchjobs  # takes a while to load

    batchjobs.read(Path(where))


def sweep_options_of(
    options: argparse.Namespace,
    out_dir: Path,
    build: Callable[[], Mapping[str, Kernel]],
    cases: Sequence[Case] = (),
) -> SweepOptions:
    """The options of a sweep; creates its directory.

    build: builds its kernels, after all else has been checked.
    cases: those that are known already, to check that their programs are there.
    """
    cluster_certificates = None
    if options.cluster:
        cluster_certificates = certificates_of(options)
        require_cluster_libraries()
        _check_cluster(options.cluster, cluster_certificates)
    elif options.certificates:
        raise InputError("--certificates: allowed only with --cluster")
    doctor.require_programs()
    make_out_dir(out_dir)
    tools = build_tools(say)
    for case in cases:
        hostapd.tools_for(tools, testbed_of(case))
    kernels = build()
    return SweepOptions(
        kernel=next(iter(kernels.values())),
        tools=tools,
        seeds=options.seeds,
        jobs=options.jobs,
        cluster=options.cluster,
        certificates=cluster_certificates,
        command=options.command,
        say=say,
        verify=options.verify,
        kernels=kernels,
    )
