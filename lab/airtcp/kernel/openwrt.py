# SPDX-License-Identifier: GPL-2.0-only
"""Write patches, kernel options and packages for an OpenWrt tree with Linux 6.12.

Only the ACK policies for netdev (`postable`) are patches for OpenWrt's kernel. The ACK filter
(`wifi`) is one patch for OpenWrt's package mac80211, which is built from backports of a newer
Linux: there it does not depend on the kernel, and sch_cake, which OpenWrt changes itself, is left
alone.
"""

import errno
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

import airtcp
from airtcp import interrupts
from airtcp.errors import NO_SPACE, AirtcpError, InputError
from airtcp.kernel.series import require_empty
from airtcp.kernel.source import Step, read_changes
from airtcp.paths import PACKAGE

GENERIC = "target/linux/generic"
PENDING = f"{GENERIC}/pending-6.12"
KERNEL_OPTIONS = f"{GENERIC}/config-6.12.airtcp"
KERNEL_MODULES = "package/kernel/linux/modules/airtcp.mk"
PACKAGE_FILES = "package/network/services/airtcp"
MAC80211 = "package/kernel/mac80211/patches/subsys/395-mac80211-filter-TCP-ACKs.patch"

# OpenWrt numbers patches by subject; 6xx is the network. The patches are a subset, 695-01 etc.
NUMBER = 695

# OpenWrt does not use these, and changes some of them itself.
_LEFT_OUT = ("Documentation/", "MAINTAINERS", "tools/")

_TEMPLATES = PACKAGE / "kernel" / "templates" / "airtcp"

_MAC80211_NOTE = """\
For OpenWrt, the functions that sch_cake and mac80211 share in Linux are
part of mac80211, so that the kernel need not be patched, and the filter is
built whenever MAC80211_DEBUGFS is set.
"""


@dataclass(frozen=True)
class Hunk:
    """Part of a patch. start: its first line in the old file, 0 for a new file."""

    start: int
    heading: str
    lines: tuple[str, ...]

    def with_line(self, old: str, *new: str) -> "Hunk":
        """Replace a line, given with its sign. Raises AirtcpError if it is not there once."""
        if self.lines.count(old) != 1:
            raise AirtcpError(f"the patch for mac80211 cannot be converted: no single line {old!r}")
        at = self.lines.index(old)
        return replace(self, lines=self.lines[:at] + new + self.lines[at + 1 :])


@dataclass(frozen=True)
class Diff:
    """The change of one file."""

    path: str
    hunks: tuple[Hunk, ...]

    def __str__(self) -> str:
        is_new = self.hunks[0].start == 0
        text = ["--- /dev/null" if is_new else f"--- a/{self.path}", f"+++ b/{self.path}"]
        grown = 0
        for hunk in self.hunks:
            old = sum(line[0] in " -" for line in hunk.lines)
            new = sum(line[0] in " +" for line in hunk.lines)
            start = hunk.start + grown + is_new
            text += [f"@@ -{hunk.start},{old} +{start},{new} @@{hunk.heading}", *hunk.lines]
            grown += new - old
        return "\n".join(text) + "\n"


def write(directory: Path) -> list[Path]:
    """Write the files of an OpenWrt tree below a new or empty directory, and return their paths.

    Raises InputError if the directory has files or cannot be written, or for the reasons of
    source.read_series().
    """
    require_empty(directory)
    made = files()
    try:
        with interrupts.deferred():
            for name, content in made.items():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                (directory / name).write_text(content, encoding="utf-8")
    except OSError as error:
        if error.errno in (*NO_SPACE, errno.EIO):
            raise
        raise InputError(
            f"{directory}: {error.strerror}; give a directory that you can write"
        ) from None
    return [directory / name for name in made]


def files() -> dict[str, str]:
    """All files, by their path in an OpenWrt tree."""
    steps = read_changes(["postable", "wifi"])
    kernel = [step for step in steps if step.topic == "postable"]
    patches = [(step.patch.name, text) for step in kernel if (text := _kernel_patch(step))]
    made = {
        f"{PENDING}/{NUMBER}-{number:02}-{name.partition('-')[2]}": text
        for number, (name, text) in enumerate(patches, 1)
    }
    added = "".join(text for _, text in patches)
    made[KERNEL_OPTIONS] = _kernel_options(added)
    made[KERNEL_MODULES] = _kernel_modules(added)
    made[MAC80211] = _mac80211_patch([step for step in steps if step.topic == "wifi"])
    for path in sorted(path for path in _TEMPLATES.rglob("*") if path.is_file()):
        name = f"{PACKAGE_FILES}/{path.relative_to(_TEMPLATES)}"
        made[name] = path.read_text(encoding="utf-8").replace("@VERSION@", airtcp.__version__)
    return made


def _kernel_patch(step: Step) -> str:
    """The patch with its whole files; empty if nothing of it is for OpenWrt."""
    message, diffs = _read(step.patch)
    diffs += [
        _new_file(name, path.read_text(encoding="utf-8")) for name, path in step.files.items()
    ]
    kept = [str(diff) for diff in diffs if not diff.path.startswith(_LEFT_OUT)]
    return message + "".join(kept) if kept else ""


def _kernel_options(patches: str) -> str:
    """Every option that the patches add, off: OpenWrt's packages set those of their modules."""
    options = re.findall(r"^\+config (\w+)$", patches, re.M)
    return "".join(f"# CONFIG_{option} is not set\n" for option in sorted(options))


