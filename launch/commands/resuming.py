"""`sottovoce resume`: go on with a durable run that has stopped."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...messages import UsageError
from ...report.folder import check_folder
from ...report.printing import print_table
from ...runs.one_writer import FolderTakenError, one_writer
from ...runs.unfinished import UnfinishedRun, find_run, unfinished_runs
from ..durable_run import enter_working_folder
from ..mpiexec import inside_mpi_job
from .app import app
from .finishing import Display, finish_run
from .joining import join_resumed
from .options import PrintJson, Quiet, ShowLive, ShowProgress


@app.command("resume")
def resume_command(
    run: Annotated[
        str | None,
        typer.Argument(
            help="folder of its results, or its name; without it all unfinished runs are listed"
        ),
    ] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="remove what the run has left on this host")
    ] = False,
    hosts: Annotated[
        str | None,
        typer.Option(help="other hosts than before, for roles whose folders were moved: a:2,b:1"),
    ] = None,
    hostfile: Annotated[
        Path | None, typer.Option(help="host file with other hosts than before")
    ] = None,
    progress: ShowProgress = False,
    live: ShowLive = False,
    quiet: Quiet = False,
    as_json: PrintJson = False,
) -> None:
    """Go on with a run of --durable that has stopped: same messages, same result, same epsilon."""
    moves = hosts is not None or hostfile is not None
    if moves and (forget or run is None or inside_mpi_job() is not None):
        raise UsageError(
            "expected --hosts and --hostfile beside the name of a run that goes on, without "
            "--forget, mpirun or srun, which has hosts of its own"
        )
    if run is None:
        _list_runs(unfinished_runs())
        return
    display = Display(progress=progress, live=live, quiet=quiet, as_json=as_json)
    if inside_mpi_job() is not None:
        if forget or live:
            raise UsageError(
                "expected --forget and --live without an MPI job around them, found mpirun or srun"
            )
        join_resumed(run, display=display)
        return
    unfinished = find_run(run)
    folder = Path(unfinished.folder)
    with one_writer(folder):
        if forget:
            unfinished.remove()
            return
        unfinished.require_unfinished()
        if moves:
            unfinished = unfinished.on_hosts(hosts=hosts, hostfile=hostfile)
        enter_working_folder(unfinished)
        check_folder(folder)
        finish_run(
            unfinished.job,
            unfinished.placement,
            folder=folder,
            classify=unfinished.classify,
            unfinished=unfinished,
            display=display,
        )


def _list_runs(runs: list[UnfinishedRun]) -> None:
    if not runs:
        sys.stdout.write("no durable run is unfinished\n")
        return
    rows = [
        [
            run.run,
            run.job.protocol,
            f"{run.began.astimezone():%Y-%m-%d %H:%M}",
            _state_of(run),
            run.folder,
        ]
        for run in runs
    ]
    print_table(("name", "protocol", "began", "state", "results"), rows)


def _state_of(run: UnfinishedRun) -> str:
    """Say whether a run has stopped, by the lock on its folder."""
    try:
        with one_writer(Path(run.folder)):
            return "stopped"
    except FolderTakenError:
        return "running"
