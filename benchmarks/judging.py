"""Loading, sampling and judging: seconds, rows a second and peak memory, each in its own process.

    python benchmarks/judging.py [MILLIONS]

Loading: a CSV of 5 million demo rows (or MILLIONS), as one of four parties, beside pandas' own
`read_csv`. Sampling: 10 million rows of a network of 15 attributes, beside numpy's
`Generator.choice` for each group of rows. Judging: all 2-way and 3-way tables of 15 attributes and
of 52 bits.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(title: str, elapsed: float, text: str) -> None:
    print(f"  {title:<24} {elapsed:6.1f} s, peak {peak():6.0f} MB, {text}")


def make(path: str, millions: float) -> None:
    from sottovoce.parties.demo import demo_blocks

    with Path(path).open("w") as file:
        for number, block in enumerate(demo_blocks(int(millions * 1e6), seed=1)):
            block.frame().to_csv(file, index=False, header=number == 0)


def load_ours(path: str) -> None:
    from sottovoce.parties import DEMO_SCHEMA, load, read_split

    start = time.perf_counter()
    records = load(path, schema=DEMO_SCHEMA, party=1, split=read_split("even", parties=4))
    elapsed = time.perf_counter() - start
    show("ours, a quarter kept", elapsed, f"{len(records):,} rows")


def load_whole(path: str) -> None:
    from sottovoce.parties import DEMO_SCHEMA, load

    start = time.perf_counter()
    records = load(path, schema=DEMO_SCHEMA)
    show("ours, all rows", time.perf_counter() - start, f"{len(records):,} rows")


def load_pandas(path: str) -> None:
    import pandas as pd

    from sottovoce.parties import DEMO_SCHEMA, Bins

    start = time.perf_counter()
    table = pd.read_csv(path)
    show("pandas read_csv", time.perf_counter() - start, f"{len(table):,} rows, not coded")
    for name, rule in DEMO_SCHEMA.attributes.items():
        if isinstance(rule, Bins):
            table[name] = pd.cut(table[name], list(rule.edges), labels=False, include_lowest=True)
        else:
            table[name] = pd.Categorical(table[name].astype(str), categories=rule.labels).codes
    show("pandas, coded", time.perf_counter() - start, f"{len(table):,} rows")


def network() -> object:
    """Learn a network of degree 2 from the demo table.

    The parents of an attribute are the two most informative ones before it.
    """
    from sottovoce.curator import BayesianNetwork, Marginal, mutual_information
    from sottovoce.parties import DEMO_SCHEMA, load

    records = load("demo", schema=DEMO_SCHEMA)
    domain = records.domain
    parents: dict[str, list[str]] = {}
    for index, name in enumerate(domain.attributes):

        def information(other: str, name: str = name) -> float:
            joint = Marginal.of(domain, (name, other), records.marginal((name, other)))
            return mutual_information(joint, [name], base=2)

        parents[name] = sorted(domain.attributes[:index], key=information)[-2:]
    structure = BayesianNetwork(domain, parents)
    families = structure.maximal_families
    return structure.fit(
        [Marginal.of(domain, family, records.marginal(family)) for family in families]
    )


def sample(rows: int = 10_000_000) -> None:
    from sottovoce.curator import Chain

    chain = network()
    assert isinstance(chain, Chain)
    generator = np.random.default_rng(0)
    start = time.perf_counter()
    for _ in chain.blocks(rows, generator=generator):
        pass
    ours = rows / (time.perf_counter() - start)
    few_rows, start = 200_000, time.perf_counter()
    by_groups(chain, few_rows, generator)
    theirs = few_rows / (time.perf_counter() - start)
    print(
        f"  {'ours':<24} {ours / 1e6:6.2f} million rows a second "
        f"({rows / ours:.1f} s for {rows:,}), peak {peak():.0f} MB"
    )
    print(
        f"  {'choice, group by group':<24} {theirs / 1e6:6.2f} million rows a second; "
        f"ours is {ours / theirs:.1f} times as fast"
    )


def by_groups(chain: object, rows: int, generator: np.random.Generator) -> None:
    """Draw with numpy's `choice`, for the rows of each configuration of the parents."""
    drawn: dict[int, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    for draw in chain._draws:  # type: ignore[attr-defined]  # noqa: SLF001
        configurations = np.zeros(rows, np.int64)
        for parent, size in zip(draw.parents, draw.sizes, strict=True):
            configurations = configurations * size + drawn[parent]
        column = np.zeros(rows, np.int64)
        order = np.argsort(configurations, kind="stable")
        different, starts = np.unique(configurations[order], return_index=True)
        for configuration, rows_of_group in zip(
            different, np.split(order, starts[1:]), strict=True
        ):
            column[rows_of_group] = generator.choice(
                draw.conditional.shape[1], len(rows_of_group), p=draw.conditional[configuration]
            )
        drawn[draw.head] = column


def judge() -> None:
    from sottovoce.evaluation.distances import distance
    from sottovoce.parties import DEMO_SCHEMA, load

    real = load("demo", schema=DEMO_SCHEMA)
    synthetic = load("demo", schema=DEMO_SCHEMA, seed=1)
    for title, first, second in (
        ("15 attributes", real, synthetic),
        ("52 bits", real.binary(), synthetic.binary()),
    ):
        for ways in (2, 3):
            start = time.perf_counter()
            result = distance(first, second, ways=ways)
            elapsed = time.perf_counter() - start
            show(f"{title}, {ways}-way", elapsed, f"{result.marginals:,} marginals")


def main() -> None:
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "people.csv"))
        make(path, millions)
        size = Path(path).stat().st_size / 2**20
        print(f"loading {millions:g} million rows of 15 attributes ({size:.0f} MB of CSV)")
        for job in ("load_ours", "load_whole", "load_pandas"):
            alone(job, path)
    print("sampling a network of 15 attributes, degree 2")
    alone("sample")
    print("judging")
    alone("judge")


def alone(job: str, *words: str) -> None:
    """Run a job in its own process, because the peak of memory is that of a process."""
    sys.stdout.flush()
    subprocess.run([sys.executable, __file__, "--job", job, *words], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        globals()[sys.argv[2]](*sys.argv[3:])
    else:
        main()
