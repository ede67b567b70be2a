"""`sottovoce audit`: many runs on neighbouring datasets, and what every view loses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ...report.audit_report import audit_json, audit_table, skipped_text, verdict_text
from ...report.printing import print_table
from ...report.progress import SweepProgress
from ...runs.settings import parse_assignments
from ..audit import DEFAULT_RUNS, audit
from .app import app
from .options import FORM_OPTIONS, csv_form, with_job_options

PAGE_HINT = "folder for audit.html and audit.json (default: none is written)"


@app.command("audit")
@with_job_options(names=FORM_OPTIONS)
def audit_command(
    protocol: Annotated[
        str, typer.Argument(help="a protocol's name, module:Class, mechanisms, or all")
    ],
    view: Annotated[
        str | None, typer.Option(help="report this view alone: public, curator, other_party ...")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="runs in each mode")] = DEFAULT_RUNS,
    mode: Annotated[
        str | None, typer.Option(help="rigorous or paper (default: all that there are)")
    ] = None,
    parties: Annotated[int | None, typer.Option(min=1, help="number of parties")] = None,
    party: Annotated[int | None, typer.Option(min=1, help="the audited party")] = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="records of each party (default: few, so that one tells most)"),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="made-up, demo, or a table whose attributes and labels are used"),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="privacy budget of each record")] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="chance that epsilon may fail (default 1e-9); 0 allows pure noise only"),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="a protocol's parameter"),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="of the first run")] = None,
    processes: Annotated[int | None, typer.Option(min=1, help="default: one a core")] = None,
    out: Annotated[Path | None, typer.Option(help=PAGE_HINT)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    progress: Annotated[
        bool, typer.Option("--progress", help="show progress even where there is no terminal")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing but errors")] = False,
    **options: Any,
) -> None:
    """Measure what every view of a protocol loses, over many runs on neighbouring datasets."""
    display = SweepProgress(shown=progress or (not quiet and sys.stderr.isatty()))
    parameters: dict[str, object] = {**parse_assignments(assignments or [])}
    if epsilon is not None:
        parameters["epsilon"] = epsilon
    if delta is not None:
        parameters["delta"] = delta
    form = csv_form(options)
    try:
        result = audit(
            protocol,
            view=view,
            runs=runs,
            mode=mode,
            parties=parties,
            party=party,
            rows=rows,
            data=data,
            separator=form.separator,
            encoding=form.encoding,
            seed=seed,
            processes=processes,
            progress=display.show,
            **parameters,
        )
    finally:
        display.close()
    report = result.report
    if out is not None:
        result.save(out)
    for line in skipped_text(report):
        sys.stderr.write(f"{line}\n")
    if as_json:
        sys.stdout.write(audit_json(report).decode())
    elif not quiet:
        print_table(*audit_table(report))
        sys.stdout.write("".join(f"\n{remark}\n" for remark in report.remarks))
        sys.stdout.write(f"\n{verdict_text(report)}\n{report.seconds:.0f} s\n")
        if out is not None:
            sys.stdout.write(f"written  {out / 'audit.html'}\n")
    if report.violations:
        raise typer.Exit(1)
