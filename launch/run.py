"""Run a protocol from Python: `sottovoce.run` and `sottovoce.resume`."""

from __future__ import annotations

import contextlib
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..crypto.key_sizes import DEFAULT_KEY_BITS
from ..messages import UsageError
from ..messages.role_state import DEFAULT_TIMEOUT
from ..parties.table_argument import TableSources, table_arguments
from ..protocols.options import Mode
from ..report.judgement import Judging
from ..report.judging import judge_run
from ..report.making import make_report
from ..report.not_accounted import unaccounted_texts
from ..report.reported import ReportedRun
from ..report.targets import require_targets
from ..runs.job import DEFAULT_SCHEMA_SHARE, OnLoss
from ..runs.placement import Computation, Transport
from ..runs.record import RunRecord
from ..runs.settings import settings, split_names
from .durable_run import begin_durable, go_on
from .jobs import play_durable, run_job
from .option_keywords import refuse_options
from .result import NotAccountedWarning, Run

if TYPE_CHECKING:
    import pandas as pd


__all__ = [
    "Mode",
    "resume",
    "run",
]


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
    max_wait: float | None = None,
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
        on_loss: When a role's process is lost: "stop"; "wait" until it is started again from its
            log, as with `durable`; or "continue" without the party's records.
        min_parties: With "continue": fewest parties to go on with. The default is more than half.
        max_wait: With "wait": seconds in which all roles must be back. The default is 600.
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
    copies: dict[str, pd.DataFrame] = {}
    with contextlib.ExitStack() as stack:
        if frames and (transport == "mpi" or len(frames) < len(tables)):
            # Ranks are other processes: tables reach them as files.
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sottovoce-")))
            copies = {_written(table, folder / str(i)): table for i, table in enumerate(frames)}
            paths = iter(copies)
            tables = [table if isinstance(table, str) else next(paths) for table in tables]
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
                "max_wait": max_wait,
                "timeout": timeout,
                "transcript": transcript,
                "tell_errors": tell_errors,
                "budget": None if budget_file is None else str(budget_file),
                "durable": durable,
                "no_rehearsal": no_rehearsal,
                "set": parameters,
            }
        )
        refuse_options(parameters, protocol=chosen.job.protocol)
        judging = Judging(classify=split_names(classify)) if judge else None
        if judging is not None and judging.classify:
            require_targets(chosen.job, judging.classify, tables=frames)

        def finish(record: RunRecord) -> Run:
            return _finish(record, tables=frames, judging=judging)

        if not chosen.placement.durable:
            done = finish(
                run_job(chosen.job, placement=chosen.placement, tables=frames, copies=copies)
            )
        elif frames or copies:
            raise UsageError(
                "expected files for a durable run, found a table in memory, which one that goes on "
                "would not have: write it to a file"
            )
        else:
            done = begin_durable(chosen.job, chosen.placement, play=play_durable, finish=finish)
    _warn(done)
    return done


def resume(
    run: str, *, judge: bool = True, classify: Sequence[str] = (), without: Sequence[int] = ()
) -> Run:
    """Go on with a durable run that has stopped, and return what it published.

    >>> resume("20250301-120000-4f1a2b3c")
    Traceback (most recent call last):
    sottovoce.messages.errors.UsageError: expected a durable run that has stopped, found none of ...

    Args:
        run: Its name, which the error has, or the folder of its results.
        judge: Whether to compare what was published with the data after the run.
        classify: Labels to predict from what was published.
        without: Parties whose host, table or log is gone for good, in a run with
            `on_loss="continue"`.

    Raises:
        UsageError: There is no such run, or its logs or tables are not those of before.
        ConversationError: The conversation failed once more.
    """
    judging = Judging(classify=split_names(classify)) if judge else None
    done = go_on(
        run,
        play=play_durable,
        finish=lambda record: _finish(record, tables=(), judging=judging),
        without=without,
    )
    _warn(done)
    return done


def _finish(record: RunRecord, *, tables: tuple[pd.DataFrame, ...], judging: Judging | None) -> Run:
    judgement = None if judging is None else judge_run(record, tables=tables, judging=judging)
    return Run(record, ReportedRun(report=make_report(record), judgement=judgement))


def _warn(done: Run) -> None:
    """Warn of what no release covers, at the line that called `run` or `resume`."""
    for text in unaccounted_texts(done.reported.report.privacy.not_accounted):
        warnings.warn(text, NotAccountedWarning, stacklevel=3)


def _written(table: pd.DataFrame, path: Path) -> str:
    """Write a table that other processes shall read, as Parquet, which keeps the types of columns.

    Without pyarrow, and where a column has values of several types, it is a CSV file.
    """
    with contextlib.suppress(ImportError, ValueError, TypeError):
        table.to_parquet(parquet := path.with_suffix(".parquet"), index=False)
        return str(parquet)
    table.to_csv(csv := path.with_suffix(".csv"), index=False)
    return str(csv)
