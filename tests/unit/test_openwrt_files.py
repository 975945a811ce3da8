# SPDX-License-Identifier: GPL-2.0-only
"""The files of `kernel openwrt`: well-formed, complete, the same every time; and its errors."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from airtcp import cli
from airtcp.errors import AirtcpError
from airtcp.kernel import openwrt
from airtcp.kernel.source import OVERLAY, Step, read_changes

FILES = openwrt.files()
PATCHES = {name: text for name, text in FILES.items() if name.endswith(".patch")}
KERNEL_PATCHES = [name for name in PATCHES if name.startswith(openwrt.PENDING)]
POLICIES = ("aad", "auto", "limit", "tack")


def hunks(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Lines before and after: those that the header of each hunk states, and those that it has."""
    for part in re.split(r"^(?=@@ )", text, flags=re.M)[1:]:
        header, *lines = part.split("\n--- ")[0].splitlines()
        match = re.fullmatch(r"@@ -\d+,(\d+) \+\d+,(\d+) @@.*", header)
        assert match, header
        signs = [line[0] for line in lines]
        assert set(signs) <= set(" +-"), header
        before, after = (sum(sign in kind for sign in signs) for kind in (" -", " +"))
        yield (int(match[1]), int(match[2])), (before, after)


@pytest.mark.parametrize("name", PATCHES)
def test_patches_are_well_formed(name: str) -> None:
    text = PATCHES[name]
    message = text.partition("\n---\n")[0]
    for line in (
        "From: ",
        "Date: ",
        r"Subject: \[PATCH\] (?:tcp|wifi: mac80211): ",
        "Signed-off-by: ",
    ):
        assert re.search(rf"^{line}\S", message, re.M), line
    stated = list(hunks(text))
    assert stated and all(header == content for header, content in stated)
    assert re.fullmatch(
        r"(--- (a/\S+|/dev/null)\n\+\+\+ b/\S+\n(?:@@ |[ +-]).*\n(?:[ @+-].*\n)*)+",
        text.partition("\n---\n")[2],
    )


def test_kernel_patches_are_a_subset_with_a_number_of_the_network() -> None:
    names = [Path(name).name for name in KERNEL_PATCHES]
    assert names == sorted(names)
    numbers = [f"{openwrt.NUMBER}-{number:02}" for number in range(1, len(names) + 1)]
    assert [name[:6] for name in names] == numbers
    assert 600 <= openwrt.NUMBER < 700


def test_kernel_patches_have_all_code_of_the_topic_and_nothing_else() -> None:
    changed = {
        path
        for name in KERNEL_PATCHES
        for path in re.findall(r"^\+\+\+ b/(.*)$", PATCHES[name], re.M)
    }
    wanted = {path for step in read_changes(["postable"]) for path in step.touched}
    assert changed == {path for path in wanted if path.startswith(("net/", "include/"))}
    left_out = {path.partition("/")[0] for path in wanted - changed}
    assert left_out == {"Documentation", "MAINTAINERS", "tools"}


def test_every_option_of_the_patches_is_off() -> None:
    """make asks for options that OpenWrt's configuration does not have."""
    text = "".join(PATCHES[name] for name in KERNEL_PATCHES)
    options = re.findall(r"^\+(?:menu)?config (\w+)$", text, re.M)
    lines = FILES[openwrt.KERNEL_OPTIONS].splitlines()
    assert lines == sorted(f"# CONFIG_{option} is not set" for option in options)


def test_each_policy_has_a_package() -> None:
    text = FILES[openwrt.KERNEL_MODULES]
    kinds = re.findall(r"^define KernelPackage/tcp-ackpol-(\w+)$", text, re.M)
    assert sorted(kinds) == list(POLICIES)
    makefile = "".join(PATCHES[name] for name in KERNEL_PATCHES)
    for name in POLICIES:
        assert f"$(eval $(call KernelPackage,tcp-ackpol-{name}))\n" in text
        assert f"\n\tCONFIG_TCP_ACKPOL_{name.upper()}\n" in text
        assert (
            f"\nobj-$(CONFIG_TCP_ACKPOL_{name.upper()}) += tcp_ackpol_{name}.o\n"
            in makefile.replace("\n+", "\n")
        )
        assert f"/net/ipv4/tcp_ackpol_{name}.ko\n" in text
        assert f"AutoProbe,tcp_ackpol_{name})\n" in text
    assert text.count("\ndefine ") == text.count("\nendef\n") == 2 * len(POLICIES)


