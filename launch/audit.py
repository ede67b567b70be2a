"""Audit a protocol, from Python and from the command line."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..messages import UsageError
from ..parties import COMMAS, DEMO, CsvForm
from ..parties.records import UnknownColumnError
from ..protocols.options import Mode
from ..protocols.registry import OWN_PROTOCOLS, available, find
from ..report.audit_report import AuditLine, AuditReport, audit_json, audit_table, verdict_text
from ..report.folder import put
from ..report.pages.audit_page import audit_page
from ..runs.failure import RunFailed, is_raised_here
from ..studies.audit import StartChunks, audit_lines, check_plan, play_once
from ..studies.audit_line import CONFIDENCE
from ..studies.audit_plan import AuditPlan
from ..studies.audit_settings import LEFT_OUT, preset
from ..studies.audit_tables import MADE_UP
from ..studies.mechanism_audit import audit_mechanisms
from .audit_processes import chunks_here, chunks_in_processes
from .audit_rehearsal import rehearse_plan, rehearsed_lines, rehearsed_remarks
from .option_keywords import refuse_options

__all__ = ["MECHANISMS", "Audit", "audit", "plan_audit"]

DEFAULT_RUNS: Final = 1_000
MECHANISMS: Final = "mechanisms"
"""The name under which all built-in mechanisms are audited, without a protocol."""
ALL: Final = "all"
"""The name under which everything built in is audited."""
OWN_TABLE: Final = (
    "these are the columns of --data {}: --data FILE takes those of your table, and what they hold"
)


@dataclass(frozen=True)
class Audit:
    """What an audit found."""

    report: AuditReport

    @property
    def lines(self) -> list[AuditLine]:
        """The findings, a line for each mode and view."""
        return self.report.lines

    @property
    def ok(self) -> bool:
        """Whether no view loses more than is accounted."""
        return not self.report.violations

    def __str__(self) -> str:
        return verdict_text(self.report)

    def page(self) -> str:
        """Make audit.html."""
        return audit_page(self.report)

    def table(self) -> tuple[tuple[str, ...], list[list[str]]]:
        """Give the heads and the rows of the table."""
        return audit_table(self.report)

    def save(self, folder: str | Path) -> None:
        """Write audit.json and audit.html into a folder."""
        files = {"audit.json": audit_json(self.report), "audit.html": self.page().encode()}
        put(files, folder=Path(folder))


def audit(
    protocol: str,
    *,
    view: str | None = None,
    runs: int = DEFAULT_RUNS,
    mode: str | None = None,
    parties: int | None = None,
    party: int | None = None,
    rows: int | None = None,
    data: str | None = None,
    separator: str = ",",
    encoding: str = "utf-8",
    seed: int | None = None,
    processes: int | None = None,
    progress: Callable[[int, int, str], None] = lambda *_: None,
    **parameters: Any,
) -> Audit:
    """Run a protocol many times on neighbouring datasets, and compare what each view loses.

    Args:
        protocol: A name that `sottovoce protocols` lists, `module:Class`, `mechanisms` for all
            built-in mechanisms, or `all` for everything. What these options do not suit is then
            skipped, and the report says why.
        view: Report this view alone: public, curator, other_party, 2_parties, curator_and_1 ...
        runs: Number of runs in each mode. At least 8 are made on each table and on its neighbour.
        mode: "rigorous" or "paper". The default is every mode that the protocol has.
        parties: Number of parties without the curator. The default is 2.
        party: The audited party's number, from 1.
        rows: Records of each party on each made-up table but `pair`, which has two. The default is
            as few as show most: a mechanism with a threshold may need more.
        data: "made-up" (the default for built-in protocols), "demo", or a table whose attributes
            and labels are used. Rows are always made up.
        separator: What separates columns of a CSV file: "," or ";", or "tab".
        encoding: The encoding of a CSV file, such as "latin-1".
        seed: Seed of the first run; each run has the next one.
        processes: Number of processes. The default is one for each core.
        progress: Called with the number of finished runs, of all runs, and what is being audited.
        parameters: Parameters of the protocol, such as `epsilon=0.8`.

    Raises:
        UsageError: An option or a parameter cannot be used.
    """
    if runs < 1:
        raise UsageError(f"expected at least one run, found {runs}")
    if rows is not None and rows < 1:
        raise UsageError(f"expected at least one row, found {rows}")
    started = time.perf_counter()
    form = CsvForm.of(separator=separator, encoding=encoding)
    names = [*available(), MECHANISMS] if protocol == ALL else [protocol]
    if protocol not in (ALL, MECHANISMS):
        refuse_options(parameters, protocol=protocol, command="audit")
    first = secrets.randbits(62) if seed is None else seed
    plans, skipped = _plans_and_reasons(
        [name for name in names if name != MECHANISMS],
        skips=protocol == ALL,
        mode=mode,
        parties=parties,
        party=party,
        rows=rows,
        data=data,
        form=form,
        runs=runs,
        seed=first,
        parameters=parameters,
    )
    total = sum(chunk.runs for plan in plans for chunk in plan.chunks())
    lines: list[AuditLine] = []
    remarks = [*dict.fromkeys(plan.remark for plan in plans if plan.remark)]
    done = 0
    for plan in plans:
        label = f"{plan.protocol} ({plan.mode})"
        rehearsal = rehearse_plan(plan)
        of_plan = audit_lines(
            plan,
            start=_start(plan, processes=processes),
            progress=_shifted(progress, label, done=done, of=total),
        )
        lines += rehearsed_lines(of_plan, rehearsal)
        remarks += rehearsed_remarks(plan, rehearsal)
        done += sum(chunk.runs for chunk in plan.chunks())
    if MECHANISMS in names:
        lines += audit_mechanisms(
            seed=first,
            draws=runs,
            progress=lambda case, of: progress(total + case, total + of, MECHANISMS),
        )
    if view is not None:
        lines = _only(lines, view)
    return Audit(
        AuditReport(
            lines=lines,
            parties=max((plan.parties for plan in plans), default=0),
            runs=runs,
            seconds=time.perf_counter() - started,
            confidence=CONFIDENCE,
            left_out=[*LEFT_OUT],
            skipped=skipped,
            remarks=remarks,
        )
    )


def _shifted(
    progress: Callable[[int, int, str], None], label: str, *, done: int, of: int
) -> Callable[[int, int], None]:
    """Count runs over all protocols and modes, so that the time left is of the whole audit."""
    return lambda runs, _: progress(done + runs, of, label)


def _start(plan: AuditPlan, *, processes: int | None) -> StartChunks:
    """Choose where runs are made: a few are not worth other processes."""
    if processes == 1 or plan.runs < 100:
        return chunks_here
    return lambda chunks: chunks_in_processes(chunks, processes=processes)


def _plans_and_reasons(
    names: Sequence[str], *, skips: bool, **options: Any
) -> tuple[list[AuditPlan], dict[str, str]]:
    """Plan the audits of protocols, and say why some protocols are left out.

    Raises:
        UsageError: the options suit none of the protocols, or one of them and `skips` is false.
    """
    plans: list[AuditPlan] = []
    skipped: dict[str, str] = {}
    for name in names:
        try:
            plans += _plans(name, **options)
        except UsageError as error:
            if not skips:
                raise
            skipped[name] = str(error)
    if skipped and not plans:
        raise UsageError(next(iter(skipped.values())))
    return plans, skipped


def _plans(
    name: str, *, mode: str | None, parameters: Mapping[str, Any], **options: Any
) -> list[AuditPlan]:
    kind = find(name)
    modes: Sequence[Mode] = kind.modes
    if mode is not None:
        if mode not in modes:
            raise UsageError(f"expected --mode {' or '.join(modes)} for {kind.name}, found {mode}")
        modes = [other for other in modes if other == mode]
    plans = [plan_audit(name, mode=other, parameters=parameters, **options) for other in modes]
    for plan in plans:
        with _naming_own_table(plan):
            play_once(plan)
    return plans


@contextlib.contextmanager
def _naming_own_table(plan: AuditPlan) -> Iterator[None]:
    """Say that there is `--data` where an author's code cannot read the demo's columns."""
    try:
        yield
    except (UsageError, RunFailed) as error:
        hint = OWN_TABLE.format(plan.data)
        if plan.data not in (MADE_UP, DEMO):
            raise
        if isinstance(error, UnknownColumnError):
            raise error.with_way_out(hint) from None
        if isinstance(error, RunFailed):
            line, status, trace = str(error), error.status, error.traceback
            raise RunFailed(f"{line}; {hint}", status=status, traceback=trace) from None
        if is_raised_here(error):
            raise
        raise UsageError(*error.parts, f"; {hint}") from None


def plan_audit(
    name: str,
    *,
    mode: Mode,
    parameters: Mapping[str, Any],
    parties: int | None = None,
    party: int | None = None,
    rows: int | None = None,
    data: str | None = None,
    form: CsvForm = COMMAS,
    runs: int = DEFAULT_RUNS,
    seed: int = 0,
) -> AuditPlan:
    """Fill in what the person left open, and check the options."""
    kind = find(name)
    chosen = preset(kind, mode=mode, parties=parties)
    plan = AuditPlan(
        protocol=name,
        mode=mode,
        parameters={**chosen.parameters, **parameters},
        parties=chosen.parties,
        party=chosen.party if party is None else party,
        data=data or (MADE_UP if name in OWN_PROTOCOLS else "demo"),
        form=form,
        sizes=tuple(chosen.sizes),
        rows=chosen.rows if rows is None else rows,
        tables=tuple(chosen.tables),
        runs=runs,
        seed=seed,
        key_bits=chosen.key_bits,
    )
    check_plan(plan)
    return plan


def _only(lines: Sequence[AuditLine], view: str) -> list[AuditLine]:
    kept = [line for line in lines if line.view == view]
    if not kept:
        views = ", ".join(dict.fromkeys(line.view for line in lines))
        raise UsageError(f"expected a view among {views}, found {view!r}")
    return kept
