# SPDX-License-Identifier: GPL-2.0-only
"""Which changes a version of Linux gets, and what its kernel cannot do."""

import re
import subprocess
from pathlib import Path

import pytest
from guests import thesis_case

from airtcp.backends.guesttools import GuestTools
from airtcp.cli import kernels
from airtcp.cli.parser import build as parser_of
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment import reader
from airtcp.experiment.experiment import Setting
from airtcp.kernel import ackhold, image, ports, source
from airtcp.kernel.image import Kernel
from airtcp.kernel.source import OVERLAY
from airtcp.parameters import Parameters
from airtcp.parameters.section import Sysctl, facts
from airtcp.paths import EXPERIMENTS_DIR
from airtcp.sweep.request import requests
from airtcp.testbed import plainkernel


def makefile(version: str) -> str:
    names = ("VERSION", "PATCHLEVEL", "SUBLEVEL")
    return "".join(f"{n} = {x}\n" for n, x in zip(names, version.split("."), strict=True))


def tree(path: Path, version: str) -> Path:
    path.mkdir()
    (path / "Makefile").write_text(makefile(version))
    return path


def repository(path: Path, *versions: str) -> Path:
    """A repository with a tag for each version."""
    path.mkdir()
    git = ["git", "-C", str(path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for version in versions:
        (path / "Makefile").write_text(makefile(version))
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", version], check=True)
        subprocess.run([*git, "tag", f"v{version}"], check=True)
    return path


def port_of(version: str) -> ports.Port:
    port = ports.port_of(version)
    assert port
    return port


@pytest.mark.parametrize(
    ("version", "directory"),
    [
        ("6.1.192", "6.1"),
        ("6.6.3", "6.1"),
        ("7.2.13", "7.2"),
        ("7.3.4", "7.3"),
        ("7.10.1", "7.3"),
        ("8.0.0", "7.3"),
    ],
)
def test_a_version_has_the_port_of_the_closest_earlier_one(version: str, directory: str) -> None:
    assert port_of(version).fragments == (ports.PORTS / directory / "lab.config",)


@pytest.mark.parametrize("version", ["6.12.9", "6.13.1", "7.1.9"])
def test_from_6_12_to_the_next_port_the_changes_of_kernel_are_used(version: str) -> None:
    assert ports.port_of(version) is None


def test_only_6_12_has_policies() -> None:
    assert ports.has_policies("6.12.117")
    assert not any(map(ports.has_policies, ("6.1.192", "6.13.1", "7.3.4")))


@pytest.mark.parametrize("version", ["6.1.192", "7.2.13", "7.3.4"])
def test_ports_change_nothing_of_tcp(version: str) -> None:
    touched = {file for step in port_of(version).changes for file in step.touched}
    assert not [file for file in touched if re.search(r"net/ipv[46]/|net/tcp\.h", file)]
    assert "drivers/net/wireless/virtual/airsim/compat.h" in touched


def options_of(changes: source.Changes) -> set[str]:
    """The options that patches and files add to Kconfig."""
    options = {
        name
        for step in changes
        for name in re.findall(r"^\+config (\w+)", step.patch.read_text(), re.M)
    }
    for step in changes:
        for path, file in step.files.items():
            if path.endswith("Kconfig"):
                options |= set(re.findall(r"^config (\w+)", file.read_text(), re.M))
    return options


@pytest.mark.parametrize("version", ["6.1.192", "7.2.13", "7.3.4"])
def test_a_port_turns_off_what_it_has_no_patch_for(version: str) -> None:
    port = port_of(version)
    chosen = re.findall(r"^CONFIG_(\w+)=", (OVERLAY / "configs" / "lab.config").read_text(), re.M)
    missing = options_of(source.read_changes()) & {*chosen} - options_of(port.changes)
    off = {
        name
        for fragment in port.fragments
        for name in re.findall(r"^# CONFIG_(\w+) is not set", fragment.read_text(), re.M)
    }
    assert "TCP_WATCH" in missing
    assert missing <= off


def test_files_of_a_port_replace_those_of_kernel(tmp_path: Path) -> None:
    overlay, all_ports = tmp_path / "kernel", tmp_path / "ports"
    for path in (overlay / "patches" / "lab", overlay / "net", all_ports / "6.1" / "net"):
        path.mkdir(parents=True)
    (overlay / "patches" / "lab" / "1.patch").touch()
    for root in (overlay, all_ports / "6.1"):
        (root / "net" / "new.c").write_text(root.name)
    (overlay / "net" / "other.c").touch()
    series = all_ports / "6.1" / "series"
    series.write_text("# why\nlab/1.patch net\n")
    port = ports.port_of("6.1.1", all_ports, overlay)
    assert port
    [step] = port.changes
    assert step.files == {
        "net/new.c": all_ports / "6.1" / "net" / "new.c",
        "net/other.c": overlay / "net" / "other.c",
    }
    series.write_text("lab/2.patch\n")
    with pytest.raises(InputError, match=r"series:1: lab/2\.patch does not exist in "):
        ports.port_of("6.1.1", all_ports, overlay)


def test_version_of_a_tree_a_tarball_and_a_commit(tmp_path: Path) -> None:
    linux = tree(tmp_path / "linux-6.6", "6.6.3")
    (linux / "net").mkdir()
    (linux / "net" / "Makefile").write_text("obj-y += core/\n")
    tarball = tmp_path / "linux.tar.xz"
    subprocess.run(["tar", "-C", tmp_path, "-cJf", tarball, linux.name], check=True)
    git = repository(tmp_path / "git", "6.6.4", "6.7.0")
    given = (linux, tarball, Path(f"{git}@v6.6.4"), Path(f"{git}@HEAD"))
    versions = [source.version_of(source.find_source(path)) for path in given]
    assert versions == ["6.6.3", "6.6.3", "6.6.4", "6.7.0"]


def test_a_commit_is_unpacked_and_identified_by_its_content(tmp_path: Path) -> None:
    git = repository(tmp_path / "git", "6.6.4", "6.7.0")
    first, same, other = (
        source.find_source(Path(f"{git}@{name}")) for name in ("v6.6.4", "HEAD~1", "HEAD")
    )
    assert source.identity(first) == source.identity(same) != source.identity(other)
    linux = source.prepare_tree(first, (), tmp_path / "work", lambda _: None)
    assert (linux / "Makefile").read_text() == makefile("6.6.4")


def test_a_commit_that_git_cannot_read_is_not_unpacked_in_part(tmp_path: Path) -> None:
    git = repository(tmp_path / "git", "6.6.4")
    commit = source.find_source(Path(f"{git}@HEAD"))
    blob = subprocess.check_output(["git", "-C", git, "rev-parse", "HEAD:Makefile"], text=True)
    (git / ".git" / "objects" / blob[:2] / blob[2:].strip()).unlink()
    with pytest.raises(AirtcpError, match=r"^cannot unpack .*@HEAD: error: .*object") as error:
        source.prepare_tree(commit, (), tmp_path / "work", lambda _: None)
    assert "\n" not in str(error.value)


def test_a_commit_is_that_of_the_given_repository_in_a_git_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git, other = repository(tmp_path / "git", "6.6.4"), repository(tmp_path / "other", "6.7.0")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    commit = source.find_source(Path(f"{git}@HEAD"))
    assert source.version_of(commit) == "6.6.4"
    linux = source.prepare_tree(commit, (), tmp_path / "work", lambda _: None)
    assert (linux / "Makefile").read_text() == makefile("6.6.4")


def test_a_revision_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    git = repository(tmp_path / "git", "6.6.4")
    for revision in ("v6.7", "", "--help"):
        with pytest.raises(InputError, match=r"is not a revision of the Git repository") as error:
            source.find_source(Path(f"{git}@{revision}"))
        assert "\n" not in str(error.value)


def test_a_repository_that_git_refuses_is_one_line_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = repository(tmp_path / "git", "6.6.4")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # for Git's own tests
    monkeypatch.setenv("LC_ALL", "C")
    with pytest.raises(InputError) as error:
        source.find_source(Path(f"{git}@HEAD"))
    message = str(error.value)
    assert message.startswith(f"--kernel-source {git}@HEAD: detected dubious ownership")
    assert message.endswith(f"git config --global --add safe.directory {git}")
    assert "\n" not in message
    monkeypatch.delenv("GIT_TEST_ASSUME_DIFFERENT_OWNER")
    with pytest.raises(InputError, match="@HEAD: not a git repository"):
        source.find_source(Path(f"{tmp_path}@HEAD"))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("ack_policy=aad", "ack_policy: aad is not available in the plain kernel Linux 6.1.192; "
         "allowed: default"),
        ("tsq=5ms", "tsq: 5ms is not .*; allowed: kernel"),
        ("pacing_factor=2", "pacing_factor: 2.0 is not .*; allowed: 1.0"),
        ("aad_beta=2", "aad_beta: 2.0 is not .*; allowed: kernel"),
        ("congestion_control=bbr2", "congestion_control: bbr2 is not .*; allowed: those of Linux"),
        ("ack_trace=on", "ack_trace: on is not .*; allowed: off"),
        ("ack_filter=txq", "ack_filter: txq is not .*; allowed: stages other than txq"),
        ("standard=802.11be guard_interval=800ns",
         "standard: 802.11be is not .*; allowed: 802.11a .* 802.11ax$"),
    ],
)  # fmt: skip
def test_what_a_plain_kernel_cannot_do_is_reported_in_one_line(setting: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        plainkernel.check(thesis_case(*setting.split()), "6.1.192")
    assert "\n" not in str(error.value)


def test_a_plain_kernel_can_do_what_linux_can() -> None:
    for setting in ("congestion_control=bbr", "tso_rtt_log=0", "sack=off", "ack_filter=hold"):
        plainkernel.check(thesis_case(setting), "6.1.192")


@pytest.mark.parametrize("version", ["6.12.117", "7.2.13"])
def test_a_plain_kernel_from_6_12_on_can_do_802_11be(version: str) -> None:
    plainkernel.check(thesis_case("standard=802.11be", "guard_interval=800ns"), version)


def test_the_acks_of_txqs_are_filtered_on_6_12_only() -> None:
    plainkernel.check(thesis_case("ack_filter=txq"), "6.12.117")


@pytest.mark.parametrize(
    "line", ["laptop: {access_point: ap1, ack_policy: default}", "set: {ack_policy: default}"]
)
def test_parameters_of_nodes_and_changes_are_checked_too(tmp_path: Path, line: str) -> None:
    text = (EXPERIMENTS_DIR / "two-access-points.yaml").read_text()
    own = tmp_path / "own.yaml"
    for policy, expected in (("default", None), ("aad", "ack_policy: aad is not available")):
        own.write_text(text.replace(line, line.replace("default", policy)))
        case = reader.load(own).cases([Setting.parse("ack_policy=default")])[0]
        if expected is None:
            plainkernel.check(case, "7.3.4")
        else:
            with pytest.raises(InputError, match=expected):
                plainkernel.check(case, "7.3.4")


def test_each_sysctl_of_a_parameter_is_of_linux_or_of_the_patches() -> None:
    added = "\n".join(
        path.read_text() for path in sorted((OVERLAY / "net" / "ipv4").glob("tcp_*.c"))
    )
    for patch in sorted((OVERLAY / "patches").rglob("*.patch")):
        added += "\n".join(re.findall(r"^\+.*", patch.read_text(), re.M))
    for _, fact in facts(Parameters, Sysctl):
        assert (f'"{fact.name}"' in added) != (fact.name in plainkernel.LINUX_SYSCTLS), fact.name


def choices(*arguments: str) -> list[kernels.Choice]:
    parser = parser_of(["run"])
    options = parser.parse_args(["run", "thesis-lan", *arguments])
    return kernels.choices_of(options)


def test_several_kernels_are_a_factor(tmp_path: Path) -> None:
    git = repository(tmp_path / "git", "6.6.4", "6.12.1")
    given = (str(tree(tmp_path / "linux", "6.1.9")), f"{git}@v6.6.4", f"{git}@v6.12.1")
    found = choices(*(word for path in given for word in ("--kernel-source", path)))
    assert [choice.label for choice in found] == ["6.1.9", "v6.6.4", "v6.12.1"]
    assert [choice.plain for choice in found] == [True, True, False]
    cases = kernels.with_kernels([thesis_case()], found)
    assert [case.factors["kernel"] for case in cases] == ["6.1.9", "v6.6.4", "v6.12.1"]
    assert len({case.slug for case in cases}) == 3
    built = {
        choice.label: Kernel(Path("linux"), choice.version, f"{number:016}")
        for number, choice in enumerate(found)
    }
    first = built["6.1.9"]
    jobs = requests(first, GuestTools(tmp_path), cases, [1], kernels=built)
    assert [job.kernel for job in jobs] == list(built.values())
    assert len({job.identity for job in jobs}) == 3


def test_one_kernel_is_no_factor() -> None:
    [choice] = choices()
    assert not choice.plain
    case = thesis_case()
    assert kernels.with_kernels([case], [choice]) == [case]


def test_trees_of_the_same_version_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    one, two = (str(tree(tmp_path / name, "6.1.9")) for name in ("one", "two"))
    found = choices("--kernel-source", one, "--kernel-source", two)
    assert [choice.label for choice in found] == [f"6.1.9 {one}", f"6.1.9 {two}"]
    with pytest.raises(InputError, match=r"is given twice"):
        choices("--kernel-source", one, "--kernel-source", one)


def test_kernels_whose_runs_would_share_directories_are_refused(tmp_path: Path) -> None:
    given = [str(tree(tmp_path / name, "6.1.9")) for name in ("a b", "a=b")]
    found = choices(*(word for path in given for word in ("--kernel-source", path)))
    with pytest.raises(InputError, match=r"/a b and 6\.1\.9 .*/a=b would have the same dir"):
        kernels.with_kernels([thesis_case()], found)


def test_plain_has_no_policies() -> None:
    [choice] = choices("--plain")
    with pytest.raises(InputError, match=r"plain kernel Linux 6\.12; allowed: default"):
        kernels.with_kernels([thesis_case("ack_policy=aad")], [choice])


def test_a_version_that_was_not_tested_is_named_if_its_build_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path / "cache"))
    linux = tree(tmp_path / "linux", "6.6.3")
    with pytest.raises(
        AirtcpError, match=r"does not apply: .*; Linux 6\.6\.3 is not tested"
    ) as error:
        image.build(linux, say=lambda _: None)
    assert "\n" not in str(error.value)


def test_commands_that_need_6_12_report_it(tmp_path: Path) -> None:
    linux = tree(tmp_path / "linux", "6.6.3")
    with pytest.raises(
        InputError, match=r"this is Linux 6\.6\.3; a Debian package needs Linux 6\.12"
    ):
        source.find_series_source(linux, "a Debian package")
    git = repository(tmp_path / "git", "6.12.4")
    with pytest.raises(InputError, match="a Debian package needs a tree or tarball"):
        source.find_series_source(Path(f"{git}@HEAD"), "a Debian package")
    with pytest.raises(InputError, match=r"with --policy or ack_filter ackhold needs Linux 6\.12"):
        image.build(linux, extra=ackhold.changes(), say=lambda _: None)
