"""`sottovoce run`: on threads, over mpiexec, or as a rank of the user's own MPI job."""

from __future__ import annotations

import contextlib
import itertools
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ...messages import CURATOR, SottovoceError, UsageError
from ...protocols import RECOMMENDED, RECOMMENDED_PURE
from ...report.command import with_classify
from ...report.folder import check_folder, write_run
from ...report.judgement import Judging, judge_run
from ...report.making import make_report
from ...report.not_accounted import rehearsal_texts
from ...report.plain_text import plain_text
from ...report.progress import Progress
from ...report.report import Report, report_json
from ...report.reported import ReportedRun
from ...runs.failure import RunFailed
from ...runs.interruption import INTERRUPTED
from ...runs.job import Job, Placement, instantiate
from ...runs.one_writer import FolderTakenError, one_writer
from ...runs.record import Rehearsal, RunRecord
from ...runs.settings import (
    Settings,
    merge_options,
    parse_assignments,
    read_options,
    settings,
    split_names,
)
from ...runs.unfinished import UnfinishedRun, begin_run
from ..mpiexec import World, inside_mpi_job
from ..rank import be_a_rank
from ..rank_variables import this_rank
from ..run import rehearse_plug_in, run_job
from .app import Greedy, app
from .options import with_job_options


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
    progress: Annotated[
        bool, typer.Option("--progress", help="show progress even where there is no terminal")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing but errors")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="print report.json on standard output")
    ] = False,
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
    is_joined = world is not None and not threads
    is_writer = not is_joined or this_rank() == CURATOR
    with results_folder(chosen.out, name=kind.name, is_writer=is_writer) as folder:
        if is_joined and world is not None:
            if placement.durable:
                raise UsageError(
                    "expected --durable without an MPI job around the run, found mpirun or srun: "
                    "let `sottovoce run` start the ranks"
                )
            if placement.budget is not None:
                raise UsageError(
                    "expected --budget without an MPI job around the run, found mpirun or srun: "
                    "each party's table may be on another host; let `sottovoce run` start the ranks"
                )
            # mpirun ends its ranks with SIGTERM after one of them has reported why.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if classify and this_rank() == CURATOR:
                sys.stderr.write(
                    "sottovoce: nothing is judged within an MPI job: "
                    "`sottovoce evaluate` classifies afterwards\n"
                )
            _join(chosen, world, folder=folder, quiet=quiet, as_json=as_json)
            return
        if placement.transport is None:
            placement = msgspec.structs.replace(placement, transport="mpi")
        unfinished: UnfinishedRun | None = None
        labels = None if no_judge else [*(classify or [])]
        if placement.durable:
            unfinished = begin_run(job, placement, folder=folder, classify=labels)
        finish_run(
            job,
            placement,
            folder=folder,
            classify=labels,
            unfinished=unfinished,
            remark=chosen.recommended,
            progress=progress,
            quiet=quiet,
            as_json=as_json,
        )


