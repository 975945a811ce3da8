# SPDX-License-Identifier: GPL-2.0-only
"""The fields of radiotap headers (https://www.radiotap.org), which begin frames on the air."""

import struct
from collections.abc import Mapping
from functools import lru_cache

FLAGS, RATE, MCS, AMPDU, VHT, HE, TLVS, VENDOR, USIG, EHT = 1, 2, 19, 20, 21, 23, 28, 30, 33, 34

# In the field FLAGS.
PADDED, HAS_FCS, BAD_FCS = 0x20, 0x10, 0x40

# Size and alignment in bytes of the fields 0 to 27.
_FIELDS = (
    (8, 8), (1, 1), (1, 1), (4, 2), (2, 2), (1, 1), (1, 1), (2, 2), (2, 2), (2, 2), (1, 1),
    (1, 1), (1, 1), (1, 1), (2, 2), (2, 2), (1, 1), (1, 1), (8, 4), (3, 1), (8, 4), (12, 2),
    (12, 8), (12, 2), (12, 2), (6, 2), (1, 1), (4, 2),
)  # fmt: skip


def offsets(data: bytes) -> Mapping[int, int]:
    """Offsets of the fields up to the first vendor field, or up to TLVs.

    data: from the start of the header. Raises struct.error if the bitmap of fields is truncated.
    """
    words: list[int] = []
    while not words or words[-1] >> 31:  # bit 31 of each word announces another word
        words += struct.unpack_from("<I", data, 4 + 4 * len(words))
    return _layout(tuple(words))


@lru_cache(maxsize=64)  # a radio sends few different headers
def _layout(presence: tuple[int, ...]) -> Mapping[int, int]:
    at: dict[int, int] = {}
    offset = 4 + 4 * len(presence)
    for word in presence:
        for number, (size, alignment) in enumerate(_FIELDS):
            if word >> number & 1:
                offset = -(-offset // alignment) * alignment
                at.setdefault(number, offset)
                offset += size
        if word >> TLVS & 1:
            at[TLVS] = -(-offset // 4) * 4
            break
        if word >> VENDOR & 1:
            at[VENDOR] = offset + offset % 2
            break
    return at
