"""Commands for before a run: `schema`, `doctor`, `identity`, `new`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ...messages import CURATOR, UsageError, role_name
from ...parties import DEMO, DEMO_SCHEMA, ColumnChoice, write_schema
from ...runs.identities import write_identity
from ...runs.settings import split_names
from ..doctor import examine
from ..scaffold import write_package
from ..schema_proposal import SchemaProposal, check_schema, misfit_text, propose_schema, save_new
from .app import Greedy, app
from .options import COLUMN_OPTIONS, FORM_OPTIONS, csv_form, with_job_options


@app.command("schema", cls=Greedy)
@with_job_options(names=(*COLUMN_OPTIONS, *FORM_OPTIONS))
def schema_command(
    source: Annotated[str, typer.Argument(help="CSV (also .gz), Parquet, or demo")],
    out: Annotated[
        Path | None, typer.Option(help="file to write it to (default: standard output)")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="HTML file with a histogram of each attribute: not private")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(help="a schema: say what of the table does not fit it")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="without pictures and remarks")] = False,
    **options: Any,
) -> None:
    """Propose a schema of a table, with a picture of each attribute, or check a table against one.

    The schema is to be edited and given with --schema. The pictures show the table itself.
    """
    drop, columns = ([*(options[name] or ())] for name in ("drop", "columns"))
    rows, form = options["rows"], csv_form(options)
    if drop and columns:
        raise UsageError("expected --drop or --columns, found both")
    if rows is not None and rows < 1:
        raise UsageError(f"expected at least 1 for --rows, found {rows}")
    chosen = split_names(",".join(columns))
    if check is not None:
        if out or page or drop or columns:
            raise UsageError("expected --check alone, found another option: it writes no schema")
        misfits = check_schema(
            check, source, rows=rows, separator=form.separator, encoding=form.encoding
        )
        sys.stdout.write(misfit_text(misfits, schema=check))
        sys.exit(2 if any(misfit.is_refused for misfit in misfits) else 0)
    for path in filter(None, (out, page)):
        if path.exists():
            raise UsageError(
                f"expected --out and --page to name new files, found {path}: it may have been "
                "edited"
            )
    if source == DEMO:
        choice = ColumnChoice(columns=tuple(chosen), drop=tuple(drop))
        _write_schema(write_schema(DEMO_SCHEMA.select(choice)), out)
        return
    proposal = propose_schema(
        source,
        rows=rows,
        drop=drop,
        columns=chosen,
        separator=form.separator,
        encoding=form.encoding,
    )
    if not quiet:
        to = sys.stderr if out is None else sys.stdout
        to.write(f"{proposal!r}\n\n")
    _write_both(proposal, out=out, page=page)
    sys.stderr.write(
        "sottovoce: categories and ranges were taken from the data, which is NOT private: "
        "replace them by public ones, or learn them by `sottovoce run private-schema`\n"
    )


def _write_both(proposal: SchemaProposal, *, out: Path | None, page: Path | None) -> None:
    """Write the page and the schema, or neither: a page alone would stand in another try's way."""
    if page is not None:
        save_new(page, proposal.page())
    try:
        _write_schema(proposal.text, out)
    except UsageError:
        if page is not None:
            page.unlink(missing_ok=True)
        raise
    if page is not None:
        sys.stderr.write(f"{page}: a page of the table itself, which is NOT private\n")


def _write_schema(text: str, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(text)
        return
    save_new(out, text)
    sys.stdout.write(f"{out}: {text.count(chr(10)) - 2} attributes\n")


@app.command("doctor")
def doctor_command(
    mpiexec: Annotated[str | None, typer.Option(help="which mpiexec")] = None,
) -> None:
    """Show what is installed and which MPI is used, and prove by an exchange that it works."""
    sys.exit(examine(mpiexec))


@app.command("identity")
def identity_command(
    folder: Annotated[Path, typer.Argument(help="folder for the keys")],
    party: Annotated[
        int | None, typer.Option(help="make that of this party", min=1, max=65_535)
    ] = None,
    curator: Annotated[bool, typer.Option("--curator", help="make that of the curator")] = False,
) -> None:
    """Make the key pair by which the other roles know this one."""
    if (party is None) != curator:
        raise UsageError(
            f"expected --party N or --curator, found {'both' if curator else 'neither'}"
        )
    rank = CURATOR if party is None else party
    private, public = write_identity(folder, rank=rank)
    sys.stdout.write(
        f"{private}: keep it on the host of {role_name(rank)} alone\n"
        f"{public}: copy it into the folder of every other role\n"
    )


@app.command("new")
def new_command(
    name: Annotated[str, typer.Argument(help="the protocol's name, such as noisy-mean")],
    folder: Annotated[
        Path | None, typer.Option("--in", help="where to write it (default: here)")
    ] = None,
) -> None:
    """Write a working protocol package with a test, to start from."""
    sys.stdout.write(write_package(name, folder=folder or Path.cwd()))
