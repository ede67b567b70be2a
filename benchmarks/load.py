"""Time and memory of runs over parties, ranks, rows, columns and users, one at a time.

    python benchmarks/load.py measure FILE.csv [AXIS ...] [protocols=dp-subn,calm] [limit=900]
    python benchmarks/load.py draw FILE.csv FOLDER

`measure` makes every run a process of its own and adds a line for each to FILE.csv: seconds and
processor time of the whole command, seconds of the run without start and reading, the peak of
resident memory, and how loaded the machine was. The axes are parties and rows and columns and users
(threads), file (rows of a CSV file) and ranks (MPI; memory is the largest sum over ranks in which a
shared page counts once). Without names all are measured. A run that takes more than `limit` seconds
is left out, with those of more load. `draw` makes load-cpu.svg and load-memory.svg of the file.
The judge compares nothing, as nobody has all data in earnest. Linux only.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent))

from rank_memory import watch
from wide import make_table

MASKS: Final = {"aggregator": "masks"}
WIDE_ROWS: Final = 10_000
FIELDS: Final = (
    "axis",
    "value",
    "protocol",
    "seconds",
    "cpu_seconds",
    "run_seconds",
    "memory_mb",
    "messages",
    "megabytes_sent",
    "load_before",
)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """What varies, its values, and the protocols with their parameters."""

    title: str
    values: Sequence[int]
    protocols: Mapping[str, Mapping[str, Any]]
    options: Mapping[str, Any] = field(default_factory=dict)
    """What is the same in all runs."""


AXES: Final = {
    "parties": Axis(
        title="parties, on threads",
        values=(3, 30, 100, 200),
        protocols={
            "one-way": MASKS,
            "noisy-marginals": MASKS,
            "dp-subn": MASKS,
            "adaptive-pairs": MASKS,
            "calm": {},
        },
    ),
    "ranks": Axis(
        title="ranks of MPI",
        values=(4, 16, 32, 64),
        protocols={"head-count": {}, "dp-subn": MASKS},
    ),
    "rows": Axis(
        title="rows made up in memory",
        values=(50_000, 500_000, 5_000_000),
        protocols={"one-way": MASKS, "dp-subn": MASKS, "adaptive-pairs": MASKS},
        options={"parties": 3},
    ),
    "file": Axis(
        title="rows of a CSV file",
        values=(50_000, 500_000, 5_000_000),
        protocols={"one-way": MASKS},
        options={"parties": 3},
    ),
    "columns": Axis(
        title="columns",
        values=(10, 30, 100, 300),
        protocols={
            "one-way": MASKS,
            "dp-subn": MASKS,
            "adaptive-pairs": MASKS,
            "calm": {},
        },
        options={"parties": 3},
    ),
    "users": Axis(
        title="users",
        values=(100_000, 1_000_000, 10_000_000),
        protocols={"calm": {}, "privincr": {}, "clldp-naive-bayes": {}},
        options={"parties": 3},
    ),
}


def run_once(words: dict[str, Any]) -> None:
    """Run in this process, which was started for it, and print the figures."""
    import sottovoce

    done = sottovoce.run(**words, judge=False, seed=1)
    sent = done.report["communication"]
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    figures = {
        "memory_mb": int(peak.split()[1]) / 1024,
        "run_seconds": done.report["seconds"],
        "messages": sent["messages"],
        "megabytes_sent": sent["frame_bytes"] / 1e6,
    }
    print(json.dumps(figures))


def words_of(name: str, value: int, protocol: str, *, folder: Path) -> dict[str, Any]:
    """Give the arguments of a run on threads."""
    axis = AXES[name]
    words: dict[str, Any] = {"protocol": protocol, **axis.options, **axis.protocols[protocol]}
    match name:
        case "columns":
            data, schema = make_table(value, rows=WIDE_ROWS, bits=False)
            words |= {"data": str(folder / "wide.csv"), "schema": schema}
            data.to_csv(words["data"], index=False)
        case "file":
            words |= {"data": str(write_people(value, folder=folder)), "schema": demo_schema()}
        case "users" if protocol.startswith("clldp"):
            words["rows"] = value  # each user has one record
        case _:
            words[name] = value
    return words


def demo_schema() -> dict[str, Any]:
    """Give the schema of the demo table as a file has it, so that no reading infers one."""
    from sottovoce.parties import DEMO_SCHEMA
    from sottovoce.parties.schema_file import write_schema

    document: dict[str, Any] = json.loads(write_schema(DEMO_SCHEMA))
    return document


def write_people(rows: int, *, folder: Path) -> Path:
    """Write a table of the demo's kind block by block, unless it is there."""
    from sottovoce.parties.demo import demo_blocks
    from sottovoce.parties.raw import join_tables

    path = folder / f"people-{rows}.csv"
    if not path.exists():
        with path.open("w") as file:
            for number, block in enumerate(demo_blocks(rows)):
                join_tables([block]).frame().to_csv(file, index=False, header=not number)
    return path


