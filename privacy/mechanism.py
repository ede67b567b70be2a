"""Mechanisms: the type of everything that can be released.

Every field of a mechanism says something about privacy, so none has a default. The accountant
refuses an object that lacks one (`require_complete`), and a type checker refuses it before that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from ..crypto import RandomStream
from ..messages import MisuseError
from .loss import Loss, plain_loss

__all__ = [
    "MECHANISM_FIELDS",
    "PURE_FIELDS",
    "AnyMechanism",
    "Mechanism",
    "PureMechanism",
    "Successive",
    "UserCost",
    "UserRange",
    "costs_of",
    "loss_of",
    "require_complete",
    "seen_of",
]

T_co = TypeVar("T_co", covariant=True)

UserRange: TypeAlias = tuple[int, int]
"""Consecutive places in the public order of all users: the first place, and one past the last."""


class UserCost(NamedTuple):
    """Privacy loss that one release adds for the users in a range."""

    users: UserRange
    epsilon: float
    """Added loss of the protected part of each user's record."""
    whole_record: float | None
    """Added loss of each user's whole record, or `None` where it equals `epsilon`."""


class Mechanism(Protocol[T_co]):
    """An exact value that waits to be released, with everything that the accountant records."""

    @property
    def name(self) -> str:
        """Name in the report's list of releases."""

    @property
    def sensitivity(self) -> float:
        """Bound on the change of the exact value between neighbouring datasets."""

    @property
    def scale(self) -> float:
        """Noise scale, in the units of the value."""

    @property
    def loss(self) -> Loss:
        """Privacy loss that is claimed: `Loss.pure(epsilon)`, or `Loss.concentrated(rho)`."""

    @property
    def seen(self) -> Mapping[str, Loss]:
        """Views in which the loss differs from `loss`, and the loss there."""

    @property
    def by_users(self) -> Sequence[UserCost]:
        """Loss of each range of users, in rising order; empty where all of them lose `loss`."""

    @property
    def whole_record(self) -> float | None:
        """Epsilon of the whole record, where `loss` is of a part of it; else `None`."""

    def draw(self, randomness: RandomStream) -> T_co:
        """Draw the noise and return the answer. Called by `Accountant.release` alone."""


@runtime_checkable
class Successive(Protocol):
    """A mechanism of a series of which the first release pays for all.

    So all of them must be about the same records.
    """

    def bind(self, bearer: object) -> None:
        """Hold the series to the records, or users, of its first release.

        Called by `Accountant.release`, before anything is recorded.

        Raises:
            MisuseError: this release is about other records than the first one.
        """


class PureMechanism(Protocol[T_co]):
    """A mechanism that states an epsilon, and a delta, where others state a whole loss.

    Its loss is `Loss.pure(epsilon, delta=delta)`. The losses in `seen` may be epsilons, too.
    """

    @property
    def name(self) -> str: ...

    @property
    def sensitivity(self) -> float: ...

    @property
    def scale(self) -> float: ...

    @property
    def epsilon(self) -> float:
        """Privacy loss that is claimed."""

    @property
    def delta(self) -> float:
        """Probability with which `epsilon` may not hold; 0 for pure epsilon."""

    @property
    def seen(self) -> Mapping[str, float] | Mapping[str, Loss]: ...

    @property
    def by_users(self) -> Sequence[UserCost]: ...

    @property
    def whole_record(self) -> float | None: ...

    def draw(self, randomness: RandomStream) -> T_co: ...


AnyMechanism: TypeAlias = Mechanism[T_co] | PureMechanism[T_co]

MECHANISM_FIELDS: Final = tuple(name for name in vars(Mechanism) if not name.startswith("_"))
PURE_FIELDS: Final = tuple(name for name in vars(PureMechanism) if not name.startswith("_"))


def require_complete(mechanism: AnyMechanism[object]) -> None:
    """Refuse an object that lacks a field of a mechanism.

    Raises:
        MisuseError: a field is missing; the text names it and the object's class.
    """
    states_epsilon = hasattr(mechanism, "epsilon") or hasattr(mechanism, "delta")
    is_pure = states_epsilon and not hasattr(mechanism, "loss")
    fields = PURE_FIELDS if is_pure else MECHANISM_FIELDS
    missing = [name for name in fields if not hasattr(mechanism, name)]
    if missing:
        raise MisuseError(
            f"expected a mechanism with the fields {', '.join(fields)}, found "
            f"{type(mechanism).__name__} without {', '.join(missing)}: define it in the class, as "
            f"none has a default"
        )


def loss_of(mechanism: AnyMechanism[object]) -> Loss:
    """Give the loss that a mechanism claims."""
    if hasattr(mechanism, "loss"):
        return plain_loss(mechanism.loss)
    return Loss.pure(float(mechanism.epsilon), delta=float(mechanism.delta))


def seen_of(mechanism: AnyMechanism[object]) -> dict[str, Loss]:
    """List the views in which a mechanism states another loss."""
    return {
        view: plain_loss(loss) if isinstance(loss, Loss) else Loss.pure(float(loss))
        for view, loss in mechanism.seen.items()
    }


def costs_of(
    mechanism: AnyMechanism[object], *, users: UserRange | None
) -> list[tuple[UserRange | None, Loss, float | None]]:
    """List who bears which loss: users, the loss and that of the whole record.

    Ranges of one release must not overlap, or each would be checked without the others' loss.
    """
    if not mechanism.by_users:
        return [(users, loss_of(mechanism), mechanism.whole_record)]
    end = users[0] if users else 0
    for cost in mechanism.by_users:
        if users is None or not end <= cost.users[0] < cost.users[1] <= users[1]:
            raise ValueError(
                f"expected ranges of the users {users} one after another, found {cost.users}"
            )
        end = cost.users[1]
    delta = loss_of(mechanism).delta
    return [
        (cost.users, Loss.pure(cost.epsilon, delta=delta), cost.whole_record)
        for cost in mechanism.by_users
    ]
