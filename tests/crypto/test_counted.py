"""Encryption that is only counted: as much work and as many bytes, and no record is real."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

import sottovoce
from sottovoce.crypto import RandomStream
from sottovoce.crypto.ciphertexts import Multiples
from sottovoce.crypto.modulus import MAX_TRIAL_FACTOR, require_modulus
from sottovoce.crypto.modulus_proof import prove, proven_key
from sottovoce.crypto.paillier import Encryptor, Exponent, new_key
from sottovoce.messages import WorkKind, WorkMeter, is_only_counted, metered
from sottovoce.network import NETWORKS
from sottovoce.runs.made_up import run_on_made_up
from sottovoce.runs.settings import settings
from sottovoce.runs.threads import run_on_threads

BITS = 640
CONTEXT = b"job"
MODES = ["rigorous", "paper"]
"""Masks under encryption, and a ring in which the curator selects whose noise is added."""


@contextmanager
def counting() -> Iterator[WorkMeter]:
    meter = WorkMeter(only_counts=True)
    with metered(meter):
        yield meter


def test_open_ciphertexts_add_up_and_are_as_long_as_others() -> None:
    with counting():
        key = new_key(BITS, randomness=RandomStream(b"k" * 32))
        encryptor = Encryptor(key.public, randomness=RandomStream(b"e" * 32), uses=10)
        first, second = encryptor.encrypt([5, -7]), encryptor.encrypt([-1, 3])
        total = first + second
        assert key.decrypt(total) == [4, -4]
        assert total.travel().width == key.public.width
    require_modulus(key.public.n, bits=BITS)
    assert math.gcd(key.p * key.q, math.factorial(1000)) == 1
    assert key.p.bit_length() == key.q.bit_length() == BITS // 2
    assert MAX_TRIAL_FACTOR > 1000


@pytest.mark.parametrize("exponent", ["half", "full"])
def test_as_much_work_is_counted_as_is_done(exponent: Exponent) -> None:
    meters = []
    for only_counts in (False, True):
        meter = WorkMeter(only_counts=only_counts)
        with metered(meter):
            key = new_key(BITS, randomness=RandomStream(b"k" * 32))
            proof = prove(key, context=CONTEXT)
            modulus = key.public.travel()
            assert proven_key(modulus, proof, bits=BITS, context=CONTEXT) == key.public
            encryptor = Encryptor(
                key.public, randomness=RandomStream(b"e" * 32), uses=10, exponent=exponent
            )
            key.decrypt(encryptor.encrypt(range(3)) + encryptor.encrypt(range(3)))
        meters.append(meter.units)
    assert meters[0] == meters[1]
    assert meters[0][WorkKind.MULTIPLICATION, 2 * BITS] > 0


@pytest.mark.parametrize("mode", MODES)
def test_a_play_sends_and_counts_what_it_does_with_true_ciphertexts(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = settings(
        {
            "protocol": "one-way",
            "columns": ["sex", "income"],
            "mode": mode,
            "key_bits": BITS,
            "insecure_test_keys": True,
            "seed": 1,
        }
    ).job

    def pricing(meter: WorkMeter) -> float:
        return sum(meter.units.values()) * 1e-6

    open_play = run_on_made_up(job, rows=500, costs=pricing)
    monkeypatch.setattr("sottovoce.network.virtual.WorkMeter", lambda **_: WorkMeter())
    true_play = run_on_made_up(job, rows=500, costs=pricing)
    assert open_play.entries == true_play.entries
    assert open_play.seconds == true_play.seconds > 0
    assert msgspec.to_builtins(open_play.outcome.summary) == true_play.outcome.summary


def test_nothing_is_only_counted_where_a_record_is_real(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs have true ciphertexts, on every transport and with computation from a calibration."""
    seen: list[bool] = []

    def spied(bits: int, *, randomness: RandomStream) -> object:
        seen.append(is_only_counted())
        return new_key(bits, randomness=randomness)

    monkeypatch.setattr("sottovoce.protocols.secure_sum.keys.new_key", spied)
    options: dict[str, Any] = {
        "rows": 50,
        "columns": ["sex"],
        "key_bits": 512,
        "insecure_test_keys": True,
    }
    sottovoce.run("one-way", judge=False, **options)
    job = settings({"protocol": "one-way", **options}).job
    run_on_threads(job, network=NETWORKS["none"], costs=lambda _: 0.0)
    assert seen == [False, False]
    run_on_made_up(job, rows=50)
    assert seen == [False, False, False], "a play without costs measures what it does"
    run_on_made_up(job, rows=50, costs=lambda _: 0.0)
    assert seen[3:] == [True]


def test_products_are_counted_as_they_are_done() -> None:
    """A ciphertext times many integers: the ring adds one party's noise by that.

    The table is counted once, and each power takes as much as the other ones.
    """
    meters = []
    for only_counts in (False, True):
        meter = WorkMeter(only_counts=only_counts)
        with metered(meter):
            key = new_key(BITS, randomness=RandomStream(b"k" * 32))
            encryptor = Encryptor(key.public, randomness=RandomStream(b"e" * 32), uses=10)
            counts = []
            multiples = Multiples(encryptor.encrypt([3]), uses=4)
            for factors in ([], [5], [5, -2, 0, 7]):
                products = multiples.of(factors)
                counts.append(meter.units[WorkKind.COMB_STEP, 2 * BITS])
            fresh = products + encryptor.encrypt([0] * 4)
            assert key.decrypt(fresh) == [15, -6, 0, 21]
        meters.append(meter.units)
        assert counts[1] > counts[0]
        assert counts[2] - counts[1] == pytest.approx(4 * (counts[1] - counts[0]))
    assert meters[0] == meters[1]
