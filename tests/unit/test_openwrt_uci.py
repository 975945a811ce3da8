# SPDX-License-Identifier: GPL-2.0-only
"""OpenWrt's service `airtcp`: what it sets, in a directory with stubs of OpenWrt's programs."""

import shutil
import subprocess
from pathlib import Path

import pytest
import uci_sandbox
from uci_sandbox import Sandbox

SCRIPTS = ("airtcp.init", "airtcp.hotplug")

ALL_ON = """\
config tcp 'tcp'
	option ack_policy 'auto'

config radio 'radio0'
	option ack_filter 'on'

config radio 'radio1'
	option ack_filter 'aggressive'
"""


def shell(name: str) -> tuple[str, ...]:
    program, *arguments = name.split()
    if not (path := shutil.which(program)):
        pytest.skip(f"no {program}")
    return (path, *arguments)


@pytest.fixture(params=["sh", "dash", "busybox ash", "bash"])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Sandbox:
    return uci_sandbox.create(tmp_path / "root", shell(request.param))


def test_configuration_as_installed_changes_nothing(sandbox: Sandbox) -> None:
    assert sandbox.run("start") == (0, [])
    assert sandbox.settings() == ("default", "off", "off")
    assert not (sandbox.root / "modprobe").exists()


def test_start_sets_policy_and_filters_and_stop_resets_them(sandbox: Sandbox) -> None:
    assert sandbox.run("start", ALL_ON) == (0, [])
    assert sandbox.settings() == ("auto", "on", "aggressive")
    assert (sandbox.root / "modprobe").read_text() == "tcp_ackpol_auto\n"
    assert sandbox.run("stop", ALL_ON) == (0, [])
    assert sandbox.settings() == ("default", "off", "off")


def test_reload_applies_what_has_changed(sandbox: Sandbox) -> None:
    sandbox.run("start", ALL_ON)
    changed = ALL_ON.replace("auto", "tack").replace("aggressive", "off")
    assert sandbox.run("reload", changed) == (0, [])
    assert sandbox.settings() == ("tack", "on", "off")


def test_changes_of_the_configuration_reload_the_service(sandbox: Sandbox) -> None:
    assert sandbox.run("triggers") == (0, ["trigger airtcp"])


def test_missing_options_are_the_defaults(sandbox: Sandbox) -> None:
    sandbox.run("start", ALL_ON)
    assert sandbox.run("start", "config tcp 'tcp'\nconfig radio 'radio0'\n") == (0, [])
    assert sandbox.settings() == ("default", "off", "aggressive")


def test_section_can_name_a_phy(sandbox: Sandbox) -> None:
    config = "config radio 'phy1'\n\toption ack_filter 'on'\n"
    assert sandbox.run("start", config) == (0, [])
    assert sandbox.settings() == ("default", "off", "on")


@pytest.mark.parametrize(
    ("modes", "applied"),
    [
        (("on", "off"), "on"),
        (("off", "on"), "on"),
        (("aggressive", "on"), "aggressive"),
        (("on", "aggressive"), "aggressive"),
        (("off", "off"), "off"),
    ],
)
def test_strongest_mode_of_the_radios_of_a_phy_applies(
    sandbox: Sandbox, modes: tuple[str, str], applied: str
) -> None:
    (sandbox.root / "bin" / "iwinfo").write_text("#!/bin/sh\necho phy0\n")
    config = "".join(
        f"config radio 'radio{number}'\n\toption ack_filter '{mode}'\n"
        for number, mode in enumerate(modes)
    )
    assert sandbox.run("start", config) == (0, [])
    assert sandbox.settings() == ("default", applied, "off")
    assert sandbox.run("stop", config) == (0, [])
    assert sandbox.settings() == ("default", "off", "off")


def test_unknown_policy_is_reported_and_filters_are_set(sandbox: Sandbox) -> None:
    sandbox.policy.unlink()
    sandbox.policy.mkdir()  # as the kernel, it refuses to be written
    message = "ack_policy 'fast': not one of: default auto"
    assert sandbox.run("start", ALL_ON.replace("auto", "fast")) == (1, [message])
    assert sandbox.filter("phy0").read_text() == "on\n"


def test_unknown_mode_is_reported_and_the_others_are_set(sandbox: Sandbox) -> None:
    message = "radio 'radio0': ack_filter 'yes': not one of: off on aggressive"
    assert sandbox.run("start", ALL_ON.replace("'on'", "'yes'")) == (1, [message])
    assert sandbox.settings() == ("auto", "off", "aggressive")


def test_refused_mode_is_reported(sandbox: Sandbox) -> None:
    sandbox.filter("phy1").unlink()
    sandbox.filter("phy1").mkdir()
    message = "radio 'radio1': phy1 refused ack_filter 'aggressive'"
    assert sandbox.run("start", ALL_ON) == (1, [message])


def test_radio_that_is_missing_is_reported_if_its_filter_should_be_on(sandbox: Sandbox) -> None:
    config = "config radio 'radio7'\n\toption ack_filter '{}'\n"
    assert sandbox.run("start", config.format("off")) == (0, [])
    message = "radio 'radio7': not found; its hotplug event sets it when it appears"
    assert sandbox.run("start", config.format("on")) == (1, [message])


@pytest.mark.parametrize("mode", ["on", "aggressive"])
def test_every_missing_radio_is_reported(sandbox: Sandbox, mode: str) -> None:
    radios = ("radio7", "radio8")
    config = "".join(f"config radio '{radio}'\n\toption ack_filter '{mode}'\n" for radio in radios)
    found = "not found; its hotplug event sets it when it appears"
    assert sandbox.run("start", config) == (1, [f"radio '{radio}': {found}" for radio in radios])


def test_kernel_without_the_patches_is_reported_unless_nothing_is_wanted(sandbox: Sandbox) -> None:
    sandbox.policy.unlink()
    for phy in ("phy0", "phy1"):
        sandbox.filter(phy).unlink()
    assert sandbox.run("start") == (0, [])
    messages = [
        "the kernel has no ACK policies",
        "radio 'radio0': phy0 has no ACK filter",
        "radio 'radio1': phy1 has no ACK filter",
    ]
    assert sandbox.run("start", ALL_ON) == (1, messages)
    assert not sandbox.filter("phy0").exists()


def test_hotplug_reloads_the_service_for_new_radios_only(tmp_path: Path) -> None:
    """The service is a stub that is enabled, or not."""
    service = tmp_path / "service"
    service.write_text(
        f'#!/bin/sh\necho "$1" >>{tmp_path}/calls\n[ "$1" != enabled ] || $ENABLED\n'
    )
    service.chmod(0o755)
    script = uci_sandbox.file_of_package("airtcp.hotplug").replace(
        "/etc/init.d/airtcp", str(service)
    )
    for action, enabled, calls in (
        ("add", "true", ["enabled", "reload"]),
        ("add", "false", ["enabled"]),
        ("remove", "true", []),
    ):
        (tmp_path / "calls").write_text("")
        subprocess.run(["sh", "-c", script], env={"ACTION": action, "ENABLED": enabled})
        assert (tmp_path / "calls").read_text().split() == calls


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("program", ["sh", "dash", "busybox ash"])
def test_scripts_are_valid_for_the_shell(name: str, program: str) -> None:
    command = [*shell(program), "-n"]
    text = uci_sandbox.file_of_package(name)
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_pass_shellcheck(name: str) -> None:
    """As dash: OpenWrt's ash has `local` as well, which POSIX does not have."""
    command = [*shell("shellcheck"), "-s", "dash", "-"]
    text = uci_sandbox.file_of_package(name)
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
