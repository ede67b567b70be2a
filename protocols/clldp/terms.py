"""The terms of a round: how groups of users are asked for the label and some attributes together.

omega, k and epsilon come from a curator that is not trusted. A user accepts them only if they keep
what her own parameters say:

    - her epsilon by equation 13, for all of her reports together (`privacy.local.groups`);
    - the cap on the epsilon of her whole record;
    - an omega of at least k / m_s, because no data has a smaller one.

LEAK: a curator that claims a smaller omega than the true one, within these bounds, learns up to the
cap. Without a cap k = 1, m_s = 50 and epsilon = 1 may cost 4.46. This is what trust in omega means,
and no user can check more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...privacy import Domain, UserCost
from ...privacy.local import Assignment, Randomizer, SymmetricUnary
from ...privacy.local.belief import PastReport
from ...privacy.local.groups import GroupBook
from ...privacy.local.hashed_heads import MAX_VALUES, HashedHeads, field_size
from ...privacy.local.heads import HeadsResponse
from ..survey import attribute_numbers, read_attributes
from .messages import LabelMessages
from .settings import LabelSettings, RandomizerKind

__all__ = [
    "MAX_CELLS",
    "GroupRandomizers",
    "GroupTerms",
    "TermsReview",
    "review_terms",
    "settings_randomizers",
    "terms_of_sets",
    "write_terms",
]

MAX_GROUPS: Final = 1 << 16
MAX_CELLS: Final = 1 << 17
"""Most cells of a table: a report of a quarter of them takes 16 kB."""


@dataclass(frozen=True, slots=True)
class GroupTerms:
    """A group of users, the attributes for which it is asked beside the label, and the terms."""

    attributes: tuple[str, ...]
    start: int
    """Place of the first user."""
    users: int
    heads: int
    belief: float
    epsilon: float


class GroupRandomizers:
    """Makes the randomizers of groups; groups that are asked alike share one."""

    def __init__(self, kind: RandomizerKind, *, labels: int) -> None:
        self._kind, self._labels = kind, labels
        self._randomizers: dict[tuple[int, float, float, int], Randomizer] = {}

    def of(self, cells: int, *, epsilon: float, belief: float, heads: int) -> Randomizer:
        """Find the randomizer for a table of so many cells.

        Where values are hashed, `heads` is the number of hashes.
        """
        key = cells, epsilon, belief, heads
        if key not in self._randomizers:
            self._randomizers[key] = self._make(cells, epsilon, belief, heads)
        return self._randomizers[key]

    def _make(self, cells: int, epsilon: float, belief: float, heads: int) -> Randomizer:
        match self._kind:
            case "basic":
                return SymmetricUnary(cells, epsilon=epsilon)
            case "hashed":
                return HashedHeads(
                    cells, epsilon=epsilon, labels=self._labels, belief=belief, hashes=heads
                )
            case "khr":
                return HeadsResponse(cells, epsilon=epsilon, belief=belief, chosen=heads)

    def of_group(self, group: GroupTerms, settings: LabelSettings) -> Randomizer:
        """Find the randomizer of a group."""
        return self.of(
            settings.cells(group.attributes),
            epsilon=group.epsilon,
            belief=group.belief,
            heads=group.heads,
        )


def settings_randomizers(settings: LabelSettings, *, plain: bool = False) -> GroupRandomizers:
    """Make the randomizers of a round."""
    labels = settings.domain.cells((settings.label,))
    return GroupRandomizers(settings.kind(plain=plain), labels=labels)


@dataclass(frozen=True, slots=True)
class TermsReview:
    """Terms that users accept."""

    groups: tuple[GroupTerms, ...]
    assignment: Assignment
    costs: tuple[UserCost, ...]
    """What the reports add to each group's privacy loss."""
    book: GroupBook
    """The book with these reports."""


def write_terms(domain: Domain, groups: Sequence[GroupTerms]) -> LabelMessages.Terms:
    """Write the terms of a round."""
    return LabelMessages.Terms(
        tuple(attribute_numbers(domain, group.attributes) for group in groups),
        np.array([group.start for group in groups], np.int64),
        np.array([group.users for group in groups], np.int64),
        np.array([group.heads for group in groups], np.int64),
        np.array([group.belief for group in groups], np.float64),
        np.array([group.epsilon for group in groups], np.float64),
    )


