"""Commands for before a run: `schema`, `doctor`, `identity`, `new`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...messages import CURATOR, UsageError, role_name
from ...parties import DEMO, DEMO_SCHEMA, ColumnChoice, blocks, infer, merge, write_schema
from ...runs.identities import write_identity
from ...runs.settings import split_names
from ..doctor import examine
from ..scaffold import write_package
from .app import Greedy, app


@app.command("schema", cls=Greedy)
def schema_command(
    source: Annotated[str, typer.Argument(help="CSV (also .gz), Parquet, or demo")],
    out: Annotated[
        Path | None, typer.Option(help="file to write it to (default: standard output)")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="columns to leave out: name address")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="columns to take, and no others: age,sex,income"),
    ] = None,
) -> None:
    """Write a schema of a table, to be edited and given with --schema."""
    if drop and columns:
        raise UsageError("expected --drop or --columns, found both")
    choice = ColumnChoice(
        columns=tuple(split_names(",".join(columns or ()))), drop=tuple(drop or ())
    )
    if source == DEMO:
        text = write_schema(DEMO_SCHEMA.select(choice))
    else:
        text = write_schema(merge([infer(blocks(source, choice=choice))]))
        sys.stderr.write(
            "sottovoce: categories and ranges were taken from the data, which is NOT private: "
            "replace them by public ones, or learn them by `sottovoce run private-schema`\n"
        )
    if out is None:
        sys.stdout.write(text)
    elif out.exists():
        raise UsageError(f"expected --out to name a new file, found {out}: it may have been edited")
    else:
        out.write_text(text)
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
