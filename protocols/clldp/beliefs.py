"""What is believed of omega before anybody reports: from users of their own, from outside, or, in
experiments, the truth.

    sample   a share of the users, who do nothing else, report by subset selection (omega = 1) with all of epsilon
    prior    omega(k) is at most k omega(1), as it is concave
    oracle   LEAK: cohorts tell exact tables, and the run's epsilon is infinity
    none     omega = 1: the whole record is epsilon-locally differentially private

Of a sample, omega is what is estimated and what that may be off (`curator.labels.upper_beliefs`).
Who has reported for it is not asked again: their budget is spent, and nobody else's (spec A4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as annotations of messages

from ...curator import Curator, Marginal
from ...curator.labels import upper_beliefs
from ...curator.marginal import Numbers
from ...messages import CURATOR, MessageError, UsageError, message
from ...parties import Party
from ...privacy import Domain
from ...privacy.disclosure import Disclosure
from ...privacy.local import Survey
from ...privacy.local.belief import beliefs, capped
from ...privacy.local.heads import choose_heads
from ...privacy.local.survey import shared_out
from ..local import Mustered
from ..protocol import Mode
from .asking import Asked, Table, ask
from .settings import LabelOptions, prior_beliefs

__all__ = ["Beliefs", "Truth", "believed", "choose", "disclose", "share_of"]

Beliefs = Mapping[tuple[str, ...], Numbers]
"""omega(1), omega(2), ... of each set of attributes."""


class Truth:
    """The message of an oracle."""

    @message
    class Counts:
        """LEAK: exact tables of label and attributes, one after another."""

        cells: NDArray[np.int64]


def share_of(users: int, options: LabelOptions) -> int:
    """Count the users who are asked for omega alone."""
    return (
        max(1, round(options.sample * users))
        if options.belief == "sample" and options.randomizer == "khr"
        else 0
    )


def in_turn(
    start: int, users: int, sets: Sequence[tuple[str, ...]]
) -> list[tuple[tuple[str, ...], int, int]]:
    """Share users out over sets, evenly: set, first place, users. A set of nobody is a
    `UsageError`.
    """
    sizes = shared_out(users, [1.0] * len(sets))
    if min(sizes) < 1:
        raise UsageError(
            f"expected at least a user for each of {len(sets):,} sets of attributes, found {users:,} users"
        )
    ends = start + np.cumsum(sizes)
    return [(own, int(end) - size, size) for own, end, size in zip(sets, ends, sizes, strict=True)]


def believed(
    desk: Curator,
    mustered: Mustered,
    sets: Sequence[tuple[str, ...]],
    options: LabelOptions,
    *,
    label: str,
    mode: Mode,
) -> tuple[Beliefs, list[Table], list[Survey]]:
    """Find omega of each set; with it what was said, which is spent and may be used."""
    domain = desk.domain
    sizes = [domain.cells(own) for own in sets]
    none = {own: np.ones(size) for own, size in zip(sets, sizes, strict=True)}
    if options.belief == "none" or options.randomizer == "basic":
        return none, [], []
    if options.belief == "prior":
        names = tuple(name for name in domain.attributes if name != label)
        known = {
            own: prior_beliefs(options.prior, attributes=own, values=size, names=names)
            for own, size in zip(sets, sizes, strict=True)
        }
        return known, [], []
    if options.belief == "oracle":
        return _truth(desk, sets, label=label), [], []
    labels = domain.cells((label,))
    asked = []
    for own, start, users in in_turn(0, share_of(mustered.users, options), sets):
        heads = choose_heads(labels * domain.cells(own), epsilon=options.epsilon, beliefs=[1.0])
        asked.append(Asked(own, start, users, heads, 1.0, options.epsilon))
    tables, surveys = ask(desk, mustered, asked, options, label=label)
    sure = options.sureness(mode)
    found = {
        own.attributes: upper_beliefs(
            own.joint.values.reshape(labels, -1), variance=own.variance, users=own.users, sure=sure
        )
        for own in tables
    }
    return found, tables, surveys


def choose(
    cells: int, values: int, curve: Numbers, options: LabelOptions, *, epsilon: float, mode: Mode
) -> tuple[int, float]:
    """Choose k, and the omega that goes with it: m cells, of m_s values."""
    cap = options.cap(mode)
    scale = epsilon / options.epsilon  # of a round's share
    own = [
        capped(float(omega), epsilon=epsilon, cap=None if cap is None else cap * scale)
        for omega in curve
    ]
    heads = options.heads or choose_heads(
        cells, epsilon=epsilon, beliefs=own, rule=options.rule(mode)
    )
    if heads > max(1, cells // 2):
        raise UsageError(f"expected heads of at most half of {cells} cells, found {heads}")
    belief = own[heads - 1] if heads <= len(own) else 1.0
    return heads, min(1.0, max(belief, heads / values))


def disclose(me: Party, sets: Sequence[tuple[str, ...]], *, label: str) -> None:
    """Tell the truth: the oracle's other side."""
    counts = np.concatenate([*me.records.marginals([(label, *own) for own in sets])])
    me.send(Truth.Counts(me.release(Disclosure(counts, 2.0 * len(sets)), to=CURATOR)), to=CURATOR)


def _truth(desk: Curator, sets: Sequence[tuple[str, ...]], *, label: str) -> Beliefs:
    domain: Domain = desk.domain
    cells = [domain.cells((label, *own)) for own in sets]
    whole = np.zeros(sum(cells), np.int64)
    for rank, said in zip(desk.parties, desk.gather(Truth.Counts), strict=True):
        if len(said.cells) != len(whole) or min(said.cells.tolist()) < 0:
            raise MessageError(
                f"expected {len(whole)} counts of cohort {rank}, found others", where=desk.where
            )
        whole += said.cells
    found = {}
    for own, table in zip(sets, np.split(whole, np.cumsum(cells)[:-1]), strict=True):
        joint = Marginal.of(domain, (label, *own), table).values.reshape(domain.cells((label,)), -1)
        rows = joint.sum(axis=1, keepdims=True)
        found[own] = beliefs(np.where(rows > 0, joint / np.maximum(rows, 1), 0.0))
    return found
