# SPDX-License-Identifier: GPL-2.0-only
"""The subcommand `policy`."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from airtcp.cli.options import Subcommands, add_json
from airtcp.kernel import bpf


def add(subcommands: Subcommands) -> None:
    """Add `policy`."""
    policy = subcommands.add_parser(
        "policy", help="load ACK policies in BPF into this machine's kernel, list or unload them"
    )
    policy_subcommands = policy.add_subparsers(metavar="COMMAND", required=True)
    load = policy_subcommands.add_parser(
        "load",
        help="compile and register a policy",
        description=(
            "Compile a policy, register it as bpf_NAME, and on request select it for the network "
            "namespace or for a cgroup. Needs root, and a kernel with the patches and BTF "
            "(docs/how-to/bpf.md)."
        ),
    )
    _add_name(load)
    where = load.add_mutually_exclusive_group()
    where.add_argument(
        "--default",
        action="store_true",
        help=(
            "also make it the policy of this network namespace (net.ipv4.tcp_ack_policy); it may "
            "already be loaded"
        ),
    )
    where.add_argument(
        "--cgroup",
        metavar="DIR",
        type=Path,
        help="also select it for new connections of this cgroup; it may already be loaded",
    )
    load.set_defaults(do=_load)
    listing = policy_subcommands.add_parser("list", help="list the policies in BPF that are loaded")
    add_json(listing, "print JSON")
    listing.set_defaults(do=_list)
    unload = policy_subcommands.add_parser(
        "unload",
        help="remove a policy",
        description=(
            "Remove a policy. Namespaces that have it return to default; connections keep it "
            "until they end."
        ),
    )
    _add_name(unload)
    unload.add_argument(
        "--cgroup",
        metavar="DIR",
        type=Path,
        help="only undo its selection for this cgroup",
    )
    unload.set_defaults(do=_unload)


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help=f"one of {', '.join(bpf.names())}")


def _load(options: argparse.Namespace) -> int:
    name = bpf.registered_name(options.name)
    if options.cgroup:
        bpf.require_cgroup(options.cgroup)
    selects = options.default or options.cgroup
    if not selects or name not in {policy.name for policy in bpf.loaded()}:
        bpf.load(name)
    if options.default:
        bpf.choose(name)
    if options.cgroup:
        bpf.attach(name, options.cgroup)
    print(name)
    return 0


def _list(options: argparse.Namespace) -> int:
    found = bpf.loaded()
    if options.json:
        print(json.dumps([asdict(policy) for policy in found]))
        return 0
    for policy in found:
        print(f"{policy.name}{' (of this network namespace)' if policy.in_use else ''}")
    return 0


def _unload(options: argparse.Namespace) -> int:
    if options.cgroup:
        bpf.detach(options.name, options.cgroup)
    else:
        bpf.unload(options.name)
    return 0
