"""NoPrivJTree: known answers, and that it says what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator import Curator
from sottovoce.launch.conformance import ProtocolConformance
from sottovoce.messages import MessageError, UsageError
from sottovoce.parties import Party, Records
from sottovoce.parties.demo import demo_table
from sottovoce.protocols.privincr import NoPrivJTree, no_privacy
from sottovoce.protocols.privincr.no_privacy import NoPrivJTreeParameters


class TestNoPrivJTree(ProtocolConformance):
    protocol = "no-priv-jtree"
    parameters: ClassVar[Mapping[str, Any]] = {
        "phi": 0.6,
        "synthetic_rows": 50,
    }  # of few rows everything seems dependent
    rows = 1000


def run(**more: Any) -> sottovoce.Run:
    return sottovoce.run(
        "no-priv-jtree", **{"rows": 3000, "seed": 5, "timeout": 60.0, "judge": False, **more}
    )


def test_it_says_that_nothing_is_private() -> None:
    made = run()
    privacy = made.report["privacy"]
    assert privacy["claimed_epsilon"] == float("inf")
    assert {*privacy["epsilon"].values(), *privacy["coalitions"].values()} == {float("inf")}
    assert {release["epsilon"] for release in privacy["releases"]} == {float("inf")}
    assert any("protects nobody" in text for text in made.report["warnings"])
    assert "claims epsilon infinity" in made.page()
    assert NoPrivJTree(NoPrivJTreeParameters(), mode="rigorous").epsilon == inf
    with pytest.raises(UsageError, match="found 'epsilon'"):
        run(epsilon=1.0)


@pytest.mark.parametrize(
    ("base", "edges", "distance"), [("bits", 16, 0.0343), ("nats", 12, 0.0415)]
)
def test_adult(adult: Records, base: str, edges: int, distance: float) -> None:
    """Specification 7, 18 and E3: in bits the floor of the paper's table 2, 0.033, comes out."""
    domain = adult.domain
    table = domain.decode([np.asarray(adult.codes(name)) for name in domain.attributes]).astype(str)
    schema = {name: [*labels] for name, labels in domain.labels.items()}
    made = sottovoce.run(
        "no-priv-jtree", table, schema=schema, base=base, synthetic_rows=300_000, seed=1
    )
    assert made.report["outcome"]["edges"] == f"{edges} of 105"
    assert made.judgement["utility"]["tvd"]["2"] == pytest.approx(distance, abs=1e-3)
    if base == "bits":
        cliques = [
            [domain.attributes.index(name) for name in own] for own in made.model["tree"]["cliques"]
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
    """Two attributes that belong together: their table is the records', but for sampling."""
    data = demo_table(5000, seed=3)[["sex", "relationship"]]
    made = run(data=data, rows=None, synthetic_rows=200_000)
    assert made.model["edges"] == [["relationship", "sex"]] or made.model["edges"] == [
        ["sex", "relationship"]
    ]
    assert made.synthetic is not None
    one, other = (
        pd.crosstab(own["sex"], own["relationship"], normalize="all")
        for own in (data, made.synthetic)
    )
    assert np.abs((one - other).to_numpy()).max() < 0.01
    assert len(made.synthetic) == 200_000
    assert (
        run().report["rows"]
        == len(run(mode="paper", base="nats").files["synthetic.csv"].splitlines()) - 1
        == 3000
    )


def test_attributes_of_one_label() -> None:
    table = pd.DataFrame({"a": ["x"] * 40, "b": ["0", "1"] * 20})
    made = run(data=table, schema={"a": ["x"], "b": ["0", "1"]}, rows=None)
    assert made.model["edges"] == []
    lone = run(data=table[["a"]], schema={"a": ["x"]}, rows=None)
    assert lone.synthetic is not None
    assert set(lone.synthetic["a"]) == {"x"}


def test_tables_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    data = demo_table(3000, seed=2)[["sex", "race", "income", "relationship"]]
    monkeypatch.setattr(no_privacy, "MOST_CELLS", 118)  # as many as the pairs have
    with pytest.raises(
        UsageError, match=r"cliques of at most .* cells, found .*--set phi= of more than 0.001"
    ):
        run(data=data, rows=None, phi=0.001)
    monkeypatch.setattr(no_privacy, "MOST_CELLS", 20)
    with pytest.raises(UsageError, match="pairs of attributes of at most"):
        run(data=data, rows=None)


@pytest.mark.parametrize("cliques", [((),), ((0, 0),), ((99,),), ((-1,),)])
def test_a_party_refuses_cliques_that_cannot_be(
    cliques: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broadcast = Curator.broadcast
    monkeypatch.setattr(
        Curator,
        "broadcast",
        lambda desk, said, **more: broadcast(desk, type(said)(cliques), **more),
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
        Party, "send", lambda me, said, **more: send(me, type(said)(forge(said.cells)), **more)
    )
    with pytest.raises(MessageError, match=match):
        run()
