"""The stage of a run in which its schema is learnt, before the protocol begins.

`--schema private` plays `private-schema` with a part of the run's budget, and the protocol with the
rest. Both spend from one ledger. The run is claimed and reported as the person asked for it; only
the instance of the protocol that is played has less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..protocols import AnyProtocol
from .job import Job

if TYPE_CHECKING:
    from ..protocols.private_schema import PrivateSchema

__all__ = ["schema_stage", "with_rest_of_budget"]


def schema_stage(protocol: AnyProtocol, job: Job) -> PrivateSchema | None:
    """Make the protocol that learns the schema of a run; `None` where there is nothing to learn."""
    if job.schema_plan is None or protocol.learns_schema:
        return None
    # Most runs need none of what learning imports.
    from ..protocols.private_schema import PrivateSchema, PrivateSchemaParameters
    from ..protocols.secure_sum import SummingProtocol

    if not isinstance(protocol, SummingProtocol):
        return None
    options = protocol.parameters
    fields = {name: getattr(options, name) for name in PrivateSchemaParameters.__struct_fields__}
    return PrivateSchema(
        PrivateSchemaParameters(**fields), mode="rigorous", share=job.schema_share, after=protocol
    )


def with_rest_of_budget(protocol: AnyProtocol, stage: PrivateSchema) -> AnyProtocol:
    """Make the protocol that is played after the stage, with the budget that is left."""
    from ..protocols.secure_sum import SummingProtocol

    parameters: Any = msgspec.structs.replace(protocol.parameters, **stage.rest)
    rest = type(protocol)(parameters, mode=protocol.mode)
    if isinstance(rest, SummingProtocol):
        rest.is_whole_run = False
    return rest
