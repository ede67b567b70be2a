"""`sottovoce run`: on threads, over mpiexec, or as a rank of the user's own MPI job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ...messages import CURATOR, UsageError
from ...protocols import RECOMMENDED, RECOMMENDED_PURE
from ...report.targets import require_targets
from ...runs.calibration import Calibration, read_calibration
from ...runs.cheaper_options import cheaper_option
from ...runs.default_logs import keeps_logs
from ...runs.finding_runs import refuse_stopped
from ...runs.instance import instantiate
from ...runs.job import Job
from ...runs.placement import Placement
from ...runs.settings import (
    merge_options,
    parse_assignments,
    read_options,
    settings,
    split_names,
)
from ...runs.unfinished import UnfinishedRun, begin_run
from ..many_processes import many_processes
from ..mpiexec import inside_mpi_job
from ..rank_variables import this_rank
from ..results_folder import results_folder
from .app import Greedy, app
from .finishing import Display, finish_run, way_on
from .joining import join_job
from .log_notices import notice_of_logs, tell_of_old_runs
from .options import PrintJson, Quiet, ShowLive, ShowProgress, with_job_options


@app.command("run", cls=Greedy)
@with_job_options()
def run_command(
    protocol: Annotated[
        str | None,
        typer.Argument(
            help="a name that `sottovoce protocols` lists, or module:Class "
            f"(default {RECOMMENDED}; {RECOMMENDED_PURE} with --delta 0)"
        ),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="privacy budget of each record")] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="chance that epsilon may fail (default 1e-9); 0 allows pure noise only"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for the results (default runs/PROTOCOL-TIME)")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="replace the results of a run in --out")
    ] = False,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="a protocol's parameter"),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with the same names; options win")
    ] = None,
    no_judge: Annotated[
        bool, typer.Option("--no-judge", help="do not compare with the real data")
    ] = False,
    classify: Annotated[
        list[str] | None,
        typer.Option(help="measure how well labels are predicted: income 'education>=Bachelors'"),
    ] = None,
    progress: ShowProgress = False,
    live: ShowLive = False,
    quiet: Quiet = False,
    as_json: PrintJson = False,
    **options: Any,
) -> None:
    """Run a protocol: one process for the curator and one for each party."""
    arguments = {
        "protocol": protocol,
        "epsilon": epsilon,
        "delta": delta,
        "out": None if out is None else str(out),
        "set": parse_assignments(assignments or []),
        **{name: value for name, value in options.items() if value != []},
    }
    if options.get("columns"):
        arguments["columns"] = split_names(",".join(options["columns"]))
    merged = merge_options(arguments, read_options(config)) if config else arguments
    world = inside_mpi_job()
    threads = merged.get("transport") in ("threads", "virtual")
    if world is not None and world.size and merged.get("parties") is None and not threads:
        merged["parties"] = world.size - 1 or None
    chosen = settings(merged, spelling=lambda name: f"--{name.replace('_', '-')}")
    job, placement = chosen.job, chosen.placement
    if classify and no_judge:
        raise UsageError("expected --classify or --no-judge, found both: only the judge classifies")
    kind = instantiate(job)
    display = Display(
        progress=progress, live=live, quiet=quiet, as_json=as_json, remark=chosen.recommended
    )
    is_joined = world is not None and not threads
    if live and is_joined:
        raise UsageError(
            "expected --live where sottovoce starts the ranks, found an MPI job that you started"
        )
    if not is_joined:
        placement.require_hostfile()  # Logs are begun before the ranks are.
    if classify and not is_joined:
        require_targets(job, classify)
    is_writer = not is_joined or this_rank() == CURATOR
    with results_folder(
        chosen.out, name=kind.name, is_writer=is_writer, overwrite=overwrite
    ) as folder:
        if is_joined and world is not None:
            join_job(chosen, world, folder=folder, classify=classify or [], display=display)
            return
        refuse_stopped(folder)
        if placement.transport is None:
            placement = msgspec.structs.replace(placement, transport="mpi")
        for remark in _remarks(job, placement):
            display.tell(remark)
        labels = None if no_judge else [*(classify or [])]
        tell_of_old_runs(display)
        is_default = placement.durable is None
        unfinished = _begin(job, placement, folder=folder, classify=labels, display=display)
        if unfinished is not None:
            command = f"go on with: {way_on(folder)}"
            notice = notice_of_logs(unfinished, way_on=command, is_default=is_default)
            if is_default and not placement.several_hosts:
                display = replace(display, notice=notice)
            else:
                display.tell(notice)
        placement = msgspec.structs.replace(placement, durable=unfinished is not None)
        finish_run(
            job,
            placement,
            folder=folder,
            classify=labels,
            unfinished=unfinished,
            display=display,
        )


def _begin(
    job: Job, placement: Placement, *, folder: Path, classify: list[str] | None, display: Display
) -> UnfinishedRun | None:
    """Write down a durable run before it begins; give `None` for a run without logs.

    A run that keeps logs by default goes without them where they cannot be written.

    Raises:
        UsageError: they cannot be written, and were asked for, or are needed on several hosts.
    """
    is_default = placement.durable is None
    if not (keeps_logs(job, placement) if is_default else placement.durable):
        return None
    placement = msgspec.structs.replace(placement, durable=True)
    try:
        return begin_run(job, placement, folder=folder, classify=classify)
    except UsageError as error:
        if not is_default or placement.several_hosts:
            raise
        display.tell(f"no role keeps a log, so a run that stops is lost: {error}")
        return None


def _remarks(job: Job, placement: Placement) -> list[str]:
    """List what would save the run much time."""
    cheaper = cheaper_option(job, placement, calibration=_usable_calibration())
    return [text for text in (many_processes(job, placement), cheaper) if text]


def _usable_calibration() -> Calibration | None:
    """Read this machine's calibration for a hint; a run needs none, so a damaged one is ignored."""
    try:
        return read_calibration()
    except UsageError:
        return None
