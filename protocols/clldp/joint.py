"""CLLDP: tables of a label and some attributes, from users (Xue et al. 2024, sections 4 and 7.2).

    trust       no one with a label; the curator with omega, up to `record_cap`
    who learns  the curator and everyone: noisy tables of the label with each set of attributes
    privacy     epsilon-CLLDP for each user's label, against an adversary who knows how attributes
                go with labels, but no user's attributes. Against an adversary who knows these it is
                ln theta (the report's `whole_record`). With belief=none both are epsilon
    cost        one report a user: a set of k of m cells, in the fewest bits
    publishes   marginals.csv: a table for each set

1. omega of each set: from users who report for it alone, or from elsewhere (4.3)      `survey`
2. k by the exact error of every k; as printed by equation 8              `privacy.local.heads`
3. Each user reports k cells (Algorithm 1), or flips every bit (the basic solution, 4.1)
4. The curator estimates each table (Algorithm 2). By default the table is made a distribution,
   which halves the error where noise is large
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

import msgspec
import numpy as np

from ...curator import Curator
from ...curator.projections import norm_sub
from ...parties import Party
from ...privacy import Domain
from ...privacy.marginal_table import marginal_table
from ..options import Mode
from ..outcome import Outcome
from .protocol import LabelProtocol, PrintedLabelProtocol, check_sets, group_figures, summary_of
from .settings import LabelOptions
from .survey import CuratorLabelSurvey, PartyLabelSurvey

__all__ = ["LabelJoint"]

Projection: TypeAlias = Literal["simplex", "none"]


class LabelJointParameters(LabelOptions):
    attributes: Annotated[
        str,
        msgspec.Meta(
            description="sets of attributes: 'age;sex,race'; default: each alone but the label"
        ),
    ] = ""
    projection: Annotated[
        Projection | None,
        msgspec.Meta(
            description="simplex: the nearest distribution; in mode paper none, with negative cells"
        ),
    ] = None


class LabelJoint(LabelProtocol[LabelJointParameters]):
    """Ask each user for her label and one set of attributes, and publish the tables."""

    name = "clldp-joint"
    summary = "tables of a label with attributes, from users whose label is protected"

    @classmethod
    def variant(
        cls,
        parameters: LabelJointParameters,  # noqa: ARG003 - of the signature
        *,
        mode: Mode,
    ) -> type[LabelJoint]:
        return PrintedLabelJoint if mode == "paper" else LabelJoint

    @property
    def projection(self) -> Projection:
        """What the parameter `projection` stands for."""
        return self.parameters.projection or "simplex"

    def sets(self, domain: Domain) -> list[tuple[str, ...]]:
        if not self.parameters.attributes:
            return self.single_attributes(domain)
        sets = [
            tuple(name.strip() for name in names.split(","))
            for names in self.parameters.attributes.split(";")
        ]
        check_sets(domain, self.label(domain), sets)
        return sets

    def party(self, me: Party) -> None:
        settings, sets = self.settings(me.records.domain), self.sets(me.records.domain)
        with me.phase("users"):
            survey = PartyLabelSurvey(me, settings)
        with me.phase("beliefs"):  # 1.
            survey.answer_beliefs(sets)
        with me.phase("reports"):  # 3.
            survey.answer()

    def curator(self, desk: Curator) -> Outcome:
        settings, sets = self.settings(desk.domain), self.sets(desk.domain)
        with desk.phase("users"):
            survey = CuratorLabelSurvey(desk, settings)
        with desk.phase("beliefs"):  # 1.
            beliefs = survey.find_beliefs(sets)
        with desk.phase("reports"):  # 2. and 3.
            estimates = survey.ask_each_once(beliefs, survey.others)
        # 4.
        tables = [pooled.joint for pooled in self.pooled(estimates, survey.sample)]
        if self.projection == "simplex":
            tables = [norm_sub(table) for table in tables]
        counts = [np.round(table * survey.base.reporting, 3).reshape(-1) for table in tables]
        names: Sequence[tuple[str, ...]] = [estimate.joint.attributes for estimate in estimates]
        return Outcome(
            marginals=marginal_table(desk.domain, names, counts),
            model={
                "kind": "label-tables",
                "label": settings.label,
                "asked": group_figures(estimates),
            },
            summary={
                **summary_of(estimates, users=survey.base.reporting, label=settings.label),
                "tables": len(tables),
            },
            user_traffic=survey.traffic,
        )


class PrintedLabelJoint(PrintedLabelProtocol[LabelJointParameters], LabelJoint):
    """The same as printed, with tables that may have negative cells."""

    @property
    def projection(self) -> Projection:
        return self.parameters.projection or "none"
