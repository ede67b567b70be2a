"""An audit: many runs on neighbouring datasets, and what they say of every view.

Half of the runs of each made-up table are on the table, and half on its neighbour. How runs are
started is an argument (`StartChunks`): in this process, or in several.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from ..messages import UsageError
from ..parties import Records, Schema, load
from ..privacy import Release, losses_by_view
from ..protocols import AnyProtocol
from ..report.audit_report import AuditLine
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.protected_label import protected_label
from .audit_line import audit_line
from .audit_plan import AuditPlan, Chunk, Figures, RunFigures
from .audit_run import play_pair
from .audit_tables import neighbouring_tables, read_labels, typed_schema
from .audit_views import ATTRIBUTES_UNKNOWN, adversaries, figures_by_view

__all__ = ["StartChunks", "audit_lines", "check_plan", "play_once", "run_chunk"]

StartChunks = Callable[[Sequence[Chunk]], Iterator[list[RunFigures]]]
"""Makes the runs of chunks, and gives their figures as they are there."""


def audit_lines(
    plan: AuditPlan, *, start: StartChunks, progress: Callable[[int, int], None]
) -> list[AuditLine]:
    """Make the runs of a plan, and judge each view."""
    setup = _setup(plan)
    chunks = plan.chunks()
    total, runs = sum(chunk.runs for chunk in chunks), list[RunFigures]()
    progress(0, total)
    for results in start(chunks):
        runs += results
        progress(len(runs), total)
    return [audit_line(plan, setup.instance, view, runs) for view in runs[0].views]


def run_chunk(chunk: Chunk) -> list[RunFigures]:
    """Make the runs of a chunk in this process."""
    setup = _setup(chunk.plan)
    datasets = setup.datasets[chunk.table]
    audited, other = datasets[::-1] if chunk.swapped else datasets
    party = chunk.plan.party
    records = [*setup.others[chunk.table]]
    records.insert(party - 1, audited)
    results = []
    for index in range(chunk.runs):
        job = msgspec.structs.replace(setup.job, seed=chunk.seed + index)
        run = play_pair(
            job,
            [setup.protocol() for _ in range(job.parties + 2)],
            records=records,
            neighbour=other,
            party=party,
            schema=setup.schema,
        )
        accounted, rho, delta = _accounted(run.accounted, setup, party=party)
        views = {
            view: Figures(
                figures.loss,
                figures.numbers if figures.loss is None else (),
                accounted[view],
                rho[view],
                figures.differs,
            )
            for view, figures in figures_by_view(run, party=party, parties=job.parties).items()
        }
        results.append(RunFigures(chunk.table, chunk.swapped, views, delta, run.difference))
    return results


@dataclass(frozen=True, slots=True)
class _Setup:
    """What all runs of a plan share in one process."""

    job: Job
    schema: Schema | None
    datasets: Mapping[str, tuple[Records, Records]]
    """The audited party's records by table, and those of the neighbouring dataset."""
    others: Mapping[str, list[Records]]
    instance: AnyProtocol

    def protocol(self) -> AnyProtocol:
        """Make an instance for one role of one run."""
        return type(self.instance)(self.instance.parameters, mode=self.instance.mode)


@functools.lru_cache(maxsize=8)
def _cached_setup(encoded: bytes) -> _Setup:
    plan = msgspec.json.decode(encoded, type=AuditPlan)
    job = plan.job()
    instance = instantiate(job)
    labels, schema = read_labels(plan.data, sizes=plan.sizes, form=plan.form)
    schema = plan.schema or schema or typed_schema(labels)
    typed = schema if instance.needs_schema else None
    datasets, others = {}, {}
    for name in plan.tables:
        pair = neighbouring_tables(
            name,
            labels,
            rows=plan.rows,
            parties=plan.parties,
            party=plan.party,
            neighbours=instance.neighbours,
            label=protected_label(instance, [*labels]),
        )
        records = [
            load(table, schema=typed, rows=None, seed=0, party=1, split=None)
            for table in (*pair.tables, pair.neighbour)
        ]
        *loaded, neighbour = records
        datasets[name] = (loaded.pop(plan.party - 1), neighbour)
        others[name] = loaded
    return _Setup(job, typed, datasets, others, instance)


def _setup(plan: AuditPlan) -> _Setup:
    return _cached_setup(msgspec.json.encode(plan))


def _accounted(
    releases: Iterable[Release], setup: _Setup, *, party: int
) -> tuple[dict[str, float], dict[str, float], float]:
    """Give the audited party's accounted epsilon and rho by view, and their delta."""
    loss = losses_by_view(releases, parties=setup.job.parties, threshold=setup.instance.colluding)
    delta = loss.delta_of(
        loss.delta_needed(claimed=setup.instance.epsilon, delta=setup.instance.delta)
    )
    accounted = loss.epsilons(delta=delta)[party]
    rho = {view: each.rho for view, each in loss.by_party[party].items()}
    if setup.instance.neighbours == "label-within-belief":
        # The adversaries of the audit know the attributes; one of them does not.
        accounted[ATTRIBUTES_UNKNOWN] = accounted["curator"]
        rho[ATTRIBUTES_UNKNOWN] = rho["curator"]
        whole = loss.whole_record
        if whole is not None:
            accounted |= {
                adversary.view: max(whole, accounted[adversary.view])
                for adversary in adversaries(setup.job.parties)
            }
            rho |= {
                adversary.view: max(whole**2 / 2, rho[adversary.view])
                for adversary in adversaries(setup.job.parties)
            }
    return accounted, rho, delta


def check_plan(plan: AuditPlan) -> None:
    """Refuse what no run could use, before any process starts."""
    if not 1 <= plan.party <= plan.parties:
        raise UsageError(f"expected an audited party from 1 to {plan.parties}, found {plan.party}")
    _setup(plan)


def play_once(plan: AuditPlan) -> None:
    """Make one run in this process: some protocols refuse a dataset or an option only then.

    Raises:
        UsageError: the protocol refuses them.
    """
    run_chunk(Chunk(plan, plan.tables[0], swapped=False, seed=plan.seed, runs=1))
