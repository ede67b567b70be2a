"""The command `replay`: what a finished run would have taken on another network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...messages import UsageError
from ...network import read_network
from ...report.printing import print_named, print_table
from ...report.replaying import replay_json, replay_lines, replay_run, waiting_rows
from .app import app


@app.command("replay")
def replay_command(
    folder: Annotated[Path, typer.Argument(help="the folder of a run", metavar="RUN")],
    network: Annotated[
        str,
        typer.Option(
            help="lan, datacentre, wan, mobile, LATENCY/BANDWIDTH such as 50ms/20Mbit/s, or a TOML "
            "file"
        ),
    ],
    speed: Annotated[
        float | None, typer.Option(help="how many times as fast the roles compute as they did")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON on standard output")] = False,
) -> None:
    """Say how long a finished run would have taken on another network, and why."""
    chosen = read_network(network)
    if speed is not None:
        if not speed > 0:
            raise UsageError(f"expected a number above 0 for --speed, found {speed:g}")
        chosen = chosen.with_speed(speed)
    report, timing = replay_run(folder, chosen)
    if as_json:
        sys.stdout.write(replay_json(report))
        return
    print_named(replay_lines(report, timing))
    if rows := waiting_rows(timing):
        sys.stdout.write("\n")
        print_table(("who waited", "for", "for so long"), rows)
