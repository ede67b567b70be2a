"""Asking users for their label and some attributes together: both sides.

    cohort      Present     how many rows it has                                    as in any survey (`protocols.local`)
    aggregator  Opening     how many users there are, and the key of the public order in which they are asked
    aggregator  Terms       in each round: which users are asked for which attributes, with which k, omega and epsilon
    cohort      Reports     its users' reports, or Sums drawn from their law

omega, k and epsilon come from a collector who is not trusted. A user takes them only if they keep
what her own parameters say: her epsilon by equation 13, all of her reports together
(`privacy.local.groups`); the cap on what is told of her whole record; and omega at least k / m_s,
below which no data can be. A collector who claims a smaller omega than is true, within these,
learns up to the cap: without one, k = 1, m_s = 50 and epsilon = 1 may be 4.46. LEAK: that is what
trust in omega means, and no user can check more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from ...curator import Curator, Marginal
from ...messages import CURATOR, MessageError, Shape, encoded_size, message
from ...parties import Party
from ...parties.cohort import Values, tables
from ...privacy import Domain, UserCost
from ...privacy.local import Randomizer, Survey, SymmetricUnary
from ...privacy.local.belief import Spent
from ...privacy.local.groups import Groups
from ...privacy.local.heads import HeadsResponse, variance_of_set
from ..local import Answer, Mustered, Question, answer, hear
from ..local.asking import Enlisted, Heard
from .settings import LabelOptions, least_belief

__all__ = [
    "MOST_CELLS",
    "Asked",
    "Labelled",
    "Table",
    "ask",
    "randomizer_of",
    "respond",
    "size_of_terms",
]

MOST_QUESTIONS: Final = 1 << 16
MOST_CELLS: Final = 1 << 17
"""Of a table: a report of a quarter of so many takes 16 kB."""


class Labelled:
    """The messages beside those of a survey."""

    @message
    class Terms:
        """Who is asked what, and how: attributes without the label, places, k, omega and epsilon of
        each group.
        """

        questions: tuple[tuple[int, ...], ...]
        starts: Annotated[npt.NDArray[np.int64], Shape(None)]
        sizes: Annotated[npt.NDArray[np.int64], Shape(None)]
        heads: Annotated[npt.NDArray[np.int64], Shape(None)]
        beliefs: Annotated[npt.NDArray[np.float64], Shape(None)]
        epsilons: Annotated[npt.NDArray[np.float64], Shape(None)]


@dataclass(frozen=True, slots=True)
class Asked:
    """A group and how it is asked."""

    attributes: tuple[str, ...]
    """Without the label."""
    start: int
    users: int
    heads: int
    belief: float
    epsilon: float


@dataclass(frozen=True, slots=True)
class Table:
    """What a group said: the joint distribution of label and attributes, without bias, and how
    surely.
    """

    attributes: tuple[str, ...]
    joint: Marginal
    users: int
    randomizer: Randomizer

    @property
    def variance(self) -> float:
        """The variance of each cell."""
        return self.variance_of(1)

    def variance_of(self, size: int) -> float:
        """The variance of so many cells together."""
        own = self.randomizer
        if isinstance(own, HeadsResponse):
            return variance_of_set(
                cells=own.cells, chosen=own.chosen, p=float(own.p), size=size, users=self.users
            )
        return size * own.variance(users=self.users)  # bits are flipped one by one


def randomizer_of(
    cells: int,
    *,
    epsilon: float,
    belief: float,
    heads: int,
    kind: str,
    known: dict[tuple[object, ...], Randomizer],
) -> Randomizer:
    """Make the randomizer of a group; groups that are asked alike share one."""
    key = cells, epsilon, belief, heads, kind
    if key not in known:
        known[key] = (
            SymmetricUnary(cells, epsilon=epsilon)
            if kind == "basic"
            else HeadsResponse(cells, epsilon=epsilon, belief=belief, chosen=heads)
        )
    return known[key]


def ask(
    desk: Curator, mustered: Mustered, asked: Sequence[Asked], options: LabelOptions, *, label: str
) -> tuple[list[Table], list[Survey]]:
    """Say the terms, and hear: the curator's side of a round. Groups stand in the order of their
    places.
    """
    domain = desk.domain
    desk.broadcast(_terms(domain, asked))
    if not asked:
        return [], []
    known: dict[tuple[object, ...], Randomizer] = {}
    randomizers = tuple(
        randomizer_of(
            domain.cells((label, *own.attributes)),
            epsilon=own.epsilon,
            belief=own.belief,
            heads=own.heads,
            kind=options.randomizer,
            known=known,
        )
        for own in asked
    )
    starts, sizes = np.array([own.start for own in asked]), np.array([own.users for own in asked])
    survey = Survey(mustered.users, mustered.key, randomizers, sizes, asked[0].start, starts)
    questions = [
        Question((label, *own.attributes), randomizer, own.users)
        for own, randomizer in zip(asked, randomizers, strict=True)
    ]
    answers = hear(desk, survey, questions, options)
    return [_table(domain, own) for own in answers], [survey]


def _table(domain: Domain, answer: Answer) -> Table:
    own = answer.question
    joint = Marginal.of(domain, own.attributes, answer.frequencies())
    return Table(own.attributes[1:], joint, own.users, own.randomizer)


def respond(
    me: Party,
    enlisted: Enlisted,
    groups: Groups,
    options: LabelOptions,
    *,
    label: str,
    cap: float | None,
    plain: bool = False,
) -> tuple[Enlisted, Groups]:
    """Hear the terms, check them against this user's own, and let the cohort's users answer.

    `plain`: nothing is believed in this round: omega is 1.
    """
    terms = me.receive(Labelled.Terms, source=CURATOR)
    if not terms.questions:
        return enlisted, groups
    domain = me.records.domain
    try:
        heard, groups = _checked(
            terms, domain, enlisted, groups, options, label=label, cap=cap, plain=plain
        )
    except ValueError as error:
        raise MessageError(f"malformed Terms from the curator: {error}", where=me.where) from None
    after = answer(me, enlisted, heard, _values(me, heard, label=label), options)
    return replace(after, asked=0), groups


def _values(me: Party, heard: Heard, *, label: str) -> Values:
    names = me.records.domain.attributes
    return tables(me.records, [(label, *(names[at] for at in own)) for own in heard.questions])


def _checked(
    terms: Labelled.Terms,
    domain: Domain,
    enlisted: Enlisted,
    groups: Groups,
    options: LabelOptions,
    *,
    label: str,
    cap: float | None,
    plain: bool,
) -> tuple[Heard, Groups]:
    """Check what the collector asks for."""
    names, number = domain.attributes, len(terms.questions)
    others, groups = tuple(name for name in names if name != label), groups.copy()
    columns = (terms.starts, terms.sizes, terms.heads, terms.beliefs, terms.epsilons)
    if number > MOST_QUESTIONS or any(len(own) != number for own in columns):
        raise ValueError(
            f"expected a place, k, omega and epsilon for each of {number} groups, found others"
        )
    randomizers: list[Randomizer] = []
    shares: list[UserCost] = []
    known: dict[tuple[object, ...], Randomizer] = {}
    lines = zip(terms.questions, *(own.tolist() for own in columns), strict=True)
    for question, start, size, heads, belief, epsilon in lines:
        if (
            not question
            or len({*question}) < len(question)
            or not all(0 <= at < len(names) for at in question)
        ):
            raise ValueError(f"expected different attributes below {len(names)}, found {question}")
        if names.index(label) in question:
            raise ValueError(
                f"expected attributes beside {label}, which is the label, found it among them"
            )
        if size < 1 or start < 0 or start + size > enlisted.users:
            raise ValueError(
                f"expected groups of at least one of {enlisted.users} users, found {size} from place {start}"
            )
        attributes = tuple(names[at] for at in question)
        values = domain.cells(attributes)
        cells = values * domain.cells((label,))
        if cells > MOST_CELLS:
            raise ValueError(f"expected at most {MOST_CELLS:,} cells, found {cells:,}")
        if not 1 <= heads <= max(1, cells // 2):
            raise ValueError(
                f"expected 1 to {max(1, cells // 2)} heads of {cells} cells, found {heads}"
            )
        least = least_belief(
            options, attributes=attributes, values=values, heads=heads, names=others, plain=plain
        )
        if not least * (1 - 1e-12) <= belief <= 1:
            raise ValueError(
                f"expected omega of {least:g} to 1 for {heads} of {values} values, found {belief:g}"
            )
        if not 0 < epsilon <= options.epsilon * (1 + 1e-9):
            raise ValueError(
                f"expected an epsilon above 0 and at most {options.epsilon:g}, found {epsilon:g}"
            )
        own = randomizer_of(
            cells, epsilon=epsilon, belief=belief, heads=heads, kind=options.randomizer, known=known
        )
        spent = Spent(belief, float(own.ratio))
        share = groups.report(start, start + size, attributes=frozenset(question), spent=spent)
        book = groups.of(start, start + size)
        if cap is not None and book.told_of_all > cap * (1 + 1e-9):
            raise ValueError(
                f"expected to tell at most epsilon {cap:g} of the whole record, found {book.told_of_all:g}"
            )
        randomizers.append(own)
        shares.append(share)
    survey = Survey(
        enlisted.users,
        enlisted.key,
        tuple(randomizers),
        terms.sizes,
        int(terms.starts[0]),
        terms.starts,
    )
    return Heard(survey, terms.questions, _together(shares)), groups


def _together(shares: Sequence[UserCost]) -> tuple[UserCost, ...]:
    """Put neighbours of whom the same is told into one line."""
    found: list[UserCost] = []
    for own in shares:
        if found and found[-1].users[1] == own.users[0] and found[-1][1:] == own[1:]:
            found[-1] = UserCost((found[-1].users[0], own.users[1]), *own[1:])
        else:
            found.append(own)
    return tuple(found)


def _terms(domain: Domain, asked: Sequence[Asked]) -> Labelled.Terms:
    places = {name: at for at, name in enumerate(domain.attributes)}
    return Labelled.Terms(
        tuple(tuple(places[name] for name in own.attributes) for own in asked),
        np.array([own.start for own in asked], np.int64),
        np.array([own.users for own in asked], np.int64),
        np.array([own.heads for own in asked], np.int64),
        np.array([own.belief for own in asked], np.float64),
        np.array([own.epsilon for own in asked], np.float64),
    )


def size_of_terms(domain: Domain, sets: Sequence[tuple[str, ...]]) -> int:
    """Count the bytes of the terms of so many groups, whatever k, omega and epsilon are."""
    return encoded_size(_terms(domain, [Asked(own, 0, 1, 1, 1.0, 1.0) for own in sets]))
