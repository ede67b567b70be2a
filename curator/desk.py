"""The curator: a role without data.

It sees what parties send, and publishes what it computes from that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..crypto import IdentifiedRole, Keypair, RandomTree
from ..crypto.key_sizes import DEFAULT_KEY_BITS
from ..messages import MisuseError, PeerLostError, Wire
from ..messages.role_state import DEFAULT_TIMEOUT
from ..privacy.domain import Domain

__all__ = ["BatchKind", "Curator", "LastingBatch", "lost_text", "parties_text"]

M = TypeVar("M")
BatchKind = Literal["sum", "answers", "reports", "turn"]
"""What was collected: a secure sum, an answer of each party, a round of reports of users, or what a
party released in its turn."""


class LastingBatch(NamedTuple):
    """Whose records a batch has, in a run that may go on without a party that is lost."""

    phase: str
    attempts: tuple[tuple[int, ...], ...]
    """The parties that were asked, attempt by attempt. Only the last attempt was read.

    Only secure sums take several attempts. In all other batches these are the members.
    """
    rows: tuple[int, ...]
    """Rows of each member of the last attempt; empty where they are secret."""
    kind: BatchKind = "sum"

    @property
    def members(self) -> tuple[int, ...]:
        """The parties whose records are in the sum."""
        return self.attempts[-1]


class Curator(IdentifiedRole):
    """The curator's role in a protocol.

    This folder cannot import `parties`, so no line here can reach a record.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        protocol: str,
        kinds: Iterable[type],
        randomness: RandomTree,
        domain: Domain | None = None,
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
        self._domain = domain
        self.batches: list[LastingBatch] = []
        """What was collected of parties, where the run may go on without one that is lost."""
        self.sums: list[tuple[int, npt.NDArray[np.int64]]] | None = None
        """Sums that it received, in order, where an audit keeps them; else `None`.

        Each has the party whose message completed it, or 0 for a sum of all parties.
        """

    @property
    def domain(self) -> Domain:
        """The public domain of the parties' records."""
        if self._domain is None:
            raise MisuseError("expected a domain, found none: set needs_schema in the protocol")
        return self._domain

    def adopt(self, domain: Domain) -> None:
        """Take over a domain that was learnt in this run."""
        self._domain = domain

    def gather_answers(self, kind: type[M], *, rows: Sequence[int] = ()) -> dict[int, M]:
        """Wait for an answer of every party, by rank.

        In a run that may go on (`--on-loss continue`), a party that is lost before it has answered
        is left out. What the others have sent holds without it.

        Args:
            kind: the message.
            rows: the rows of each party, where they are public.

        Raises:
            PeerLostError: too few parties are left.
        """
        answers = self.gather_living(kind, sources=self.parties)
        self.note_batch(
            "answers",
            members=[*answers],
            rows=[rows[party - 1] for party in answers] if rows else (),
        )
        return answers

    def receive_in_turn(self, kind: type[M], *, source: int) -> M | None:
        """Wait for what a party releases in its turn; `None` if it is lost before.

        A loss gives `None` only in a run that may go on. The next party in turn may be asked then.
        """
        answer = self.gather_living(kind, sources=[source]).get(source)
        if answer is not None and self.min_parties is not None:
            self.batches.append(LastingBatch(self.current_phase, ((source,),), (), "turn"))
        return answer

    def note_batch(
        self, kind: BatchKind, *, members: Collection[int], rows: Sequence[int] = ()
    ) -> None:
        """Note whose records a batch has, and refuse one of too few parties.

        Raises:
            PeerLostError: fewer parties are left than the run may go on with.
        """
        if self.min_parties is None:
            return
        self.require_enough(members, consequence="what has arrived is spent")
        batch = LastingBatch(self.current_phase, (tuple(members),), tuple(rows), kind)
        self.batches.append(batch)

    def require_enough(self, members: Collection[int], *, consequence: str) -> None:
        """Refuse a batch of fewer parties than the run may go on with.

        Raises:
            PeerLostError: the text names who was lost, and says the consequence.
        """
        least = len(self.parties) if self.min_parties is None else self.min_parties
        if len(members) < least:
            raise PeerLostError(
                f"expected at least {least} parties, found {len(members)}: "
                f"{lost_text(self.lost)} lost; {consequence}",
                where=self.where,
            )

    def keep_sum(self, cells: npt.NDArray[np.int64], *, party: int = 0) -> None:
        """Keep a sum for the audit, if there is one. No secure sum is known to anyone else."""
        if self.sums is not None:
            self.sums.append((party, np.array(cells, np.int64)))


def lost_text(lost: Collection[int]) -> str:
    """Name lost roles: party 2 was, parties 2 and 5 were."""
    return f"{parties_text(lost)} {'were' if len(lost) > 1 else 'was'}" if lost else "none was"


def parties_text(parties: Collection[int]) -> str:
    """Name parties: party 2, parties 2 and 5."""
    *numbers, last = map(str, sorted(parties))
    return f"parties {', '.join(numbers)} and {last}" if numbers else f"party {last}"
