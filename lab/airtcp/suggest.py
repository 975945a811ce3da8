# SPDX-License-Identifier: GPL-2.0-only
"""Messages about an unknown word: the closest match and all allowed words."""

import difflib
import textwrap
from collections.abc import Iterable

# Longer lists are cut; the docs have them in full.
_MOST_CHARACTERS = 400


def allowed(word: str, words: Iterable[str], more: str = "") -> str:
    """`did you mean 'aad'? allowed: default aad`, in one line.

    more: where the words come from, or where to find the rest of a long list.
    """
    known = list(words)
    meant = f"did you mean {close!r}? " if (close := nearest(word, known)) else ""
    listed = textwrap.shorten(" ".join(known), _MOST_CHARACTERS, placeholder=" ...") or "none"
    return f"{meant}allowed: {listed}" + (f" ({more})" if more else "")


def not_allowed(word: str, words: Iterable[str], more: str = "") -> str:
    """The complete message about a value."""
    return f"{word!r} is not allowed; {allowed(word, words, more)}"


def hint(word: str, words: Iterable[str]) -> str:
    """`; did you mean 'aad'?` for the end of a message; empty if no known word is close."""
    close = nearest(word, words)
    return f"; did you mean {close!r}?" if close else ""


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The closest match among the known words, if any is close."""
    by_folded = {word.casefold(): word for word in words}
    matches = difflib.get_close_matches(word.casefold(), list(by_folded), n=1)
    return by_folded[matches[0]] if matches else None
