"""Freshness: each leak is first performed on phe, then shown to be closed here."""

from __future__ import annotations

import pickle

import pytest

from sottovoce.crypto import RandomStream
from sottovoce.crypto.ciphertexts import Ciphertexts, Multiples
from sottovoce.crypto.paillier import Encryptor, PrivateKey, new_key
from sottovoce.messages import BigInts, MisuseError

KEY = new_key(512, randomness=RandomStream(b"k" * 32))
OTHER = new_key(512, randomness=RandomStream(b"l" * 32))
N = KEY.public.n


def encryptor() -> Encryptor:
    return Encryptor(KEY.public, randomness=RandomStream(b"e" * 32), uses=20)


def received(*messages: int) -> Ciphertexts:
    return Ciphertexts.received(
        KEY.public, encryptor().encrypt(messages).travel(), count=len(messages)
    )


def difference(before: int, after: int) -> int:
    """Find m that was added without a new randomiser: after / before = (1 + n)^m = 1 + m n."""
    return int((after * pow(before, -1, N * N) - 1) % (N * N) // N)


def test_phe_leaks_what_was_added_by_its_raw_ciphertext() -> None:
    known = KEY.public.phe.encrypt(1000)
    added = known + 42
    assert difference(known.ciphertext(be_secure=False), added.ciphertext(be_secure=False)) == 42


def test_phe_leaks_what_was_added_and_multiplied_by_its_pickle() -> None:
    known = KEY.public.phe.encrypt(1000)
    before = known.ciphertext(be_secure=False)
    stolen = pickle.loads(pickle.dumps(known + 42))
    assert difference(before, stolen.ciphertext(be_secure=False)) == 42
    stolen = pickle.loads(pickle.dumps(known * 17))
    raw = stolen.ciphertext(be_secure=False)
    assert next(k for k in range(100) if pow(before, k, N * N) == raw) == 17


def test_sums_with_known_integers_do_not_leave() -> None:
    with pytest.raises(MisuseError, match="expected fresh ciphertexts"):
        received(1000).plus([42]).travel()


def test_products_do_not_leave() -> None:
    with pytest.raises(MisuseError, match="expected fresh ciphertexts"):
        Multiples(received(1000), uses=1).of([17]).travel()
    with pytest.raises(MisuseError, match="expected fresh ciphertexts"):
        Multiples(encryptor().encrypt([1000]), uses=1).of([17]).travel()


def test_received_ciphertexts_do_not_leave_unchanged() -> None:
    with pytest.raises(MisuseError, match="expected fresh ciphertexts"):
        received(1).travel()


def test_a_pickle_does_not_leave() -> None:
    with pytest.raises(MisuseError, match="found a pickle"):
        pickle.dumps(encryptor().encrypt([1]))


def test_a_refreshed_sum_leaves_and_shows_nothing() -> None:
    known = received(1000)
    left = next(iter(encryptor().refresh(known.plus([42])).travel()))
    shown = difference(int(known.numbers[0]), left)
    assert shown != 42
    # The quotient is no power of 1 + n, because it has a randomiser.
    assert (1 + shown * N) * int(known.numbers[0]) % (N * N) != left
    assert KEY.decrypt(
        Ciphertexts.received(KEY.public, BigInts.of([left], width=KEY.public.width), count=1)
    ) == [1042]


def test_one_randomiser_leaves_once() -> None:
    fresh = encryptor().encrypt([1, 2])
    fresh.travel()
    assert not fresh.fresh
    with pytest.raises(MisuseError, match="used before"):
        fresh.travel()


@pytest.mark.parametrize("use", ["sum", "sum, the other side", "constant", "slice"])
def test_a_sum_takes_its_terms_freshness(use: str) -> None:
    """Sending a term and the sum would show the other term, whose ciphertext is their quotient."""
    fresh = encryptor().encrypt([1, 2])
    result = {
        "sum": lambda: fresh + received(3, 4),
        "sum, the other side": lambda: received(3, 4) + fresh,
        "constant": lambda: fresh.plus([3, 4]),
        "slice": lambda: fresh[:1],
    }[use]()
    assert result.fresh
    assert not fresh.fresh
    with pytest.raises(MisuseError):
        fresh.travel()
    result.travel()


def test_a_sum_of_two_fresh_rows_uses_both() -> None:
    first, second = encryptor().encrypt([1]), encryptor().encrypt([2])
    total = first + second
    assert (total.fresh, first.fresh, second.fresh) == (True, False, False)


def test_rows_that_do_not_match_are_not_added() -> None:
    fresh = encryptor().encrypt([1, 2])
    with pytest.raises(MisuseError, match="expected 2 ciphertexts"):
        fresh + received(1)
    assert fresh.fresh  # A refused sum uses nothing up.
    with pytest.raises(MisuseError, match="single ciphertext"):
        Multiples(fresh, uses=1)


def test_a_ciphertext_does_not_leave_beside_its_products() -> None:
    """Its quotient by a product would show the factor."""
    fresh = encryptor().encrypt([1000])
    Multiples(fresh, uses=1).of([17])
    assert not fresh.fresh
    with pytest.raises(MisuseError, match="expected fresh ciphertexts"):
        fresh.travel()


def test_a_single_ciphertext_is_no_slice() -> None:
    fresh = encryptor().encrypt([1, 2])
    with pytest.raises(MisuseError, match="expected a slice of ciphertexts, found int"):
        fresh[0]  # type: ignore[index]
    assert fresh.fresh


@pytest.mark.parametrize(("key", "count"), [(KEY, 2), (OTHER, 1), (OTHER, 2)])
def test_only_as_many_ciphertexts_under_the_same_key_add_up(key: PrivateKey, count: int) -> None:
    """Either mistake alone is refused, and what was to be added is as fresh as before."""
    one, others = (
        encryptor().encrypt([5]),
        Encryptor(key.public, randomness=RandomStream(b"o" * 32), uses=20).encrypt([1] * count),
    )
    with pytest.raises(MisuseError, match="expected 1 ciphertexts under the same key"):
        one + others
    assert one.fresh
    assert others.fresh


def test_what_is_shown_says_whether_they_are_fresh() -> None:
    row = encryptor().encrypt([5])
    assert repr(row) == "Ciphertexts(1 of 128 bytes, fresh)"
    row.travel()
    assert repr(row) == "Ciphertexts(1 of 128 bytes, stale)"
