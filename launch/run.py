"""Running a protocol: from Python, and underneath the command line."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..messages import CURATOR, PeerFailedError, Role, SottovoceError, Wire, thread_wires
from ..parties import read_schema
from ..privacy import Domain
from ..report.folder import leave, paged, published_files
from ..report.judgement import Judging, judged
from ..report.progress import Progress
from ..runs.failure import INTERRUPTED, RunFailed
from ..runs.identities import read_identities
from ..runs.job import Job, Transport, instantiate
from ..runs.settings import Settings
from ..runs.take_part import Concluded, cores, own_records, own_schema, settle, take_part
from .mpiexec import find_launcher
from .rank import describe
from .supervise import Hosts, run_with_mpi

if TYPE_CHECKING:
    import os

    import pandas as pd

__all__ = ["Run", "run", "run_job", "run_settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run gave."""

    synthetic: pd.DataFrame | None
    marginals: pd.DataFrame | None
    model: Any
    report: dict[str, Any]
    ledger: pd.DataFrame
    files: dict[str, bytes]
    """Everything as it would stand in the folder, but for the page."""

    def page(self) -> str:
        """Make report.html."""
        return paged(self.files)["report.html"].decode()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Leave everything in a folder, as `sottovoce run --out` does."""
        leave(self.files, folder=Path(folder))

    @property
    def domain(self) -> Domain | None:
        """The public domain of what was published, if the protocol has one."""
        return (
            read_schema(json.loads(self.files["schema.json"])).domain
            if "schema.json" in self.files
            else None
        )


def run(
    protocol: str,
    data: str
    | os.PathLike[str]
    | pd.DataFrame
    | Sequence[str | os.PathLike[str] | pd.DataFrame] = "demo",
    *,
    parties: int | None = None,
    seed: int | None = None,
    mode: str = "rigorous",
    transport: Transport = "threads",
    rows: int | None = None,
    split: str = "even",
    schema: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    identities: str | os.PathLike[str] | None = None,
    key_bits: int = 3072,
    insecure_test_keys: bool = False,
    timeout: float = 3600.0,
    transcript: bool = False,
    judge: bool = True,
    classify: Sequence[str] = (),
    **parameters: Any,
) -> Run:
    """Run a protocol and return what it published.

    Args: protocol: a name that `sottovoce protocols` lists, or `module:Class`. data: one table to
        split among the parties, or one for each: paths, DataFrames, or "demo". parties: how many
        parties, 3 or one for each table; the curator comes on top. seed: makes the run reproducible
        to the byte, and not private. mode: "rigorous", or "paper" for the algorithm as printed
        where a protocol offers it. transport: "threads" (in this process) or "mpi" (starts
        mpiexec). rows: take only so many rows of the data. split: how one table is split: "even",
        "sizes:3,1,1" or "by:ATTRIBUTE,...@STRENGTH". schema: what categories and bins there are: a
        JSON file, or the same as a dictionary; inferred without it. identities: a folder made by
        `sottovoce identity`; without it identities are made for the run. key_bits: of the Paillier
        key, for protocols that encrypt. insecure_test_keys: allow less than 2048. timeout: seconds
        that any wait may last. transcript: digest everything that is said, edge by edge. judge:
        measure what was published against the data, after the run. classify: measure how well these
        are predicted from what was published: "income", "education>=Bachelors". parameters: the
        protocol's own, such as `epsilon=0.8`.

    Raises:
        UsageError: something asked for cannot be.
        ConversationError: the conversation failed; its `where` says at which rank, phase and step.
    """
    import pandas as pd

    given = (
        [data]
        if isinstance(data, pd.DataFrame) or not isinstance(data, Sequence) or isinstance(data, str)
        else [*data]
    )
    tables = tuple(item for item in given if isinstance(item, pd.DataFrame))
    with contextlib.ExitStack() as stack:
        if tables and (transport == "mpi" or len(tables) < len(given)):
            # Ranks are other processes: tables reach them as files.
            spool = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sottovoce-")))
            given = [
                _spooled(item, spool / f"{n}.csv") if isinstance(item, pd.DataFrame) else item
                for n, item in enumerate(given)
            ]
            tables = ()
        job = msgspec.convert(
            {
                "parties": parties if parties is not None else len(given) if len(given) > 1 else 3,
                "protocol": protocol,
                "parameters": parameters,
                "mode": mode,
                "seed": seed,
                "rows": rows,
                "split": split,
                "timeout": timeout,
                "transcript": transcript,
                "key_bits": key_bits,
                "insecure_test_keys": insecure_test_keys,
                "identities": None if identities is None else str(identities),
                "schema": read_schema(schema) if schema is not None else None,
                "data": ["<table>" for _ in tables] or [str(item) for item in given],
            },
            Job,
        )
        files = run_job(job, transport=transport, tables=tables)
        if judge:
            files = judged(job, files, tables=tables, judging=Judging(classify=[*classify]))
    return _opened(files)


def run_job(
    job: Job,
    *,
    transport: Transport,
    tables: tuple[pd.DataFrame, ...] = (),
    mpiexec: str | None = None,
    hosts: Hosts | None = None,
    progress: Progress | None = None,
) -> dict[str, bytes]:
    """Run a job and return the files it publishes."""
    progress = progress or Progress(shown=False)
    instantiate(job)
    if transport == "mpi":
        return run_with_mpi(
            job, launcher=find_launcher(mpiexec), hosts=hosts or Hosts(), progress=progress
        )
    concluded = _run_in_threads(job, tables=tables, progress=progress)
    return published_files(
        job, concluded, transport="threads", library=None, ended=datetime.now(UTC)
    )


def run_settings(job: Job, settings: Settings) -> dict[str, bytes]:
    """Run a cell of a sweep: on threads, unless its settings name another transport."""
    hosts = Hosts(
        hosts=settings.hosts, hostfile=settings.hostfile, extra=tuple(settings.mpi_arg or ())
    )
    return run_job(
        job, transport=settings.transport or "threads", mpiexec=settings.mpiexec, hosts=hosts
    )


def _run_in_threads(job: Job, *, tables: tuple[pd.DataFrame, ...], progress: Progress) -> Concluded:
    """Play all roles in this process; the first error of any ends all and is raised here."""
    needed = instantiate(job).needs_schema
    parties = range(1, job.parties + 1)
    for party in parties:
        read_identities(job.identities, party=party, parties=job.parties)
    schema = settle(
        [own_schema(job, party=party, needed=needed, tables=tables) for party in parties]
    )
    records = [
        None,
        *(own_records(job, party=party, schema=schema, tables=tables) for party in parties),
    ]
    wires = thread_wires(job.parties + 1)
    roles: dict[int, Role] = {}
    results: list[Concluded] = []
    errors: list[tuple[int, BaseException]] = []

    def play(rank: int) -> None:
        try:
            concluded = take_part(
                wires[rank],
                job,
                records=records[rank],
                schema=schema,
                cores=cores(sharing=1 if rank == CURATOR else job.parties),
                watch=lambda role: roles.__setitem__(rank, role),
            )
            if concluded is not None:
                results.append(concluded)
        except PeerFailedError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again below, after the others were told
            errors.append((rank, error))
            _end(wires)

    threads = [
        threading.Thread(target=play, args=(rank,), daemon=True, name=f"rank {rank}")
        for rank in range(len(wires))
    ]
    for thread in threads:
        thread.start()
    try:
        while not errors and any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(timeout=0.1 if thread.is_alive() else 0)
            progress.show({rank: role.position for rank, role in list(roles.items())})
    except KeyboardInterrupt:
        where = f"{roles[0].where}: " if 0 in roles else ""
        raise RunFailed(
            f"{where}interrupted; all roles were ended and nothing was written", status=INTERRUPTED
        ) from None
    finally:
        progress.close()
        _end(wires)  # a role that computes goes on until its next verb; nobody waits for it
        for thread in threads:
            thread.join(timeout=0.2)
    if errors:
        raise _told(*errors[0], roles=roles)
    return results[0]


def _end(wires: Sequence[Wire]) -> None:
    with contextlib.suppress(PeerFailedError):
        wires[0].abort(3)


def _told(rank: int, error: BaseException, *, roles: dict[int, Role]) -> Exception:
    """Add the place to an error that is not ours."""
    if isinstance(error, SottovoceError):
        return error
    line, _ = describe(error, where=roles[rank].where if rank in roles else None)
    failed = RunFailed(line, status=3, traceback="".join(traceback.format_exception(error)))
    failed.__cause__ = error
    return failed


def _spooled(table: pd.DataFrame, path: Path) -> str:
    table.to_csv(path, index=False)
    return str(path)


def _opened(files: dict[str, bytes]) -> Run:
    import pandas as pd

    def table(name: str) -> pd.DataFrame | None:
        """Read a table of labels: as text, since a label such as 01 or NA is no number and no
        null.
        """
        if name not in files:
            return None
        numbers = {"count"} if name == "marginals.csv" else set()
        read = pd.read_csv(io.BytesIO(files[name]), dtype=object, keep_default_na=False)
        return read.assign(
            **{column: pd.to_numeric(read[column]) for column in numbers & {*read.columns}}
        )

    return Run(
        synthetic=table("synthetic.csv"),
        marginals=table("marginals.csv"),
        model=msgspec.json.decode(files["model.json"]) if "model.json" in files else None,
        report=msgspec.json.decode(files["report.json"]),
        ledger=pd.read_csv(io.BytesIO(files["ledger.csv"])),
        files=files,
    )
