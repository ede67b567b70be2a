"""Rows are raked before as many as wanted are kept: of few rows cells are far from their shares."""

from __future__ import annotations

from typing import Any

import pytest

import sottovoce
from sottovoce.parties.demo import demo_table
from sottovoce.protocols.dp_subn import edges


@pytest.mark.parametrize(
    ("rows", "most_cells", "drawn"), [(500, 10**9, 3000), (5000, 10**9, 5000), (500, 4000, None)]
)
def test_more_rows_are_drawn_than_are_kept(
    rows: int, most_cells: int, drawn: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many tables there are fewer, but never less than are wanted."""
    counts: list[tuple[int, int]] = []
    synthesise = edges.synthesise

    def noting(network: Any, count: int, **options: Any) -> Any:
        counts.append((count, 0))
        return synthesise(network, count, **options)

    def rake(domain: Any, codes: Any, tables: Any, **options: Any) -> Any:
        counts[-1] = counts[-1][0], len(tables)
        return raked(domain, codes, tables, **options)

    raked = edges.rake
    monkeypatch.setattr(edges, "synthesise", noting)
    monkeypatch.setattr(edges, "rake", rake)
    monkeypatch.setattr(edges, "MIN_DRAWN_ROWS", 3000)
    monkeypatch.setattr(edges, "MAX_RAKED", most_cells)
    run = sottovoce.run(
        "dp-subn",
        demo_table(3000, seed=1)[["sex", "race", "income"]],
        aggregator="clear",
        epsilon=8.0,
        seed=1,
        judge=False,
        synthetic_rows=rows,
    )
    assert run.synthetic is not None
    assert len(run.synthetic) == rows
    ((count, tables),) = counts
    assert count == (drawn or max(rows, most_cells // tables))
    assert count >= rows
