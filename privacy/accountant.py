"""The accountant: every release of information is an event, checked, then recorded, then carried
out.

A release is the only way to draw a mechanism's noise (`Accountant.release`), so nothing is released
without spending. Exact numbers from records cannot be said by mistake either: messages refuse them
(`privacy.exact`).

Who learns of a record of party k, its views:

    public          what is published
    curator         what the curator hears, all by itself
    other_party     what is published and what one other party hears, which knows its own noise
    c_parties       the same of c other parties that pool what they know
    curator_and_c   the curator and c other parties together

An event is seen in every view: what is published is computed from what the curator hears, and what
a party hears it may pass on. A mechanism says where it costs more, or less, than its epsilon.
Epsilons of one party's releases add up in each view (sequential composition); records of different
parties are disjoint, so the run's epsilon is the largest of the parties' (parallel composition).

A party that acts for many users, each of whom reports for herself, says which of them a release is
about, as a run of places in a public order. Each user has the whole budget: a report of one costs
the others nothing, and a second report of the same user is refused when it would exceed it.

A mechanism whose epsilon holds but for a chance says so (`delta`); chances add up like epsilons.
One whose reports tell more of some users than of others, or together less than their sum, says what
is added for whom (`by_users`). And one that protects a part of a record, such as its label, says
what it tells of the whole (`whole_record`); that is added up beside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from ..crypto import RandomStream
from ..messages import BudgetError

__all__ = [
    "Accountant",
    "Mechanism",
    "Neighbours",
    "Release",
    "Share",
    "coalition",
    "epsilon_by_view",
    "views",
    "with_curator",
]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

Neighbours = Literal["replace-one", "add-or-remove-one", "label-within-belief", "label-alone"]
"""Which two tables must look alike: one record replaced, or one record more or less; or, of one
record, another label.

With `label-within-belief` attributes come with the label as they are likely to, and reports name no
attributes that more than omega of a label's people have (`privacy.local.belief`). With
`label-alone` they stay, and are told as they are.
"""


def coalition(size: int) -> str:
    """Name the view of so many parties, other than the one whose records they look at."""
    return "other_party" if size == 1 else f"{size}_parties"


def with_curator(size: int) -> str:
    """Name the view of the curator and so many parties."""
    return f"curator_and_{size}" if size else "curator"


def views(parties: int) -> list[str]:
    """List the views on one party's records; alone it has no other party, and that view is shown
    for its absence.

    >>> views(3)
    ['public', 'curator', 'other_party', '2_parties', 'curator_and_1', 'curator_and_2']
    """
    together = range(1, max(parties, 2))
    return [
        "public",
        *map(with_curator, range(1)),
        *map(coalition, together),
        *map(with_curator, range(1, parties)),
    ]


class Mechanism(Protocol[T_co]):
    """Something that can be released: it holds its value, its sensitivity and its epsilon."""

    @property
    def name(self) -> str: ...
    @property
    def sensitivity(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def scale(self) -> float: ...
    @property
    def seen(self) -> Mapping[str, float]: ...
    def draw(self, randomness: RandomStream) -> T_co: ...


class Share(NamedTuple):
    """What is added to what these users have told: of what is protected, and of their whole
    records.
    """

    users: tuple[int, int]
    epsilon: float
    whole_record: float | None = None


class Release(msgspec.Struct, frozen=True):
    """What happened: `mechanism` of `scale` on a query of `sensitivity` cost `party` `epsilon`
    towards `to`, in `phase`.

    `seen` is what it costs in truth, by view: `epsilon` for all who may see it, unless the
    mechanism says otherwise, as a printed one does whose claim does not hold against somebody;
    infinity where no epsilon holds.
    """

    party: int
    phase: str
    mechanism: str
    sensitivity: float
    scale: float
    epsilon: float
    to: int
    seen: dict[str, float]
    users: tuple[int, int] | None = None
    """Whose reports these are, the first and one past the last of them; `None`: all records are
    behind it.
    """
    delta: float = 0.0
    """The chance with which `epsilon` may not hold."""
    whole_record: float | None = None
    """What it costs of the whole record, where `epsilon` is of a part."""


class Accountant:
    """One party's budget. The neighbouring relation has no default."""

    def __init__(self, *, party: int, parties: int, budget: float, neighbours: Neighbours) -> None:
        self.neighbours = neighbours
        self.releases: list[Release] = []
        self.party = party
        self._views = views(parties)
        self._budget = budget

    @property
    def spent(self) -> float:
        """What was spent on the record, or the user, on which most was."""
        return _worst((release.users, release.epsilon) for release in self.releases)

    def release(
        self,
        mechanism: Mechanism[T],
        *,
        to: int,
        phase: str,
        randomness: RandomStream,
        users: tuple[int, int] | None = None,
    ) -> T:
        """Check, record, then draw; `users`: whose reports these are, if not all records are behind
        it.

        Raises:
            BudgetError: the budget would be exceeded; nothing was recorded and nothing drawn.
        """
        if users is not None and not 0 <= users[0] < users[1]:
            raise ValueError(
                f"expected a run of users from 0 on, and not an empty one, found {users[0]} to {users[1]}"
            )
        whole = getattr(mechanism, "whole_record", None)
        shares: Sequence[Share] = getattr(mechanism, "by_users", ())
        end = users[0] if users else 0
        for own in shares:
            if users is None or not end <= own.users[0] < own.users[1] <= users[1]:
                raise ValueError(
                    f"expected runs of the users {users} one after another, found {own.users}"
                )
            end = own.users[1]
        told: list[tuple[tuple[int, int] | None, float, float | None]] = [*shares] or [
            (users, mechanism.epsilon, whole)
        ]
        for whom, epsilon, _ in told:
            self._check(whom, epsilon, name=mechanism.name)
        for whom, epsilon, of_whole in told:
            self.releases.append(
                Release(
                    party=self.party,
                    phase=phase,
                    mechanism=mechanism.name,
                    sensitivity=mechanism.sensitivity,
                    scale=mechanism.scale,
                    epsilon=epsilon,
                    to=to,
                    seen=self._seen(mechanism, epsilon=epsilon),
                    users=whom,
                    delta=float(getattr(mechanism, "delta", 0.0)),
                    whole_record=of_whole,
                )
            )
        return mechanism.draw(randomness)

    def _check(self, users: tuple[int, int] | None, epsilon: float, *, name: str) -> None:
        if not epsilon >= 0:  # nor NaN
            raise ValueError(f"expected an epsilon of at least 0, found {epsilon:g}")
        after = epsilon + _worst(
            (own.users, own.epsilon) for own in self.releases if _meet(own.users, users)
        )
        if not after <= self._budget * (
            1 + 1e-9
        ):  # shares such as eps/3 may round up in the last digit; not NaN
            before = (
                ": some of them have reported before"
                if users is not None and after > epsilon
                else ""
            )
            whom = (
                f"party {self.party}'s records"
                if users is None
                else f"each of the users {users[0]:,} to {users[1] - 1:,}"
            )
            raise BudgetError(
                f"expected to spend at most epsilon {self._budget:g} on {whom}, "
                f"found {after:g} after this {name} release{before}"
            )

    def _seen(self, mechanism: Mechanism[T], *, epsilon: float) -> dict[str, float]:
        unknown = mechanism.seen.keys() - set(self._views)
        if unknown:
            raise ValueError(
                f"expected views among {', '.join(self._views)}, found {', '.join(sorted(unknown))}"
            )
        return dict.fromkeys(self._views, epsilon) | dict(mechanism.seen)


