"""Phase 5 (Su et al. 2016, section VI-A): the curator fits the network and draws the table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...curator import BayesianNetwork, Curator, Marginal, synthesise
from ...privacy import BinaryEncoding
from ..outcome import Outcome
from .structure import Structure

__all__ = ["publish"]


def publish(
    desk: Curator,
    network: BayesianNetwork,
    tables: Sequence[Marginal],
    *,
    rows: int,
    binary: BinaryEncoding | None,
    structure: Structure | None,
) -> Outcome:
    """Fit the network to the tables, draw the synthetic table, and publish both.

    `binary` translates bits back to attributes, where the network is one of bits.
    """
    generator = desk.randomness("sampling").generator()
    drawn = synthesise(network.fit(tables), rows, generator=generator, binary=binary)
    edges = sum(map(len, network.parents.values()))
    shape = (
        f"{edges} edges, {network.degree_text}" if edges else "none worth its noise: one-way tables"
    )
    return Outcome(
        synthetic=desk.domain.rows(drawn.codes),
        model={
            "parents": network.parents,
            **({} if structure is None else msgspec.structs.asdict(structure)),
        },
        summary={"network": shape, **({"rejected": drawn.rejected} if drawn.rejected else {})},
    )
