"""Closing a conversation: every message that was sent has been read, without K^2 frames.

A role that ends its part tells the curator how many messages it has sent to whom. When all have
ended, the curator tells each role how many messages each other role has sent to it. These are 3 K
control frames for K parties; their length follows the edges that were used.

A payload lists ranks and numbers of messages, integers little-endian, in rising order of ranks:

    offset  bytes
         0      2   rank
         2      8   number of messages, at least 1
        10          the next rank
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from .errors import MessageError

__all__ = ["counts_by_receiver", "pack_counts", "unpack_counts"]

_COUNT: Final = struct.Struct("<HQ")


def pack_counts(counts: Mapping[int, int]) -> bytes:
    """Write numbers of messages by rank; ranks without a message are left out."""
    return b"".join(_COUNT.pack(rank, count) for rank, count in sorted(counts.items()) if count)


def unpack_counts(payload: memoryview, *, size: int) -> dict[int, int]:
    """Read numbers of messages by rank, in a run of `size` roles.

    Raises:
        MessageError: these bytes are no such list.
    """
    if len(payload) % _COUNT.size:
        raise MessageError(
            f"expected numbers of messages of {_COUNT.size} bytes each, found {len(payload)} bytes"
        )
    counts = dict(_COUNT.iter_unpack(payload))
    ranks = list(counts)
    is_sorted = ranks == sorted(ranks) and len(ranks) * _COUNT.size == len(payload)
    if not is_sorted or any(rank >= size for rank in ranks) or not all(counts.values()):
        raise MessageError(
            f"expected numbers of messages of at least 1 for ranks below {size} in rising order, "
            "found others"
        )
    return counts


def counts_by_receiver(sent: Mapping[int, Mapping[int, int]]) -> dict[int, dict[int, int]]:
    """Turn numbers of messages by sender and receiver into numbers by receiver and sender.

    >>> counts_by_receiver({1: {2: 5, 0: 1}, 2: {0: 3}})
    {2: {1: 5}, 0: {1: 1, 2: 3}}
    """
    received: dict[int, dict[int, int]] = {}
    for sender, counts in sent.items():
        for receiver, count in counts.items():
            received.setdefault(receiver, {})[sender] = count
    return received
