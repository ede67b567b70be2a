"""CLLDP's decision tree as the paper grows it: one level a round (Algorithm 4).

Users report again and again. In round r:

Users       Each group draws an attribute of its candidate set (`candidates`). It reports its cell
            of all attributes that it has drawn, with the label, by kHR with epsilon_r. A group
            that draws an attribute again reports nothing, and spends nothing.
Curator     It has the tables of all groups and rounds, and gives each waiting branch its best test
            by Gini's index (`growth`).

The paper lets groups draw in public. Here a public order draws, and so evenly. Users need know no
more of the tree than what they are asked, so it is not sent.

`LevelRounds` mends what `PrintedLevelRounds` does as printed. epsilon_r uses up the budget of
equation 13 (`tight`); equation 15 leaves some of it, or with omega = 1 nothing for the end (C7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...curator import Curator
from ...curator.decision_tree import Path, Tree
from ...privacy.arguments import SmallBudgetError
from ...privacy.local.assignment import share_out
from ...privacy.local.belief import Allocation, PastReport, allocate
from .candidates import candidates, last_attribute
from .estimates import GroupEstimate
from .growth import PrintedGrowth, TreeGrowth
from .settings import LabelSettings
from .survey import Beliefs, CuratorLabelSurvey, choose_terms, divide_evenly
from .terms import MAX_CELLS, GroupTerms, settings_randomizers

__all__ = ["LevelRounds", "PrintedLevelRounds", "RoundGroup"]


@dataclass(frozen=True, slots=True)
class RoundGroup:
    """A group of users: its places, the attributes that it drew, and its reports so far."""

    start: int
    users: int
    drawn: tuple[str, ...]
    reports: tuple[PastReport, ...] = ()
    heads: int = 0
    """k of its first report; 0 before it."""


@dataclass(frozen=True, slots=True)
class LevelRounds:
    """The rounds of Algorithm 4, planned from public knowledge and the reports so far."""

    settings: LabelSettings
    depth: int
    allocation: Allocation
    curves: Beliefs

    def grow(
        self, desk: Curator, survey: CuratorLabelSurvey, earlier: Sequence[GroupEstimate]
    ) -> tuple[Tree, list[dict[str, object]]]:
        """Grow the tree, and describe the rounds. `earlier` holds the tables of the sample."""
        groups = [
            RoundGroup(start, users, names)
            for names, start, users in divide_evenly(survey.others, list(self.curves))
        ]
        names = [name for (name,) in self.curves]
        growth = self.growth(names, earlier)
        rounds: list[dict[str, object]] = []
        for number in range(1, self.depth + 1):
            with desk.phase(f"round {number}"):
                # Lines 5 to 8.
                if number > 1 and growth.waiting:
                    groups = [
                        part
                        for group in groups
                        for part in self._draw(group, growth.waiting, names)
                    ]
                # Lines 10 to 13.
                terms, groups = self._terms(groups, number=number, idle=not growth.waiting)
                growth.tables += survey.ask(terms)
                # Lines 14 to 18.
                growth.grow(last=number == self.depth)
                rounds.append(
                    {
                        "asked": [group.attributes for group in terms],
                        "users": [group.users for group in terms],
                    }
                )
        return growth.tree, rounds

    def growth(self, names: Sequence[str], earlier: Sequence[GroupEstimate]) -> TreeGrowth:
        """Begin with a tree of one branch."""
        return TreeGrowth(self.settings.domain, names, [*earlier])

    def candidates(
        self, drawn: Sequence[str], branches: Sequence[Sequence[str]], names: Sequence[str]
    ) -> list[str]:
        """List the attributes that a group may draw next."""
        return candidates(drawn, branches, names)

    def fixed_heads(self, group: RoundGroup) -> int:  # noqa: ARG002 - for the subclass
        """Find the k of a group's report where it is fixed in advance; 0 where it is chosen."""
        return self.settings.options.heads

    def _draw(
        self, group: RoundGroup, waiting: Sequence[Path], names: Sequence[str]
    ) -> list[RoundGroup]:
        """Part a group over its candidates, evenly."""
        branches = [[answer.test.attribute for answer in path] for path in waiting]
        parts, start = [], group.start
        choices = self.candidates(group.drawn, branches, names)
        sizes = share_out(group.users, [1.0] * len(choices))
        for name, size in zip(choices, sizes, strict=True):
            if size:
                parts.append(replace(group, start=start, users=size, drawn=(*group.drawn, name)))
                start += size
        return parts

    def _terms(
        self, groups: Sequence[RoundGroup], *, number: int, idle: bool
    ) -> tuple[list[GroupTerms], list[RoundGroup]]:
        """Choose the terms of each group that drew a new attribute and has some budget left."""
        chosen, after = [], []
        randomizers = settings_randomizers(self.settings)
        for group in groups:
            new = number == 1 or group.drawn[-1] not in group.drawn[:-1]
            terms = self._terms_of(group, number=number) if new and not idle else None
            if terms is None:
                after.append(group)
                continue
            try:
                # The users' own book has the ratio of the randomizer as well.
                ratio = float(randomizers.of_group(terms, self.settings).ratio)
            except SmallBudgetError:  # a remainder of the budget with which a report tells nothing
                after.append(group)
                continue
            chosen.append(terms)
            reports = (*group.reports, PastReport(terms.belief, ratio))
            after.append(replace(group, reports=reports, heads=group.heads or terms.heads))
        return chosen, after

    def _terms_of(self, group: RoundGroup, *, number: int) -> GroupTerms | None:
        """Choose epsilon, k and omega of a group's report; `None` if no budget is left."""
        settings, domain = self.settings, self.settings.domain
        # Groups that drew the same attributes in another order are asked the same question.
        attributes = tuple(name for name in domain.attributes if name in group.drawn)
        values, cells = domain.cells(attributes), settings.cells(attributes)
        if cells > MAX_CELLS:  # a report of so many cells tells nothing
            return None
        # k cells of several attributes lie within k cells of each attribute. So their omega is at
        # most that of each attribute.
        curve = np.ones(values)  # a label has two classes, so that k is never larger
        for name in attributes:
            single = self.curves[name,][: len(curve)]
            curve[: len(single)] = np.minimum(curve[: len(single)], single)
        curve = np.maximum(curve, np.arange(1, values + 1) / values)
        heads = self.fixed_heads(group)
        epsilon = self._epsilon(group, belief=float(curve[0]), number=number)
        if epsilon and not heads:
            heads, _ = choose_terms(
                cells, values, curve, settings, epsilon=epsilon, attributes=attributes
            )
        heads = max(1, min(heads, cells // 2))
        basic = settings.options.randomizer == "basic"
        # All values of a label together have an omega of 1.
        belief = 1.0 if basic else float(curve[min(heads, len(curve)) - 1])
        epsilon = self._epsilon(group, belief=belief, number=number)
        if not epsilon:
            return None
        return GroupTerms(attributes, group.start, group.users, heads, belief, epsilon)

    def _epsilon(self, group: RoundGroup, *, belief: float, number: int) -> float:
        return allocate(
            group.reports,
            belief=belief,
            epsilon=self.settings.options.epsilon,
            number=number,
            rounds=self.depth,
            allocation=self.allocation,
            cap=self.settings.rules.cap,
        )


class PrintedLevelRounds(LevelRounds):
    """The same as printed: the last attribute of a branch is drawn, and k is that of round 1.

    The reports of the sample are not used.
    """

    def growth(
        self,
        names: Sequence[str],
        earlier: Sequence[GroupEstimate],  # noqa: ARG002 - as printed
    ) -> TreeGrowth:
        return PrintedGrowth(self.settings.domain, names, [])

    def candidates(
        self, drawn: Sequence[str], branches: Sequence[Sequence[str]], names: Sequence[str]
    ) -> list[str]:
        return candidates(drawn, branches, names, completion=last_attribute)

    def fixed_heads(self, group: RoundGroup) -> int:
        return self.settings.options.heads or group.heads