def terms_of_sets(domain: Domain, sets: Sequence[tuple[str, ...]]) -> LabelMessages.Terms:
    """Write terms as large as those of these sets will be, whatever k, omega and epsilon are."""
    whole, real = np.zeros(len(sets), np.int64), np.zeros(len(sets))
    numbers = tuple(attribute_numbers(domain, names) for names in sets)
    return LabelMessages.Terms(numbers, whole, whole, whole, real, real)


def review_terms(
    terms: LabelMessages.Terms,
    settings: LabelSettings,
    *,
    users: int,
    key: bytes,
    book: GroupBook,
    plain: bool,
) -> TermsReview:
    """Check the terms that the curator demands. What a user does not accept is a `ValueError`.

    `users` is the number of all users, `key` that of their public order, and `book` holds their
    earlier reports. In a `plain` round omega is 1.
    """
    groups, book = _read_terms(terms, settings.domain), book.copy()
    choices = settings_randomizers(settings, plain=plain)
    randomizers: list[Randomizer] = []
    costs: list[UserCost] = []
    for group in groups:
        _check_group(group, settings, users=users, plain=plain)
        randomizer = choices.of_group(group, settings)
        end = group.start + group.users
        costs.append(
            book.record(
                group.start,
                end,
                attributes=frozenset(attribute_numbers(settings.domain, group.attributes)),
                report=PastReport(group.belief, float(randomizer.ratio)),
            )
        )
        loss, cap = book.of(group.start, end).whole_record_loss, settings.rules.cap
        if cap is not None and loss > cap * (1 + 1e-9):
            raise ValueError(
                f"expected to tell at most epsilon {cap:g} of the whole record, found {loss:g}"
            )
        randomizers.append(randomizer)
    first = int(terms.starts[0])
    assignment = Assignment(users, key, tuple(randomizers), terms.sizes, first, terms.starts)
    return TermsReview(groups, assignment, _merge(costs), book)


def _read_terms(terms: LabelMessages.Terms, domain: Domain) -> tuple[GroupTerms, ...]:
    number = len(terms.questions)
    columns = (terms.starts, terms.sizes, terms.heads, terms.beliefs, terms.epsilons)
    if number > MAX_GROUPS or any(len(column) != number for column in columns):
        raise ValueError(
            f"expected a place, k, omega and epsilon for each of {number} groups, found others"
        )
    lines = zip(terms.questions, *(column.tolist() for column in columns), strict=True)
    return tuple(
        GroupTerms(read_attributes(domain, question), *numbers) for question, *numbers in lines
    )


def _check_group(group: GroupTerms, settings: LabelSettings, *, users: int, plain: bool) -> None:
    options, label, heads = settings.options, settings.label, group.heads
    if label in group.attributes:
        raise ValueError(
            f"expected attributes beside {label}, which is the label, found it among them"
        )
    if group.users < 1 or group.start < 0 or group.start + group.users > users:
        raise ValueError(
            f"expected groups of at least one of {users} users, found {group.users} from place "
            f"{group.start}"
        )
    if (cells := settings.cells(group.attributes)) > MAX_CELLS:
        raise ValueError(f"expected at most {MAX_CELLS:,} cells, found {cells:,}")
    values = settings.domain.cells(group.attributes)
    if settings.kind(plain=plain) == "hashed":
        most = field_size(values, 2)
        if not 2 <= heads <= most or values > MAX_VALUES:
            raise ValueError(f"expected 2 to {most} hashes of {values} values, found {heads}")
    elif not 1 <= heads <= max(1, cells // 2):
        raise ValueError(
            f"expected 1 to {max(1, cells // 2)} heads of {cells} cells, found {heads}"
        )
    least = settings.least_belief(group.attributes, heads=heads, plain=plain)
    if not least * (1 - 1e-12) <= group.belief <= 1:
        raise ValueError(
            f"expected omega of {least:g} to 1 for {heads} of {values} values, found "
            f"{group.belief:g}"
        )
    if not 0 < group.epsilon <= options.epsilon * (1 + 1e-9):
        raise ValueError(
            f"expected an epsilon above 0 and at most {options.epsilon:g}, found {group.epsilon:g}"
        )


def _merge(costs: Sequence[UserCost]) -> tuple[UserCost, ...]:
    """Merge neighbouring users with equal costs into one line."""
    lines: list[UserCost] = []
    for cost in costs:
        if lines and lines[-1].users[1] == cost.users[0] and lines[-1][1:] == cost[1:]:
            lines[-1] = UserCost((lines[-1].users[0], cost.users[1]), *cost[1:])
        else:
            lines.append(cost)
    return tuple(lines)
