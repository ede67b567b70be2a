"""A decision tree under CLLDP (Xue et al. 2024, section 6): from users who report once, or a level
a round as printed.

    trust       nobody with a label; the collector with omega, up to `record_cap`
    who learns  the aggregator and everybody: noisy tables of the label with attributes, and the tree
    privacy     epsilon-CLLDP for each user's label, of all her reports; of the whole record the report's `whole_record`
    cost        one report a user; with learning=levels one a round
    publishes   model.json: the tree; `sottovoce predict` applies it

learning=distilled (default) is ours. Every user reports once, with all of epsilon:

1. Four fifths of the users: one attribute each, and the label, as for naive Bayes           `protocol.LabelProtocol`
2. The collector grows a tree from the naive Bayes model of these tables                      `curator.tree_distilled`
3. The others go down that tree and report at which end they are, with the label             `leaves`
4. Ends get their labels from both; tests whose answers end alike fall away

learning=levels is the paper's Algorithm 4 with our mending, and in mode=paper as printed
(`levels`): tables of three to five attributes with the label drown in the noise of local reports,
and on Adult no tree of that kind beats the most frequent label (spec A10).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np

from ...curator import Curator
from ...curator.decision_tree import Tree
from ...curator.tree_distilled import AttributeTable, distil, label_leaves
from ...messages import UsageError
from ...parties import Party
from ...privacy import Domain
from ...privacy.domain import intervals
from ...privacy.local import Survey
from ...privacy.local.belief import Allocation
from ..local import muster
from ..protocol import Cost, Mode, Outcome, Public
from .asking import respond
from .beliefs import believed, choose, share_of
from .leaves import Ends, ask_ends, respond_at_ends
from .levels import Levels, check, respond_by_levels
from .protocol import LabelProtocol, Pooled, of_users, together
from .settings import LabelOptions

__all__ = ["LabelDecisionTree"]

Learning = Literal["distilled", "levels"]
AT_ENDS: Final = 0.2
"""Of the users, those who say at which end they are."""
DEEPEST: Final = 12


class LabelDecisionTreeParameters(LabelOptions):
    learning: Annotated[
        Learning | None,
        msgspec.Meta(
            description="distilled (users report once) or levels (Algorithm 4); by the mode"
        ),
    ] = None
    depth: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=DEEPEST,
            description="tests on a path; of levels, rounds. 0: 8, of levels 5",
        ),
    ] = 0
    allocation: Annotated[
        Allocation | None,
        msgspec.Meta(
            description="of epsilon over levels: tight, paper_fixed (equation 15 mended) or paper; by the mode"
        ),
    ] = None


class LabelDecisionTree(LabelProtocol[LabelDecisionTreeParameters]):
    """Grow a decision tree."""

    name = "clldp-decision-tree"
    summary = "a decision tree, from users whose label is protected"
    uses = (*LabelProtocol.uses, Ends)

    def __init__(self, parameters: Any, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self.learning: Learning = parameters.learning or (
            "levels" if mode == "paper" else "distilled"
        )
        if self.learning == "distilled" and mode == "paper":
            raise UsageError(
                "expected learning=levels in mode paper, found distilled, which is no paper's"
            )
        if self.learning == "distilled" and parameters.allocation is not None:
            raise UsageError(
                "expected allocation with learning=levels, found learning=distilled: there is one report a user"
            )
        self.allocation: Allocation = parameters.allocation or (
            "paper" if mode == "paper" else "tight"
        )
        if self.learning == "levels":
            check(parameters)

    def chosen(self) -> dict[str, Any]:
        own = super().chosen()
        return (
            own
            if self.learning == "levels"
            else {name: own[name] for name in own if name != "allocation"}
        )

    @property
    def depth(self) -> int:
        return self.parameters.depth or (8 if self.learning == "distilled" else 5)

    def sets(self, domain: Domain) -> list[tuple[str, ...]]:
        return self.single(domain)

    def party(self, me: Party) -> None:
        p, domain = self.parameters, me.records.domain
        label = self.label(domain)
        enlisted, groups = self.introduce(me)
        if self.learning == "levels":
            respond_by_levels(me, enlisted, groups, p, label=label, cap=self.cap, depth=self.depth)
            return
        with me.phase("reports"):  # 1
            enlisted, groups = respond(me, enlisted, groups, p, label=label, cap=self.cap)
        with me.phase("ends"):  # 3
            respond_at_ends(me, enlisted, groups, p, label=label)

    def curator(self, desk: Curator) -> Outcome:
        p, domain, label, sets = (
            self.parameters,
            desk.domain,
            self.label(desk.domain),
            self.sets(desk.domain),
        )
        with desk.phase("users"):
            mustered = muster(desk, p)
        with desk.phase("beliefs"):
            curves, known, surveys = believed(desk, mustered, sets, p, label=label, mode=self.mode)
        first = share_of(mustered.users, p)
        if self.learning == "levels":
            levels = Levels(domain, label, p, self.mode, self.depth, self.allocation, curves)
            used = [] if self.mode == "paper" else known
            tree, more, rounds = levels.grow(desk, mustered, used, first=first)
            return self._outcome(
                domain,
                tree,
                label=label,
                users=mustered.users,
                surveys=[*surveys, *more],
                rounds=rounds,
            )
        with desk.phase("reports"):
            # 1.
            at_ends = round(AT_ENDS * (mustered.users - first))
            tables, more = self.ask_once(
                desk, mustered, curves, start=first, users=mustered.users - first - at_ends
            )
            surveys += more
        with desk.phase("ends"):
            # 2.
            grown = distil(
                [_single(domain, together(own, known)) for own in tables], depth=self.depth
            )
            # 3.
            joint, variance = None, 1.0
            ends = len(grown.tree.leaves)
            wanted = at_ends if ends > 1 else 0
            heads, _ = choose(
                ends * domain.cells((label,)),
                ends,
                np.ones(ends),
                p,
                epsilon=p.epsilon,
                mode=self.mode,
            )
            asked_ends = ask_ends(
                desk,
                mustered,
                grown.tree,
                p,
                label=label,
                start=mustered.users - at_ends,
                size=wanted,
                heads=heads,
            )
            if asked_ends is not None:
                joint, variance, more = asked_ends
                surveys += more
            # 4.
            tree = label_leaves(grown, joint, variance)
        rounds = [
            {"asked": sets, "users": [own.users for own in tables]},
            {"ends": ends, "users": wanted},
        ]
        return self._outcome(
            domain, tree, label=label, users=mustered.users, surveys=surveys, rounds=rounds
        )

    def _outcome(
        self,
        domain: Domain,
        tree: Tree,
        *,
        label: str,
        users: int,
        surveys: list[Survey],
        rounds: list[dict[str, Any]],
    ) -> Outcome:
        return Outcome(
            model={
                "kind": "decision-tree",
                "label": label,
                "labels": domain.labels[label],
                "tree": tree.to_builtins(domain, label=label),
                "attributes": domain.project(tree.attributes).labels,
                "rounds": rounds,
            },
            summary={
                "users": users,
                "label": label,
                "learning": self.learning,
                "tests": len(tree.nodes) - len(tree.leaves),
                "ends": len(tree.leaves),
                "attributes": ", ".join(tree.attributes) or "none",
            },
            user_traffic=of_users(users, surveys, self.parameters),
        )

    def predict(self, public: Public) -> list[Cost]:
        """Predict what does not depend on the tree."""
        lines = super().predict(public)
        return (
            lines
            if self.learning == "distilled"
            else [own for own in lines if own.phase != "reports"]
        )


def _single(domain: Domain, own: Pooled) -> AttributeTable:
    name = own.attributes[0]
    return AttributeTable(name, own.joint, own.variance, intervals(domain.labels[name]))
