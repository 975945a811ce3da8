# SPDX-License-Identifier: GPL-2.0-only
"""Estimates the width of a text in a sans-serif font, without loading one.

The page is drawn in the reader's font, so no width can be exact. These are the advance widths of
Helvetica (and of Arial and Liberation Sans, which have the same), with a reserve for wider fonts
such as DejaVu Sans.
"""

from collections.abc import Mapping

LINE_HEIGHT = 1.2  # font sizes
_RESERVE = 1.16

# Letters by width in thousandths of the font size; others are as wide as a digit.
_LETTERS: Mapping[int, str] = {
    222: "ijl'|",
    278: " !,./:;[]\\ftI\N{NO-BREAK SPACE}",
    333: "()-`r",
    200: "\N{NARROW NO-BREAK SPACE}",
    500: "ckszvxyJ",
    584: "+<=>~\N{MINUS SIGN}\N{MULTIPLICATION SIGN}\N{PLUS-MINUS SIGN}",
    611: "FTZ",
    667: "ABEKPSVXY&",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
}
_WIDTHS: Mapping[str, int] = {
    letter: width for width, letters in _LETTERS.items() for letter in letters
}
_OTHER = 556


def width(text: str, size: float) -> float:
    """The width of a line in the unit of the font size."""
    return _RESERVE * size * sum(_WIDTHS.get(letter, _OTHER) for letter in text) / 1000
