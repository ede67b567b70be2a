"""The panel on privacy: losses by adversary and by party, the budget, and all releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...privacy import Loss, Release
from ..claims import (
    NOT_ACCOUNTED,
    claimed_for,
    exceeds,
    is_accounted,
    loss_text,
    scope,
    shuffled_text,
    view_name,
)
from ..formats import epsilon_text, numbers_text, quantity
from ..report import Privacy
from .document import Html, fold, paragraph, table

__all__ = ["privacy_panel"]

NEIGHBOURS: Final = {
    "replace-one": "Neighbouring tables differ in one record of one party.",
    "add-or-remove-one": "Of two neighbouring tables, one has one record more.",
    "label-within-belief": "Neighbouring users have the same attributes and different labels; the "
    "adversary does not know a user's attributes.",
    "label-alone": "Neighbouring users have the same attributes and different labels.",
}
MAX_VIEWS: Final = 6
"""Number of views that are columns, or rows that are not folded. Many parties have many views."""
MAX_PARTIES: Final = 12
MAX_EVENTS: Final = 25
ACCOUNTED: Final = (
    "As accounted: the sum of what the parties' releases state, for roles that follow the protocol "
    "and may pool what they see. A message that no release covers has no such figure."
)
VIEWS_CAPTION: Final = "Privacy loss by adversary"
LOSS_TO: Final = {"public": "the public", "curator": "the curator", "other_party": "another party"}
"""Short names of views."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewLoss:
    """Claimed and accounted privacy loss in one adversary's view."""

    view: str
    """The key of the view in the report."""
    claimed: str
    accounted: str
    broken: bool
    """Whether the claim covers the view, and the loss is above it."""
    above: bool
    """Whether the loss is above the claimed epsilon, whatever the claim covers."""

    @property
    def cells(self) -> tuple[str, str, str]:
        """The row of the table."""
        accounted = self.accounted
        if self.above:
            remark = "more than claimed" if self.broken else "above the claim"
            accounted = Html(f'<strong class="worse">{accounted}: {remark}</strong>')
        elif accounted == NOT_ACCOUNTED:
            accounted = Html(f'<strong class="worse">{NOT_ACCOUNTED}</strong>')
        return (view_name(self.view), self.claimed, accounted)

    @property
    def content(self) -> tuple[bool, str, str]:
        """What is the same for coalitions of many sizes: whether the curator is in, and losses."""
        return (self.view.startswith("curator"), self.claimed, self.accounted)


def privacy_panel(privacy: Privacy) -> list[str]:
    """Write the panel."""
    claimed = epsilon_text(privacy.claimed_epsilon)
    neighbours = NEIGHBOURS.get(privacy.neighbours, f"Neighbours: {privacy.neighbours}.")
    text = f"The run claims epsilon {claimed} for {scope(privacy)} (`{privacy.neighbours}`). "
    text += neighbours
    if privacy.delta:
        text += f" Delta, the probability that epsilon does not hold, is {privacy.delta:g}."
    if privacy.whole_record is not None:
        text += (
            " The privacy loss of the whole record, attributes and label, as accounted: "
            f"{loss_text(privacy.whole_record, privacy)}."
        )
    shuffled = []
    if privacy.shuffled is not None:
        shuffled = [paragraph(f"Shuffled: {shuffled_text(privacy.shuffled)}.", kind="quiet")]
    return [
        paragraph(text),
        paragraph(f"{ACCOUNTED}{_check(privacy)}", kind="quiet"),
        _views(privacy),
        *shuffled,
        _concentrated(privacy),
        _budget(privacy),
        _by_party(privacy),
        _events(privacy.releases),
    ]


def _check(privacy: Privacy) -> str:
    """Say how it was checked that every message is covered."""
    return f" How this was checked: {privacy.check}." if privacy.check else ""


def _views(privacy: Privacy) -> str:
    """Compare claimed and accounted losses view by view."""
    losses = [
        _view_loss(view, loss, privacy)
        for view, loss in {**privacy.epsilon, **privacy.coalitions}.items()
    ]
    listed = [loss for index, loss in enumerate(losses) if not _between(losses, index)]
    head = ("adversary", "claimed epsilon", "epsilon as accounted")
    if len(listed) > 2 * MAX_VIEWS:
        # A view that costs more than it claims is never folded away.
        broken = [loss for loss in listed[MAX_VIEWS:-1] if loss.broken]
        rows = [
            *(loss.cells for loss in listed[:MAX_VIEWS]),
            ("...", "", ""),
            *(loss.cells for loss in broken),
            listed[-1].cells,
        ]
        whole = table(head, [loss.cells for loss in losses])
        return table(head, rows, caption=VIEWS_CAPTION) + fold(
            f"All {len(losses)} adversaries", whole
        )
    html = table(head, [loss.cells for loss in listed], caption=VIEWS_CAPTION)
    if left := len(losses) - len(listed):
        text = (
            f"{quantity(left, 'more coalition')} of sizes in between: the same losses as those of "
            "the next smaller and larger size."
        )
        html += paragraph(text, kind="quiet")
    return html


def _view_loss(view: str, loss: float, privacy: Privacy) -> ViewLoss:
    claimed = claimed_for(view, privacy)
    above = exceeds(loss, privacy.claimed_epsilon) and is_accounted(loss, privacy)
    return ViewLoss(
        view=view,
        claimed=epsilon_text(privacy.claimed_epsilon) if claimed else "no claim",
        accounted=loss_text(loss, privacy),
        broken=claimed and above,
        above=above,
    )


def _between(losses: Sequence[ViewLoss], index: int) -> bool:
    """Tell whether a coalition has the losses of the next smaller and the next larger one."""
    return 3 < index < len(losses) - 1 and all(
        losses[index].content == losses[near].content for near in (index - 1, index + 1)
    )


