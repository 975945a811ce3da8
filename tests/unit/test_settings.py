# SPDX-License-Identifier: GPL-2.0-only
"""Settings (--set): names, values, conflicts."""

from pathlib import Path

import pytest
from small_experiment import GOOD, settings, write

from airtcp.errors import InputError
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dealy=1ms", "unknown parameter 'dealy'; did you mean 'delay'? allowed: ack_policy"),
        ("delay", "give values"),
        ("delay=", "give values"),
        ("delay=1ms,", "give values"),
    ],
)
def test_a_setting_must_name_a_parameter_and_values(text: str, message: str) -> None:
    with pytest.raises(InputError, match="--set"):
        Setting.parse(text)
    with pytest.raises(InputError) as error:
        Setting.parse(text)
    assert message in str(error.value)


def test_conflicts_of_settings_are_reported(tmp_path: Path) -> None:
    experiment = load(write(tmp_path, GOOD))
    with pytest.raises(InputError, match=r"^--set width: 80MHz is not allowed with 802\.11n"):
        experiment.cases(settings("width=80MHz"))
    with pytest.raises(InputError, match=r"^--set standard=802\.11g .*: channel: 36 is not"):
        experiment.cases(settings("standard=802.11g"))
    assert len(experiment.cases(settings("standard=802.11ac,802.11ax", "width=80MHz"))) == 4


def test_a_setting_resets_what_has_no_effect_with_it(tmp_path: Path) -> None:
    of_file = "parameters:\n  width: 40MHz\n  workload: web\n  pages: 5\n"
    experiment = load(write(tmp_path, GOOD, ("parameters:\n", of_file)))
    [case, *_] = experiment.cases(settings("access=ethernet", "workload=bulk"))
    assert (case.parameters.width_mhz, case.parameters.pages) == (20, 20)
    with pytest.raises(InputError, match=r"^--set pages: 6 is not allowed with workload bulk"):
        experiment.cases(settings("workload=bulk", "pages=6"))
    radio = settings("access=ethernet", "width=40MHz")
    with pytest.raises(InputError, match=r"^--set width: 40MHz is not allowed with access eth"):
        experiment.cases(radio)


def test_error_model_snr_needs_a_strength_of_signals(tmp_path: Path) -> None:
    message = "snr needs one of snr distance walk"
    with pytest.raises(InputError, match=rf"^--set error_model=snr: {message}"):
        load(write(tmp_path, GOOD)).cases(settings("error_model=snr"))
    path = write(tmp_path, GOOD.replace("parameters:\n", "parameters:\n  error_model: snr\n"))
    line = path.read_text().splitlines().index("  error_model: snr") + 1
    with pytest.raises(InputError, match=rf":{line}: parameters\.error_model: {message}"):
        load(path)


def test_a_walk_is_one_value(tmp_path: Path) -> None:
    changed = settings("error_model=snr", "walk=0s=5m,10s=40m")
    cases = load(write(tmp_path, GOOD)).cases(changed)
    assert [case.factors["walk"] for case in cases] == ["0ms=5m,10s=40m"] * 2


@pytest.mark.parametrize("text", ["delay=1mm", "ack_policy=add", "rate=fast", "capture=roof"])
def test_a_setting_must_have_values_of_its_type(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=f"--set {text.partition('=')[0]}: .*"):
        load(write(tmp_path, GOOD)).cases(settings(text))


def test_settings_that_observe_are_checked_together(tmp_path: Path) -> None:
    """These UDP pings are too many for the 10 s of the experiment, but not for 2 s or 4 s."""
    changed = settings("udp_ping_interval=5us", "duration=2s,4s")
    cases = load(write(tmp_path, GOOD)).cases(changed)
    assert {
        (case.parameters.udp_ping_interval_s, case.parameters.duration_s) for case in cases
    } == {
        (5e-6, 2.0),
        (5e-6, 4.0),
    }


@pytest.mark.parametrize("pair", [("mcs=1", "mcs=2"), ("baseline=1s", "baseline=2s")])
def test_a_parameter_is_set_once(tmp_path: Path, pair: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="given twice"):
        load(write(tmp_path, GOOD)).cases(settings(*pair))
