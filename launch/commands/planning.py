"""The command `plan`: what a protocol would cost, before any data are read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ...messages import UsageError
from ...network import Timing, check_hosts
from ...parties.demo import DEMO_ROWS
from ...protocols import RECOMMENDED, RECOMMENDED_PURE
from ...report.figures import check_request, default_requests, write_figures
from ...report.folder import put
from ...report.formats import quantity
from ...report.printing import print_named, print_table
from ...runs.settings import split_names
from ...studies.forecast_grid import forecast_grid, grid_jobs, read_assignments
from ...studies.forecast_page import forecast_page
from ...studies.forecast_result import Forecast
from ...studies.forecast_table import check_figures_before, forecast_csv, forecast_table
from ...studies.forecast_text import (
    LEFT_OUT,
    METHODS,
    alternative_texts,
    forecast_json,
    forecast_lines,
    forecast_rows,
    line_rows,
)
from ..plan import calibration_for, method_named, networks_named
from .app import GreedyForPlans, app
from .figure_options import FigureNames, FigureWidthName, read_figure_options
from .options import with_job_options

FIGURES: Final = Path("plan-figures")
JOB_OPTIONS: Final = ("seed", "mode", "key_bits", "insecure_test_keys", "columns", "drop")
"""The options of a run that a plan has, too."""
LEFT_OUT_OF_SOME: Final = (
    "left out of predicted seconds, which are therefore not to be compared with played ones: "
    "`sottovoce calibrate` measures what it costs, --method played plays all, and --speed inf "
    "leaves it out of all"
)


@app.command("plan", cls=GreedyForPlans)
@with_job_options(names=JOB_OPTIONS)
def plan_command(
    protocols: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROTOCOL]...",
            help="names that `sottovoce protocols` lists, or module:Class "
            f"(default {RECOMMENDED}; {RECOMMENDED_PURE} with --delta 0)",
        ),
    ] = None,
    parties: Annotated[
        list[int] | None, typer.Option(help="numbers of parties (default 3)")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="JSON: categories and bins (default: the demo's)")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help=f"records of all parties together (default {DEMO_ROWS:,}, as the demo)"),
    ] = None,
    networks: Annotated[
        list[str] | None,
        typer.Option(
            "--network",
            help="lan, datacentre, wan, mobile, LATENCY/BANDWIDTH such as 50ms/20Mbit/s, or TOML "
            "files (default lan wan)",
        ),
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="privacy budgets of each record")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="chance that epsilon may fail (default 1e-9)")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="a protocol's parameter; several values of one are a grid",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="played: all roles on made-up records; predicted: from formulas alone "
            "(default: played up to 12 parties, or 100 that cannot be predicted)"
        ),
    ] = None,
    computation: Annotated[
        str | None,
        typer.Option(
            help="calibrated: what `sottovoce calibrate` says (default where there is one); "
            "measured: in the play"
        ),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(help="how many times as fast as here the roles compute; inf: in no time"),
    ] = None,
    alternatives: Annotated[
        bool,
        typer.Option(
            help="whether a plan of one protocol says which other options would cost less; each "
            "takes as long as the plan itself"
        ),
    ] = True,
    csv: Annotated[Path | None, typer.Option(help="file for the table as CSV")] = None,
    page: Annotated[Path | None, typer.Option(help="file for all plans as an HTML page")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON on standard output")] = False,
    figures: FigureNames = None,
    figure_width: FigureWidthName = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for figures (default: plan-figures)")
    ] = None,
    **options: Any,
) -> None:
    """Say what a protocol would cost, before any data are read: messages, bytes, seconds, epsilon.

    Options with several values make a grid: --parties 3 10 100 --network lan wan. A grid can be
    drawn: --figure seconds:parties:network.
    """
    requests, width = read_figure_options(figures, figure_width)
    chosen = {
        "schema": None if schema is None else str(schema),
        "delta": delta,
        **options,
        **{name: _split(options[name]) for name in ("columns", "drop")},
    }
    for option, file in (("--csv", csv), ("--page", page)):
        if file is not None and not file.parent.is_dir():
            raise UsageError(f"expected a folder for {option} {file}, found none at {file.parent}")
    planned_rows = DEMO_ROWS if rows is None else rows
    on_networks = networks_named(networks or ["lan", "wan"], speed=speed, spelling=_flag)
    jobs = grid_jobs(
        chosen,
        protocols=protocols or [None],
        parties=parties or [3],
        epsilons=epsilon or [],
        parameters=read_assignments(assignments or []),
        networks=len(on_networks),
    )
    for described in on_networks:
        check_hosts(described, parties=max(job.parties for job in jobs))
    check_figures_before(requests, jobs, rows=planned_rows, networks=on_networks)
    results = [
        *forecast_grid(
            jobs,
            rows=planned_rows,
            networks=on_networks,
            method=method_named(method, spelling=_flag),
            calibration=calibration_for(computation, spelling=_flag),
            alternatives=alternatives,
        )
    ]
    plans = [plan for plan, _ in results]
    table = forecast_table(plans)
    for request in requests:
        check_request(request, table)
    if csv is not None:
        put({csv.name: forecast_csv(table)}, folder=csv.parent)
    if page is not None:
        put({page.name: forecast_page(results).encode()}, folder=page.parent)
    drawn: list[str] = []
    if requests or out is not None:
        chosen_figures = requests or default_requests(table)
        drawn = write_figures(table, chosen_figures, folder=out or FIGURES, width=width)
    if as_json:
        sys.stdout.write(forecast_json(plans))
    elif len(results) == 1:
        _print_forecast(*results[0])
    else:
        _print_grid(plans)
    if rows is None and not as_json:
        sys.stdout.write(f"\nno --rows: for {DEMO_ROWS:,} rows, as the demo table has\n")
    if drawn and not as_json:
        sys.stdout.write("\n" + "".join(f"{line}\n" for line in drawn))


def _flag(name: str) -> str:
    return f"--{name}"


def _split(names: list[str] | None) -> list[str] | None:
    return split_names(",".join(names)) if names else None


def _leaves_out_computation(plans: Sequence[Forecast]) -> bool:
    """Tell whether seconds of a grid cannot be compared: only some have computation."""
    seconds = [not plan.leaves_out for plan in plans if plan.seconds is not None]
    return any(seconds) and not all(seconds)


def _print_forecast(plan: Forecast, timing: Timing | None) -> None:
    print_named(forecast_lines(plan, timing))
    sys.stdout.write("\n")
    print_table(*line_rows(plan))


def _print_grid(plans: list[Forecast]) -> None:
    """Print forecasts side by side, and below them what all have in common."""
    protocols = ", ".join(dict.fromkeys(plan.protocol for plan in plans))
    sys.stdout.write(f"{protocols}, {quantity(plans[0].rows, 'row')}\n\n")
    print_table(*forecast_rows(plans))
    methods = dict.fromkeys(plan.method for plan in plans)
    remarks = dict.fromkeys(remark for plan in plans for remark in plan.remarks)
    cheaper = [(plan.network, text) for plan in plans for text in alternative_texts(plan)]
    sys.stdout.write("\n")
    print_named(
        [
            *(("method", METHODS[method]) for method in methods),
            *(("computation", LEFT_OUT_OF_SOME) for _ in range(_leaves_out_computation(plans))),
            *(("remark", remark) for remark in remarks),
            *((f"cheaper on {network}", text) for network, text in cheaper),
            ("left out", LEFT_OUT),
        ]
    )
