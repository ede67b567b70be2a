"""Views in which a run's privacy loss is above its claim: which, how much, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..privacy import Members, members
from ..protocols import AnyProtocol
from .claims import claimed_for, exceeds, is_accounted, scope
from .formats import bound_text, epsilon_text, numbers_text
from .report import ClaimExcess, Privacy

__all__ = ["excess_text", "find_excess", "losses_text"]

LARGE: Final = 10
"""Factor over the claim from which on another noise is named."""
GAUSSIAN: Final = (
    "--set noise=gaussian makes such losses far smaller, as shares of Gaussian noise protect, too"
)
SINGLE: Final = {
    Members(parties=0, curator=False): "the public",
    Members(parties=0, curator=True): "the curator",
    Members(parties=1, curator=False): "another party",
}


def find_excess(protocol: AnyProtocol, privacy: Privacy, *, parties: int) -> list[ClaimExcess]:
    """Find the views above the claim, those that it covers first.

    Views of messages without a release are not among them: nothing is known of their loss.
    """
    above = {
        view: loss
        for view, loss in {**privacy.epsilon, **privacy.coalitions}.items()
        if exceeds(loss, privacy.claimed_epsilon)
        and is_accounted(loss, privacy)
        and members(view).parties < parties
    }
    excesses = []
    for claimed in (True, False):
        views = {
            view: loss for view, loss in above.items() if claimed_for(view, privacy) == claimed
        }
        if views:
            remedy = _remedy(protocol, views, claimed=claimed, parties=parties)
            if _has_large_shares(protocol, privacy, views):
                remedy = f"{remedy}; {GAUSSIAN}"
            excesses.append(ClaimExcess(claimed=claimed, views=views, remedy=remedy))
    return excesses


def _remedy(
    protocol: AnyProtocol, views: Mapping[str, float], *, claimed: bool, parties: int
) -> str:
    """Name the options: another mode where the printed algorithm breaks its claim."""
    broken = claimed or float("inf") in views.values()
    if broken and protocol.mode == "paper" and "rigorous" in protocol.modes:
        return f"--mode rigorous {'keeps the claim' if claimed else 'bounds the loss'}"
    adversaries = [members(view) for view in views]
    covering: str = protocol.parameters.covering(adversaries, parties=parties)
    return covering


def _has_large_shares(protocol: AnyProtocol, privacy: Privacy, views: Mapping[str, float]) -> bool:
    """Tell whether shares of Laplace noise lose much, and Gaussian ones could take their place."""
    from ..protocols.secure_sum import SumOptions  # most claims hold

    options = protocol.parameters
    return (
        isinstance(options, SumOptions)
        and options.noise in (None, "auto")
        and options.delta > 0
        and max(views.values()) > LARGE * privacy.claimed_epsilon
        and any(release.mechanism == "multi-party-laplace" for release in privacy.releases)
    )


def excess_text(excess: ClaimExcess, privacy: Privacy) -> str:
    """Write in one sentence which adversaries have how much, and what to do about it."""
    epsilon = epsilon_text(privacy.claimed_epsilon)
    head = f"epsilon {epsilon} is claimed for {scope(privacy)} only; above it"
    if excess.claimed:
        head = f"the claimed epsilon {epsilon} does not hold"
    return (
        f"{head}, as accounted: {losses_text(excess.views)}; "
        f"{excess.remedy or 'no option of this protocol keeps the claim there'}"
    )


def losses_text(losses: Mapping[str, float]) -> str:
    """Write losses by adversary, coalitions of several sizes together.

    >>> losses_text({"other_party": 1.5, "2_parties": 3.0, "3_parties": 9.0, "curator_and_1": 9.0})
    'another party 1.5, 2 or 3 other parties together 3 to 9, the curator with 1 party 9'
    """
    by_members = {members(view): loss for view, loss in losses.items()}
    texts = [
        f"{name} {bound_text(by_members[who])}" for who, name in SINGLE.items() if who in by_members
    ]
    for curator in (False, True):
        coalitions = {
            who.parties: loss
            for who, loss in by_members.items()
            if who not in SINGLE and who.curator == curator
        }
        if coalitions:
            least, most = (bound_text(bound(coalitions.values())) for bound in (min, max))
            sizes = numbers_text(coalitions, last="or")
            noun = "party" if sizes == "1" else "parties"
            who = (
                f"the curator with {sizes} {noun}" if curator else f"{sizes} other parties together"
            )
            texts.append(f"{who} {least}" + (f" to {most}" if least != most else ""))
    return ", ".join(texts)
