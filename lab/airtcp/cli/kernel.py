# SPDX-License-Identifier: GPL-2.0-only
"""The subcommand `kernel`."""

import argparse
from pathlib import Path
from typing import get_args

from airtcp import prebuilt
from airtcp.backends import guesttools
from airtcp.cli.common import own_policy_of
from airtcp.cli.kernels import build_one
from airtcp.cli.messages import say
from airtcp.cli.options import Subcommands, add_kernel_source, add_kernels, add_policy, path
from airtcp.errors import InputError
from airtcp.kernel import deb, image, openwrt, series
from airtcp.kernel.image import Kernel


def add(subcommands: Subcommands) -> None:
    """Add `kernel`."""
    kernels = subcommands.add_parser(
        "kernel", help="build a kernel, print its path, write patches or packages"
    )
    kernel_subcommands = kernels.add_subparsers(metavar="COMMAND", required=True)
    for name, do, text in (
        ("build", _kernel_build, "build the kernel if it is not cached"),
        ("path", _kernel_path, "print the path of the kernel; build it if needed"),
    ):
        subcommand = kernel_subcommands.add_parser(name, help=text)
        subcommand.add_argument(
            "--arch",
            choices=get_args(image.Arch),
            default="um",
            help="um: the laboratory's (default); x86_64: for QEMU, with policies as modules",
        )
        add_policy(subcommand)
        add_kernels(subcommand)
        subcommand.set_defaults(do=do)
    _add_import(kernel_subcommands)
    _add_series(kernel_subcommands)
    _add_deb(kernel_subcommands)
    _add_openwrt(kernel_subcommands)


def _add_import(subcommands: Subcommands) -> None:
    wheel = subcommands.add_parser(
        "import",
        help="use the kernel of a wheel instead of building it",
        description=(
            "Take the kernel and the guest's programs from a wheel that `make wheel` made. They "
            "are used while this checkout has the same patches, configuration and sources."
        ),
    )
    wheel.add_argument("wheel", metavar="WHEEL", type=path, help="airtcp-*.whl")
    wheel.set_defaults(do=_kernel_import)


def _add_series(subcommands: Subcommands) -> None:
    patches = subcommands.add_parser(
        "series",
        help="write kernel changes as a patch series for posting",
        description=(
            "Write one topic of the kernel changes as a patch series for Linux 6.12, with a cover "
            "letter. To apply it: git am --empty=drop DIR/*.patch"
        ),
    )
    patches.add_argument("directory", metavar="DIR", type=path, help="a new or empty directory")
    patches.add_argument(
        "--topic",
        metavar="TOPIC",
        default="postable",
        help=(
            "postable: the ACK policy engine and policies, for netdev (default); research: more "
            "policies, small queues and BBR variants, on top of postable; wifi: the ACK filter of "
            "sch_cake in mac80211, independent of the others"
        ),
    )
    patches.add_argument(
        "--author",
        metavar="'NAME <MAIL>'",
        default=series.PLACEHOLDER,
        help=(
            "sender of the patches, for From, Signed-off-by and MAINTAINERS (default: a "
            "placeholder, with which they cannot be sent)"
        ),
    )
    add_kernel_source(patches)
    patches.set_defaults(do=_kernel_series)


def _add_deb(subcommands: Subcommands) -> None:
    packages = subcommands.add_parser(
        "deb",
        help="build Debian packages of Linux for x86-64 with the ACK policies as modules",
    )
    packages.add_argument(
        "--config",
        metavar="FILE",
        type=path,
        help="Linux .config to start from (default: the running kernel's, or "
        "x86_64_defconfig if there is none)",
    )
    packages.add_argument(
        "--out",
        metavar="DIR",
        type=path,
        default=Path("results") / "deb",
        help="directory for the packages (default: results/deb)",
    )
    add_kernel_source(packages)
    packages.set_defaults(do=_kernel_deb)


def _add_openwrt(subcommands: Subcommands) -> None:
    packages = subcommands.add_parser(
        "openwrt",
        help="write patches and packages for an OpenWrt tree with Linux 6.12",
        description=(
            "Write the ACK policies and the ACK filter of mac80211 as files of an OpenWrt tree: "
            "patches, kernel options, kernel modules, and the package airtcp with its UCI "
            "configuration. docs/how-to/openwrt.md explains how to build them."
        ),
    )
    packages.add_argument("directory", metavar="DIR", type=path, help="a new or empty directory")
    packages.set_defaults(do=_kernel_openwrt)


def _kernel(options: argparse.Namespace) -> Kernel:
    if options.arch == "um":
        return build_one(options, own_policy_of(options))
    if options.policy:
        raise InputError(
            f"--policy {options.policy}: only for the laboratory's kernel; for {options.arch} "
            "build it as a module (docs/how-to/kernel.md)"
        )
    return image.build(options.kernel_source, plain=options.plain, arch=options.arch, say=say)


def _kernel_build(options: argparse.Namespace) -> int:
    built = _kernel(options)
    print(f"{built.path} (Linux {built.version}, {built.hash})")
    return 0


def _kernel_path(options: argparse.Namespace) -> int:
    print(_kernel(options).path)
    return 0


def _kernel_import(options: argparse.Namespace) -> int:
    recipes: dict[prebuilt.Part, str] = {
        "kernel": image.default_recipe(),
        "tools": guesttools.recipe(),
    }
    print(prebuilt.unpack(options.wheel, recipes, say))
    return 0


def _kernel_series(options: argparse.Namespace) -> int:
    written = series.write(
        options.directory,
        options.kernel_source,
        topic=options.topic,
        author=options.author,
        say=say,
    )
    for patch in written:
        print(patch)
    if options.author == series.PLACEHOLDER:
        say(
            f"airtcp: {options.author} is a placeholder, so the patches cannot be sent; "
            "--author 'Name <name@example.org>' sets From and Signed-off-by"
        )
    return 0


def _kernel_deb(options: argparse.Namespace) -> int:
    for package in deb.build(options.out, options.kernel_source, config=options.config, say=say):
        print(package)
    return 0


def _kernel_openwrt(options: argparse.Namespace) -> int:
    for written in openwrt.write(options.directory):
        print(written)
    return 0
