"""Composition: what several releases of one party cost together.

Three rules add up losses, and the accountant knows no other.

**One after another.** Losses of releases about the same records add up, also where a release was
chosen by the answers of earlier ones.

**By user.** Each user reports for herself. Losses add up for each user alone, and the largest sum
counts. Only protocols in which each user has a budget may release in this way.

**By part.** The framework splits the party's records into parts (`Accountant.partition`), and a
release names the part that it is computed from. This is parallel composition. Each record belongs
to one part of a partition, by a rule that is public and looks at that record alone:

    by place        the row's number decides. A replaced record changes one part.
    by value        a public attribute's value decides. A replaced record may leave one part and
                    enter another, so it changes two. An added or removed record changes one.

Partitions can be nested: a part is split again. Two partitions of the same records add up.

Epsilon, rho, delta and Gaussian losses add up by these rules, each by itself (`total`). The claim
is about epsilon. Rho bounds a Renyi divergence of every order, which adds up in the same way, and
so does the square of mu in Gaussian differential privacy.

*Claim.* Let every epsilon bound the loss of its release whenever the part changes in one record,
which is replaced, added or removed. Then `total_loss` bounds the loss of all releases together.

*Proof.* Fix all answers. Given the answers before it, a release has the same probability on both
datasets if its part has the same records. So the loss is at most the sum of epsilon over the
releases whose parts differ. Two numbers bound that sum over a part and everything within it:

    once            for a record that is in the part in one of the two datasets
    replaced        for a record in the part whose values differ

Own releases of the part count in both. In each of its partitions a record that is there once
belongs to one part, which adds at most the largest `once`. A replaced record stays within one part,
which adds at most the largest `replaced`. Or it moves to another part, where the rule allows that,
and the two parts add at most the two largest `once`. The whole table is a part, and one of its
records is replaced, or added or removed. Where records are added or removed no rule lets a record
move, so that both numbers are the same. Hence `replaced` of the whole table bounds the loss. QED.

The proof needs a release to be computed from its part alone. Python cannot enforce that, so the
conformance suite checks it (`launch.release_scope`). The number of records of a part by value
depends on the records, so it is as secret as any other count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from .loss import Loss, SummedLoss
from .mechanism import UserRange

__all__ = ["WHOLE", "Bearer", "Charge", "PartPath", "PartStep", "overlap", "total", "total_loss"]


class PartStep(msgspec.Struct, frozen=True):
    """One part of one partition."""

    partition: int
    """Number of the partition among those of the party, from 1."""
    index: int
    """Number of the part within the partition, from 0."""
    name: str
    """Short label, such as "sex=Female"."""
    touched: int
    """Number of parts of the partition in which neighbouring datasets may differ: 1 or 2."""


PartPath: TypeAlias = tuple[PartStep, ...]
"""A part of a party's records, from the outermost partition inwards."""
WHOLE: Final[PartPath] = ()
"""All records of the party."""


class Charge(NamedTuple):
    """The loss of one release in one measure, and who bears it."""

    amount: float
    """An epsilon, a rho or a delta: each of these adds up by the same rules."""
    users: UserRange | None = None
    """Users whose reports these are; `None` for records."""
    part: PartPath = WHOLE


class Bearer(NamedTuple):
    """Who bears a loss."""

    users: UserRange | None = None
    part: PartPath = WHOLE


def overlap(first: UserRange | None, second: UserRange | None) -> bool:
    """Tell whether two ranges have a user in common; `None` stands for all users."""
    return first is None or second is None or max(first[0], second[0]) < min(first[1], second[1])


def total_loss(charges: Iterable[Charge]) -> float:
    """Add up losses for the record, or the user, that bears most.

    >>> total_loss([Charge(0.25), Charge(1.0, (0, 10)), Charge(0.5, (10, 20)), Charge(1, (15, 30))])
    1.75
    """
    of_users: list[tuple[UserRange, float]] = []
    of_records: list[Charge] = []
    for charge in charges:
        if charge.users is None:
            of_records.append(charge)
        else:
            of_users.append((charge.users, charge.amount))
    return _loss_within(of_records, depth=0).replaced + _largest_of_users(of_users)


def total(losses: Iterable[tuple[Loss, Bearer]]) -> SummedLoss:
    """Add up losses in every measure, for the record or the user that bears most of it."""
    listed = [*losses]

    def added(measure: Callable[[Loss], float]) -> float:
        return total_loss(Charge(measure(loss), *bearer) for loss, bearer in listed)

    delta = added(lambda loss: loss.delta) if any(loss.delta for loss, _ in listed) else 0.0
    delta = min(delta, 1.0)  # a union bound on a chance, which is 1 at most
    return SummedLoss(
        added(lambda loss: loss.epsilon),
        added(lambda loss: loss.rho),
        delta,
        added(lambda loss: loss.of_laplace),
        added(lambda loss: loss.gaussian),
        pure_part=added(lambda loss: loss.pure_part),
        other_rho=added(lambda loss: loss.other_rho),
        other_gaussian=added(lambda loss: loss.other_gaussian),
    )


class _Loss(NamedTuple):
    """Bounds on the loss of a part and of everything within it."""

    once: float
    """For a record that is in the part in one of two neighbouring datasets."""
    replaced: float
    """For a record in the part whose values differ."""


def _loss_within(charges: Sequence[Charge], *, depth: int) -> _Loss:
    """Add up the losses within the part that all these charges share down to this depth."""
    once = 0.0
    partitions: dict[int, dict[int, list[Charge]]] = {}
    may_move: dict[int, bool] = {}
    for charge in charges:
        if len(charge.part) == depth:
            once += charge.amount
            continue
        step = charge.part[depth]
        partitions.setdefault(step.partition, {}).setdefault(step.index, []).append(charge)
        may_move[step.partition] = step.touched > 1
    replaced = once
    for number, parts in partitions.items():
        losses = [_loss_within(part, depth=depth + 1) for part in parts.values()]
        once += max(loss.once for loss in losses)
        stays = max(loss.replaced for loss in losses)
        moves = sum(sorted(loss.once for loss in losses)[-2:]) if may_move[number] else 0.0
        replaced += max(stays, moves)
    return _Loss(once, replaced)


def _largest_of_users(losses: Sequence[tuple[UserRange, float]]) -> float:
    """Add up the losses of the user who bears most."""
    borders = []
    for users, epsilon in losses:
        borders += [(users[0], 1, epsilon), (users[1], 0, -epsilon)]
    # The sum is taken anew at every border. Subtracting a loss that was added before would leave
    # rounding errors, or infinity minus infinity.
    open_losses: list[float] = []
    largest = 0.0
    for _, begins, epsilon in sorted(borders):
        if begins:
            open_losses.append(epsilon)
            largest = max(largest, sum(open_losses))
        else:
            open_losses.remove(-epsilon)
    return largest
