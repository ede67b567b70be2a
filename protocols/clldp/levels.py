"""CLLDP's decision tree as the paper builds it: a level a round, from users who report again and
again (Algorithm 4).

Round r, users      each group draws an attribute of its candidate set (`candidates`), and reports the cell of all that it
                    has drawn, with the label, by kHR with epsilon_r. Who draws what she had says nothing, and spends nothing
Round r, collector  tables of all groups and rounds; the best test of each branch that waits, by Gini's index (equation 12)

What a group draws is public in the paper as here; here a public order draws it, and so evenly. Of
the tree users need know no more than what they are asked, so it is not sent. With mode=paper as
printed, else mended:

    epsilon_r    all of the budget by equation 13 (`tight`); equation 15 leaves some, or if omega is 1 nothing for the end (C7)
    stop         a node is an end if its mass is not known from nothing, or no test helps: as printed it never is (C10)
    label        the most frequent one if it is so beyond the noise, else that of the node above
    tables       averaged by inverse variance, not alike
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from ...curator import Curator
from ...curator.decision_tree import Answer, Path, Split, Tree
from ...curator.tree_levels import NodeEstimate, best_value, estimate_node, winner
from ...messages import UsageError
from ...parties import Party
from ...privacy import Domain
from ...privacy.local import Survey
from ...privacy.local.belief import Allocation, Spent, allocate
from ...privacy.local.groups import Groups
from ...privacy.local.survey import shared_out
from ..local import Mustered
from ..local.asking import Enlisted
from ..protocol import Mode
from .asking import MOST_CELLS, Asked, Table, ask, randomizer_of, respond
from .beliefs import Beliefs, choose, in_turn
from .candidates import candidates
from .settings import LabelOptions

__all__ = ["Levels", "respond_by_levels"]

LEAST_GAIN: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Drawn:
    """A group: its places, what it drew, and what it has reported."""

    start: int
    users: int
    drawn: tuple[str, ...]
    spent: tuple[Spent, ...] = ()
    heads: int = 0
    """k of its first report, which as printed stays."""


@dataclass(frozen=True, slots=True)
class Levels:
    """How rounds are planned: from public knowledge and what was said."""

    domain: Domain
    label: str
    options: LabelOptions
    mode: Mode
    depth: int
    allocation: Allocation
    curves: Beliefs

    def grow(
        self, desk: Curator, mustered: Mustered, known: Sequence[Table], *, first: int
    ) -> tuple[Tree, list[Survey], list[dict[str, Any]]]:
        """Grow the tree, asking users from place `first` on; `known`: tables that there are
        already.
        """
        sets = [*self.curves]
        groups = [
            Drawn(start, users, own)
            for own, start, users in in_turn(first, mustered.users - first, sets)
        ]
        names = [own[0] for own in sets]
        growing = Growing(self.domain, names, as_printed=self.mode == "paper", tables=[*known])
        surveys, rounds = list[Survey](), list[dict[str, Any]]()
        for number in range(1, self.depth + 1):
            with desk.phase(f"round {number}"):
                # Lines 5 to 8.
                if number > 1 and growing.waiting:
                    groups = [
                        own for group in groups for own in self._draw(group, growing.waiting, names)
                    ]
                # Lines 10 to 13.
                asked, groups = self._terms(groups, number=number, idle=not growing.waiting)
                tables, more = ask(desk, mustered, asked, self.options, label=self.label)
                surveys += more
                # Lines 14 to 18.
                growing.tables += tables
                growing.grow(last=number == self.depth)
                rounds.append(
                    {
                        "asked": [one.attributes for one in asked],
                        "users": [one.users for one in asked],
                    }
                )
        return growing.tree(), surveys, rounds

    def _draw(self, group: Drawn, waiting: Sequence[Path], names: Sequence[str]) -> list[Drawn]:
        """Let a group's users draw from their candidates, each as many."""
        branches = [[own.test.attribute for own in path] for path in waiting]
        found, start = [], group.start
        own = candidates(group.drawn, branches, names, as_printed=self.mode == "paper")
        for name, size in zip(own, shared_out(group.users, [1.0] * len(own)), strict=True):
            if size:
                found.append(replace(group, start=start, users=size, drawn=(*group.drawn, name)))
                start += size
        return found

    def _terms(
        self, groups: Sequence[Drawn], *, number: int, idle: bool
    ) -> tuple[list[Asked], list[Drawn]]:
        """Say what each group is asked: those who drew something new, as far as there is a
        budget.
        """
        asked, after = [], []
        for own in groups:
            new = number == 1 or own.drawn[-1] not in own.drawn[:-1]
            one = self._asked(own, number=number) if new and not idle else None
            if one is None:
                after.append(own)
                continue
            asked.append(one)
            # As the users' own book has it, by the randomizer.
            cells = self.domain.cells((self.label, *one.attributes))
            made = randomizer_of(
                cells,
                epsilon=one.epsilon,
                belief=one.belief,
                heads=one.heads,
                kind=self.options.randomizer,
                known={},
            )
            spent = Spent(one.belief, float(made.ratio))
            after.append(replace(own, spent=(*own.spent, spent), heads=own.heads or one.heads))
        return asked, after

    def _asked(self, own: Drawn, *, number: int) -> Asked | None:
        """Choose epsilon, k and omega of a group's report; `None`: nothing is left of its
        budget.
        """
        # In the order of the domain: groups that drew the same in another order are asked the same.
        attributes = tuple(name for name in self.domain.attributes if name in own.drawn)
        values = self.domain.cells(attributes)
        cells = values * self.domain.cells((self.label,))
        if cells > MOST_CELLS:  # nobody could tell anything from so many, nor count them
            return None
        # k cells of several attributes lie within k cells of each of them: omega is at most each
        # one's.
        curve = np.ones(max(1, min(values, cells // 2)))
        for name in attributes:
            single = self.curves[name,][: len(curve)]
            curve[: len(single)] = np.minimum(curve[: len(single)], single)
        curve = np.maximum(curve, np.minimum(np.arange(1, len(curve) + 1) / values, 1.0))
        p = self.options
        heads = p.heads or (own.heads if self.mode == "paper" else 0)
        epsilon = self._share(own, belief=float(curve[0]), number=number)
        if epsilon and not heads:
            heads, _ = choose(cells, values, curve, p, epsilon=epsilon, mode=self.mode)
        heads = max(1, min(heads, cells // 2))
        belief = 1.0 if heads > len(curve) or p.randomizer == "basic" else float(curve[heads - 1])
        epsilon = self._share(own, belief=belief, number=number)
        return Asked(attributes, own.start, own.users, heads, belief, epsilon) if epsilon else None

    def _share(self, own: Drawn, *, belief: float, number: int) -> float:
        return allocate(
            own.spent,
            belief=belief,
            epsilon=self.options.epsilon,
            number=number,
            rounds=self.depth,
            allocation=self.allocation,
            cap=self.options.cap(self.mode),
        )


def respond_by_levels(
    me: Party,
    enlisted: Enlisted,
    groups: Groups,
    options: LabelOptions,
    *,
    label: str,
    cap: float | None,
    depth: int,
) -> None:
    """Lines 4 to 13: who is asked, and about what, the terms say."""
    for number in range(1, depth + 1):
        with me.phase(f"round {number}"):
            enlisted, groups = respond(me, enlisted, groups, options, label=label, cap=cap)


@dataclass(slots=True)
class Growing:
    """The tree so far, and all tables: the collector's state."""

    domain: Domain
    names: Sequence[str]
    as_printed: bool
    tables: list[Table]
    waiting: list[Path] = field(default_factory=lambda: [()])
    tests: dict[Path, Split] = field(default_factory=dict)
    labels: dict[Path, int] = field(default_factory=dict)

    def grow(self, *, last: bool) -> None:
        """Give each branch that waits its best test, or let it end."""
        waiting, self.waiting = self.waiting, []
        for path in waiting:
            here = estimate_node(self.tables, path, None, plain_mean=self.as_printed)
            self.labels[path] = self._label(here, path)
            best = self._best(path, here)
            if best is None:
                continue
            self.tests[path] = best
            for answer in (True, False):
                child = (*path, Answer(best, yes=answer))
                self.labels[child] = self._label(
                    estimate_node(self.tables, child, None, plain_mean=self.as_printed), child
                )
                if not last:
                    self.waiting.append(child)

    def _label(self, here: NodeEstimate | None, path: Path) -> int:
        above = self.labels.get(path[:-1], 0)
        if here is None:
            return above
        found = winner(
            here.table.sum(axis=1), deviation=0.0 if self.as_printed else here.row_variance**0.5
        )
        return above if found is None else found

    def _best(self, path: Path, here: NodeEstimate | None) -> Split | None:
        """Choose the test that lessens Gini's index most; none where nothing is known of the
        node.
        """
        if not self.as_printed and (
            here is None or here.table.sum() < 2 * (here.row_variance * len(here.table)) ** 0.5
        ):
            return None
        best: tuple[float, Split] | None = None
        for name in self.names:
            if any(own.test.attribute == name and own.yes for own in path):
                continue
            looked = estimate_node(self.tables, path, name, plain_mean=self.as_printed)
            tested = {
                value for own in path if own.test.attribute == name for value in own.test.values
            }
            values = [value for value in range(self.domain.cells((name,))) if value not in tested]
            found = None if looked is None else best_value(looked, values)
            if found is not None and (best is None or found[0] > best[0]):
                best = found[0], Split(name, (found[1],))
        return None if best is None or best[0] <= LEAST_GAIN else best[1]

    def tree(self) -> Tree:
        return Tree.of(self.tests, self.labels)


def check(options: LabelOptions) -> None:
    """Refuse what cannot be asked of the same users again and again."""
    if options.users and options.simulate == "counts":
        raise UsageError(
            "expected users=0 with simulate=counts and learning=levels: who is drawn answers in every round"
        )
