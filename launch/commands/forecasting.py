"""The command `replay`: what a finished run would have taken on another network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...messages import UsageError
from ...network import NETWORKS, read_network
from ...report.printing import print_named, print_table
from ...report.replaying import (
    network_rows,
    replay_json,
    replay_lines,
    replay_run,
    waiting_rows,
)
from .app import app


@app.command("replay")
def replay_command(
    folder: Annotated[Path, typer.Argument(help="the folder of a run", metavar="RUN")],
    network: Annotated[
        str | None,
        typer.Option(
            help="lan, datacentre, wan, mobile, LATENCY/BANDWIDTH such as 50ms/20Mbit/s, or a TOML "
            "file (default: a table of all networks that have a name)"
        ),
    ] = None,
    speed: Annotated[
        float | None, typer.Option(help="how many times as fast the roles compute as they did")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON on standard output")] = False,
) -> None:
    """Say how long a finished run would have taken on another network, and why."""
    if speed is not None and not speed > 0:
        raise UsageError(f"expected a number above 0 for --speed, found {speed:g}")
    networks = [read_network(name) for name in (NETWORKS if network is None else [network])]
    results = [
        replay_run(folder, chosen if speed is None else chosen.with_speed(speed))
        for chosen in networks
    ]
    report, timing = results[0]
    if as_json:
        reports = [report for report, _ in results]
        sys.stdout.write(replay_json(reports if network is None else report))
    elif network is None:
        print_named(replay_lines(report, timing)[:1])
        sys.stdout.write("\n")
        print_table(("network", "seconds", "most of it"), network_rows(results))
        if report.remark:
            sys.stdout.write(f"\nremark: {report.remark}\n")
        sys.stdout.write(f"\n`sottovoce replay {folder} --network wan` says who waits for whom\n")
    else:
        print_named(replay_lines(report, timing))
        if rows := waiting_rows(timing):
            sys.stdout.write("\n")
            print_table(("who waited", "for", "for so long"), rows)
