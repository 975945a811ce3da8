# SPDX-License-Identifier: GPL-2.0-only
"""Tables of wrong inputs, and the single line that each must give."""


def table(text: str) -> list[tuple[str, str]]:
    """Pairs of an input and a part of its message."""
    lines = (line.rpartition(" | ") for line in text.strip("\n").splitlines())
    return [(given, message) for given, _, message in lines]


def assert_one_line(code: int, out: str, err: str, message: str) -> None:
    assert (code, out) == (2, ""), err
    assert err.startswith("airtcp: "), err
    assert err.count("\n") == 1 and err.endswith("\n"), err
    assert message in err
    assert len(err) < 700, err
