# SPDX-License-Identifier: GPL-2.0-only
"""ACK policies in BPF: registers them with bpftool, uses and removes them; prints JSON.

Runs in a guest as root, in a directory with good/*.o, bad/*.o, bpf_sleepable, ackpol_clone.o,
ackpol_replay.ko, and the arrivals for each policy in replay-NAME.
"""

import json
import re
import socket
import subprocess
from pathlib import Path
from typing import Any

from bpf_policies import SYSCTL, available, pair, policy, transfer
from bpf_sockops import SOL_TCP, TCP_ACK_POLICY

NAMES = ("aad", "auto", "count")


def run(*command: str) -> tuple[int, str]:
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr)[-4000:]


def bpftool(*arguments: str) -> tuple[int, str]:
    return run("bpftool", *arguments)


def namespace() -> str:
    return (SYSCTL / "tcp_ack_policy").read_text().strip()


def try_bad() -> dict[str, Any]:
    results: dict[str, Any] = {}
    run("modprobe", "tcp_bbr")  # for bpf_module_kfunc
    for path in sorted(Path("bad").glob("*.o")):
        if path.stem == "bpf_ackpol_sleepable":
            results[path.stem] = run("./bpf_sleepable", str(path))
        else:
            results[path.stem] = bpftool("struct_ops", "register", str(path))
    results["available"] = available()
    return results


def try_good(name: str) -> dict[str, Any]:
    """Use a policy of the namespace, and remove it while a connection has it."""
    full = f"bpf_{name}"
    result: dict[str, Any] = {"register": bpftool("struct_ops", "register", f"good/{full}.o")}
    result["again"] = bpftool("struct_ops", "register", f"good/{full}.o")[1]
    (SYSCTL / "tcp_ack_policy").write_text(full)
    with pair() as (client, server):
        result["ends"] = [policy(client), policy(server)]
        result["bytes"] = transfer(client, server, 200, 2000)
        (SYSCTL / "tcp_ack_policy").write_text("default")
        client.setsockopt(SOL_TCP, TCP_ACK_POLICY, b"default")
        result["back"] = [policy(client), policy(server)]
        (SYSCTL / "tcp_ack_policy").write_text(full)
        result["unregister"] = bpftool("struct_ops", "unregister", "name", full)
        result["after"] = [namespace(), full in available(), policy(server)]
        result["bytes after"] = transfer(client, server, 200, 2000)
        try:
            client.setsockopt(SOL_TCP, TCP_ACK_POLICY, full.encode())
        except OSError as error:
            result["errno"] = error.errno
    return result


def numbers_in(map_name: str) -> list[int]:
    """The values of an array."""
    code, text = bpftool("-j", "map", "dump", "name", map_name)
    if code:
        raise ValueError(text)
    return [entry["formatted"]["value"] for entry in json.loads(text)]


def accept_two(listener: socket.socket) -> dict[str, Any]:
    """Accept two connections, and transfer on the second after the listening socket is closed."""
    result: dict[str, Any] = {"policies": []}
    with (
        socket.create_connection(listener.getsockname()),
        socket.create_connection(listener.getsockname()) as client,
    ):
        first, second = listener.accept()[0], listener.accept()[0]
        with first, second:
            result["policies"] = [policy(first), policy(second)]
            result["listener"] = policy(listener)
            listener.close()
            result["bytes"] = transfer(client, second, 20, 2000)
    result["calls"], result["returned"] = numbers_in("results")
    return result


def try_clone() -> dict[str, Any]:
    """A program at a security hook sets the policy of sockets that are being accepted."""
    pinned, cgroup = "/sys/fs/bpf/ackpol_clone", Path("/run/cgroup")
    for name in ("aad", "count"):
        subprocess.run(["modprobe", f"tcp-ackpol-{name}"], check=True)
    subprocess.run(["mount", "-t", "bpf", "none", "/sys/fs/bpf"], check=True)
    cgroup.mkdir()
    subprocess.run(["mount", "-t", "cgroup2", "none", cgroup], check=True)
    program = ["lsm_cgroup", "pinned", pinned]
    results: dict[str, Any] = {
        "load": bpftool("prog", "load", "ackpol_clone.o", pinned),
        "attach": bpftool("cgroup", "attach", str(cgroup), *program),
    }
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(SOL_TCP, TCP_ACK_POLICY, b"aad")
        results["chosen"] = accept_two(listener)
    (SYSCTL / "tcp_ack_policy").write_text("aad")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        results["namespace's"] = accept_two(listener)
    (SYSCTL / "tcp_ack_policy").write_text("default")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        results["default"] = accept_two(listener)
    bpftool("cgroup", "detach", str(cgroup), *program)
    Path(pinned).unlink()
    return results


def replay(name: str) -> dict[str, Any]:
    """The counts of ackpol_replay for the module and the programs."""
    subprocess.run(["modprobe", f"tcp-ackpol-{name}"], check=True)
    bpftool("struct_ops", "register", f"good/bpf_{name}.o")
    subprocess.run(["insmod", "ackpol_replay.ko", f"policies={name},bpf_{name}"], check=True)
    with Path("/proc/ackpol_replay").open("wb", buffering=0) as file:
        data = Path(f"replay-{name}").read_bytes()
        for at in range(0, len(data), 32 * 1000):
            file.write(data[at : at + 32 * 1000])
    text = Path("/proc/ackpol_replay").read_text()
    subprocess.run(["rmmod", "ackpol_replay"], check=True)
    bpftool("struct_ops", "unregister", "name", f"bpf_{name}")
    counts = {key: int(value) for key, value in re.findall(r"^(\w+) (\d+)$", text, re.M)}
    return {**counts, "first": text.splitlines()[-1]}


def main() -> None:
    results: dict[str, Any] = {"bad": try_bad()}
    results |= {name: try_good(name) for name in NAMES}
    results["clone"] = try_clone()
    results |= {f"replay {name}": replay(name) for name in NAMES}
    print(json.dumps(results))


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    main()
