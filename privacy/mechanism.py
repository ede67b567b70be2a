"""Mechanisms: the type of everything that can be released.

Every field of a mechanism says something about privacy, so none has a default. The accountant
refuses an object that lacks one (`require_complete`), and a type checker refuses it before that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

from ..crypto import RandomStream
from ..messages import MisuseError

__all__ = ["MECHANISM_FIELDS", "Mechanism", "UserCost", "UserRange", "require_complete"]

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
    def epsilon(self) -> float:
        """Privacy loss that is claimed."""

    @property
    def delta(self) -> float:
        """Probability with which `epsilon` may not hold; 0 for pure epsilon."""

    @property
    def seen(self) -> Mapping[str, float]:
        """Views in which the loss differs from `epsilon`, and the loss there."""

    @property
    def by_users(self) -> Sequence[UserCost]:
        """Loss of each range of users, in rising order; empty where all of them lose `epsilon`."""

    @property
    def whole_record(self) -> float | None:
        """Loss of the whole record, where `epsilon` is of a part of it; else `None`."""

    def draw(self, randomness: RandomStream) -> T_co:
        """Draw the noise and return the answer. Called by `Accountant.release` alone."""


MECHANISM_FIELDS: Final = tuple(name for name in vars(Mechanism) if not name.startswith("_"))


def require_complete(mechanism: Mechanism[object]) -> None:
    """Refuse an object that lacks a field of a mechanism.

    Raises:
        MisuseError: a field is missing; the text names it and the object's class.
    """
    missing = [name for name in MECHANISM_FIELDS if not hasattr(mechanism, name)]
    if missing:
        raise MisuseError(
            f"expected a mechanism with the fields {', '.join(MECHANISM_FIELDS)}, found "
            f"{type(mechanism).__name__} without {', '.join(missing)}: define it in the class, as "
            f"none has a default"
        )
