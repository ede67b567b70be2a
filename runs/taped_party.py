"""A party whose part is taped: it notes what a replay of the part is compared with."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from typing import Final, TypeVar

import msgspec

from ..crypto import RandomStream
from ..crypto.kem import Encapsulated
from ..messages.tape import TapeEnd
from ..parties import Part, Party, Records
from ..privacy import Accountant, Release
from ..privacy.mechanism import AnyMechanism, UserRange
from ..privacy.taping import TapedAccountant
from .altered_messages import Alteration, altered
from .instance import is_built_in
from .printing import Printing
from .side_effects import is_authors, line_of_author

__all__ = ["OWN_ACCOUNTS", "TapedParty"]

M = TypeVar("M")
T = TypeVar("T")

OWN_ACCOUNTS: Final = (
    "its code has changed the accountant, or has drawn an answer past Party.release, so what its "
    "releases cost is not known"
)


class TapedParty(Party):
    """A party that notes how often it reads its records, its releases, and its progress."""

    alteration: Alteration | None = None
    """What a replay alters in messages of the author's own kinds."""
    reads = 0
    """Number of accesses to the records."""
    draws_by_itself = False
    """Whether the author's own code has asked for a random stream."""

    def randomness(self, purpose: str) -> RandomStream:
        if is_authors(self.printing.effects.packages):
            self.draws_by_itself = True
        return super().randomness(purpose)

    def _read(self, *kinds: type[M], source: int) -> M:
        message = super()._read(*kinds, source=source)
        if not is_built_in(type(message)):
            self.received_own_kinds.setdefault(type(message), message)
        return message if self.alteration is None else altered(message, self.alteration)

    @functools.cached_property
    def received_own_kinds(self) -> dict[type, object]:
        """The first message that it has received of each kind that an author's code declares."""
        return {}

    @functools.cached_property
    def shown(self) -> list[tuple[str, float, float]]:
        """Phase and figures of every call of `progress`, but for those while an answer is drawn."""
        return []

    @functools.cached_property
    def printing(self) -> Printing:
        """What the part prints; a replay's is not shown."""
        return Printing(shown=True)

    @functools.cached_property
    def splits(self) -> list[tuple[object, ...]]:
        """What every call of `partition` was given; all of it is public."""
        return []

    def partition(
        self,
        *,
        by: str | None = None,
        into: int | None = None,
        seed: int = 0,
        within: Part | None = None,
    ) -> list[Part]:
        self.splits.append((by, into, seed, () if within is None else within.path))
        return super().partition(by=by, into=into, seed=seed, within=within)

    @functools.cached_property
    def noted(self) -> list[Release]:
        """Copies of what the accountant has recorded, made when a release was drawn."""
        return []

    def release(
        self,
        mechanism: AnyMechanism[T],
        *,
        to: int,
        users: UserRange | None = None,
        of: Part | None = None,
    ) -> T:
        recorded = len(self.accountant.releases)
        if (line := line_of_author(self.printing.effects.packages)) is not None:
            self.release_lines.add(line)
        try:
            return super().release(mechanism, to=to, users=users, of=of)
        finally:
            # A release that fails while its answer is drawn is recorded, too.
            self.noted.extend(map(_copy_of, self.accountant.releases[recorded:]))

    def withdraw(self, *, readers: Collection[str]) -> None:
        super().withdraw(readers=readers)
        self.noted[-1] = _copy_of(self.accountant.releases[-1])

    @functools.cached_property
    def release_lines(self) -> set[tuple[str, int]]:
        """Files and lines of the author's program that release something, in all of its plays."""
        return set()

    @functools.cached_property
    def encapsulated(self) -> list[Encapsulated]:
        """Secrets of ML-KEM that the operating system drew, in their order."""
        return []

    @functools.cached_property
    def tape_of_encapsulated(self) -> Iterator[Encapsulated] | None:
        """Secrets that a replay gives once more; `None` while the part is taped."""
        return None

    def encapsulate(self, public: bytes) -> Encapsulated:
        if self.tape_of_encapsulated is None:
            self.encapsulated.append(super().encapsulate(public))
            return self.encapsulated[-1]
        # The replay gets the same public keys, as they are on the tape of messages.
        encapsulated = next(self.tape_of_encapsulated, None)
        if encapsulated is None:
            raise TapeEnd
        return encapsulated

    @property
    def records(self) -> Records:
        """The party's records; each access counts as reading."""
        self.reads += 1
        return self._records

    @records.setter
    def records(self, records: Records) -> None:
        self._records = records

    def progress(self, done: float, *, of: float) -> None:
        if not (isinstance(self.accountant, TapedAccountant) and self.accountant.draws):
            self.shown.append((self.current_phase, done, of))
        super().progress(done, of=of)

    def keeps_accounts(self, accountant: Accountant) -> bool:
        """Tell whether the party's accountant lists its releases as they were, and no others.

        A protocol's code can reach the accountant and its list. Where it draws past `release`, or
        changes the list, the list does not say what has left the party.
        """
        return self.accountant is accountant and self.noted == accountant.releases


def _copy_of(release: Release) -> Release:
    """Copy a release with its table of losses, which could be changed in place."""
    return msgspec.structs.replace(release, seen=dict(release.seen))
