"""No two paths share a stream, no stream repeats, and draws are unbiased."""

import gc
import weakref
from collections import Counter

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.crypto.randomness import RandomStream, RandomTree, stream_key

PATHS = st.tuples(st.integers(0, 1 << 70), st.integers(0, 65_535), st.text(), st.text())


@given(PATHS, PATHS)
def test_two_paths_never_share_a_key(
    first: tuple[int, int, str, str], second: tuple[int, int, str, str]
) -> None:
    assert (stream_key(*first) == stream_key(*second)) == (first == second)


def test_parts_cannot_be_moved_between_phase_and_purpose() -> None:
    assert (
        len(
            {
                stream_key(1, 1, "ab", ""),
                stream_key(1, 1, "a", "b"),
                stream_key(1, 1, "", "ab"),
                stream_key(11, 1, "ab", ""),
            }
        )
        == 4
    )


def test_a_seed_determines_every_byte() -> None:
    first, second = (RandomTree(7, role=2).stream(phase="p", purpose="noise") for _ in range(2))
    assert [first.draw(5), first.draw(10_000), first.draw(3)] == [
        second.draw(5),
        second.draw(10_000),
        second.draw(3),
    ]
    assert RandomTree(8, role=2).stream(phase="p", purpose="noise").draw(16) != RandomTree(
        7, role=2
    ).stream(phase="p", purpose="noise").draw(16)


def test_without_a_seed_nothing_repeats() -> None:
    draws = {
        RandomTree(None, role=2).stream(phase="p", purpose="noise").draw(16) for _ in range(100)
    }
    assert len(draws) == 100


def test_a_stream_continues_where_it_stopped() -> None:
    tree = RandomTree(7, role=1)
    assert tree.stream(phase="p", purpose="x").draw(16) != tree.stream(phase="p", purpose="x").draw(
        16
    )


def test_below_is_uniform() -> None:
    stream = RandomStream(bytes(32))
    counts = Counter(stream.below(10) for _ in range(50_000))
    # Chi-square with 9 degrees of freedom exceeds 50 with probability 1e-7, and the key is fixed.
    assert sum((counts[value] - 5000) ** 2 / 5000 for value in range(10)) < 50
    assert stream.below(1) == 0
    assert 0 <= stream.below(10**40) < 10**40
    with pytest.raises(ValueError, match="at least 1"):
        stream.below(0)


def test_the_numpy_generator_follows_from_the_stream() -> None:
    draws = [
        RandomTree(7, role=1).stream(phase="p", purpose="x").generator().integers(1 << 60)
        for _ in range(2)
    ]
    assert draws[0] == draws[1]


def test_a_stream_that_is_forgotten_takes_no_memory() -> None:
    stream = RandomStream(None)
    stream.draw(1)
    forgotten = weakref.ref(stream)
    del stream
    gc.collect()
    assert forgotten() is None


@pytest.mark.parametrize("lengths", [(4096, 4097, 10_000, 1), (1, 5000, 4095, 4096), (8,) * 600])
@pytest.mark.parametrize("key", [None, b"k" * 32])
def test_draws_of_any_length(key: bytes | None, lengths: tuple[int, ...]) -> None:
    """Each draw has its length, and no part of the stream is given twice."""
    stream = RandomStream(key)
    drawn = [stream.draw(length) for length in lengths]
    assert [len(part) for part in drawn] == list(lengths)
    whole = b"".join(drawn)
    pieces = [whole[start : start + 8] for start in range(0, len(whole) - 8, 8)]
    # Two of 2,400 random words of 64 bits agree with a probability below 1e-12.
    assert len(set(pieces)) == len(pieces)


def test_a_seeded_stream_is_a_keystream() -> None:
    """AES-256 in counter mode, from zero on; the library is the referee."""
    cipher = Cipher(algorithms.AES256(b"k" * 32), modes.CTR(bytes(16))).encryptor()
    expected = cipher.update(bytes(3 * 4096))
    stream = RandomStream(b"k" * 32)
    assert b"".join(stream.draw(24) for _ in range(512)) == expected


def test_integers_and_generators_follow_from_a_keystream() -> None:
    """No byte is drawn that is not needed, so a seed means the same in every version."""
    octets = RandomStream(b"k" * 32).draw(64)
    stream = RandomStream(b"k" * 32)
    assert stream.below(1 << 16) == int.from_bytes(octets[:2], "little")
    assert stream.below(1 << 3) == octets[2] >> 5
    assert stream.draw(1) == octets[3:4]
    expected = np.random.Generator(np.random.Philox(np.random.SeedSequence(list(octets[4:36]))))
    assert stream.generator().integers(1 << 60) == expected.integers(1 << 60)
    assert stream.draw(28) == octets[36:]


def test_users_draw_from_no_stream_of_a_role() -> None:
    """Whatever the curator and the parties draw for the same purpose, users draw something else."""
    path = {"phase": "p", "purpose": "reports"}
    of_users = RandomTree(7, role=0).key_of_users(**path)
    assert of_users == RandomTree(7, role=3).key_of_users(**path)
    assert of_users not in {stream_key(7, role, "p", "reports") for role in range(1000)}
