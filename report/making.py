"""Making the report of a run from its record: once, by whoever writes it."""

from __future__ import annotations

import contextlib
import math
import platform
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Final

import msgspec

from ..crypto.key_sizes import MIN_KEY_BITS
from ..messages import Entry, communication
from ..privacy.loss import UNBOUNDED, Loss
from ..privacy.releases import REPORTED_VIEWS, PrivacyLoss, epsilon_in, losses_by_view
from ..protocols import AnyProtocol, Cost, Public
from ..protocols.introductions import INTRODUCTION
from ..runs.introduced import predict_run
from ..runs.job import Job, instantiate, is_built_in
from ..runs.record import RoleNotes, RunRecord
from ..runs.table import Table
from .above_claim import excess_text, find_excess
from .claims import BUILT_IN
from .command import command
from .formats import quantity
from .not_accounted import unaccounted_messages, unaccounted_texts
from .report import (
    About,
    Communication,
    CurvePoint,
    Formulas,
    MarginalsSize,
    MPIFacts,
    PhaseCost,
    PredictedCost,
    Privacy,
    PublishedSizes,
    Report,
    Sums,
    TableSize,
    Traffic,
)
from .shuffled import shuffled_view

__all__ = ["make_report", "privacy_of"]

CURVE_DELTAS: Final = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12, 1e-15)
"""Deltas at which every report gives the epsilon."""


def make_report(record: RunRecord) -> Report:
    """Make the report of a run.

    Epsilon is spent when this is called, so a protocol that cannot forecast or describe itself
    costs a warning and not the result.
    """
    job, library = record.job, record.library
    protocol = instantiate(job)
    public = Public(
        parties=job.parties,
        rows=record.rows or 0,
        key_bits=job.key_bits,
        domain=None if record.schema is None else record.schema.domain,
        model=record.outcome.model,
    )
    privacy = privacy_of(record)
    warnings = [
        *unaccounted_texts(privacy.not_accounted),
        *_warnings(record, built_in=is_built_in(type(protocol))),
    ]
    predicted: list[PredictedCost] | None = None
    formulas: list[Formulas] = []
    chosen: dict[str, str | int | float | bool | None] = {}
    try:
        predicted = _predicted(protocol, record, public)
        formulas = _formulas(protocol, record.entries, public)
    except Exception as error:  # noqa: BLE001 - whatever is wrong, the result must not be lost
        warnings.append(f"the cost could not be predicted: {type(error).__name__}: {error}")
    try:
        excesses = find_excess(protocol, privacy, parties=job.parties)
        privacy = msgspec.structs.replace(privacy, above_claim=excesses)
        warnings.extend(excess_text(excess, privacy) for excess in excesses)
        warnings.extend(protocol.warnings(public))
        chosen = {
            name: value
            for name, value in protocol.chosen(public).items()
            if getattr(protocol.parameters, name, 0) in (None, "auto")
        }
    except Exception as error:  # noqa: BLE001 - as above
        warnings.append(f"the protocol could not describe itself: {type(error).__name__}: {error}")
    exchanged = _communication(record, predicted=predicted, formulas=formulas)
    hosts = [notes.host for notes in record.roles]
    return Report(
        sottovoce=version("sottovoce"),
        protocol=protocol.name,
        about=About(summary=protocol.summary, paper=protocol.paper, trust=protocol.trust),
        reference=job.protocol,
        parameters=msgspec.to_builtins(protocol.parameters),
        chosen=chosen,
        parties=job.parties,
        rows=record.rows,
        data=list(job.data),
        split=job.split,
        mode=job.mode,
        seed=job.seed,
        transport=record.transport,
        mpi=None if library is None else MPIFacts(library=library, hosts=hosts),
        python=platform.python_version(),
        ended=record.ended.isoformat(timespec="seconds"),
        command=command(job, transport=record.transport),
        seconds=round(record.seconds, 6),
        outcome=record.outcome.summary,
        published=_published(record),
        phases=_phases(record.roles, exchanged),
        communication=exchanged,
        privacy=privacy,
        transcript={
            edge: digest for notes in record.roles for edge, digest in notes.transcript.items()
        }
        or None,
        warnings=warnings,
    )


def _communication(
    record: RunRecord, *, predicted: list[PredictedCost] | None, formulas: list[Formulas]
) -> Communication:
    summed = communication(record.entries)
    traffic = record.outcome.traffic
    return msgspec.convert(
        {
            **summed,
            "predicted": predicted,
            "formulas": formulas,
            "per_user_bits": None if traffic is None else traffic.bits / traffic.reports,
            "users": None
            if traffic is None
            else Traffic.of(traffic, measured_bits=summed["user_bits"]),
        },
        Communication,
    )


