"""Commands for many runs: `sweep`, and `reproduce` for the papers' tables and figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ...report.figures import NOT_DRAWN, OUTCOME
from ...report.folder import check_folder
from ...report.printing import print_table
from ...report.progress import SweepProgress
from ...report.sweep_printing import print_sweep
from ...runs.failure import RunFailed
from ...studies.cell import Row
from ...studies.datasets import read_dataset_files
from ...studies.figures import check_figures, draw_figures, missing_outcomes
from ...studies.item_plan import files_used, plan_item
from ...studies.items import item_paths, read_item, select_items
from ...studies.kept_results import keep
from ...studies.planning import read_plan
from ...studies.reproducing import reproduce, write_index
from ...studies.reproduction import Reproduction
from ...studies.sweep import costs_together, sweep
from ..jobs import start_run
from .app import GreedyForData, app
from .figure_options import FigureNames, FigureWidthName, read_figure_options
from .options import Quiet, ShowProgress


@app.command("sweep")
def sweep_command(
    file: Annotated[Path, typer.Argument(help="TOML: protocols, parameters and seeds")],
    out: Annotated[
        Path | None, typer.Option(help="folder for the results (default: sweeps/NAME-OF-THE-FILE)")
    ] = None,
    budget: Annotated[
        Path | None,
        typer.Option(help="file of `sottovoce budget`: refuse runs that would exceed it"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="list the runs, and start none")
    ] = False,
    public: Annotated[
        bool, typer.Option("--public", help="leave out what was measured on the real tables")
    ] = False,
    progress: ShowProgress = False,
    quiet: Quiet = False,
    jobs: Annotated[
        int, typer.Option(min=1, help="runs side by side, each in a process of its own")
    ] = 1,
    figures: FigureNames = None,
    figure_width: FigureWidthName = None,
) -> None:
    """Make many runs from one file; finished runs are not repeated.

    The results are tables, a page, and figures for a paper as SVG, PDF and CSV.
    """
    requests, width = read_figure_options(figures, figure_width)
    _, cells = read_plan(file, start=start_run, budget=None if budget is None else str(budget))
    check_figures(cells, requests)
    if dry_run:
        sys.stdout.write("".join(f"{cell.label}\n" for cell in cells))
        return
    folder = out or Path("sweeps") / file.stem
    display = SweepProgress(shown=progress or (not quiet and sys.stderr.isatty()))
    unwarned = [] if quiet else [*dict.fromkeys(requests)]

    def warn_of_names(rows: Sequence[Row]) -> None:
        for request, line in missing_outcomes(rows, unwarned).items():
            display.remark(line)
            unwarned.remove(request)

    try:
        table, result = sweep(
            cells,
            out=folder,
            progress=display.show,
            public=public,
            jobs=jobs,
            so_far=warn_of_names,
        )
        drawn = draw_figures(result.rows, requests, folder=folder / "figures", width=width)
        undrawn = [line for line in drawn if line.startswith(NOT_DRAWN)]
    finally:
        display.close()
    if not quiet:
        costs = [cost.text for cost in costs_together(cells, out=folder)]
        published = [request.y for request in requests if request.y.startswith(OUTCOME)]
        print_sweep(table, before=result.reused, folder=folder, together=costs, figures=published)
        sys.stdout.write("".join(f"{line}\n" for line in drawn if line not in undrawn))
    if result.failures:
        raise RunFailed(result.complaint, status=3)
    if undrawn and requests:
        raise RunFailed("; ".join(undrawn), status=3)


@app.command("reproduce", cls=GreedyForData)
def reproduce_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="of tables and figures, or all", metavar="NAME")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="in minutes: fewer seeds, values and rows")
    ] = False,
    data: Annotated[
        list[str] | None, typer.Option(metavar="DATASET=FILE", help="where a dataset is")
    ] = None,
    out: Annotated[Path, typer.Option(help="folder for the results")] = Path("reproductions"),
    progress: ShowProgress = False,
    quiet: Quiet = False,
    jobs: Annotated[
        int, typer.Option(min=1, help="runs side by side, each in a process of its own")
    ] = 1,
    kept: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            help="folder in which a small CSV of each item is kept, with versions and machine",
        ),
    ] = None,
    figures: FigureNames = None,
    figure_width: FigureWidthName = None,
) -> None:
    """Make tables and figures of the papers, each with a verdict; without a name, list them.

    Each picture is there as SVG, PDF and CSV. Further figures are drawn with --figure.
    """
    requests, width = read_figure_options(figures, figure_width)
    files = read_dataset_files(data or [])
    if not names:
        _list_items()
        return
    items, reasons = select_items(names, files)
    check_folder(out)
    if requests:  # A wrong name is found before the first item is made.
        for item in items:
            cells = plan_item(item, files, quick=quick, out=out, start=start_run)
            check_figures(cells, requests)
    results: list[Reproduction] = []
    drawn: list[str] = []
    for item in items:
        display = SweepProgress(shown=progress or (not quiet and sys.stderr.isatty()))
        try:
            result = reproduce(
                item,
                files,
                quick=quick,
                out=out,
                start=start_run,
                progress=display.show,
                figures=requests,
                width=width,
                jobs=jobs,
            )
            if kept is not None:
                used = files_used(item, files, quick=quick)
                keep(result, files=used, quick=quick, folder=kept)
            if requests:
                figure_folder = out / item.name / "figures"
                drawn += draw_figures(result.rows, requests, folder=figure_folder, width=width)
        finally:
            display.close()
            write_index(out)
        results.append(result)
    if not quiet:
        _print_reproductions(results, out=out)
        sys.stdout.write("".join(f"{line}\n" for line in drawn))
        sys.stdout.write("".join(f"not made: {reason}\n" for reason in reasons))
    complaints = [
        f"{result.item.name}: {result.study.complaint}"
        for result in results
        if result.study.failures
    ]
    if complaints:
        first, *others = complaints
        more = f" (and {len(others)} more)" if others else ""
        raise RunFailed(f"{first}{more}", status=3)


def _print_reproductions(results: Sequence[Reproduction], *, out: Path) -> None:
    rows = [
        [
            result.item.name,
            result.verdict,
            str(result.study.cells),
            f"{result.seconds:.0f}",
            f"{out / result.item.name}/page.html",
        ]
        for result in results
    ]
    print_table(("name", "verdict", "runs", "seconds", "page"), rows)


def _list_items() -> None:
    rows = [
        [item.name, f"{item.paper}, {item.where}", item.title, item.data_names]
        for item in map(read_item, item_paths().values())
    ]
    print_table(("name", "paper", "shows", "data"), rows)
