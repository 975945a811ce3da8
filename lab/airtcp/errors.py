# SPDX-License-Identifier: GPL-2.0-only
"""How airtcp fails; the command line turns each into one line and an exit code."""

import errno
import resource


class AirtcpError(Exception):
    """A run, a build or a tool failed. The message is one line: what, where, what to do."""

    exit_code = 1


class InputError(AirtcpError):
    """What the user gave is wrong. The message is one line: what, where, what is allowed."""

    exit_code = 2


class StopError(AirtcpError):
    """What ended a run would end the next as well: a full disk, a system call that is refused."""


class CrowdedError(AirtcpError):
    """This machine has not enough of something for so many runs at once."""


NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
"""How the system says that a disk is full."""

_TOO_MANY = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)


def of_file(error: OSError, path: object) -> AirtcpError:
    """The same as one line, with the file; path: what was written, if the error does not say."""
    kind = AirtcpError
    if error.errno in (*NO_SPACE, errno.EROFS, errno.EFBIG):
        kind = StopError
    elif error.errno in _TOO_MANY:
        kind = CrowdedError
    return kind(f"{error.filename or path}: {reason(error)}")


def reason(error: OSError) -> str:
    """What the system says, and which of its limits that is."""
    said = error.strerror or str(error)
    limits = {
        errno.EMFILE: ("n", resource.RLIMIT_NOFILE, "files at once"),
        errno.EFBIG: ("f", resource.RLIMIT_FSIZE, "bytes a file"),
    }
    if error.errno not in limits:
        return said
    option, limit, what = limits[error.errno]
    soft, _ = resource.getrlimit(limit)
    return f"{said} (ulimit -{option}: {soft} {what})" if soft != resource.RLIM_INFINITY else said
