# SPDX-License-Identifier: GPL-2.0-only
"""Loads and unloads ACK policies and BBR while network namespaces come and go. Prints JSON.

    ackpol_namespaces.py SECONDS

Runs in a guest with modules as root, in a directory with ackpol_api.py and
netns.py.
"""

import json
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ackpol_api import RTM_DELROUTE, SYSCTL, route
from netns import enter, run, succeeds, unshare

ADDRESS = "192.0.2.7"

# Policies with parameters.
POLICIES = ("aad", "auto", "count", "divack", "limit", "tack")

CONGESTION_CONTROLS = ("bbr", "bbr2")
MODULES = {name: f"tcp_ackpol_{name}" for name in POLICIES} | {
    name: f"tcp_{name}" for name in CONGESTION_CONTROLS
}

# Sysctls without any of their modules.
BUILT_IN = frozenset(path.name for path in SYSCTL.iterdir())


def load(name: str) -> None:
    run(f"modprobe {MODULES[name]}")


def unload(name: str) -> bool:
    return succeeds(f"modprobe -r {MODULES[name]}")


def is_loaded(name: str) -> bool:
    return Path("/sys/module", MODULES[name]).exists()


def parameters() -> dict[str, int]:
    """The values of the parameters of policies in this namespace."""
    paths = (path for path in SYSCTL.iterdir() if path.name not in BUILT_IN)
    return {path.name: int(path.read_text()) for path in sorted(paths)}


def parameters_in(names: Sequence[str]) -> list[dict[str, int]]:
    """Those in the initial namespace and in these."""
    found = [parameters()]
    for name in names:
        enter(name)
        found.append(parameters())
        enter("initial")
    return found


def try_parameters() -> dict[str, Any]:
    """The parameters of each policy in a namespace older than the policy, and in a newer one."""
    results: dict[str, Any] = {}
    run("ip netns add older")
    for name in POLICIES:
        load(name)
        run("ip netns add newer")
        result = {"loaded": parameters_in(["older", "newer"])}
        unload(name)
        result["unloaded"] = parameters_in(["older", "newer"])
        run("ip netns del newer")
        results[name] = result
    run("ip netns del older")
    return results


def come_and_go(counts: "Counter[str]") -> None:
    """Use a namespace, perhaps with a policy that is loaded for it, and leave it."""
    counts["namespaces"] += 1
    child = os.fork()
    if not child:
        unshare()
        try:
            (SYSCTL / "tcp_ack_policy").write_text(random.choice([*POLICIES, "default"]))
            parameters()
        except OSError:
            pass  # its module is being unloaded
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        counts["failed"] += 1


def try_route(name: str) -> bool:
    """Add a route with a policy or congestion control, and delete it; False if it is refused."""
    if name in CONGESTION_CONTROLS:
        if not succeeds(f"ip route replace {ADDRESS} dev lo congctl {name}"):
            return False
        return succeeds(f"ip route del {ADDRESS}")
    try:
        route(ADDRESS, name)
    except OSError:
        return False
    route(ADDRESS, None, RTM_DELROUTE)
    return True


def add_route(counts: "Counter[str]") -> None:
    """Add a route with a module's name, which the kernel loads while it holds the RTNL."""
    name = random.choice([*MODULES])
    before = is_loaded(name)
    if not try_route(name):
        counts["refused"] += 1  # its module is being unloaded
        return
    kind = "congestion controls" if name in CONGESTION_CONTROLS else "policies"
    counts[f"routes with {kind}"] += 1
    counts[f"{kind} loaded by a route"] += not before and is_loaded(name)


def unload_all(counts: "Counter[str]") -> None:
    for name in filter(is_loaded, MODULES):
        counts["unloaded" if unload(name) else "in use"] += 1


def repeat(
    step: Callable[["Counter[str]"], None], until_s: float, results: "multiprocessing.Queue[Any]"
) -> None:
    counts: Counter[str] = Counter()
    while time.monotonic() < until_s:
        step(counts)
    results.put(counts)


def routes_of_another(until_s: float, results: "multiprocessing.Queue[Any]") -> None:
    unshare()
    run("ip link set lo up")
    repeat(add_route, until_s, results)


def try_churn(duration_s: float) -> dict[str, Any]:
    until_s = time.monotonic() + duration_s
    results: multiprocessing.Queue[Any] = multiprocessing.Queue()
    processes = [
        multiprocessing.Process(target=repeat, args=(come_and_go, until_s, results)),
        multiprocessing.Process(target=repeat, args=(unload_all, until_s, results)),
        multiprocessing.Process(target=routes_of_another, args=(until_s, results)),
    ]
    for process in processes:
        process.start()
    counts: Counter[str] = Counter()
    for _ in processes:
        counts.update(results.get())
    for process in processes:
        process.join()
    # The last namespaces are deleted a little later.
    start = time.monotonic()
    while any(map(is_loaded, MODULES)) and time.monotonic() - start < 60:
        unload_all(Counter())
        time.sleep(0.2)
    return {**counts, "left": [*filter(is_loaded, MODULES), *parameters()]}


def main(duration_s: float) -> None:
    Path("/run/netns").mkdir(exist_ok=True)
    Path("/run/netns/initial").touch()
    run("mount --bind /proc/self/ns/net /run/netns/initial")
    print(json.dumps({"parameters": try_parameters(), "churn": try_churn(duration_s)}))


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main(float(sys.argv[1]))