def _phases(roles: Sequence[RoleNotes], exchanged: Communication) -> list[PhaseCost]:
    """List the phases in the order in which the roles entered them."""
    nothing = Sums(messages=0, payload_bytes=0, frame_bytes=0, ciphertext_bytes=0, user_bits=0)
    return [
        PhaseCost(
            name=name,
            seconds=round(max(notes.phases.get(name, 0.0) for notes in roles), 6),
            bytes=exchanged.by_phase.get(name, nothing).frame_bytes,
        )
        for name in dict.fromkeys(name for notes in roles for name in notes.phases)
    ]


def privacy_of(record: RunRecord) -> Privacy:
    """Sum up the releases of a run by view.

    Where epsilon is of a label, the loss of the whole record stands beside it; it is the same
    unless a release says more.
    """
    job = record.job
    protocol = instantiate(job)
    losses = losses_by_view(record.releases, parties=job.parties, threshold=protocol.colluding)
    not_accounted = unaccounted_messages(record)
    if not_accounted:
        losses = _unbounded(losses, parties={line.party for line in not_accounted})
    # A run that keeps its claim by pure epsilon alone is shown as pure, in every view.
    delta = losses.delta_needed(claimed=protocol.epsilon, delta=protocol.delta)
    by_party = losses.epsilons(delta=delta)
    worst = {view: max(by_view[view] for by_view in by_party.values()) for view in losses.worst}
    whole_record = losses.whole_record
    if whole_record is None and protocol.neighbours.startswith("label-within"):
        whole_record = worst["curator"]
    shuffled = None
    if not not_accounted:
        shuffled = shuffled_view(
            record.releases,
            record.outcome.traffic,
            epsilon=max(loss.epsilon for loss in losses.worst.values()),
            delta=protocol.delta,
            budget_of=protocol.budget_of,
            neighbours=protocol.neighbours,
        )
    return Privacy(
        claimed_epsilon=protocol.epsilon,
        claimed_delta=protocol.delta,
        claimed_coalition=protocol.colluding,
        claimed_with_curator=protocol.curator_may_collude,
        neighbours=protocol.neighbours,
        epsilon={view: worst[view] for view in REPORTED_VIEWS},
        coalitions={view: loss for view, loss in worst.items() if view not in REPORTED_VIEWS},
        by_party={str(party): by_view for party, by_view in by_party.items()},
        delta=losses.delta_of(delta),
        rho={view: float(f"{loss.rho:.12g}") for view, loss in losses.worst.items()},
        curve=_curve(losses.worst["public"], delta=protocol.delta),
        laplace_epsilon=_laplace_epsilon(losses.worst["public"]),
        whole_record=whole_record,
        shuffled=shuffled,
        releases=record.releases,
        not_accounted=not_accounted,
        check=_check(protocol, record),
        key_bits=job.key_bits,
        identities=job.identities or "made for the run",
        key_agreement=_key_agreement(record),
    )


def _key_agreement(record: RunRecord) -> str:
    """Say how the keys of sealed channels were agreed on."""
    if all(entry.kind != INTRODUCTION for entry in record.entries):
        return "none: no message was sealed"
    return "X25519 and ML-KEM-768" if record.hybrid else "X25519"


def _curve(loss: Loss, *, delta: float) -> list[CurvePoint]:
    """Give the epsilon of a loss at several deltas, that of the run among them."""
    if not loss.rho or math.isinf(loss.rho):
        return []
    deltas = sorted({delta, *CURVE_DELTAS} - {0.0}, reverse=True)
    return [
        CurvePoint(delta=each, epsilon=epsilon_in(loss, delta=each))
        for each in deltas
        if each >= loss.delta
    ]


def _laplace_epsilon(loss: Loss) -> float | None:
    """Give what Laplace noise of the same variance costs, where the noise is something else."""
    if loss.epsilon < math.inf or math.isinf(loss.rho):
        return None
    return float(f"{loss.of_laplace:.12g}")


def _unbounded(losses: PrivacyLoss, *, parties: set[int]) -> PrivacyLoss:
    """Replace every figure that may be exceeded by infinity, as no bound is known.

    What a party sends may be published or passed on, so no view of its records has a bound.
    """
    return replace(
        losses,
        by_party={
            party: dict.fromkeys(by_view, UNBOUNDED) if party in parties else by_view
            for party, by_view in losses.by_party.items()
        },
        whole_record=None if losses.whole_record is None else math.inf,
    )


