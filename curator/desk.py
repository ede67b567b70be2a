"""The curator: a role without data.

It sees what parties send, and publishes what it computes from that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..crypto import IdentifiedRole, Keypair, RandomTree
from ..crypto.key_sizes import DEFAULT_KEY_BITS
from ..messages import MisuseError, Wire
from ..messages.role import DEFAULT_TIMEOUT
from ..privacy.domain import Domain

__all__ = ["Curator", "LastingBatch"]


class LastingBatch(NamedTuple):
    """Whose records a batch has, in a run that may go on without a party that is lost."""

    phase: str
    attempts: tuple[tuple[int, ...], ...]
    """The parties that were asked, attempt by attempt. Only the last attempt was read."""
    rows: tuple[int, ...]
    """Rows of each member of the last attempt; empty where they are secret."""

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
        """Batches of secure sums, where the run may go on without a party that is lost."""
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

    def keep_sum(self, cells: npt.NDArray[np.int64], *, party: int = 0) -> None:
        """Keep a sum for the audit, if there is one. No secure sum is known to anyone else."""
        if self.sums is not None:
            self.sums.append((party, np.array(cells, np.int64)))
