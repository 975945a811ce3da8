# SPDX-License-Identifier: GPL-2.0-only
"""Kernel and programs of a wheel, with wheels that have a single file."""

import errno
import json
import os
import zipfile
from pathlib import Path

import pytest

from airtcp import atomicfile, prebuilt
from airtcp.errors import AirtcpError, InputError

RECIPES: dict[prebuilt.Part, str] = {"kernel": "1", "tools": "2"}
LINUX = "kernel/0123/linux"


def wheel(path: Path, content: bytes = b"content", **recipes: str) -> Path:
    description = {part: {"recipe": recipe} for part, recipe in (RECIPES | recipes).items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{prebuilt.IN_WHEEL}/{prebuilt.DESCRIPTION}", json.dumps(description))
        archive.writestr(f"{prebuilt.IN_WHEEL}/{LINUX}", content)
    return path


def cut(path: Path) -> Path:
    """A wheel whose compressed kernel is damaged."""
    content = wheel(path).read_bytes()
    begin = content.index(LINUX.encode()) + len(LINUX)
    path.write_bytes(content[:begin] + b"\xff" * 4 + content[begin + 4 :])
    return path


def test_a_wheel_replaces_the_one_before(cache: Path, tmp_path: Path) -> None:
    for content in (b"1", b"2"):
        directory = prebuilt.unpack(wheel(tmp_path / "a.whl", content), RECIPES, print)
        assert (directory / LINUX).read_bytes() == content
    assert {path.name for path in cache.iterdir()} == {"prebuilt", "prebuilt.lock"}


def test_a_wheel_that_is_not_used_keeps_the_one_before(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "text.whl").write_text("text")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("airtcp/__init__.py", "")
    prebuilt.unpack(wheel(tmp_path / "a.whl"), RECIPES, print)
    for path, kind, message in (
        (tmp_path / "text.whl", InputError, "text.whl: cannot be read as a wheel"),
        (tmp_path / "none.whl", InputError, "none.whl: No such file or directory$"),
        (tmp_path / "other.whl", InputError, "no kernel: it was not made by `make wheel`"),
        (cut(tmp_path / "cut.whl"), InputError, "cut.whl: cannot be read as a wheel: "),
        (wheel(tmp_path / "b.whl", kernel="3"), AirtcpError, "b.whl: not used, because"),
        (wheel(tmp_path / "c.whl", tools="3"), AirtcpError, "c.whl: not used, because"),
    ):
        with pytest.raises(kind, match=message):
            prebuilt.unpack(path, RECIPES, print)
        assert (cache / "prebuilt" / LINUX).read_bytes() == b"content"
        assert not (cache / "prebuilt.new").exists()


def test_a_full_disk_is_that_of_the_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def place(new: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomicfile, "place", place)
    with pytest.raises(AirtcpError) as error:
        prebuilt.unpack(wheel(tmp_path / "a.whl"), RECIPES, print)
    assert str(error.value) == f"{cache}/prebuilt.new: No space left on device"
    assert error.value.exit_code == 1
    assert not (cache / "prebuilt.new").exists()
