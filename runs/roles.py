"""Making the roles of a run at their ends of the wire."""

from __future__ import annotations

from typing import Final, TypeVar

from ..crypto import RandomTree
from ..curator import Curator
from ..messages import Wire
from ..parties import Party, Records, Schema
from ..privacy import Accountant
from ..protocols import AnyProtocol
from .identities import Credentials
from .introduced import kinds_of
from .job import Job

__all__ = ["make_accountant", "make_curator", "make_party", "make_party_as", "seed_of"]

AccountantT = TypeVar("AccountantT", bound=Accountant)
PartyT = TypeVar("PartyT", bound=Party)

MADE_FOR_THE_RUN: Final = Credentials()
"""No identity from before the run, and no digest of a job: for tests."""


def seed_of(job: Job, credentials: Credentials) -> int | None:
    """Give the seed of a role's random streams; `None` for those of the operating system."""
    return credentials.secret if job.seed is None else job.seed


def make_curator(
    wire: Wire,
    protocol: AnyProtocol,
    job: Job,
    *,
    schema: Schema | None,
    cores: int,
    credentials: Credentials = MADE_FOR_THE_RUN,
) -> Curator:
    """Make the curator's role at this end of the wire."""
    return Curator(
        wire,
        protocol=protocol.name,
        kinds=kinds_of(protocol, job),
        randomness=RandomTree(seed_of(job, credentials), role=wire.rank),
        domain=None if schema is None else schema.domain,
        key_bits=job.key_bits,
        workers=cores,
        identity=credentials.pair,
        pinned=credentials.pinned,
        job_digest=credentials.job_digest,
        hybrid=credentials.hybrid,
        timeout=job.timeout,
        transcript=job.transcript,
    )


def make_accountant(
    kind: type[AccountantT], protocol: AnyProtocol, *, party: int, parties: int
) -> AccountantT:
    """Make the accountant of a party's budget."""
    return kind(
        party=party,
        parties=parties,
        budget=protocol.epsilon,
        delta=protocol.delta,
        max_delta=protocol.max_delta,
        neighbours=protocol.neighbours,
        budget_of=protocol.budget_of,
        threshold=protocol.colluding,
    )


def make_party(
    wire: Wire,
    protocol: AnyProtocol,
    job: Job,
    *,
    records: Records,
    cores: int,
    credentials: Credentials = MADE_FOR_THE_RUN,
) -> Party:
    """Make a party's role at this end of the wire, with its records and its budget."""
    accountant = make_accountant(Accountant, protocol, party=wire.rank, parties=job.parties)
    return make_party_as(
        Party,
        wire,
        protocol,
        job,
        records=records,
        accountant=accountant,
        seed=seed_of(job, credentials),
        cores=cores,
        credentials=credentials,
    )


def make_party_as(
    kind: type[PartyT],
    wire: Wire,
    protocol: AnyProtocol,
    job: Job,
    *,
    records: Records,
    accountant: Accountant,
    seed: int | None,
    cores: int,
    credentials: Credentials = MADE_FOR_THE_RUN,
) -> PartyT:
    """Make a party of a kind of its own, with its own accountant and random streams.

    `seed` is that of its random streams: the job's, or a secret one where the part is taped.
    """
    return kind(
        wire,
        protocol=protocol.name,
        kinds=kinds_of(protocol, job),
        records=records,
        accountant=accountant,
        randomness=RandomTree(seed, role=wire.rank),
        key_bits=job.key_bits,
        workers=cores,
        identity=credentials.pair,
        pinned=credentials.pinned,
        job_digest=credentials.job_digest,
        hybrid=credentials.hybrid,
        timeout=job.timeout,
        transcript=job.transcript,
    )
