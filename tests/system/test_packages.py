# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages: their contents, a policy built against them, both booted in QEMU.

AIRTCP_TEST_DEB builds them (`make deb-check`), which takes minutes; without it, the policy is built
against the tree of the kernel for QEMU.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import qemu
from guests import Say, assert_silent

from airtcp.backends.guesttools import GuestTools
from airtcp.cache import cache_dir
from airtcp.kernel import deb, image
from airtcp.kernel.image import Kernel
from airtcp.kernel.source import OVERLAY

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / "samples" / "ackpol"
BTF_MAGIC = bytes.fromhex("9feb")
POLICIES = [
    path.stem
    for path in (OVERLAY / "net" / "ipv4").glob("tcp_ackpol_*.c")
    if "MODULE_ALIAS_TCP_ACKPOL(" in path.read_text()
]


DEB = pytest.mark.skipif(
    not os.environ.get("AIRTCP_TEST_DEB"), reason="takes minutes: make deb-check"
)


@pytest.fixture(scope="module")
def small(say: Say) -> Kernel:
    return image.build(arch="x86_64", say=say)


@pytest.fixture(scope="module")
def root(small: Kernel, say: Say, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked packages. ccache has the objects of `small`, which are not compiled again."""
    out, root = tmp_path_factory.mktemp("deb"), tmp_path_factory.mktemp("root")
    packages = deb.build(out, config=small.path.parent / "config", say=say)
    names = ["linux-headers", "linux-image", "airtcp-kernel"]
    assert [re.split("[-_]6", path.name)[0] for path in packages] == names
    for package in packages:
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    return root


def build_sample(headers: Path, directory: Path) -> Path:
    """Build samples/ackpol as its README says and return the module."""
    shutil.copytree(SAMPLE, directory)
    environment = {name: value for name, value in os.environ.items() if name[:4] != "MAKE"}
    done = subprocess.run(
        ["make", f"KDIR={headers}"], cwd=directory, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr.lower()
    return directory / "tcp_ackpol_fixed.ko"


def aliases(module: Path) -> set[str]:
    command = ["/sbin/modinfo", "-F", "alias", str(module)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@DEB
def test_image_has_the_kernel_and_every_policy_as_a_module(root: Path) -> None:
    [image] = (root / "boot").glob("vmlinuz-*")
    release = image.name.removeprefix("vmlinuz-")
    assert re.fullmatch(r"6\.12\.\d+-airtcp", release)
    assert (root / "boot" / f"config-{release}").is_file()
    policies = root / "lib" / "modules" / release / "kernel" / "net" / "ipv4"
    assert len(POLICIES) > 1
    for name in POLICIES:
        assert any(x.startswith("tcp-ackpol-") for x in aliases(policies / f"{name}.ko"))
    assert {"tcp-ackpol-aad", "tcp-ackpol-aad-listing"} == aliases(policies / "tcp_ackpol_aad.ko")


@DEB
def test_modules_have_btf_and_no_debug_information(root: Path) -> None:
    modules = list((root / "lib" / "modules").rglob("*.ko"))
    assert len(modules) >= len(POLICIES)
    for module in modules:
        command = ["readelf", "--sections", "--wide", str(module)]
        sections = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert re.search(r" \.BTF ", sections)
        assert ".debug_" not in sections


@DEB
def test_nothing_of_the_laboratory_is_in_it(root: Path) -> None:
    [config] = (root / "boot").glob("config-*")
    assert "CONFIG_TCP_ACKPOL=y" in config.read_text()
    assert "AIRSIM" not in config.read_text()
    assert not list(root.rglob("*airsim*"))


@pytest.mark.usefixtures("small")
def test_sample_is_built_against_a_built_tree(tmp_path: Path) -> None:
    trees = (cache_dir() / "kernel").glob("work-*/linux/build-x86-x86-ackpol/Module.symvers")
    latest = max(trees, key=lambda path: path.stat().st_mtime).parent
    assert aliases(build_sample(latest, tmp_path / "ackpol")) == {"tcp-ackpol-fixed"}


@DEB
def test_sample_policy_works_on_the_packaged_kernel(
    root: Path, tools: GuestTools, tmp_path: Path
) -> None:
    [headers] = (root / "usr" / "src").iterdir()
    [image] = (root / "boot").glob("vmlinuz-*")
    # The guest looks for modules in the directory of its kernel.
    packaged = Kernel(Path(shutil.copy(image, root / "linux")), image.name, "packaged")
    shutil.copy(build_sample(headers, tmp_path / "ackpol"), tmp_path)
    (tmp_path / "plan.sh").write_text(
        "set -e\n"
        "ip link set lo up\n"
        "cat /proc/sys/kernel/osrelease >release\n"
        "sysctl -w net.ipv4.tcp_ack_policy=aad\n"
        "cat /sys/kernel/btf/vmlinux >btf\n"
        "cat /sys/kernel/btf/tcp_ackpol_aad >module-btf\n"
        "insmod ./tcp_ackpol_fixed.ko delay_us=2000\n"
        "if echo 500000 >/sys/module/tcp_ackpol_fixed/parameters/delay_us; then exit 1; fi\n"
        "cat /sys/module/tcp_ackpol_fixed/parameters/delay_us >delay\n"
        "sysctl -w net.ipv4.tcp_ack_policy=fixed\n"
        "cat /proc/sys/net/ipv4/tcp_available_ack_policies >policies\n"
        "iperf3 --server --one-off --daemon\n"
        "sleep 1\n"
        "iperf3 --client 127.0.0.1 --time 2 --length 1K --bitrate 800K\n"
        "nstat -asz TcpExtTCPAckPolTimer TcpExtTCPAckPolPolicy >counters\n"
        "sysctl -w net.ipv4.tcp_ack_policy=default\n"
        "rmmod tcp_ackpol_fixed\n"
    )
    result = qemu.boot(packaged, tools, tmp_path, timeout_wall_s=300)
    assert result.status == "ok", result.reason
    assert_silent(result.console)
    assert f"vmlinuz-{(tmp_path / 'release').read_text().strip()}" == image.name
    types = (tmp_path / "btf").read_bytes()
    assert types.startswith(BTF_MAGIC) and b"\0tcp_ackpol_ops\0" in types
    assert (tmp_path / "module-btf").read_bytes().startswith(BTF_MAGIC)
    assert {"default", "aad", "fixed"} <= set((tmp_path / "policies").read_text().split())
    assert (tmp_path / "delay").read_text() == "2000\n"
    counters = dict(re.findall(r"^(\w+) +(\d+)", (tmp_path / "counters").read_text(), re.M))
    by_timer = int(counters["TcpExtTCPAckPolTimer"])
    # On a busy machine a timer may be late: the next segment then finds that the delay is over.
    assert int(counters["TcpExtTCPAckPolPolicy"]) <= 0.1 * by_timer
    assert by_timer > 0
