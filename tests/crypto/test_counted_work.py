"""The work of encryption by its formulas, and open plaintexts from one end to the other."""

from __future__ import annotations

import pytest

from sottovoce.crypto import RandomStream
from sottovoce.crypto.fixed_base import cheapest_shape, power_steps
from sottovoce.crypto.paillier import Encryptor, Exponent, new_key
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
