"""Run a protocol, from Python and from the command line."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from ..crypto.key_sizes import DEFAULT_KEY_BITS
from ..messages import Position, UsageError
from ..messages.role import DEFAULT_TIMEOUT
from ..parties.table_argument import TableSources, table_arguments
from ..report.brief import brief_html, brief_text
from ..report.judgement import Judging, judge_run
from ..report.making import make_report
from ..report.not_accounted import unaccounted_texts
from ..report.progress import Progress
from ..report.report import as_dictionary
from ..report.reported import ReportedRun
from ..runs.calibration import require_calibration
from ..runs.job import (
    DEFAULT_SCHEMA_SHARE,
    Computation,
    Job,
    OnLoss,
    Placement,
    Transport,
    instantiate,
    is_built_in,
)
from ..runs.record import Rehearsal, RunRecord
from ..runs.settings import settings, split_names
from ..runs.threads import run_on_threads
from ..runs.unfinished import UnfinishedRun
from ..runs.values import frame_of, values_of_run
from .durable_run import begin_durable, go_on, repeat_durable
from .mpiexec import Launcher, find_launcher
from .spending import spend
from .supervise import run_with_mpi

if TYPE_CHECKING:
    import pandas as pd

    from ..network import Network
    from ..privacy import Domain

__all__ = [
    "Mode",
    "NotAccountedWarning",
    "Run",
    "rehearse_plug_in",
    "resume",
    "run",
    "run_job",
    "start_run",
]


Mode: TypeAlias = Literal["rigorous", "paper"]


class NotAccountedWarning(UserWarning):
    """Something left a party without a release, so that no privacy loss of the run is known."""


@dataclass(frozen=True, repr=False)
class Run:
    """What a run published, with its cost, its privacy and its quality."""

    record: RunRecord
    """What happened, as one typed object."""
    reported: ReportedRun
    """The report and the judgement, as typed objects."""

    def __repr__(self) -> str:
        """Describe the run in five lines."""
        return brief_text(self.reported)

    def _repr_html_(self) -> str:
        """Describe the run in a notebook, with the first rows of the synthetic table."""
        table = self.synthetic
        head = "" if table is None else table.head().to_html(border=0)
        return brief_html(self.reported, head=head)

    @functools.cached_property
    def synthetic(self) -> pd.DataFrame | None:
        """The synthetic table, if the protocol publishes one.

        Numbers and dates are drawn within their bins, unless the run was asked for labels.
        """
        columns = values_of_run(self.record)
        return None if columns is None else frame_of(columns)

    @functools.cached_property
    def labels(self) -> pd.DataFrame | None:
        """The synthetic table with labels of bins, as the protocol published it."""
        table = self.record.outcome.synthetic
        return None if table is None else table.frame()

    @functools.cached_property
    def marginals(self) -> pd.DataFrame | None:
        """The noisy marginals, if the protocol publishes them."""
        table = self.record.outcome.marginals
        return None if table is None else table.frame()

    def marginal(self, *attributes: str) -> pd.DataFrame:
        """One of the published marginals: a column for each attribute, and the noisy count.

        `noisy-marginals` adds the interval from `low` to `high` that covers the exact count.

        Raises:
            UsageError: No such marginal was published.
        """
        from ..report.marginal import one_marginal

        return one_marginal(self.marginals, attributes)

    @property
    def model(self) -> Any:
        """The protocol's model, as model.json has it, if it publishes one."""
        return self.record.outcome.model

    @functools.cached_property
    def report(self) -> dict[str, Any]:
        """The report as a dictionary, as report.json has it; infinity is a float."""
        return as_dictionary(self.reported.report)

    @functools.cached_property
    def judgement(self) -> dict[str, Any]:
        """What was measured on the real table, as judgement.json has it. It is not private.

        It is empty where nothing was measured.
        """
        judgement = self.reported.judgement
        return {} if judgement is None else dict(msgspec.to_builtins(judgement))

    @functools.cached_property
    def ledger(self) -> pd.DataFrame:
        """The ledger: one row for each message."""
        import io

        import pandas as pd

        from ..report.folder import ledger_csv

        return pd.read_csv(io.BytesIO(ledger_csv(self.record.entries)))

    @functools.cached_property
    def files(self) -> dict[str, bytes]:
        """The files of the run's folder without the page, by name."""
        from ..report.folder import run_files

        return run_files(self.record, self.reported)

    @property
    def domain(self) -> Domain | None:
        """The public domain of what was published, if the protocol has one."""
        schema = self.record.schema
        return None if schema is None else schema.domain

    def page(self) -> str:
        """Make report.html."""
        from ..report.folder import page_of

        record = self.record
        page = page_of(self.reported, entries=record.entries, model=record.outcome.model)
        return page.decode()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write everything into a folder, as `sottovoce run --out` does."""
        from ..report.folder import write_run

        write_run(self.record, self.reported, folder=Path(folder))


def run(
    protocol: str | None = None,
    data: TableSources = "demo",
    *,
    parties: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    seed: int | None = None,
    mode: Mode = "rigorous",
    transport: Transport = "threads",
    network: str | os.PathLike[str] | None = None,
    computation: Computation = "measured",
    rows: int | None = None,
    drop: str | Sequence[str] = (),
    columns: str | Sequence[str] = (),
    split: str = "even",
    schema: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    schema_share: float = DEFAULT_SCHEMA_SHARE,
    identities: str | os.PathLike[str] | None = None,
    key_bits: int = DEFAULT_KEY_BITS,
    insecure_test_keys: bool = False,
    separator: str = ",",
    encoding: str = "utf-8",
    labels: bool = False,
    midpoints: bool = False,
    parquet: bool = False,
    fault: str | Sequence[str] = (),
    on_loss: OnLoss = "stop",
    min_parties: int | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    transcript: bool = False,
    tell_errors: bool = False,
    budget_file: str | os.PathLike[str] | None = None,
    durable: bool = False,
    no_rehearsal: bool = False,
    judge: bool = True,
    classify: str | Sequence[str] = (),
    **parameters: Any,
) -> Run:
    """Run a protocol and return what it published.

    Args:
        protocol: A name that `sottovoce protocols` lists, or `module:Class`. The default is the
            one that publishes the best synthetic table on most tables: "adaptive-pairs", or
            "dp-subn" with `delta=0`.
        data: One table to split among the parties, or one for each: paths, DataFrames, Arrow
            tables, or "demo".
        parties: Number of parties without the curator. The default is 3, or one for each table.
        epsilon: Privacy loss of a record. The default is the protocol's.
        delta: Probability with which the loss may be larger. The default is the protocol's; 0 is
            pure epsilon.
        seed: Seed, which makes the run reproducible to the byte, and not private.
        mode: "rigorous", or "paper" for the algorithm as printed where a protocol offers it.
        transport: "threads" (in this process), "mpi" (starts mpiexec) or "virtual" (in this
            process, under the clock of a simulated network).
        network: With "virtual": a network's name, LATENCY/BANDWIDTH, or a TOML file.
        computation: With "virtual": "measured", or "calibrated" for what `sottovoce calibrate`
            says of the work, so that a run repeats itself.
        rows: Number of rows to take from the data. The default is all.
        drop: Columns to leave out.
        columns: Columns to take, and no others.
        split: How one table is split: "even", "sizes:3,1,1", "by:ATTRIBUTE,...@STRENGTH" or
            "labels:ATTRIBUTE,...@STRENGTH".
        schema: Categories and bins: a JSON file, or a dictionary. Without it they are inferred.
            "private" learns them with noise, as do such entries of a file.
        schema_share: The part of the budget that a private schema has. The default is 0.1.
        identities: A folder made by `sottovoce identity`. Without it they are made for the run.
        key_bits: Bits of the Paillier key, for protocols that encrypt.
        insecure_test_keys: Allow keys of less than 2048 bits.
        separator: What separates columns of CSV files: "," or ";", or "tab".
        encoding: The encoding of CSV files, such as "latin-1".
        labels: Whether the published table has the labels of bins, as text. Otherwise it has
            numbers and dates drawn within their bins.
        midpoints: Whether a number or a date is the middle of its bin, instead of drawn in it.
        parquet: Whether `files` and `save` have synthetic.parquet, too.
        fault: What goes wrong on purpose, for experiments: "party 2 dies in PHASE", "a tenth of
            parties lie", "party 1 pauses 5 s in PHASE", "party 1 falls silent after 3 messages".
        on_loss: When a party's process is lost: "stop", or "continue" without its records.
        min_parties: With "continue": fewest parties to go on with. The default is more than half.
        timeout: Longest time of a wait, in seconds.
        transcript: Whether to digest the messages of every pair of roles.
        tell_errors: Over MPI, show the whole text of an error, which may hold data.
        budget_file: A file of `sottovoce budget`, the option `--budget` of the command line. A run
            that would exceed it is refused. (`budget` is a parameter of some protocols.)
        durable: Whether each role keeps a log, so that `sottovoce.resume` can go on after a loss.
            Tables must be files then.
        no_rehearsal: Do not try a protocol that is not built in on made-up records before the run.
        judge: Whether to compare what was published with the data after the run.
        classify: Labels to predict from what was published: "income", "education>=Bachelors".
        parameters: More parameters of the protocol, such as `aggregator="masks"`.

    Raises:
        UsageError: An option, a parameter or the data cannot be used.
        ConversationError: The conversation failed; its `where` names rank, phase and step.
    """
    import pandas as pd

    tables = table_arguments(data, name="data")
    frames = tuple(table for table in tables if isinstance(table, pd.DataFrame))
    names: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        if frames and (transport == "mpi" or len(frames) < len(tables)):
            # Ranks are other processes: tables reach them as files.
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sottovoce-")))
            tables = [
                _written(table, folder / str(number), types=budget_file is None)
                for number, table in enumerate(tables)
            ]
            paths = [path for path in map(str, tables) if path.startswith(str(folder))]
            names = dict.fromkeys(paths, "<table>")
            frames = ()
        chosen = settings(
            {
                "protocol": protocol,
                "data": ["<table>" for _ in frames] or tables,
                "parties": parties,
                "epsilon": epsilon,
                "delta": delta,
                "seed": seed,
                "mode": mode,
                "transport": transport,
                "network": None if network is None else str(network),
                "computation": computation,
                "rows": rows,
                "drop": drop,
                "columns": columns,
                "split": split,
                "schema": os.fspath(schema) if isinstance(schema, os.PathLike) else schema,
                "schema_share": schema_share,
                "identities": None if identities is None else str(identities),
                "key_bits": key_bits,
                "insecure_test_keys": insecure_test_keys,
                "separator": separator,
                "encoding": encoding,
                "labels": labels,
                "midpoints": midpoints,
                "parquet": parquet,
                "fault": fault,
                "on_loss": on_loss,
                "min_parties": min_parties,
                "timeout": timeout,
                "transcript": transcript,
                "tell_errors": tell_errors,
                "budget": None if budget_file is None else str(budget_file),
                "durable": durable,
                "no_rehearsal": no_rehearsal,
                "set": parameters,
            }
        )
        judging = Judging(classify=split_names(classify)) if judge else None

        def finish(record: RunRecord) -> Run:
            return _finish(record, tables=frames, judging=judging)

        if not durable:
            done = finish(
                run_job(chosen.job, placement=chosen.placement, tables=frames, names=names)
            )
        elif frames or names:
            raise UsageError(
                "expected files with durable, found a table in memory, which a run that goes on "
                "would not have: write it to a file"
            )
        else:
            done = begin_durable(chosen.job, chosen.placement, play=_play_durable, finish=finish)
    _warn(done)
    return done


def resume(run: str, *, judge: bool = True, classify: Sequence[str] = ()) -> Run:
    """Go on with a durable run that has stopped, and return what it published.

    >>> resume("20250301-120000-4f1a2b3c")
    Traceback (most recent call last):
    sottovoce.messages.errors.UsageError: expected a durable run that has stopped, found none of ...

    Args:
        run: Its name, which the error has, or the folder of its results.
        judge: Whether to compare what was published with the data after the run.
        classify: Labels to predict from what was published.

    Raises:
        UsageError: There is no such run, or its logs or tables are not those of before.
        ConversationError: The conversation failed once more.
    """
    judging = Judging(classify=split_names(classify)) if judge else None
    done = go_on(
        run,
        play=_play_durable,
        finish=lambda record: _finish(record, tables=(), judging=judging),
    )
    _warn(done)
    return done


def _play_durable(unfinished: UnfinishedRun) -> RunRecord:
    return run_job(unfinished.job, placement=unfinished.placement, durable=unfinished)


def _finish(record: RunRecord, *, tables: tuple[pd.DataFrame, ...], judging: Judging | None) -> Run:
    judgement = None if judging is None else judge_run(record, tables=tables, judging=judging)
    return Run(record, ReportedRun(report=make_report(record), judgement=judgement))


def _warn(done: Run) -> None:
    """Warn of what no release covers, at the line that called `run` or `resume`."""
    for text in unaccounted_texts(done.reported.report.privacy.not_accounted):
        warnings.warn(text, NotAccountedWarning, stacklevel=3)


def run_job(
    job: Job,
    *,
    placement: Placement,
    tables: tuple[pd.DataFrame, ...] = (),
    progress: Progress | None = None,
    show: Callable[[Rehearsal], None] = lambda _: None,
    names: Mapping[str, str] = MappingProxyType({}),
    durable: UnfinishedRun | None = None,
) -> RunRecord:
    """Run a job on threads, or over MPI if its placement names MPI, and spend its budget.

    A protocol that is not built in is rehearsed on made-up records before. `show` is called with
    what that found, while nothing has been read or spent yet. `names` has the names of tables that
    were written into temporary files. A durable run is begun, or gone on with; when its results are
    written, the caller removes what it has left.
    """
    progress = progress or Progress(shown=False)
    network: Network | None = None
    costs = None if placement.computation == "measured" else require_calibration().pricing()
    if placement.network is not None:
        from ..network import read_network

        network = read_network(placement.network)
    rehearsal = rehearse_plug_in(job, placement=placement, tables=tables)
    if rehearsal is not None:
        show(rehearsal)

    launcher = find_launcher(placement.mpiexec) if placement.transport == "mpi" else None
    if job.fewest_parties is not None:
        _require_survivors(placement, launcher)

    def watch(positions: Mapping[int, Position]) -> None:
        progress.show(positions)
        if durable is not None:
            durable.watch(positions)

    def play() -> RunRecord:
        if durable is not None and (record := durable.record()) is not None:
            return record
        if launcher is not None:
            record = run_with_mpi(
                job, launcher=launcher, placement=placement, progress=progress, durable=durable
            )
        else:
            try:
                record = run_on_threads(
                    job,
                    tables=tables,
                    show=watch,
                    network=network,
                    costs=costs,
                    durable=None if durable is None else durable.task,
                )
            finally:
                progress.close()
            if durable is not None:
                durable.keep(record)
        return msgspec.structs.replace(record, rehearsal=rehearsal)

    if placement.budget is None:
        return play()
    return spend(placement.budget, job, play, tables=tables, names=names, durable=durable)


def _require_survivors(placement: Placement, launcher: Launcher | None) -> None:
    """Refuse to go on after a loss where the other roles would not outlive it.

    Raises:
        UsageError: the text says what can be done instead.
    """
    if placement.transport == "virtual":
        raise UsageError(
            "expected --on-loss continue with --transport mpi or threads, found virtual: simulated "
            "roles are not lost one by one"
        )
    if placement.durable:
        raise UsageError(
            "expected --on-loss continue or --durable, found both: a run that went on without a "
            "party cannot replay it"
        )
    if launcher is not None:
        launcher.require_survivors()


def rehearse_plug_in(
    job: Job, *, placement: Placement, tables: tuple[pd.DataFrame, ...] = (), read: bool = True
) -> Rehearsal | None:
    """Rehearse a protocol, unless it is built in or no rehearsal is wanted.

    `read` says whether the first file may be read for its columns. On several hosts it may not.
    """
    if placement.no_rehearsal or is_built_in(type(instantiate(job))):
        return None
    read = read and not placement.several_hosts
    if tables:
        from .rehearsal import rehearse

        return rehearse(job, tables=tables, read=read)
    rehearsed = msgspec.structs.replace(job, seed=None, fault=())
    return _rehearse_once(msgspec.json.encode(rehearsed), read)


@functools.lru_cache(maxsize=64)
def _rehearse_once(job: bytes, read: bool) -> Rehearsal:  # noqa: FBT001 - for the cache
    """Rehearse a job once in this process, whatever its seed: sweeps repeat it with many.

    Faults for experiments do not happen in a rehearsal.
    """
    from .rehearsal import rehearse

    return rehearse(msgspec.json.decode(job, type=Job), read=read)


def start_run(job: Job, placement: Placement) -> RunRecord:
    """Start a run of a sweep, which shows its own progress; a durable one may go on."""
    if placement.durable:
        return repeat_durable(job, placement, play=_play_durable)
    return run_job(job, placement=placement)


def _written(table: str | pd.DataFrame, path: Path, *, types: bool) -> str:
    """Write a table that other processes shall read: as Parquet where the types matter.

    A budget knows a table by the bytes of its CSV file, so with one there is no other. Without
    pyarrow, and where a column has values of several types, it is a CSV file, too.
    """
    if isinstance(table, str):
        return table
    if types:
        with contextlib.suppress(ImportError, ValueError, TypeError):
            table.to_parquet(parquet := path.with_suffix(".parquet"), index=False)
            return str(parquet)
    table.to_csv(csv := path.with_suffix(".csv"), index=False)
    return str(csv)
