"""Calibrating: what a unit of each kind of work takes on this machine.

Every kind is measured by doing some of it, on numbers that are nobody's, under a meter, in several
passes (`repeated_measurements`). The processor time, less that of the work whose cost is known by
then, is divided by the units. Messages and users' reports come last, from plays of whole protocols.
So they include the part of a role's time that no kind of work stands for.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypeVar

import gmpy2
import msgspec
import numpy as np
from gmpy2 import mpz

from ..crypto import RandomStream
from ..crypto.fixed_base import power_steps
from ..crypto.paillier import Encryptor, new_key
from ..curator.marginal import Marginal
from ..curator.raking import row_weights, systematic_sample
from ..curator.sampling import Chain, Step
from ..curator.shrinkage import with_margins
from ..messages import WorkKind, WorkMeter, count_work
from ..parties import DEMO_SCHEMA
from ..parties.counting import CodedTable
from ..privacy.discrete_gaussian import DiscreteGaussian
from ..privacy.exponential import choose
from ..privacy.negative_binomial import NegativeBinomial
from ..protocols.secure_sum.hidden_words import HiddenWords
from ..protocols.secure_sum.star import Mask
from ..runs.calibration import Calibration, PaillierCost
from ..runs.job import Job
from ..runs.made_up import run_on_made_up
from ..runs.version import VERSION
from .forecast_plays import processor_seconds
from .repeated_measurements import PASSES, RepeatedWork, robust, spread_of_all

__all__ = ["calibrate", "units_in_play"]

T = TypeVar("T")

MODULI: Final = (512, 1024, 2048, 3072, 4096, 6144)
"""Bits of the numbers modulo which multiplications are measured."""
PRIMES: Final = (512, 1024, 1536)
"""Bits of candidates for primes."""
KEYS: Final = (1024, 2048, 3072)
"""Bits of the keys with which encryption is shown."""
EXPONENT_BITS: Final = 512
ENOUGH: Final = 0.2
"""Seconds for which each kind of work is done at least, in all passes together."""
CANDIDATES: Final = 400
OPERATIONS: Final = 20
"""Operations under each key."""
ROWS: Final = 100_000
MASKS: Final = {"aggregator": "masks"}
PLAYS: Final = (
    (WorkKind.STEP, Job(protocol="one-way", parameters=MASKS, parties=8, seed=1)),
    (WorkKind.REPORT, Job(protocol="one-way-ldp", seed=1)),
)
"""What is measured as the rest of what a play of a whole protocol takes."""
SHORT: Final = 1e-6
"""Seconds for each unit while units are counted: the shortest time that a ledger shows."""
PLAYED_ROWS: Final = 12_000
PACKAGES: Final = ("numpy", "gmpy2", "cryptography")


def calibrate(
    *,
    show: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.thread_time,
) -> Calibration:
    """Measure this machine, in less than half a minute.

    Args:
        show: is called with what is measured.
        clock: gives the processor time of this thread, in seconds.
    """
    started = time.monotonic()
    calibration = Calibration(
        machine=platform.node(),
        processor=_processor(),
        cores=os.cpu_count() or 1,
        versions={
            "sottovoce": VERSION,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        took=0.0,
        costs=[],
        paillier=[],
    )
    works = [RepeatedWork(kind, act, size=size, clock=clock) for kind, size, act in _acts()]
    plays: dict[WorkKind, list[float]] = {kind: [] for kind, _ in PLAYS}
    for _, job in PLAYS:
        run_on_made_up(job, rows=1000)  # The first roles load modules, and make laws of noise.
    for number in range(1, PASSES + 1):
        for work in works:
            name = f"{work.kind.name.lower()} {work.size or ''}".strip()
            show(f"{number} of {PASSES}: {name}")
            work.repeat(seconds=ENOUGH / PASSES)
        for kind, job in PLAYS:
            show(f"{number} of {PASSES}: {kind.name.lower()}, by a play of {job.protocol}")
            record = run_on_made_up(job, rows=PLAYED_ROWS)
            plays[kind].append(sum(processor_seconds(record)))
    all_costs = []
    for work in works:
        costs = work.costs(calibration.pricing())
        calibration = calibration.with_cost(work.kind, robust(costs), size=work.size)
        all_costs.append(costs)
    for kind, job in PLAYS:
        cost = _cost_in_play(calibration, kind, job, measured=robust(plays[kind]))
        calibration = calibration.with_cost(kind, cost)
    show("Paillier")
    stream = RandomStream(b"p" * 32)
    return msgspec.structs.replace(
        calibration,
        paillier=[_paillier(bits, stream) for bits in KEYS],
        took=round(time.monotonic() - started, 1),
        spread=round(spread_of_all([*all_costs, *plays.values()]), 3),
        costs=[
            msgspec.structs.replace(cost, seconds=float(f"{cost.seconds:.4g}"))
            for cost in calibration.costs
        ],
    )


def _acts() -> Iterator[tuple[WorkKind, int, Callable[[], object]]]:
    """List work of each kind, in the order in which kinds need others to be known."""
    stream = RandomStream(b"c" * 32)
    for bits in MODULI:
        yield WorkKind.MULTIPLICATION, bits, _powers(bits, stream)
    for bits in KEYS:
        yield WorkKind.COMB_STEP, 2 * bits, _encryptions(bits, stream)
    for bits in PRIMES:
        yield WorkKind.PRIME_TEST, bits, _prime_tests(bits, stream)
    cells = np.arange(20_000)
    masks = [Mask(stream, 1)] * 4
    yield WorkKind.MASK, 0, lambda: HiddenWords(4, 1 << 20).hide(cells, masks, batch=0, page=0)
    gaussian = DiscreteGaussian(variance=Fraction(10_000))
    geometric = NegativeBinomial(shape=Fraction(1, 2), rate=Fraction(1, 100))

    def draw() -> None:
        gaussian.draw(len(cells), randomness=stream)
        geometric.draw(len(cells), randomness=stream)

    yield WorkKind.NOISE, 0, draw
    yield WorkKind.LAW, 0, _law
    scores = [stream.below(1000) for _ in range(2000)]
    choice = choose(scores, sensitivity=1, epsilon=1.0)
    yield WorkKind.CANDIDATE, 0, lambda: choice.draw(stream)
    yield from _acts_on_tables(stream)


def _acts_on_tables(stream: RandomStream) -> Iterator[tuple[WorkKind, int, Callable[[], object]]]:
    """List work on records, tables of counts, and published rows."""
    domain, generator = DEMO_SCHEMA.domain, stream.generator()
    names = domain.attributes
    sizes = domain.shape(names)
    codes = [generator.integers(size, size=ROWS).astype(np.uint16) for size in sizes]
    pairs: list[tuple[str, ...]] = [*itertools.pairwise(names)]
    table = CodedTable(codes, domain)
    yield WorkKind.COUNTED, 0, lambda: [*table.marginals(pairs)]
    small = Marginal(("a", "b"), np.ones((4, 4)))
    large = Marginal(("a", "b"), np.ones((400, 400)))
    yield WorkKind.TABLE, 0, lambda: [small + small.project(("a",)) for _ in range(200)]
    yield WorkKind.CELL, 0, lambda: [large + large for _ in range(10)]
    rows, columns = np.full((1, 6), 1 / 6), np.full((1, 5), 1 / 5)
    mean, variance = np.full((1, 6, 5), 1 / 30), np.full((1, 6, 5), 1e-3)
    yield WorkKind.ARRAY, 0, lambda: with_margins(mean, variance, rows, columns)
    steps = [
        Step((name,), names[:place][-1:], Marginal.uniform(domain, (*names[:place][-1:], name)))
        for place, name in enumerate(names)
    ]
    chain = Chain(domain, steps)
    yield WorkKind.SAMPLED, 0, lambda: chain.sample(ROWS, generator=generator)
    targets = {pair: Marginal.uniform(domain, pair) for pair in pairs}
    yield WorkKind.RAKED, 0, lambda: row_weights(domain, codes, targets, generator=generator)
    weights = np.full(ROWS, 1 / ROWS)

    def choose_rows() -> None:
        systematic_sample(codes, weights, rows=ROWS, generator=generator)

    yield WorkKind.SORTED, 0, choose_rows


def _law() -> None:
    law = DiscreteGaussian(variance=Fraction(10_000))
    law.draw(1, randomness=RandomStream(b"l" * 32))


def _powers(bits: int, stream: RandomStream) -> Callable[[], object]:
    modulus = mpz(1 << (bits - 1) | stream.below(1 << (bits - 1)) | 1)
    base, exponent = (
        mpz(stream.below(int(modulus))),
        1 << EXPONENT_BITS | stream.below(1 << EXPONENT_BITS),
    )

    def act() -> None:
        for _ in range(5):
            gmpy2.powmod(base, exponent, modulus)
        count_work(WorkKind.MULTIPLICATION, 5 * power_steps(EXPONENT_BITS), size=bits)

    return act


def _encryptions(bits: int, stream: RandomStream) -> Callable[[], object]:
    key = new_key(bits, randomness=stream)

    def act() -> None:
        Encryptor(key.public, randomness=stream, uses=OPERATIONS).encrypt(range(OPERATIONS))

    return act


def _prime_tests(bits: int, stream: RandomStream) -> Callable[[], object]:
    def act() -> None:
        for _ in range(CANDIDATES):
            gmpy2.is_prime(3 << (bits - 2) | stream.below(1 << (bits - 2)) | 3)
        count_work(WorkKind.PRIME_TEST, CANDIDATES, size=bits)

    return act


def _cost_in_play(calibration: Calibration, kind: WorkKind, job: Job, *, measured: float) -> float:
    """Give the cost of a unit from what a play takes beside the work whose cost is known."""
    pricing = calibration.without(WorkKind.LAW).pricing()
    priced = sum(processor_seconds(run_on_made_up(job, rows=PLAYED_ROWS, costs=pricing)))
    return max(0.0, measured - priced) / units_in_play(kind, job)


def units_in_play(kind: WorkKind, job: Job) -> float:
    """Count the units of a kind of work that all roles do in a play."""

    def counted(meter: WorkMeter) -> float:
        return meter.units.get((kind, 0), 0.0) * SHORT

    record = run_on_made_up(job, rows=PLAYED_ROWS, costs=counted)
    return sum(processor_seconds(record)) / SHORT


def _paillier(bits: int, stream: RandomStream) -> PaillierCost:
    """Measure single operations of Paillier's cryptosystem, for people to read."""
    key = new_key(bits, randomness=stream)
    encryptor = Encryptor(key.public, randomness=stream, uses=100)
    encrypted, first = _timed(lambda: encryptor.encrypt(range(OPERATIONS)))
    second = encryptor.encrypt(range(OPERATIONS))
    added, total = _timed(lambda: first + second)
    decrypted, _ = _timed(lambda: key.decrypt(total))
    return PaillierCost(
        bits=bits,
        encrypt=encrypted / OPERATIONS,
        add=added / OPERATIONS,
        decrypt=decrypted / OPERATIONS,
    )


def _timed(act: Callable[[], T]) -> tuple[float, T]:
    began = time.thread_time()
    result = act()
    return time.thread_time() - began, result


def _processor() -> str:
    """Name the processor, where the system tells it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
