# SPDX-License-Identifier: GPL-2.0-only
"""Checks of real hosts before the first run, with the answers of a host in place of ssh."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_hosts import hosts

from airtcp.errors import AirtcpError, InputError
from airtcp.hosts import preflight
from airtcp.hosts.ssh import Remote

# A host on which nothing is wrong. Each has both addresses.
SECTIONS = {
    "kernel": "6.12",
    "boot": "b",
    "policies": "",
    "congestion": "cubic",
    "devices": "eth0 lo wlan0",
    "addresses": "2: eth0 inet 192.168.1.2/24 scope global\n2: eth0 inet 192.168.1.7/24",
    "carrier": "1",
    "qdisc": "fq_codel 0:",
    "radio": "Interface wlan0\n\ttype managed",
}
CAPTURE = (
    "timeout --preserve-status -s INT 1 tcpdump -Z root -n -i wlan0 -s 128 "
    "--time-stamp-precision=nano -w -"
)


class Host(Remote):
    """A host that answers at once.

    absent: programs that it does not have. error_s: the uncertainty of its clock. as_root: whether
    it allows commands as root. sections: what it says differently; None: nothing.
    """

    def __init__(
        self,
        tmp_path: Path,
        role: str,
        *,
        netem: str = "on",
        absent: Sequence[str] = (),
        error_s: float = 0.001,
        as_root: bool = True,
        **sections: str | None,
    ) -> None:
        inventory = hosts(tmp_path, netem)
        [(name, entry)] = [(name, entry) for name, entry in inventory.entries if name == role]
        super().__init__(name, entry, inventory)
        self.absent, self.error_s, self.as_root = absent, error_s, as_root
        self.sections = {**SECTIONS, **sections}
        self.rights: list[str] = []

    def call(self, *commands: Sequence[object], timeout_s: float = 60) -> str:
        said = ""
        for function, *given in commands:
            if function == "rights":
                self.rights.append(" ".join(map(str, given)))
                if not self.as_root:
                    raise AirtcpError(f"{self}: not root, and sudo -n does not allow it")
                continue
            assert (function, given[0]) == ("facts", self.entry.interface)
            missing = "\n".join(tool for tool in self.absent if tool in given)
            for name, text in {"missing": missing, **self.sections}.items():
                said += "" if text is None else f"== {name}\n{text}\n"
        return said

    def clock(self) -> tuple[float, float]:
        return 0.0, self.error_s


@pytest.mark.parametrize(
    ("role", "changed", "error", "message"),
    [
        (
            "server",
            {"qdisc": "htb 1:"},
            InputError,
            "server (lab): eth0 has the qdisc htb 1:, and `netem: on` replaces only the default "
            "one: remove it, or choose `netem: off`",
        ),
        ("ap", {"radio": None}, InputError, "ap (root@ap): interface wlan0: is not a radio"),
        (
            "ap",
            {"devices": "eth0 lo"},
            InputError,
            "ap (root@ap): interface wlan0: does not exist; allowed: eth0 lo",
        ),
        (
            "station",
            {"addresses": "3: wlan0 inet 10.0.0.9/8 scope global"},
            InputError,
            "station (laptop): address 192.168.1.7: wlan0 does not have it; allowed: 10.0.0.9",
        ),
        (
            "station",
            {"addresses": ""},
            InputError,
            "station (laptop): address 192.168.1.7: wlan0 does not have it; allowed: none, as it "
            "has no IPv4 address",
        ),
        ("station", {"carrier": "0"}, AirtcpError, "station (laptop): wlan0 is not connected"),
        ("server", {"carrier": ""}, AirtcpError, "server (lab): eth0 is not connected"),
        (
            "station",
            {"error_s": 0.51},
            AirtcpError,
            "station (laptop): its clock cannot be read within 0.5 s",
        ),
        (
            "server",
            {"absent": ["iperf3", "tcpdump"]},
            AirtcpError,
            "server (lab): missing: iperf3 tcpdump; install them there",
        ),
        (
            "station",
            {"as_root": False},
            AirtcpError,
            "station (laptop): not root, and sudo -n does not allow it",
        ),
    ],
)
def test_a_host_that_cannot_measure_is_refused(
    tmp_path: Path, role: str, changed: dict[str, Any], error: type[AirtcpError], message: str
) -> None:
    host = Host(tmp_path, role, **changed)
    with pytest.raises(error, match=f"^{re.escape(message)}$") as raised:
        preflight.check(host, captures=True, needs=preflight.Needs())
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("role", "captures", "changed"),
    [
        ("server", True, {"qdisc": ""}),
        ("server", True, {"qdisc": "htb 1:", "netem": "off"}),
        ("station", True, {"qdisc": "htb 1:"}),
        ("station", True, {"error_s": 0.5, "radio": None}),
        ("station", False, {"absent": ["tcpdump"], "as_root": False}),
        # It captures nothing, and no time is read there.
        ("ap", True, {"absent": ["tcpdump", "iperf3"], "as_root": False, "error_s": 0.51}),
        ("ap", True, {"carrier": "0", "addresses": ""}),
    ],
)
def test_only_what_a_host_needs_is_checked(
    tmp_path: Path, role: str, captures: bool, changed: dict[str, Any]
) -> None:
    facts = preflight.check(
        Host(tmp_path, role, **changed), captures=captures, needs=preflight.Needs()
    )
    assert facts.kernel == "6.12"
    assert facts.radio == (None if "radio" in changed else {"type": "managed"})


@pytest.mark.parametrize("captures", [False, True])
def test_rights_are_those_of_modules_and_of_captures(tmp_path: Path, captures: bool) -> None:
    host = Host(tmp_path, "station", as_root=False)
    needs = preflight.Needs(congestion_controls=frozenset({"bbr"}))
    with pytest.raises(AirtcpError, match="sudo -n"):
        preflight.check(host, captures=captures, needs=needs)
    assert host.rights == ["root modprobe tcp_bbr"]
    host = Host(tmp_path, "station")
    preflight.check(host, captures=captures, needs=preflight.Needs())
    assert host.rights == ([f"root {CAPTURE}"] if captures else [])
