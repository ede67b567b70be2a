"""A party: a role with records, a budget and randomness of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

import numpy as np

from ..crypto import IdentifiedRole, Keypair, RandomTree, UserWords
from ..crypto.key_sizes import DEFAULT_KEY_BITS
from ..messages import MisuseError, Wire
from ..messages.role_state import DEFAULT_TIMEOUT
from ..privacy import Accountant
from ..privacy.exact import unmark
from ..privacy.mechanism import AnyMechanism
from .parts import Part, make_parts, parts_by_place, parts_by_value
from .records import Records
from .releases_ahead import send_releases_ahead

__all__ = ["Party"]

T = TypeVar("T")


class Party(IdentifiedRole):
    """A party's role in a protocol."""

    def __init__(
        self,
        wire: Wire,
        *,
        protocol: str,
        kinds: Iterable[type],
        records: Records,
        accountant: Accountant,
        randomness: RandomTree,
        key_bits: int = DEFAULT_KEY_BITS,
        workers: int = 1,
        identity: Keypair | None = None,
        pinned: Mapping[int, bytes] | None = None,
        job_digest: bytes = b"",
        hybrid: bool = False,
        timeout: float = DEFAULT_TIMEOUT,
        transcript: bool = False,
    ) -> None:
        super().__init__(
            wire,
            protocol=protocol,
            kinds=kinds,
            randomness=randomness,
            key_bits=key_bits,
            workers=workers,
            identity=identity,
            pinned=pinned,
            job_digest=job_digest,
            hybrid=hybrid,
            timeout=timeout,
            transcript=transcript,
        )
        self.records = records
        self.accountant = accountant
        self.attempts: list[int] = []
        """Numbers of the releases that were attempts at secure sums, in a run that may go on."""
        self._sent_ahead = 0

    @property
    def number(self) -> int:
        """The party's number, from 1."""
        return self.rank

    @property
    def peers(self) -> list[int]:
        """Ranks of the other parties."""
        return [rank for rank in self.parties if rank != self.rank]

    def words_of_users(self, purpose: str) -> UserWords:
        """Make the random words of users for a purpose within the current phase.

        In a seeded run they are the same on every rank.
        """
        return UserWords(self._randomness.key_of_users(phase=self.current_phase, purpose=purpose))

    def partition(
        self,
        *,
        by: str | None = None,
        into: int | None = None,
        seed: int = 0,
        within: Part | None = None,
    ) -> list[Part]:
        """Split the records into disjoint parts, so that releases about them do not add up.

        A release about a part names it: `me.release(mechanism, to=CURATOR, of=part)`. It must be
        computed from `part.records` alone. Its epsilon must hold when a record of the part is
        replaced, and, for parts by value, also when a record enters or leaves the part.

        Args:
            by: The attribute that decides: a part for each label of the schema. A replaced record
                may touch two parts, so the two largest losses count together.
            into: The number of parts of random rows. A replaced record touches one part. This is
                refused where neighbouring datasets have a record more or less.
            seed: The public seed of random parts.
            within: A part to split again. By default all records are split.

        Raises:
            MisuseError: not one of `by` and `into`, or records without a schema to split by.
            UsageError: an attribute that the schema does not have.
        """
        records = self.records if within is None else within.records
        rows = np.arange(len(self.records)) if within is None else within.rows
        path = () if within is None else within.path
        if by is not None and into is None:
            names, chosen = parts_by_value(records, by=by)
        elif into is not None and by is None:
            names, chosen = parts_by_place(
                rows, into=into, of=len(self.records), seed=(seed, len(path))
            )
        else:
            raise MisuseError(
                "expected partition(by=ATTRIBUTE) or partition(into=NUMBER), "
                f"found {'neither' if by is None else 'both'}",
                where=self.where,
            )
        paths = self.accountant.partition(names, by_value=by is not None, within=path)
        return make_parts(records, rows, chosen=chosen, names=names, paths=paths)

    def _prepare_to_send(self) -> None:
        """Send the curator what was released since, where the party's own accounts may be lost."""
        if self.min_parties is None:
            return
        releases, first = self.accountant.releases, self._sent_ahead
        self._sent_ahead = len(releases)
        new = [
            releases[number]
            for number in range(first, len(releases))
            if number not in self.attempts
        ]
        if new:
            send_releases_ahead(self, new)

    def withdraw(self, *, readers: Collection[str]) -> None:
        """Take back the last release: it left masked, and its key never leaves this party.

        Args:
            readers: The views that can make the key without this party: they have read it. The
                caller must know that nobody else can, whatever all others do.

        Raises:
            MisuseError: it is no attempt at a secure sum of a run that may go on after a loss.
        """
        last = len(self.accountant.releases) - 1
        if self.min_parties is None or last not in self.attempts:
            raise MisuseError(
                "expected an attempt at a secure sum in a run with --on-loss continue, found "
                "another release, or another run: what has left is spent",
                where=self.where,
            )
        self.accountant.withdraw(readers=readers)

    def release(
        self,
        mechanism: AnyMechanism[T],
        *,
        to: int,
        users: tuple[int, int] | None = None,
        of: Part | None = None,
    ) -> T:
        """Draw a mechanism's answer, after the accountant has checked and recorded it.

        Args:
            mechanism: The mechanism, with the exact value.
            to: The rank that will see the answer.
            users: The users whose reports these are, as a range of places in a public order. This
                is for protocols in which each user has a budget (`budget_of = "user"`).
            of: The part of the records from which the exact value was computed (`partition`). By
                default all records are behind it.
        """
        if not self.current_phase:
            raise MisuseError(
                "expected a release within a phase: `with party.phase(name)`", where=self.where
            )
        stream = self.randomness(f"release {len(self.accountant.releases)}")
        answer = self.accountant.release(
            mechanism,
            to=to,
            phase=self.current_phase,
            randomness=stream,
            users=users,
            part=() if of is None else of.path,
        )
        return unmark(answer)
