# SPDX-License-Identifier: GPL-2.0-only
"""hostapd for access points of 802.11be, and wpa_supplicant for stations that roam or at 6 GHz.

A run that needs them gets its own root file system: with the host's programs, or with those that
`setup be` has built. All other runs are unaffected.
"""

import functools
import hashlib
import shutil
from pathlib import Path

from airtcp import atomicfile, programs
from airtcp.backends import guestroot
from airtcp.backends.guesttools import GuestTools
from airtcp.cache import cache_dir, locked, scratch_in
from airtcp.errors import AirtcpError
from airtcp.parameters.ieee80211 import is_6ghz
from airtcp.paths import PROGRAM
from airtcp.testbed.model import Testbed

# A configuration key that only a hostapd built with 802.11be contains.
_KEY = b"eht_oper_chwidth"
_SUPPLICANT = "wpa_supplicant"
_REMEDY = f"`{PROGRAM} setup be` builds it"


def installed() -> Path | None:
    """The directory of `setup be` (lab/hostapd.sh), if it exists."""
    directory = cache_dir() / "tools" / "hostapd"
    return directory if (directory / "hostapd").is_file() else None


def knows_eht(program: Path) -> bool:
    """Whether a hostapd was built with 802.11be: 2.11 or newer, with CONFIG_IEEE80211BE."""
    return program.is_file() and _KEY in program.read_bytes()


def candidates() -> list[Path]:
    """The hostapd of the system and the one that `setup be` has built, if they exist."""
    system, built = programs.find("hostapd"), installed()
    return [*([Path(system)] if system else []), *([built / "hostapd"] if built else [])]


def find() -> Path | None:
    """The first candidate that was built with 802.11be."""
    return next(filter(knows_eht, candidates()), None)


def tools_for(tools: GuestTools, testbed: Testbed) -> GuestTools:
    """The guest's programs for this testbed. Raises AirtcpError if one is missing."""
    if testbed.eht_channels:
        tools = with_eht(tools, next(filter(is_6ghz, testbed.eht_channels), None))
    return with_wpa_supplicant(tools) if testbed.roaming else tools


@functools.cache
def with_eht(tools: GuestTools, channel_6ghz: int | None = None) -> GuestTools:
    """The guest's programs with a hostapd that knows 802.11be, in the cache.

    channel_6ghz: a channel at 6 GHz, which also needs wpa_supplicant. Remembered, because it reads
    all files. Raises AirtcpError if a program is missing.
    """
    in_guest = tools.root / "bin"
    has_hostapd = knows_eht(in_guest / "hostapd")
    if has_hostapd and (channel_6ghz is None or (in_guest / _SUPPLICANT).exists()):
        return tools
    newer = installed()
    if newer is None and not has_hostapd:
        raise AirtcpError(
            "standard 802.11be: access points need hostapd 2.11 or newer with CONFIG_IEEE80211BE, "
            f"which the installed one is not: {_REMEDY}"
        )
    if newer is None:
        raise AirtcpError(f"channel {channel_6ghz}: stations need wpa_supplicant: {_REMEDY}")
    return _with_programs(tools, {f"bin/{path.name}": path for path in sorted(newer.iterdir())})


@functools.cache
def with_wpa_supplicant(tools: GuestTools) -> GuestTools:
    """The guest's programs with wpa_supplicant, in the cache.

    Remembered, because it reads all files. Raises AirtcpError if the host has none.
    """
    if (tools.root / "bin" / _SUPPLICANT).exists():
        return tools
    program = programs.find(_SUPPLICANT)
    if program is None:
        needed = programs.install([programs.ROAMING[_SUPPLICANT]])
        raise AirtcpError(f"roam_below: stations need wpa_supplicant; install it with: {needed}")
    return _with_programs(tools, {f"bin/{_SUPPLICANT}": Path(program)})


def _with_programs(tools: GuestTools, programs_in_root: dict[str, Path]) -> GuestTools:
    """The guest's programs and further ones, with their libraries."""
    found = programs_in_root | guestroot.libraries(programs_in_root)
    facts = "\0".join(f"{name}\0{atomicfile.sha256(path)}" for name, path in sorted(found.items()))
    digest = hashlib.sha256(f"{tools.directory.name}\0{facts}".encode()).hexdigest()
    home = cache_dir() / "tools"
    directory = home / digest[:16]
    with locked(home / "lock", lambda _: None):
        if atomicfile.damage(directory):
            _make(tools, found, directory)
    return GuestTools(directory)


def _make(tools: GuestTools, found: dict[str, Path], directory: Path) -> None:
    with scratch_in(directory.parent) as scratch:
        new = GuestTools(scratch / "new")
        shutil.copytree(tools.directory, new.directory)
        (new.directory / atomicfile.CONTENTS).unlink(missing_ok=True)
        guestroot.add(found, new.root)
        atomicfile.install(new.directory, directory)
