# SPDX-License-Identifier: GPL-2.0-only
"""Runs OpenWrt's service `airtcp` in a directory, with stubs of OpenWrt's programs."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from airtcp.kernel import openwrt

# What the service uses of OpenWrt's functions.sh.
FUNCTIONS = """\
config_load() { [ ! -e "$UCI_CONFIG_DIR/$1" ] || . "$UCI_CONFIG_DIR/$1"; }
config() { section=$2 sections="$sections $2"; eval "type_$2=\\$1"; }
option() { eval "option_${section}_$1=\\$2"; }
config_get() { eval "$1=\\${option_${2}_${3}:-\\$4}"; }
config_foreach() {
	local function=$1 type=$2 name found
	shift 2
	for name in $sections; do
		eval "found=\\$type_$name"
		[ "$found" != "$type" ] || "$function" "$name" "$@"
	done
}
"""

# radio0 and radio1 of /etc/config/wireless are phy0 and phy1.
PROGRAMS = {
    "iwinfo": 'case "$*" in "nl80211 phyname radio"[01]) echo "phy${3#radio}" ;; *) exit 1 ;; esac',
    "modprobe": 'echo "$*" >>"$AIRTCP_ROOT/modprobe"',
    "logger": 'shift 5; echo "$*" >>"$AIRTCP_ROOT/log"',
}


@dataclass(frozen=True)
class Sandbox:
    """A root directory with a TCP stack that has policies, and two radios with the filter."""

    root: Path
    shell: tuple[str, ...]

    def run(self, action: str, config: str = "") -> tuple[int, list[str]]:
        """Call start, stop, reload or triggers; return the exit code and the messages logged."""
        (self.root / "config").mkdir(exist_ok=True)
        (self.root / "config" / "airtcp").write_text(config or default_config())
        (self.root / "log").write_text("")
        environment = {
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "AIRTCP_ROOT": str(self.root),
            "UCI_CONFIG_DIR": str(self.root / "config"),
        }
        functions = {
            "triggers": "service_triggers",
            **{name: f"{name}_service" for name in ("start", "stop", "reload")},
        }
        script = (
            '. "$AIRTCP_ROOT/functions.sh"\n'
            'procd_add_reload_trigger() { echo "trigger $*" >>"$AIRTCP_ROOT/log"; }\n'
            f'. "$AIRTCP_ROOT/airtcp.init"\n{functions[action]}\n'
        )
        done = subprocess.run(
            [*self.shell, "-c", script], env=environment, capture_output=True, text=True
        )
        assert (done.stdout, done.stderr) == ("", "")
        return done.returncode, (self.root / "log").read_text().splitlines()

    @property
    def policy(self) -> Path:
        """The sysctl."""
        return self.root / "proc/sys/net/ipv4/tcp_ack_policy"

    def filter(self, phy: str) -> Path:
        """The switch of a radio."""
        return self.root / "sys/kernel/debug/ieee80211" / phy / "ack_filter"

    def settings(self) -> tuple[str, str, str]:
        """The policy, and the modes of both radios."""
        files = (self.policy, self.filter("phy0"), self.filter("phy1"))
        first, second, third = (file.read_text().strip() for file in files)
        return first, second, third


def create(root: Path, shell: tuple[str, ...], functions: str = FUNCTIONS) -> Sandbox:
    """Return a sandbox in a new directory. functions: shell code to use as OpenWrt's functions."""
    sandbox = Sandbox(root, shell)
    (root / "bin").mkdir(parents=True)
    for name, text in PROGRAMS.items():
        (root / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (root / "bin" / name).chmod(0o755)
    (root / "functions.sh").write_text(functions)
    (root / "airtcp.init").write_text(file_of_package("airtcp.init"))
    sandbox.policy.parent.mkdir(parents=True)
    sandbox.policy.write_text("default\n")
    sandbox.policy.with_name("tcp_available_ack_policies").write_text("default auto\n")
    for phy in ("phy0", "phy1"):
        sandbox.filter(phy).parent.mkdir(parents=True)
        sandbox.filter(phy).write_text("off\n")
    return sandbox


def default_config() -> str:
    """/etc/config/airtcp as installed."""
    return file_of_package("airtcp.config")


def file_of_package(name: str) -> str:
    """A file of the package, as `kernel openwrt` writes it."""
    return openwrt.files()[f"{openwrt.PACKAGE_FILES}/files/{name}"]
