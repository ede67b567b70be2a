"""A survey of labels: both sides.

    # party: a cohort of users                      # curator
    with me.phase("users"):                         with desk.phase("users"):
        survey = PartyLabelSurvey(me, settings)         survey = CuratorLabelSurvey(desk, settings)
    with me.phase("beliefs"):                       with desk.phase("beliefs"):
        survey.answer_beliefs(sets)                     beliefs = survey.find_beliefs(sets)
    with me.phase("reports"):                       with desk.phase("reports"):
        survey.answer()                                 estimates = survey.ask(groups)

A survey as any other (`protocols.survey`), with terms in place of plans. omega comes from one of
these sources before the reports:

    sample   some users, who do nothing else, report by subset selection (omega = 1) with all of
             epsilon
    prior    omega(k) is at most k omega(1), because it is concave
    oracle   LEAK: cohorts send exact tables, and the epsilon of the run is infinity
    none     omega = 1: the whole record is epsilon-locally differentially private

The omega of a sample is its estimate and a bound on the error (`curator.labels.upper_beliefs`).
The bound fails with a small probability. That is the delta of every round with an omega below 1.
The users of the sample are not asked again, because their budget is spent. Nobody else spends any
(spec A4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ...curator import Curator, Marginal
from ...curator.labels import underestimation, upper_beliefs
from ...curator.marginal import Numbers
from ...messages import CURATOR, MessageError, UsageError
from ...parties import Party
from ...parties.user_values import cell_values
from ...privacy.disclosure import Disclosure
from ...privacy.local.assignment import share_out
from ...privacy.local.belief import beliefs, capped_belief
from ...privacy.local.groups import GroupBook
from ...privacy.local.hashed_heads import choose_hashes, field_size
from ...privacy.local.heads import choose_heads
from ...privacy.many_labels import most_labels
from ..outcome import UserTraffic
from ..survey import CohortPlan, CuratorSurvey, PartySurvey, Question
from .estimates import GroupEstimate, estimate_of
from .messages import LabelMessages
from .settings import LabelSettings
from .terms import GroupTerms, review_terms, settings_randomizers, write_terms

__all__ = [
    "Beliefs",
    "CuratorLabelSurvey",
    "PartyLabelSurvey",
    "choose_terms",
    "divide_evenly",
]

Beliefs: TypeAlias = Mapping[tuple[str, ...], Numbers]
"""omega(1), omega(2), ... of each set of attributes."""


class PartyLabelSurvey:
    """A cohort's side: users check each round's terms against the book of their own reports."""

    def __init__(self, me: Party, settings: LabelSettings) -> None:
        self._me, self._settings = me, settings
        self.base = PartySurvey(me, settings.options)
        self.book = GroupBook()
        """Reports of each group of users so far."""

    def answer_beliefs(self, sets: Sequence[tuple[str, ...]]) -> None:
        """Let some users report for the estimate of omega, or disclose the tables to an oracle."""
        if self._settings.options.source == "oracle":
            self._disclose(sets)
        elif self._settings.sample_size(self.base.users):
            self.answer(plain=True)

    def answer(self, *, plain: bool = False) -> None:
        """Receive the terms of a round, and let the users report. In a `plain` round omega is 1."""
        self.base.answer(
            self.base.receive(LabelMessages.Terms, lambda terms: self._plan(terms, plain=plain))
        )

    def _plan(self, terms: LabelMessages.Terms, *, plain: bool) -> CohortPlan | None:
        if not terms.questions:
            return None
        review = review_terms(
            terms,
            self._settings,
            users=self.base.users,
            key=self.base.key,
            book=self.book,
            plain=plain,
        )
        self.book = review.book
        label = self._settings.label
        values = cell_values(
            self._me.records, [(label, *group.attributes) for group in review.groups]
        )
        estimated = not plain and self._settings.options.source == "sample"
        delta = 0.0
        if estimated and any(group.belief < 1 for group in review.groups):
            delta = underestimation(self._settings.rules.sure)
        return CohortPlan(review.assignment, values, review.costs, delta)

    def _disclose(self, sets: Sequence[tuple[str, ...]]) -> None:
        me, label = self._me, self._settings.label
        counts = np.concatenate([*me.records.marginals([(label, *names) for names in sets])])
        exact = me.release(Disclosure(counts, 2.0 * len(sets)), to=CURATOR)
        me.send(LabelMessages.Counts(exact), to=CURATOR)


class CuratorLabelSurvey:
    """The curator's side: it finds omega, and asks groups of users for the label."""

    def __init__(self, desk: Curator, settings: LabelSettings) -> None:
        self._desk, self._settings = desk, settings
        self.base = CuratorSurvey(desk, settings.options)
        self.sample: list[GroupEstimate] = []
        """Estimates by the users who reported for omega; others may be pooled with them."""

    @property
    def users(self) -> int:
        """Number of users of all cohorts."""
        return self.base.users

    @property
    def others(self) -> range:
        """Places of the users who do not report for omega."""
        return range(self._settings.sample_size(self.users), self.users)

    @property
    def traffic(self) -> UserTraffic:
        """What users send, in all their reports."""
        return self.base.traffic

    def find_beliefs(self, sets: Sequence[tuple[str, ...]]) -> Beliefs:
        """Find omega of each set of attributes."""
        match self._settings.options.source:
            case "sample":
                return self._sampled_beliefs(sets)
            case "prior":
                return {names: self._settings.prior_beliefs(names) for names in sets}
            case "oracle":
                return self._true_beliefs(sets)
            case "none":
                return {names: np.ones(self._settings.domain.cells(names)) for names in sets}

    def ask(self, groups: Sequence[GroupTerms], *, plain: bool = False) -> list[GroupEstimate]:
        """Announce the terms of a round, in the order of places, and collect the reports.

        In a `plain` round omega is 1.
        """
        settings = self._settings
        self._desk.broadcast(write_terms(settings.domain, groups))
        if not groups:
            return []
        randomizers = settings_randomizers(settings, plain=plain)
        questions = [
            Question(
                (settings.label, *group.attributes),
                randomizers.of_group(group, settings),
                group.users,
            )
            for group in groups
        ]
        plan = self.base.assign(questions, starts=[group.start for group in groups])
        return [estimate_of(settings.domain, answer) for answer in self.base.collect(plan)]

    def ask_each_once(self, curves: Beliefs, places: range) -> list[GroupEstimate]:
        """Share these users out over the sets; each of them reports once, with all of epsilon."""
        settings, groups = self._settings, []
        epsilon = settings.options.epsilon
        for names, first, size in divide_evenly(places, list(curves)):
            heads, belief = choose_terms(
                settings.cells(names),
                settings.domain.cells(names),
                curves[names],
                settings,
                epsilon=epsilon,
                attributes=names,
            )
            groups.append(GroupTerms(names, first, size, heads, belief, epsilon))
        return self.ask(groups)

    def _sampled_beliefs(self, sets: Sequence[tuple[str, ...]]) -> Beliefs:
        settings, groups = self._settings, []
        epsilon = settings.options.epsilon
        for names, start, users in divide_evenly(range(settings.sample_size(self.users)), sets):
            # Without beliefs omega is 1: the adversary may know the record.
            heads = choose_heads(settings.cells(names), epsilon=epsilon, beliefs=[])
            groups.append(GroupTerms(names, start, users, heads, 1.0, epsilon))
        self.sample = self.ask(groups, plain=True)
        labels = settings.domain.cells((settings.label,))
        return {
            estimate.attributes: upper_beliefs(
                estimate.joint.values.reshape(labels, -1),
                variance=estimate.variance,
                users=estimate.users,
                sure=settings.rules.sure,
            )
            for estimate in self.sample
        }

    def _true_beliefs(self, sets: Sequence[tuple[str, ...]]) -> Beliefs:
        desk, settings = self._desk, self._settings
        cells = [settings.cells(names) for names in sets]
        sums = np.zeros(sum(cells), np.int64)
        for rank, message in desk.gather_answers(LabelMessages.Counts).items():
            if len(message.cells) != len(sums) or min(message.cells.tolist()) < 0:
                raise MessageError(
                    f"expected {len(sums)} counts of cohort {rank}, found others",
                    where=desk.where,
                )
            sums += message.cells
        labels, curves = settings.domain.cells((settings.label,)), {}
        for names, counts in zip(sets, np.split(sums, np.cumsum(cells)[:-1]), strict=True):
            table = Marginal.of(settings.domain, (settings.label, *names), counts)
            joint = table.values.reshape(labels, -1)
            totals = joint.sum(axis=1, keepdims=True)
            curves[names] = beliefs(np.where(totals > 0, joint / np.maximum(totals, 1), 0.0))
        return curves


