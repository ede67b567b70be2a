"""LoPub's tables: expectation and maximisation by matrix products, beside loops over records.

    python benchmarks/lopub.py [FILE] [schema=FILE] [epsilon=30.1] [users=60000] [iterations=20]
    [slow=2000] [protocol=1]

Users are drawn from the table and report all attributes. Tables of some pairs and of a triple are
estimated from their filters. The alternative computes the posterior of all cells for each record,
with numpy in double precision. It takes `slow` of the users, and both must agree on these to 1e-6,
in single and in double precision. Then, for each epsilon of PrivIncr's table 2, the script prints
the distances of ten pairs' tables by the largest number of steps. With protocol=1 it also prints
whole runs.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations
from typing import Any

import numpy as np

import sottovoce
from sottovoce.crypto import UserWords
from sottovoce.curator.expectation import most_likely, repeat_steps
from sottovoce.parties import DEMO_SCHEMA, Records, blocks, infer, load, merge, read_schema
from sottovoce.parties.demo import demo_table
from sottovoce.privacy.local.bloom import BloomFilters

AGREE = 1e-6


def by_record(likelihoods: list[Any], *, iterations: int) -> Any:
    """Compute the posteriors record by record."""
    shape = tuple(len(likelihood) for likelihood in likelihoods)
    table = np.full(shape, 1 / np.prod(shape))
    for _ in range(iterations):
        sums = np.zeros(shape)
        for user in range(likelihoods[0].shape[1]):
            posterior = table
            for axis, likelihood in enumerate(likelihoods):
                posterior = posterior * likelihood[:, user].reshape(
                    [-1 if other == axis else 1 for other in range(len(shape))]
                )
            sums += posterior / posterior.sum()
        table = sums / likelihoods[0].shape[1]
    return table


def main() -> None:
    words = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    data = next((word for word in sys.argv[1:] if "=" not in word), "")
    users, few_users, iterations = (
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

    def make_reports(epsilon: float) -> tuple[BloomFilters, list[Any]]:
        filters = BloomFilters(sizes, epsilon=epsilon, key=b"benchmark")
        started = time.perf_counter()
        reports = filters.report(
            columns, users=np.arange(users), words=UserWords(b"benchmark of 16b")
        )
        reported = time.perf_counter()
        matches = filters.matches(reports)
        reading = time.perf_counter() - reported
        print(
            f"epsilon {epsilon:g}, f {2 * float(filters.flips):.4f}: {filters.bits} bits a user, "
            f"{users / (reported - started):,.0f} users/s report, "
            f"{users / reading:,.0f} users/s are read",
            flush=True,
        )
        return filters, matches

    filters, matches = make_reports(float(words.get("epsilon", 30.1)))
    for places in ((0, 1), (0, len(sizes) - 2), (5, 7, 9) if len(sizes) > 9 else (0, 1, 2)):
        exact = [
            filters.likelihood(matches[place][:, :few_users], kind=np.float64) for place in places
        ]
        started = time.perf_counter()
        table = by_record(exact, iterations=iterations)
        theirs = (time.perf_counter() - started) / few_users / iterations
        single = [likelihoods_of_table.astype(np.float32) for likelihoods_of_table in exact]
        fits = [
            repeat_steps(likelihoods_of_table, iterations=iterations)
            for likelihoods_of_table in (exact, single)
        ]
        differences = [
            float(np.abs(likelihoods_of_table.table - table).max()) for likelihoods_of_table in fits
        ]
        likelihoods = [filters.likelihood(matches[place]) for place in places]
        started = time.perf_counter()
        fit_of_all = repeat_steps(likelihoods, iterations=iterations)
        ours = (time.perf_counter() - started) / users / fit_of_all.iterations
        agreement = (
            "agree"
            if max(differences) < AGREE and fits[0].iterations == iterations
            else "DO NOT AGREE"
        )
        print(
            f"{' x '.join(str(sizes[at]) for at in places)}: "
            f"a step of {users:,} users {users * ours:.4f} s, "
            f"record by record {users * theirs:.2f} s: {theirs / ours:,.0f} times; "
            f"tables {agreement}, to {differences[0]:.1e} in double precision "
            f"and {differences[1]:.1e} in single",
            flush=True,
        )

    pairs = list(combinations(range(len(sizes)), 2))[::10][:10]
    truth = {
        (first, second): np.bincount(
            columns[first] * sizes[second] + columns[second], minlength=sizes[first] * sizes[second]
        )
        / users
        for first, second in pairs
    }
    uniform = np.mean(
        [
            np.abs(likelihoods_of_table - 1 / len(likelihoods_of_table)).sum() / 2
            for likelihoods_of_table in truth.values()
        ]
    )
    print(f"distance of {len(pairs)} pairs' tables (uniform: {uniform:.3f}), by steps at most")
    for epsilon in (1.0, 4.0, 8.0, 30.1, 164.8, 441.7):
        filters, matches = make_reports(epsilon)
        for name, search, max_steps in (
            ("plain", repeat_steps, 100),
            ("plain", repeat_steps, 300),
            ("accelerated", most_likely, 300),
        ):
            started = time.perf_counter()
            fits = [
                search(
                    [filters.likelihood(matches[place]) for place in likelihoods_of_table],
                    iterations=max_steps,
                )
                for likelihoods_of_table in pairs
            ]
            seconds = time.perf_counter() - started
            differences = [
                float(np.abs(fit.table.reshape(-1) - likelihoods_of_table).sum()) / 2
                for fit, likelihoods_of_table in zip(fits, truth.values(), strict=True)
            ]
            steps = np.mean([fit.iterations for fit in fits])
            print(
                f"  {name}, {max_steps} steps at most: {np.mean(differences):.4f} "
                f"in {seconds:.1f} s, {steps:.0f} steps a table",
                flush=True,
            )
    for epsilon in (1.0, 8.0, 30.1, 164.8, 441.7) if "protocol" in words else ():
        options: dict[str, Any] = {"schema": words["schema"]} if "schema" in words else {}
        run = sottovoce.run("lopub", data or "demo", epsilon=epsilon, seed=1, **options)
        report = run.report
        print(
            f"run at epsilon {epsilon:g}: {report['outcome']['edges']} edges, "
            f"2-way distance {run.judgement['utility']['tvd']['2']:.4f}, {report['seconds']:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