def epsilon_by_view(releases: Iterable[Release], *, parties: int) -> dict[str, Any]:
    """Add up, per party and per view, what was released."""
    names = views(parties)
    own: dict[int, list[Release]] = {party: [] for party in range(1, parties + 1)}
    for release in releases:
        own[release.party].append(release)
    by_party = {
        str(party): {
            view: _worst((one.users, one.seen.get(view, 0.0)) for one in released) for view in names
        }
        for party, released in own.items()
    }
    # Thirds of epsilon may add up to its last digit and one more.
    by_party = {
        party: {view: float(f"{spent:.12g}") for view, spent in seen.items()}
        for party, seen in by_party.items()
    }
    worst = {view: max(seen[view] for seen in by_party.values()) for view in names}
    shown = ("public", "curator", "other_party")
    of_whole = [
        _worst(
            (one.users, one.epsilon if one.whole_record is None else one.whole_record)
            for one in released
        )
        for released in own.values()
    ]
    partly = any(one.whole_record is not None for released in own.values() for one in released)
    return {
        "epsilon": {view: worst[view] for view in shown},
        "coalitions": {view: epsilon for view, epsilon in worst.items() if view not in shown},
        "by_party": by_party,
        "delta": max(sum(release.delta for release in released) for released in own.values()),
        **({"whole_record": float(f"{max(of_whole):.12g}")} if partly else {}),
    }


def _meet(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    return one is None or other is None or max(one[0], other[0]) < min(one[1], other[1])


def _worst(spent: Iterable[tuple[tuple[int, int] | None, float]]) -> float:
    """Add up what was spent on the user on whom most was: by the ends of the runs of users, from
    the lowest on.

    >>> _worst([(None, 0.25), ((0, 10), 1.0), ((10, 20), 0.5), ((15, 30), 1.0)])
    1.75
    """
    everybody, steps = 0.0, []
    for users, epsilon in spent:
        if users is None:
            everybody += epsilon
        else:
            steps += [(users[0], 1, epsilon), (users[1], 0, -epsilon)]
    # Added up anew from those that are open: what was added and taken away again leaves rounding,
    # or infinity less itself.
    open_now: list[float] = []
    most = 0.0
    for _, begins, epsilon in sorted(steps):
        if begins:
            open_now.append(epsilon)
            most = max(most, sum(open_now))
        else:
            open_now.remove(-epsilon)
    return everybody + most
