# SPDX-License-Identifier: GPL-2.0-only
"""What `auto` knows of a path, when the path changes and when it is selected late."""

import csv
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

SAMPLE = Path(__file__).parents[2] / "samples" / "longer-path.yaml"
CHANGE = "node: server, set: {delay: 50ms}"

AckRate = Callable[..., float]


@pytest.fixture
def acks_per_s(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> AckRate:
    """A function that returns the mean rate of ACKs in the last 2 s of two runs of the sample.

    policy: that of the laptop from the start. change: replaces what changes at 3 s.
    """

    def rate(policy: str, change: str = CHANGE, duration: str = "7s") -> float:
        text = SAMPLE.read_text()
        assert CHANGE in text
        path = tmp_path / "path.yaml"
        path.write_text(text.replace(CHANGE, change))
        texts = (f"duration={duration}", "congestion_control=cubic", f"ack_policy={policy}")
        [case] = load(path).cases([Setting.parse(text) for text in texts])
        rates = []
        for seed in (1, 2):
            directory = Path(tempfile.mkdtemp(dir=tmp_path))
            result = run_one(RunRequest.of(lab_kernel, tools, case, seed), directory)
            assert result.error is None
            with (directory / result.artifacts["series.csv"].path).open() as file:
                rates += [float(row["acks_per_s"]) for row in csv.DictReader(file)][-2:]
        return fmean(rates)

    return rate


def test_longer_path_does_not_look_like_a_full_queue(acks_per_s: AckRate) -> None:
    """The window no longer fills the path, so the sender waits for ACKs."""
    default = acks_per_s("default")
    auto = acks_per_s("auto")
    print(f"{default:.0f} ACKs/s of default, {auto:.0f} of auto")
    assert 0.7 < auto / default < 1.3


def test_auto_knows_the_path_when_it_is_selected_late(acks_per_s: AckRate) -> None:
    """Data waits in queues by then, so the RTT without them is that of the handshake."""
    late = acks_per_s("default", "node: laptop, set: {ack_policy: auto}")
    default, auto = (
        acks_per_s(policy, f"node: laptop, set: {{ack_policy: {policy}}}")
        for policy in ("default", "auto")
    )
    print(f"{default:.0f} ACKs/s of default, {late:.0f} of auto selected late, {auto:.0f} of auto")
    assert 0.7 < late / auto < 1.5
    assert late < 0.3 * default


def test_handshake_of_long_ago_may_be_that_of_another_path(acks_per_s: AckRate) -> None:
    """Nor does the rate fall after the policy is selected."""
    late = f"{CHANGE}}}\n  - {{at: 14s, node: laptop, set: {{ack_policy: auto}}"
    auto = acks_per_s("default", late, "18s")
    default = acks_per_s("default", CHANGE, "18s")
    print(f"{default:.0f} ACKs/s of default, {auto:.0f} of auto")
    assert 0.7 < auto / default < 1.3
