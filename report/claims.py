"""What a run claims, in which views the claim holds, and on which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..crypto.key_sizes import MIN_KEY_BITS
from ..privacy import members
from .formats import bound_text, epsilon_text, quantity
from .report import Privacy, Report, Shuffled

__all__ = [
    "BUILT_IN",
    "NOT_ACCOUNTED",
    "claimed_for",
    "exceeds",
    "is_accounted",
    "loss_text",
    "loss_together",
    "scope",
    "shuffled_text",
    "unmet_conditions",
    "view_name",
]

BUILT_IN: Final = "by the test suite, as the protocol is built in"
"""How it is checked that nothing leaves a party of a protocol of sottovoce's own."""
NOT_ACCOUNTED: Final = "not accounted"
"""Stands for a privacy loss after messages that no release covers."""

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
    parties, curator = members(view)
    if curator:
        return f"the curator colluding with {quantity(parties, 'party', 'parties')}"
    return f"{parties} other parties that collude"


def claimed_for(view: str, privacy: Privacy) -> bool:
    """Tell whether the claim covers a view: coalitions only up to the collusion threshold."""
    parties, curator = members(view)
    threshold = privacy.claimed_coalition
    if threshold is None:
        return True
    return parties <= threshold and (privacy.claimed_with_curator or not (curator and parties))


def scope(privacy: Privacy) -> str:
    """Say which adversaries the claim covers."""
    threshold = privacy.claimed_coalition
    if threshold is None:
        return "all other roles together"
    if threshold == 0:
        return "the public and the curator"
    others = "1 party" if threshold == 1 else f"up to {threshold} parties together"
    if privacy.claimed_with_curator:
        return f"the curator together with {others}"
    return "single roles" if threshold == 1 else f"the curator alone and {others}"


def exceeds(accounted: float, claimed: float) -> bool:
    """Tell whether an accounted loss is more than the claimed one, beyond rounding."""
    return accounted > claimed * (1 + 1e-9)


def is_accounted(loss: float, privacy: Privacy) -> bool:
    """Tell whether a loss is known: views that saw messages without a release have infinity."""
    return not (privacy.not_accounted and loss == float("inf"))


def loss_text(loss: float, privacy: Privacy) -> str:
    """Write the privacy loss in a view, which may be not accounted."""
    return bound_text(loss) if is_accounted(loss, privacy) else NOT_ACCOUNTED


def shuffled_text(shuffled: Shuffled) -> str:
    """Write the loss of shuffled reports with its assumption; it is not claimed.

    >>> shuffled_text(Shuffled(epsilon=0.127, delta=1e-9, users=9, assumption="if nobody looks"))
    'epsilon 0.127 except with probability 1e-09, if nobody looks: nothing here ensures that'
    """
    return (
        f"epsilon {epsilon_text(shuffled.epsilon)} except with probability {shuffled.delta:g}, "
        f"{shuffled.assumption}: nothing here ensures that"
    )


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