def divide_evenly(
    places: range, sets: Sequence[tuple[str, ...]]
) -> list[tuple[tuple[str, ...], int, int]]:
    """Share these users out over sets, evenly: set, first place, users.

    Raises:
        UsageError: there are more sets than users.
    """
    sizes = share_out(len(places), [1.0] * len(sets))
    if min(sizes) < 1:
        raise UsageError(
            f"expected at least a user for each of {len(sets):,} sets of attributes, found "
            f"{len(places):,} users"
        )
    ends = places.start + np.cumsum(sizes)
    return [
        (names, int(end) - size, size) for names, end, size in zip(sets, ends, sizes, strict=True)
    ]


def choose_terms(
    cells: int,
    values: int,
    curve: Numbers,
    settings: LabelSettings,
    *,
    epsilon: float,
    attributes: Sequence[str] = (),
) -> tuple[int, float]:
    """Choose k for a table of so many cells, of so many values of attributes, and its omega.

    Where values are hashed, the number of hashes is chosen instead of k.

    Raises:
        UsageError: the parameter `heads` or `hashes` is too large for this table. The text names
            its attributes, where it is a table of attributes.
    """
    options, rules = settings.options, settings.rules
    # The cap of a round is its share of the cap.
    cap = None if rules.cap is None else rules.cap * (epsilon / options.epsilon)
    bounds = [capped_belief(float(omega), epsilon=epsilon, cap=cap) for omega in curve]
    if options.randomizer == "hashed":
        labels, most = cells // values, field_size(values, 2)
        heads = options.hashes or choose_hashes(labels, values, epsilon=epsilon, beliefs=bounds)
        if not 2 <= heads <= most:
            table = most_labels(settings.domain, attributes) if attributes else f"{values} values"
            raise UsageError(f"expected 2 to {most} hashes for {table}, found {heads}")
    else:
        heads = options.heads or choose_heads(
            cells, epsilon=epsilon, beliefs=bounds, rule=rules.choice
        )
        if heads > max(1, cells // 2):
            names = (*attributes, settings.label) if attributes else ()
            table = most_labels(settings.domain, names) if names else f"{values} values"
            raise UsageError(
                f"expected heads of at most half of the combinations of labels, {cells // 2} for "
                f"{table}, found {heads}: set heads lower, or leave it out"
            )
    named = settings.named_values(values, heads=heads)
    belief = bounds[named - 1] if named <= len(bounds) else 1.0
    return heads, min(1.0, max(belief, named / values))
