# SPDX-License-Identifier: GPL-2.0-only
"""Standard output and standard error: trouble with them must not cost what has been measured."""

import codecs
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

OUTPUT = "standard output"
"""The file name in errors of standard output."""

_ERRORS = "airtcp"


class _Output(io.FileIO):
    """Standard output, with errors that say so."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, OUTPUT) from None


class _Messages(io.FileIO):
    """Standard error: if nobody can read a message it is lost, and the work goes on."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def prepare() -> None:
    """Replace sys.stdout and sys.stderr. A stream that is closed becomes /dev/null."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest that is free, which otherwise the next file would get.
            os.open(os.devnull, os.O_RDWR)
    codecs.register_error(_ERRORS, _encode)
    sys.stdout = _text(_Output(1, "w", closefd=False), sys.stdout, os.isatty(1))
    sys.stderr = _text(_Messages(2, "w", closefd=False), sys.stderr, line_buffering=True)


def give_up_output() -> None:
    """Python, which flushes it once more at its end, must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _text(raw: io.FileIO, replaced: TextIO | None, line_buffering: bool) -> TextIO:
    encoding = replaced.encoding if replaced else "utf-8"
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, encoding, _ERRORS, line_buffering=line_buffering)


def _encode(error: UnicodeError) -> tuple[bytes, int]:
    """The bytes of file names that are not text as they are; ? for what the encoding lacks."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    encoded = bytes(ord(one) - 0xDC00 if "\udc80" <= one <= "\udcff" else 0x3F for one in text)
    return encoded, error.end
