# SPDX-License-Identifier: GPL-2.0-only
"""The work tree: the series, patches and files, applied to a tiny kernel tree."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from airtcp.errors import AirtcpError, InputError
from airtcp.kernel import source

MAKEFILE = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n"

PATCH = """\
Say why.

--- a/net/tcp.c
+++ b/net/tcp.c
@@ -1,2 +1,2 @@
 one
-two
+2
"""

ADDS_A_FILE = """\
--- /dev/null
+++ b/net/new.c
@@ -0,0 +1 @@
+new
"""

CHANGES_THE_POLICY = """\
--- a/net/ackpol.c
+++ b/net/ackpol.c
@@ -1 +1 @@
-policy
+better policy
"""


pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def tarball(tmp_path: Path) -> Path:
    linux = tmp_path / "linux-6.12"
    (linux / "net").mkdir(parents=True)
    (linux / "Makefile").write_text(MAKEFILE)
    (linux / "net" / "tcp.c").write_text("one\ntwo\n")
    (linux / "net" / "ip.c").write_text("ip\n")
    target = tmp_path / "linux-6.12.tar.xz"
    subprocess.run(["tar", "-C", tmp_path, "-cJf", target, linux.name], check=True)
    return target


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    kernel = tmp_path / "kernel"
    for topic in ("lab", "postable", "research", "wifi"):
        (kernel / "patches" / topic).mkdir(parents=True)
    (kernel / "patches" / "lab" / "1.patch").write_text(PATCH)
    (kernel / "patches" / "postable" / "2.patch").write_text(ADDS_A_FILE)
    (kernel / "patches" / "series").write_text(
        "# what for\n\nlab/1.patch  # a comment\npostable/2.patch net/ackpol.c\n"
    )
    (kernel / "net").mkdir()
    (kernel / "net" / "ackpol.c").write_text("policy\n")
    return kernel


@pytest.fixture
def divided(overlay: Path) -> Path:
    """All topics, and patches of "lab" among and after the others."""
    (overlay / "include").mkdir()
    (overlay / "include" / "debug.h").write_text("debug\n")
    names = ("lab/1", "postable/2", "lab/3", "postable/4", "research/5", "lab/6", "wifi/7", "lab/8")
    for name in names[2:]:
        (overlay / "patches" / f"{name}.patch").write_text("")
    lines = [f"{name}.patch" for name in names]
    lines[1] += " net/ackpol.c"
    lines[5] += " include/debug.h"
    (overlay / "patches" / "series").write_text("\n".join(lines))
    return overlay


def quiet(_: str) -> None:
    pass


def patches(changes: source.Changes) -> list[str]:
    return [f"{step.topic}/{step.patch.stem}" for step in changes]


def test_series_is_read_in_order_without_comments(overlay: Path) -> None:
    assert patches(source.read_changes(overlay=overlay)) == ["lab/1", "postable/2"]


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        ("lab", "lab/1"),
        ("postable", "postable/2 postable/4"),
        ("research", "postable/2 postable/4 research/5"),
        ("wifi", "wifi/7"),
        ("lab wifi", "lab/1 wifi/7"),
        ("lab postable", "lab/1 postable/2 lab/3 postable/4"),
        ("lab research", "lab/1 postable/2 lab/3 postable/4 research/5 lab/6"),
    ],
)
def test_topics_include_those_they_depend_on(divided: Path, topics: str, expected: str) -> None:
    changes = source.read_changes(topics.split(), divided)
    assert patches(changes) == expected.split()
    files = {name for step in changes for name in step.files}
    assert ("include/debug.h" in files) == ("lab/6" in expected)


def test_all_topics_are_all_lines_of_the_series(divided: Path) -> None:
    lines = (divided / "patches" / "series").read_text().splitlines()
    assert len(source.read_changes(overlay=divided)) == len(lines)


def test_topic_before_one_it_needs_is_an_error(divided: Path) -> None:
    series = divided / "patches" / "series"
    series.write_text(f"{series.read_text()}\npostable/9.patch\n")
    with pytest.raises(
        InputError, match=r"series:9: postable/9\.patch: .* before research/5\.patch"
    ):
        source.read_changes(["wifi"], divided)


@pytest.mark.parametrize("entry", ["lab/none.patch", "other/1.patch", "lab/more/1.patch"])
def test_bad_series_entry_names_file_and_line(overlay: Path, entry: str) -> None:
    (overlay / "patches" / "series").write_text(f"lab/1.patch\n{entry}\n")
    with pytest.raises(InputError, match=rf"series:2: .*{entry}"):
        source.read_changes(overlay=overlay)


def test_topic_has_only_the_files_of_its_patches(overlay: Path) -> None:
    (overlay / "drivers" / "radio").mkdir(parents=True)
    (overlay / "drivers" / "radio" / "air.c").write_text("air\n")
    (overlay / "patches" / "series").write_text(
        "lab/1.patch  drivers/radio\npostable/2.patch  net/ackpol.c  # a comment\n"
    )
    [step] = source.read_changes(["postable"], overlay)
    assert step.patch.name == "2.patch"
    assert step.files == {"net/ackpol.c": overlay / "net" / "ackpol.c"}
    assert [sorted(step.files) for step in source.read_changes(overlay=overlay)] == [
        ["drivers/radio/air.c"],
        ["net/ackpol.c"],
    ]


def test_directory_in_the_series_includes_all_its_files(overlay: Path) -> None:
    (overlay / "net" / "ipv4").mkdir()
    (overlay / "net" / "ipv4" / "tcp.c").write_text("tcp\n")
    (overlay / "patches" / "series").write_text("postable/2.patch  net\n")
    [step] = source.read_series(overlay)
    assert list(step.files) == ["net/ackpol.c", "net/ipv4/tcp.c"]


def test_files_of_editors_do_not_belong_to_linux(overlay: Path) -> None:
    (overlay / "patches" / "series").write_text("lab/1.patch\npostable/2.patch  net\n")
    (overlay / "include").mkdir()
    for directory in ("net", "include"):
        for name in (".ackpol.c.swp", "ackpol.c~"):
            (overlay / directory / name).touch()
        (overlay / directory / ".#ackpol.c").symlink_to("user@host")
    _, step = source.read_series(overlay)
    assert list(step.files) == ["net/ackpol.c"]


def test_only_tests_below_tools_belong_to_linux(overlay: Path) -> None:
    (overlay / "tools" / "testing").mkdir(parents=True)
    (overlay / "tools" / "ours.py").write_text("")
    assert len(source.read_series(overlay)) == 2
    (overlay / "tools" / "testing" / "one.pkt").write_text("")
    with pytest.raises(InputError, match=r"series: tools/testing/one\.pkt is not listed"):
        source.read_series(overlay)


@pytest.mark.parametrize("topics", [["postable"], ["lab"], source.TOPICS])
def test_file_without_a_patch_is_an_error(overlay: Path, topics: list[str]) -> None:
    (overlay / "patches" / "series").write_text("lab/1.patch\npostable/2.patch\n")
    with pytest.raises(InputError, match=r"series: net/ackpol\.c is not listed"):
        source.read_changes(topics, overlay)


def test_file_of_two_patches_is_an_error(overlay: Path) -> None:
    (overlay / "patches" / "series").write_text("lab/1.patch net\npostable/2.patch net/ackpol.c\n")
    with pytest.raises(InputError, match=r"series:2: net/ackpol\.c is already on line 1"):
        source.read_series(overlay)


def test_missing_file_of_the_series_is_an_error(overlay: Path) -> None:
    (overlay / "patches" / "series").write_text("postable/2.patch net/none.c\n")
    with pytest.raises(InputError, match=r"series:1: .*net/none\.c does not exist"):
        source.read_series(overlay)


def test_tree_has_patches_and_files(tarball: Path, overlay: Path, tmp_path: Path) -> None:
    changes = source.read_changes(overlay=overlay)
    tree = source.prepare_tree(tarball, changes, tmp_path / "work", quiet)
    assert (tree / "net" / "tcp.c").read_text() == "one\n2\n"
    assert (tree / "net" / "new.c").read_text() == "new\n"
    assert (tree / "net" / "ackpol.c").read_text() == "policy\n"


@pytest.mark.parametrize("topic", ["postable", "research", "lab"])
def test_patch_can_change_a_file_of_an_earlier_step(
    tarball: Path, overlay: Path, tmp_path: Path, topic: str
) -> None:
    (overlay / "patches" / topic / "3.patch").write_text(CHANGES_THE_POLICY)
    with (overlay / "patches" / "series").open("a") as series:
        series.write(f"{topic}/3.patch\n")
    changes = source.read_changes(overlay=overlay)
    tree = source.prepare_tree(tarball, changes, tmp_path / "work", quiet)
    assert (tree / "net" / "ackpol.c").read_text() == "better policy\n"
    assert source.files_of_linux(changes) == {"net/tcp.c"}
    # In the same tree without the step, and again with it.
    source.prepare_tree(tarball, changes[:-1], tmp_path / "work", quiet)
    assert (tree / "net" / "ackpol.c").read_text() == "policy\n"
    source.prepare_tree(tarball, changes, tmp_path / "work", quiet)
    assert (tree / "net" / "ackpol.c").read_text() == "better policy\n"


def test_patch_cannot_change_a_file_of_a_later_step(
    tarball: Path, overlay: Path, tmp_path: Path
) -> None:
    (overlay / "patches" / "lab" / "1.patch").write_text(CHANGES_THE_POLICY)
    changes = source.read_changes(overlay=overlay)
    assert source.files_of_linux(changes) == {"net/ackpol.c"}
    with pytest.raises(AirtcpError, match=r"1\.patch does not apply"):
        source.prepare_tree(tarball, changes, tmp_path / "work", quiet)


def test_additional_steps_are_applied_last(tarball: Path, overlay: Path, tmp_path: Path) -> None:
    directory = tmp_path / "own"
    directory.mkdir()
    (directory / "hook.patch").write_text(CHANGES_THE_POLICY)
    (directory / "own.c").write_text("own\n")
    extra = (source.Step(directory / "hook.patch", {"net/own.c": directory / "own.c"}),)
    changes = source.read_changes(overlay=overlay) + extra
    tree = source.prepare_tree(tarball, changes, tmp_path / "work", quiet)
    assert (tree / "net" / "ackpol.c").read_text() == "better policy\n"
    assert (tree / "net" / "own.c").read_text() == "own\n"


def test_second_preparation_writes_only_changed_files(
    tarball: Path, overlay: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    tree = source.prepare_tree(tarball, source.read_changes(overlay=overlay), work, quiet)
    before = {path: path.stat().st_mtime_ns for path in tree.rglob("*.c")}
    (overlay / "net" / "ackpol.c").write_text("better policy\n")
    source.prepare_tree(tarball, source.read_changes(overlay=overlay), work, quiet)
    changed = {
        path.name for path, mtime_ns in before.items() if path.stat().st_mtime_ns != mtime_ns
    }
    assert changed == {"ackpol.c"}


def test_unused_directories_are_not_unpacked(tarball: Path, overlay: Path, tmp_path: Path) -> None:
    tests = tmp_path / "linux-6.12" / "tools" / "testing"
    for name in ("kunit/a.py", "selftests/net/Makefile"):
        (tests / name).parent.mkdir(parents=True)
        (tests / name).touch()
    subprocess.run(["tar", "-C", tmp_path, "-cJf", tarball, "linux-6.12"], check=True)
    changes = source.read_changes(overlay=overlay)
    tree = source.prepare_tree(tarball, changes, tmp_path / "work", quiet) / "tools" / "testing"
    found = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    assert found == {"selftests/net/Makefile"}


def test_files_without_a_patch_anymore_are_restored(
    tarball: Path, overlay: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    source.prepare_tree(tarball, source.read_changes(overlay=overlay), work, quiet)
    (overlay / "patches" / "series").write_text("")
    (overlay / "net" / "ackpol.c").unlink()
    tree = source.prepare_tree(tarball, source.read_changes(overlay=overlay), work, quiet)
    assert (tree / "net" / "tcp.c").read_text() == "one\ntwo\n"
    assert not (tree / "net" / "new.c").exists()
    assert not (tree / "net" / "ackpol.c").exists()


def test_a_full_disk_leaves_no_part_of_an_original(
    tarball: Path, overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, changes = tmp_path / "work", source.read_changes(overlay=overlay)

    def copy_a_part(path: Path, target: Path) -> None:
        target.write_bytes(path.read_bytes()[:4])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfile", copy_a_part)
    with pytest.raises(OSError, match="No space"):
        source.prepare_tree(tarball, changes, work, quiet)
    monkeypatch.undo()
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path / "cache"))
    said: list[str] = []
    tree = source.prepare_tree(tarball, changes, work, said.append)
    assert said == []
    assert (tree / "net" / "tcp.c").read_text() == "one\n2\n"


def test_error_names_a_patch_that_does_not_apply(
    tarball: Path, overlay: Path, tmp_path: Path
) -> None:
    (overlay / "patches" / "lab" / "1.patch").write_text(PATCH.replace("two", "three"))
    with pytest.raises(AirtcpError, match=r"1\.patch does not apply: .*FAILED"):
        source.prepare_tree(tarball, source.read_changes(overlay=overlay), tmp_path / "work", quiet)


def test_a_version_that_is_too_old_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE.replace("12", "0"))
    with pytest.raises(InputError, match=r"this is Linux 6\.0\.9; allowed: 6\.1 and later"):
        source.find_source(tmp_path)


def test_directory_without_a_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Makefile"):
        source.find_source(tmp_path)


def test_missing_tarball_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.tar\.xz: does not exist; give a Linux source"):
        source.find_source(tmp_path / "missing.tar.xz")


def test_error_of_a_broken_tarball_is_one_line(overlay: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tar.xz"
    broken.write_bytes(b"not xz")
    with pytest.raises(AirtcpError, match="cannot unpack") as error:
        source.prepare_tree(broken, source.read_changes(overlay=overlay), tmp_path / "work", quiet)
    assert "\n" not in str(error.value)


def test_error_without_a_source_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "DEBIAN_TARBALL", Path("/nonexistent.tar.xz"))
    with pytest.raises(InputError, match=r"apt-get install linux-source-6\.12"):
        source.find_source(None)


def test_identity_depends_on_the_content(tmp_path: Path) -> None:
    tarball = tmp_path / "a.tar"
    tarball.write_text("one")
    first = source.identity(tarball)
    assert source.identity(tarball) == first
    tarball.write_text("longer")
    assert source.identity(tarball) != first
    tree = tmp_path / "tree"
    tree.mkdir()
    empty = source.identity(tree)
    (tree / "file").write_text("x")
    assert source.identity(tree) != empty
