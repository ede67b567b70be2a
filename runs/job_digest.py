"""The digest of a job: everything on which all roles must agree before they say anything.

Every role computes it from the job and the schema that it was given. The introductions bind
it (`protocols.introductions`). It covers:

- the protocol: its name, its class, and all its parameters, defaults included;
- mode, number of parties, bits of the key, and whether identities were given;
- whether keys are agreed on by ML-KEM, too;
- the schema, attribute by attribute, and how one table is split among the parties;
- faults for experiments, and with how few parties the run goes on;
- the versions of sottovoce and of frames.

Left out is what may differ from host to host and changes no message: paths, time limits, and what
is noted for the report. Nothing in it is private, but a seed, whose run is not private anyway.
It has no part that is drawn for a run. So a role that is started again with the same job has the
same digest; what tells runs apart are the ephemeral keys.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from ..crypto import kem
from ..messages.frame import VERSION as FRAME_VERSION
from ..parties import Schema, SchemaPlan
from ..parties.bins import Bins
from ..parties.categories import Categories
from ..protocols import AnyProtocol
from .job import Job
from .version import VERSION

__all__ = ["DIGEST_BYTES", "digest_job", "is_hybrid"]

DIGEST_BYTES: Final = 32
"""Bytes of a digest."""
# msgspec looks at a type the first time that it is read. Two threads that do so at once may crash
# the process, so it is done here, before there are roles on threads.
_SCHEMAS: Final = msgspec.json.Decoder(Schema)
_PLANS: Final = msgspec.json.Decoder(SchemaPlan)


def is_hybrid(job: Job) -> bool:
    """Tell whether channels of this job also need ML-KEM, if this host has it.

    Its ciphertexts are drawn by the operating system, so a seeded run would not repeat.
    """
    return job.seed is None and kem.is_available()


def digest_job(
    job: Job, protocol: AnyProtocol, *, schema: Schema | None, hybrid: bool = False
) -> bytes:
    """Digest a job.

    Args:
        job: the job that this role was given.
        protocol: the protocol that the job names, with its parameters.
        schema: the schema that the roles agreed on, as this role has it.
        hybrid: whether this role's channels need ML-KEM.
    """
    agreed = {
        "sottovoce": VERSION,
        "frames": FRAME_VERSION,
        "protocol": protocol.name,
        "class": type(protocol).__qualname__,
        "parameters": msgspec.to_builtins(protocol.parameters),
        "hybrid": hybrid,
        "mode": job.mode,
        "parties": job.parties,
        "key_bits": job.key_bits,
        "insecure_test_keys": job.insecure_test_keys,
        "identities": job.identities is not None,
        "tables": len(job.data),
        "rows": job.rows,
        "seed": None if job.seed is None else str(job.seed),  # it may have more than 64 bits
        "split": job.split,
        "columns": job.columns,
        "drop": job.drop,
        "schema": None if schema is None else _canonical(schema),
        "schema_plan": None if job.schema_plan is None else _travelled(job.schema_plan),
        "schema_share": job.schema_share,
    }
    if job.fewest_parties is not None:
        agreed["min_parties"] = job.fewest_parties
    if job.fault:
        agreed["fault"] = job.fault
    if schema is not None and schema.never:
        agreed["never"] = [[*rule.items()] for rule in schema.never]
    canonical = msgspec.json.encode(agreed, order="deterministic")
    return hashlib.sha256(b"sottovoce job v1 " + canonical).digest()


def _travelled(plan: SchemaPlan) -> object:
    """Give a plan as every role has it after it travelled as JSON, with its order."""
    travelled = _PLANS.decode(msgspec.json.encode(plan))
    return [[*travelled.attributes.items()], travelled.rest]


def _canonical(schema: Schema) -> list[tuple[str, Categories | Bins]]:
    """List a schema's attributes and rules, as every role has them after they travelled as JSON.

    It is a list, as the order of attributes counts. An edge of bins may be 17 or 17.0 before.
    """
    travelled = _SCHEMAS.decode(msgspec.json.encode(schema))
    return [*travelled.attributes.items()]
