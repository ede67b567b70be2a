"""Making the report of a run from its record: once, by whoever writes it."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Final

import msgspec

from ..crypto.key_sizes import MIN_KEY_BITS
from ..messages import Entry, communication
from ..protocols import AnyProtocol, Cost, Public
from ..runs.instance import instantiate, is_built_in
from ..runs.introduced import predict_run
from ..runs.job import Job
from ..runs.record import RoleNotes, RunRecord
from ..runs.table import Table
from ..runs.version import VERSION
from .above_claim import excess_text, find_excess
from .command import command
from .communication import Communication, Formulas, PhaseCost, PredictedCost, Sums, Traffic
from .inferred_schema import inferred_schema_warnings, learnt_schema_warnings
from .losses import losses_text
from .not_accounted import unaccounted_texts
from .privacy_part import privacy_of
from .report import About, MarginalsSize, MPIFacts, Privacy, PublishedSizes, Report, TableSize
from .resumed import resumed_roles, resumed_text

__all__ = ["make_report"]

NO_RELEASE: Final = (
    "the protocol made no release, so epsilon is 0 as accounted; that is right only if nothing "
    "that left a party depends on its records, and replays on other records found nothing that does"
)


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
        lasting=job.fewest_parties is not None,
    )
    privacy = privacy_of(record)
    warnings = [
        *unaccounted_texts(privacy.not_accounted),
        *_warnings(record, built_in=is_built_in(type(protocol))),
    ]
    if not (record.releases or privacy.not_accounted or is_built_in(type(protocol))):
        warnings.append(NO_RELEASE)
    predicted, formulas = _forecasts(protocol, record, public, warnings=warnings)
    if privacy.delta > privacy.claimed_delta * (1 + 1e-9):
        warnings.append(
            f"losses hold except with probability {privacy.delta:.3g}, which is more than the "
            f"claimed delta {privacy.claimed_delta:g}: mechanisms of this protocol have deltas of "
            "their own, which add up"
        )
    privacy, chosen = _described(protocol, privacy, public, warnings=warnings)
    exchanged = _communication(record, predicted=predicted, formulas=formulas)
    hosts = [notes.host for notes in record.roles]
    return Report(
        sottovoce=VERSION,
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
        network=record.network,
        mpi=None if library is None else MPIFacts(library=library, hosts=hosts),
        python=platform.python_version(),
        ended=record.ended.isoformat(timespec="seconds"),
        command=command(job, transport=record.transport, network=record.network),
        seconds=round(record.seconds, 6),
        closing_seconds=round(record.closing_seconds, 6),
        outcome=record.outcome.summary,
        published=_published(record),
        losses=record.losses,
        attempts=record.attempts,
        phases=_phases(record.roles, exchanged),
        communication=exchanged,
        privacy=privacy,
        transcript={
            edge: digest for notes in record.roles for edge, digest in notes.transcript.items()
        }
        or None,
        resumed=resumed_roles(record),
        warnings=warnings,
    )


def _forecasts(
    protocol: AnyProtocol, record: RunRecord, public: Public, *, warnings: list[str]
) -> tuple[list[PredictedCost] | None, list[Formulas]]:
    """Put the protocol's forecasts beside what was measured, or add a warning."""
    try:
        return _predicted(protocol, record, public), _formulas(protocol, record.entries, public)
    except Exception as error:  # noqa: BLE001 - whatever is wrong, the result must not be lost
        warnings.append(f"the cost could not be predicted: {type(error).__name__}: {error}")
        return None, []


def _described(
    protocol: AnyProtocol, privacy: Privacy, public: Public, *, warnings: list[str]
) -> tuple[Privacy, dict[str, str | int | float | bool | None]]:
    """Compare the losses with the protocol's claim, and list what it chose where it was let.

    The protocol's own warnings are added, and so is one if it cannot describe itself.
    """
    try:
        excesses = find_excess(protocol, privacy, parties=public.parties)
        privacy = msgspec.structs.replace(privacy, above_claim=excesses)
        warnings.extend(excess_text(excess, privacy) for excess in excesses)
        warnings.extend(protocol.warnings(public))
        return privacy, {
            name: value
            for name, value in protocol.chosen(public).items()
            if getattr(protocol.parameters, name, 0) in (None, "auto")
        }
    except Exception as error:  # noqa: BLE001 - as above
        warnings.append(f"the protocol could not describe itself: {type(error).__name__}: {error}")
        return privacy, {}


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
    if any(not loss.has_ended for loss in record.losses):
        return None  # How often a sum was asked, and of whom, follows from the losses.
    if record.job.schema_plan is not None:
        return None  # The number of cells of finer histograms follows from noisy counts.
    lines = predict_run(protocol, public, identities=identities, hybrid=record.hybrid)
    if lines is None:
        return None
    beforehand: Sequence[Cost] = lines
    if public.model is not None:
        beforehand = ()
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
                at_most=line.at_most,
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
    warnings += resumed_text(resumed_roles(record))
    if job.fault:
        warnings.append(
            f"faults were declared for this run ({'; '.join(job.fault)}): what it published, and "
            "its figures, are those of an experiment"
        )
    if record.losses:
        warnings.append(losses_text(record))
    absent = [fault for notes in record.roles for fault in notes.absent_faults]
    if absent:
        phases = ", ".join(dict.fromkeys(name for notes in record.roles for name in notes.phases))
        warnings.append(
            f"faults that did not happen: {'; '.join(absent)}: no such place was reached; the "
            f"phases of the run are {phases}"
        )
    warnings += record.equal_tables
    if job.key_bits < MIN_KEY_BITS:
        warnings.append(f"keys of {job.key_bits} bits protect nothing: they are for tests")
    if job.schema_plan is not None:
        warnings += learnt_schema_warnings(record.schema)
    return [*warnings, *inferred_schema_warnings(record.schema)]


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
