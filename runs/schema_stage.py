"""The stage of a run in which its schema is learnt, before the protocol begins.

`--schema private` plays `private-schema` with a part of the run's budget, and the protocol with the
rest. Both spend from one ledger. The run is claimed and reported as the person asked for it; only
the instance of the protocol that is played has less.
"""

from __future__ import annotations

from collections.abc import Collection
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

    options = protocol.parameters
    fields = {name: getattr(options, name) for name in PrivateSchemaParameters.__struct_fields__}
    return PrivateSchema(
        PrivateSchemaParameters(**fields), mode="rigorous", share=job.schema_share, unit="epsilon"
    )


def with_rest_of_budget(
    protocol: AnyProtocol, stage: PrivateSchema, job: Job, *, attributes: Collection[str]
) -> AnyProtocol:
    """Make the protocol that is played after the stage, with the budget that is left.

    Args:
        protocol: the protocol with the budget of the whole run.
        stage: the stage that has ended.
        job: the job.
        attributes: the attributes of the schema that was learnt.
    """
    public_rules = {} if job.schema_plan is None else job.schema_plan.public
    fields = stage.rest(columns=len({*attributes} - public_rules.keys()))
    parameters: Any = msgspec.structs.replace(protocol.parameters, **fields)
    return type(protocol)(parameters, mode=protocol.mode)
