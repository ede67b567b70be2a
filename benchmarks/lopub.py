"""LoPub's tables: expectation and maximisation by products of matrices, beside the same record by
record.

    python benchmarks/lopub.py [FILE] [schema=FILE] [epsilon=30.1] [users=60000] [iterations=20]
    [slow=2000] [protocol=1]

Users are drawn from the table and report all attributes; tables of some pairs and of a triple are
sought from their filters. The alternative is what one writes down first: for each record the
posterior of all cells, in numpy, in double precision. It does `slow` of the users, and both have to
agree on these to 1e-6, in single precision and in double. Then, for each epsilon of PrivIncr's
table 2, how far ten pairs' tables from all users are from the truth, by how many steps may be
taken. With protocol=1 also whole runs.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations
from typing import Any

import numpy as np

import sottovoce
from sottovoce.crypto import UserWords
from sottovoce.curator.expectation import most_likely
from sottovoce.parties import DEMO_SCHEMA, Records, blocks, infer, load, merge, read_schema
from sottovoce.parties.demo import demo_table
from sottovoce.privacy.local.bloom import BloomFilters

AGREE = 1e-6


def by_record(likelihoods: list[Any], *, iterations: int) -> Any:
    """Go through the records one by one."""
    shape = tuple(len(own) for own in likelihoods)
    table = np.full(shape, 1 / np.prod(shape))
    for _ in range(iterations):
        sums = np.zeros(shape)
        for user in range(likelihoods[0].shape[1]):
            posterior = table
            for axis, own in enumerate(likelihoods):
                posterior = posterior * own[:, user].reshape(
                    [-1 if at == axis else 1 for at in range(len(shape))]
                )
            sums += posterior / posterior.sum()
        table = sums / likelihoods[0].shape[1]
    return table


def main() -> None:
    words = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    data = next((word for word in sys.argv[1:] if "=" not in word), "")
    users, slow, iterations = (
        int(words.get(name, default))
        for name, default in (("users", 60_000), ("slow", 2000), ("iterations", 20))
    )
    if data:
        schema = read_schema(words["schema"]) if "schema" in words else merge([infer(blocks(data))])
        records = load(data, schema=schema)
    else:
        records = Records(demo_table(), schema=DEMO_SCHEMA)
    names = [name for name in records.domain.attributes if records.domain.cells((name,)) > 1]
    sizes = records.domain.shape(names)
    rows = np.random.default_rng(1).integers(0, len(records), users)
    columns = [np.asarray(records.codes(name)).astype(np.int64)[rows] for name in names]

    def said(epsilon: float) -> tuple[BloomFilters, list[Any]]:
        filters = BloomFilters(sizes, epsilon=epsilon, key=b"benchmark")
        started = time.perf_counter()
        reports = filters.report(
            columns, users=np.arange(users), words=UserWords(b"benchmark of 16b")
        )
        made = time.perf_counter()
        matches = filters.matches(reports)
        print(
            f"epsilon {epsilon:g}, f {2 * float(filters.flips):.4f}: {filters.bits} bits a user, "
            f"{users / (made - started):,.0f} users/s report, {users / (time.perf_counter() - made):,.0f} users/s are read",
            flush=True,
        )
        return filters, matches

    filters, matches = said(float(words.get("epsilon", 30.1)))
    for places in ((0, 1), (0, len(sizes) - 2), (5, 7, 9) if len(sizes) > 9 else (0, 1, 2)):
        exact = [filters.likelihood(matches[at][:, :slow], kind=np.float64) for at in places]
        started = time.perf_counter()
        table = by_record(exact, iterations=iterations)
        theirs = (time.perf_counter() - started) / slow / iterations
        single = [own.astype(np.float32) for own in exact]
        fits = [most_likely(own, iterations=iterations) for own in (exact, single)]
        apart = [float(np.abs(own.table - table).max()) for own in fits]
        every = [filters.likelihood(matches[at]) for at in places]
        started = time.perf_counter()
        found = most_likely(every, iterations=iterations)
        ours = (time.perf_counter() - started) / users / found.iterations
        agreed = (
            "agree" if max(apart) < AGREE and fits[0].iterations == iterations else "DO NOT AGREE"
        )
        print(
            f"{' x '.join(str(sizes[at]) for at in places)}: a step of {users:,} users {users * ours:.4f} s, record by record "
            f"{users * theirs:.2f} s: {theirs / ours:,.0f} times; tables {agreed}, to {apart[0]:.1e} in double precision and "
            f"{apart[1]:.1e} in single",
            flush=True,
        )

    pairs = list(combinations(range(len(sizes)), 2))[::10][:10]
    truth = {
        (one, other): np.bincount(
            columns[one] * sizes[other] + columns[other], minlength=sizes[one] * sizes[other]
        )
        / users
        for one, other in pairs
    }
    uniform = np.mean([np.abs(own - 1 / len(own)).sum() / 2 for own in truth.values()])
    print(
        f"distance of {len(pairs)} pairs' tables (all cells alike: {uniform:.3f}), by steps at most"
    )
    for epsilon in (1.0, 4.0, 8.0, 30.1, 164.8, 441.7):
        filters, matches = said(epsilon)
        for most in (50, 100, 300):
            started = time.perf_counter()
            fits = [
                most_likely([filters.likelihood(matches[at]) for at in own], iterations=most)
                for own in pairs
            ]
            seconds = time.perf_counter() - started
            apart = [
                float(np.abs(fit.table.reshape(-1) - own).sum()) / 2
                for fit, own in zip(fits, truth.values(), strict=True)
            ]
            steps = np.mean([fit.iterations for fit in fits])
            print(
                f"  {most:4} steps: {np.mean(apart):.4f} in {seconds:.1f} s, {steps:.0f} steps a table",
                flush=True,
            )
    for epsilon in (1.0, 8.0, 30.1, 164.8, 441.7) if "protocol" in words else ():
        given: dict[str, Any] = {"schema": words["schema"]} if "schema" in words else {}
        run = sottovoce.run("lopub", data or "demo", epsilon=epsilon, seed=1, **given)
        report = run.report
        print(
            f"run at epsilon {epsilon:g}: {report['outcome']['edges']} edges, "
            f"2-way distance {run.judgement['utility']['tvd']['2']:.4f}, {report['seconds']:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
