"""`sottovoce resume`: go on with a durable run that has stopped."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from ...messages import UsageError
from ...report.folder import check_folder
from ...report.printing import print_table
from ...runs.finding_runs import find_run
from ...runs.left_runs import LeftRun, forget_roles, left_runs
from ...runs.one_writer import one_writer
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
    without: Annotated[
        list[int] | None,
        typer.Option(
            help="a party whose host, table or log is gone for good, in a run with "
            "--on-loss continue; several times for several",
            metavar="PARTY",
        ),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="from now on, seconds that any wait may last")
    ] = None,
    progress: ShowProgress = False,
    live: ShowLive = False,
    quiet: Quiet = False,
    as_json: PrintJson = False,
) -> None:
    """Go on with a run that has stopped and kept logs: same messages, same result, same epsilon."""
    moves = hosts is not None or hostfile is not None
    _refuse_options(run, forget=forget, moves=moves, without=without or [], timeout=timeout)
    if run is None:
        _list_runs(left_runs())
        return
    display = Display(progress=progress, live=live, quiet=quiet, as_json=as_json)
    if inside_mpi_job() is not None:
        if forget or live:
            raise UsageError(
                "expected --forget and --live without an MPI job around them, found mpirun or srun"
            )
        join_resumed(run, display=display)
        return
    if forget and forget_roles(run):
        return
    unfinished = find_run(run)
    folder = Path(unfinished.folder)
    with one_writer(folder):
        if forget:
            unfinished.remove()
            return
        unfinished.require_unfinished()
        if timeout is not None:
            unfinished = unfinished.with_timeout(timeout)
        if moves:
            unfinished = unfinished.on_hosts(hosts=hosts, hostfile=hostfile)
        if without:
            unfinished = unfinished.without_parties(without)
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


def _refuse_options(
    run: str | None, *, forget: bool, moves: bool, without: list[int], timeout: float | None
) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: they do not.
    """
    is_alone = run is None or forget or inside_mpi_job() is not None
    if moves and is_alone:
        raise UsageError(
            "expected --hosts and --hostfile beside the name of a run that goes on, without "
            "--forget, mpirun or srun, which has hosts of its own"
        )
    if without and is_alone:
        raise UsageError(
            "expected --without beside the name of a run that goes on, without --forget, mpirun or "
            "srun"
        )
    if timeout is not None and is_alone:
        raise UsageError(
            "expected --timeout beside the name of a run that goes on, without --forget, mpirun or "
            "srun"
        )
    if timeout is not None and not 0 < timeout < math.inf:
        raise UsageError(f"expected --timeout of more than 0 s, found {timeout:g}")
    if forget and run is None:
        raise UsageError("expected the run to forget, found none: `sottovoce resume` lists all")


def _list_runs(runs: list[LeftRun]) -> None:
    if not runs:
        sys.stdout.write("no durable run is unfinished\n")
        return
    rows = [
        [
            run.run,
            "" if run.description is None else run.description.job.protocol,
            "" if run.began is None else f"{run.began.astimezone():%Y-%m-%d %H:%M}",
            _state_of(run),
            f"{run.size / 1e6:.1f} MB",
            run.folder,
        ]
        for run in runs
    ]
    print_table(("name", "protocol", "began", "state", "logs", "results"), rows)


def _state_of(run: LeftRun) -> str:
    """Say whether a run has stopped, and what is here if it cannot go on from here."""
    if run.is_running:
        return "running"
    if run.version and run.description is None:
        return f"stopped, of version {run.version}"
    if not run.version:
        return f"{' and '.join(run.roles)} of a run from another host"
    return "stopped"
