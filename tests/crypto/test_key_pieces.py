"""Pieces of a key: enough of them give it, and fewer fit every key."""

from __future__ import annotations

from itertools import combinations

import gmpy2
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.crypto.key_pieces import PIECE_BYTES, PRIME, join_pieces, split_key


def stream(number: int) -> RandomStream:
    return RandomStream(bytes([number]) * 32)


def test_the_field_is_prime_and_keys_fit_it() -> None:
    assert gmpy2.is_prime(PRIME, 50)
    assert gmpy2.next_prime(PRIME) > 1 << 256
    assert PRIME.bit_length() == 8 * PIECE_BYTES


@pytest.mark.parametrize(("holders", "threshold"), [(1, 1), (2, 2), (5, 3), (6, 6), (7, 1)])
def test_any_pieces_as_many_as_the_threshold_give_the_key(holders: int, threshold: int) -> None:
    numbers = [3 * number + 1 for number in range(holders)]
    key, pieces = split_key(numbers, threshold=threshold, randomness=stream(holders))
    assert [*pieces] == numbers
    for chosen in combinations(numbers, threshold):
        assert join_pieces({holder: pieces[holder] for holder in chosen}) == key
    for chosen in combinations(numbers, threshold - 1):
        assert join_pieces({holder: pieces[holder] for holder in chosen}) != key


def test_fewer_pieces_fit_every_key() -> None:
    """For any other key there is a missing piece with which the same pieces give that key."""
    key, pieces = split_key([1, 2, 3], threshold=3, randomness=stream(9))
    other, _ = split_key([1], threshold=1, randomness=stream(10))
    assert other != key
    # The three Lagrange factors at 0 of holders 1, 2 and 3 are 3, -3 and 1.
    first, second = (int.from_bytes(pieces[holder], "little") for holder in (1, 2))
    wanted = (int.from_bytes(other, "little") - 3 * first + 3 * second) % PRIME
    fitting = {1: pieces[1], 2: pieces[2], 3: wanted.to_bytes(PIECE_BYTES, "little")}
    assert join_pieces(fitting) == other


def test_pieces_are_values_of_a_polynomial_with_drawn_coefficients() -> None:
    """With coefficients that follow from one another a single piece would tell the key."""
    source = RandomStream(b"k" * 32)
    drawn = [source.below(PRIME) for _ in range(3)]
    key, pieces = split_key([1, 2, 5], threshold=3, randomness=RandomStream(b"k" * 32))
    assert len(set(drawn)) == 3
    assert int.from_bytes(key, "little") == drawn[0]
    for place, piece in pieces.items():
        value = (drawn[0] + drawn[1] * place + drawn[2] * place**2) % PRIME
        assert int.from_bytes(piece, "little") == value


@pytest.mark.parametrize(("holders", "threshold"), [([], 1), ([1, 2], 3), ([1], 0)])
def test_thresholds_that_nobody_can_reach_are_refused(holders: list[int], threshold: int) -> None:
    with pytest.raises(ValueError, match="expected a threshold"):
        split_key(holders, threshold=threshold, randomness=stream(1))
