"""The accountant: it checks every release against the budget, records it, and then carries it out.

A mechanism's noise can be drawn in one way only, by `Accountant.release`. So nothing is released
without spending. Messages refuse exact numbers from records (`privacy.exact`), so these cannot be
sent by mistake either.

A release counts in every view (`privacy.adversary`). Published results are computed from what the
curator receives, and a party may pass on what it receives. A mechanism lists the views in which it
costs more, or less, than its epsilon (`Mechanism.seen`).

A party may act for many users, each of whom reports for herself. It then names the users of a
release as a range of places in a public order. Each user has the whole budget. A report of one user
costs the others nothing, and a second report of the same user is refused where it would exceed her
budget.

Three kinds of mechanisms need more than an epsilon:

    delta           its epsilon holds except with this probability; these probabilities add up
    by_users        its reports cost some users more than others
    whole_record    it protects a part of each record, such as a label, and this is the loss of all
"""

from __future__ import annotations

from typing import Literal, TypeVar

from ..crypto import RandomStream
from ..messages import BudgetError
from .adversary import views
from .mechanism import Mechanism, UserRange, require_complete
from .releases import Release, largest_loss, overlap

__all__ = ["Accountant", "Neighbours"]

T = TypeVar("T")

Neighbours = Literal["replace-one", "add-or-remove-one", "label-within-belief", "label-alone"]
"""The relation between neighbouring datasets.

    replace-one             one record is replaced by another
    add-or-remove-one       one record is added or removed
    label-within-belief     one record has another label, and attributes go with labels as they are
                            likely to; no report names attributes that more than omega of a label's
                            people have (`privacy.local.belief`)
    label-alone             one record has another label; attributes stay, and are sent as they are
"""


class Accountant:
    """The budget of one party. The neighbouring relation has no default."""

    def __init__(self, *, party: int, parties: int, budget: float, neighbours: Neighbours) -> None:
        self.neighbours = neighbours
        self.releases: list[Release] = []
        self.party = party
        self._views = views(parties)
        self._budget = budget

    @property
    def spent(self) -> float:
        """Largest loss of any record, or of any user, so far."""
        return largest_loss((release.users, release.epsilon) for release in self.releases)

    def release(
        self,
        mechanism: Mechanism[T],
        *,
        to: int,
        phase: str,
        randomness: RandomStream,
        users: UserRange | None = None,
    ) -> T:
        """Check a release, record it, and then draw its answer.

        Args:
            mechanism: the exact value with its noise.
            to: the rank of the receiver.
            phase: where in the protocol the release happens.
            randomness: the stream from which the noise is drawn.
            users: the users whose reports these are; by default all records are behind the value.

        Raises:
            MisuseError: the mechanism lacks a field.
            BudgetError: the release would exceed the budget. As after every error here, nothing was
                recorded and nothing was drawn.
        """
        require_complete(mechanism)
        if users is not None and not 0 <= users[0] < users[1]:
            raise ValueError(
                "expected a range of users from 0 on, and not an empty one, "
                f"found {users[0]} to {users[1]}"
            )
        planned = [
            self._planned(
                mechanism, users=cost_users, epsilon=epsilon, whole=whole, to=to, phase=phase
            )
            for cost_users, epsilon, whole in _costs(mechanism, users=users)
        ]
        for release in planned:
            self._check(release)
        self.releases += planned
        return mechanism.draw(randomness)

    def _planned(
        self,
        mechanism: Mechanism[T],
        *,
        users: UserRange | None,
        epsilon: float,
        whole: float | None,
        to: int,
        phase: str,
    ) -> Release:
        """Write down what a release would record."""
        unknown = mechanism.seen.keys() - set(self._views)
        if unknown:
            raise ValueError(
                f"expected views among {', '.join(self._views)}, found {', '.join(sorted(unknown))}"
            )
        return Release(
            party=self.party,
            phase=phase,
            mechanism=mechanism.name,
            sensitivity=mechanism.sensitivity,
            scale=mechanism.scale,
            epsilon=epsilon,
            to=to,
            seen=dict.fromkeys(self._views, epsilon) | dict(mechanism.seen),
            users=users,
            delta=float(mechanism.delta),
            whole_record=whole,
        )

    def _check(self, release: Release) -> None:
        """Refuse a release that exceeds the budget."""
        epsilon, users = release.epsilon, release.users
        if not epsilon >= 0:  # This is false for NaN, too.
            raise ValueError(f"expected an epsilon of at least 0, found {epsilon:g}")
        total = epsilon + largest_loss(
            (earlier.users, earlier.epsilon)
            for earlier in self.releases
            if overlap(earlier.users, users)
        )
        # Parts such as a third of epsilon may round up in the last digit.
        if total <= self._budget * (1 + 1e-9):
            return
        repeated = users is not None and total > epsilon
        bearer = (
            f"party {self.party}'s records"
            if users is None
            else f"each of the users {users[0]:,} to {users[1] - 1:,}"
        )
        raise BudgetError(
            f"expected to spend at most epsilon {self._budget:g} on {bearer}, "
            f"found {total:g} after this {release.mechanism} release"
            + (": some of them have reported before" if repeated else "")
        )


def _costs(
    mechanism: Mechanism[object], *, users: UserRange | None
) -> list[tuple[UserRange | None, float, float | None]]:
    """List who bears which loss: users, epsilon and the loss of the whole record.

    Ranges of one release must not overlap, or each would be checked without the others' loss.
    """
    if not mechanism.by_users:
        return [(users, mechanism.epsilon, mechanism.whole_record)]
    end = users[0] if users else 0
    for cost in mechanism.by_users:
        if users is None or not end <= cost.users[0] < cost.users[1] <= users[1]:
            raise ValueError(
                f"expected ranges of the users {users} one after another, found {cost.users}"
            )
        end = cost.users[1]
    return [*mechanism.by_users]
