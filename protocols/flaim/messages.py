"""The messages of FLAIM, beside those of secure sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as an annotation of a message

from ...messages import MessageError, Where, message
from ...privacy import Domain
from ..aim.reading import places, read_family
from ..aim.workload import Workload
from ..secure_sum import Family, SecureSums

__all__ = ["Messages", "read_measured", "read_shares", "write_measured"]


class Messages(SecureSums):
    """The messages of FLAIM; its classes name this class in `uses`."""

    @message
    class Model:
        """To all parties: the model so far.

        `parameters` are those of the model, a table for each of `sets` in a row. A set lists places
        of attributes in the domain. `shares` has the estimated share of each label, attribute after
        attribute; it is empty where parties have no use for it.
        """

        sets: tuple[tuple[int, ...], ...]
        parameters: NDArray[np.float64]
        shares: NDArray[np.float64]

    @message
    class Chosen:
        """From a party: the attributes of the table that it chose."""

        attributes: tuple[int, ...]

    @message
    class Measured:
        """To all parties: the chosen tables that are summed next.

        A party counts its records in the table that it chose, and has zeros in the others.
        """

        tables: tuple[tuple[int, ...], ...]


def write_measured(domain: Domain, families: Sequence[Family]) -> Messages.Measured:
    """Write the tables that are summed next."""
    return Messages.Measured(tuple(places(domain, family) for family in families))


def read_measured(
    announced: Messages.Measured, workload: Workload, *, where: Where
) -> tuple[Family, ...]:
    """Read the tables that are summed next.

    Raises:
        MessageError: a table is none of the workload's, or one comes twice.
    """
    families = [read_family(numbers, workload, where=where) for numbers in announced.tables]
    if len(set(families)) < len(families):
        raise MessageError(
            f"expected different tables, found {len(families)} of which "
            f"{len(set(families))} are different",
            where=where,
        )
    return tuple(families)


def read_shares(
    shares: NDArray[np.float64], workload: Workload, *, where: Where
) -> dict[str, NDArray[np.float64]]:
    """Read the estimated share of each label, by attribute.

    Raises:
        MessageError: a number is missing or not finite.
    """
    domain, names = workload.domain, workload.attributes
    cells = [domain.cells((name,)) for name in names]
    if shares.shape != (sum(cells),) or not np.isfinite(shares).all():
        raise MessageError(
            f"expected the shares of {sum(cells)} labels, found {shares.size} numbers, or one that "
            "is not finite",
            where=where,
        )
    return dict(zip(names, np.split(shares, np.cumsum(cells)[:-1]), strict=True))
