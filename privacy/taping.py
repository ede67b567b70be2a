"""Answers of releases on a tape: a replay on other records gets them instead of fresh noise.

The replay's accountant checks and records every release as usual. It draws nothing: its answer is
the one on the tape. So what the replay sends differs only where something beside the answers
depends on records.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from ..crypto import RandomStream
from .accountant import Accountant
from .answers import copy_answer
from .composition import WHOLE, PartPath
from .mechanism import AnyMechanism, UserRange, loss_of, seen_of

__all__ = [
    "ExtraRelease",
    "ReleasePair",
    "ReplayedAccountant",
    "SilentMechanism",
    "TapedAccountant",
    "TapedRelease",
    "readable_twice",
]

T = TypeVar("T")


class TapedRelease(NamedTuple):
    """A release on the tape."""

    mechanism: AnyMechanism[Any]
    answer: Any
    """A list where `by_pages`."""
    by_pages: bool
    """Whether the answer was an iterator, which can be read once."""
    users: UserRange | None
    part: PartPath
    phase: str
    to: int


class ReleasePair(NamedTuple):
    """The same release on both tables, with the one answer that both gave."""

    first: AnyMechanism[Any]
    second: AnyMechanism[Any]
    answer: Any
    users: UserRange | None
    part: PartPath
    phase: str
    to: int
    tables: str = ""
    """What the tables are, such as "with 4 records"; empty where nobody says."""

    @property
    def seen(self) -> str:
        """Say on which tables something was seen, in brackets after a sentence."""
        return f" (seen {self.tables})" if self.tables else ""


@runtime_checkable
class Paged(Protocol):
    """A mechanism whose exact values come page by page."""

    @property
    def pages(self) -> Iterable[Any]:
        """The exact values."""


class ExtraRelease(BaseException):
    """The replay makes a release that the tape does not have.

    A part that goes on after any `Exception` does not catch it.
    """


class TapedAccountant(Accountant):
    """An accountant that keeps every mechanism with its answer. It stays with the party."""

    draws = False
    """Whether an answer is being drawn; a replay draws none."""

    @functools.cached_property
    def tape(self) -> list[TapedRelease]:
        """All releases so far, in their order."""
        return []

    def release(
        self,
        mechanism: AnyMechanism[T],
        *,
        to: int,
        phase: str,
        randomness: RandomStream,
        users: UserRange | None = None,
        part: PartPath = WHOLE,
    ) -> T:
        mechanism = readable_twice(mechanism)
        self.draws = True
        try:
            answer = super().release(
                mechanism, to=to, phase=phase, randomness=randomness, users=users, part=part
            )
            pages = list(answer) if isinstance(answer, Iterator) else None
        finally:
            self.draws = False
        self.tape.append(
            TapedRelease(
                mechanism,
                copy_answer(answer if pages is None else pages),
                pages is not None,
                users,
                part,
                phase,
                to,
            )
        )
        return answer if pages is None else cast("T", iter(pages))


class ReplayedAccountant(Accountant):
    """An accountant that answers from a tape."""

    def __init__(
        self,
        accountant: TapedAccountant,
        *,
        parties: int,
        budget: float,
        answers: Mapping[int, object] = MappingProxyType({}),
        fresh: RandomStream | None = None,
    ) -> None:
        """Make the accountant of a replay.

        Args:
            accountant: the accountant with the tape.
            parties: the number of parties.
            budget: the party's budget.
            answers: answers instead of those on the tape, by the number of the release.
            fresh: a stream from which answers are drawn anew; without it none is.
        """
        super().__init__(
            party=accountant.party,
            parties=parties,
            budget=budget,
            delta=accountant.delta,
            max_delta=accountant.max_delta,
            neighbours=accountant.neighbours,
            budget_of=accountant.budget_of,
            threshold=accountant.threshold,
        )
        self.pairs: list[ReleasePair] = []
        self.exceeded = False
        """Whether the replay made a release that the tape does not have."""
        self._tape = accountant.tape
        self.answers = dict(answers)
        """Answers instead of those on the tape, among them those that were drawn anew."""
        self._fresh = fresh

    def release(
        self,
        mechanism: AnyMechanism[T],
        *,
        to: int,
        phase: str,
        randomness: RandomStream,
        users: UserRange | None = None,
        part: PartPath = WHOLE,
    ) -> T:
        number = len(self.pairs)
        taped = self._tape[number] if number < len(self._tape) else None
        if taped is None and number not in self.answers and self._fresh is None:
            self.exceeded = True
            raise ExtraRelease
        mechanism = readable_twice(mechanism)
        # The release is checked and recorded, but nothing is drawn.
        super().release(
            SilentMechanism(mechanism),
            to=to,
            phase=phase,
            randomness=randomness,
            users=users,
            part=part,
        )
        if self._fresh is not None:
            drawn = mechanism.draw(self._fresh)
            self.answers[number] = Pages(drawn) if isinstance(drawn, Iterator) else drawn
        answer: Any = self.answers.get(number, None if taped is None else taped.answer)
        first = mechanism if taped is None else taped.mechanism
        self.pairs.append(ReleasePair(first, mechanism, answer, users, part, phase, to))
        by_pages = isinstance(answer, Pages) or (taped is not None and taped.by_pages)
        # A part may change an array in place, and the tape must stay as it is.
        return cast("T", map(copy_answer, answer) if by_pages else copy_answer(answer))


class Pages(list[Any]):
    """The pages of an answer that was drawn anew."""


def readable_twice(mechanism: AnyMechanism[T]) -> AnyMechanism[T]:
    """Copy a mechanism's pages of exact values, which can otherwise be read only once."""
    if (
        is_dataclass(mechanism)
        and not isinstance(mechanism, type)
        and isinstance(mechanism, Paged)
        and isinstance(mechanism.pages, Iterator)
    ):
        pages = [np.array(page) for page in mechanism.pages]
        return cast("AnyMechanism[T]", replace(mechanism, pages=pages))
    return mechanism


class SilentMechanism:
    """A mechanism with everything that is public about another one, which answers nothing."""

    def __init__(self, mechanism: AnyMechanism[object]) -> None:
        self.name = mechanism.name
        self.sensitivity = mechanism.sensitivity
        self.scale = mechanism.scale
        self.loss = loss_of(mechanism)
        self.seen = seen_of(mechanism)
        self.by_users = mechanism.by_users
        self.whole_record = mechanism.whole_record

    def draw(self, randomness: RandomStream) -> None:
        """Draw nothing."""
