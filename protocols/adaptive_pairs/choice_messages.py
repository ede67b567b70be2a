"""The messages of choices: estimated tables, and the pairs that a party names.

The curator may send what it likes as estimates: privacy does not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as an annotation of a message

from ...curator.pairs import Pair
from ...messages import CURATOR, MessageError, Private, Shape, message, personal
from ...parties import Party
from ...privacy import Domain

__all__ = ["Choices", "read_estimates", "write_estimates"]

MAX_SUM: Final = 1.01
"""Most that the shares of a table may add up to; they are rounded to single precision."""


class Choices:
    """The messages of choices; a protocol that asks for them names this class in `uses`."""

    @personal
    @message
    class Estimates:
        """To a party: the estimated tables of pairs.

        Attributes are numbered in the order of the domain, two for each pair. `shares` has the
        cells of one table after another.
        """

        attributes: Annotated[NDArray[np.uint16], Shape(None)]
        shares: Annotated[NDArray[np.float32], Shape(None)]

    @message
    class Named:
        """From a party: the places of pairs in the list that it was sent, and their distances.

        A distance is in sixteenths of a record.
        """

        pairs: Annotated[NDArray[np.uint32], Shape(None)]
        distances: Annotated[NDArray[np.int64], Shape(None)]


def write_estimates(
    domain: Domain, tables: Mapping[Pair, npt.NDArray[np.float64]]
) -> Choices.Estimates:
    """Write the estimated tables of pairs."""
    places = {name: place for place, name in enumerate(domain.attributes)}
    cells = [table.astype(np.float32).reshape(-1) for table in tables.values()]
    return Choices.Estimates(
        np.array([places[name] for pair in tables for name in pair], np.uint16),
        np.concatenate(cells) if cells else np.zeros(0, np.float32),
    )


def read_estimates(me: Party, *, max_cells: int) -> dict[Pair, npt.NDArray[np.float64]]:
    """Receive the estimated tables of pairs, and check them.

    Raises:
        MessageError: a pair is none of the domain or comes twice, a share is missing or no share,
            or there are too many.
    """
    message, domain = me.receive(Choices.Estimates, source=CURATOR), me.records.domain
    numbers = message.attributes.tolist()
    if len(numbers) % 2 or max(numbers, default=0) >= len(domain.attributes):
        raise MessageError(
            f"expected two attributes of {len(domain.attributes)} for each estimated table, found ",
            Private(numbers),
            where=me.where,
        )
    places = [*zip(numbers[::2], numbers[1::2], strict=True)]
    if any(first >= second for first, second in places) or len({*places}) < len(places):
        raise MessageError(
            "expected different pairs of attributes in the domain's order, found ",
            Private(places),
            where=me.where,
        )
    pairs = [(domain.attributes[first], domain.attributes[second]) for first, second in places]
    sizes = [domain.cells(pair) for pair in pairs]
    shares = message.shares.astype(np.float64)
    if sum(sizes) > max_cells or len(shares) != sum(sizes):
        raise MessageError(
            f"expected a share for each of {sum(sizes)} cells, and at most {max_cells} of them, "
            f"found {len(shares)}",
            where=me.where,
        )
    ends = np.cumsum([0, *sizes])
    tables: dict[Pair, npt.NDArray[np.float64]] = {
        pair: shares[start:end].reshape(domain.shape(pair))
        for pair, (start, end) in zip(pairs, pairwise(ends.tolist()), strict=True)
    }
    # Written so that a NaN fails it.
    if not all(table.min() >= 0 and table.sum() <= MAX_SUM for table in tables.values()):
        raise MessageError(
            "expected shares of at least 0 that add up to 1 in each estimated table, found others",
            where=me.where,
        )
    return tables
