# SPDX-License-Identifier: GPL-2.0-only
"""The standard streams; errors of output must not lose measured results."""

import codecs
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

OUTPUT = "standard output"
"""The file name in OSErrors of standard output."""

_ERRORS = "airtcp"


class _Output(io.FileIO):
    """Standard output; its errors carry OUTPUT as the file name."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, OUTPUT) from None


class _Messages(io.FileIO):
    """Standard error; a message that cannot be written is dropped."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def prepare() -> None:
    """Replace sys.stdout and sys.stderr. Closed standard streams become /dev/null."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # open() returns the lowest free descriptor, which the next file would get otherwise.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8")
    codecs.register_error(_ERRORS, _encode)
    sys.stdout = _text(_Output(1, "w", closefd=False), sys.stdout, os.isatty(1))
    sys.stderr = _text(_Messages(2, "w", closefd=False), sys.stderr, line_buffering=True)


def give_up_output() -> None:
    """Redirect standard output to /dev/null, so that the flush at exit cannot fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _text(raw: io.FileIO, replaced: TextIO | None, line_buffering: bool) -> TextIO:
    encoding = replaced.encoding if replaced else "utf-8"
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, encoding, _ERRORS, line_buffering=line_buffering)


def _encode(error: UnicodeError) -> tuple[bytes, int]:
    """Encode undecodable bytes of file names unchanged, and other unencodable characters as ?."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    encoded = bytes(ord(char) - 0xDC00 if "\udc80" <= char <= "\udcff" else 0x3F for char in text)
    return encoded, error.end
