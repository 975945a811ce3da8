# SPDX-License-Identifier: GPL-2.0-only
"""Debian's ns-3: compile ns3-scenario.cc with it, read what that prints."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from airtcp.errors import AirtcpError

SOURCE = Path(__file__).with_name("ns3-scenario.cc")

_LIBRARIES = (
    *("applications", "core", "internet", "mobility", "network", "point-to-point"),
    *("traffic-control", "wifi"),
)
COMPILE = ("g++", "-std=c++17", "-O3", "-Wall", "-Wextra", "-Werror")


def version() -> str:
    """Version of Debian's package of ns-3; lab/python.sh has checked that it is installed."""
    query = ("dpkg-query", "-W", "-f", "${Version}", "libns3-dev")
    return subprocess.run(query, capture_output=True, text=True).stdout


def compile_scenario(directory: Path) -> Path:
    """Compile ns3-scenario. AirtcpError with the compiler's messages if that fails."""
    program = directory / SOURCE.stem
    libraries = [f"-lns3-{name}" for name in _LIBRARIES]
    command = [*COMPILE, "-o", str(program), str(SOURCE), *libraries]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise AirtcpError(f"{SOURCE.name} does not compile:\n{done.stderr}")
    return program


def arguments(options: Mapping[str, object]) -> list[str]:
    """ns3-scenario's arguments for options without their dashes."""
    return [f"--{name}={value}" for name, value in options.items()]


def values(output: str) -> dict[str, float]:
    """The values that ns3-scenario printed, by name. AirtcpError if there is no goodput."""
    number = r"^([a-z_]+) ([0-9.]+(?:e[+-]?\d+)?)$"
    found = {name: float(value) for name, value in re.findall(number, output, re.M)}
    if "goodput_mbps" not in found:
        raise AirtcpError(f"ns3-scenario printed no goodput: {output.strip() or 'nothing'}")
    return found
