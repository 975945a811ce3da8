# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own TCP tests on plain Linux and on the laboratory's kernel, with equal verdicts.

Runs tools/testing/selftests/net of the source from which the kernel is built, in QEMU, whose clock
counts instructions while a test computes. While it waits, time passes as on the host, so a busy
host can still delay a test. The tests run three times: on plain Linux, with the policy `default`,
which must give the same verdicts, and with `aad`, for information. Some depend on timing: a test
whose verdicts differ is repeated on both kernels. It counts as a difference if its exit status, or
the verdict of one of its parts, is never the same on both. Tests of other protocols are not run.
Logs: results/selftests/.
With the name of a guest (plain, default, aad) only that guest is run, without a comparison;
with --reuse a guest is not run if there are logs of the same kernel and tests.
"""

import argparse
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import qemu

from airtcp.backends.guesttools import GuestTools, build_tools
from airtcp.cache import cache_dir, make_dir
from airtcp.cli.messages import say
from airtcp.errors import AirtcpError
from airtcp.kernel import image
from airtcp.kernel.image import Kernel
from airtcp.kernel.source import find_source, identity
from airtcp.paths import REPOSITORY, RUN_DIR_IN_GUEST

RESULTS = REPOSITORY / "results" / "selftests"
FRAGMENT = "x86-selftests"

# Files to extract from the source: the tests, and what `make headers` reads.
PARTS = (
    *("Makefile", "scripts", "include/uapi", "include/asm-generic", "usr/include"),
    *("arch/x86/Makefile*", "arch/x86/entry/syscalls", "arch/x86/include", "arch/x86/tools"),
    *("tools/include", "tools/testing/selftests/lib.mk", "tools/testing/selftests/kselftest*"),
    "tools/testing/selftests/net",
)


# Replacements in files of tests that do not compile or take too long: pattern and new text.
EDITS = {
    # Calls with an argument that Debian's 6.12 does not have.
    "tls.c": (r"(\btls_crypto_info_init\([^;{]*?), [01]\);", r"\1);"),
    # It transfers 32 GB.
    "tcp_mmap.c": (r"\(1ULL << 35\)", "(1ULL << 26)"),
    # Its duration in seconds, without a pause.
    "fin_ack_lat.sh": (r'do_test "30"', 'do_test "3"'),
}


@dataclass(frozen=True)
class Test:
    """A command in the directory of the tests, and the program that it needs."""

    command: str
    program: str


def _tests() -> dict[str, Test]:
    programs = (
        *("bind_timewait", "bind_wildcard", "epoll_busy_poll", "reuseaddr_conflict"),
        *("reuseport_bpf", "reuseport_bpf_cpu", "reuseport_bpf_numa", "reuseport_dualstack"),
        *("sk_bind_sendto_listen", "sk_connect_zero_addr", "sk_so_peek_off", "so_incoming_cpu"),
        *("so_netns_cookie", "socket", "tcp_inq", "tls"),
    )
    with_script = (
        *("bind_bhash", "fin_ack_lat", "gro", "ip_local_port_range", "msg_zerocopy"),
        *("reuseaddr_ports_exhausted", "reuseport_addr_any", "rxtimestamp"),
        *("stress_reuseport_listen", "tcp_fastopen_backup_key", "txtimestamp"),
    )
    tcp_ao = (
        *("connect", "connect-deny", "icmps-accept", "icmps-discard", "key-management"),
        *("restore", "rst", "self-connect", "seq-ext", "setsockopt-closed", "unsigned-md5"),
    )
    signed = [f"tcp_ao/{name}_{family}" for name in tcp_ao for family in ("ipv4", "ipv6")]
    mmap = (
        "stdbuf -oL ./tcp_mmap -s -z -i >received & sleep 1; ./tcp_mmap -z -i -H ::1; sleep 1; "
        "kill $!; cat received; grep -q 'SHA256 is correct' received"
    )
    return {
        **{name: Test(f"./{name}", name) for name in (*programs, *signed)},
        **{f"{name}.sh": Test(f"./{name}.sh", name) for name in with_script},
        **{
            f"fcnal-test.sh {name}": Test(f"./fcnal-test.sh -t {name}", "nettest")
            for name in ("ipv4_tcp", "ipv6_tcp")
        },
        "tcp_mmap": Test(mmap, "tcp_mmap"),
    }


TESTS = _tests()
NOT_RUN = {
    "packetdrill/*.pkt": "packetdrill is missing; Debian 12 has no package of it",
    "big_tcp.sh": "netperf is missing; Debian has it among the non-free packages only",
    "io_uring_zerocopy_tx.sh": "the kernel is built without io_uring",
    "mptcp/*.sh": "another protocol",
}

# Programs that the tests call. They are copied into the guest's memory: while a guest waits for a
# file of the host, its clock, which skips idle time, would advance far.
PROGRAMS = (
    *("awk", "basename", "bash", "cat", "chroot", "cut", "date", "dirname", "env", "ethtool"),
    *("expr", "grep", "head", "id", "ip", "jq", "killall", "ls", "mkdir"),
    *("mktemp", "modprobe", "nstat", "pgrep", "pidof", "ping", "ping6", "ps"),
    *("readlink", "rm", "sed", "seq", "sh", "sleep", "sort", "ss", "stdbuf", "sysctl", "tail"),
    *("tc", "tee", "timeout", "touch", "tr", "unshare", "wc", "which", "xargs"),
)
_IN_MEMORY = f"""\
root=/tmp/root
mkdir $root
# `ip netns exec` needs a root that is a mount point.
mount --bind $root $root
mkdir -p $root/usr/bin $root/usr/sbin $root/usr/lib $root/usr/lib64 $root/tmp $root/log
for name in bin sbin lib lib64; do ln -s usr/$name $root/$name; done
for program in {" ".join(PROGRAMS)} net/tcp_mmap; do
	path=$(command -v $program) || continue
	echo "$path"
	ldd "$path" | grep -o '/[^ ]*'
