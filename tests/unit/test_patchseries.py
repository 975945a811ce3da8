# SPDX-License-Identifier: GPL-2.0-only
"""The patch series of a tiny kernel tree: contents, order, bytes."""

import subprocess
from email import message_from_bytes, policy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airtcp import cli
from airtcp.errors import AirtcpError, InputError
from airtcp.kernel import series

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

EXTEND = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: airtcp <airtcp@localhost>
Subject: [PATCH] tcp: extend the policy

Signed-off-by: airtcp <airtcp@localhost>
---
--- a/net/ackpol.c
+++ b/net/ackpol.c
@@ -1 +1,2 @@
 ops
+more
--- a/MAINTAINERS
+++ b/MAINTAINERS
@@ -1 +1,2 @@
 people
+M:\tairtcp <airtcp@localhost>
"""


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    tree = tmp_path / "linux-6.12"
    (tree / "net").mkdir(parents=True)
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "net" / "tcp.c").write_text("one\ntwo\n")
    (tree / "net" / "Makefile").write_text("one\nold\n")
    (tree / "MAINTAINERS").write_text("people\n")
    return tree


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    kernel = tmp_path / "kernel"
    for directory in ("lab", "postable", "research", "wifi"):
        (kernel / "patches" / directory).mkdir(parents=True)
    for directory in ("net", "include"):
        (kernel / directory).mkdir()
    for topic in ("postable", "research"):
        cover = kernel / "patches" / topic / "cover-letter.txt"
        cover.write_text("tcp: policies\n\nA choice.\n")
    (kernel / "patches" / "lab" / "radio.patch").write_text("not for posting\n")
    (kernel / "patches" / "postable" / "hook.patch").write_text(HOOK)
    (kernel / "patches" / "postable" / "build.patch").write_text(BUILD)
    (kernel / "patches" / "research" / "extend.patch").write_text(EXTEND)
    (kernel / "patches" / "series").write_text(
        "lab/radio.patch net/radio.c\n"
        "postable/hook.patch include/ackpol.h\n"
        "postable/build.patch net/ackpol.c\n"
        "research/extend.patch\n"
    )
    (kernel / "include" / "ackpol.h").write_text("struct ops;\n")
    (kernel / "net" / "ackpol.c").write_text("ops\n")
    (kernel / "net" / "radio.c").write_text("radio\n")
    return kernel


def test_each_patch_adds_its_files(linux: Path, overlay: Path, tmp_path: Path) -> None:
    cover, hook, build = series.write(tmp_path / "out", linux, overlay)
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
    cover = series.write(tmp_path / "out", linux, overlay)[0].read_text()
    assert "Subject: [PATCH net-next 0/2] tcp: policies\n" in cover
    assert "\n\nA choice.\n\n" in cover
    assert "***" not in cover
    assert "Someone (2):\n  tcp: ask the policy\n  tcp: build it\n" in cover
    assert " 4 files changed, 4 insertions(+), 2 deletions(-)\n" in cover


def test_topic_that_needs_another_has_only_its_own_patches(
    linux: Path, overlay: Path, tmp_path: Path
) -> None:
    """It changes a file that the other topic adds."""
    cover, extend = series.write(tmp_path / "out", linux, overlay, topic="research")
    assert "Subject: [PATCH net-next 0/1] tcp: policies\n" in cover.read_text()
    assert extend.name == "0001-tcp-extend-the-policy.patch"
    assert "+++ b/net/ackpol.c\n@@ -1 +1,2 @@\n ops\n+more\n" in extend.read_text()


def test_topic_can_change_files_that_it_adds(linux: Path, overlay: Path, tmp_path: Path) -> None:
    (overlay / "patches" / "postable" / "extend.patch").write_text(EXTEND)
    list_of_patches = overlay / "patches" / "series"
    list_of_patches.write_text(list_of_patches.read_text().replace("research/", "postable/"))
    *_, build, extend = series.write(tmp_path / "out", linux, overlay)
    assert "+++ b/net/ackpol.c\n@@ -0,0 +1 @@\n+ops\n" in build.read_text()
    assert "+++ b/net/ackpol.c\n@@ -1 +1,2 @@\n ops\n+more\n" in extend.read_text()


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        ("lab", "--topic lab is not for posting; allowed: postable, research, wifi"),
        ("radio", "--topic radio does not exist; allowed: postable, research, wifi"),
        ("wifi", "series: no patch of the topic wifi"),
    ],
)
def test_topic_that_cannot_be_posted_is_refused(
    linux: Path, overlay: Path, tmp_path: Path, topic: str, message: str
) -> None:
    with pytest.raises(InputError) as error:
        series.write(tmp_path / "out", linux, overlay, topic=topic)
    assert message in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "author", ["Zoë O. Example <zoe@example.org>", "A, Jr <a.b+c@example.org>"]
)
def test_author_replaces_the_placeholder(
    linux: Path, overlay: Path, tmp_path: Path, author: str
) -> None:
    cover, extend = series.write(tmp_path / "out", linux, overlay, topic="research", author=author)
    name, _, address = author.rstrip(">").partition(" <")
    mail = message_from_bytes(extend.read_bytes(), policy=policy.default)
    [sender] = mail["From"].addresses
    assert (sender.display_name, sender.addr_spec) == (name, address)
    assert f'\nFrom: "{name}" <{address}>\n' in cover.read_text()
    text = extend.read_text()
    assert f"\nSigned-off-by: {author}\n" in text
    assert f"\n+M:\t{author}\n" in text
    assert "localhost" not in text


def test_other_authors_are_kept(linux: Path, overlay: Path, tmp_path: Path) -> None:
    author = "Jo Example <jo@example.org>"
    _, hook, _ = series.write(tmp_path / "out", linux, overlay, author=author)
    assert "From: Someone <someone@example.com>\n" in hook.read_text()


@pytest.mark.parametrize(
    "author", ["", "Jo", "jo@example.org", "<jo@example.org>", "Jo <jo>", "Jo <jo@x>\nCc: <y@z>"]
)
def test_author_without_name_and_address_is_refused(tmp_path: Path, author: str) -> None:
    with pytest.raises(InputError, match=r"--author .*: expected 'Name <name@example\.org>'"):
        series.write(tmp_path / "out", author=author)


def test_command_line_reports_progress_and_warns_about_the_placeholder_author(
    linux: Path,
    overlay: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def write(directory: Path, _: None, **options: Any) -> list[Path]:
        return series.write(directory, linux, overlay, **options)

    replaced = SimpleNamespace(**vars(series) | {"write": write})
    monkeypatch.setattr("airtcp.cli.kernel.series", replaced)
    reading = f"reading {linux}\n"
    placeholder = "airtcp: airtcp <airtcp@localhost> is a placeholder, "
    assert cli.main(["kernel", "series", str(tmp_path / "one")]) == 0
    written, warning = capsys.readouterr()
    assert len(written.splitlines()) == 3
    assert warning.startswith(reading + placeholder)
    assert warning.count("\n") == 2
    author = ["--author", "Jo Example <jo@example.org>"]
    assert cli.main(["kernel", "series", str(tmp_path / "two"), *author]) == 0
    assert capsys.readouterr().err == reading


def test_tarball_and_tree_give_the_same_bytes(
    linux: Path, overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tarball = tmp_path / "linux.tar.gz"
    subprocess.run(["tar", "-C", tmp_path, "-czf", tarball, linux.name], check=True)
    from_tree = series.write(tmp_path / "one", linux, overlay)
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    from_tarball = series.write(tmp_path / "other", tarball, overlay)
    assert [path.read_bytes() for path in from_tree] == [path.read_bytes() for path in from_tarball]


def test_a_directory_with_files_is_refused(linux: Path, overlay: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(InputError, match="out already exists"):
        series.write(tmp_path / "out", linux, overlay)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_command_line_refuses_a_directory_with_files_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").touch()
    assert cli.main(["kernel", "series", str(tmp_path)]) == 2
    error = f"airtcp: {tmp_path} already exists; give a new or empty directory\n"
    assert capsys.readouterr() == ("", error)


def test_error_names_a_patch_that_does_not_apply(
    linux: Path, overlay: Path, tmp_path: Path
) -> None:
    (linux / "net" / "Makefile").write_text("something else\n")
    with pytest.raises(AirtcpError, match=r"build\.patch: error: .*net/Makefile") as error:
        series.write(tmp_path / "out", linux, overlay)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_error_names_a_missing_file_that_a_patch_changes(
    linux: Path, overlay: Path, tmp_path: Path
) -> None:
    (linux / "net" / "tcp.c").unlink()
    with pytest.raises(AirtcpError, match=r"cannot read .*net/tcp\.c"):
        series.write(tmp_path / "out", linux, overlay)
