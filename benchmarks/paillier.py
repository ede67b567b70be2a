"""A secure sum against phe, cell by cell: CPU seconds, bytes, and lower bounds of each step.

    python benchmarks/paillier.py [key bits]

The setting is the first phase of DP-SUBN on 52 binary attributes: 9,864 cells of 57 tables, 45,222
rows, three parties, and a noise scale of 2280 (a quarter of epsilon 0.2). phe encrypts, adds and
decrypts every cell; its times are of a sample, times the cells. The lower bound of a step is its
multiplications modulo n^2 (modulo p^2 and q^2 for decryption) at the speed of GMP alone.
"""

import pickle
import secrets
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

import gmpy2
import numpy as np

from sottovoce.crypto import RandomTree
from sottovoce.crypto.ciphertexts import Ciphertexts
from sottovoce.crypto.fixed_base import cheapest_shape
from sottovoce.crypto.paillier import Encryptor, new_key
from sottovoce.privacy.batch import Batch
from sottovoce.privacy.laplace_shares import shape_of
from sottovoce.privacy.negative_binomial import NegativeBinomial
from sottovoce.protocols.secure_sum.keys import packing_of

T = TypeVar("T")

PARTIES, CELLS, SAMPLE = 3, 9864, 12
BATCH = Batch(
    cells=CELLS, sensitivity=2 * 57, epsilon=0.05, rows=45_222, parties=PARTIES, colluding=1
)


def cpu(act: Callable[[], T]) -> tuple[float, T]:
    started = time.process_time()
    result = act()
    return time.process_time() - started, result


def multiplication(bits: int) -> float:
    """Time a multiplication modulo a number of so many bits, in seconds."""
    modulus = gmpy2.mpz(secrets.randbits(bits) | 1 | 1 << (bits - 1))
    a, b = (gmpy2.mpz(secrets.randbits(bits)) % modulus for _ in range(2))
    started = time.process_time()
    for _ in range(3000):
        _ = a * b % modulus
    return (time.process_time() - started) / 3000


