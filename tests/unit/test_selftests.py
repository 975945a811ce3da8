# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts of the kernel's own tests on two kernels: which differences count."""

from collections import Counter
from collections.abc import Sequence

import pytest
from verification.selftests import REPETITIONS, Verdict, differences, lasting


def verdict(whole: str, *failed: str) -> Verdict:
    """Of a test with the parts a, b and c."""
    parts = (("fail" if part in failed else "pass", part) for part in "abc")
    return Verdict(whole, "", Counter(parts))


PASS, FAIL_A, FAIL_B = verdict("pass"), verdict("fail", "a"), verdict("fail", "b")
FAIL_AB, FAIL_BC = verdict("fail", "a", "b"), verdict("fail", "b", "c")
TIMEOUT = Verdict("timeout", "", Counter({("pass", "a"): 1}))


def test_differences_name_the_parts() -> None:
    assert differences("tls", PASS, PASS) == []
    assert differences("tls", PASS, FAIL_A) == [
        "tls: plain pass 3 pass, ours fail 1 fail 2 pass",
        "tls: 1 more pass with plain: a",
        "tls: 1 more fail with ours: a",
    ]


@pytest.mark.parametrize(
    ("plain", "ours", "repetitions", "differ"),
    [
        ([PASS], [PASS], 0, False),
        ([PASS, PASS], [FAIL_A, PASS], 1, False),
        ([FAIL_A, FAIL_B, PASS], [FAIL_B, FAIL_B, FAIL_B], 1, False),
        ([FAIL_A, PASS, PASS], [PASS, FAIL_B, FAIL_B], 1, False),
        ([PASS] * 4, [FAIL_A, FAIL_B, FAIL_A, FAIL_A], 3, True),
        ([FAIL_A, PASS, PASS, PASS], [FAIL_B] * 4, 3, True),
        # No two runs are equal, but each part had the same verdict once.
        ([FAIL_A, FAIL_BC], [FAIL_B, FAIL_AB], 1, False),
        ([FAIL_A, TIMEOUT], [TIMEOUT, FAIL_A], 1, False),
        ([FAIL_A] * 4, [TIMEOUT] * 4, 3, True),
        ([TIMEOUT, FAIL_A, FAIL_A, FAIL_A], [FAIL_B] * 4, 3, True),
    ],
)
def test_a_difference_counts_if_no_repetition_has_the_same_verdict(
    plain: Sequence[Verdict], ours: Sequence[Verdict], repetitions: int, differ: bool
) -> None:
    repeated: list[tuple[str, tuple[str, ...], int]] = []

    def repeat(guest: str, names: Sequence[str], repetition: int) -> dict[str, Verdict]:
        repeated.append((guest, tuple(names), repetition))
        return {"tls": (plain if guest == "plain" else ours)[repetition]}

    first = {"tls": (plain[0], ours[0]), "socket": (PASS, PASS)}
    assert lasting(first, repeat) == (["tls"] if differ else [])
    assert repetitions <= REPETITIONS
    assert repeated == [
        (guest, ("tls",), repetition)
        for repetition in range(1, repetitions + 1)
        for guest in ("plain", "default")
    ]
