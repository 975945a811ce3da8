# SPDX-License-Identifier: GPL-2.0-only
"""A hosts.yaml, and what its hosts are like."""

from pathlib import Path

from airtcp.hosts import inventory
from airtcp.hosts.inventory import Inventory
from airtcp.hosts.preflight import Facts

YAML = """\
server: {ssh: lab, interface: eth0, address: 192.168.1.2, netem: %s}
station: {ssh: laptop, interface: wlan0, address: 192.168.1.7}
ap: {ssh: root@ap, interface: wlan0, power_save: keep}
dead_man: 20s
"""


def hosts(tmp_path: Path, netem: str = "on") -> Inventory:
    path = tmp_path / "hosts.yaml"
    path.write_text(YAML % netem)
    return inventory.read(path)


def facts(*policies: str) -> Facts:
    return Facts("station (laptop)", "6.12", "b", policies, ("cubic", "reno"), 0.0, 0.0, None)
