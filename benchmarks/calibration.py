"""What a calibration says that roles compute, beside what plays of them took on the same machine.

    python benchmarks/calibration.py [parties=3] [rows=45222] [plays=3]

The machine is calibrated first. Each protocol is then played on made-up records: the medians of
processor seconds of some plays, and the seconds that the calibration counts for one. A user without
a calibration takes measured plays, which repeat themselves only as far as the machine does.
"""

from __future__ import annotations

import statistics
import sys

from sottovoce.messages import CURATOR
from sottovoce.runs.job import Job
from sottovoce.runs.made_up import run_on_made_up
from sottovoce.runs.settings import settings
from sottovoce.studies.calibrating import calibrate
from sottovoce.studies.forecast_plays import processor_seconds

PROTOCOLS = (
    {"protocol": "head-count"},
    {"protocol": "one-way", "set": {"aggregator": "masks"}},
    {"protocol": "one-way"},
    {"protocol": "dp-subn", "set": {"aggregator": "masks"}},
    {"protocol": "dp-subn"},
    {
        "protocol": "calm",
        "columns": ["age", "education", "marital-status", "hours-per-week", "income"],
    },
    {"protocol": "adaptive-pairs"},
    {
        "protocol": "jtree",
        "columns": ["age", "education", "marital-status", "hours-per-week", "race", "income"],
    },
)


def seconds_of_roles(job: Job, *, rows: int, plays: int) -> list[list[float]]:
    """Play some times; give the processor seconds of the curator and of a party in each."""
    played = [processor_seconds(run_on_made_up(job, rows=rows)) for _ in range(plays + 1)]
    return [
        [seconds[CURATOR], statistics.fmean(seconds[CURATOR + 1 :])]
        for seconds in played[1:]  # The first roles of a process load modules.
    ]


def main() -> None:
    options = dict(word.split("=", 1) for word in sys.argv[1:])
    parties, rows = int(options.get("parties", "3")), int(options.get("rows", "45222"))
    calibration = calibrate()
    print(f"{parties} parties, {rows:,} rows; milliseconds: measured, calibrated, ratio")
    print(f"{'':28}{'the curator':>30}{'a party':>30}")
    pricing = calibration.pricing()
    for words in PROTOCOLS:
        job = settings({**words, "parties": parties, "seed": 1}).job
        measured = [
            statistics.median(side)
            for side in zip(
                *seconds_of_roles(job, rows=rows, plays=int(options.get("plays", "3"))), strict=True
            )
        ]
        priced = processor_seconds(run_on_made_up(job, rows=rows, costs=pricing))
        counted = [priced[CURATOR], statistics.fmean(priced[CURATOR + 1 :])]
        name = " ".join([job.protocol, *map(str, dict(job.parameters).values())])
        cells = "".join(
            f"{1e3 * first:12.1f}{1e3 * second:10.1f}{second / first:8.2f}"
            for first, second in zip(measured, counted, strict=True)
        )
        print(f"{name[:28]:28}{cells}", flush=True)


if __name__ == "__main__":
    main()
