# SPDX-License-Identifier: GPL-2.0-only
"""Where results come from: the commit of airtcp, the command, and the host.

None of it names a user, or a path outside the working directory.
"""

import functools
import platform
import shlex
from collections.abc import Sequence
from pathlib import Path

from airtcp.paths import IS_WHEEL, REPOSITORY


@functools.cache
def commit() -> str | None:
    """The commit of this copy of airtcp, with `-dirty` if files have changed since.

    None if it is neither in a Git repository nor in a wheel.
    """
    if IS_WHEEL:
        from airtcp import prebuilt  # most subcommands do not need it

        return prebuilt.commit()
    if not (REPOSITORY / ".git").exists():  # Git would search the directories above
        return None
    import subprocess  # most subcommands do not need them

    from airtcp import programs

    # Another user may own the repository, whose code is running in any case.
    command = ["git", "-c", f"safe.directory={REPOSITORY}", "-C", str(REPOSITORY)]
    command += ["describe", "--always", "--dirty", "--abbrev=12"]
    environment = programs.environment_of_git()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def command_line(arguments: Sequence[str]) -> str:
    """The command with these arguments, as a shell reads it.

    Absolute paths become relative to the working directory; of paths outside it, only the last
    component remains.
    """
    program = "airtcp" if IS_WHEEL else "./airtcp"
    return f"{program} " + shlex.join(map(_shortened, arguments))


def _shortened(argument: str) -> str:
    option, equals, value = argument.partition("=")
    if equals and option.startswith("--"):
        return f"{option}={_shortened(value)}"
    path = Path(argument)
    if not path.is_absolute() and path.parts[:1] != ("..",):
        return argument
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return f".../{path.name}" if path.name not in ("", "..") else "..."


def split(command: str) -> list[str]:
    """The words of a command_line(), `--option=value` as two; empty if a shell cannot read it."""
    try:
        given = shlex.split(command)
    except ValueError:
        return []
    parts = (word.split("=", 1) if word.startswith("--") else [word] for word in given)
    return [part for word in parts for part in word]


@functools.cache
def cpu_model() -> str | None:
    """The model of the host's first processor; None if Linux does not report it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    names = (line.partition(":")[2] for line in lines if line.startswith("model name"))
    return next(names, "").strip() or None


@functools.cache
def distribution() -> str | None:
    """The host's distribution; None without os-release."""
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
