"""Messages about attributes, and how they are written and read.

Attributes travel as places in the domain. A message is checked before anything is computed from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import numpy.typing as npt

from ...curator.graphical_model import GraphicalModel, model_of
from ...messages import MessageError, Private, Where
from ...privacy import Budget, Domain
from ..secure_sum import Family
from .messages import Messages
from .workload import Workload

__all__ = [
    "check_cost",
    "places",
    "read_family",
    "read_model",
    "read_parameters",
    "write_model",
    "write_parameters",
]


def places(domain: Domain, family: Family) -> tuple[int, ...]:
    """Give the places of attributes in the domain."""
    return tuple(domain.attributes.index(name) for name in family)


def check_cost(rho: float, allowed: Budget, *, where: Where) -> None:
    """Check what a table or a choice is to cost, before anything is spent.

    Raises:
        MessageError: it is not above 0, or more than is allowed.
    """
    if not 0 < rho <= allowed.amount * (1 + 1e-9):  # written so that a NaN fails it
        raise MessageError(
            f"expected a cost of at most {allowed.unit} {allowed.amount:g}, found {rho:g}",
            where=where,
        )


def read_family(numbers: Sequence[int], workload: Workload, *, where: Where) -> Family:
    """Read a candidate of the workload from places of attributes.

    Raises:
        MessageError: these are no attribute and no pair of the workload.
    """
    names = workload.domain.attributes
    inside = all(0 <= number < len(names) for number in numbers)
    family = tuple(names[number] for number in numbers) if inside else ()
    if family not in workload.weights:
        raise MessageError(
            "expected an attribute or a pair of the workload, found ",
            Private(list(numbers)),
            where=where,
        )
    return family


def write_model(
    model: GraphicalModel,
    candidates: Sequence[Family],
    *,
    rho: float,
    noise_share: float,
) -> Messages.Candidates:
    """Write the model and the candidates for the party on turn."""
    sets, parameters = write_parameters(model)
    return Messages.Candidates(
        rho=rho,
        noise_share=noise_share,
        sets=sets,
        parameters=parameters,
        candidates=tuple(places(model.domain, family) for family in candidates),
    )


def write_parameters(
    model: GraphicalModel,
) -> tuple[tuple[tuple[int, ...], ...], npt.NDArray[np.float64]]:
    """Write a model: the places of the attributes of its tables, and all their parameters."""
    values = [table.reshape(-1) for table in model.parameters.values()]
    sets = tuple(places(model.domain, family) for family in model.parameters)
    return sets, np.concatenate(values) if values else np.zeros(0)


def read_model(
    message: Messages.Candidates, workload: Workload, *, max_cells: int, where: Where
) -> GraphicalModel:
    """Make the model that the curator sent. Called by the party on turn.

    Raises:
        MessageError: the model is malformed, or the noise has no standard deviation.
    """
    if not 0 <= message.noise_share < inf:
        raise MessageError(
            f"expected the noise as a share of the rows, found {message.noise_share:g}", where=where
        )
    return read_parameters(
        message.sets, message.parameters, workload, max_cells=max_cells, where=where
    )


def read_parameters(
    tables_of: Sequence[Sequence[int]],
    values: npt.NDArray[np.float64],
    workload: Workload,
    *,
    max_cells: int,
    where: Where,
) -> GraphicalModel:
    """Make the model with these parameters.

    Raises:
        MessageError: a table is none of the workload's or comes twice, a number is missing or not
            finite, or the model is larger than the bound on its cells.
    """
    domain = workload.domain
    sets = [read_family(numbers, workload, where=where) for numbers in tables_of]
    cells = [domain.cells(family) for family in sets]
    if len(set(sets)) < len(sets) or values.shape != (sum(cells),):
        raise MessageError(
            f"expected {sum(cells)} parameters of {len(sets)} different tables, found "
            f"{values.size} of {len(set(sets))}",
            where=where,
        )
    if not np.isfinite(values).all():
        raise MessageError("expected finite parameters, found others", where=where)
    tables = np.split(values, np.cumsum(cells)[:-1]) if sets else []
    try:
        return model_of(domain, dict(zip(sets, tables, strict=True)), max_cells=max_cells)
    except ValueError as error:
        raise MessageError(str(error), where=where) from None