def finish_run(
    job: Job,
    placement: Placement,
    *,
    folder: Path,
    classify: list[str] | None,
    unfinished: UnfinishedRun | None,
    remark: str = "",
    progress: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Play a run to its end, or go on with it, judge it and write its results.

    The first line that is printed ends with the remark.

    Raises:
        SottovoceError: the run failed. The text names the way to go on with a durable run.
    """
    shown = progress or (not quiet and sys.stderr.isatty())
    try:
        record = _play(
            job, placement, unfinished=unfinished, folder=folder, shown=shown, quiet=quiet
        )
        judgement = (
            None if classify is None else judge_run(record, judging=Judging(classify=classify))
        )
        report = make_report(record)
        if judgement is not None and classify:
            report = with_classify(report, classify)
        run = ReportedRun(report=report, judgement=judgement)
        _write(
            record,
            run,
            folder=folder,
            unfinished=unfinished,
            remark=remark,
            quiet=quiet,
            as_json=as_json,
        )
    except KeyboardInterrupt:
        if unfinished is None or not unfinished.is_there:
            raise
        interrupted = RunFailed("interrupted: all roles were ended", status=INTERRUPTED)
        raise _with_way_on(interrupted, folder) from None


def _play(
    job: Job,
    placement: Placement,
    *,
    unfinished: UnfinishedRun | None,
    folder: Path,
    shown: bool,
    quiet: bool,
) -> RunRecord:
    """Play a run, or go on with it; nothing is left of one that never began."""

    def show_rehearsal(rehearsal: Rehearsal) -> None:
        _show_rehearsal(rehearsal, quiet=quiet)

    try:
        return run_job(
            job,
            placement=placement,
            progress=Progress(shown=shown),
            show=show_rehearsal,
            durable=unfinished,
        )
    except SottovoceError as error:
        if unfinished is None or (isinstance(error, UsageError) and unfinished.is_resumed):
            raise
        if not unfinished.is_resumed and (error.before_start or not unfinished.has_begun):
            unfinished.remove()
            raise
        raise _with_way_on(error, folder) from error


def _with_way_on(error: SottovoceError, folder: Path) -> RunFailed:
    """Add to the line of a durable run's failure how to go on."""
    return RunFailed(
        f"{error}; go on with: sottovoce resume {shlex.quote(str(folder))}",
        status=getattr(error, "status", error.exit_status),
        traceback=getattr(error, "traceback", ""),
    )


@contextlib.contextmanager
def results_folder(out: str | None, *, name: str, is_writer: bool) -> Iterator[Path]:
    """Choose the folder of the results, and hold it up to the end.

    Raises:
        UsageError: The folder cannot be written, or another run is going to write into it.
    """
    first = Path(out or f"runs/{name}-{time.strftime('%Y%m%d-%H%M%S')}")
    check_folder(first)
    if not is_writer:
        yield first
        return
    with contextlib.ExitStack() as stack:
        for number in itertools.count(1):
            folder = first if number == 1 else Path(f"{first}-{number}")
            try:
                stack.enter_context(one_writer(folder))
            except FolderTakenError:
                if out is not None:
                    raise
            else:
                if out is not None or not folder.exists():
                    break
        yield folder


def _show_rehearsal(rehearsal: Rehearsal, *, quiet: bool) -> None:
    """Print what a rehearsal found on standard error, before the run."""
    if quiet and not rehearsal.unaccounted:
        return
    for text in rehearsal_texts(rehearsal):
        sys.stderr.write(plain_text(f"sottovoce: {text}\n"))
    sys.stderr.flush()


def _join(chosen: Settings, world: World, *, folder: Path, quiet: bool, as_json: bool) -> None:
    """Play this rank's role in an MPI job that the user started.

    The curator's rank rehearses a plug-in. It opens no file, so made-up records have the shape of
    the schema, or of the demo's people.
    """
    job, placement = chosen.job, chosen.placement
    if world.size is not None and world.size != job.parties + 1:
        raise UsageError(
            f"expected {job.parties + 1} ranks (a curator and {job.parties} parties), "
            f"found {world.size}: start the job with -n {job.parties + 1}, "
            f"or say --parties {world.size - 1}"
        )

    rehearsal: Rehearsal | None = None
    if this_rank() == CURATOR:
        rehearsal = rehearse_plug_in(job, placement=placement, read=False)
        if rehearsal is not None:
            _show_rehearsal(rehearsal, quiet=quiet)

    def conclude(record: RunRecord) -> None:
        record = msgspec.structs.replace(record, rehearsal=rehearsal)
        run = ReportedRun(report=make_report(record))
        _write(
            record,
            run,
            folder=folder,
            unfinished=None,
            remark=chosen.recommended,
            quiet=quiet,
            as_json=as_json,
        )

    be_a_rank(job, address=None, tell_errors=placement.tell_errors, conclude=conclude)


def _write(
    record: RunRecord,
    run: ReportedRun,
    *,
    folder: Path,
    unfinished: UnfinishedRun | None,
    remark: str,
    quiet: bool,
    as_json: bool,
) -> None:
    report, names = write_run(record, run, folder=folder)
    if unfinished is not None:
        unfinished.remove()
    try:
        _print(report, run, folder=folder, names=names, remark=remark, quiet=quiet, as_json=as_json)
        sys.stdout.flush()
    except OSError as error:
        raise UsageError(
            f"expected standard output to take the summary, found: {error.strerror}; the results "
            f"are in {folder}"
        ) from None


def _print(
    report: Report,
    run: ReportedRun,
    *,
    folder: Path,
    names: list[str],
    remark: str,
    quiet: bool,
    as_json: bool,
) -> None:
    if report.privacy.not_accounted and (as_json or quiet):
        from ...report.terminal import print_not_accounted

        print_not_accounted(report.privacy.not_accounted, to_error=True)
    if as_json:
        sys.stdout.write(report_json(report).decode())
    elif not quiet:
        from ...report.terminal import print_summary

        shown = ReportedRun(report=report, judgement=run.judgement)
        print_summary(shown, folder=folder, names=names, remark=remark)
