"""Start the run of a job, wherever it comes from: its rehearsal, its transport and its budget."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from ..messages import Position, UsageError
from ..parties import column_types
from ..report.not_accounted import unaccounted_texts
from ..report.progress import Progress
from ..runs.calibration import require_calibration
from ..runs.instance import instantiate, is_built_in
from ..runs.job import Job
from ..runs.placement import Placement
from ..runs.record import Rehearsal, RunRecord
from ..runs.threads import run_on_threads
from ..runs.unfinished import UnfinishedRun
from .durable_run import repeat_durable
from .equal_tables import equal_tables
from .mpiexec import Launcher, find_launcher
from .spending import spend
from .supervise import run_with_mpi

if TYPE_CHECKING:
    import pandas as pd

    from ..network import Network

__all__ = ["play_durable", "rehearse_plug_in", "run_job", "start_run"]

UNKNOWN_COST: Final = (
    "expected a protocol whose privacy loss is known, as {} counts losses, found that the "
    "rehearsal says {}: mend the protocol, or run it without the budget, which then does not count "
    "the run"
)
NO_REHEARSAL: Final = (
    "expected a rehearsal that ends well before {} is charged, found {}: mend the protocol, or say "
    "--no-rehearsal if made-up records cannot suit it"
)


def run_job(
    job: Job,
    *,
    placement: Placement,
    tables: tuple[pd.DataFrame, ...] = (),
    progress: Progress | None = None,
    show: Callable[[Rehearsal], None] = lambda _: None,
    copies: Mapping[str, pd.DataFrame] = MappingProxyType({}),
    durable: UnfinishedRun | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> RunRecord:
    """Run a job on threads, or over MPI if its placement names MPI, and spend its budget.

    A protocol that is not built in is rehearsed on made-up records before. `show` is called with
    what that found, while nothing has been read or spent yet. `copies` has the DataFrames that
    were written to temporary files, by path. A durable run is begun, or gone on with; when its
    results are written, the caller removes what it has left. `tell` learns of losses after which
    the run goes on.
    """
    progress = progress or Progress(shown=False)
    network: Network | None = None
    costs = None if placement.computation == "measured" else require_calibration().pricing()
    if placement.network is not None:
        from ..network import check_hosts, read_network

        network = read_network(placement.network)
        check_hosts(network, parties=job.parties)
    rehearsal = rehearse_plug_in(job, placement=placement, tables=tables)
    if rehearsal is not None:
        show(rehearsal)
        # What a run that goes on has claimed and released is in the budget already.
        is_new = durable is None or not durable.is_resumed
        if placement.budget is not None and is_new:
            _require_known_cost(placement.budget, rehearsal)

    placement.require_hostfile()
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
                job,
                launcher=launcher,
                placement=placement,
                progress=progress,
                durable=durable,
                tell=tell,
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
        types = column_types(tables or copies.values() or job.data)
        return msgspec.structs.replace(
            record, rehearsal=rehearsal, types=types, equal_tables=equal_tables(job)
        )

    if placement.budget is None:
        return play()
    return spend(placement.budget, job, play, tables=tables, copies=copies, durable=durable)


def _require_known_cost(budget: str, rehearsal: Rehearsal) -> None:
    """Refuse to spend from a budget where a rehearsal shows a leak, or could not end.

    Raises:
        UsageError: the text says what the rehearsal found.
    """
    if rehearsal.unaccounted:
        finding = unaccounted_texts(rehearsal.unaccounted)[0]
        raise UsageError(UNKNOWN_COST.format(budget, finding))
    if rehearsal.failure is not None:
        raise UsageError(NO_REHEARSAL.format(budget, rehearsal.failure))


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
    if launcher is not None:
        launcher.require_survivors()


def rehearse_plug_in(
    job: Job, *, placement: Placement, tables: tuple[pd.DataFrame, ...] = (), read: bool = True
) -> Rehearsal | None:
    """Rehearse a protocol, unless it is built in or no rehearsal is wanted.

    `read` says whether the first file may be read for its columns. On several hosts it may not.
    """
    protocol = instantiate(job)
    kind = type(protocol)
    if placement.no_rehearsal:
        return None
    if is_built_in(kind):
        from .randomizer_checks import named_randomizers, rehearse_randomizers

        randomizers = named_randomizers(protocol)
        return rehearse_randomizers(randomizers, parties=job.parties) if randomizers else None
    read = read and not placement.several_hosts
    if tables:
        from .rehearsal import rehearse

        return rehearse(job, tables=tables, read=read)
    rehearsed = msgspec.structs.replace(job, seed=None, fault=())
    from .authors_modules import files_of

    versions = tuple(map(_version_of, [*files_of(kind), *map(Path, job.data)]))
    return _rehearse_once(msgspec.json.encode(rehearsed), read, (kind, versions))


def _version_of(path: Path) -> tuple[int, int] | None:
    """Give what changes when a file is written; `None` if there is no such file, as of the demo."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=64)
def _rehearse_once(
    job: bytes,
    read: bool,  # noqa: FBT001 - for the cache
    version: object,  # noqa: ARG001 - what was changed since is rehearsed anew
) -> Rehearsal:
    """Rehearse a job once in this process, whatever its seed: sweeps repeat it with many.

    Faults for experiments do not happen in a rehearsal.
    """
    from .rehearsal import rehearse

    return rehearse(msgspec.json.decode(job, type=Job), read=read)


def start_run(job: Job, placement: Placement) -> RunRecord:
    """Start a run of a sweep, which shows its own progress; a durable one may go on."""
    if placement.durable:
        return repeat_durable(job, placement, play=play_durable)
    return run_job(job, placement=placement)


def play_durable(unfinished: UnfinishedRun) -> RunRecord:
    """Begin a durable run, or go on with it."""
    return run_job(unfinished.job, placement=unfinished.placement, durable=unfinished)
