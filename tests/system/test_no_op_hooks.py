# SPDX-License-Identifier: GPL-2.0-only
"""The cost of ACK policies while none is selected: no-ops in TCP's code, a pointer per socket.

Inspects object code for x86-64 with jump labels: that of the kernel of test_bpf.py, with the same
guard (`make bpf-check`), in the tree in which it was last built.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from guests import Say

from airtcp.cache import cache_dir
from airtcp.kernel import image

pytestmark = pytest.mark.skipif(
    not os.environ.get("AIRTCP_TEST_BPF"), reason="takes minutes: make bpf-check"
)

FRAGMENTS = (*image.FRAGMENTS_OF_X86, "x86-bpf")
# Options that enlarge the locks in a socket.
LOCK_DEBUGGING = ("PROVE_LOCKING", "LOCKDEP", "DEBUG_LOCK_ALLOC", "DEBUG_SPINLOCK", "DEBUG_MUTEXES")
KEY = "tcp_ackpol_key"
NO_OPS = {"66 90", "0f 1f 44 00 00"}
ENTRY_SIZE = 16  # of struct jump_entry: address of the no-op, target of the jump, key

# Functions that process data and ACKs, by object file, with functions inlined into them.
HOT = {
    "tcp_input": {"__tcp_ack_snd_check", "tcp_event_data_recv", "tcp_data_queue"},
    "tcp_output": {"__tcp_transmit_skb"},
    "tcp": {"__tcp_cleanup_rbuf"},
    "tcp_timer": {"tcp_delack_timer_handler"},
}

Place = tuple[str, int]
"""A section and an offset in it."""


@dataclass
class Instruction:
    """An instruction from objdump. target: of a jump, within the file."""

    code: str
    text: str
    function: str
    next: Place | None = None
    target: Place | None = None

    @property
    def ends(self) -> bool:
        return self.text.startswith(("jmp", "ret", "ud2", "int3"))


@dataclass
class ObjectFile:
    """Instructions in order, functions, and jumps of static keys."""

    instructions: dict[Place, Instruction] = field(default_factory=dict)
    functions: dict[str, Place] = field(default_factory=dict)
    branches: dict[Place, Place] = field(default_factory=dict)
    """Targets of the jumps of KEY, by the place of their no-ops."""

    def reached(self, roots: Iterable[Place], known: set[Place]) -> set[Place]:
        """What can run from the roots on, without the jumps of KEY and what is in `known`."""
        places: set[Place] = set()
        pending = list(roots)
        while pending:
            place = pending.pop()
            if place in places or place in known or place not in self.instructions:
                continue
            places.add(place)
            code = self.instructions[place]
            pending += [x for x in (code.target, None if code.ends else code.next) if x]
        return places


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def read_object(path: Path) -> ObjectFile:
    obj = ObjectFile()
    section = function = ""
    last: Place | None = None
    for line in output("objdump", "-drw", path).splitlines():
        if match := re.fullmatch(r"Disassembly of section (\S+):", line):
            section, last = match[1], None
        elif match := re.fullmatch(r"([0-9a-f]+) <(\S+)>:", line):
            function = match[2]
            obj.functions[function] = section, int(match[1], 16)
        elif match := re.fullmatch(r" *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t(.*)", line):
            place = section, int(match[1], 16)
            instruction = Instruction(match[2].strip(), match[3], function)
            obj.instructions[place] = instruction
            if jump := re.match(r"j\w+\s+([0-9a-f]+)\b", match[3]):
                instruction.target = section, int(jump[1], 16)
            if last:
                obj.instructions[last].next = place
            last = place
        elif last and "R_X86_64_P" in line and obj.instructions[last].text.startswith("j"):
            # A jump into another section; the operand ends 4 bytes after its address.
            obj.instructions[last].target = section_place(line, 4)
    return add_branches(path, obj)


def section_place(relocation: str, beyond: int) -> Place | None:
    """The place to which a relocation refers, if it is relative to a section."""
    match = re.search(r"\s(\.\S+?)(?:([+-])0x([0-9a-f]+))?$", relocation)
    if not match:
        return None
    offset = int(match[3] or "0", 16)
    return match[1], (-offset if match[2] == "-" else offset) + beyond


def add_branches(path: Path, obj: ObjectFile) -> ObjectFile:
    entries: dict[int, dict[int, str]] = {}
    for line in output("objdump", "-r", "-j", "__jump_table", path).splitlines():
        if match := re.match(r"([0-9a-f]{16}) R_X86_64_", line):
            number, part = divmod(int(match[1], 16), ENTRY_SIZE)
            entries.setdefault(number, {})[part] = line
    for entry in entries.values():
        if re.search(rf"\s{KEY}(\+0x[0-3])?$", re.sub(r"0x0+(?=\w)", "0x", entry[8])):
            code, target = section_place(entry[0], 0), section_place(entry[4], 0)
            assert code
            assert target
            obj.branches[code] = target
    return obj


@pytest.fixture(scope="module")
def tree(say: Say) -> Path:
    image.build(fragments=FRAGMENTS, arch="x86_64", say=say)
    name = "-".join(("build", *FRAGMENTS))
    trees = (cache_dir() / "kernel").glob(f"work-*/linux/{name}/Module.symvers")
    return max(trees, key=lambda path: path.stat().st_mtime).parent


def numbers(
    tree: Path, directory: Path, *expressions: str, without: Sequence[str] = ()
) -> list[int]:
    """Values of constants of the kernel, compiled like its own files, but without some options."""
    source = directory / "numbers.c"
    lines = [f"#undef CONFIG_{option}" for option in without]
    lines += ["#include <linux/tcp.h>", "#include <net/tcp.h>"]
    lines += [f"char number_{i}[{text}];" for i, text in enumerate(expressions)]
    source.write_text("\n".join(lines) + "\n")
    saved = (tree / "net/ipv4/.tcp_ackpol.o.cmd").read_text().splitlines()[0]
    command = shlex.split(saved.partition(" := ")[2].partition(" ; ")[0])
    # Without the list of dependencies and the names of the files.
    command = [word for word in command[:-1] if not word.startswith("-Wp,-MMD")]
    compiled = directory / "numbers.o"
    command[command.index("-o") + 1] = str(compiled)
    subprocess.run([*command, str(source)], cwd=tree, check=True)
    symbols = re.findall(r"^\w+ (\w+) \w number_(\d+)$", output("nm", "-S", compiled), re.M)
    sizes = {int(number): int(size, 16) for size, number in symbols}
    return [sizes[number] for number in range(len(expressions))]


@pytest.mark.parametrize("name", HOT)
def test_hooks_are_no_ops_and_nothing_looks_for_a_policy(
    tree: Path, tmp_path: Path, name: str
) -> None:
    [offset] = numbers(tree, tmp_path, "offsetof(struct tcp_sock, ackpol)")
    obj = read_object(tree / "net/ipv4" / f"{name}.o")
    assert {obj.instructions[place].code for place in obj.branches} <= NO_OPS
    hooked = {obj.instructions[place].function.partition(".")[0] for place in obj.branches}
    assert hooked >= HOT[name]

    entries = [place for function, place in obj.functions.items() if ".cold" not in function]
    plain = obj.reached(entries, set())
    behind_key = obj.reached(obj.branches.values(), plain)
    # Code that is reached only through tables of addresses.
    for place in obj.instructions:
        if place not in plain and place not in behind_key:
            plain |= obj.reached([place], plain)

    access = re.compile(rf"\b0x{offset:x}\(%r")
    places = {place for place, code in obj.instructions.items() if access.search(code.text)}
    assert places & behind_key
    accessing = {obj.instructions[place].function for place in places & plain}
    assert accessing == set()


def test_a_socket_grows_by_no_more_than_16_bytes(tree: Path, tmp_path: Path) -> None:
    """Without lockdep, whose locks are so large that 8 more bytes start another cache line."""
    size = "sizeof(struct tcp_sock)"
    [patched] = numbers(tree, tmp_path, size, without=LOCK_DEBUGGING)
    [plain] = numbers(tree, tmp_path, size, without=("TCP_ACKPOL", *LOCK_DEBUGGING))
    assert 0 <= patched - plain <= 16
