"""`sottovoce run`: here, over mpiexec, or as a rank of somebody else's MPI job."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ...messages import CURATOR, UsageError
from ...report.folder import check_folder, leave
from ...report.judgement import Judging, judged
from ...report.progress import Progress
from ...report.terminal import print_summary
from ...runs.job import Job, instantiate
from ...runs.settings import Settings, parse_assignments, read_settings
from ..mpiexec import World, inside_mpi_job, this_rank
from ..rank import be_a_rank
from ..run import run_job
from ..supervise import Hosts
from .app import Greedy, app


@app.command("run", cls=Greedy)
def run_command(
    protocol: Annotated[
        str | None, typer.Argument(help="a name that `sottovoce protocols` lists, or module:Class")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="a table to split among the parties, or one for each; or demo"),
    ] = None,
    parties: Annotated[int | None, typer.Option(help="how many parties (default 3)")] = None,
    epsilon: Annotated[float | None, typer.Option(help="privacy budget of each record")] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for the results (default runs/PROTOCOL-TIME)")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="reproducible to the byte, and not private")
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="rigorous (default), or paper: as printed")
    ] = None,
    transport: Annotated[
        str | None, typer.Option(help="mpi (default), or threads: all in this process")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="JSON: categories and bins (default: inferred)")
    ] = None,
    identities: Annotated[Path | None, typer.Option(help="folder of `sottovoce identity`")] = None,
    key_bits: Annotated[
        int | None, typer.Option(help="for protocols that encrypt (default 3072)")
    ] = None,
    insecure_test_keys: Annotated[
        bool, typer.Option("--insecure-test-keys", help="allow keys below 2048 bits")
    ] = False,
    rows: Annotated[int | None, typer.Option(help="take only so many rows")] = None,
    split: Annotated[
        str | None,
        typer.Option(help="of one table: even, sizes:3,1,1 or by:ATTRIBUTE,...@STRENGTH"),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="seconds that any wait may last (default 3600)")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="a protocol's parameter")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with the same names; options win")
    ] = None,
    hosts: Annotated[str | None, typer.Option(help="hosts for mpiexec: a:2,b:1")] = None,
    hostfile: Annotated[str | None, typer.Option(help="host file for mpiexec")] = None,
    mpiexec: Annotated[str | None, typer.Option(help="which mpiexec")] = None,
    mpi_arg: Annotated[
        list[str] | None, typer.Option(help="a word to add to mpiexec's arguments")
    ] = None,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="digest everything that is said, edge by edge")
    ] = False,
    no_judge: Annotated[
        bool, typer.Option("--no-judge", help="do not measure what was published against the data")
    ] = False,
    classify: Annotated[
        list[str] | None,
        typer.Option(help="measure how well these are predicted: income 'education>=Bachelors'"),
    ] = None,
    progress: Annotated[
        bool, typer.Option("--progress", help="show progress even where there is no terminal")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing but errors")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="print report.json on standard output")
    ] = False,
) -> None:
    """Run a protocol: one process for the curator and one for each party."""
    given = {
        "protocol": protocol,
        "data": data or None,
        "parties": parties,
        "epsilon": epsilon,
        "out": str(out) if out else None,
        "seed": seed,
        "mode": mode,
        "transport": transport,
        "schema": str(schema) if schema else None,
        "identities": str(identities) if identities else None,
        "key-bits": key_bits,
        "rows": rows,
        "split": split,
        "timeout": timeout,
        "insecure-test-keys": insecure_test_keys or None,
        "transcript": transcript or None,
        "hosts": hosts,
        "hostfile": hostfile,
        "mpiexec": mpiexec,
        "mpi-arg": mpi_arg or None,
        "set": parse_assignments(assignments or []),
    }
    try:
        asked = msgspec.convert(
            {name: value for name, value in given.items() if value is not None}, Settings
        )
    except msgspec.ValidationError as error:
        what, _, key = str(error).partition(" - at `$.")
        raise UsageError(f"--{key.rstrip('`')}: {what[0].lower()}{what[1:]}") from None
    settings = asked.over(read_settings(config)) if config else asked
    world = inside_mpi_job()
    if (
        world is not None
        and world.size
        and settings.parties is None
        and settings.transport != "threads"
    ):
        settings = msgspec.structs.replace(settings, parties=world.size - 1 or None)
    job = settings.job()
    if classify and no_judge:
        raise UsageError(
            "expected --classify or --no-judge, found both: the judge is who classifies"
        )
    kind = instantiate(job)
    folder = Path(settings.out or f"runs/{kind.name}-{time.strftime('%Y%m%d-%H%M%S')}")
    check_folder(folder)
    if world is not None and settings.transport != "threads":
        signal.signal(
            signal.SIGTERM, signal.SIG_DFL
        )  # mpirun ends its ranks with this; one of them has said why
        if classify and this_rank() == CURATOR:
            sys.stderr.write(
                "sottovoce: nothing is judged within an MPI job: `sottovoce evaluate` classifies afterwards\n"
            )
        _join(job, world, folder=folder, quiet=quiet, as_json=as_json)
        return
    shown = progress or (not quiet and sys.stderr.isatty())
    files = run_job(
        job,
        transport=settings.transport or "mpi",
        mpiexec=settings.mpiexec,
        hosts=Hosts(
            hosts=settings.hosts, hostfile=settings.hostfile, extra=tuple(settings.mpi_arg or ())
        ),
        progress=Progress(shown=shown),
    )
    if not no_judge:
        files = judged(job, files, judging=Judging(classify=classify or []))
    _leave(files, folder=folder, quiet=quiet, as_json=as_json)


def _join(job: Job, world: World, *, folder: Path, quiet: bool, as_json: bool) -> None:
    """Take this rank's part in an MPI job that somebody else started."""
    if world.size is not None and world.size != job.parties + 1:
        raise UsageError(
            f"expected {job.parties + 1} ranks (a curator and {job.parties} parties), found {world.size}: "
            f"start the job with -n {job.parties + 1}, or say --parties {world.size - 1}"
        )

    def conclude(files: dict[str, bytes]) -> None:
        _leave(files, folder=folder, quiet=quiet, as_json=as_json)

    be_a_rank(job, address=None, conclude=conclude)


def _leave(files: dict[str, bytes], *, folder: Path, quiet: bool, as_json: bool) -> None:
    files = leave(files, folder=folder)
    report = json.loads(files["report.json"])
    if as_json:
        sys.stdout.write(files["report.json"].decode())
    elif not quiet:
        print_summary(report, folder=folder, names=sorted(files))
