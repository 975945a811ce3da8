# SPDX-License-Identifier: GPL-2.0-only
"""airsim's netlink family refuses malformed requests and then changes nothing; the tool airsim."""

import errno
import json
import re
import shutil
from pathlib import Path
from typing import Any, get_args

import airsim_attrs
import pytest
from guests import TIME_LIMIT_S

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters

ROOT = Path(__file__).parents[2]
PROBE = ROOT / "tests" / "guest" / "netlink_probe.py"
PAGE = ROOT / "docs" / "reference" / "airsim-control.md"

# Each line: exit status, then standard error.
FAULTS = """\
try() {
	message=$(airsim "$@" 2>&1 >/dev/null)
	echo "$? $message"
}
{
	try radio add colour red
	try radio add preset nonesuch
	try radio add ampdu_mpdus 0
	try radio add standard 802.11be ul_ofdma on
	try radio show 200
	try radio set 200 gro off
	try radio set 0 gro maybe
	try radio set 0 gro
	try radio set 0
	try air set cca_threshold_mdbm 1
	try link set 0 0 blocked
} >faults
"""

ROUND_TRIP = """\
set -e
airsim radio add preset ar9580 x_mm -1500 rate_format ht rate_mcs 7 errors burst >added
read -r _ index _ phy _ address <added
airsim radio show "$index" >shown
cat "/sys/class/ieee80211/$phy/macaddress" >address
echo "$address" >reported
# Setting the settings that are shown changes nothing.
settings=$(sed -n '/^ampdu_mpdus/,/^rate_gi_ns/p' shown)
airsim radio set "$index" $settings
airsim radio show "$index" >again
airsim radio del "$index"
if airsim radio show "$index"; then exit 1; fi
airsim preset list >presets
"""


def run(kernel: Kernel, tools: GuestTools, run_dir: Path, plan: str) -> Path:
    (run_dir / "plan.sh").write_text(plan)
    result = boot(kernel, tools, run_dir, seed=1, timeout_wall_s=TIME_LIMIT_S)
    assert result.status == "ok", result.reason
    return run_dir


def pairs(path: Path) -> dict[str, str]:
    """Read lines KEY VALUE."""
    return dict(line.split(" ", 1) for line in path.read_text().splitlines())


@pytest.fixture(scope="module")
def probed(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    run_dir = tmp_path_factory.mktemp("probe")
    for file in (PROBE, airsim_attrs.__file__, airsim_attrs.HEADER):
        shutil.copy(file, run_dir)
    run(lab_kernel, tools, run_dir, f"python3 -B {PROBE.name} >probe.json")
    results: dict[str, Any] = json.loads((run_dir / "probe.json").read_text())
    return results


def test_probe_knows_every_attribute_of_the_kernel(probed: dict[str, Any]) -> None:
    assert probed["unprobed"] == []


def test_malformed_input_is_refused_with_a_message(probed: dict[str, Any]) -> None:
    assert len(probed["refused"]) > 300
    accepted = [case["case"] for case in probed["refused"] if not case["errno"]]
    assert accepted == []
    without_message = [case["case"] for case in probed["refused"] if not case["message"]]
    assert without_message == []


def test_refused_input_changes_nothing(probed: dict[str, Any]) -> None:
    assert [case for case in probed["refused"] if case["changed"]] == []


def test_every_setting_accepts_its_minimum_and_maximum(probed: dict[str, Any]) -> None:
    assert len(probed["accepted"]) > 50
    assert [case for case in probed["accepted"] if case["problem"]] == []


def test_changes_require_cap_net_admin(probed: dict[str, Any]) -> None:
    assert len(probed["without_privilege"]) == 5
    assert set(probed["without_privilege"].values()) == {errno.EPERM}


def test_tool_shows_what_it_set(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> None:
    run_dir = run(lab_kernel, tools, tmp_path, ROUND_TRIP)
    shown = pairs(run_dir / "shown")
    expected = {
        "standard": "802.11n",
        "streams": "3",
        "ampdu_mpdus": "32",
        "bar": "off",
        "errors": "burst",
        "placed": "on",
        "x_mm": "-1500",
        "rate_fixed": "on",
        "rate_format": "ht",
        "rate_mcs": "7",
        "taken": "0",
    }
    assert {key: shown[key] for key in expected} == expected
    assert pairs(run_dir / "again") == shown
    assert (run_dir / "reported").read_text() == (run_dir / "address").read_text()
    presets = re.findall(r"^preset (.*)$", (run_dir / "presets").read_text(), re.M)
    assert presets == list(get_args(Parameters.model_fields["preset"].annotation))


def test_tool_reports_errors_in_one_line(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    run_dir = run(lab_kernel, tools, tmp_path, FAULTS)
    colour, preset, mpdus, ofdma, show, missing, value, no_value, no_key, air, link = (
        (run_dir / "faults").read_text().splitlines()
    )
    assert colour.startswith("2 airsim: colour: unknown key; allowed: preset standard ")
    assert preset.startswith("1 airsim: preset: unknown preset")
    assert mpdus == "1 airsim: ampdu_mpdus: integer out of range; allowed: 1 to 1024"
    assert ofdma == "1 airsim: ul_ofdma: requires 802.11ax"
    assert show == "1 airsim: index: radio 200 does not exist"
    assert missing == "1 airsim: index: radio 200 does not exist"
    assert value == "2 airsim: gro: maybe; allowed: off on"
    assert no_value == "2 airsim: gro: missing value"
    assert no_key.startswith("2 airsim: usage: ")
    assert air == "1 airsim: cca_threshold_mdbm: integer out of range; allowed: -120000 to 0"
    assert link == "1 airsim: to: from and to are the same radio"


def test_commands_of_the_page_work(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> None:
    blocks = re.findall(r"^```shell\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    run(lab_kernel, tools, tmp_path, "set -e\n" + "".join(blocks))
    assert "radio " in (tmp_path / "console.log").read_text()
