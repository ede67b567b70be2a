"""The part of a report on privacy, made from the record of a run."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from ..privacy.loss import UNBOUNDED, Loss
from ..privacy.releases import REPORTED_VIEWS, PrivacyLoss, epsilon_in, losses_by_view
from ..protocols import AnyProtocol
from ..protocols.introductions import INTRODUCTION
from ..runs.instance import instantiate, is_built_in
from ..runs.record import RunRecord
from .claims import BUILT_IN
from .formats import quantity
from .not_accounted import unaccounted_messages
from .report import CurvePoint, Privacy
from .shuffled import shuffled_view

__all__ = ["privacy_of"]

CURVE_DELTAS: Final = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12, 1e-15)
"""Deltas at which every report gives the epsilon."""


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
