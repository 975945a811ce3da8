# SPDX-License-Identifier: GPL-2.0-only
"""Workers as jobs of a batch system such as Slurm, configured as for dask-jobqueue."""

import math
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import dask
import yaml
from distributed import Status

from airtcp import yamlfile
from airtcp.errors import AirtcpError, InputError
from airtcp.paths import PACKAGE
from airtcp.sweep.certificates import Certificates
from airtcp.sweep.clusterservers import WORKER, worker_options

# Scheduler options that decide who can connect.
_OURS = {"dashboard", "dashboard_address", "http_prefix", "jupyter", "protocol", "security"}

# Options that dask-jobqueue still reads by earlier names. Their default does not tell their kind.
_RENAMED = {
    "env-extra": "job-script-prologue",
    "extra": "worker-extra-args",
    "job-extra": "job-extra-directives",
}

_MOST_CORES = 1 << 16

_ALLOWED: dict[type, str] = {list: "a list of text or numbers", dict: "`key: value` lines"}


@cache
def _kinds() -> dict[str, Any]:
    """The clusters of dask-jobqueue by the names of their sections."""
    interrupted = signal.getsignal(signal.SIGINT)
    import dask_jobqueue.local

    signal.signal(signal.SIGINT, interrupted)  # the import makes Ctrl-C exit silently
    known: Any = dask_jobqueue
    return {
        kind.job_cls.config_name: kind
        for kind in (
            known.HTCondorCluster,
            known.LSFCluster,
            known.MoabCluster,
            known.OARCluster,
            known.PBSCluster,
            known.SGECluster,
            known.SLURMCluster,
            known.local.LocalCluster,
        )
    }


def python() -> str:
    """The command that runs Python in a batch job, with airtcp, without the current directory."""
    return shlex.join(["env", f"PYTHONPATH={PACKAGE.parent}", sys.executable, "-P"])


@contextmanager
def submitted(path: Path, processes: int | None, known: Certificates) -> Iterator[Any]:
    """Submit batch jobs as described by the file, for `processes` parallel runs (None: one job).

    The scheduler is in this process. It communicates with the workers by network and uses
    certificates. Raises InputError for an invalid file, AirtcpError if the batch system rejects a
    job.
    """
    name, section = read(path)
    kind = _kinds()[name]
    command = kind.job_cls.submit_command
    if command and not shutil.which(command):
        raise InputError(f"{path}: {command}, which submits batch jobs, is missing here")
    # Python and paths of this machine, unless the file has others.
    defaults = {"python": python(), "processes": 1, "worker-command": WORKER}
    extra = [*(section.pop("worker-extra-args", None) or []), *worker_options()]
    if shlex.quote(str(known.directory)) != str(known.directory):  # dask-jobqueue does not quote it
        raise InputError(
            f"--certificates {known.directory}: spaces and special characters are not allowed with "
            "batch jobs"
        )
    options = section.pop("scheduler-options", None) or {}
    if ours := [key for key in options if key in _OURS]:
        raise InputError(
            f"{path}: {name}.scheduler-options.{ours[0]}: not allowed: airtcp sets it, to "
            "encrypt connections"
        )
    options |= {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    settings = {f"jobqueue.{name}.{key}": value for key, value in (defaults | section).items()}
    settings |= {"distributed.scheduler.http.routes": []}
    with dask.config.set(settings):
        try:
            cluster = kind(
                nanny=False,
                scheduler_options=options,
                worker_extra_args=extra,
                security=known.security(),
                silence_logs=False,
            )
        except (RuntimeError, TypeError, ValueError) as error:
            raise InputError(f"{path}: {_one_line(error)}") from None
        with cluster:
            # scale() would hide errors of the batch system.
            for _ in range(math.ceil((processes or 1) / section["cores"])):
                cluster.worker_spec.update(cluster.new_worker_spec())
            try:
                cluster.sync(cluster._correct_state)
            except (OSError, RuntimeError) as error:
                for job in cluster._created:  # otherwise close() fails for jobs that never started
                    job.status = Status.failed
                raise AirtcpError(f"{path}: {command}: {_one_line(error)}") from None
            yield cluster


def _one_line(error: Exception) -> str:
    """The error output of a failed command, in one line."""
    text = str(error)
    return " ".join((text.partition("stderr:\n")[2] or text).split())


def _is_one(value: object) -> bool:
    return value is not None and not isinstance(value, list | dict)


def _is(value: object, kind: type) -> bool:
    """Whether an option has the kind of its default: a list, a mapping, or else one value."""
    if kind is list:
        return isinstance(value, list) and all(map(_is_one, value))
    if kind is dict:
        return isinstance(value, dict) and all(isinstance(key, str) for key in value)
    return _is_one(value)


def _is_memory(value: object) -> bool:
    try:
        return value is not None and dask.utils.parse_bytes(str(value)) > 0
    except (ValueError, OverflowError):
        return False


class _Loader(yaml.SafeLoader):
    """Keeps a walltime of 12:00:00 as text, which YAML takes for a number of seconds."""


def _integer(loader: _Loader, node: yaml.ScalarNode) -> object:
    return node.value if ":" in node.value else loader.construct_yaml_int(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """The kind of batch system and its section in the file. Raises InputError if it is invalid."""
    try:
        text = yamlfile.read(path)
    except InputError as error:
        raise InputError(f"--cluster {error}; give tls://HOST:PORT or a .yaml file") from None
    shown = f"--cluster {path}"
    yamlfile.data(yamlfile.compose(text, shown), shown)  # raises InputError, as for repeated keys
    try:
        document = yaml.load(text, _Loader)
    except (ValueError, LookupError, AttributeError, yaml.YAMLError):
        raise InputError(f"{shown}: not YAML, or a value does not fit its tag") from None
    if isinstance(document, dict) and isinstance(document.get("jobqueue"), dict):
        document = document["jobqueue"]
    if not isinstance(document, dict) or len(document) != 1 or next(iter(document)) not in _kinds():
        raise InputError(f"{path}: must have one section; allowed: {' '.join(_kinds())}")
    [(name, section)] = document.items()
    if not isinstance(section, dict):
        raise InputError(f"{path}: {name}: must be `key: value` lines, including cores and memory")
    known = dask.config.get(f"jobqueue.{name}")
    for key in section:
        if key not in known:
            raise InputError(f"{path}: {name}.{key}: unknown; allowed: {' '.join(known)}")
    given = {key: value for key, value in section.items() if value is not None}
    for key, value in given.items():
        kind = type(known[_RENAMED.get(key, key)])
        if not _is(value, kind):
            what = _ALLOWED.get(kind, "one value")
            raise InputError(f"{path}: {name}.{key}: allowed: {what}")
        if kind is list:
            section[key] = list(map(str, value))  # dask-jobqueue joins some of them as they are
    if type(section.get("cores")) is not int or not 1 <= section["cores"] <= _MOST_CORES:
        raise InputError(
            f"{path}: {name}.cores: number of cores per batch job; allowed: 1 to {_MOST_CORES}"
        )
    if section.get("processes", 1) != 1:
        raise InputError(
            f"{path}: {name}.processes: allowed: 1, which executes `cores` runs at once"
        )
    if not _is_memory(section.get("memory")):
        raise InputError(f"{path}: {name}.memory: memory per batch job; allowed: a size, as 4GB")
    return str(name), section
