"""A party: a role with records, a budget and randomness of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ..crypto import Channel, Keypair, RandomStream, RandomTree, UserWords
from ..crypto.key_sizes import DEFAULT_KEY_BITS
from ..messages import MisuseError, Role, Wire
from ..messages.role import DEFAULT_TIMEOUT
from ..privacy import Accountant, Mechanism
from ..privacy.exact import unmark
from .records import Records

__all__ = ["Party"]

T = TypeVar("T")


class Party(Role):
    """A party's role in a protocol."""

    def __init__(
        self,
        wire: Wire,
        *,
        protocol: str,
        kinds: tuple[type, ...],
        records: Records,
        accountant: Accountant,
        randomness: RandomTree,
        key_bits: int = DEFAULT_KEY_BITS,
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
        """Number of threads that it may use."""
        self.key_bits = key_bits
        """Length that the curator's Paillier key must have."""
        self.identity = identity or Keypair.new(randomness.stream(phase="", purpose="identity"))
        """The key pair by which peers know this party: its own, or one made for the run."""
        self.pinned = dict(pinned or {})
        """The public identities of peers that were configured before the run."""
        self.channels: dict[int, Channel] = {}
        """Sealed channels to its peers, after the introductions (`protocols.introductions`)."""

    @property
    def number(self) -> int:
        """The party's number, from 1."""
        return self.rank

    @property
    def peers(self) -> list[int]:
        """Ranks of the other parties."""
        return [rank for rank in self.parties if rank != self.rank]

    def randomness(self, purpose: str) -> RandomStream:
        """Make the random stream for a purpose within the current phase."""
        return self._randomness.stream(phase=self.current_phase, purpose=purpose)

    def words_of_users(self, purpose: str) -> UserWords:
        """Make the random words of users for a purpose within the current phase.

        In a seeded run they are the same on every rank.
        """
        return UserWords(self._randomness.key_of_users(phase=self.current_phase, purpose=purpose))

    def release(
        self, mechanism: Mechanism[T], *, to: int, users: tuple[int, int] | None = None
    ) -> T:
        """Draw a mechanism's answer, after the accountant has checked and recorded it.

        Args:
            mechanism: The mechanism, with the exact value.
            to: The rank that will see the answer.
            users: The users whose reports these are, as a range of places in a public order.
        """
        if not self.current_phase:
            raise MisuseError(
                "expected a release within a phase: `with party.phase(name)`", where=self.where
            )
        stream = self.randomness(f"release {len(self.accountant.releases)}")
        answer = self.accountant.release(
            mechanism, to=to, phase=self.current_phase, randomness=stream, users=users
        )
        return unmark(answer)
