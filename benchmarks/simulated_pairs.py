"""Plans and estimates of `adaptive-pairs` with simulated sums, without roles and messages.

The tables of each plan are counted on all records together, and get Gaussian noise with the
variance that the sum of some parties has; this noise is continuous. Plans and estimates are made by
the product's own functions, and so are the parties' choices, on records that are dealt out evenly.
No rows are drawn: the distance of a pair is that of its estimated table. So constants can be
compared in a fraction of the time of runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sottovoce.crypto import RandomStream
from sottovoce.parties import Records
from sottovoce.parties.counting import CodedTable
from sottovoce.privacy import Domain
from sottovoce.protocols.adaptive_pairs import AdaptivePairs
from sottovoce.protocols.adaptive_pairs.choices import (
    MAX_ESTIMATED_CELLS,
    Release,
    farthest_pairs,
    mean_distances,
    read_named,
)
from sottovoce.protocols.adaptive_pairs.estimation import Estimation
from sottovoce.protocols.adaptive_pairs.options import AdaptivePairsParameters
from sottovoce.protocols.adaptive_pairs.tables import MeasuredTable, PlannedTable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Codes", "coded", "simulated_distances", "table_of"]

Codes = Mapping[str, npt.NDArray[np.int64]]
"""The code of each record's label, by attribute."""


def coded(frame: pd.DataFrame) -> tuple[Domain, Codes]:
    """Number the labels of each attribute in their order; constant columns are left out."""
    labels = {str(name): np.unique(frame[name].astype(str)) for name in frame.columns}
    several = {name: values for name, values in labels.items() if len(values) > 1}
    codes = {
        name: np.searchsorted(values, frame[name].astype(str).to_numpy())
        for name, values in several.items()
    }
    return Domain({name: tuple(values.tolist()) for name, values in several.items()}), codes


def table_of(
    codes: Codes, domain: Domain, table: PlannedTable, *, rows: int
) -> npt.NDArray[np.float64]:
    """Count a planned table, as shares of all rows."""
    shape = table.shape(domain)
    cells = np.zeros(rows, np.int64)
    for place, (name, size) in enumerate(zip(table.attributes, shape, strict=True)):
        grouping = table.groupings[place] if table.groupings else ()
        cells *= size
        cells += np.array(grouping)[codes[name]] if grouping else codes[name]
    counts = np.bincount(cells, minlength=table.cells(domain))
    return np.asarray(counts.reshape(shape) / rows)


def holders_of(
    codes: Codes, domain: Domain, order: npt.NDArray[np.int64], *, parties: int
) -> list[Records]:
    """Deal the records out to the parties, in this order."""
    return [
        Records(CodedTable([codes[name][part] for name in domain.attributes], domain))
        for part in np.array_split(order, parties)
    ]


def drawn(stream: RandomStream) -> Release:
    """Draw answers from a stream; nothing is recorded."""
    return lambda mechanism: mechanism.draw(stream)


def simulated_distances(
    domain: Domain, codes: Codes, *, epsilon: float, parties: int, seed: int
) -> dict[tuple[str, ...], float]:
    """Measure, plan and estimate; return the distance of each pair's estimated table."""
    generator = np.random.default_rng([seed, parties])
    rows = len(next(iter(codes.values())))
    holders = holders_of(codes, domain, generator.permutation(rows), parties=parties)
    rows_by_party, stream = [*map(len, holders)], RandomStream(generator.bytes(32))
    parameters = AdaptivePairsParameters(epsilon=epsilon, delta=1e-9)
    protocol = AdaptivePairs(parameters, mode="rigorous")
    rounds = protocol.rounds(domain, rows=rows, parties=parties)
    assert rounds.power == 1, "noise is Gaussian"
    estimation = Estimation(domain, generator=generator)
    tables = rounds.first_tables()
    for number in range(1, rounds.count + 1):
        whole = rounds.table_precision(number)
        if number > 1:
            tables = estimation.plan(table_precision=whole, power=rounds.power)
        if rounds.choices and (choosers := rounds.choosers(number, rows_by_party)):
            doubtful = estimation.doubtful_pairs(max_cells=MAX_ESTIMATED_CELLS)
            named = []
            for party in choosers:
                records = holders[party - 1]
                answer = farthest_pairs(records, doubtful, rounds.choices, release=drawn(stream))
                squares = read_named(answer, rounds.choices, doubtful, rows=len(records))
                named.append((len(records), squares))
            estimation.learn_distances(mean_distances(named))
        # Weights w share a sum's precision in proportion to their squares.
        squares = sum(table.weight**2 for table in tables)
        measured = []
        for table in tables:
            variance = squares / (whole * table.weight**2)
            exact = table_of(codes, domain, table, rows=rows)
            noisy = exact + generator.normal(0, variance**0.5, exact.shape)
            measured.append(MeasuredTable(table, noisy, variance))
        estimation.learn(measured)
    distances = {}
    for pair, estimate in estimation.estimate().tables.items():
        exact = table_of(codes, domain, PlannedTable(pair, 1), rows=rows)
        distances[pair] = float(np.abs(estimate.values - exact).sum() / 2)  # noqa: PD011
    return distances
