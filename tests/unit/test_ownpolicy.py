# SPDX-License-Identifier: GPL-2.0-only
"""ACK policies in a directory of the user: which files it needs, errors, and allowed names."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from airtcp import cli
from airtcp.backends import shell
from airtcp.backends.base import GuestResult
from airtcp.backends.shell import FAILURE
from airtcp.cli import kernels
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment import schema
from airtcp.experiment.reader import load
from airtcp.kernel import image, own_policy, policies, source
from airtcp.kernel.image import Kernel
from airtcp.kernel.own_policy import OwnPolicy
from airtcp.parameters import Parameters
from airtcp.parameters.kernelnames import context
from airtcp.paths import REPOSITORY
from airtcp.sweep import failure

SAMPLE = REPOSITORY / "samples" / "ackpol"
CONGESTION_CONTROL = REPOSITORY / "samples" / "congestion-control"


def test_the_sample_is_a_policy() -> None:
    policy = own_policy.read(SAMPLE)
    assert policy.names == {"ack_policy": ("fixed",), "congestion_control": ()}
    assert {Path(name).name for name in policy.files} == {
        "Kbuild",
        "Makefile",
        "tcp_ackpol_fixed.c",
    }
    assert policy.files["net/ipv4/own_policy/Makefile"] == SAMPLE / "Makefile"


def test_output_of_make_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, MODULE)
    for name in ("x.mod.c", "x.o", "x.ko", ".x.o.cmd"):
        (tmp_path / name).write_text('MODULE_ALIAS_TCP_ACKPOL("other");')
    policy = own_policy.read(tmp_path)
    assert policy.names["ack_policy"] == ("mine",)
    assert sorted(Path(name).name for name in policy.files) == ["Kbuild", "Makefile", "x.c"]


def test_a_kbuild_file_takes_precedence_over_a_makefile(tmp_path: Path) -> None:
    write(tmp_path, MODULE)
    (tmp_path / "Kbuild").write_text("obj-m := x.o\n")
    assert own_policy.read(tmp_path).files["net/ipv4/own_policy/Makefile"] == tmp_path / "Kbuild"


MODULE = 'MODULE_ALIAS_TCP_ACKPOL("mine");\n'
CONTROL = """\
static struct other_ops other = {
	.name	= "other",
};
static struct tcp_congestion_ops tcp_mine __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.name		= "mine",
};
"""


def write(directory: Path, module: str) -> None:
    (directory / "Makefile").write_text("obj-m := x.o\n")
    (directory / "x.c").write_text(module)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("int x;", "no policy found: no C file has MODULE_ALIAS_TCP_ACKPOL"),
        (CONTROL.replace("mine", "cubic"), "'cubic' is a name of the laboratory"),
        (CONTROL * 2, "'mine' is already defined in "),
        (MODULE.replace("mine", "aad"), "'aad' is a name of the laboratory"),
        (MODULE * 2, "'mine' is already defined in "),
        (MODULE.replace("mine", "m" * 16), "is not a valid name; allowed: up to 15 of"),
        (MODULE.replace("mine", "My Own"), "is not a valid name; allowed: up to 15 of"),
    ],
)
def test_errors_of_policies_name_the_file(tmp_path: Path, module: str, message: str) -> None:
    write(tmp_path, module)
    with pytest.raises(InputError) as error:
        own_policy.read(tmp_path)
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_a_directory_without_a_makefile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no Makefile"):
        own_policy.read(tmp_path)
    with pytest.raises(InputError, match="not a directory"):
        own_policy.read(tmp_path / "none")


def test_congestion_controls_are_found(tmp_path: Path) -> None:
    """A policy and a congestion control may have the same name."""
    write(tmp_path, MODULE + CONTROL)
    names = own_policy.read(tmp_path).names
    assert names == {"ack_policy": ("mine",), "congestion_control": ("mine",)}
    assert own_policy.read(CONGESTION_CONTROL).names["congestion_control"] == ("aimd",)


def test_context_of_the_hook_patch_is_that_of_linux_and_of_the_series() -> None:
    """Patches are applied without fuzz, so without it no kernel with a custom policy builds."""
    hook = (REPOSITORY / "lab" / "own_policy" / "hook.patch").read_text()
    series = [step.patch.read_text() for step in source.read_changes()]
    before, after = [line for line in hook.splitlines() if line.startswith(" ")]
    assert any(f"{before}\n{after}\n" in patch for patch in series)


def test_policies_are_read_from_the_kernel_tree(tmp_path: Path) -> None:
    files, patches = tmp_path / "net" / "ipv4", tmp_path / "patches" / "research"
    files.mkdir(parents=True)
    patches.mkdir(parents=True)
    (files / "tcp_ackpol_two.c").write_text(MODULE.replace("mine", "b") + MODULE)
    (files / "tcp_bbr.c").write_text(MODULE.replace("mine", "bbr"))
    changed = f" {MODULE}-{MODULE.replace('mine', 'removed')}+{MODULE.replace('mine', 'a')}"
    (patches / "0001.patch").write_text(changed)
    assert policies.names(tmp_path) == ("default", "a", "b", "mine")
    assert {"aad", "aad-listing", "divack"} < set(policies.names())
    assert list(policies.names()[1:]) == sorted(policies.names()[1:])


def test_a_topology_can_use_a_custom_policy(tmp_path: Path) -> None:
    path = tmp_path / "lan.yaml"
    path.write_text(TOPOLOGY)
    with pytest.raises(InputError, match=r"lan.yaml:10: .*'fixed' is not allowed"):
        load(path)
    assert load(path, context({"ack_policy": ("fixed",)})).topology
    path.write_text(TOPOLOGY.replace("fixed", "aad") + "schedule:\n" + CHANGE)
    with pytest.raises(InputError, match=r"lan.yaml:16: .*'fixed' is not allowed"):
        load(path)
    load(path, context({"ack_policy": ("fixed",)}))


TOPOLOGY = """\
name: lan
title: A LAN
source: me
description: none
topology:
  servers: {server: {}}
  access_points: {ap: {}}
  stations:
    laptop:
      ack_policy: fixed
      access_point: ap
