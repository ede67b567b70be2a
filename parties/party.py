"""A party: a role that has records, a budget and randomness of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ..crypto import Channel, Keypair, RandomStream, RandomTree, UserWords
from ..messages import MisuseError, Role, Wire
from ..messages.role import DEFAULT_TIMEOUT
from ..privacy import Accountant, Mechanism
from ..privacy.exact import released
from .records import Records

__all__ = ["Party"]

T = TypeVar("T")


class Party(Role):
    """One party in the conversation."""

    def __init__(
        self,
        wire: Wire,
        *,
        protocol: str,
        kinds: tuple[type, ...],
        records: Records,
        accountant: Accountant,
        randomness: RandomTree,
        key_bits: int = 3072,
        workers: int = 1,
        identity: Keypair | None = None,
        pinned: Mapping[int, bytes] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        transcript: bool = False,
    ) -> None:
        super().__init__(
            wire, protocol=protocol, kinds=kinds, timeout=timeout, transcript=transcript
        )
        self.records = records
        self.accountant = accountant
        self._randomness = randomness
        self.workers = workers
        """Threads that it may use."""
        self.key_bits = key_bits
        """How long the curator's Paillier key has to be."""
        self.identity = identity or Keypair.new(randomness.stream(phase="", purpose="identity"))
        """The key pair by which peers know this party: its own, or one made for the run."""
        self.pinned = dict(pinned or {})
        """The peers' public identities, where they were given before the run."""
        self.channels: dict[int, Channel] = {}
        """The sealed channels to its peers, once they have been introduced
        (`protocols.introductions`).
        """

    @property
    def number(self) -> int:
        """Which party this is, from 1."""
        return self.rank

    @property
    def peers(self) -> list[int]:
        """The other parties."""
        return [rank for rank in self.parties if rank != self.rank]

    def randomness(self, purpose: str) -> RandomStream:
        """Find this party's stream for a purpose within the current phase."""
        return self._randomness.stream(phase=self.current_phase, purpose=purpose)

    def words_of_users(self, purpose: str) -> UserWords:
        """Find the words that users draw for a purpose within the current phase; in a seeded run
        the same on every rank.
        """
        return UserWords(self._randomness.key_of_users(phase=self.current_phase, purpose=purpose))

    def release(
        self, mechanism: Mechanism[T], *, to: int, users: tuple[int, int] | None = None
    ) -> T:
        """Draw a mechanism's answer for `to`: the accountant checks and records it first.

        `users`: whose reports these are, as a run of places in a public order of all users.
        """
        if not self.current_phase:
            raise MisuseError(
                "expected a release within a phase: `with party.phase(name)`", where=self.where
            )
        stream = self.randomness(f"release {len(self.accountant.releases)}")
        answer = self.accountant.release(
            mechanism, to=to, phase=self.current_phase, randomness=stream, users=users
        )
        return released(answer)