done | sort -u | xargs cp -L --parents -t $root
cp -L --parents /usr/libexec/coreutils/libstdbuf.so $root
# glibc loads it when a thread exits.
cp -L --parents "$(ldconfig -p | sed -n 's/.*libgcc_s.so.1 .*64.* => //p' | head -1)" $root
cp -rL --parents /etc/iproute2 /etc/protocols /etc/services /etc/hosts /etc/passwd $root
cp -r net inside.sh $root
for directory in proc sys dev run; do
	mkdir -p $root/$directory
	mount --rbind /$directory $root/$directory
done
"""
GUESTS = ("plain", "default", "aad")
"""Plain Linux, and the laboratory's kernel with these policies."""

LIMIT_S = 3600
"""The limit of a test, in the guest's time, as in tools/testing/selftests/net/settings."""

REPETITIONS = 3
"""How often a test with different verdicts is repeated on each kernel, at most."""


@dataclass(frozen=True)
class Verdict:
    """Result of a test (pass, fail, timeout or skip), reason for a skip, results of its parts."""

    whole: str
    reason: str
    parts: Counter[tuple[str, str]]

    def __str__(self) -> str:
        if self.whole == "skip":
            return f"skip: {self.reason}"
        counts = Counter(verdict for verdict, _ in self.parts.elements())
        return " ".join([self.whole, *(f"{n} {verdict}" for verdict, n in sorted(counts.items()))])


