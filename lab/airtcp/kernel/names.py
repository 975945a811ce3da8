# SPDX-License-Identifier: GPL-2.0-only
"""Names that a kernel registers, by the parameter that accepts them.

ACK policies (`ack_policy`) are in policies.py. Of the congestion controls (`congestion_control`)
that the configuration in kernel/configs has, only some have been measured.
"""

import re
from collections.abc import Mapping

from airtcp.kernel import policies

Names = Mapping[str, tuple[str, ...]]

CONGESTION_CONTROLS = (
    "cubic",
    "reno",
    "bbr",
    "bbr_plain",
    "bbr2",
    "bbrp",
    "nv",
    "yeah",
    "highspeed",
    "westwood",
    "illinois",
    "scalable",
    "hybla",
)

PATTERN = "[a-z0-9][a-z0-9_-]{0,14}"
"""With the terminating NUL, a name fits into TCP_ACKPOL_NAME_MAX and TCP_CA_NAME_MAX."""

_CONGESTION_OPS = re.compile(r"\bstruct\s+tcp_congestion_ops\s+\w+[^={;]*=\s*\{(.*?)\n\}", re.S)
_NAME = re.compile(r'^\s*\.name\s*=\s*"([^"]*)"', re.M)


def known() -> Names:
    """The names of the laboratory's kernel."""
    return {"ack_policy": policies.names(), "congestion_control": CONGESTION_CONTROLS}


def registered_in(source: str) -> Names:
    """The names that a C file registers."""
    controls = [
        name for fields in _CONGESTION_OPS.findall(source) for name in _NAME.findall(fields)
    ]
    return {
        "ack_policy": tuple(policies.registered_in(source)),
        "congestion_control": tuple(controls),
    }