def _kernel_modules(patches: str) -> str:
    """A package for each policy.

    OpenWrt reads the file before the one that defines NETWORK_SUPPORT_MENU.
    """
    found = re.findall(
        r'^\+config TCP_ACKPOL_(\w+)\n\+\ttristate "TCP: (.*)" if TCP_ACKPOL_ALL=n$', patches, re.M
    )
    return "# SPDX-License-Identifier: GPL-2.0-only\n" + "".join(
        f"""
define KernelPackage/tcp-ackpol-{option.lower()}
  SUBMENU:=Network Support
  TITLE:=TCP ACK policy {option.lower()}
  DEPENDS:=@LINUX_6_12
  KCONFIG:= \\
	CONFIG_TCP_ACKPOL=y \\
	CONFIG_TCP_ACKPOL_{option}
  FILES:=$(LINUX_DIR)/net/ipv4/tcp_ackpol_{option.lower()}.ko
  AUTOLOAD:=$(call AutoProbe,tcp_ackpol_{option.lower()})
endef

define KernelPackage/tcp-ackpol-{option.lower()}/description
 TCP acknowledgment policy: {title}.
endef

$(eval $(call KernelPackage,tcp-ackpol-{option.lower()}))
"""
        for option, title in found
    )


def _mac80211_patch(steps: list[Step]) -> str:
    """The ACK filter for the layout of backports: options of mac80211 begin with CPTCFG_."""
    shared, last = steps
    message, diffs = _read(last.patch)
    message = message.replace("\nSigned-off-by:", f"\n{_MAC80211_NOTE}\nSigned-off-by:", 1)
    change = {
        "net/mac80211/Kconfig": _without_prompt,
        "net/mac80211/Makefile": _with_shared_functions,
        "net/mac80211/ieee80211_i.h": _with_declaration_next_to_its_type,
    }
    wanted = [
        change.get(diff.path, lambda same: same)(diff)
        for diff in diffs
        if not diff.path.startswith("net/mac80211/tests/")
    ]
    header, source = "include/net/tcp_ack_filter.h", "net/core/tcp_ack_filter.c"
    wanted += [
        _new_file(header, shared.files[header].read_text(encoding="utf-8")),
        _new_file(
            "net/mac80211/tcp_ack_filter.c",
            _not_a_module(shared.files[source].read_text(encoding="utf-8")),
        ),
        _new_file(
            "net/mac80211/ack_filter.c",
            last.files["net/mac80211/ack_filter.c"].read_text(encoding="utf-8"),
        ),
    ]
    text = re.sub(r"\bCONFIG_(?=MAC80211_)", "CPTCFG_", "".join(map(str, wanted)))
    return message + text


def _without_prompt(diff: Diff) -> Diff:
    """Options of backports that are not set by their package are off, unless they have no prompt.

    Their Kconfig cannot select options of the kernel.
    """
    hunk = _only(hunk for hunk in diff.hunks if "+config MAC80211_ACK_FILTER" in hunk.lines)
    hunk = hunk.with_line('+\tbool "Filter TCP ACKs in transmit queues"', "+\tbool")
    hunk = hunk.with_line("+\tdepends on MAC80211_DEBUGFS", "+\tdefault MAC80211_DEBUGFS")
    return replace(diff, hunks=(hunk,))


def _with_shared_functions(diff: Diff) -> Diff:
    line = "+mac80211-$(CONFIG_MAC80211_ACK_FILTER) += ack_filter.o"
    hunk = _only(diff.hunks).with_line(line, f"{line} tcp_ack_filter.o")
    return replace(diff, hunks=(hunk,))


def _with_declaration_next_to_its_type(diff: Diff) -> Diff:
    """The end of the file, where Linux has the declaration, differs between versions."""
    begin = "+struct sk_buff *ieee80211_ack_filter(struct ieee80211_local *local,"
    end = _only(hunk for hunk in diff.hunks if begin in hunk.lines)
    from_begin = end.lines[end.lines.index(begin) :]
    declaration = takewhile(lambda line: line.startswith("+"), from_begin)
    hunks = []
    for hunk in diff.hunks:
        if "+enum ieee80211_ack_filter_mode {" in hunk.lines:
            struct = " struct ieee80211_local {"
            hunk = hunk.with_line(struct, "+struct ieee80211_local;", "+", *declaration, struct)
        if hunk is not end:
            hunks.append(hunk)
    return replace(diff, hunks=tuple(hunks))


def _not_a_module(source: str) -> str:
    """Remove exported symbols, which might conflict with those of another module."""
    left_out = r"^(?:EXPORT_SYMBOL|MODULE_|#include <linux/(?:export|module)\.h>).*\n"
    return re.sub(left_out, "", source, flags=re.M).rstrip() + "\n"


def _only(hunks: Iterable[Hunk]) -> Hunk:
    [hunk] = hunks
    return hunk


def _read(patch: Path) -> tuple[str, list[Diff]]:
    """The message of a patch up to its "---", and its changes."""
    message, _, rest = patch.read_text(encoding="utf-8").partition("\n---\n")
    diffs = []
    for part in re.split(r"^diff --git .*\n", rest, flags=re.M)[1:]:
        [path] = re.findall(r"^\+\+\+ b/(\S+)$", part, re.M)
        _, *pieces = re.split(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@(.*)\n", part, flags=re.M)
        hunks = [
            Hunk(int(start), heading, tuple(lines.splitlines()))
            for start, heading, lines in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
        ]
        diffs.append(Diff(path, tuple(hunks)))
    return f"{message}\n---\n", diffs


def _new_file(path: str, content: str) -> Diff:
    return Diff(path, (Hunk(0, "", tuple(f"+{line}" for line in content.split("\n")[:-1])),))
