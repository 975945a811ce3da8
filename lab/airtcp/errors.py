# SPDX-License-Identifier: GPL-2.0-only
"""Errors of airtcp; the command line turns each into one line and an exit code."""

import errno
import resource


class AirtcpError(Exception):
    """A run, a build or a tool failed. The message is one line: what, where, what to do."""

    exit_code = 1


class RenamedWarning(UserWarning):
    """Input contains an earlier name, which the next version will not accept."""


class InputError(AirtcpError):
    """The user's input is wrong. The message is one line: what, where, what is allowed."""

    exit_code = 2


class StopError(AirtcpError):
    """A failure that would affect every run: a full disk, a system call that is not permitted."""


class CrowdedError(AirtcpError):
    """This machine does not have the resources for this many parallel runs."""


NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers for a full disk or an exceeded quota."""

_TOO_MANY = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)


def of_file(error: OSError, path: object = "") -> AirtcpError:
    """Convert an OSError to an AirtcpError that names the file, or `path` if the error has none."""
    if error.args and isinstance(error.args[0], list):  # of shutil.copytree()
        _, path, message = error.args[0][0]
        return StopError(f"{path}: {message}")
    kind = AirtcpError
    if error.errno in (*NO_SPACE, errno.EROFS, errno.EFBIG):
        kind = StopError
    elif error.errno in _TOO_MANY:
        kind = CrowdedError
    named = error.filename2 or error.filename or path  # of a copy, what could not be written
    return kind(f"{named}: {reason(error)}" if named else reason(error))


def of_reading(error: OSError | ValueError) -> str:
    """What is wrong with a file that cannot be read or parsed, as a predicate: `is missing`."""
    if isinstance(error, FileNotFoundError):
        return "is missing"
    return f"cannot be read ({reason(error)})" if isinstance(error, OSError) else str(error)


def reason(error: OSError) -> str:
    """The system's message for an error, with the resource limit that caused it."""
    message = error.strerror or str(error)
    limits = {
        errno.EMFILE: ("n", resource.RLIMIT_NOFILE, "open files"),
        errno.EFBIG: ("f", resource.RLIMIT_FSIZE, "bytes per file"),
    }
    if error.errno not in limits:
        return message
    option, limit, unit = limits[error.errno]
    soft, _ = resource.getrlimit(limit)
    if soft == resource.RLIM_INFINITY:
        return message
    return f"{message} (ulimit -{option}: {soft} {unit})"
