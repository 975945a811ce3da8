# SPDX-License-Identifier: GPL-2.0-only
"""bpf_command.py PYTHON LAB: the commands `policy load`, `list` and `unload`; prints JSON.

Runs in a guest as root. PYTHON has the libraries of the laboratory, LAB is its directory.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from bpf_policies import SYSCTL, available, pair, policy

HOST = Path("/run/host")
"""The host's files, also those below /tmp, over which the guest has mounted its own."""
CGROUP = Path("/run/cgroup")
GROUP = CGROUP / "group"


def command(*arguments: object) -> tuple[int, str]:
    """Exit code and output of `airtcp policy`."""
    python, lab = sys.argv[1:]
    done = subprocess.run(
        [f"{HOST}{python}", "-P", "-m", "airtcp", "policy", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": lab, "HOME": "/tmp"},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def policies_in(cgroup: Path) -> list[str]:
    """Policies of both ends of a connection whose processes are in this cgroup."""
    (cgroup / "cgroup.procs").write_text(str(os.getpid()))
    with pair() as (client, server):
        return [policy(client), policy(server)]


def main() -> None:
    HOST.mkdir()
    subprocess.run(["mount", "--bind", "/", HOST], check=True)
    GROUP.parent.mkdir()
    subprocess.run(["mount", "-t", "cgroup2", "none", CGROUP], check=True)
    GROUP.mkdir()
    results: dict[str, Any] = {}
    results["nothing to unload"] = command("unload", "auto")
    results["load for a cgroup"] = command("load", "auto", "--cgroup", GROUP)
    results["in the cgroup"] = policies_in(GROUP)
    results["outside"] = policies_in(CGROUP)
    results["load again"] = command("load", "auto")
    results["load for the namespace"] = command("load", "count", "--default")
    results["list"] = command("list")
    results["in the namespace"] = policies_in(CGROUP)
    results["unload for the cgroup"] = command("unload", "auto", "--cgroup", GROUP)
    results["unload for the cgroup again"] = command("unload", "auto", "--cgroup", GROUP)
    results["pinned"] = [path.name for path in Path("/sys/fs/bpf").iterdir()]
    results["in the cgroup after"] = policies_in(GROUP)
    results["unload"] = [command("unload", name) for name in ("auto", "bpf_count")]
    results["namespace after"] = (SYSCTL / "tcp_ack_policy").read_text().strip()
    results["left"] = [name for name in available() if name.startswith("bpf_")]
    print(json.dumps(results))


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    main()
