# SPDX-License-Identifier: GPL-2.0-only
"""ACK policies in BPF: names, and messages on kernels that cannot have them."""

import json
from pathlib import Path

import pytest

from airtcp.cli import parser
from airtcp.errors import AirtcpError, InputError
from airtcp.kernel import bpf


def test_names_are_those_of_modules_with_arithmetic_of_their_own() -> None:
    assert bpf.names() == ["aad", "auto", "count"]


@pytest.mark.parametrize("name", ["auto", "bpf_auto"])
def test_registered_names_have_the_prefix_bpf(name: str) -> None:
    assert bpf.registered_name(name) == "bpf_auto"


@pytest.mark.parametrize("name", ["atuo", "default", "bpf_", "tack", "ca"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=rf"policy '{name}' is not allowed; .*allowed: aad auto"):
        bpf.registered_name(name)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files of a kernel that has everything, and a bpftool."""
    sysctl, btf, program = (tmp_path / name for name in ("tcp_ack_policy", "vmlinux", "bpftool"))
    sysctl.write_text("bpf_aad\n")
    btf.write_bytes(b"\0bpf_struct_ops_tcp_ackpol_ops\0")
    listed = [
        {"id": 3, "name": "bpf_aad", "kernel_struct_ops": "tcp_ackpol_ops"},
        {"id": 4, "name": "cubic", "kernel_struct_ops": "tcp_congestion_ops"},
        {"id": 5, "name": "bpf_auto", "kernel_struct_ops": "tcp_ackpol_ops"},
    ]
    (tmp_path / "listed").write_text(json.dumps(listed))
    program.write_text(
        "#!/bin/sh\n"
        f'echo "$*" >>{tmp_path}/calls\n'
        f'case "$*" in\n*show) cat {tmp_path}/listed ;;\n'
        f'*"cgroup show"*) cat {tmp_path}/attached ;;\n"prog load"*) touch "$4" ;;\n'
        "*unregister*) echo 'libbpf: x' >&2; echo 'Error: cannot: Busy' >&2; exit 1 ;;\nesac\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(bpf, "_SYSCTL", sysctl)
    monkeypatch.setattr(bpf, "_BTF", btf)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_list_has_only_ack_policies(machine: Path) -> None:
    assert bpf.loaded() == [bpf.Loaded("bpf_aad", 3, True), bpf.Loaded("bpf_auto", 5, False)]


def test_list_prints_json(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = parser.build(["policy"]).parse_args(["policy", "list", "--json"])
    assert options.do(options) == 0
    assert json.loads(capsys.readouterr().out)[0] == {"name": "bpf_aad", "id": 3, "in_use": True}


def test_loaded_policy_is_not_loaded_again(machine: Path) -> None:
    with pytest.raises(AirtcpError, match=r"^bpf_auto is already loaded$"):
        bpf.load("auto")


def test_a_policy_that_is_not_loaded_cannot_be_unloaded(machine: Path) -> None:
    with pytest.raises(AirtcpError, match=r"^bpf_count is not loaded$"):
        bpf.unload("count")


def test_error_of_bpftool_is_one_line(machine: Path) -> None:
    with pytest.raises(AirtcpError, match=r"^bpftool struct_ops unregister: Error: cannot: Busy$"):
        bpf.unload("auto")
    assert "struct_ops unregister id 5" in (machine / "calls").read_text()


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("tcp_ack_policy", "^this kernel has no ACK policies: it needs the patches"),
        ("vmlinux", "it needs CONFIG_DEBUG_INFO_BTF$"),
    ],
)
def test_a_kernel_without_policies_or_btf_is_refused(
    machine: Path, missing: str, message: str
) -> None:
    (machine / missing).unlink()
    with pytest.raises(AirtcpError, match=message):
        bpf.load("auto")


def test_a_kernel_without_policies_in_bpf_is_refused(machine: Path) -> None:
    (machine / "vmlinux").write_bytes(b"\0bpf_struct_ops_tcp_congestion_ops\0")
    with pytest.raises(AirtcpError, match=r"it needs CONFIG_TCP_ACKPOL_BPF$"):
        bpf.load("auto")


def test_only_root_can_load(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(AirtcpError, match=r"^policy: only root can load"):
        bpf.load("auto")


@pytest.fixture
def registered(machine: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of policies that are loaded, without compiling them."""
    names: list[str] = []
    monkeypatch.setattr(bpf, "load", names.append)
    return names


def load(*arguments: str) -> int:
    options = parser.build(["policy"]).parse_args(["policy", "load", *arguments])
    status: int = options.do(options)
    return status


def test_a_policy_that_is_already_loaded_becomes_the_default(
    machine: Path, registered: list[str]
) -> None:
    assert load("auto", "--default") == 0
    assert (machine / "tcp_ack_policy").read_text() == "bpf_auto"
    assert registered == []
    assert load("count", "--default") == 0
    assert (machine / "tcp_ack_policy").read_text() == "bpf_count"
    assert registered == ["bpf_count"]


def test_nothing_is_loaded_for_what_is_not_a_cgroup(machine: Path, registered: list[str]) -> None:
    with pytest.raises(InputError, match=r"^--cgroup .*: not the directory of a cgroup"):
        load("count", "--cgroup", str(machine))
    assert registered == []


@pytest.fixture
def pinned(machine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of pinned programs; nothing is compiled or mounted."""
    directory = machine / "pinned"
    directory.mkdir()
    monkeypatch.setattr(bpf, "_PINNED", directory)
    monkeypatch.setattr(bpf, "_mount_bpffs", lambda: None)
    monkeypatch.setattr(bpf, "compile_program", lambda *_: None)
    (machine / "cgroup.procs").touch()
    return directory


def test_a_program_for_a_cgroup_is_loaded_each_time_and_leaves_no_pin(
    machine: Path, pinned: Path
) -> None:
    for _ in range(2):
        (machine / "attached").write_text("\n")
        bpf.attach("auto", machine)
        assert list(pinned.iterdir()) == []
        programs = [(7, "bpf_count"), (8, "bpf_auto"), (9, "bpf_auto")]
        listed = [{"id": number, "name": name} for number, name in programs]
        (machine / "attached").write_text(json.dumps(listed))
        bpf.detach("auto", machine)
    calls = [line.split()[:2] for line in (machine / "calls").read_text().splitlines()]
    assert calls.count(["prog", "load"]) == calls.count(["cgroup", "attach"]) == 2
    detached = [line for line in (machine / "calls").read_text().splitlines() if "detach" in line]
    assert detached == [f"cgroup detach {machine} sock_ops id {number}" for number in (8, 9)] * 2


def test_a_policy_is_attached_once_and_detached_only_if_attached(
    machine: Path, pinned: Path
) -> None:
    (machine / "attached").write_text('[{"id": 8, "name": "bpf_auto"}]')
    with pytest.raises(AirtcpError, match=r"^/.* already has the policy bpf_auto$"):
        bpf.attach("auto", machine)
    with pytest.raises(AirtcpError, match=r"^/.* does not have the policy bpf_count$"):
        bpf.detach("count", machine)
