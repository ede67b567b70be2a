"""FLAIM and AugFLAIM beside what DistAIM computes, AIM of many parties, and adaptive-pairs.

    python benchmarks/recent.py [FILE:ATTRIBUTE ...] [seeds=3] [epsilon=1] [parties=3,10]
                                [splits=even,by] [bins=16] [rounds=10] [protocols=...]

Without a file it takes the built-in demo table and its attribute `relationship`. Records go to
parties at random (`even`), sorted by the attribute and cut evenly (`by`), or so that each of its
labels is at one party (`labels`). Numbers with more values than bins are cut at quantiles.

DistAIM is AIM inside a secure computation over shares of all tables of the workload, so it
publishes what AIM of one trusted holder does: its line is `aim` with one party, whatever K and the
partition are. Below it stands what the parties would have to send for it at least: each a share of
every cell of the workload to each of two servers, 8 bytes a cell, once.

The script prints the average total variation distance of two-way and three-way marginals of the
published rows from all parties' records, as means over seeds, with the standard deviation of a
single two-way distance; the ratio to DistAIM's line; the number of message rounds, the megabytes of
all messages, and seconds. Sums are masked, because noise does not depend on keys.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from best_table import binned

import sottovoce
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Domain
from sottovoce.protocols.aim.workload import workload_of

PROTOCOLS: Final = "flaim,aug-flaim,aim,adaptive-pairs"
WORD: Final = 8
"""Bytes of a share of a cell, as the paper's public code counts them."""
SERVERS: Final = 2
"""Fewest servers among which a secure computation can be."""


def run_once(protocol: str, frame: pd.DataFrame, **options: Any) -> list[float]:
    """Run a protocol; give two-way and three-way distance, rounds, megabytes and seconds."""
    run = sottovoce.run(protocol, frame, judge=False, aggregator="masks", **options)
    two, three = sottovoce.evaluate(frame, run.synthetic).distances[:2]
    sent = run.report["communication"]
    return [
        two.average,
        three.average,
        sent["rounds"],
        sent["frame_bytes"] / 1e6,
        run.report["seconds"],
    ]


def show(title: str, runs: list[list[float]], first: float) -> float:
    """Print the means over seeds; give the distance that ratios refer to."""
    two, three, rounds, megabytes, seconds = np.mean(runs, axis=0)
    deviation = np.std([figures[0] for figures in runs], ddof=1) if len(runs) > 1 else np.nan
    first = first or float(two)
    print(
        f"  {title:<32} {two:.4f} ({deviation:.4f}) / {three:.4f}  {two / first:5.2f}"
        f"  {rounds:5.0f} rounds  {megabytes:7.2f} MB  {seconds:5.1f} s",
        flush=True,
    )
    return first


def distaim_megabytes(frame: pd.DataFrame, *, parties: int) -> float:
    """Compute the least that parties send for DistAIM: shares of all tables of the workload."""
    domain = Domain({name: tuple(sorted(frame[name].unique())) for name in frame.columns})
    cells = sum(map(domain.cells, workload_of(domain, max_cells=100_000).weights))
    return parties * SERVERS * WORD * cells / 1e6


def compare(frame: pd.DataFrame, attribute: str, settings: dict[str, Any]) -> None:
    """Print the lines of one table."""
    seeds, epsilon = range(int(settings["seeds"])), float(settings["epsilon"])
    holders = [int(text) for text in settings["parties"].split(",")]
    runs = [run_once("aim", frame, parties=1, epsilon=epsilon, seed=seed) for seed in seeds]
    first = show("distaim: aim, one holder", runs, 0.0)
    for parties in holders:
        least = distaim_megabytes(frame, parties=parties)
        print(f"    shares of all tables, K = {parties}: at least {least:.2f} MB", flush=True)
    for parties in holders:
        for kind in settings["splits"].split(","):
            split = kind if kind == "even" else f"{kind}:{attribute}@1"
            for protocol in settings["protocols"].split(","):
                options: dict[str, Any] = {"parties": parties, "epsilon": epsilon, "split": split}
                if protocol in {"flaim", "aug-flaim"}:
                    options["rounds"] = int(settings["rounds"])
                runs = [run_once(protocol, frame, seed=seed, **options) for seed in seeds]
                show(f"{protocol}, K = {parties}, {kind}", runs, first)


def main() -> None:
    words = [word for word in sys.argv[1:] if "=" not in word]
    settings: dict[str, Any] = {
        "seeds": 3,
        "epsilon": 1.0,
        "parties": "3,10",
        "splits": "even,by",
        "bins": 16,
        "rounds": 10,
        "protocols": PROTOCOLS,
        **dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word),
    }
    for word in words or ["demo:relationship"]:
        file, _, attribute = word.rpartition(":")
        frame = demo_table() if file == "demo" else pd.read_csv(file)
        frame = binned(frame, bins=int(settings["bins"]))
        print(
            f"{Path(file).name} by {attribute}: {len(frame):,} rows, {len(frame.columns)} "
            f"attributes; epsilon {float(settings['epsilon']):g}, delta 1e-9, "
            f"{settings['seeds']} seeds, T = {settings['rounds']}"
        )
        compare(frame, attribute, settings)


if __name__ == "__main__":
    main()
