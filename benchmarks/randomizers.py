"""Local randomizers: users a second on one core, from their values to the aggregator's counts,
beside other libraries'.

    python benchmarks/randomizers.py [CELLS] [EPSILON] [USERS]

Each line is the same job: perturb every user's value, and add up what supports which value. Ours
makes packed reports, as they travel, with AES words of each user's own; multi-freq-ldpy and
pure-ldp make an array or an object a user, with a generator of numpy's or Python's. They are
compared where they are installed (pip install multi-freq-ldpy pure-ldp scikit-learn statsmodels),
on so many users as they do in a few seconds. "numba" is the same unary encoding as ours, compiled,
with a xorshift generator: what one would write by hand. It is up to one and a half times as fast;
but its words are no secrets, and a compiler is a heavy thing to depend on, so numpy and AES it is.
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
        found = np.zeros(randomizer.cells, np.int64)
        for start in range(0, len(values), WINDOW):
            part = values[start : start + WINDOW]
            found += randomizer.support(
                report(randomizer, part, users=np.arange(start, start + len(part)), words=words)
            )
        return found

    return job


def others(
    name: str, values: np.ndarray[Any, Any], cells: int, epsilon: float
) -> dict[str, Callable[[], Any]]:
    """The same job in other libraries: their clients' reports, added up."""
    found: dict[str, Callable[[], Any]] = {}
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
            found["multi-freq-ldpy"] = jobs[name]
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
            found["pure-ldp"] = pure(
                UEClient(epsilon, cells, use_oue=True), UEServer(epsilon, cells, use_oue=True)
            )
        if name == "grr":
            found["pure-ldp"] = pure(DEClient(epsilon, cells), DEServer(epsilon, cells))
        if name == "olh":
            found["pure-ldp"] = pure(
                LHClient(epsilon, cells, use_olh=True), LHServer(epsilon, cells, use_olh=True)
            )
    return found


def compiled(cells: int, epsilon: float) -> Callable[[np.ndarray[Any, Any]], Any] | None:
    """Our unary encoding, written out for numba."""
    try:
        from numba import njit
    except ImportError:
        return None
    own = OptimisedUnary(cells, epsilon=epsilon)
    words, digits = -(-cells // 64), own.digits
    number, raised = int(own.q * (1 << digits)), int(own._raised) << 32  # noqa: SLF001

    @njit(cache=False)  # type: ignore[untyped-decorator]
    def reports(values: Any, seed: Any) -> Any:  # pragma: no cover - compiled
        out = np.zeros((len(values), words), np.uint64)
        x = np.uint64(seed)
        for user in range(len(values)):
            for word in range(words):
                said = np.uint64(0)
                for digit in range(digits):
                    x ^= x << np.uint64(13)
                    x ^= x >> np.uint64(7)
                    x ^= x << np.uint64(17)
                    said = said | x if number >> digit & 1 else said & x
                out[user, word] = said
            x ^= x << np.uint64(13)
            x ^= x >> np.uint64(7)
            x ^= x << np.uint64(17)
            if x < np.uint64(raised):
                out[user, values[user] >> 6] |= np.uint64(1) << np.uint64(values[user] & 63)
        return out

    def job(values: np.ndarray[Any, Any]) -> Any:
        found = np.zeros(cells, np.int64)
        for start in range(0, len(values), WINDOW):
            made = reports(values[start : start + WINDOW], start + 88172645463325252)
            found += column_sums(made.view(np.uint8)[:, : -(-cells // 8)].copy(), columns=cells)
        return found

    return job


def main() -> None:
    words = sys.argv[1:]
    cells, epsilon = int(words[0]) if words else 256, float(words[1]) if len(words) > 1 else 1.0
    users = int(float(words[2])) if len(words) > 2 else 1 << 20
    values = np.random.default_rng(1).integers(0, cells, users)
    print(
        f"{cells} cells, epsilon {epsilon:g}, one core; users a second, and how many times slower than ours"
    )
    for name, kind in RANDOMIZERS.items():
        randomizer = kind(cells, epsilon=epsilon)
        many = values if name != "subset" else values[: users // 16]
        own = timed(ours(randomizer, many), users=len(many))
        print(
            f"{name:14s} {own:12,.0f}   {randomizer.bits} bits, variance {randomizer.variance():.5g}",
            flush=True,
        )
        few = values[: max(users // 512, 2000)]
        for library, job in others(name, few, cells, epsilon).items():
            try:
                theirs = timed(job, users=len(few))
            except Exception as error:  # noqa: BLE001 - what theirs says is the result
                print(
                    f"  {library:16s} fails: {type(error).__name__}: {str(error).splitlines()[0][:90]}",
                    flush=True,
                )
                continue
            counted = " (perturbing only)" if (library, name) == ("multi-freq-ldpy", "olh") else ""
            print(
                f"  {library:16s} {theirs:10,.0f}   {own / theirs:8,.0f} times{counted}", flush=True
            )
        if name == "oue" and (job_of := compiled(cells, epsilon)) is not None:
            job_of(values[:WINDOW])
            theirs = timed(lambda: job_of(values), users=users)
            print(f"  {'numba':16s} {theirs:10,.0f}   {own / theirs:8,.2f} times")
        if name == "oue":
            exact = OptimisedUnary(cells, epsilon=epsilon, digits=32)
            slow = timed(ours(exact, values[: users // 4]), users=users // 4)
            print(
                f"  {'q to 32 digits':16s} {slow:10,.0f}   {own / slow:8,.2f} times, variance {exact.variance():.5g}"
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