def compile_tests() -> Path:
    """Extract and compile the tests once. <name>.missing has the error of one that fails."""
    source = find_source(None)
    programs = sorted({test.program for test in TESTS.values()})
    facts = [identity(source), PARTS, EDITS, programs]
    target = cache_dir() / "selftests" / hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    if target.is_dir():
        return target
    say(f"compiling the selftests of {source}")
    make_dir(target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        tar = ["tar", "-C", scratch, "--strip-components=1", "-xf", str(source)]
        tar += ["--wildcards", "--no-wildcards-match-slash", *(f"*/{part}" for part in PARTS)]
        _run(tar)
        _run(["make", "-C", scratch, "ARCH=x86_64", "headers"])
        net = Path(scratch, "tools/testing/selftests/net")
        for name, (pattern, new) in EDITS.items():
            (net / name).write_text(re.sub(pattern, new, (net / name).read_text()))
        for directory in (net, net / "tcp_ao"):
            inside = [path for name in programs if (path := net / name).parent == directory]
            make = ["make", "-C", str(directory), f"OUTPUT={directory}"]
            jobs = f"-j{len(os.sched_getaffinity(0))}"
            _run([*make, "-k", jobs, *map(str, inside)], may_fail=True)
            for path in inside:
                error = _run([*make, str(path)], may_fail=True)
                if not path.is_file():
                    Path(f"{path}.missing").write_text(error)
        unused = shutil.ignore_patterns("*.[cho]", "*.a", "forwarding", "netfilter", "mptcp")
        shutil.copytree(net, Path(scratch, "net"), ignore=unused)
        try:
            Path(scratch, "net").rename(target)
        except OSError:
            if not target.is_dir():  # else another process has made it, with the same content
                raise
    return target


def _run(command: list[str], may_fail: bool = False) -> str:
    """Returns "" or the first error. Raises AirtcpError for an error unless may_fail."""
    environment = {**os.environ, "LC_ALL": "C"}
    for name in ("MAKEFLAGS", "MAKELEVEL"):  # of a make that runs this
        environment.pop(name, None)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if not done.returncode:
        return ""
    lines = done.stderr.splitlines() or ["no message"]
    error = next((line for line in lines if "error:" in line), lines[0])
    if not may_fail:
        raise AirtcpError(f"{command[0]}: {error}")
    return error


def missing(tests: Path, test: Test) -> str:
    """Why a test cannot run on this machine, or ""."""
    reason = tests / f"{test.program}.missing"
    return reason.read_text() if reason.is_file() else ""


def run(
    built: Kernel,
    tools: GuestTools,
    tests: Path,
    guest: str,
    reuse: bool,
    names: Sequence[str],
    repetition: int,
) -> Path:
    """Run tests in a guest; returns the directory of their logs and exit statuses.

    reuse: do nothing if there are logs of this kernel and these tests. repetition: 0 for the first
    run, of all tests.
    """
    directory = RESULTS / (f"{guest}-{repetition}" if repetition else guest)
    ran, what = directory / "ran", "\n".join([f"{built.hash} {tests.name}", *names, ""])
    if reuse and ran.is_file() and ran.read_text() == what:
        return directory
    policy = "" if guest == "plain" else guest
    shutil.rmtree(directory, ignore_errors=True)
    make_dir(directory)
    shutil.copytree(tests, directory / "net")
    choice = f"sysctl -q -w net.ipv4.tcp_ack_policy={policy} || exit 1\n" if policy else ""
    (directory / "plan.sh").write_text(
        f"{_IN_MEMORY}{choice}exec chroot $root bash /inside.sh {RUN_DIR_IN_GUEST}\n"
    )
    script = ""
    for test_name in names:
        test = TESTS[test_name]
        if missing(tests, test):
            continue
        inside = Path(test.program).parent
        command = test.command.replace(f"./{inside}/", "./")
        # As kselftest runs them, but each in its own network namespace.
        words = shlex.quote(f"ip link set lo up; cd /net/{inside} || exit 1; {command}")
        script += (
            f"timeout -k 5 {LIMIT_S} unshare -n bash -c {words} >/log/log 2>&1 </dev/null\n"
            f'echo $? >/log/status; for name in log status; do cat /log/$name >"$1/'
            f'{log_name(test_name)}.$name"; done\n'
        )
    (directory / "inside.sh").write_text(script)
    say(f"running the selftests: {directory.name}")
    result = qemu.boot(built, tools, directory, cpus=2, instructions=True, timeout_wall_s=4 * 3600)
    shutil.rmtree(directory / "net")
    if result.status != "ok":
        raise AirtcpError(f"{directory.name}: {result.reason}")
    ran.write_text(what)
    return directory


def log_name(test_name: str) -> str:
    return re.sub(r"\W", "_", test_name)


def verdict(tests: Path, directory: Path, name: str) -> Verdict:
    """The verdict of a test from its exit status and its log (TAP, or that of fcnal-test.sh)."""
    reason = missing(tests, TESTS[name])
    if reason:
        return Verdict("skip", reason, Counter())
    path = directory / log_name(name)
    status = int(path.with_suffix(".status").read_text())
    log = path.with_suffix(".log").read_text(errors="replace")
    whole = {0: "pass", 4: "skip", 124: "timeout", 137: "timeout"}.get(status, "fail")
    reason = next((line.strip() for line in log.splitlines() if "skip" in line.lower()), "")
    parts: Counter[tuple[str, str]] = Counter()
    for negated, part, directive in re.findall(
        r"^(not )?ok \d+ (.*?)(?: # (SKIP|XFAIL|TODO)\b.*)?$", log, re.M
    ):
        # Ports, addresses and counters differ between runs.
        text = re.sub(r"\d+", "N", part)
        parts[directive.lower() or ("fail" if negated else "pass"), text] += 1
    for part, result in re.findall(r"^TEST: (.*?) +\[ *(OK|FAIL|SKIP|XFAIL) *\]", log, re.M):
        parts[{"OK": "pass"}.get(result, result.lower()), re.sub(r"\d+", "N", part)] += 1
    return Verdict(whole, reason, parts)


def differences(name: str, plain: Verdict, ours: Verdict) -> list[str]:
    """A line for each difference between two verdicts of a test or of its parts."""
    lines = []
    if (plain.whole, plain.reason) != (ours.whole, ours.reason):
        lines.append(f"{name}: plain {plain}, ours {ours}")
    for here, other, whose in ((plain, ours, "plain"), (ours, plain, "ours")):
        for (result, part), number in sorted((here.parts - other.parts).items()):
            lines.append(f"{name}: {number} more {result} with {whose}: {part}")
    return lines


def agree(plain: Sequence[Verdict], ours: Sequence[Verdict]) -> bool:
    """Whether a test, and each of its parts, ever had the same verdict on both kernels.

    Parts of runs that timed out are compared only if a kernel has no other runs.
    """

    def complete(verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
        return [each for each in verdicts if each.whole != "timeout"] or verdicts

    def results(verdict: Verdict, part: str) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((r, n) for (r, name), n in verdict.parts.items() if name == part))

    kernels = complete(plain), complete(ours)
    parts = {part for verdicts in kernels for each in verdicts for _, part in each.parts}
    wholes = [{(each.whole, each.reason) for each in verdicts} for verdicts in (plain, ours)]
    return not wholes[0].isdisjoint(wholes[1]) and all(
        {results(each, part) for each in kernels[0]} & {results(each, part) for each in kernels[1]}
        for part in parts
    )


Repeat = Callable[[str, Sequence[str], int], Mapping[str, Verdict]]
"""Runs tests in a guest again; returns their verdicts."""


def lasting(first: Mapping[str, tuple[Verdict, Verdict]], repeat: Repeat) -> list[str]:
    """The tests on which the kernels disagree whenever they are repeated.

    first: verdicts of each test on plain Linux and on our kernel.
    """
    seen = {name: ([plain], [ours]) for name, (plain, ours) in first.items()}
    for repetition in range(1, REPETITIONS + 1):
        names = [name for name, verdicts in seen.items() if not agree(*verdicts)]
        if not names:
            break
        again = [repeat(guest, names, repetition) for guest in ("plain", "default")]
        for name in names:
            for verdicts, more in zip(seen[name], again, strict=True):
                verdicts.append(more[name])
    return [name for name, verdicts in seen.items() if not agree(*verdicts)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("guest", nargs="?", choices=GUESTS, help="run this guest only")
    parser.add_argument("--reuse", action="store_true", help="use existing logs of this kernel")
    options = parser.parse_args()
    plain, patched = image.build_pair(FRAGMENT, say)
    tools, tests = build_tools(say), compile_tests()

    def directory(guest: str, names: Sequence[str] = tuple(TESTS), repetition: int = 0) -> Path:
        kernel = plain if guest == "plain" else patched
        return run(kernel, tools, tests, guest, options.reuse, names, repetition)

    def repeat(guest: str, names: Sequence[str], repetition: int) -> dict[str, Verdict]:
        path = directory(guest, names, repetition)
        return {name: verdict(tests, path, name) for name in names}

    if options.guest:
        path = directory(options.guest)
        counts = Counter(verdict(tests, path, name).whole for name in TESTS)
        print(", ".join(f"{number} {whole}" for whole, number in sorted(counts.items())))
        return 0
    columns = {name: directory(name) for name in GUESTS}
    width = max(map(len, TESTS))
    print(f"{'test':{width}}  {'plain Linux':22}  {'default':22}  aad")
    first: dict[str, tuple[Verdict, Verdict]] = {}
    for name in TESTS:
        verdicts = {column: verdict(tests, path, name) for column, path in columns.items()}
        if len(set(map(str, verdicts.values()))) == 1 and verdicts["plain"].whole == "skip":
            print(f"{name:{width}}  {verdicts['plain']}")
        else:
            cells = (f"{verdicts[column]!s:22}" for column in columns)
            print(f"{name:{width}}  {'  '.join(cells)}".rstrip())
        first[name] = verdicts["plain"], verdicts["default"]
        for line in differences(name, verdicts["plain"], verdicts["aad"]):
            print(f"{'':{width}}  with aad: {line}")
    for name, reason in NOT_RUN.items():
        print(f"{name:{width}}  not run: {reason}")
    differing = lasting(first, repeat)
    for name, pair in first.items():
        for line in differences(name, *pair):
            print(f"{'DIFFERS' if name in differing else 'agrees when repeated:'} {line}")
    print(f"{len(TESTS)} tests: {len(differing)} differ between plain Linux and `default`")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