def _concentrated(privacy: Privacy) -> str:
    """Write the loss in rho, and the epsilon that it implies at several deltas.

    It is left out where all noise is pure, as its epsilon holds without a delta.
    """
    if privacy.laplace_epsilon is None or not privacy.curve:
        return ""
    text = (
        f"Added up in rho of zero-concentrated differential privacy, the public's view has "
        f"{privacy.rho['public']:.4g}. For the delta of the run it is converted to epsilon once, "
        "or the Gaussian loss of all releases is, where that gives less. Laplace noise of the same "
        f"variance would have cost epsilon {privacy.laplace_epsilon:.4g}."
    )
    rows = [(f"{point.delta:g}", epsilon_text(round(point.epsilon, 4))) for point in privacy.curve]
    curve = table(("delta", "epsilon"), rows, caption="Epsilon of the public's view over delta")
    return paragraph(text, kind="quiet") + fold("Epsilon at other deltas", curve)


def _budget(privacy: Privacy) -> str:
    """List what the budget was spent on, of the party with the largest loss to the public.

    Users have budgets of their own, and losses of disjoint parts do not add up. Then there is no
    such list.
    """
    releases, in_rho = privacy.releases, privacy.laplace_epsilon is not None
    if not releases or any(_scope(release) for release in releases):
        return ""
    by_party: dict[int, dict[tuple[str, str], list[float]]] = {}
    for release in releases:
        by_party.setdefault(release.party, {}).setdefault(
            (release.phase, release.mechanism), []
        ).append(release.seen["public"].rho if in_rho else release.seen["public"].epsilon)
    party = max(by_party, key=lambda party: sum(map(sum, by_party[party].values())))
    rows = [(*key, len(losses), sum(losses)) for key, losses in by_party[party].items()]
    finite = all(loss < float("inf") for *_, loss in rows)
    what = "Releases alone" if privacy.not_accounted else "Budget"
    return table(
        ("phase", "mechanism", "releases", f"{'rho' if in_rho else 'epsilon'} as accounted"),
        rows,
        caption=f"{what} of party {party}, by phase and mechanism, in the public's view",
        bar=3 if finite else None,
    )


def _loss_text(loss: Loss) -> str:
    """Write the loss of one release: its epsilon, or its rho where no pure epsilon bounds it."""
    if loss.epsilon < math.inf or math.isinf(loss.rho):
        return epsilon_text(loss.epsilon)
    return f"rho {loss.rho:.3g}"


def _by_party(privacy: Privacy) -> str:
    """Compare the parties' losses; report.json has all views."""
    by_party = privacy.by_party
    views = list(next(iter(by_party.values()), {}))
    if len(views) > MAX_VIEWS:
        views = [*views[: MAX_VIEWS - 2], *views[-2:]]
    head = ("party", *(LOSS_TO.get(view) or view_name(view) for view in views))
    rows = [
        (f"party {party}", *(loss_text(losses[view], privacy) for view in views))
        for party, losses in by_party.items()
    ]
    if len(rows) > 1 and len({row[1:] for row in rows}) == 1:
        rows = [(f"each of {len(rows):,} parties", *rows[0][1:])]
    html = table(head, rows, caption="Epsilon as accounted of each party's records, by adversary")
    return html if len(rows) <= MAX_PARTIES else fold(f"All {len(rows):,} parties", html)


def _events(releases: Sequence[Release]) -> str:
    """List every release; equal releases of several parties are one row."""
    scoped = any(_scope(release) for release in releases)
    views = [
        "public",
        *(
            view
            for view in ("curator", "other_party")
            if any(release.seen[view] != release.seen["public"] for release in releases)
        ),
    ]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for release in releases:
        key = (
            release.phase,
            release.mechanism,
            release.sensitivity,
            release.scale,
            _loss_text(release.loss),
            *(_loss_text(release.seen[view]) for view in views),
            "the curator" if release.to == 0 else f"party {release.to}",
            _scope(release),
        )
        groups.setdefault(key, []).append(release.party)
    order = list(dict.fromkeys(release.phase for release in releases))
    listed = sorted(groups.items(), key=lambda group: order.index(group[0][0]))
    rows = [
        (number, *key[:2], _parties(parties), *key[2:-1], *(key[-1:] if scoped else ()))
        for number, (key, parties) in enumerate(listed, start=1)
    ]
    head = ["", "phase", "mechanism", "records of", "sensitivity", "noise scale", "claimed"]
    head += [f"loss to {LOSS_TO[view]}" for view in views]
    head += ["sent to", *(["about"] if scoped else [])]
    html = table(head, rows, caption="Releases, in order, each as accounted")
    return html if len(rows) <= MAX_EVENTS else fold(f"All {len(releases):,} releases", html)


def _scope(release: Release) -> str:
    """Say which users or which part of the records a release is about; empty for all records."""
    if release.users is not None:
        return f"users {release.users[0] + 1:,} to {release.users[1]:,}, each"
    return ", ".join(step.name for step in release.part)


def _parties(parties: Sequence[int]) -> str:
    """Name parties, and how often each was named if it was more than once.

    >>> _parties([1, 2, 3]), _parties([2]), _parties([1, 1, 2, 2])
    ('parties 1 to 3', 'party 2', 'parties 1 and 2, 2 times each')
    """
    different = {*parties}
    times = len(parties) // len(different)
    again = f", {times} times{' each' if len(different) > 1 else ''}" if times > 1 else ""
    if len(parties) % len(different):
        again = f", {len(parties)} times in all"
    noun = "party" if len(different) == 1 else "parties"
    return f"{noun} {numbers_text(different)}{again}"
