"""Local randomizers: users a second on one core, from values to counts, beside other libraries.

    python benchmarks/randomizers.py [CELLS] [EPSILON] [USERS]

Each line is the same task: randomize every user's value, and count the support of each value. Ours
makes packed reports, as they are sent, with AES words for each user. multi-freq-ldpy and pure-ldp
make an array or an object for each user, with a generator of numpy or Python. They are compared if
they are installed (pip install multi-freq-ldpy pure-ldp scikit-learn statsmodels), on as many users
as they process in a few seconds.

"numba" is the same unary encoding as ours, compiled, with a xorshift generator. It is up to one and
a half times as fast. But its random words are not secret, and a compiler is a large dependency.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sottovoce.crypto import UserWords
from sottovoce.privacy.local import RANDOMIZERS, Randomizer, report
from sottovoce.privacy.local.bits import column_sums
from sottovoce.privacy.local.unary import OptimisedUnary

WINDOW = 1 << 16
ROUNDS = 3


def timed(job: Callable[[], Any], *, users: int) -> float:
    best = 0.0
    for _ in range(ROUNDS):
        started = time.perf_counter()
        job()
        best = max(best, users / (time.perf_counter() - started))
    return best


def ours(randomizer: Randomizer, values: np.ndarray[Any, Any]) -> Callable[[], Any]:
    words = UserWords(None)

    def job() -> np.ndarray[Any, Any]:
        supports = np.zeros(randomizer.cells, np.int64)
        for start in range(0, len(values), WINDOW):
            part = values[start : start + WINDOW]
            supports += randomizer.support(
                report(randomizer, part, users=np.arange(start, start + len(part)), words=words)
            )
        return supports

    return job


def others(
    name: str, values: np.ndarray[Any, Any], cells: int, epsilon: float
) -> dict[str, Callable[[], Any]]:
    """The same task in other libraries: sums of their clients' reports."""
    jobs_by_library: dict[str, Callable[[], Any]] = {}
    try:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
        from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
    except ImportError:
        pass
    else:
        jobs: dict[str, Callable[[], Any]] = {
            "oue": lambda: sum(UE_Client(int(v), cells, epsilon, optimal=True) for v in values),
            "sue": lambda: sum(UE_Client(int(v), cells, epsilon, optimal=False) for v in values),
            "grr": lambda: np.bincount(
                [GRR_Client(int(v), cells, epsilon) for v in values], minlength=cells
            ),
            "olh": lambda: [LH_Client(int(v), cells, epsilon, optimal=True) for v in values],
            "subset": lambda: np.bincount(
                np.concatenate([SS_Client(int(v), cells, epsilon) for v in values])
            ),
        }
        if name in jobs:
            jobs_by_library["multi-freq-ldpy"] = jobs[name]
    try:
        from pure_ldp.frequency_oracles import (
            DEClient,
            DEServer,
            LHClient,
            LHServer,
            UEClient,
            UEServer,
        )
    except ImportError:
        pass
    else:

        def pure(client: Any, server: Any) -> Callable[[], None]:
            def job() -> None:
                for v in values:
                    server.aggregate(client.privatise(int(v) + 1))

            return job

        if name == "oue":
            jobs_by_library["pure-ldp"] = pure(
                UEClient(epsilon, cells, use_oue=True), UEServer(epsilon, cells, use_oue=True)
            )
        if name == "grr":
            jobs_by_library["pure-ldp"] = pure(DEClient(epsilon, cells), DEServer(epsilon, cells))
        if name == "olh":
            jobs_by_library["pure-ldp"] = pure(
                LHClient(epsilon, cells, use_olh=True), LHServer(epsilon, cells, use_olh=True)
            )
    return jobs_by_library