def on_threads(words: Mapping[str, Any], *, limit: float) -> dict[str, float]:
    """Run in a process of its own, which reads its peak of memory when the run has ended."""
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, __file__, "--once", json.dumps(words)], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        try:
            answer, _ = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
    seconds = time.perf_counter() - started
    if child.returncode:
        raise RuntimeError(f"status {child.returncode}")
    figures: dict[str, float] = json.loads(answer)
    return {"seconds": seconds, **figures}


def over_mpi(protocol: str, ranks: int, *, folder: Path) -> dict[str, float]:
    """Run by the command line over MPI, and read the memory of all ranks meanwhile."""
    command = [sys.executable, "-m", "sottovoce", "run", protocol, "--no-judge", "--quiet"]
    command += ["--parties", str(ranks - 1), "--seed", "1", "--out", str(folder / "run")]
    for name, value in AXES["ranks"].protocols[protocol].items():
        command += ["--set", f"{name}={value}"]
    started = time.perf_counter()
    _, _, together = watch(command, mark="sottovoce.launch.rank", folder=str(folder))
    seconds = time.perf_counter() - started
    report = json.loads((folder / "run" / "report.json").read_text())
    sent = report["communication"]
    return {
        "seconds": seconds,
        "run_seconds": report["seconds"],
        "memory_mb": together,
        "messages": sent["messages"],
        "megabytes_sent": sent["frame_bytes"] / 1e6,
    }


def measure(name: str, protocol: str, value: int, *, limit: float) -> dict[str, Any]:
    """Run once and give the line of the file."""
    load = os.getloadavg()[0]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory(prefix="load-") as base:
        folder = Path(base)
        if name == "ranks":
            figures = over_mpi(protocol, value, folder=folder)
        else:
            words = words_of(name, value, protocol, folder=folder)
            figures = on_threads(words, limit=limit)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    line: dict[str, Any] = {
        "axis": name,
        "value": value,
        "protocol": protocol,
        "cpu_seconds": cpu,
        **figures,
    }
    line["load_before"] = load
    return {
        key: round(line[key], 3) if isinstance(line[key], float) else line[key] for key in FIELDS
    }


def measure_all(path: Path, axes: Sequence[str], *, protocols: Sequence[str], limit: float) -> None:
    """Measure axes, and add a line to the file after each run."""
    for name in axes:
        axis = AXES[name]
        for protocol in axis.protocols:
            if protocols and protocol not in protocols:
                continue
            for value in axis.values:
                try:
                    line = measure(name, protocol, value, limit=limit)
                except subprocess.TimeoutExpired:
                    print(f"{name} {value} {protocol}: more than {limit:g} s", flush=True)
                    break
                except RuntimeError as reason:
                    print(f"{name} {value} {protocol}: {reason}", flush=True)
                    break
                is_new = not path.exists()
                with path.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                    if is_new:
                        writer.writeheader()
                    writer.writerow(line)
                print(*line.values(), flush=True)


def read_lines(path: Path) -> list[dict[str, str]]:
    """Read the file; of several runs of the same, the last one counts."""
    with path.open(newline="") as file:
        lines = {
            (line["axis"], line["protocol"], line["value"]): line for line in csv.DictReader(file)
        }
    return [*lines.values()]


def draw(path: Path, folder: Path) -> None:
    """Draw seconds and memory, a panel for each axis."""
    from sottovoce.report.figures import paper_files
    from sottovoce.report.pages.chart_panel import Line, Panel

    lines = read_lines(path)
    for quantity, title in (("cpu_seconds", "processor seconds"), ("memory_mb", "MB")):
        panels = []
        for name, axis in AXES.items():
            points: dict[str, list[tuple[float | str, float]]] = {}
            for line in sorted(lines, key=lambda line: int(line["value"])):
                if line["axis"] == name:
                    place = (float(line["value"]), float(line[quantity]))
                    points.setdefault(line["protocol"], []).append(place)
            drawn = [
                Line(name=protocol, points=points[protocol])
                for protocol in axis.protocols
                if protocol in points
            ]
            if drawn:
                panels.append(Panel(lines=drawn, x=axis.title, y=title, log_x=True, log_y=True))
        stem = f"load-{quantity.partition('_')[0]}"
        files = paper_files(panels, name=stem, title=f"{title} of runs under load")
        (folder / f"{stem}.svg").write_bytes(files[f"{stem}.svg"])


def main() -> None:
    match sys.argv[1:]:
        case ["--once", words]:
            run_once(json.loads(words))
        case ["measure", path, *words]:
            settings = dict(word.split("=", 1) for word in words if "=" in word)
            axes = [word for word in words if "=" not in word] or [*AXES]
            protocols = [word for word in settings.get("protocols", "").split(",") if word]
            measure_all(
                Path(path), axes, protocols=protocols, limit=float(settings.get("limit", "900"))
            )
        case ["draw", path, folder]:
            draw(Path(path), Path(folder))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
