# SPDX-License-Identifier: GPL-2.0-only
"""What changes the hash of the kernel that outcomes of verification hold for."""

from pathlib import Path

import pytest
from verification import kernel
from verification.kernel import KernelId, kernel_id

_RADIO = "drivers/net/wireless/virtual/airsim/airsim.c"
_WATCH = "net/ipv4/tcp_watch.c"

_SERIES = f"""\
postable/0001-policy.patch net/a.c Documentation
lab/0002-um.patch {_RADIO} {_WATCH}
"""

_PATCH = """\
Subject: [PATCH] tcp: add a policy

Text.
---
 net/ipv4/Kconfig | 5 +++++

diff --git a/net/ipv4/Kconfig b/net/ipv4/Kconfig
index 62bc08b..ad147a2 100644
--- a/net/ipv4/Kconfig
+++ b/net/ipv4/Kconfig
@@ -805,2 +805,5 @@ config TCP
 endif
+config TCP_ACKPOL
+\tbool "TCP: policies"
+\thelp
+\t  Policies.
 config NET_IPIP
diff --git a/Documentation/networking/index.rst b/Documentation/networking/index.rst
--- a/Documentation/networking/index.rst
+++ b/Documentation/networking/index.rst
@@ -1,1 +1,2 @@
 a
+b
diff --git a/net/ipv4/tcp.c b/net/ipv4/tcp.c
--- a/net/ipv4/tcp.c
+++ b/net/ipv4/tcp.c
@@ -3,2 +3,2 @@
-int a;
+int b;
"""


@pytest.fixture
def overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two patches, of which only User Mode Linux uses the second, and files."""
    monkeypatch.setattr(kernel, "find_source", lambda _: Path("linux.tar.xz"))
    monkeypatch.setattr(kernel, "identity", lambda _: "source")
    for name, content in {
        "patches/postable/0001-policy.patch": _PATCH,
        "patches/lab/0002-um.patch": "--- a/fs/hostfs/a.c\n+++ b/fs/hostfs/a.c\n@@ -1 +0 @@\n-x\n",
        "patches/series": _SERIES,
        "patches/cover-letter.txt": "tcp: policies\n",
        "Documentation/policies.rst": "Policies\n",
        "net/a.c": "int a;\n",
        _RADIO: "int a;\n",
        _WATCH: "int a;\n",
        "configs/a.config": "CONFIG_A=y\n",
        "configs/lab.config": "CONFIG_64BIT=y\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def replaced(overlay: Path, name: str, old: str, new: str) -> KernelId:
    """The kernel after a replacement in a file, which must contain the old text."""
    text = (overlay / name).read_text()
    assert old in text
    (overlay / name).write_text(text.replace(old, new))
    return kernel_id(overlay)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("net/a.c", "int a", "int b"),
        ("configs/a.config", "=y", "=m"),
        ("patches/postable/0001-policy.patch", "+int b;", "+int c;"),
        ("patches/postable/0001-policy.patch", "-int a;", "-int c;"),
        ("patches/postable/0001-policy.patch", "tcp.c", "tcp_input.c"),
        ("patches/postable/0001-policy.patch", "+config TCP_ACKPOL", "+config TCP_ACK"),
        ("patches/postable/0001-policy.patch", "+\tbool", "+\ttristate"),
        (
            "patches/series",
            " net/a.c Documentation\nlab/0002-um.patch",
            " Documentation\nlab/0002-um.patch net/a.c",
        ),
    ],
)
def test_code_changes_both_hashes(overlay: Path, name: str, old: str, new: str) -> None:
    before = kernel_id(overlay)
    after = replaced(overlay, name, old, new)
    assert after.hash != before.hash and after.without_uml != before.without_uml


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("patches/postable/0001-policy.patch", "[PATCH] tcp: add a policy", "[PATCH] tcp: policy"),
        ("patches/postable/0001-policy.patch", "Text.", "Another text."),
        ("patches/postable/0001-policy.patch", "5 +++++", "6 ++++++"),
        ("patches/postable/0001-policy.patch", "-805,2 +805,5", "-805,2 +805,6"),
        ("patches/postable/0001-policy.patch", "\t  Policies.", "\t  Policies of\n+\t  TCP."),
        ("patches/postable/0001-policy.patch", "+b\n", "+c\n"),
        ("patches/series", "postable", "# Comment\npostable"),
        ("patches/cover-letter.txt", "policies", "a policy"),
        ("Documentation/policies.rst", "Policies", "A policy"),
    ],
)
def test_text_for_readers_changes_no_hash(overlay: Path, name: str, old: str, new: str) -> None:
    before = kernel_id(overlay)
    assert replaced(overlay, name, old, new) == before


def test_names_of_patches_change_no_hash(overlay: Path) -> None:
    before = kernel_id(overlay)
    directory = overlay / "patches" / "postable"
    (directory / "0001-policy.patch").rename(directory / "0001-policies.patch")
    assert replaced(overlay, "patches/series", "policy", "policies") == before


def test_caches_of_python_change_no_hash(overlay: Path) -> None:
    before = kernel_id(overlay)
    (overlay / "tools" / "__pycache__").mkdir(parents=True)
    (overlay / "tools" / "__pycache__" / "a.pyc").touch()
    assert kernel_id(overlay) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (_RADIO, "int a", "int b"),
        (_WATCH, "int a", "int b"),
        ("patches/lab/0002-um.patch", "-x", "-y"),
        ("configs/lab.config", "=y", "=n"),
    ],
)
def test_what_only_uml_uses_changes_one_hash(overlay: Path, name: str, old: str, new: str) -> None:
    before = kernel_id(overlay)
    after = replaced(overlay, name, old, new)
    assert after.hash != before.hash and after.without_uml == before.without_uml


def test_linux_source_changes_the_hash(overlay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = kernel_id(overlay)
    monkeypatch.setattr(kernel, "identity", lambda _: "other source")
    assert kernel_id(overlay).hash != before.hash
