"""The accountant: it checks every release against the budget, records it, and then carries it out.

A protocol draws the noise of a mechanism by `Accountant.release`, so that no such noise is drawn
without spending. Messages refuse exact arrays from records (`privacy.exact`). A number taken out of
such an array, or noise that a protocol draws itself, is not refused: the guard looks for these
(`runs.guard`).

A release counts in every view (`privacy.adversary`). Published results are computed from what the
curator receives, and a party may pass on what it receives. A mechanism lists the views in which it
costs more, or less, than its loss (`Mechanism.seen`).

A party may act for many users, each of whom reports for herself. It then names the users of a
release as a range of places in a public order. Each user has the whole budget. A report of one user
costs the others nothing, and a second report of the same user is refused where it would exceed her
budget. Only protocols that declare that each user has a budget may do so.

Releases about disjoint records of one party do not add up, either. The accountant numbers the
partitions that the framework makes, and a release names its part (`privacy.composition`).

Four kinds of mechanisms need more than an epsilon:

    rho             its noise is Gaussian, and no pure epsilon bounds it (`privacy.loss`)
    delta           its loss holds except with this probability; these probabilities add up
    by_users        its reports cost some users more than others
    whole_record    it protects a part of each record, such as a label, and this is the loss of all
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final, TypeVar

import msgspec

from ..crypto import RandomStream
from ..messages import BudgetError, MisuseError
from .adversary import losses_in, views
from .composition import WHOLE, PartPath, PartStep, overlap, total
from .conversion import epsilon_at
from .loss import Loss, require_possible
from .mechanism import AnyMechanism, Successive, UserRange, costs_of, require_complete, seen_of
from .neighbours import BudgetHolder, Neighbours
from .releases import Release

__all__ = ["Accountant"]

T = TypeVar("T")

NO_LOSS: Final = Loss.pure(0.0)


class Accountant:
    """The budget of one party. The neighbouring relation has no default.

    Rho is converted for `delta`. The deltas of mechanisms may add up to `max_delta`, by default to
    the same.
    """

    def __init__(
        self,
        *,
        party: int,
        parties: int,
        budget: float,
        delta: float = 0.0,
        max_delta: float | None = None,
        neighbours: Neighbours,
        budget_of: BudgetHolder = "record",
        threshold: int | None = None,
    ) -> None:
        if not 0 <= delta < 1:
            raise MisuseError(f"expected a delta of at least 0 and below 1, found {delta:g}")
        self.neighbours = neighbours
        self.budget_of = budget_of
        self.releases: list[Release] = []
        self.party = party
        self.threshold = threshold
        self._parties = parties
        self._views = views(parties, threshold=threshold)
        self.delta = delta
        self.max_delta = delta if max_delta is None else max_delta
        self._budget = budget
        self._parts: set[PartPath] = {WHOLE}
        self._partitions = 0

    @property
    def spent(self) -> float:
        """Epsilon of all releases so far, for the record or the user that bears most."""
        loss = self.total
        return epsilon_at(loss, delta=max(self.delta, loss.delta))

    @property
    def total(self) -> Loss:
        """Loss of all releases so far, for the record or the user that bears most."""
        return total((release.loss, release.bearer) for release in self.releases)

    def partition(
        self, names: Sequence[str], *, by_value: bool, within: PartPath = WHOLE
    ) -> list[PartPath]:
        """Number a partition of the party's records, or of a part of them.

        Args:
            names: short labels of its parts, which are public.
            by_value: whether a public attribute's value decides to which part a record belongs.
                Otherwise the number of its row does.
            within: the part that is split; by default all records.

        Raises:
            MisuseError: rows are counted while neighbouring datasets have another number of them.
        """
        adds_records = self.neighbours == "add-or-remove-one"
        if adds_records and not by_value:
            raise MisuseError(
                "expected parts by the value of an attribute, found parts by the number of a row: "
                "neighbouring datasets have a record more or less, which moves all rows after it"
            )
        self._require_part(within)
        self._partitions += 1
        touched = 2 if by_value and not adds_records else 1
        paths = [
            (*within, PartStep(self._partitions, index, name, touched))
            for index, name in enumerate(names)
        ]
        self._parts.update(paths)
        return paths

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
        """Check a release, record it, and then draw its answer.

        Args:
            mechanism: the exact value with its noise.
            to: the rank of the receiver.
            phase: where in the protocol the release happens.
            randomness: the stream from which the noise is drawn.
            users: the users whose reports these are; by default all records are behind the value.
            part: the part of the records behind the value, which `partition` has made.

        Raises:
            MisuseError: the mechanism lacks a field, users are named though they have no budget of
                their own, or the part is unknown.
            BudgetError: the release would exceed the budget. As after every error here, nothing was
                recorded and nothing was drawn.
        """
        require_complete(mechanism)
        self._require_budget_of(users, part)
        if users is not None and not 0 <= users[0] < users[1]:
            raise ValueError(
                "expected a range of users from 0 on, and not an empty one, "
                f"found {users[0]} to {users[1]}"
            )
        planned = [
            self._planned(
                mechanism,
                users=cost_users,
                part=part,
                loss=loss,
                whole=whole,
                to=to,
                phase=phase,
            )
            for cost_users, loss, whole in costs_of(mechanism, users=users)
        ]
        for release in planned:
            self._check(release)
        if isinstance(mechanism, Successive):
            mechanism.bind((self.party, users, part))
        self.releases += planned
        return mechanism.draw(randomness)

    def withdraw(self, *, readers: Collection[str]) -> None:
        """Note that the last release can never be read but by some views, so others lose nothing.

        Called by `Party.withdraw` alone, which says when that is so.
        """
        if not self.releases:
            raise MisuseError("expected a release to withdraw, found none")
        last = self.releases[-1]
        self.releases[-1] = msgspec.structs.replace(
            last,
            mechanism=f"{last.mechanism}, not read",
            epsilon=0.0,
            rho=0.0,
            delta=0.0,
            laplace_epsilon=0.0,
            gaussian=0.0,
            seen={view: loss if view in readers else NO_LOSS for view, loss in last.seen.items()},
        )

    def _require_budget_of(self, users: UserRange | None, part: PartPath) -> None:
        """Refuse users in a protocol in which records have the budget, and a foreign part."""
        if users is not None and self.budget_of != "user":
            raise MisuseError(
                f"expected a release about the records of party {self.party}, found "
                f"users={users}: release about a part of the records by party.partition(...) and "
                'of=part, or declare budget_of = "user" in the protocol if each record is a user '
                "who reports for herself"
            )
        if users is not None and part:
            raise MisuseError(
                f"expected users or a part of the records, found users={users} and {_name(part)}"
            )
        self._require_part(part)

    def _require_part(self, part: PartPath) -> None:
        if part not in self._parts:
            raise MisuseError(
                f"expected a part that party {self.party} has made by party.partition(...), "
                f"found {_name(part)}"
            )

    def _planned(
        self,
        mechanism: AnyMechanism[T],
        *,
        users: UserRange | None,
        part: PartPath,
        loss: Loss,
        whole: float | None,
        to: int,
        phase: str,
    ) -> Release:
        """Write down what a release would record."""
        return Release(
            party=self.party,
            phase=phase,
            mechanism=mechanism.name,
            sensitivity=mechanism.sensitivity,
            scale=mechanism.scale,
            epsilon=loss.epsilon,
            rho=loss.rho,
            delta=loss.delta,
            laplace_epsilon=loss.of_laplace,
            to=to,
            seen=self.stated_losses(mechanism, loss=loss),
            users=users,
            whole_record=whole,
            part=part,
            gaussian=loss.gaussian,
        )

    def stated_losses(self, mechanism: AnyMechanism[object], *, loss: Loss) -> dict[str, Loss]:
        """List the loss that a mechanism states in each view: `loss`, or what `seen` has."""
        listed = dict.fromkeys(self._views, loss)
        return losses_in(listed, seen_of(mechanism), parties=self._parties)

    def _check(self, release: Release) -> None:
        """Refuse a release that exceeds the budget."""
        loss, users = release.loss, release.users
        for stated in (loss, *release.seen.values()):
            require_possible(stated)
        together = total(
            (other.loss, other.bearer)
            for other in (*self.releases, release)
            if overlap(other.users, users)
        )
        # Parts such as a third of epsilon may round up in the last digit.
        within_delta = together.delta <= self.max_delta * (1 + 1e-9)
        if within_delta and together.epsilon <= self._budget * (1 + 1e-9):
            return
        spent = epsilon_at(together, delta=self.delta)
        if within_delta and spent <= self._budget * (1 + 1e-9):
            return
        if not within_delta:
            raise BudgetError(
                f"expected to spend at most delta {self.max_delta:g} on party {self.party}'s "
                f"records, found {together.delta:g} after this {release.mechanism} release: say a "
                "larger --delta"
            )
        if self.delta == 0 and together.epsilon == math.inf and together.rho < math.inf:
            raise BudgetError(
                f"expected pure noise, as delta is 0, found Gaussian noise in this "
                f"{release.mechanism} release, which needs a delta: say --delta 1e-9"
            )
        repeated = users is not None and spent > epsilon_at(loss, delta=self.delta)
        bearer = (
            f"party {self.party}'s records"
            if users is None
            else f"each of the users {users[0]:,} to {users[1] - 1:,}"
        )
        raise BudgetError(
            f"expected to spend at most epsilon {self._budget:g} on {bearer}, "
            f"found {spent:g} after this {release.mechanism} release"
            + (": some of them have reported before" if repeated else "")
        )


def _name(part: PartPath) -> str:
    """Name a part: "sex=Female, rows 2 of 4"."""
    return ", ".join(step.name for step in part) or "all records"