def _check(protocol: AnyProtocol, record: RunRecord) -> str:
    """Say how it was checked that nothing left a party without a release."""
    guards = [notes.guard for notes in record.roles if notes.guard is not None]
    if is_built_in(type(protocol)):
        return BUILT_IN
    replays = min((guard.replays for guard in guards), default=0)
    text = (
        f"each party's part was played again on {quantity(replays, 'other table')}"
        if replays
        else "no part was played again"
    )
    rehearsal = record.rehearsal
    if rehearsal is None:
        return f"not rehearsed; {text}"
    if rehearsal.failure is not None:
        return f"not rehearsed ({rehearsal.failure}); {text}"
    return f"rehearsed on {rehearsal.rows:,} made-up records; {text}"


def _published(record: RunRecord) -> PublishedSizes:
    synthetic, marginals = record.outcome.synthetic, record.outcome.marginals
    return PublishedSizes(
        model=record.outcome.model is not None,
        synthetic=None
        if synthetic is None
        else TableSize(rows=synthetic.rows, attributes=len(synthetic.columns)),
        marginals=None if marginals is None else _marginals_size(marginals),
    )


def _marginals_size(table: Table) -> MarginalsSize:
    """Count the marginals in a table: the different sets of attributes that its rows name."""
    named = [column for column in table.columns if column.name.startswith("attribute_")]
    if not named:
        return MarginalsSize(marginals=1, cells=table.rows)
    different = set(zip(*(column.array().tolist() for column in named), strict=True))
    return MarginalsSize(marginals=len(different), cells=table.rows)


def _predicted(
    protocol: AnyProtocol, record: RunRecord, public: Public
) -> list[PredictedCost] | None:
    """Put each line of the predicted cost beside what was measured.

    A line that depends on what was learnt, such as the length of a frontier, follows from the model
    and was not known before the run.
    """
    identities = record.job.identities is not None
    if record.job.schema_plan is not None:
        return None  # The number of cells of finer histograms follows from noisy counts.
    lines = predict_run(protocol, public, identities=identities, hybrid=record.hybrid)
    if lines is None:
        return None
    beforehand: Sequence[Cost] = ()
    with contextlib.suppress(Exception):  # a plug-in's forecast may need the model
        unknown = replace(public, model=None)
        beforehand = (
            predict_run(protocol, unknown, identities=identities, hybrid=record.hybrid) or ()
        )
    beside = []
    for line in lines:
        measured = [
            entry
            for entry in record.entries
            if (entry.phase, entry.kind) == (line.phase, line.kind)
        ]
        beside.append(
            PredictedCost(
                phase=line.phase,
                kind=line.kind,
                messages=line.messages,
                payload_bytes=line.payload_bytes,
                measured_messages=len(measured),
                measured_payload_bytes=sum(entry.payload_bytes for entry in measured),
                basis="before" if line in beforehand else "from the model",
            )
        )
    return beside


def _formulas(protocol: AnyProtocol, entries: Sequence[Entry], public: Public) -> list[Formulas]:
    """Put the paper's formulas, printed and corrected, beside what was measured."""
    beside = []
    for formula in protocol.formulas(public):
        measured = [entry for entry in entries if entry.phase == formula.phase]
        beside.append(
            Formulas(
                **asdict(formula),
                measured_rounds=len({entry.round for entry in measured}),
                measured_bytes=sum(entry.payload_bytes for entry in measured),
            )
        )
    return beside


def _warnings(record: RunRecord, *, built_in: bool) -> list[str]:
    """List what everybody should know of a run's options."""
    job: Job = record.job
    warnings = _remarks(record)
    if record.rehearsal is None and not built_in:
        warnings.append("the protocol was not rehearsed on made-up records before the run")
    if job.seed is not None:
        warnings.append(
            f"seed {job.seed} makes this run reproducible and NOT private: whoever knows the seed "
            "can subtract the noise"
        )
    if job.key_bits < MIN_KEY_BITS:
        warnings.append(f"keys of {job.key_bits} bits protect nothing: they are for tests")
    if record.schema is not None and record.schema.inferred:
        warnings.append(
            "the schema was inferred from the data: that categories and ranges were taken from it "
            "is NOT private; give a public one with --schema, or learn one with --schema private"
        )
    return warnings


def _remarks(record: RunRecord) -> list[str]:
    """List what else rehearsal and replays showed, each once."""
    rehearsal = record.rehearsal
    remarks: dict[str, None] = {}
    if rehearsal is not None:
        remarks |= dict.fromkeys(f"in the rehearsal: {remark}" for remark in rehearsal.remarks)
        if rehearsal.failure is not None:
            remarks[f"there was no rehearsal: {rehearsal.failure}"] = None
    for party, notes in enumerate(record.roles):
        if notes.guard is not None:
            remarks |= dict.fromkeys(f"party {party}: {text}" for text in notes.guard.remarks)
    return [*remarks]
