# SPDX-License-Identifier: GPL-2.0-only
"""TCP and interfaces of all hosts, whether they send or receive data."""

from typing import Annotated

from airtcp.parameters.quantity import OnOff, count, size
from airtcp.parameters.section import KERNEL, Section, Sysctl, parameter

# The kernel's minimum and default sizes of buffers.
_RMEM_MIN = "4096"
_WMEM_MIN_DEFAULT = "4096 16384"

# The largest value of these sysctls.
_MOST_BYTES = (1 << 31) - 1


class Host(Section):
    """Parameters of any host."""

    sack: Annotated[OnOff, Sysctl("tcp_sack")] = parameter(
        "sack", True, "selective acknowledgments (net.ipv4.tcp_sack)"
    )
    timestamps: Annotated[OnOff, Sysctl("tcp_timestamps")] = parameter(
        "timestamps", True, "TCP timestamps (net.ipv4.tcp_timestamps)"
    )
    initrwnd_segments: Annotated[int | None, count(1, 100000, KERNEL)] = parameter(
        "initrwnd",
        None,
        "initial receive window in segments (initrwnd of ip route), at most what tcp_rmem_default "
        "allows",
    )
    tcp_rmem_default_bytes: Annotated[
        int, size(4096, _MOST_BYTES), Sysctl("tcp_rmem", before=_RMEM_MIN)
    ] = parameter(
        "tcp_rmem_default",
        128 << 10,
        "initial receive buffer, half of which is the initial receive window (net.ipv4.tcp_rmem)",
    )
    tcp_rmem_max_bytes: Annotated[int, size(4096, _MOST_BYTES), Sysctl("tcp_rmem")] = parameter(
        "tcp_rmem_max",
        6 << 20,
        "maximum receive buffer (net.ipv4.tcp_rmem), if larger than tcp_rmem_default",
    )
    tcp_wmem_max_bytes: Annotated[
        int, size(4096, _MOST_BYTES), Sysctl("tcp_wmem", before=_WMEM_MIN_DEFAULT)
    ] = parameter("tcp_wmem_max", 4 << 20, "maximum send buffer (net.ipv4.tcp_wmem)")
    memory_linux54: OnOff = parameter(
        "memory_linux54",
        False,
        "receive windows of half the buffer, as before Linux 6.6, and more memory per segment, as "
        "before 6.3, so that small queues admit fewer segments (net.ipv4.tcp_memory_linux54, only "
        "in the laboratory)",
    )
    gro: OnOff = parameter("gro", True, "generic receive offload on every interface")
    gso: OnOff = parameter("gso", True, "generic segmentation offload on every interface")
    gso_segments: Annotated[int | None, count(1, 65535, KERNEL)] = parameter(
        "gso_segments",
        None,
        "maximum segments per packet that TCP passes down (gso_max_segs of ip link); also with gso "
        "off, where the stack segments them above the driver",
    )
    tso: OnOff = parameter("tso", True, "TCP segmentation offload, where an interface supports it")
