"""What the protocols that ask for a label have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import inf
from typing import ClassVar, TypeVar

import numpy as np

from ...curator.labels import DEFAULT_DEVIATIONS, underestimation
from ...messages import UsageError
from ...privacy import Domain
from ...privacy.many_labels import too_many_labels
from ..cost import Cost, Public
from ..options import Mode
from ..survey import (
    SurveyMessages,
    SurveyProtocol,
    number_of_users,
    predict_opening,
    survey_warnings,
    with_each_cohort,
)
from .estimates import GroupEstimate, PooledEstimate, pool
from .messages import LabelMessages
from .settings import BeliefRules, LabelOptions, LabelSettings, label_of
from .terms import MAX_CELLS, terms_of_sets

__all__ = ["PrintedLabelProtocol", "LabelProtocol", "check_sets", "group_figures", "summary_of"]

LabelOptionsT = TypeVar("LabelOptionsT", bound=LabelOptions)


class LabelProtocol(SurveyProtocol[LabelOptionsT]):
    """Every user reports some cells of a table of the label and one set of attributes.

    One of the cells may be hers. A subclass chooses the sets, and what the curator makes of the
    reports.
    """

    paper = "Xue et al. 2024 (CLLDP)"
    goes_on = True
    trust = (
        "no one with a label; the curator with omega, up to record_cap: every user randomizes her "
        "own record"
    )
    neighbours = "label-within-belief"
    uses: ClassVar[tuple[type, ...]] = (SurveyMessages, LabelMessages)
    modes: ClassVar[tuple[Mode, ...]] = ("rigorous", "paper")

    @abstractmethod
    def sets(self, domain: Domain) -> list[tuple[str, ...]]:
        """Choose the sets of attributes that are asked beside the label, from the domain alone."""

    @property
    def rules(self) -> BeliefRules:
        """How omega and k are chosen."""
        p = self.parameters
        return BeliefRules.of(p, sure=DEFAULT_DEVIATIONS, choice="scan", cap=2 * p.epsilon)

    def pooled(
        self, estimates: Sequence[GroupEstimate], sample: Sequence[GroupEstimate]
    ) -> list[PooledEstimate]:
        """Pool estimates with those of the users who reported for omega.

        Both are of the same distribution, and the privacy of both is paid for.
        """
        return [pool(estimate, sample) for estimate in estimates]

    @property
    def epsilon(self) -> float:
        """The claimed epsilon: infinity where an oracle sees the truth."""
        return inf if self.parameters.source == "oracle" else float(self.parameters.epsilon)

    @property
    def max_delta(self) -> float:
        """No bound: beliefs that fail are reported as they add up, and `sure` makes them rare."""
        return inf

    @property
    def sure(self) -> float:
        """What the parameter `sure` stands for."""
        return self.rules.sure

    @property
    def choice(self) -> str:
        """What the parameter `choice` stands for."""
        return self.rules.choice

    @property
    def record_cap(self) -> float:
        """What the parameter `record_cap` stands for; 0 is no bound."""
        return self.rules.cap or 0.0

    def label(self, domain: Domain) -> str:
        """Find the label."""
        return label_of(domain, self.parameters.label)

    def settings(self, domain: Domain) -> LabelSettings:
        """Collect what both sides know in advance."""
        return LabelSettings(self.parameters, self.rules, domain, self.label(domain))

    def predict(self, public: Public) -> list[Cost]:
        """Predict all but reports, which depend on who is in which cohort."""
        if (domain := public.domain) is None:
            return []
        p, settings, sets = self.parameters, self.settings(domain), self.sets(domain)
        terms = terms_of_sets(domain, sets)
        lines = predict_opening(public, p, phase="users")
        if p.source == "oracle":
            cells = sum(settings.cells(names) for names in sets)
            counts = LabelMessages.Counts(np.zeros(cells, np.int64))
            lines.append(with_each_cohort(public, counts, phase="beliefs"))
        elif settings.sample_size(number_of_users(p, public)):
            lines.append(with_each_cohort(public, terms, phase="beliefs"))
        return [*lines, with_each_cohort(public, terms, phase="reports")]

    def warnings(self, public: Public) -> list[str]:  # noqa: ARG002 - of the signature
        p, cap, warnings = self.parameters, self.rules.cap, list[str]()
        if p.source == "oracle":
            warnings.append(
                "belief=oracle: cohorts sent exact tables to the curator, and epsilon is infinity; "
                "this is for experiments"
            )
        elif p.source != "none":
            limit = (
                "as much as follows from omega (record_cap=0), which is the whole record's epsilon"
                if cap is None
                else f"at most {cap:g} (record_cap)"
            )
            warnings.append(
                f"epsilon {p.epsilon:g} bounds what an adversary without a user's attributes "
                "learns of her label, if omega is not too small; an adversary who knows her "
                f"attributes learns more of the label, {limit}"
            )
        if p.source == "sample" and self.rules.sure > 0:
            warnings.append(
                f"belief=sample: omega is a bound that fails with a probability of at most "
                f"{underestimation(self.rules.sure):.2g} for each round, by the normal "
                "approximation; delta adds these up"
            )
        if p.source == "sample" and self.rules.sure == 0:
            warnings.append(
                "sure=0: omega is an estimate that is too small in about a third of all cases, and "
                "then more than epsilon is lost"
            )
        elif p.source == "prior":
            warnings.append(
                "belief=prior: epsilon holds if the prior's omega is not below the true one, which "
                "nothing in the run can check"
            )
        return [*warnings, *survey_warnings(p)]

    def single_attributes(self, domain: Domain) -> list[tuple[str, ...]]:
        """List the attributes of two labels or more beside the label, each alone."""
        label = self.label(domain)
        sets: list[tuple[str, ...]] = [
            (name,) for name in domain.attributes if name != label and domain.cells((name,)) > 1
        ]
        check_sets(domain, label, sets)
        return sets


class PrintedLabelProtocol(LabelProtocol[LabelOptionsT]):
    """What the printed variants have in common, before the classes of their protocols.

    omega is the estimate of the sample, k follows equation 8, and no bound holds for the whole
    record. The reports of the sample are not used again.
    """

    @property
    def rules(self) -> BeliefRules:
        return BeliefRules.of(self.parameters, sure=0.0, choice="paper", cap=0.0)

    def pooled(
        self,
        estimates: Sequence[GroupEstimate],
        sample: Sequence[GroupEstimate],  # noqa: ARG002 - as printed
    ) -> list[PooledEstimate]:
        return [pool(estimate, []) for estimate in estimates]


def group_figures(estimates: Sequence[GroupEstimate]) -> dict[str, object]:
    """List how each set was asked, for the model."""
    return {
        ", ".join(estimate.attributes): {
            "omega": estimate.belief,
            "k": estimate.heads,
            **({} if estimate.hashes is None else {"hashes": estimate.hashes}),
            "users": estimate.users,
            "epsilon of the whole record": estimate.randomizer.local_epsilon,
        }
        for estimate in estimates
    }


def summary_of(estimates: Sequence[GroupEstimate], *, users: int, label: str) -> dict[str, object]:
    """Summarise how the sets were asked."""
    omegas = [estimate.belief for estimate in estimates]
    low, high = min(omegas), max(omegas)
    summary: dict[str, object] = {
        "users": users,
        "label": label,
        "omega": f"{low:.3g} to {high:.3g}" if low < high else f"{omegas[0]:.3g}",
    }
    heads = [estimate.heads for estimate in estimates if estimate.heads]
    if heads:
        fewest, most = min(heads), max(heads)
        summary["k"] = f"{fewest} to {most}" if fewest < most else fewest
    return summary


def check_sets(domain: Domain, label: str, sets: Sequence[tuple[str, ...]]) -> None:
    """Refuse sets that name an attribute twice, and tables that are too large to count."""
    for names in sets:
        if len({*names, label}) <= len(names):
            raise UsageError(
                f"expected different attributes beside {label} in a set, found {', '.join(names)}"
            )
        if domain.cells((label, *names)) > MAX_CELLS:
            raise UsageError(
                too_many_labels(f"sets of attributes beside {label}", domain, (*names, label))
            )
