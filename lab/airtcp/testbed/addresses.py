# SPDX-License-Identifier: GPL-2.0-only
"""Names and addresses of nodes.

Stations are numbered from 1; the number of a station is also that of its radio.
"""

NETWORK = "10.0.0.0/24"
SERVER_ADDRESS = "10.0.0.1"
AP_ADDRESS = "10.0.0.254"

SERVER_MAC = "02:00:00:00:10:01"
AP_WIRE_MAC = "02:00:00:00:10:02"
ROUTER_SERVER_MAC = "02:00:00:00:10:03"
ROUTER_LAN_MAC = "02:00:00:00:10:04"


def station_node(number: int) -> str:
    """`station`, `station2` and so on."""
    return numbered("station", number)


def station_address(number: int) -> str:
    """10.0.0.2 for the first station."""
    return f"10.0.0.{number + 1}"


def server_address(number: int) -> str:
    """The server's address for uploads of a station: each has an iperf3 server at the same port."""
    return SERVER_ADDRESS if number == 1 else f"10.0.0.{number + 100}"


def bridge_port(number: int) -> str:
    """The bridge's port of a station's cable."""
    return f"port{number}"


def radio_mac(number: int) -> str:
    """The address that airsim gives a radio; number 0 is the access point.

    A wired station has the same address.
    """
    return f"02:61:69:72:{number:02x}:00"


def numbered(name: str, number: int) -> str:
    """The name with its number, which is omitted for the first."""
    return f"{name}{number if number > 1 else ''}"
