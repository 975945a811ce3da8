# SPDX-License-Identifier: GPL-2.0-only
"""Messages about an unknown word: the closest known one, and all that are allowed."""

import difflib
import textwrap
from collections.abc import Iterable

# A list longer than this is not read by anybody; the docs have it.
_MOST_CHARACTERS = 400


def allowed(word: str, words: Iterable[str], more: str = "") -> str:
    """`did you mean 'aad'? allowed: default aad`, in one line.

    more: where the words come from; of a long list, where the rest is.
    """
    known = list(words)
    meant = f"did you mean {one!r}? " if (one := nearest(word, known)) else ""
    listed = textwrap.shorten(" ".join(known), _MOST_CHARACTERS, placeholder=" ...") or "none"
    return f"{meant}allowed: {listed}" + (f" ({more})" if more else "")


def not_allowed(word: str, words: Iterable[str], more: str = "") -> str:
    """The whole message about a value."""
    return f"{word!r} is not allowed; {allowed(word, words, more)}"


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The known word that looks most like it, if any does."""
    by_folded = {one.casefold(): one for one in words}
    found = difflib.get_close_matches(word.casefold(), list(by_folded), n=1)
    return by_folded[found[0]] if found else None
