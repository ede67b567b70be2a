"""NoPrivJTree: known answers, and a report that hides nothing about its privacy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite

import sottovoce
from sottovoce.curator import Curator
from sottovoce.evaluation.distances import distance
from sottovoce.messages import MessageError, UsageError
from sottovoce.parties import Party, Records, load, read_schema
from sottovoce.parties.demo import demo_table
from sottovoce.protocols.privincr import NoPrivJTree, no_privacy
from sottovoce.protocols.privincr.no_privacy import NoPrivJTreeParameters


class TestNoPrivJTree(SampledSuite):
    protocol = "no-priv-jtree"
    # With few rows every pair seems dependent at a smaller phi.
    parameters: ClassVar[Mapping[str, Any]] = {"phi": 0.6, "synthetic_rows": 50}
    rows = 1000


def run(**more: Any) -> sottovoce.Run:
    return sottovoce.run(
        "no-priv-jtree", **{"rows": 3000, "seed": 5, "timeout": 60.0, "judge": False, **more}
    )


def test_the_report_shows_that_nothing_is_private() -> None:
    result = run()
    privacy = result.report["privacy"]
    assert privacy["claimed_epsilon"] == inf
    assert {*privacy["epsilon"].values(), *privacy["coalitions"].values()} == {inf}
    assert {release["epsilon"] for release in privacy["releases"]} == {inf}
    assert any("protects nobody" in text for text in result.report["warnings"])
    assert "claims epsilon infinity" in result.page()
    assert NoPrivJTree(NoPrivJTreeParameters(), mode="rigorous").epsilon == inf
    with pytest.raises(UsageError, match="found 'epsilon'"):
        run(epsilon=1.0)


@pytest.mark.parametrize(("base", "edges", "least"), [("bits", 16, 0.0343), ("nats", 12, 0.0415)])
def test_adult(adult: Records, base: str, edges: int, least: float) -> None:
    """Specification 7, 18 and E3: bits give the least distance of the paper's table 2, 0.033."""
    domain = adult.domain
    table = domain.decode([np.asarray(adult.codes(name)) for name in domain.attributes]).astype(str)
    schema = {name: [*labels] for name, labels in domain.labels.items()}
    result = sottovoce.run(
        "no-priv-jtree",
        table,
        schema=schema,
        base=base,
        synthetic_rows=300_000,
        seed=1,
        judge=False,
    )
    assert result.report["outcome"]["edges"] == f"{edges} of 105"
    assert result.synthetic is not None
    synthetic = load(result.synthetic, schema=read_schema(schema))
    error = distance(adult, synthetic, ways=2).average
    assert error == pytest.approx(least, abs=1e-3)
    if base == "bits":
        cliques = [
            [domain.attributes.index(name) for name in clique]
            for clique in result.model["tree"]["cliques"]
        ]
        assert sorted(cliques) == [
            [0, 5, 7, 14],
            [1],
            [2],
            [3, 4, 14],
            [5, 7, 9, 14],
            [6, 9, 14],
            [8],
            [9, 12, 14],
            [10, 14],
            [11],
            [13],
        ]


def test_what_the_tree_has_is_exact() -> None:
    """The table of two dependent attributes is that of the records, except for sampling."""
    data = demo_table(5000, seed=3)[["sex", "relationship"]]
    result = run(data=data, rows=None, synthetic_rows=200_000)
    assert result.model["edges"] == [["relationship", "sex"]] or result.model["edges"] == [
        ["sex", "relationship"]
    ]
    assert result.synthetic is not None
    real, synthetic = (
        pd.crosstab(table["sex"], table["relationship"], normalize="all")
        for table in (data, result.synthetic)
    )
    assert np.abs((real - synthetic).to_numpy()).max() < 0.01
    assert len(result.synthetic) == 200_000
    assert (
        run().report["rows"]
        == len(run(mode="paper", base="nats").files["synthetic.csv"].splitlines()) - 1
        == 3000
    )


def test_attributes_of_one_label() -> None:
    table = pd.DataFrame({"a": ["x"] * 40, "b": ["0", "1"] * 20})
    result = run(data=table, schema={"a": ["x"], "b": ["0", "1"]}, rows=None)
    assert result.model["edges"] == []
    lone = run(data=table[["a"]], schema={"a": ["x"]}, rows=None)
    assert lone.synthetic is not None
    assert set(lone.synthetic["a"]) == {"x"}


def test_tables_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    data = demo_table(3000, seed=2)[["sex", "race", "income", "relationship"]]
    monkeypatch.setattr(no_privacy, "MAX_CELLS", 118)  # as many as the pairs have
    with pytest.raises(
        UsageError, match=r"cliques with fewer .* --drop \S+, .*--set phi= above 0.001"
    ):
        run(data=data, rows=None, phi=0.001)
    monkeypatch.setattr(no_privacy, "MAX_CELLS", 20)
    with pytest.raises(UsageError, match="pairs of attributes with fewer"):
        run(data=data, rows=None)


@pytest.mark.parametrize("cliques", [((),), ((0, 0),), ((99,),), ((-1,),)])
def test_a_party_refuses_cliques_that_cannot_be(
    cliques: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broadcast = Curator.broadcast
    monkeypatch.setattr(
        Curator,
        "broadcast",
        lambda desk, message, **more: broadcast(desk, type(message)(cliques), **more),
    )
    with pytest.raises(
        MessageError,
        match="malformed Cliques from the curator: expected cliques of different attributes",
    ):
        run()


@pytest.mark.parametrize(
    ("forge", "match"),
    [
        (lambda cells: cells[1:], "counts of party 1, found"),
        (lambda cells: -cells, "tables of one number of records of party 1"),
        (lambda cells: cells * 0, "tables of one number of records of party 1"),
        (
            lambda cells: np.append(cells[:-1], cells[-1] + 1),
            "tables of one number of records of party 1",
        ),
    ],
)
def test_the_curator_refuses_counts_that_cannot_be(
    forge: Callable[[Any], Any], match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Party.send
    monkeypatch.setattr(
        Party,
        "send",
        lambda me, message, **more: send(me, type(message)(forge(message.cells)), **more),
    )
    with pytest.raises(MessageError, match=match):
        run()