MENUS = """\
define KernelPackage
  $(eval $(call KernelPackage/$(1)))
  $$(info $(1): $$(SUBMENU))
endef
include airtcp.mk netsupport.mk
all: ;
"""


def test_packages_of_policies_are_in_the_menu_of_the_network(tmp_path: Path) -> None:
    """OpenWrt includes the files in alphabetical order; netsupport.mk names the menu."""
    (tmp_path / "airtcp.mk").write_text(FILES[openwrt.KERNEL_MODULES])
    (tmp_path / "netsupport.mk").write_text("NETWORK_SUPPORT_MENU:=Network Support\n")
    command = ["make", "-s", "-f", "-"]
    done = subprocess.run(
        command, cwd=tmp_path, input=MENUS, capture_output=True, text=True, check=True
    )
    menus = sorted(line for line in done.stdout.splitlines() if line.startswith("tcp-ackpol"))
    assert menus == [f"tcp-ackpol-{name}: Network Support" for name in POLICIES]


def test_package_installs_each_of_its_files() -> None:
    makefile = FILES[f"{openwrt.PACKAGE_FILES}/Makefile"]
    installed = re.findall(r"\./files/(\S+)", makefile)
    directory = f"{openwrt.PACKAGE_FILES}/files/"
    assert sorted(installed) == sorted(
        name.removeprefix(directory) for name in FILES if name.startswith(directory)
    )
    assert re.search(r"^PKG_VERSION:=\d+(\.\d+)+$", makefile, re.M)
    assert makefile.count("\ndefine ") == makefile.count("\nendef\n")


def test_acks_are_filtered_without_symbols_of_the_kernel() -> None:
    """Backports have options of their own, and the kernel has neither these functions."""
    text = PATCHES[openwrt.MAC80211]
    assert not re.search(r"^[ +-].*\bCONFIG_MAC80211_", text, re.M)
    assert "select" not in text.partition("\n---\n")[2]
    assert not re.search(r"^\+(?:EXPORT_SYMBOL\(|EXPORT_SYMBOL_GPL|MODULE_)", text, re.M)
    assert "+\tdefault MAC80211_DEBUGFS\n" in text
    assert "+mac80211-$(CPTCFG_MAC80211_ACK_FILTER) += ack_filter.o tcp_ack_filter.o\n" in text
    assert "KUNIT" not in re.sub(r"^[^+].*\n|EXPORT_SYMBOL_IF_MAC80211_KUNIT", "", text, flags=re.M)


def test_changed_patch_that_cannot_be_converted_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def changed(topics: list[str], overlay: Path) -> tuple[Step, ...]:
        *others, last = read_changes(topics, overlay)
        patch = tmp_path / last.patch.relative_to(overlay)
        patch.parent.mkdir(parents=True)
        patch.write_text(last.patch.read_text().replace("+\tdepends on MAC80211_DEBUGFS", "+"))
        return (*others, replace(last, patch=patch))

    steps = read_changes(["postable", "wifi"])
    monkeypatch.setattr(
        openwrt, "read_changes", lambda *_: [*steps[2:], *changed(["wifi"], OVERLAY)]
    )
    with pytest.raises(AirtcpError, match=r"the patch for mac80211 cannot be converted: .*DEBUGFS"):
        openwrt.files()


def test_command_line_writes_and_prints_every_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "out"
    assert cli.main(["kernel", "openwrt", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == [str(out / name) for name in FILES]
    assert {name: (out / name).read_text() for name in FILES} == FILES
    assert sorted(printed) == sorted(str(path) for path in out.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("full", "{} already exists; give a new or empty directory"),
        ("full/mine", "{} already exists; give a new or empty directory"),
        ("full/mine/x", "{}: Not a directory; give a directory that you can write"),
        ("/proc/airtcp", "{}: No such file or directory; give a directory that you can write"),
    ],
)
def test_directory_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, message: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    assert cli.main(["kernel", "openwrt", str(tmp_path / given)]) == 2
    error = f"airtcp: {message.format(tmp_path / given)}\n"
    assert capsys.readouterr() == ("", error)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]
