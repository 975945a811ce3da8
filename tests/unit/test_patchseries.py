# SPDX-License-Identifier: GPL-2.0-only
"""The series of patches, from a (tiny) Linux: what is in it, its order, its bytes."""

import subprocess
from pathlib import Path

import pytest

from airtcp import cli
from airtcp.errors import AirtcpError, InputError
from airtcp.linux import patchseries

MAKEFILE = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n"

HOOK = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: Someone <someone@example.com>
Subject: [PATCH] tcp: ask the policy

A rule is not enough.

Signed-off-by: Someone <someone@example.com>
---
--- a/net/tcp.c
+++ b/net/tcp.c
@@ -1,2 +1,2 @@
 one
-two
+policy
"""

BUILD = (
    HOOK.replace("ask the policy", "build it")
    .replace("net/tcp.c", "net/Makefile")
    .replace("two", "old")
)


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    tree = tmp_path / "linux-6.12"
    (tree / "net").mkdir(parents=True)
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "net" / "tcp.c").write_text("one\ntwo\n")
    (tree / "net" / "Makefile").write_text("one\nold\n")
    return tree


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    kernel = tmp_path / "kernel"
    for directory in ("patches/lab", "patches/tcp", "net", "include"):
        (kernel / directory).mkdir(parents=True)
    (kernel / "patches" / "tcp" / "cover-letter.txt").write_text("tcp: policies\n\nA choice.\n")
    (kernel / "patches" / "lab" / "radio.patch").write_text("not for posting\n")
    (kernel / "patches" / "tcp" / "hook.patch").write_text(HOOK)
    (kernel / "patches" / "tcp" / "build.patch").write_text(BUILD)
    (kernel / "patches" / "series").write_text(
        "lab/radio.patch net/radio.c\n"
        "tcp/hook.patch include/ackpol.h\n"
        "tcp/build.patch net/ackpol.c\n"
    )
    (kernel / "include" / "ackpol.h").write_text("struct ops;\n")
    (kernel / "net" / "ackpol.c").write_text("ops\n")
    (kernel / "net" / "radio.c").write_text("radio\n")
    return kernel


def test_each_patch_brings_its_files(linux: Path, overlay: Path, tmp_path: Path) -> None:
    cover, hook, build = patchseries.write(tmp_path / "out", linux, overlay)
    assert [path.name for path in (cover, hook, build)] == [
        "0000-cover-letter.patch",
        "0001-tcp-ask-the-policy.patch",
        "0002-tcp-build-it.patch",
    ]
    assert "Subject: [PATCH net-next 1/2] tcp: ask the policy\n" in hook.read_text()
    assert "From: Someone <someone@example.com>\n" in hook.read_text()
    assert "+++ b/include/ackpol.h\n@@ -0,0 +1 @@\n+struct ops;\n" in hook.read_text()
    assert "ackpol.c" not in hook.read_text()
    assert "+++ b/net/ackpol.c\n@@ -0,0 +1 @@\n+ops\n" in build.read_text()


def test_cover_letter_has_text_list_and_size(linux: Path, overlay: Path, tmp_path: Path) -> None:
    cover = patchseries.write(tmp_path / "out", linux, overlay)[0].read_text()
    assert "Subject: [PATCH net-next 0/2] tcp: policies\n" in cover
    assert "\n\nA choice.\n\n" in cover
    assert "***" not in cover
    assert "Someone (2):\n  tcp: ask the policy\n  tcp: build it\n" in cover
    assert " 4 files changed, 4 insertions(+), 2 deletions(-)\n" in cover


def test_tarball_and_tree_give_the_same_bytes(
    linux: Path, overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tarball = tmp_path / "linux.tar.gz"
    subprocess.run(["tar", "-C", tmp_path, "-czf", tarball, linux.name], check=True)
    one = patchseries.write(tmp_path / "one", linux, overlay)
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    other = patchseries.write(tmp_path / "other", tarball, overlay)
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_directory_with_something_in_it_is_left_alone(
    linux: Path, overlay: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(InputError, match="out is there already"):
        patchseries.write(tmp_path / "out", linux, overlay)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_command_line_refuses_it_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    (tmp_path / "mine").touch()
    assert cli.main(["kernel", "series", str(tmp_path)]) == 2
    said = f"airtcp: {tmp_path} is there already; a new or an empty directory is allowed\n"
    assert capsys.readouterr() == ("", said)


def test_patch_that_does_not_apply_is_named_and_nothing_written(
    linux: Path, overlay: Path, tmp_path: Path
) -> None:
    (linux / "net" / "Makefile").write_text("something else\n")
    with pytest.raises(AirtcpError, match=r"build\.patch: error: .*net/Makefile") as caught:
        patchseries.write(tmp_path / "out", linux, overlay)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_source_without_a_file_that_a_patch_changes(
    linux: Path, overlay: Path, tmp_path: Path
) -> None:
    (linux / "net" / "tcp.c").unlink()
    with pytest.raises(AirtcpError, match=r"cannot read .*net/tcp\.c"):
        patchseries.write(tmp_path / "out", linux, overlay)
