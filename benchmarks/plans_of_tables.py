"""Plans of protocols whose messages depend on records, beside runs on tables that they do not know.

    python benchmarks/plans_of_tables.py [FILE ...] [protocols=dp-subn,adaptive-pairs] [tables=6]
                                         [parties=3] [network=lan]

A plan plays on made-up records of a schema, and a run on a table. For each table and protocol the
script prints the bytes of all frames and the seconds of both, and the ratios of the plan's to the
run's. The runs are on the transport `virtual`, with the same calibration (`sottovoce calibrate`)
and the same seed of nothing: each draws anew. Tables are files, of which a schema is proposed, and
so many made-up ones (`made_up_tables`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from made_up_tables import made_up_table

import sottovoce


def main() -> None:
    files = [word for word in sys.argv[1:] if "=" not in word]
    settings = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    protocols = settings.get("protocols", "dp-subn,adaptive-pairs").split(",")
    parties, network = int(settings.get("parties", 3)), settings.get("network", "lan")
    ratios: dict[str, list[tuple[float, float]]] = {protocol: [] for protocol in protocols}
    print(
        f"{'table':<22} {'protocol':<16} {'bytes':>9} {'planned':>9} {'seconds':>8} {'planned':>8}"
    )
    for name, frame, schema in tables(files, made_up=int(settings.get("tables", 6))):
        for protocol in protocols:
            options: dict[str, Any] = {"parties": parties, "network": network, "schema": schema}
            run = sottovoce.run(
                protocol,
                frame,
                transport="virtual",
                computation="calibrated",
                judge=False,
                **options,
            )
            plan = sottovoce.plan(protocol, rows=len(frame), alternatives=False, **options)
            sent, took = run.report["communication"]["frame_bytes"], run.report["seconds"]
            planned = plan.forecast.seconds or np.nan
            ratio = plan.forecast.frame_bytes / sent, planned / took
            ratios[protocol].append(ratio)
            print(
                f"{name:<22} {protocol:<16} {sent:>9,} {ratio[0]:>9.2f} {took:>8.2f} "
                f"{ratio[1]:>8.2f}",
                flush=True,
            )
    for protocol, pairs in ratios.items():
        for what, values in zip(("bytes", "seconds"), np.array(pairs).T, strict=True):
            print(
                f"{protocol}, {what}: {np.median(values):.2f} times those of the run in the ",
                end="",
            )
            print(f"median, {values.min():.2f} to {values.max():.2f}")


def tables(
    files: list[str], *, made_up: int
) -> Iterator[tuple[str, pd.DataFrame, Mapping[str, Any]]]:
    """Read the files, and make up so many tables; each has a name and a schema."""
    for file in files:
        frame = pd.read_csv(file, low_memory=False)
        yield Path(file).name.partition(".")[0], frame, sottovoce.propose_schema(frame).schema
    for number in range(made_up):
        table = made_up_table(number)
        yield f"{number} ({table.structure})", table.frame, table.schema


if __name__ == "__main__":
    main()
