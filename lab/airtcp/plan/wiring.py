# SPDX-License-Identifier: GPL-2.0-only
"""What cables, processors and stages of ACK filtering have in common: pieces of tc and ip."""

# A whole Ethernet frame of the usual MTU without its FCS, as a qdisc sees it.
FRAME_BYTES = 1514


def functional_block(name: str) -> str:
    """Shell: a device of the node (ifb) through whose queue packets of others are sent."""
    return f"must ip link add {name} type ifb\nmust ip link set {name} up\n"


def classified(device: str) -> str:
    """Shell: filters may be added to what enters and leaves a device; once or again."""
    return f"must tc qdisc replace dev {device} clsact\n"
