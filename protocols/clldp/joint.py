"""CLLDP: the joint distribution of a label and some attributes, from users (Xue et al. 2024,
sections 4 and 7.2).

    trust       nobody with a label; the collector with omega, up to `record_cap`
    who learns  the aggregator and everybody: noisy tables of the label with each set of attributes
    privacy     epsilon-CLLDP for each user's label: against who knows how attributes go with labels, but no user's attributes.
                Against who knows these it is ln theta (the report's `whole_record`); with belief=none both are epsilon
    cost        one report a user: a set of k of m cells, in the fewest bits
    publishes   marginals.csv: a table for each set

1. omega of each set: from users who do nothing else, from outside, or given (section 4.3)              `beliefs`
2. k by the exact error of all k; in `mode=paper` by equation 8                                          `privacy.local.heads`
3. Each user says k cells (Algorithm 1), or flips every bit (the basic solution, 4.1)                    `asking`
4. The collector estimates each table (Algorithm 2); it is made a distribution, which halves the error where noise is large
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from ...curator import Curator
from ...curator.projections import norm_sub
from ...privacy import Domain
from ...privacy.domain import marginal_table
from ..protocol import Outcome
from .protocol import LabelProtocol, check_sets, of_users
from .settings import LabelOptions

__all__ = ["LabelJoint"]


class LabelJointParameters(LabelOptions):
    attributes: Annotated[
        str,
        msgspec.Meta(
            description="sets of attributes: 'age;sex,race'; default: each alone but the label"
        ),
    ] = ""
    projection: Annotated[
        Literal["simplex", "none"] | None,
        msgspec.Meta(
            description="simplex: the nearest distribution; in mode paper none, with negative cells"
        ),
    ] = None


class LabelJoint(LabelProtocol[LabelJointParameters]):
    """Ask each user for label and one set of attributes, and publish the tables."""

    name = "clldp-joint"
    summary = "tables of a label with attributes, from users whose label is protected"

    def sets(self, domain: Domain) -> list[tuple[str, ...]]:
        if not self.parameters.attributes:
            return self.single(domain)
        label = self.label(domain)
        found = [
            tuple(name.strip() for name in own.split(","))
            for own in self.parameters.attributes.split(";")
        ]
        check_sets(domain, label, found)
        return found

    def curator(self, desk: Curator) -> Outcome:
        learnt = self.learn(desk)
        users = learnt.mustered.users
        as_estimated = self.chosen()["projection"] == "none"
        tables = [own.joint if as_estimated else norm_sub(own.joint) for own in learnt.estimates]
        counts = [np.round(own * users, 3).reshape(-1) for own in tables]
        return Outcome(
            marginals=marginal_table(
                desk.domain, [own.joint.attributes for own in learnt.tables], counts
            ),
            model={"kind": "label-tables", "label": learnt.label, "asked": self.told(learnt)},
            summary={**self.figures(learnt), "tables": len(tables)},
            user_traffic=of_users(users, learnt.surveys, self.parameters),
        )

    def chosen(self) -> dict[str, Any]:
        own = self.parameters.projection or ("none" if self.mode == "paper" else "simplex")
        return {**super().chosen(), "projection": own}