flows: [{from: server, to: laptop}]
"""
CHANGE = """\
- at: 1s
  node: laptop
  set: {ack_policy: fixed}
"""


def test_ack_policy_accepts_the_names_of_custom_policies(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["show", "thesis-lan", "--set", "ack_policy=default,fixed", "--set", "delay=0ms"]
    assert cli.main(arguments) == 2
    assert "'fixed' is not allowed; allowed: default" in capsys.readouterr().err
    assert cli.main([*arguments, "--policy", str(SAMPLE)]) == 0
    assert "ack_policy=fixed delay=0ms" in capsys.readouterr().out


def test_congestion_control_accepts_the_names_of_custom_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lan.yaml"
    path.write_text(TOPOLOGY.replace("fixed", "aad").replace("}]", ", congestion_control: aimd}]"))
    assert cli.main(["show", str(path)]) == 2
    assert "lan.yaml:12: flows[0].congestion_control: 'aimd' is not" in capsys.readouterr().err
    arguments = ["show", str(path), "--set", "congestion_control=aimd"]
    assert cli.main([*arguments, "--policy", str(CONGESTION_CONTROL)]) == 0


def test_a_plain_kernel_can_have_a_custom_congestion_control(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[bool] = []
    monkeypatch.setattr(image, "build", lambda *_, plain, **__: built.append(plain))
    plain = kernels.Choice(None, "6.12", "6.12", plain=True)
    plain.build(own_policy.read(CONGESTION_CONTROL), ())
    assert built == [True]
    with pytest.raises(InputError, match="plain kernels have no ACK policies"):
        plain.build(own_policy.read(SAMPLE), ())


def test_a_tournament_needs_an_ack_policy(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tournament", "--policy", str(CONGESTION_CONTROL)]) == 2
    assert "no ACK policy found; a tournament needs one" in capsys.readouterr().err


def test_custom_policies_are_refused_for_x86_64(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["kernel", "build", "--arch", "x86_64", "--policy", str(SAMPLE)]
    assert cli.main(arguments) == 2
    assert "build it as a module (docs/how-to/kernel.md)" in capsys.readouterr().err


def test_results_can_contain_policies_that_no_longer_exist() -> None:
    """`report` does not know the directory of policies, which may have been deleted."""
    assert Parameters.model_validate({"ack_policy": "fixed"}).ack_policy == "fixed"
    with pytest.raises(ValidationError, match="not the name of a policy"):
        Parameters.model_validate({"ack_policy": "$(reboot)"})


def test_both_programs_that_set_the_policy_print_the_message_that_is_explained() -> None:
    configure = (REPOSITORY / "lab" / "guest" / "configure.c").read_text()
    for text, name in ((configure, "%s"), (shell.HELPERS, "$1")):
        assert failure._REFUSED_POLICY.replace("tcp_ack_policy", name) in text


def test_schema_has_the_names_of_custom_congestion_controls() -> None:
    definitions = schema.schema(own_policy.read(CONGESTION_CONTROL).names)["$defs"]
    for model in ("Parameters", "Flow"):
        assert definitions[model]["properties"]["congestion_control"]["enum"][-1] == "aimd"


@pytest.mark.parametrize(("name", "own"), [("prompt", True), ("aad", False)])
def test_a_policy_that_is_not_registered_is_explained(tmp_path: Path, name: str, own: bool) -> None:
    log = tmp_path / "console.log"
    log.write_text(f"{FAILURE}net.ipv4.tcp_ack_policy refuses the value {name}\n")
    reason = failure._reason(GuestResult("failed", 1, 1.0, 1.0, log, "", 0), tmp_path)
    assert reason.startswith(f"net.ipv4.tcp_ack_policy refuses the value {name}")
    assert ("--policy has not registered it; tcp_register_ackpol() fails" in reason) == own


def test_errors_of_the_compiler_name_the_file_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Kernel:
        raise AirtcpError("../net/ipv4/own_policy/a.c:1:2: error: no")

    monkeypatch.setattr(image, "build", fail)
    directory = tmp_path / r"back\1slash"
    with pytest.raises(AirtcpError) as error:
        own_policy.build(OwnPolicy(directory, {"ack_policy": ("a",)}, {}), None, say=print)
    assert str(error.value) == f"{directory}/a.c:1:2: error: no"
