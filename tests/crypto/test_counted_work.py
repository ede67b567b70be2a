"""The work of encryption by its formulas, and open plaintexts from one end to the other."""

from __future__ import annotations

from collections.abc import Callable

import gmpy2
import pytest
from gmpy2 import is_prime

from sottovoce.crypto import RandomStream
from sottovoce.crypto.fixed_base import cheapest_shape, power_steps
from sottovoce.crypto.modulus_proof import prove, proven_key
from sottovoce.crypto.paillier import Encryptor, Exponent, expected_candidates, new_key
from sottovoce.messages import WorkKind, WorkMeter, metered

BITS, USES = 640, 10


@pytest.mark.parametrize("only_counts", [False, True])
@pytest.mark.parametrize("exponent", ["half", "full"])
def test_work_is_counted_modulo_the_square_of_n(exponent: Exponent, only_counts: bool) -> None:
    """A base is one power, made once, and then each message is one: short by a table, or full.

    Decryption works modulo the squares of p and q, which have the length of n: two powers whose
    exponents have half of it.
    """
    units = {}
    meter = WorkMeter(only_counts=only_counts)
    with metered(meter):
        key = new_key(BITS, randomness=RandomStream(b"k" * 32))
        units["key"] = dict(meter.units)
        encryptor = Encryptor(
            key.public, randomness=RandomStream(b"e" * 32), uses=USES, exponent=exponent
        )
        units["table"] = dict(meter.units)
        ciphertexts = encryptor.encrypt([1, 2, 3])
        units["messages"] = dict(meter.units)
        key.decrypt(ciphertexts)
        units["opened"] = dict(meter.units)
    steps = [
        {at: after[at] - before.get(at, 0) for at in after if after[at] != before.get(at, 0)}
        for before, after in zip(units.values(), [*units.values()][1:], strict=False)
    ]
    multiplications, table = (WorkKind.MULTIPLICATION, 2 * BITS), (WorkKind.COMB_STEP, 2 * BITS)
    shape = cheapest_shape(BITS // 2, uses=USES)
    if exponent == "half":
        assert steps[0] == {
            multiplications: pytest.approx(power_steps(BITS)),
            table: pytest.approx(shape.table_steps),
        }
        assert steps[1] == {table: pytest.approx(3 * shape.steps)}
    else:
        assert steps[0] == {}
        assert steps[1] == {multiplications: pytest.approx(3 * power_steps(BITS))}
    assert steps[2] == {(WorkKind.MULTIPLICATION, BITS): pytest.approx(3 * power_steps(BITS))}


@pytest.mark.parametrize("only_counts", [False, True])
def test_plaintexts_reach_from_minus_half_of_n_to_half_of_it(only_counts: bool) -> None:
    with metered(WorkMeter(only_counts=only_counts)):
        key = new_key(BITS, randomness=RandomStream(b"k" * 32))
        half = key.public.n // 2
        messages = [half, half - 1, -half, 2 * half // 3 + 1, -(2 * half // 3) - 1, 0, 1, -1]
        encryptor = Encryptor(key.public, randomness=RandomStream(b"e" * 32), uses=USES)
        assert key.decrypt(encryptor.encrypt(messages)) == messages


@pytest.mark.parametrize("bits", [512, 640])
@pytest.mark.parametrize("only_counts", [False, True])
def test_the_work_of_a_key_and_its_proof(bits: int, only_counts: bool) -> None:
    """The curator takes roots modulo p and q, and a party raises them modulo n.

    A root is two powers of half the length, which cost as much as one of the whole length modulo
    a number of half of it.
    """
    key = new_key(bits, randomness=RandomStream(b"k" * 32))
    numbers, proof = key.public.travel(), prove(key, context=b"job")
    works = {}
    acts: dict[str, Callable[[], object]] = {
        "key": lambda: new_key(bits, randomness=RandomStream(b"k" * 32)),
        "proof": lambda: prove(key, context=b"job"),
        "check": lambda: proven_key(numbers, proof, bits=bits, context=b"job"),
    }
    for name, act in acts.items():
        meter = WorkMeter(only_counts=only_counts)
        with metered(meter):
            act()
        works[name] = meter.units
    roots = len(proof) * power_steps(bits)
    assert works["key"] == {(WorkKind.PRIME_TEST, bits // 2): expected_candidates(bits)}
    assert works["proof"] == {(WorkKind.MULTIPLICATION, bits // 2): pytest.approx(roots)}
    assert works["check"] == {(WorkKind.MULTIPLICATION, bits): pytest.approx(roots)}


def test_a_search_tests_as_many_candidates_as_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 searches the mean is within four standard errors, which are of a geometric law."""
    tried = []

    def spied(number: int, rounds: int) -> bool:
        tried.append(number)
        return bool(is_prime(number, rounds))

    monkeypatch.setattr(gmpy2, "is_prime", spied)
    for seed in range(40):
        new_key(256, randomness=RandomStream(bytes([seed]) * 32))
    expected = expected_candidates(256)
    assert len(tried) / 40 == pytest.approx(expected, abs=4 * expected / (2 * 40) ** 0.5)
    assert all(number.bit_length() == 128 and number % 4 == 3 for number in tried)
    assert all(number >> 126 == 3 for number in tried)
