"""An audit: many runs on neighbouring datasets, and what they say of every view.

Half of the runs of each made-up table are on the table, and half on its neighbour. How runs are
started is an argument (`StartChunks`): in this process, or in several.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ..evaluation.distinguishing import MIN_RUNS, lower_bound
from ..evaluation.gaussian_loss import mean_lower_bound
from ..messages import UsageError
from ..parties import Records, Schema, load
from ..privacy import Release, losses_by_view
from ..privacy.conversion import epsilon_of
from ..protocols import AnyProtocol
from ..protocols.protocol import Mode
from ..report.audit_report import AuditLine, judge_line
from ..runs.job import Job, instantiate
from .audit_run import play_pair
from .audit_tables import neighbouring_tables, read_labels, typed_schema
from .audit_views import ATTRIBUTES_UNKNOWN, adversaries, figures_by_view

__all__ = ["AuditPlan", "Chunk", "RunFigures", "StartChunks", "SURE", "audit_lines", "run_chunk"]

CHUNK_RUNS: Final = 20
CONFIDENCE: Final = 0.999
SURE: Final = 1 - 1e-6
"""Confidence of the bound that contradicts an exact loss."""
MAX_LOSS: Final = 1e6
"""Stands for an infinite log-ratio among the numbers of the distinguishing test."""


class AuditPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is audited."""

    protocol: str
    mode: Mode
    parameters: dict[str, Any]
    parties: int
    party: int
    """The audited party's number."""
    data: str
    """made-up, demo, or the path of a table whose columns and labels are used."""
    sizes: tuple[int, ...]
    rows: int
    tables: tuple[str, ...]
    runs: int
    seed: int
    key_bits: int
    schema: Schema | None = None

    def job(self) -> Job:
        """Make the job of a run."""
        return Job(
            protocol=self.protocol,
            parameters=self.parameters,
            parties=self.parties,
            mode=self.mode,
            key_bits=self.key_bits,
            insecure_test_keys=True,
            seed=self.seed,
        )

    def chunks(self) -> list[Chunk]:
        """Divide the runs: an equal number on each table and on each neighbour."""
        sides = [(table, swapped) for table in self.tables for swapped in (False, True)]
        each = max(MIN_RUNS, -(-self.runs // len(sides)))
        chunks = []
        for side, (table, swapped) in enumerate(sides):
            for start in range(0, each, CHUNK_RUNS):
                seed = self.seed + side * each + start
                chunks.append(Chunk(self, table, swapped, seed, min(CHUNK_RUNS, each - start)))
        return chunks


class Chunk(msgspec.Struct, frozen=True):
    """Some runs on one dataset, which one process makes."""

    plan: AuditPlan
    table: str
    swapped: bool
    """Whether the runs are on the neighbouring dataset."""
    seed: int
    """Seed of the first run; each run has the next one."""
    runs: int


class Figures(msgspec.Struct, frozen=True):
    """What one run says of one view."""

    loss: float | None
    numbers: tuple[float, ...]
    """What the view holds, where the loss is not known."""
    accounted: float
    rho: float
    """Accounted rho, which bounds the mean loss."""


class RunFigures(msgspec.Struct, frozen=True):
    """What one run says."""

    table: str
    swapped: bool
    views: dict[str, Figures]
    delta: float
    difference: str


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
    return [_line(plan, setup, view, runs) for view in runs[0].views]


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
    labels, schema = read_labels(plan.data, sizes=plan.sizes)
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


def _line(plan: AuditPlan, setup: _Setup, view: str, runs: Sequence[RunFigures]) -> AuditLine:
    figures = [run.views[view] for run in runs]
    accounted = max(figure.accounted for figure in figures)
    losses = [figure.loss for figure in figures if figure.loss is not None]
    largest = max(losses) if len(losses) == len(figures) else None
    table = runs[losses.index(largest)].table if largest is not None else "all"
    delta = max(run.delta for run in runs)
    differences = {run.difference for run in runs} - {""}
    bound, sure_bound = (
        max(
            _table_bound(
                [run for run in runs if run.table == name],
                view,
                confidence=1 - (1 - confidence) / len(plan.tables),
                delta=delta,
            )
            for name in plan.tables
        )
        for confidence in (CONFIDENCE, SURE)
    )
    claim = _claim(setup.instance, view, parties=plan.parties, accounted=accounted)
    difference = min(differences, default="")
    return AuditLine(
        protocol=setup.instance.name,
        mode=plan.mode,
        view=view,
        claim=claim,
        accounted=accounted,
        delta=delta,
        runs=len(runs),
        largest_loss=largest,
        table=table,
        lower_bound=bound,
        difference=difference,
        verdict=judge_line(
            claim=claim,
            accounted=accounted,
            delta=delta,
            largest_loss=largest,
            lower_bound=bound,
            sure_bound=sure_bound,
            difference=difference,
        ),
    )


def _table_bound(
    runs: Sequence[RunFigures], view: str, *, confidence: float, delta: float
) -> float:
    """Bound epsilon by the runs on one table and on its neighbour.

    The largest bound of all tables is reported, so each table has its part of the failures.
    """
    sides: tuple[list[tuple[float, ...]], list[tuple[float, ...]]] = ([], [])
    exact = all(run.views[view].loss is not None for run in runs)
    for run in runs:
        figures = run.views[view]
        numbers = figures.numbers
        if exact and figures.loss is not None:
            # The log-ratio says all that there is to say about which dataset it was.
            loss = max(-MAX_LOSS, min(MAX_LOSS, figures.loss))
            numbers = (-loss if run.swapped else loss,)
        sides[run.swapped].append(numbers)
    # Where there is a delta, two bounds share the chance to fail.
    bound = lower_bound(
        *sides,
        confidence=1 - (1 - confidence) / 2 if exact and delta else confidence,
        delta=min(delta, 0.5),
    )
    if not exact or not delta:
        return bound
    # The mean loss bounds rho from below. That shows far smaller violations than rare answers do.
    # Within the accounted rho it shows none: pure releases may have an epsilon below that of rho.
    means = (
        mean_lower_bound(
            [run.views[view].loss or 0.0 for run in runs if run.swapped is swapped],
            confidence=1 - (1 - confidence) / 4,
        )
        for swapped in (False, True)
    )
    rho = max(0.0, *means)
    if rho <= max(run.views[view].rho for run in runs):
        return bound
    return max(bound, epsilon_of(rho, delta=min(delta, 0.5)))


def _claim(protocol: AnyProtocol, view: str, *, parties: int, accounted: float) -> float | None:
    """Give the epsilon that the protocol claims in a view; `None` if it claims none there."""
    if protocol.neighbours == "label-within-belief" and view != ATTRIBUTES_UNKNOWN:
        # Mode paper says that CLLDP is at least as strong as LabelDP, which protects the label
        # against those who know the attributes. The rigorous claim there is the whole record's.
        return protocol.epsilon if protocol.mode == "paper" else accounted
    adversary = next((other for other in adversaries(parties) if other.view == view), None)
    if adversary is None or not adversary.size or protocol.colluding is None:
        return protocol.epsilon
    if adversary.size > protocol.colluding:
        return None
    if adversary.curator and not protocol.curator_may_collude:
        return None
    return protocol.epsilon


def check_plan(plan: AuditPlan) -> None:
    """Refuse what no run could use, before any process starts."""
    if not 1 <= plan.party <= plan.parties:
        raise UsageError(f"expected an audited party from 1 to {plan.parties}, found {plan.party}")
    _setup(plan)
