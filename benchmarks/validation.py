"""How well `plan`, `replay` and `virtual` predict: a matrix of real runs on slow networks.

    python benchmarks/validation.py measure OUT.csv [REPEATS]   # an hour with three repeats
    python benchmarks/validation.py table OUT.csv               # the tables of docs/validation.md

A cell is a delay, a bandwidth, a number of parties and a protocol. Its runs are real ones over MPI,
each role in a network namespace of its own, with a relay in between (`namespaces`). Beside each run
are three predictions:

- replay: the run's own ledger, with the computation that it measured, on the same network;
- plan: the forecast, from made-up records;
- virtual: a run with the same seed on the transport `virtual`.

The network part of each is its seconds less those of the same messages and the same computation on
a network without delays. So it does not depend on how busy the machine was, or only a little: the
load is in the table, too. A file that is there is continued.
"""

from __future__ import annotations

import csv
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from namespaces import MISSING, SlowNetwork, is_possible, network

import sottovoce
from sottovoce.network import NETWORKS, Network, parts_of, replay
from sottovoce.report.replaying import replay_run, seconds_after
from sottovoce.runs.settings import settings
from sottovoce.studies.forecast import forecast

DELAYS: Final = (10.0, 50.0, 100.0)
"""Milliseconds one way."""
RATES: Final = (0.0, 20.0, 5.0)
"""Mbit/s of each host's uplink, 0 for no limit."""
ALL_NETWORKS: Final = tuple((delay, rate) for delay in DELAYS for rate in RATES)
NETWORKS_OF: Final = {3: ALL_NETWORKS, 8: ((10.0, 0.0), (50.0, 20.0), (100.0, 5.0))}
"""The networks of each number of parties."""
ROWS: Final = 45_222
FEW: Final = "sex,income,race,education,workclass"
CASES: Final[Mapping[str, tuple[str, dict[str, str], dict[str, Any]]]] = {
    "head-count": ("head-count", {}, {}),
    "dp-subn masks": ("dp-subn", {"aggregator": "masks"}, {}),
    "dp-subn paillier": (
        "dp-subn",
        {"aggregator": "paillier"},
        {"key_bits": 1024, "insecure_test_keys": True},
    ),
    "calm": ("calm", {}, {"columns": FEW.split(",")}),
}
"""Protocol, parameters and further options of each case."""
COLUMNS: Final = (
    "case",
    "parties",
    "delay_ms",
    "mbit",
    "repeat",
    "load",
    "measured",
    "measured_network",
    "replay",
    "replay_network",
    "plan",
    "plan_network",
    "virtual",
    "virtual_network",
)
PREDICTIONS: Final = ("replay", "plan", "virtual")
Row: TypeAlias = dict[str, Any]
Cell: TypeAlias = tuple[str, int, float, float]


def measure(out: Path, *, repeats: int) -> None:
    """Measure all cells that are not in the file, one network after another."""
    if not is_possible():
        print(MISSING)
        return
    done = {(cell_of(row), int(row["repeat"])) for row in read(out)}
    for repeat in range(repeats):
        for parties, networks in NETWORKS_OF.items():
            for delay, rate in networks:
                cells: list[Cell] = [(case, parties, delay, rate) for case in CASES]
                left = [cell for cell in cells if (cell, repeat) not in done]
                if left:
                    append(out, measure_network(left, repeat=repeat))


def measure_network(cells: Sequence[Cell], *, repeat: int) -> Iterator[Row]:
    """Run the cells of one network, and predict each."""
    _, parties, delay, rate = cells[0]
    modelled = network(delay / 1e3, rate * 1e6)
    with (
        tempfile.TemporaryDirectory() as name,
        SlowNetwork(parties + 1, delay=delay / 1e3, rate=rate * 1e6) as slow,
    ):
        for cell in cells:
            case = cell[0]
            out = Path(name) / case.replace(" ", "-")
            load = os.getloadavg()[0]
            try:
                slow.run(out, words(case, seed=repeat + 1), folder=Path(name))
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                print(f"{cell}: {error}", file=sys.stderr)
                continue
            replayed, _ = replay_run(out, modelled)
            computed, _ = replay_run(out, NETWORKS["none"])
            planned = plan(case, parties=parties, seed=repeat + 1, modelled=modelled)
            virtual = simulate(case, parties=parties, seed=repeat + 1, modelled=modelled)
            measured = replayed.measured_seconds
            yield dict(
                zip(
                    COLUMNS,
                    (
                        *cell,
                        repeat,
                        f"{load:.1f}",
                        measured,
                        measured - computed.seconds,
                        replayed.seconds,
                        replayed.seconds - computed.seconds,
                        *planned,
                        *virtual,
                    ),
                    strict=True,
                )
            )


