# SPDX-License-Identifier: GPL-2.0-only
"""The work tree: series, patches and whole files laid over a (tiny) Linux."""

import subprocess
from pathlib import Path

import pytest

from airtcp.errors import AirtcpError, InputError
from airtcp.linux import source

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

MAKES_A_FILE = """\
--- /dev/null
+++ b/net/new.c
@@ -0,0 +1 @@
+new
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path / "cache"))


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
    (kernel / "patches" / "lab").mkdir(parents=True)
    (kernel / "patches" / "tcp").mkdir()
    (kernel / "patches" / "lab" / "1.patch").write_text(PATCH)
    (kernel / "patches" / "tcp" / "2.patch").write_text(MAKES_A_FILE)
    (kernel / "patches" / "series").write_text(
        "# what for\n\nlab/1.patch  # a comment\ntcp/2.patch\n"
    )
    (kernel / "net").mkdir()
    (kernel / "net" / "ackpol.c").write_text("policy\n")
    return kernel


def quiet(_: str) -> None:
    pass


def test_series_is_read_in_order_without_comments(overlay: Path) -> None:
    assert [path.name for path in source.read_changes(overlay=overlay).patches] == [
        "1.patch",
        "2.patch",
    ]


def test_lab_leaves_out_the_hooks_of_tcp(overlay: Path) -> None:
    assert [path.name for path in source.read_changes(["lab"], overlay).patches] == ["1.patch"]


@pytest.mark.parametrize("entry", ["lab/none.patch", "other/1.patch"])
def test_bad_series_entry_names_file_and_line(overlay: Path, entry: str) -> None:
    (overlay / "patches" / "series").write_text(f"lab/1.patch\n{entry}\n")
    with pytest.raises(InputError, match=rf"series:2: .*{entry}"):
        source.read_changes(overlay=overlay)


def test_tcp_has_only_the_files_that_its_patches_bring(overlay: Path) -> None:
    (overlay / "drivers" / "radio").mkdir(parents=True)
    (overlay / "drivers" / "radio" / "air.c").write_text("air\n")
    (overlay / "patches" / "series").write_text(
        "lab/1.patch  drivers/radio\ntcp/2.patch  net/ackpol.c  # a comment\n"
    )
    changes = source.read_changes(["tcp"], overlay)
    assert [path.name for path in changes.patches] == ["2.patch"]
    assert changes.files == {"net/ackpol.c": overlay / "net" / "ackpol.c"}
    assert source.read_changes(overlay=overlay).files.keys() == {
        "net/ackpol.c",
        "drivers/radio/air.c",
    }


def test_directory_in_the_series_is_all_below_it(overlay: Path) -> None:
    (overlay / "net" / "ipv4").mkdir()
    (overlay / "net" / "ipv4" / "tcp.c").write_text("tcp\n")
    (overlay / "patches" / "series").write_text("tcp/2.patch  net\n")
    [step] = source.read_series(overlay)
    assert step.files == ("net/ackpol.c", "net/ipv4/tcp.c")


def test_file_that_no_patch_brings_is_named(overlay: Path) -> None:
    with pytest.raises(InputError, match=r"series: no patch brings net/ackpol\.c"):
        source.read_changes(["tcp"], overlay)


def test_file_that_two_patches_bring_is_named(overlay: Path) -> None:
    (overlay / "patches" / "series").write_text("lab/1.patch net\ntcp/2.patch net/ackpol.c\n")
    with pytest.raises(InputError, match=r"series:2: net/ackpol\.c: line 1 brings it already"):
        source.read_series(overlay)


def test_file_of_the_series_that_is_missing_is_named(overlay: Path) -> None:
    (overlay / "patches" / "series").write_text("tcp/2.patch net/none.c\n")
    with pytest.raises(InputError, match=r"series:1: there is no .*net/none\.c"):
        source.read_series(overlay)


def test_tree_has_patches_and_files(tarball: Path, overlay: Path, tmp_path: Path) -> None:
    changes = source.read_changes(overlay=overlay)
    tree = source.prepare_tree(tarball, changes, tmp_path / "work", quiet)
    assert (tree / "net" / "tcp.c").read_text() == "one\n2\n"
    assert (tree / "net" / "new.c").read_text() == "new\n"
    assert (tree / "net" / "ackpol.c").read_text() == "policy\n"


def test_second_preparation_touches_only_what_changed(
    tarball: Path, overlay: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    tree = source.prepare_tree(tarball, source.read_changes(overlay=overlay), work, quiet)
    before = {path: path.stat().st_mtime_ns for path in tree.rglob("*.c")}
    (overlay / "net" / "ackpol.c").write_text("better policy\n")
    source.prepare_tree(tarball, source.read_changes(overlay=overlay), work, quiet)
    changed = {path.name for path, then in before.items() if path.stat().st_mtime_ns != then}
    assert changed == {"ackpol.c"}


def test_what_is_no_longer_laid_over_goes_back(
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


def test_patch_that_does_not_apply_is_named(tarball: Path, overlay: Path, tmp_path: Path) -> None:
    (overlay / "patches" / "lab" / "1.patch").write_text(PATCH.replace("two", "three"))
    with pytest.raises(AirtcpError, match=r"1\.patch does not apply: .*FAILED"):
        source.prepare_tree(tarball, source.read_changes(overlay=overlay), tmp_path / "work", quiet)


def test_other_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE.replace("12", "13"))
    with pytest.raises(InputError, match=r"Linux 6\.13\.9; Linux 6\.12\.y is allowed"):
        source.find_source(tmp_path)


def test_directory_that_is_no_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Makefile"):
        source.find_source(tmp_path)


def test_file_that_is_no_tarball_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.tar\.xz.*allowed"):
        source.find_source(tmp_path / "missing")


def test_tarball_that_is_broken_is_one_line(overlay: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tar.xz"
    broken.write_bytes(b"not xz")
    with pytest.raises(AirtcpError, match="cannot unpack") as caught:
        source.prepare_tree(broken, source.read_changes(overlay=overlay), tmp_path / "work", quiet)
    assert "\n" not in str(caught.value)


def test_no_source_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "DEBIAN_TARBALL", Path("/nonexistent.tar.xz"))
    with pytest.raises(InputError, match=r"apt-get install linux-source-6\.12"):
        source.find_source(None)


def test_identity_follows_the_content(tmp_path: Path) -> None:
    tarball = tmp_path / "a.tar"
    tarball.write_text("one")
    one = source.identity(tarball)
    assert source.identity(tarball) == one
    tarball.write_text("longer")
    assert source.identity(tarball) != one
    tree = tmp_path / "tree"
    tree.mkdir()
    empty = source.identity(tree)
    (tree / "file").write_text("x")
    assert source.identity(tree) != empty
