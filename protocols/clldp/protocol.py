"""What protocols that ask for a label have in common: users, omega, one report each about label and
one set of attributes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, TypeVar

import numpy as np

from ...curator import Curator
from ...curator.labels import pool
from ...curator.marginal import Numbers
from ...messages import UsageError, encoded_size
from ...parties import Party
from ...privacy import Domain
from ...privacy.local import Survey
from ...privacy.local.groups import Groups
from ..local import Mustered, enlist, muster, predict_users
from ..local.asking import Enlisted, Surveyed
from ..protocol import Cost, Mode, Protocol, Public, UserTraffic
from .asking import MOST_CELLS, Asked, Labelled, Table, ask, respond, size_of_terms
from .beliefs import Beliefs, Truth, believed, choose, disclose, in_turn, share_of
from .settings import LabelOptions, label_of

__all__ = ["LabelProtocol", "Learnt", "Pooled", "of_users", "together"]


@dataclass(frozen=True, slots=True)
class Pooled:
    """All that was said of a set, by inverse variance: the joint distribution, each cell's
    variance, and how many said it.
    """

    attributes: tuple[str, ...]
    joint: Numbers
    variance: float
    users: int


def together(own: Table, more: Sequence[Table]) -> Pooled:
    """Put a table together with those of the same attributes."""
    parts = [own, *(other for other in more if other.attributes == own.attributes)]
    joint, variance = pool([(part.joint.values, part.variance) for part in parts])
    return Pooled(own.attributes, joint, variance, sum(part.users for part in parts))


@dataclass(frozen=True, slots=True)
class Learnt:
    """What was said of label and attributes, set by set."""

    label: str
    mustered: Mustered
    tables: list[Table]
    estimates: list[Pooled]
    """The same with what was said for omega's sake, which is of the same law, and paid for; as
    printed it is thrown away.
    """
    surveys: list[Survey]


LabelOptionsT = TypeVar("LabelOptionsT", bound=LabelOptions)


class LabelProtocol(Protocol[LabelOptionsT]):
    """Every user says, of one set of attributes and the label together, some cells of which one may
    be hers.

    A subclass says `sets`, and what the curator makes of what is said.
    """

    paper = "Xue et al. 2024 (CLLDP)"
    trust = "nobody with a label; the collector with omega, up to record_cap: users randomize on their own"
    neighbours = "label-within-belief"
    needs_schema = True
    uses: ClassVar[tuple[type, ...]] = (Surveyed, Labelled, Truth)
    modes: ClassVar[tuple[Mode, ...]] = ("rigorous", "paper")

    @property
    def epsilon(self) -> float:
        """Nothing is claimed where an oracle tells the truth."""
        return inf if self.parameters.belief == "oracle" else float(self.parameters.epsilon)

    @property
    def cap(self) -> float | None:
        cap: float | None = self.parameters.cap(self.mode)
        return cap

    @abstractmethod
    def sets(self, domain: Domain) -> list[tuple[str, ...]]:
        """Choose the sets of attributes that are asked, beside the label: from public knowledge
        alone.
        """

    def label(self, domain: Domain) -> str:
        return label_of(domain, self.parameters.label)

    def party(self, me: Party) -> None:
        """Say how many users there are, and let each answer once: for omega, or for the estimate
        (Algorithm 1).
        """
        enlisted, groups = self.introduce(me)
        with me.phase("reports"):
            respond(
                me,
                enlisted,
                groups,
                self.parameters,
                label=self.label(me.records.domain),
                cap=self.cap,
            )

    def introduce(self, me: Party) -> tuple[Enlisted, Groups]:
        """Say how many users there are; those who are asked for omega's sake answer."""
        p, domain = self.parameters, me.records.domain
        label = self.label(domain)
        with me.phase("users"):
            enlisted = enlist(me, p)
        groups = Groups()
        with me.phase("beliefs"):
            if p.belief == "oracle":
                disclose(me, self.sets(domain), label=label)
            elif share_of(enlisted.users, p):
                enlisted, groups = respond(
                    me, enlisted, groups, p, label=label, cap=self.cap, plain=True
                )
        return enlisted, groups

    def learn(self, desk: Curator) -> Learnt:
        """Ask all users: the curator's side (Algorithm 2 for each set)."""
        p, label, sets = self.parameters, self.label(desk.domain), self.sets(desk.domain)
        with desk.phase("users"):
            mustered = muster(desk, p)
        with desk.phase("beliefs"):
            curves, sampled, surveys = believed(
                desk, mustered, sets, p, label=label, mode=self.mode
            )
        with desk.phase("reports"):
            first = share_of(mustered.users, p)
            tables, more = self.ask_once(
                desk, mustered, curves, start=first, users=mustered.users - first
            )
        used = sampled if self.mode != "paper" else []
        return Learnt(
            label, mustered, tables, [together(own, used) for own in tables], [*surveys, *more]
        )

    def ask_once(
        self, desk: Curator, mustered: Mustered, curves: Beliefs, *, start: int, users: int
    ) -> tuple[list[Table], list[Survey]]:
        """Share users out over the sets, and let each report once, with all of epsilon."""
        p, label, asked = self.parameters, self.label(desk.domain), list[Asked]()
        for own, first, size in in_turn(start, users, list(curves)):
            values = desk.domain.cells(own)
            cells = values * desk.domain.cells((label,))
            heads, belief = choose(cells, values, curves[own], p, epsilon=p.epsilon, mode=self.mode)
            asked.append(Asked(own, first, size, heads, belief, p.epsilon))
        return ask(desk, mustered, asked, p, label=label)

    def predict(self, public: Public) -> list[Cost]:
        """Predict all but reports, whose number of messages depends on who is in which cohort."""
        if public.domain is None:
            return []
        p, domain, sets = self.parameters, public.domain, self.sets(public.domain)
        users = p.users or public.rows
        each = public.parties * size_of_terms(domain, sets)
        lines = predict_users(public, phase="users", users=users)
        if p.belief == "oracle":
            cells = sum(domain.cells((self.label(domain), *own)) for own in sets)
            size = encoded_size(Truth.Counts(np.zeros(cells, np.int64)))
            lines.append(
                Cost(
                    phase="beliefs",
                    kind="Counts",
                    messages=public.parties,
                    payload_bytes=public.parties * size,
                )
            )
        elif share_of(users, p):
            lines.append(
                Cost(phase="beliefs", kind="Terms", messages=public.parties, payload_bytes=each)
            )
        return [
            *lines,
            Cost(phase="reports", kind="Terms", messages=public.parties, payload_bytes=each),
        ]

    def chosen(self) -> dict[str, Any]:
        p = self.parameters
        return {
            **super().chosen(),
            "sure": p.sureness(self.mode),
            "choice": p.rule(self.mode),
            "record_cap": 0.0 if self.cap is None else self.cap,
        }

    def warnings(self, public: Public) -> list[str]:  # noqa: ARG002 - part of the signature
        p, found = self.parameters, []
        if p.belief == "oracle":
            found.append(
                "belief=oracle: cohorts told the curator exact tables; epsilon is infinity. It is for experiments"
            )
        elif p.belief != "none" and p.randomizer == "khr":
            cap = (
                "as much as follows from omega (record_cap=0), which is the whole record's epsilon"
            )
            if self.cap is not None:
                cap = f"at most {self.cap:g} (record_cap)"
            found.append(
                f"epsilon {p.epsilon:g} is what is told of a label to somebody who knows no user's attributes, and if omega is "
                f"not too small; to somebody who knows a user's attributes more is told of the label, {cap}"
            )
        if (p.belief == "sample" and p.sure == 0) or (
            p.belief == "sample" and p.sure is None and self.mode == "paper"
        ):
            found.append(
                "sure=0: omega is an estimate that is too small in about a third of all cases, and then more is told"
            )
        if p.simulate == "counts":
            found.append(
                "simulate=counts: no user's report was made; what they add up to was drawn from its exact law, "
                "by a generator that is not for secrets"
            )
        if p.users:
            found.append(
                f"{p.users:,} users were drawn from the records, with replacement: epsilon holds for each of them, not for a "
                "record, which may stand behind several"
            )
        return found

    def single(self, domain: Domain) -> list[tuple[str, ...]]:
        """List the attributes of two labels or more beside the label, each alone."""
        label = self.label(domain)
        found: list[tuple[str, ...]] = [
            (name,) for name in domain.attributes if name != label and domain.cells((name,)) > 1
        ]
        check_sets(domain, label, found)
        return found

    def told(self, learnt: Learnt) -> dict[str, Any]:
        """List what was believed and chosen, for the model."""
        return {
            ", ".join(own.attributes): {
                "omega": getattr(own.randomizer, "belief", 1.0),
                "k": getattr(own.randomizer, "chosen", None),
                "users": own.users,
                "epsilon of the whole record": own.randomizer.local_epsilon,
            }
            for own in learnt.tables
        }

    def figures(self, learnt: Learnt) -> dict[str, Any]:
        omegas = [getattr(own.randomizer, "belief", 1.0) for own in learnt.tables]
        heads = [getattr(own.randomizer, "chosen", 0) for own in learnt.tables]
        return {
            "users": learnt.mustered.users,
            "label": learnt.label,
            "omega": f"{min(omegas):.3g} to {max(omegas):.3g}"
            if min(omegas) < max(omegas)
            else f"{omegas[0]:.3g}",
            **(
                {"k": f"{min(heads)} to {max(heads)}" if min(heads) < max(heads) else heads[0]}
                if any(heads)
                else {}
            ),
        }


def of_users(learnt_users: int, surveys: Sequence[Survey], options: LabelOptions) -> UserTraffic:
    """Say what a user sends, in all her reports."""
    sizes = [own.bits for survey in surveys for own in survey.randomizers]
    return UserTraffic(
        users=learnt_users,
        reports=sum(own.asked for own in surveys),
        bits=sum(own.bits for own in surveys),
        least=min(sizes),
        most=max(sizes),
        simulate=options.simulate,
    )


def check_sets(domain: Domain, label: str, sets: Sequence[tuple[str, ...]]) -> None:
    """Refuse what names an attribute twice, or has more cells than anybody counts."""
    for own in sets:
        if len({*own, label}) <= len(own):
            raise UsageError(
                f"expected different attributes beside {label} in a set, found {', '.join(own)}"
            )
        if (cells := domain.cells((label, *own))) > MOST_CELLS:
            raise UsageError(
                f"expected sets of at most {MOST_CELLS:,} cells with {label}, found {cells:,} of {', '.join(own)}"
            )
