"""Many runs: `sweep`, and the papers' own by `reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...report.folder import check_folder
from ...report.progress import SweepProgress
from ...report.terminal import print_sweep, print_table
from ...runs.failure import RunFailed
from ...studies.datasets import read_given
from ...studies.items import chosen, data_shown, items, read_item
from ...studies.planning import read_plan
from ...studies.reproducing import reproduce, write_index
from ...studies.sweep import sweep
from ..run import start_run
from .app import GreedyForData, app


@app.command("sweep")
def sweep_command(
    file: Annotated[Path, typer.Argument(help="TOML: protocols, parameters and seeds")],
    out: Annotated[
        Path | None, typer.Option(help="folder for the results (default: sweeps/NAME-OF-THE-FILE)")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="list the runs, and start none")
    ] = False,
    progress: Annotated[
        bool, typer.Option("--progress", help="show progress even where there is no terminal")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing but errors")] = False,
) -> None:
    """Make many runs from one file; what is done already is not done again."""
    _, cells = read_plan(file, start=start_run)
    if dry_run:
        sys.stdout.write("".join(f"{cell.label}\n" for cell in cells))
        return
    folder = out or Path("sweeps") / file.stem
    shown = SweepProgress(shown=progress or (not quiet and sys.stderr.isatty()))
    try:
        table, made = sweep(cells, out=folder, progress=shown.show)
    finally:
        shown.close()
    if not quiet:
        print_sweep(table, before=made.found, folder=folder)
    if made.failures:
        raise RunFailed(made.complaint, status=3)


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
    progress: Annotated[
        bool, typer.Option("--progress", help="show progress even where there is no terminal")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing but errors")] = False,
) -> None:
    """Make tables and figures of the papers, each with a verdict; without a name, list them."""
    given = read_given(data or [])
    if not names:
        rows = [
            [item.name, f"{item.paper}, {item.where}", item.title, data_shown(item)]
            for item in map(read_item, items().values())
        ]
        print_table(("name", "paper", "shows", "data"), rows)
        return
    wanted, left = chosen(names, given)
    check_folder(out)
    failed: list[str] = []
    rows = []
    for item in wanted:
        shown = SweepProgress(shown=progress or (not quiet and sys.stderr.isatty()))
        try:
            found = reproduce(
                item, given, quick=quick, out=out, start=start_run, progress=shown.show
            )
        finally:
            shown.close()
            write_index(out)
        rows.append(
            [
                item.name,
                found.verdict,
                str(found.result.cells),
                f"{found.seconds:.0f}",
                f"{out / item.name}/page.html",
            ]
        )
        failed += [f"{item.name}: {found.result.complaint}"] if found.result.failures else []
    if not quiet:
        print_table(("name", "verdict", "runs", "seconds", "page"), rows)
        sys.stdout.write("".join(f"not made: {reason}\n" for reason in left))
    if failed:
        raise RunFailed(
            failed[0] + (f" (and {len(failed) - 1} more)" if failed[1:] else ""), status=3
        )
