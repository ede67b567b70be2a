"""Checks of a Paillier modulus and the proof that it is sound: CPU milliseconds and bytes.

    python benchmarks/modulus_proof.py

Each figure is the best of five. The second table has the choices for trial division: dividing by
more primes takes longer, and leaves fewer roots to be raised to n.
"""

import time
from collections.abc import Callable

import gmpy2
from gmpy2 import mpz

from sottovoce.crypto import RandomTree, modulus, modulus_proof
from sottovoce.crypto.modulus import MAX_TRIAL_FACTOR, require_modulus
from sottovoce.crypto.modulus_proof import SECURITY_BITS, prove, proven_key
from sottovoce.crypto.paillier import new_key

CONTEXT = bytes(32)
REPEATS = 5


def milliseconds(act: Callable[[], object]) -> float:
    """Time the best of some calls; each begins with empty caches."""
    times = []
    for _ in range(REPEATS):
        clear_caches()
        started = time.process_time()
        act()
        times.append(time.process_time() - started)
    return 1e3 * min(times)


def clear_caches() -> None:
    """Forget what a process computes once, however many parties it plays."""
    modulus._product_of_primes.cache_clear()  # noqa: SLF001
    modulus._require_two_primes.cache_clear()  # noqa: SLF001
    modulus_proof._require_roots.cache_clear()  # noqa: SLF001


def main() -> None:
    stream = RandomTree(None, role=0).stream(phase="bench", purpose="key")
    print(f"{'bits':>6}{'prove':>9}{'checks':>9}{'checks and proof':>18}{'bytes':>8}")
    for bits in (2048, 3072, 4096):
        key = new_key(bits, randomness=stream)
        numbers, proof = key.public.travel(), prove(key, context=CONTEXT)
        proving = milliseconds(lambda key=key: prove(key, context=CONTEXT))  # type: ignore[misc]
        checks = milliseconds(
            lambda n=key.public.n, bits=bits: require_modulus(n, bits=bits)  # type: ignore[misc]
        )
        everything = milliseconds(
            lambda numbers=numbers, proof=proof, bits=bits: proven_key(  # type: ignore[misc]
                numbers, proof, bits=bits, context=CONTEXT
            )
        )
        print(f"{bits:>6}{proving:>9.1f}{checks:>9.1f}{everything:>18.1f}{len(proof.data):>8}")

    n = mpz(new_key(3072, randomness=stream).public.n)
    power = milliseconds(lambda: gmpy2.powmod(n // 3, n, n))
    print(f"\n3072 bits, {MAX_TRIAL_FACTOR} is used\n{'roots':>6}{'factors to':>12}{'ms':>9}")
    for roots in range(9, 4, -1):
        bound = int(2 ** (SECURITY_BITS / roots)) + 1
        trial = milliseconds(lambda bound=bound: gmpy2.gcd(gmpy2.primorial(bound) % n, n))  # type: ignore[misc]
        print(f"{roots:>6}{bound:>12,}{roots * power + trial:>9.1f}")


if __name__ == "__main__":
    main()
