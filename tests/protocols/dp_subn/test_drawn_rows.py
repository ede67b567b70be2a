"""Rows are raked before as many as wanted are kept: of few rows cells are far from their shares."""

from __future__ import annotations

from typing import Any

import pytest

import sottovoce
from sottovoce.curator import synthesise
from sottovoce.curator.raking import rake
from sottovoce.messages import UsageError
from sottovoce.parties.demo import demo_table
from sottovoce.protocols.dp_subn import edges
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job


@pytest.mark.parametrize(
    ("rows", "most_cells", "drawn"), [(500, 10**9, 3000), (5000, 10**9, 5000), (500, 4000, None)]
)
def test_more_rows_are_drawn_than_are_kept(
    rows: int, most_cells: int, drawn: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many tables there are fewer, but never less than are wanted."""
    counts: list[tuple[int, int]] = []

    def noting(network: Any, count: int, **options: Any) -> Any:
        counts.append((count, 0))
        return synthesise(network, count, **options)

    def noting_tables(domain: Any, codes: Any, tables: Any, **options: Any) -> Any:
        counts[-1] = counts[-1][0], len(tables)
        return rake(domain, codes, tables, **options)

    monkeypatch.setattr(edges, "synthesise", noting)
    monkeypatch.setattr(edges, "rake", noting_tables)
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


@pytest.mark.parametrize("variant", ["edges", "forest"])
def test_shares_that_cannot_be_are_refused_before_any_role_begins(variant: str) -> None:
    """There is no key, no message and no log then, and one clear line."""
    settings: dict[str, Any] = {"init": variant, "aggregator": "clear"}
    for budget in ("0.5,0.6,0,0.2", "0.5,0.5", "0.25,0.25,0.25,0.25"):
        job = Job(protocol="dp-subn", parameters={**settings, "budget": budget}, parties=2)
        with pytest.raises(UsageError, match="share"):
            instantiate(job)
    job = Job(protocol="dp-subn", parameters={**settings, "budget": "0.5,0.25,0,0.25"}, parties=2)
    assert instantiate(job).name == "dp-subn"
