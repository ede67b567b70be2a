"""Playing a run to its end, and what a person sees of it, for `run` and `resume`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from ...messages import SottovoceError, UsageError
from ...report.command import with_classify
from ...report.folder import write_run
from ...report.judgement import Judging
from ...report.judging import judge_run
from ...report.making import make_report
from ...report.not_accounted import rehearsal_texts
from ...report.plain_text import plain_text
from ...report.progress import Progress
from ...report.report import Report, report_json
from ...report.reported import ReportedRun
from ...runs.failure import RunFailed
from ...runs.interruption import INTERRUPTED
from ...runs.job import Job
from ...runs.placement import Placement
from ...runs.record import Rehearsal, RunRecord
from ...runs.unfinished import UnfinishedRun
from ..durable_run import failure_of
from ..jobs import run_job
from .notice_progress import NoticeProgress

__all__ = ["Display", "finish_run", "way_on", "write_results"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """What a person asked to see of a run."""

    progress: bool = False
    """Whether progress is shown where there is no terminal, too."""
    live: bool = False
    """Whether a page on this machine shows progress."""
    quiet: bool = False
    """Whether nothing but errors is printed."""
    as_json: bool = False
    """Whether report.json is printed instead of a summary."""
    remark: str = ""
    """The end of the summary's first line."""
    notice: str = ""
    """A line for runs that take longer than a second after their roles have begun."""

    @property
    def shows_progress(self) -> bool:
        """Whether progress is shown."""
        return self.progress or (not self.quiet and sys.stderr.isatty())

    def start_progress(self, protocol: str) -> Progress:
        """Start to show progress; a live view says where it is on standard error."""
        progress = self._start_progress(protocol)
        return (
            NoticeProgress(progress, tell=lambda: self.tell(self.notice))
            if self.notice
            else progress
        )

    def _start_progress(self, protocol: str) -> Progress:
        if not self.live:
            return Progress(shown=self.shows_progress)
        from ...report.live import LiveProgress, LiveView

        view = LiveView(f"sottovoce: a run of {protocol}")
        sys.stderr.write(f"sottovoce: live view at {view.address}\n")
        sys.stderr.flush()
        return LiveProgress(shown=self.shows_progress, view=view)

    def tell(self, text: str) -> None:
        """Print a line about the run on standard error."""
        if not self.quiet:
            sys.stderr.write(plain_text(f"sottovoce: {text}\n"))
            sys.stderr.flush()

    def show_rehearsal(self, rehearsal: Rehearsal) -> None:
        """Print what a rehearsal found on standard error, before the run."""
        if self.quiet and not rehearsal.unaccounted:
            return
        for text in rehearsal_texts(rehearsal):
            sys.stderr.write(plain_text(f"sottovoce: {text}\n"))
        sys.stderr.flush()


def finish_run(
    job: Job,
    placement: Placement,
    *,
    folder: Path,
    classify: list[str] | None,
    unfinished: UnfinishedRun | None,
    display: Display,
) -> None:
    """Play a run to its end, or go on with it, judge it and write its results.

    Raises:
        SottovoceError: the run failed. The text names the way to go on with a durable run.
    """
    try:
        record = _play(job, placement, unfinished=unfinished, folder=folder, display=display)
        judgement = (
            None if classify is None else judge_run(record, judging=Judging(classify=classify))
        )
        report = make_report(record)
        if judgement is not None and classify:
            report = with_classify(report, classify)
        run = ReportedRun(report=report, judgement=judgement)
        write_results(record, run, folder=folder, unfinished=unfinished, display=display)
    except KeyboardInterrupt:
        if unfinished is None or not unfinished.is_there:
            raise
        text = f"interrupted: all roles were ended; go on with: {way_on(folder)}"
        raise RunFailed(text, status=INTERRUPTED) from None


def _play(
    job: Job,
    placement: Placement,
    *,
    unfinished: UnfinishedRun | None,
    folder: Path,
    display: Display,
) -> RunRecord:
    """Play a run, or go on with it; nothing is left of one that never began."""
    try:
        return run_job(
            job,
            placement=placement,
            progress=display.start_progress(job.protocol),
            show=display.show_rehearsal,
            durable=unfinished,
            tell=display.tell,
        )
    except SottovoceError as error:
        if unfinished is None:
            raise
        raise failure_of(error, unfinished, way_on=way_on(folder)) from error


def way_on(folder: Path) -> str:
    """Give the command that goes on with a durable run."""
    return f"sottovoce resume {shlex.quote(str(folder))}"


def write_results(
    record: RunRecord,
    run: ReportedRun,
    *,
    folder: Path,
    unfinished: UnfinishedRun | None = None,
    display: Display,
) -> None:
    """Write the results of a run, remove what a durable one has left, and print a summary.

    Raises:
        UsageError: the files cannot be written, or nobody reads the summary.
    """
    report, names = write_run(record, run, folder=folder)
    if unfinished is not None:
        unfinished.remove()
    try:
        _print(report, run, folder=folder, names=names, display=display)
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
    display: Display,
) -> None:
    if report.privacy.not_accounted and (display.as_json or display.quiet):
        from ...report.terminal import print_not_accounted

        print_not_accounted(report.privacy.not_accounted, to_error=True)
    if display.as_json:
        sys.stdout.write(report_json(report).decode())
    elif not display.quiet:
        from ...report.terminal import print_summary

        shown = ReportedRun(report=report, judgement=run.judgement)
        print_summary(shown, folder=folder, names=names, remark=display.remark)
