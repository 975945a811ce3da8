# SPDX-License-Identifier: GPL-2.0-only
"""Debian's ns-3: install it, compile ns3-scenario.cc with it, read what that prints."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from airtcp.errors import AirtcpError

SOURCE = Path(__file__).with_name("ns3-scenario.cc")

PACKAGES = {
    "g++": "compiles the scenario",
    "libns3-dev": "ns-3: its headers and libraries",
}
_LIBRARIES = (
    *("applications", "core", "internet", "mobility", "network", "point-to-point"),
    *("traffic-control", "wifi"),
)
COMPILE = ("g++", "-std=c++17", "-O3", "-Wall", "-Wextra", "-Werror")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def versions() -> dict[str, str]:
    """Versions of those PACKAGES that are installed."""
    wanted = ("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n", *PACKAGES)
    output = subprocess.run(wanted, capture_output=True, text=True).stdout
    # dpkg still lists some removed packages, without a version.
    return dict(re.findall(r"^installed (\S+) (\S+)$", output, re.M))


def install() -> None:
    """Install missing packages, as lab/setup.sh does. AirtcpError if apt fails."""
    missing = [name for name in PACKAGES if name not in versions()]
    if not missing:
        return
    say("bench: these Debian packages are needed and will be installed:")
    for name in missing:
        say(f"  {name:<12}{PACKAGES[name]}")
    root = [] if os.geteuid() == 0 else ["sudo"]
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    command = [*apt, "--no-install-recommends", "install", *missing]
    # The package lists may be older than the mirror: update them and try again.
    for before in ([], [*apt, "update"]):
        if before:
            subprocess.run(before, stdout=sys.stderr)
        if subprocess.run(command, stdout=sys.stderr).returncode == 0:
            return
    raise AirtcpError(f"apt-get cannot install {' '.join(missing)}: see above")


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
