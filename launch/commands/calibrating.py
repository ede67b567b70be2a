"""The command `calibrate`: what computation costs on this machine."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import msgspec
import typer

from ...messages import WorkKind
from ...network import time_text
from ...report.printing import print_named, print_table
from ...runs.calibration import Calibration, write_calibration
from ...studies.calibrating import calibrate
from ...studies.repeated_measurements import PASSES
from .app import app

MAX_QUIET_SPREAD: Final = 0.15
"""Spread of repeated measurements up to which a machine counts as quiet."""


@app.command("calibrate")
def calibrate_command(
    as_json: Annotated[bool, typer.Option("--json", help="print JSON on standard output")] = False,
) -> None:
    """Measure what computation costs on this machine, once, in less than half a minute.

    `plan` uses it, and `run --transport virtual --computation calibrated`.
    """
    is_shown = sys.stderr.isatty()

    def show(text: str) -> None:
        if is_shown:
            sys.stderr.write(f"\r\x1b[Kcalibrating: {text}")
            sys.stderr.flush()

    calibration = calibrate(show=show)
    if is_shown:
        sys.stderr.write("\r\x1b[K")
    path = write_calibration(calibration)
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(calibration)).decode() + "\n")
        return
    versions = ", ".join(f"{name} {number}" for name, number in calibration.versions.items())
    print_named(
        [
            ("machine", f"{calibration.machine}, {calibration.processor}"),
            ("cores", f"{calibration.cores}"),
            ("versions", versions),
            ("date", f"{calibration.date}, in {calibration.took:.0f} s"),
            ("repeats", spread_text(calibration)),
            ("written", str(path)),
        ]
    )
    _print_costs(calibration)


def spread_text(calibration: Calibration) -> str:
    """Say how much repeated measurements differed, and what to do if it was much."""
    spread = calibration.spread or 0.0
    if spread <= MAX_QUIET_SPREAD:
        return f"{PASSES}, of which the slowest took {spread:.0%} longer".replace("%", " %")
    return (
        f"the machine was busy: the slowest of {PASSES} repeats took {spread:.0%} longer; the "
        "costs are of the fast ones, but calibrate again when nothing else runs"
    ).replace("%", " %")


def _print_costs(calibration: Calibration) -> None:
    sys.stdout.write("\n")
    print_table(
        ("Paillier key", "encrypt", "add", "decrypt"),
        [
            [f"{cost.bits:,} bits", *map(time_text, (cost.encrypt, cost.add, cost.decrypt))]
            for cost in calibration.paillier
        ],
    )
    sys.stdout.write("\n")
    print_table(
        ("a unit of", "size", "takes"),
        [
            [WorkKind[cost.kind].value, f"{cost.size:,}" if cost.size else "", _short(cost.seconds)]
            for cost in calibration.costs
        ],
    )


def _short(seconds: float) -> str:
    """Write a time that may be shorter than a microsecond."""
    return f"{1e9 * seconds:.3g} ns" if seconds < 1e-6 else time_text(seconds)
