"""The tape of releases: the answers of one run's releases, replayed in a run on other records.

With the same answers, nothing else that is sent may differ. The conformance suite uses that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..privacy import Accountant, PartPath
from ..privacy.exact_value import ExactValue, Inspectable
from ..privacy.mechanism import UserRange
from ..privacy.taping import ReplayedAccountant, SilentMechanism, readable_twice

__all__ = ["ExactRelease", "ReleaseTape"]


class ExactRelease(NamedTuple):
    """What a release would have answered without noise."""

    mechanism: str
    sensitivity: float
    value: ExactValue | None
    """The exact value; `None` if the mechanism does not show it."""
    kind: str
    """The mechanism's class."""
    users: UserRange | None = None
    part: PartPath = ()

    def change(self, other: ExactRelease) -> float:
        """Compute by how much the exact value differs in another run.

        Raises:
            AssertionError: the mechanism does not show its exact value.
        """
        if self.value is None or other.value is None:
            raise AssertionError(
                f"expected a mechanism that shows its exact value, found {self.kind} "
                f"({self.mechanism}) without exact_value: define `def exact_value(self) -> "
                "ExactValue` in it, as sottovoce.privacy.exact_value describes, so that its "
                "sensitivity can be checked"
            )
        return self.value.change(other.value)


class ReleaseTape:
    """The answers of all releases of a run, by party, and the exact answers of two runs."""

    def __init__(self) -> None:
        self._release = Accountant.release
        self._answers: dict[int, list[Any]] = {}
        self._recorded: dict[int, list[ExactRelease]] = {}
        self._replayed: dict[int, list[ExactRelease]] = {}

    @property
    def recorded(self) -> list[ExactRelease]:
        """The exact answers of the first run, party by party."""
        return _party_by_party(self._recorded)

    @property
    def replayed(self) -> list[ExactRelease]:
        """The exact answers of the second run, party by party."""
        return _party_by_party(self._replayed)

    @property
    def record(self) -> Callable[..., Any]:
        """What replaces `Accountant.release` in the first run."""

        def release(accountant: Accountant, mechanism: Any, **options: Any) -> Any:
            if isinstance(accountant, ReplayedAccountant):  # the guard's own replay (`runs.guard`)
                return self._release(accountant, mechanism, **options)
            mechanism, exact = _look_into(mechanism, **options)
            answer = self._release(accountant, mechanism, **options)
            if isinstance(answer, Iterator):  # such a mechanism answers page by page
                answer = _Pages(answer)
            self._recorded.setdefault(accountant.party, []).append(exact)
            self._answers.setdefault(accountant.party, []).append(answer)
            return iter(answer) if isinstance(answer, _Pages) else answer

        return release

    @property
    def replay(self) -> Callable[..., Any]:
        """What replaces `Accountant.release` in the second run."""
        self._replayed = {}

        def release(accountant: Accountant, mechanism: Any, **options: Any) -> Any:
            if isinstance(accountant, ReplayedAccountant):  # the guard's own replay (`runs.guard`)
                return self._release(accountant, mechanism, **options)
            mechanism, exact = _look_into(mechanism, **options)
            # The release is checked and accounted for, but nothing is drawn.
            self._release(accountant, SilentMechanism(mechanism), **options)
            # Answers are counted here, not in the accountant's book: one answer for several groups
            # of users is several lines there.
            replayed = self._replayed.setdefault(accountant.party, [])
            answers = self._answers.get(accountant.party, [])
            replayed.append(exact)
            if len(replayed) > len(answers):
                raise AssertionError("the number of releases depends on records")
            answer = answers[len(replayed) - 1]
            return iter(answer) if isinstance(answer, _Pages) else answer

        return release


class _Pages(list[Any]):
    """Pages of an answer that can be read once; another answer may be a list of its own."""


def _party_by_party(releases: Mapping[int, list[ExactRelease]]) -> list[ExactRelease]:
    return [release for party in sorted(releases) for release in releases[party]]


def _look_into(
    mechanism: Any, *, users: UserRange | None = None, part: PartPath = (), **_: object
) -> tuple[Any, ExactRelease]:
    """Find what a mechanism would answer without noise.

    Pages can be read once, so the mechanism is returned with a copy of them.
    """
    mechanism = readable_twice(mechanism)
    value = mechanism.exact_value() if isinstance(mechanism, Inspectable) else None
    kind = type(mechanism).__name__
    return mechanism, ExactRelease(mechanism.name, mechanism.sensitivity, value, kind, users, part)
