"""Pieces of a key: any `threshold` of them give the key, and fewer tell nothing of it.

The key is the value at 0 of a random polynomial of degree threshold - 1 over a prime field, and the
piece of holder x is its value at x (Shamir, "How to share a secret", 1979). Fewer than `threshold`
values are uniformly distributed whatever the key is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from .randomness import RandomStream

__all__ = ["PIECE_BYTES", "join_pieces", "split_key"]

PRIME: Final = (1 << 256) - 189
"""The largest prime below 2**256."""
PIECE_BYTES: Final = 32
"""Bytes of a key, and of each piece of it."""


def split_key(
    holders: Sequence[int], *, threshold: int, randomness: RandomStream
) -> tuple[bytes, dict[int, bytes]]:
    """Draw a key, and split it among holders, whose numbers are different and at least 1.

    Raises:
        ValueError: there are fewer holders than the threshold, or the threshold is below 1.
    """
    if not 1 <= threshold <= len(holders):
        raise ValueError(f"expected a threshold of 1 to {len(holders)}, found {threshold}")
    coefficients = [randomness.below(PRIME) for _ in range(threshold)]
    return _bytes(coefficients[0]), {
        holder: _bytes(_value(coefficients, holder)) for holder in holders
    }


def join_pieces(pieces: Mapping[int, bytes]) -> bytes:
    """Compute the key from the pieces of as many holders as the threshold (Lagrange, at 0).

    Wrong pieces, or too few, give another key.
    """
    total = 0
    for holder, piece in pieces.items():
        numerator = denominator = 1
        for other in pieces:
            if other != holder:
                numerator = numerator * other % PRIME
                denominator = denominator * (other - holder) % PRIME
        value = int.from_bytes(piece, "little")
        total += value * numerator * pow(denominator, -1, PRIME)
    return _bytes(total % PRIME)


def _value(coefficients: Sequence[int], place: int) -> int:
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * place + coefficient) % PRIME
    return value


def _bytes(number: int) -> bytes:
    return number.to_bytes(PIECE_BYTES, "little")