def main() -> None:
    bits = int(sys.argv[1]) if len(sys.argv) > 1 else 3072
    stream = RandomTree(None, role=0).stream(phase="bench", purpose="all")
    packing = packing_of(BATCH, shares=True, key_bits=bits)
    count = packing.plaintexts(CELLS)
    whole, half = multiplication(2 * bits), multiplication(bits)
    print(
        f"{bits} bits, K = {PARTIES}, {CELLS} cells in {count} ciphertexts "
        f"of {packing.slots} slots of {packing.width} bits"
    )
    print(f"one multiplication modulo n^2 {whole * 1e6:.1f} us, modulo p^2 {half * 1e6:.1f} us\n")

    key_seconds, private = cpu(lambda: new_key(bits, randomness=stream))
    public = private.public
    cells = np.random.default_rng(1).integers(0, 45_222 // 64, CELLS)
    law_seconds, law = cpu(
        lambda: NegativeBinomial(
            shape=shape_of(parties=PARTIES, colluding=1),
            rate=Fraction(BATCH.epsilon) / BATCH.sensitivity,
        )
    )
    noise_seconds, noise = cpu(
        lambda: law.draw(CELLS, randomness=stream) - law.draw(CELLS, randomness=stream)
    )
    pack_seconds, plain = cpu(lambda: packing.pack(cells + noise))
    table_seconds, encryptor = cpu(lambda: Encryptor(public, randomness=stream, uses=count))
    encrypt_seconds, ciphertexts = cpu(lambda: encryptor.encrypt(plain))
    received = Ciphertexts.received(public, encryptor.encrypt(plain).travel(), count=count)
    multiply_seconds, product = cpu(lambda: received + ciphertexts)
    travel_seconds, numbers = cpu(product.travel)
    check_seconds, checked = cpu(lambda: Ciphertexts.received(public, numbers, count=count))
    decrypt_seconds, plaintexts = cpu(lambda: private.decrypt(checked))
    unpack_seconds, sums = cpu(lambda: packing.unpack(plaintexts, cells=CELLS))
    assert np.array_equal(
        sums, 2 * (cells + noise)
    )  # twice, because the same plaintexts were received

    shape = cheapest_shape((bits + 1) // 2, uses=count)
    steps = [
        ("party: table of the law", law_seconds, 0.0, PARTIES),
        ("party: draw shares", noise_seconds, 0.0, PARTIES),
        ("party: pack", pack_seconds, 0.0, PARTIES),
        # h^n, the chain of squarings, the entries of the tables
        (
            "party: table of powers",
            table_seconds,
            (bits * 1.2 + bits / 2 + shape.entries) * whole,
            PARTIES,
        ),
        ("party: encrypt", encrypt_seconds, count * (shape.columns + shape.span) * whole, PARTIES),
        ("party: multiply", multiply_seconds, count * whole, PARTIES),
        ("party: write and check", travel_seconds + check_seconds, count * whole, PARTIES),
        # exponents of half the bits modulo p^2 and q^2: squarings, and a fifth of multiplications
        ("curator: decrypt", decrypt_seconds, count * 2 * (bits / 2) * 1.2 * half, 1),
        ("curator: unpack", unpack_seconds, 0.0, 1),
    ]
    print(f"{'step':<26}{'CPU ms':>10}{'bound ms':>10}{'ratio':>8}")
    for name, seconds, floor, _ in steps:
        ratio = f"{seconds / floor:8.2f}" if floor else f"{'':8}"
        print(f"{name:<26}{seconds * 1e3:>10.1f}{floor * 1e3:>10.1f}{ratio}")
    print(f"{'(once: key)':<26}{key_seconds * 1e3:>10.1f}\n")

    phe = public.phe
    phe_encrypt, encrypted = cpu(lambda: [phe.encrypt(7) for _ in range(SAMPLE)])
    phe_add, _ = cpu(lambda: [a + b for a, b in pairwise(encrypted)])
    phe_decrypt, _ = cpu(lambda: [private.phe.decrypt(ciphertext) for ciphertext in encrypted])
    one_encryption = phe_encrypt / SAMPLE
    party = sum(seconds for name, seconds, _, times in steps if times > 1)
    whole_run = sum(seconds * times for _, seconds, _, times in steps)
    phe_party = CELLS * (one_encryption + phe_add / (SAMPLE - 1))
    phe_whole = PARTIES * phe_party + CELLS * phe_decrypt / SAMPLE
    print(f"{'CPU seconds':<44}{'sottovoce':>12}{'phe':>12}{'ratio':>9}")
    for name, ours, theirs in (
        ("a party, a cell: ours against one encryption", party / CELLS, one_encryption),
        ("a party, all cells", party, phe_party),
        ("everybody, all cells, decryption included", whole_run, phe_whole),
        ("everybody, a cell, against ONE encryption", whole_run / CELLS, one_encryption),
    ):
        print(f"{name:<44}{ours:>12.3g}{theirs:>12.4g}{theirs / ours:>9,.0f}")
    raw, pickled = public.width, len(pickle.dumps(encrypted[0]))
    payload = 24 + 12 + count * public.width + 16
    print(
        f"\nbytes, a party, a cell: {payload / CELLS:.2f}; "
        f"phe raw {raw} ({raw / payload * CELLS:.0f} times), "
        f"phe pickled {pickled} ({pickled / payload * CELLS:.0f} times)"
    )

    print(f"\n{'one encryption of 0':<34}{'ms':>8}")
    for name, exponent in (("half-length exponent, by table", "half"), ("r^n", "full")):
        variant = Encryptor(public, randomness=stream, uses=count, exponent=exponent)  # type: ignore[arg-type]
        seconds, _ = cpu(lambda variant=variant: variant.encrypt([0] * SAMPLE))  # type: ignore[misc]
        print(f"{name:<34}{seconds / SAMPLE * 1e3:>8.2f}")
    print(f"{'phe':<34}{one_encryption * 1e3:>8.2f}")
    for workers in (1, 2):
        started = time.perf_counter()
        private.decrypt(checked, workers=workers)
        print(f"decrypting {count}, {workers} threads: {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
