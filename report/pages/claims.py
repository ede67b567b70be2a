"""What a run claims, in which views the claim holds, and on which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...crypto.key_sizes import MIN_KEY_BITS
from ..formats import quantity
from ..report import Privacy, Report

__all__ = ["claimed_for", "exceeds", "loss_together", "unmet_conditions", "view_name"]

VIEWS: Final[Mapping[str, str]] = {
    "public": "the public, who sees what is published",
    "curator": "the curator, who sees all messages to it",
    "other_party": "another party, who sees all messages to it and its own noise",
}


def view_name(view: str) -> str:
    """Name an adversary's view.

    >>> view_name("2_parties"), view_name("curator_and_1")
    ('2 other parties that collude', 'the curator colluding with 1 party')
    """
    if view in VIEWS:
        return VIEWS[view]
    if view.startswith("curator_and_"):
        number = int(view.rsplit("_", 1)[1])
        return f"the curator colluding with {quantity(number, 'party', 'parties')}"
    return f"{view.split('_', maxsplit=1)[0]} other parties that collude"


def claimed_for(view: str, privacy: Privacy) -> bool:
    """Tell whether the claim covers a view: coalitions only up to the collusion threshold."""
    threshold = privacy.claimed_coalition
    size = int(view.split("_", maxsplit=1)[0]) if view[0].isdigit() else 1
    return not view.startswith("curator_and") and (
        threshold is None or view in ("public", "curator") or size <= threshold
    )


def exceeds(accounted: float, claimed: float) -> bool:
    """Tell whether an accounted loss is more than the claimed one, beyond rounding."""
    return accounted > claimed * (1 + 1e-9)


def unmet_conditions(report: Report) -> list[str]:
    """List the conditions of every claim that this run does not meet."""
    conditions = []
    if report.seed is not None:
        conditions.append("nobody knew the seed")
    if report.privacy.key_bits < MIN_KEY_BITS and report.communication.ciphertext_bytes > 0:
        conditions.append("nobody could break the keys")
    return conditions


def loss_together(privacy: Privacy) -> float:
    """Give the largest loss to a coalition if it is larger than to any single role; else 0."""
    alone = max(privacy.epsilon.values())
    together = max(privacy.coalitions.values(), default=0.0)
    return together if together > alone else 0.0
