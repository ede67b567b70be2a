"""How well `plan`, `replay` and `virtual` predict: a matrix of real runs on slow networks.

    python benchmarks/validation.py measure FOLDER [REPEATS]    # an hour with three repeats
    python benchmarks/validation.py table FOLDER                # the tables of docs/validation.md

A cell is a delay, a bandwidth, a number of parties and a protocol. Its runs are real ones over MPI,
each role in a network namespace of its own, with a relay in between (`namespaces`). Beside each run
are three predictions:

- replay: the run's own ledger, with the computation that it measured, on the same network;
- plan: the forecast, from made-up records;
- virtual: a run with the same seed on the transport `virtual`.

All roles share this machine's cores. So they do in `plan` and `virtual` (`cores` of a network). In
a replay the measured computation holds what each role waited for a core.

The network part of each is its seconds less those of the same messages and the same computation on
a network without delays. So it does not depend on how busy the machine was, or only a little: the
load is in the table, too. The folder keeps report and ledger of every run, so predictions can be
made again, and runs that are there are not repeated.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

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
PREDICTIONS: Final = ("replay", "plan", "virtual")
MAX_REPEATS: Final = 9
Row: TypeAlias = dict[str, Any]


class Cell(NamedTuple):
    """Runs that differ by their seed alone."""

    case: str
    parties: int
    delay: float
    rate: float

    def name(self, repeat: int) -> str:
        """Name the folder of one run."""
        return f"{self.case} {self.parties} {self.delay:g}ms {self.rate:g}mbit {repeat}"


def measure(folder: Path, *, repeats: int) -> None:
    """Make all runs that are not in the folder, one network after another."""
    if not is_possible():
        print(MISSING)
        return
    for repeat in range(1, repeats + 1):
        for parties, networks in NETWORKS_OF.items():
            for delay, rate in networks:
                cells = [Cell(case, parties, delay, rate) for case in CASES]
                left = [cell for cell in cells if not (folder / cell.name(repeat)).exists()]
                if left:
                    measure_network(left, repeat=repeat, folder=folder)


def measure_network(cells: Sequence[Cell], *, repeat: int, folder: Path) -> None:
    """Make the runs of one network, and keep their reports and ledgers."""
    _, parties, delay, rate = cells[0]
    with (
        tempfile.TemporaryDirectory() as name,
        SlowNetwork(parties + 1, delay=delay / 1e3, rate=rate * 1e6) as slow,
    ):
        for cell in cells:
            out = Path(name) / "run"
            load = os.getloadavg()[0]
            try:
                slow.run(out, words(cell.case, seed=repeat), folder=Path(name))
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                print(f"{cell}: {error}", file=sys.stderr)
                continue
            kept = folder / cell.name(repeat)
            kept.mkdir(parents=True)
            for file in ("report.json", "ledger.csv"):
                shutil.move(out / file, kept / file)
            (kept / "load").write_text(f"{load:.1f}")
            shutil.rmtree(out)
            print(f"{time.strftime('%H:%M:%S')} {cell.name(repeat)} load {load:.1f}", flush=True)


def predictions(cell: Cell, run: Path, *, repeat: int) -> Row:
    """Give the seconds and the network part of a run, as measured and as predicted."""
    modelled = network(cell.delay / 1e3, cell.rate * 1e6)
    replayed, _ = replay_run(run, modelled)
    computed = replay_run(run, NETWORKS["none"])[0].seconds
    measured = replayed.measured_seconds
    seconds = {
        "measured": (measured, measured - computed),
        "replay": (replayed.seconds, replayed.seconds - computed),
        "plan": plan(cell.case, parties=cell.parties, seed=repeat, modelled=modelled),
        "virtual": simulate(cell.case, parties=cell.parties, seed=repeat, modelled=modelled),
    }
    return {
        "cell": cell,
        "load": float((run / "load").read_text()),
        **{name: whole for name, (whole, _) in seconds.items()},
        **{f"{name}_network": part for name, (_, part) in seconds.items()},
    }


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
    networks = [each.with_cores(os.cpu_count()) for each in (modelled, NETWORKS["none"])]
    both = forecast(settings(chosen).job, rows=ROWS, networks=networks, method="played")
    seconds, computed = (timing.seconds for _, timing in both if timing is not None)
    return seconds, seconds - computed


def simulate(case: str, *, parties: int, seed: int, modelled: Network) -> tuple[float, float]:
    """Run a case on the virtual network: the seconds, and their network part."""
    protocol, parameters, options = CASES[case]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "measured.toml"
        latency, uplink = modelled.between.latency, modelled.host.uplink.bandwidth
        polling = modelled.stack.polling_seconds
        path.write_text(
            f'from = "none"\npolling = "{1e3 * polling:g} ms"\nlatency = "{1e3 * latency:g} ms"\n'
            f"cores = {os.cpu_count() or 1}\n"
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


def rows_of(folder: Path) -> list[list[Row]]:
    """Predict all runs in a folder: a list for each cell."""
    rows = []
    for parties, networks in NETWORKS_OF.items():
        for case, (delay, rate) in itertools.product(CASES, networks):
            cell = Cell(case, parties, delay, rate)
            runs = [(repeat, folder / cell.name(repeat)) for repeat in range(1, MAX_REPEATS + 1)]
            repeats = [
                predictions(cell, run, repeat=repeat) for repeat, run in runs if run.exists()
            ]
            rows += [repeats] if repeats else []
    return rows


def error(row: Row, prediction: str, part: str) -> float:
    """Give the relative error of a prediction, of the seconds or of the network part."""
    return float(row[f"{prediction}{part}"] / row[f"measured{part}"] - 1)


def table(folder: Path) -> None:
    """Print the errors by case, and the cells with all figures, as Markdown."""
    cells = [median_of(rows) for rows in rows_of(folder)]
    print("| protocol | cells | " + " | ".join(PREDICTIONS) + " |\n|" + " --- |" * 5)
    for part in ("_network", ""):
        groups = {case: [row for row in cells if row["cell"].case == case] for case in CASES}
        far = [row for row in cells if row["cell"].delay >= 50]
        for case, members in {**groups, "D of 50 ms and more": far, "all": cells}.items():
            texts = [summary([error(row, name, part) for row in members]) for name in PREDICTIONS]
            kind = "network part" if part else "seconds"
            print(f"| {case}, {kind} | {len(members)} | {' | '.join(texts)} |")
    loads = sorted(row["load"] for row in cells)
    print(f"\nload {loads[0]:g} to {loads[-1]:g}\n")
    print(
        "| protocol | parties | D | Mbit/s | seconds | network part "
        "| replay | plan | virtual |\n|" + " --- |" * 9
    )
    for row in cells:
        case, parties, delay, rate = row["cell"]
        errors = [f"{100 * error(row, name, '_network'):+.1f} %" for name in PREDICTIONS]
        print(
            f"| {case} | {parties} | {delay:g} ms | {f'{rate:g}' if rate else 'unlimited'} "
            f"| {row['measured']:.3f} | {row['measured_network']:.3f} | {' | '.join(errors)} |"
        )


def median_of(rows: Sequence[Row]) -> Row:
    """Give the medians of all figures of a cell."""
    figures = [name for name in rows[0] if name != "cell"]
    medians = {name: statistics.median(row[name] for row in rows) for name in figures}
    return {"cell": rows[0]["cell"], **medians}


def summary(errors: Sequence[float]) -> str:
    sizes = [abs(value) for value in errors]
    return f"{100 * statistics.median(sizes):.1f} %, {100 * max(sizes):.0f} %"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended: the namespaces are removed"))
    match sys.argv[1:]:
        case ["measure", path, *rest]:
            measure(Path(path), repeats=int(rest[0]) if rest else 3)
        case ["table", path]:
            table(Path(path))
        case _:
            sys.exit(__doc__)