def words(case: str, *, seed: int) -> list[str]:
    """Give the words of the command."""
    protocol, parameters, options = CASES[case]
    words = [protocol, "--rows", str(ROWS), "--seed", str(seed)]
    words += [word for name, value in parameters.items() for word in ("--set", f"{name}={value}")]
    if "key_bits" in options:
        words += ["--key-bits", str(options["key_bits"]), "--insecure-test-keys"]
    return [*words, "--columns", FEW] if "columns" in options else words


def plan(case: str, *, parties: int, seed: int, modelled: Network) -> tuple[float, float]:
    """Forecast a case: the seconds, and their network part."""
    protocol, parameters, options = CASES[case]
    chosen = {"protocol": protocol, "set": parameters, "parties": parties, "seed": seed, **options}
    both = forecast(
        settings(chosen).job, rows=ROWS, networks=[modelled, NETWORKS["none"]], method="played"
    )
    seconds, computed = (timing.seconds for _, timing in both if timing is not None)
    return seconds, seconds - computed


def simulate(case: str, *, parties: int, seed: int, modelled: Network) -> tuple[float, float]:
    """Run a case on the virtual network: the seconds, and their network part."""
    protocol, parameters, options = CASES[case]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "measured.toml"
        latency, uplink = modelled.between.latency, modelled.host.uplink.bandwidth
        path.write_text(
            f'from = "none"\npolling = "2 ms"\nlatency = "{1e3 * latency:g} ms"\n'
            + (f'uplink = "{uplink / 1e6:g} Mbit/s"\n' if uplink < float("inf") else "")
        )
        run = sottovoce.run(
            protocol,
            rows=ROWS,
            parties=parties,
            seed=seed,
            judge=False,
            transport="virtual",
            network=str(path),
            **options,
            **parameters,
        )
    record = run.record
    last = seconds_after(record.entries, until=record.seconds - record.closing_seconds)
    computed = replay(parts_of(record.entries, parties=parties), NETWORKS["none"], last=last)
    return record.seconds, record.seconds - computed.seconds


def cell_of(row: Row) -> Cell:
    return row["case"], int(row["parties"]), float(row["delay_ms"]), float(row["mbit"])


def read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, rows: Iterable[Row]) -> None:
    """Add rows to the file as they come."""
    begins = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if begins:
            writer.writeheader()
        for row in rows:
            writer.writerow(
                {name: f"{x:.6f}" if isinstance(x, float) else x for name, x in row.items()}
            )
            file.flush()
            errors = ", ".join(
                f"{name} {error(row, name, '_network'):+.1%}" for name in PREDICTIONS
            )
            print(
                f"{time.strftime('%H:%M:%S')} {cell_of(row)} load {row['load']}: "
                f"{row['measured']:.3f} s; network part {errors}",
                flush=True,
            )


def error(row: Row, prediction: str, part: str) -> float:
    """Give the relative error of a prediction, of the seconds or of the network part."""
    return float(row[f"{prediction}{part}"]) / float(row[f"measured{part}"]) - 1


def table(path: Path) -> None:
    """Print the errors by case, and the cells with all figures, as Markdown."""
    cells = [median_of(rows) for rows in by(read(path), cell_of).values()]
    print("| protocol | cells | " + " | ".join(PREDICTIONS) + " |\n|" + " --- |" * 5)
    for part in ("_network", ""):
        groups = {**by(cells, lambda row: row["case"]), "all": cells}
        for case, members in groups.items():
            texts = [summary([error(row, name, part) for row in members]) for name in PREDICTIONS]
            kind = "network part" if part else "seconds"
            print(f"| {case}, {kind} | {len(members)} | {' | '.join(texts)} |")
    print()
    print(
        "| protocol | parties | D | Mbit/s | seconds | network part "
        "| replay | plan | virtual |\n|" + " --- |" * 9
    )
    for row in cells:
        case, parties, delay, rate = cell_of(row)
        errors = [f"{100 * error(row, name, '_network'):+.1f} %" for name in PREDICTIONS]
        print(
            f"| {case} | {parties} | {delay:g} ms | {f'{rate:g}' if rate else 'unlimited'} "
            f"| {float(row['measured']):.3f} | {float(row['measured_network']):.3f} "
            f"| {' | '.join(errors)} |"
        )


def median_of(rows: Sequence[Row]) -> Row:
    """Give the medians of all figures of a cell."""
    figures = COLUMNS[COLUMNS.index("load") :]
    medians = {name: statistics.median(float(row[name]) for row in rows) for name in figures}
    return {**rows[0], **medians}


def summary(errors: Sequence[float]) -> str:
    sizes = [abs(value) for value in errors]
    return f"{100 * statistics.median(sizes):.1f} %, {100 * max(sizes):.0f} %"


def by(rows: Sequence[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended: the namespaces are removed"))
    match sys.argv[1:]:
        case ["measure", path, *rest]:
            measure(Path(path), repeats=int(rest[0]) if rest else 3)
        case ["table", path]:
            table(Path(path))
        case _:
            sys.exit(__doc__)
