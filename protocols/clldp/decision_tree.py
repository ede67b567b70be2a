"""A decision tree under CLLDP, built in rounds (Xue et al. 2024, section 6, Algorithm 4).

    trust       nobody with a label; the collector with omega, up to `record_cap`
    who learns  the aggregator and everybody: noisy tables of the label with sets of attributes, and the tree
    privacy     epsilon-CLLDP for each user's label, of all her reports together, by equation 13 (`privacy.local.groups`)
    cost        at most a report a round and user
    publishes   model.json: the tree, and what each round asked; `sottovoce predict` applies it

Round r, users      each group draws an attribute of its candidate set (`candidates`), and reports the cell of all that it
                    has drawn, with the label, by kHR with epsilon_r. Who draws what she had says nothing, and spends nothing
Round r, collector  tables of all groups and rounds; the best test of each branch that waits, by Gini's index (equation 12)

What a group draws is public in the paper as here; here a public order draws it, and so evenly. Of the tree users need know no
more than what they are asked, so it is not sent. Ours, and not as printed:

    epsilon_r    all of the budget by equation 13 (`tight`); equation 15 leaves some, or with omega = 1 nothing for the end (C7)
    stop         a node is a leaf if its mass is not known from nothing, or no test helps: as printed it never is (C10)
    leaf         the most frequent label if it is so beyond the noise, else the parent's
    tables       averaged by inverse variance, not alike
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import msgspec
import numpy as np

from ...curator import Curator
from ...curator.decision_tree import Looked, Path, Test, Tree, best_test, look, winner
from ...messages import UsageError
from ...parties import Party
from ...privacy import Domain
from ...privacy.local.belief import Allocation, Spent, allocate
from ...privacy.local.groups import Groups
from ...privacy.local.heads import HeadsResponse
from ...privacy.local.survey import shared_out
from ..local import enlist, muster, predict_users
from ..protocol import Cost, Outcome, Public
from .asking import Asked, Table, ask, respond
from .beliefs import Beliefs, believed, choose, disclose, in_turn, share_of
from .candidates import candidates
from .protocol import LabelProtocol, of_users
from .settings import LabelOptions

__all__ = ["LabelDecisionTree"]

LEAST_GAIN = 1e-12


@dataclass(frozen=True, slots=True)
class Drawn:
    """A group: its places, what it drew, and what it has reported."""

    start: int
    users: int
    drawn: tuple[str, ...] = ()
    spent: tuple[Spent, ...] = ()

    @property
    def has(self) -> frozenset[str]:
        return frozenset(self.drawn)


class LabelDecisionTree(LabelProtocol):
    """Grow a decision tree, a level a round."""

    name = "clldp-decision-tree"
    summary = "a decision tree, from users whose label is protected"

    class Parameters(LabelOptions):
        depth: Annotated[int, msgspec.Meta(ge=1, le=12, description="dep: tests on a path, and rounds")] = 3
        allocation: Annotated[
            Allocation | None,
            msgspec.Meta(description="of epsilon over rounds: tight, paper_fixed (equation 15 mended) or paper; by the mode"),
        ] = None

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.users and self.simulate == "counts":
                raise UsageError("expected users=0 with simulate=counts: who is drawn has to answer in every round alike")

    @property
    def allocation(self) -> Allocation:
        own: Allocation | None = self.parameters.allocation
        return own or ("paper" if self.mode == "paper" else "tight")

    def sets(self, domain: Domain) -> list[tuple[str, ...]]:
        return self.single(domain)

    def party(self, me: Party) -> None:
        p, domain = self.parameters, me.records.domain
        label = self.label(domain)
        with me.phase("users"):
            enlisted = enlist(me, p)
        groups = Groups()
        with me.phase("beliefs"):
            if p.belief == "oracle":
                disclose(me, self.sets(domain), label=label)
            elif share_of(enlisted.users, p):
                enlisted, groups = respond(me, enlisted, groups, p, label=label, cap=self.cap, plain=True)
        # Lines 4 to 13: who is asked, and about what, the terms say.
        for number in range(1, p.depth + 1):
            with me.phase(f"round {number}"):
                enlisted, groups = respond(me, enlisted, groups, p, label=label, cap=self.cap)

    def curator(self, desk: Curator) -> Outcome:
        p, domain, label = self.parameters, desk.domain, self.label(desk.domain)
        names = [own[0] for own in self.sets(domain)]
        with desk.phase("users"):
            mustered = muster(desk, p)
        with desk.phase("beliefs"):
            curves, sampled, surveys = believed(desk, mustered, self.sets(domain), p, label=label, mode=self.mode)
        first = share_of(mustered.users, p)
        groups = [Drawn(start, users, own) for own, start, users in in_turn(first, mustered.users - first, self.sets(domain))]
        growing = _Growing(domain, label, names, as_printed=self.mode == "paper")
        growing.tables += sampled if self.mode != "paper" else []
        rounds: list[dict[str, list[Any]]] = []
        for number in range(1, p.depth + 1):
            with desk.phase(f"round {number}"):
                # Lines 5 to 8.
                if number > 1 and growing.waiting:
                    groups = [own for group in groups for own in self.draw(group, growing, names)]
                # Lines 10 to 13.
                asked, groups = self.terms(domain, label, groups, curves, number=number, idle=not growing.waiting)
                tables, more = ask(desk, mustered, asked, p, label=label)
                surveys += more
                # Lines 14 to 18.
                growing.tables += tables
                growing.grow(last=number == p.depth)
                rounds.append({"asked": [one.attributes for one in asked], "users": [one.users for one in asked]})
        tree = growing.tree()
        return Outcome(
            model={
                "kind": "decision-tree",
                "label": label,
                "labels": domain.labels[label],
                "tree": tree.told(domain, label=label),
                "rounds": rounds,
            },
            summary={
                "users": mustered.users,
                "label": label,
                "groups": ", ".join(str(len(own["asked"])) for own in rounds),
                "tests": len(tree.tests),
                "leaves": len(tree.leaves),
            },
            said=of_users(mustered.users, surveys, p),
        )

    def draw(self, group: Drawn, growing: _Growing, names: Sequence[str]) -> list[Drawn]:
        """Let a group's users draw from their candidates, each as many."""
        branches = [[own.attribute for own in path] for path in growing.waiting]
        found, start = [], group.start
        own = candidates(group.drawn, branches, names, as_printed=self.mode == "paper")
        for name, size in zip(own, shared_out(group.users, [1.0] * len(own)), strict=True):
            if size:
                found.append(replace(group, start=start, users=size, drawn=(*group.drawn, name)))
                start += size
        return found

    def terms(
        self, domain: Domain, label: str, groups: Sequence[Drawn], curves: Beliefs, *, number: int, idle: bool
    ) -> tuple[list[Asked], list[Drawn]]:
        """Say what each group is asked: those who drew something new, as far as there is a budget."""
        asked, after = [], []
        for own in groups:
            if idle or (number > 1 and own.has == frozenset(own.drawn[:-1])):
                after.append(own)
                continue
            # In the order of the domain, as the tables of groups that drew the same in another order are of one kind.
            attributes = tuple(name for name in domain.attributes if name in own.has)
            one = self._asked(domain, label, own, attributes, curves, number=number)
            if one is None:
                after.append(own)
                continue
            asked.append(one)
            # As the users' own book has it, by the randomizer.
            theta = (
                float(
                    HeadsResponse(
                        domain.cells((label, *attributes)), epsilon=one.epsilon, belief=one.belief, chosen=one.heads
                    ).ratio
                )
                if self.parameters.randomizer == "khr"
                else float(np.exp(one.epsilon))
            )
            after.append(replace(own, spent=(*own.spent, Spent(one.belief, theta))))
        return asked, after

    def _asked(
        self, domain: Domain, label: str, own: Drawn, attributes: tuple[str, ...], curves: Beliefs, *, number: int
    ) -> Asked | None:
        p = self.parameters
        values = domain.cells(attributes)
        cells = values * domain.cells((label,))
        # k cells of several attributes lie within k cells of each of them: omega is at most each one's.
        curve = np.ones(min(values, cells // 2))
        for name in attributes:
            single = curves[name,][: len(curve)]
            curve[: len(single)] = np.minimum(curve[: len(single)], single)
        curve = np.maximum(curve, np.minimum(np.arange(1, len(curve) + 1) / values, 1.0))

        def share(belief: float) -> float:
            return allocate(
                own.spent, belief=belief, epsilon=p.epsilon, number=number, rounds=p.depth, allocation=self.allocation,
                cap=self.cap,
            )  # fmt: skip

        heads = 1
        if (epsilon := share(float(curve[0]))) and not p.heads:
            heads, _ = choose(cells, values, curve, p, epsilon=epsilon, mode=self.mode)
        heads = p.heads or heads
        belief = float(curve[heads - 1]) if heads <= len(curve) else 1.0
        if p.randomizer == "basic":
            belief = 1.0
        return Asked(attributes, own.start, own.users, heads, belief, epsilon) if (epsilon := share(belief)) else None

    def predict(self, public: Public) -> list[Cost]:
        """Predict what does not depend on the tree."""
        if public.domain is None:
            return []
        return predict_users(public, phase="users", users=self.parameters.users or public.rows)


@dataclass(slots=True)
class _Growing:
    """The tree so far, and all tables: the collector's state."""

    domain: Domain
    label: str
    names: Sequence[str]
    as_printed: bool
    tables: list[Table] = field(default_factory=list)
    waiting: list[Path] = field(default_factory=lambda: [()])
    tests: dict[Path, tuple[str, int]] = field(default_factory=dict)
    leaves: dict[Path, int] = field(default_factory=dict)
    likely: dict[Path, int] = field(default_factory=dict)
    """The label of each node, if it were a leaf."""

    def grow(self, *, last: bool) -> None:
        """Give each branch that waits its best test, or make it a leaf."""
        waiting, self.waiting = self.waiting, []
        for path in waiting:
            here = look(self.tables, path, None, plain_mean=self.as_printed)
            above = self.likely.get(path[:-1], 0)
            self.likely[path] = self._label(here, above)
            best = self._best(path, here)
            if best is None:
                self.leaves[path] = self.likely[path]
                continue
            self.tests[path] = best
            for yes in (True, False):
                child = (*path, Test(*best, yes))
                if last:
                    self.leaves[child] = self._label(
                        look(self.tables, child, None, plain_mean=self.as_printed), self.likely[path]
                    )
                else:
                    self.waiting.append(child)

    def _label(self, here: Looked | None, above: int) -> int:
        if here is None:
            return above
        labels = here.table.sum(axis=1)
        found = winner(labels, deviation=0.0 if self.as_printed else here.of_sum**0.5)
        return above if found is None else found

    def _best(self, path: Path, here: Looked | None) -> tuple[str, int] | None:
        """Choose the test that lessens Gini's index most; none where nothing is known of the node."""
        if not self.as_printed and (here is None or here.table.sum() < 2 * (here.of_sum * len(here.table)) ** 0.5):
            return None
        best: tuple[float, str, int] | None = None
        for name in self.names:
            looked = look(self.tables, path, name, plain_mean=self.as_printed)
            tested = {own.value for own in path if own.attribute == name}
            if looked is None or any(own.attribute == name and own.yes for own in path):
                continue
            found = best_test(looked, [value for value in range(self.domain.cells((name,))) if value not in tested])
            if found is not None and (best is None or found[0] > best[0]):
                best = found[0], name, found[1]
        if best is None or best[0] <= LEAST_GAIN:
            return None
        return best[1], best[2]

    def tree(self) -> Tree:
        """Close it: what still waits is a leaf."""
        for path in self.waiting:
            self.leaves[path] = self.likely.get(path, self.likely.get(path[:-1], 0))
        return Tree(self.tests, self.leaves)