def compiled(cells: int, epsilon: float) -> Callable[[np.ndarray[Any, Any]], Any] | None:
    """The same unary encoding for numba."""
    try:
        from numba import njit
    except ImportError:
        return None
    encoding = OptimisedUnary(cells, epsilon=epsilon)
    words, digits = -(-cells // 64), encoding.digits
    number, raised = int(encoding.q * (1 << digits)), int(encoding._raised) << 32  # noqa: SLF001

    @njit(cache=False)  # type: ignore[untyped-decorator]
    def reports(values: Any, seed: Any) -> Any:  # pragma: no cover - compiled
        out = np.zeros((len(values), words), np.uint64)
        x = np.uint64(seed)
        for user in range(len(values)):
            for word in range(words):
                bits_of_word = np.uint64(0)
                for digit in range(digits):
                    x ^= x << np.uint64(13)
                    x ^= x >> np.uint64(7)
                    x ^= x << np.uint64(17)
                    bits_of_word = bits_of_word | x if number >> digit & 1 else bits_of_word & x
                out[user, word] = bits_of_word
            x ^= x << np.uint64(13)
            x ^= x >> np.uint64(7)
            x ^= x << np.uint64(17)
            if x < np.uint64(raised):
                out[user, values[user] >> 6] |= np.uint64(1) << np.uint64(values[user] & 63)
        return out

    def job(values: np.ndarray[Any, Any]) -> Any:
        sums = np.zeros(cells, np.int64)
        for start in range(0, len(values), WINDOW):
            packed = reports(values[start : start + WINDOW], start + 88172645463325252)
            sums += column_sums(packed.view(np.uint8)[:, : -(-cells // 8)].copy(), columns=cells)
        return sums

    return job


def main() -> None:
    words = sys.argv[1:]
    cells, epsilon = int(words[0]) if words else 256, float(words[1]) if len(words) > 1 else 1.0
    users = int(float(words[2])) if len(words) > 2 else 1 << 20
    values = np.random.default_rng(1).integers(0, cells, users)
    print(
        f"{cells} cells, epsilon {epsilon:g}, one core; "
        "users a second, and how many times slower than ours"
    )
    for name, kind in RANDOMIZERS.items():
        randomizer = kind(cells, epsilon=epsilon)
        our_values = values if name != "subset" else values[: users // 16]
        our_speed = timed(ours(randomizer, our_values), users=len(our_values))
        print(
            f"{name:14s} {our_speed:12,.0f}   "
            f"{randomizer.bits} bits, variance {randomizer.variance():.5g}",
            flush=True,
        )
        their_values = values[: max(users // 512, 2000)]
        for library, job in others(name, their_values, cells, epsilon).items():
            try:
                their_speed = timed(job, users=len(their_values))
            except Exception as error:  # noqa: BLE001 - the failure is the result
                text = str(error).splitlines()[0][:90]
                print(f"  {library:16s} fails: {type(error).__name__}: {text}", flush=True)
                continue
            counted = " (perturbing only)" if (library, name) == ("multi-freq-ldpy", "olh") else ""
            print(
                f"  {library:16s} {their_speed:10,.0f}   "
                f"{our_speed / their_speed:8,.0f} times{counted}",
                flush=True,
            )
        if name == "oue" and (job_of := compiled(cells, epsilon)) is not None:
            job_of(values[:WINDOW])
            their_speed = timed(lambda: job_of(values), users=users)
            print(f"  {'numba':16s} {their_speed:10,.0f}   {our_speed / their_speed:8,.2f} times")
        if name == "oue":
            exact = OptimisedUnary(cells, epsilon=epsilon, digits=32)
            exact_speed = timed(ours(exact, values[: users // 4]), users=users // 4)
            print(
                f"  {'q to 32 digits':16s} {exact_speed:10,.0f}   "
                f"{our_speed / exact_speed:8,.2f} times, variance {exact.variance():.5g}"
            )
    counts = np.bincount(values, minlength=cells) * 1000
    generator = np.random.default_rng(2)
    print(f"simulated counts of {counts.sum():,} users:")
    for name, kind in RANDOMIZERS.items():
        randomizer = kind(cells, epsilon=epsilon)
        started = time.perf_counter()
        randomizer.simulate(counts, generator)
        print(f"  {name:14s} {time.perf_counter() - started:8.4f} s")


if __name__ == "__main__":
    main()
