# SPDX-License-Identifier: GPL-2.0-only
"""Boot an x86-64 kernel in QEMU, with several processors in real time.

User Mode Linux has one processor and virtual time, so races between processors cannot happen there.
In QEMU they can. The guest is like that in uml.py: its root is the host's file system, read-only,
and plan.sh runs in the directory of the run. No two runs are identical.
"""

import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from airtcp import programs
from airtcp.backends.base import GuestResult, run_guest
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import AirtcpError
from airtcp.kernel.image import Kernel
from airtcp.paths import GUEST_DIR, RUN_DIR_IN_GUEST

_PROGRAM = "qemu-system-x86_64"
_KERNEL_DIR = "/run/kernel"

_9P = "trans=virtio,version=9p2000.L,msize=262144"
_FIRST_STEPS = (
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin;"
    "mount -t tmpfs tmpfs /run &&"
    f"mkdir {RUN_DIR_IN_GUEST} {GUEST_DIR} {_KERNEL_DIR} &&"
    f"mount -t 9p -o {_9P} run {RUN_DIR_IN_GUEST} &&"
    f"mount -t 9p -o ro,cache=loose,{_9P} tools {GUEST_DIR} &&"
    f"mount -t 9p -o ro,cache=loose,{_9P} kernel {_KERNEL_DIR} &&"
    f"exec {GUEST_DIR}/init"
)

# Any error ends the guest, so the console shows the first report and not its consequences.
_FATAL = (
    *("panic=-1", "oops=panic", "panic_on_warn=1", "kasan.fault=panic"),
    "sysctl.kernel.panic_on_rcu_stall=1",
    # Seconds; a guest processor may have to wait for a host processor.
    *("watchdog_thresh=30", "rcupdate.rcu_cpu_stall_timeout=60"),
)

# A busy host starts QEMU's threads late, and the kernel concludes that the timer does not work.
_CLOCK = ("no_timer_check",)

# TCG, because KVM does not count instructions.
_COUNTED = ("-accel", "tcg", "-icount", "shift=0,sleep=off")


def has_kvm() -> bool:
    """Whether KVM can run the guest; otherwise QEMU translates it, which is ten times slower.

    A virtual machine may have /dev/kvm without hardware virtualization, which is even slower.
    """
    flags = re.search(r"^flags\s*:.*$", Path("/proc/cpuinfo").read_text(), re.M)
    able = bool(flags and re.search(r" (vmx|svm)\b", flags[0]))
    return able and os.access("/dev/kvm", os.R_OK | os.W_OK)


def boot(
    kernel: Kernel,
    tools: GuestTools,
    run_dir: Path,
    *,
    cpus: int = 4,
    memory_mb: int = 2048,
    instructions: bool = False,
    parameters: Sequence[str] = (),
    initramfs: Path | None = None,
    timeout_wall_s: float,
    on_progress: Callable[[float], None] | None = None,
) -> GuestResult:
    """Run run_dir/plan.sh in a guest and wait until it ends; other arguments as in uml.boot().

    instructions: the guest's clocks advance one nanosecond per instruction and skip idle time, so
    the speed and load of the host have no effect. parameters: appended to the kernel command line.
    initramfs: for a kernel that needs modules to mount its root; its /init gets the command line.
    A warning, oops or stall of the kernel is a panic. Raises AirtcpError if QEMU is missing.
    """
    program = shutil.which(_PROGRAM)
    if not program:
        raise AirtcpError(
            f"{_PROGRAM} is missing; install it with: {programs.install(['qemu-system-x86'])}"
        )
    accelerator = _COUNTED if instructions else ["-accel", "kvm" if has_kvm() else "tcg"]
    command = _command(program, kernel, tools, run_dir, accelerator, cpus, memory_mb, parameters)
    if initramfs:
        command += ["-initrd", str(initramfs.absolute())]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/"}
    return run_guest(
        command, run_dir, environment, run_dir, timeout_wall_s, on_progress=on_progress
    )


def _command(
    program: str,
    kernel: Kernel,
    tools: GuestTools,
    run_dir: Path,
    accelerator: Sequence[str],
    cpus: int,
    memory_mb: int,
    parameters: Sequence[str],
) -> list[str]:
    kernel_arguments = [
        *("console=ttyS0", "loglevel=5", *_FATAL, *_CLOCK, *parameters),
        *("root=root", "rootfstype=9p", "ro", f"rootflags=cache=loose,{_9P}"),
        *("init=/bin/sh", "--", "-c", f'"{_FIRST_STEPS}"'),
    ]
    return [
        *(program, "-nodefaults", "-no-user-config", "-no-reboot"),
        *("-display", "none", "-serial", "stdio"),
        *("-machine", "q35", *accelerator, "-cpu", "max"),
        *("-smp", str(cpus), "-m", f"{memory_mb}M"),
        *_share("root", Path("/"), writable=False),
        *_share("run", run_dir, writable=True),
        *_share("tools", tools.directory, writable=False),
        *_share("kernel", kernel.path.parent, writable=False),
        *("-kernel", str(kernel.path.absolute()), "-append", " ".join(kernel_arguments)),
    ]


def _share(tag: str, directory: Path, *, writable: bool) -> list[str]:
    path = str(directory.resolve()).replace(",", ",,")
    options = f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap"
    return ["-virtfs", options if writable else f"{options},readonly=on"]
