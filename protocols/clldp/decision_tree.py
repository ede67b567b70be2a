"""A decision tree under CLLDP, from users whose label is protected (Xue et al. 2024, section 6).

    trust       no one with a label; the curator with omega, up to `record_cap`
    who learns  the curator and everyone: noisy tables of the label with attributes, and the tree
    privacy     epsilon-CLLDP for each user's label, of all her reports; of the whole record the
                report's `whole_record`
    cost        one report a user; with learning=levels one a round
    publishes   model.json: the tree; `sottovoce predict` applies it

`LabelDecisionTree` (`learning=distilled`, the default) is ours. Every user reports once, with all
of epsilon:

1. Four fifths of the users report one attribute each, and the label, as for naive Bayes.
2. The curator grows a tree from the naive Bayes model of these tables.  `curator.tree_distilled`
3. The other users go down that tree, and report its leaf and the label.                `leaves`
4. Both decide the labels of the leaves. A test falls away if all leaves below it have one label.

`PrintedLevelTree` (`mode=paper`) is the paper's Algorithm 4, and `LevelTree` (`learning=levels`)
mends it (`levels`). Their tables of three to five attributes with the label drown in the noise of
local reports. On Adult no such tree is better than the most frequent label (spec A10).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec
import numpy as np

from ...curator import Curator
from ...curator.decision_tree import Tree
from ...curator.tree_distilled import AttributeTable, distil, label_leaves
from ...messages import UsageError
from ...parties import Party
from ...privacy import Domain
from ...privacy.domain import intervals
from ...privacy.local.belief import Allocation
from ..cost import Cost, Public
from ..options import Mode
from ..outcome import Outcome
from .estimates import PooledEstimate, pool
from .leaves import answer_leaves, ask_leaves
from .levels import LevelRounds, PrintedLevelRounds
from .protocol import LabelProtocol, PrintedLabelProtocol
from .settings import LabelOptions, LabelSettings
from .survey import Beliefs, CuratorLabelSurvey, PartyLabelSurvey, choose_terms

__all__ = ["LabelDecisionTree", "LevelTree", "PrintedLevelTree"]

Learning: TypeAlias = Literal["distilled", "levels"]
LEAF_SHARE: Final = 0.2
"""Share of the users who report their leaf."""
MAX_DEPTH: Final = 12


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
            le=MAX_DEPTH,
            description="tests on a path; of levels, rounds. 0: 8, of levels 5",
        ),
    ] = 0
    allocation: Annotated[
        Allocation | None,
        msgspec.Meta(
            description="of epsilon over levels: tight, paper_fixed (equation 15 mended) or paper; "
            "by the mode"
        ),
    ] = None


class LabelDecisionTree(LabelProtocol[LabelDecisionTreeParameters]):
    """Grow a decision tree from users who report once."""

    name = "clldp-decision-tree"
    summary = "a decision tree, from users whose label is protected"
    learning: Learning = "distilled"

    @classmethod
    def variant(
        cls, parameters: LabelDecisionTreeParameters, *, mode: Mode
    ) -> type[LabelDecisionTree]:
        """Pick the class by mode and `learning`."""
        if parameters.randomizer == "hashed":
            raise UsageError(
                "expected randomizer=khr or basic for a decision tree, found hashed, which is for "
                "clldp-joint and clldp-naive-bayes"
            )
        if mode == "paper":
            if parameters.learning == "distilled":
                raise UsageError(
                    "expected learning=levels in mode paper, found distilled, which is no paper's"
                )
            variant: type[LabelDecisionTree] = PrintedLevelTree
        else:
            variant = LevelTree if parameters.learning == "levels" else LabelDecisionTree
        variant.check(parameters)
        return variant

    @classmethod
    def check(cls, parameters: LabelDecisionTreeParameters) -> None:
        """Refuse parameters of another variant."""
        if parameters.allocation is not None:
            raise UsageError(
                "expected allocation with learning=levels, found learning=distilled: there is one "
                "report a user"
            )

    @property
    def depth(self) -> int:
        """Most tests on a path."""
        return self.parameters.depth or 8

    def sets(self, domain: Domain) -> list[tuple[str, ...]]:
        return self.single_attributes(domain)

    def party(self, me: Party) -> None:
        settings, sets = self.settings(me.records.domain), self.sets(me.records.domain)
        with me.phase("users"):
            survey = PartyLabelSurvey(me, settings)
        with me.phase("beliefs"):
            survey.answer_beliefs(sets)
        with me.phase("reports"):  # 1.
            survey.answer()
        with me.phase("ends"):  # 3.
            answer_leaves(me, survey, settings)

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        settings, sets = self.settings(domain), self.sets(domain)
        with desk.phase("users"):
            survey = CuratorLabelSurvey(desk, settings)
        with desk.phase("beliefs"):
            beliefs = survey.find_beliefs(sets)
        at_leaves = round(LEAF_SHARE * len(survey.others))
        with desk.phase("reports"):
            # 1.
            places = survey.others[: len(survey.others) - at_leaves]
            estimates = survey.ask_each_once(beliefs, places)
        with desk.phase("ends"):
            # 2.
            grown = distil(
                [_single(domain, pool(estimate, survey.sample)) for estimate in estimates],
                depth=self.depth,
            )
            # 3.
            leaves = len(grown.tree.leaves)
            size = at_leaves if leaves > 1 else 0
            heads, _ = choose_terms(
                leaves * domain.cells((settings.label,)),
                leaves,
                np.ones(leaves),
                settings,
                epsilon=settings.options.epsilon,
            )
            start = survey.users - at_leaves
            reported = ask_leaves(
                desk, survey, grown.tree, settings, start=start, size=size, heads=heads
            )
            # 4.
            tree = (
                label_leaves(grown)
                if reported is None
                else label_leaves(grown, reported.joint, reported.variance)
            )
        rounds: list[dict[str, object]] = [
            {"asked": sets, "users": [estimate.users for estimate in estimates]},
            {"ends": leaves, "users": size},
        ]
        return self.outcome(tree, rounds, survey, settings)

    def outcome(
        self,
        tree: Tree,
        rounds: list[dict[str, object]],
        survey: CuratorLabelSurvey,
        settings: LabelSettings,
    ) -> Outcome:
        """Publish the tree, and how it was learned."""
        domain, label = settings.domain, settings.label
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
                "users": survey.base.reporting,
                "label": label,
                "learning": self.learning,
                "tests": len(tree.nodes) - len(tree.leaves),
                "ends": len(tree.leaves),
                "attributes": ", ".join(tree.attributes) or "none",
            },
            user_traffic=survey.traffic,
        )


class LevelTree(LabelDecisionTree):
    """Algorithm 4, mended: users report in every round, and the tree grows a level."""

    learning: Learning = "levels"

    @classmethod
    def check(cls, parameters: LabelDecisionTreeParameters) -> None:
        if parameters.users and parameters.simulate == "counts":
            raise UsageError(
                "expected users=0 with simulate=counts and learning=levels: who is drawn answers "
                "in every round"
            )

    @property
    def depth(self) -> int:
        """Number of rounds."""
        return self.parameters.depth or 5

    @property
    def allocation(self) -> Allocation:
        """What the parameter `allocation` stands for."""
        return self.parameters.allocation or "tight"

    def rounds(self, settings: LabelSettings, beliefs: Beliefs) -> LevelRounds:
        """Choose how the rounds are planned."""
        return LevelRounds(settings, self.depth, self.allocation, beliefs)

    def party(self, me: Party) -> None:
        settings, sets = self.settings(me.records.domain), self.sets(me.records.domain)
        with me.phase("users"):
            survey = PartyLabelSurvey(me, settings)
        with me.phase("beliefs"):
            survey.answer_beliefs(sets)
        # Lines 4 to 13: the terms say who is asked, and about what.
        for number in range(1, self.depth + 1):
            with me.phase(f"round {number}"):
                survey.answer()

    def curator(self, desk: Curator) -> Outcome:
        settings, sets = self.settings(desk.domain), self.sets(desk.domain)
        with desk.phase("users"):
            survey = CuratorLabelSurvey(desk, settings)
        with desk.phase("beliefs"):
            beliefs = survey.find_beliefs(sets)
        tree, rounds = self.rounds(settings, beliefs).grow(desk, survey, survey.sample)
        return self.outcome(tree, rounds, survey, settings)

    def predict(self, public: Public) -> list[Cost]:
        """Predict what does not depend on the tree."""
        return [line for line in super().predict(public) if line.phase != "reports"]


class PrintedLevelTree(PrintedLabelProtocol[LabelDecisionTreeParameters], LevelTree):
    """Algorithm 4 as printed."""

    @property
    def allocation(self) -> Allocation:
        return self.parameters.allocation or "paper"

    def rounds(self, settings: LabelSettings, beliefs: Beliefs) -> LevelRounds:
        return PrintedLevelRounds(settings, self.depth, self.allocation, beliefs)


def _single(domain: Domain, estimate: PooledEstimate) -> AttributeTable:
    name = estimate.attributes[0]
    return AttributeTable(name, estimate.joint, estimate.variance, intervals(domain.labels[name]))
