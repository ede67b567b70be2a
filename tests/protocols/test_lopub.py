"""LoPub: its results, its results with hardly any noise, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite

import sottovoce
from sottovoce.curator import Curator
from sottovoce.messages import MessageError, UsageError
from sottovoce.messages.message import message_fields
from sottovoce.parties import Party
from sottovoce.parties.demo import demo_table
from sottovoce.privacy.domain import Domain
from sottovoce.privacy.local.bloom import BloomFilters
from sottovoce.protocols.lopub import protocol as lopub
from sottovoce.protocols.lopub import tables
from sottovoce.protocols.lopub.filters import FilterMessages, request

NAMES = ["sex", "race", "income", "relationship"]


class TestLoPub(SampledSuite):
    protocol = "lopub"
    parameters: ClassVar[Mapping[str, Any]] = {"epsilon": 100.0, "iterations": 3}
    rows = 300


def run(**more: Any) -> sottovoce.Run:
    given = {
        "data": demo_table(3000, seed=2)[NAMES],
        "seed": 5,
        "timeout": 60.0,
        "judge": False,
        "epsilon": 60.0,
        **more,
    }
    return sottovoce.run("lopub", **given)


@pytest.mark.parametrize(
    "more", [{}, {"users": 4000, "start": "uniform"}, {"epsilon": 2.0, "bits_per_value": 3}]
)
def test_the_result_does_not_depend_on_the_number_of_cohorts(more: dict[str, Any]) -> None:
    """To the byte: each user's words are her own, and reports are put in order before anything is
    added up.
    """
    one, three = (run(parties=parties, **more) for parties in (1, 3))
    for file in ("synthetic.csv", "model.json"):
        assert one.files[file] == three.files[file], file


def test_with_little_noise_the_tables_are_right() -> None:
    """At epsilon 1000 of four attributes hardly a bit is turned over: what is left is the model,
    and sampling.
    """
    data = demo_table(20_000, seed=1)[NAMES]
    made = run(data=data, epsilon=1000.0, judge=True, phi=0.05)
    exact = sottovoce.run("no-priv-jtree", data, phi=0.05, base="nats", seed=5)
    assert made.model["tree"]["cliques"] == exact.model["tree"]["cliques"]
    assert made.judgement["utility"]["tvd"]["2"] < 0.02
    assert made.report["outcome"]["edges"] == exact.report["outcome"]["edges"]


def test_a_clique_of_several() -> None:
    """The table of a clique is found from the filters of all its attributes at once."""
    generator = np.random.default_rng(1)
    a = generator.integers(0, 2, 5000)
    b = np.where(generator.random(5000) < 0.9, a, 1 - a)
    data = pd.DataFrame({"a": a, "b": b, "c": a ^ b, "d": generator.integers(0, 3, 5000)}).astype(
        str
    )
    data["c"] = np.where(generator.random(5000) < 0.4, data["a"], data["c"])
    made = run(data=data, epsilon=200.0, phi=0.15, judge=True)
    assert ["a", "b", "c"] in made.model["tree"]["cliques"]
    assert made.judgement["utility"]["tvd"]["3"] < 0.03


def test_users_bits() -> None:
    made = run(parties=2).report["communication"]
    bits = 8 * sum(demo_table(3000, seed=2)[name].nunique() for name in NAMES)
    assert made["per_user_bits"] == bits
    assert made["users"]["measured_bits"] == made["users"]["bits"] == 3000 * bits
    assert made["by_kind"]["Reports"]["payload_bytes"] < 3000 * bits / 8 + 100


def test_the_privacy_loss() -> None:
    privacy = run(epsilon=3.0).report["privacy"]
    assert (
        privacy["claimed_epsilon"]
        == privacy["epsilon"]["public"]
        == privacy["epsilon"]["curator"]
        == 3
    )
    assert {release["mechanism"] for release in privacy["releases"]} == {"bloom"}
    assert 2.9 < run(epsilon=3.0).model["spent"] <= 3


def test_a_cohort_may_have_no_users() -> None:
    made = run(users=4, parties=9)
    assert (
        made.report["communication"]["users"]["measured_bits"]
        == made.report["communication"]["users"]["bits"]
    )


def test_attributes_of_one_label() -> None:
    table = pd.DataFrame({"a": ["x"] * 400, "b": ["0", "1"] * 200, "c": list("pqrs") * 100})
    schema = {"a": ["x"], "b": ["0", "1"], "c": ["p", "q", "r", "s"]}
    made = run(data=table, schema=schema)
    assert made.synthetic is not None
    assert set(made.synthetic["a"]) == {"x"}
    lone = run(data=table[["b"]], schema={"b": ["0", "1"]}, synthetic_rows=0)
    assert lone.synthetic is None
    with pytest.raises(UsageError, match="two labels or more"):
        run(data=table[["a"]], schema={"a": ["x"]})


def test_a_warning_for_users_drawn_from_records() -> None:
    assert any(
        "users were drawn from the records" in text for text in run(users=50).report["warnings"]
    )


def replaced(said: Any, **new: Any) -> Any:
    return type(said)(
        **{name: new.get(name, getattr(said, name)) for name in message_fields(type(said))}
    )


@pytest.mark.parametrize(
    "forge",
    [
        lambda said: replaced(said, turned=1),
        lambda said: replaced(said, digits=said.digits + 1),
        lambda said: replaced(said, hashes=4),
        lambda said: replaced(said, bits_per_value=9),
        lambda said: replaced(said, attributes=said.attributes[1:]),
        lambda said: replaced(said, attributes=said.attributes[::-1]),
    ],
)
def test_a_cohort_refuses_other_filters(
    forge: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    broadcast = Curator.broadcast

    def forged(desk: Curator, said: Any, **more: Any) -> None:
        broadcast(desk, forge(said) if isinstance(said, FilterMessages.Filters) else said, **more)

    monkeypatch.setattr(Curator, "broadcast", forged)
    with pytest.raises(
        MessageError,
        match=r"malformed Filters from the curator: expected attributes .* hashes, .* found",
    ):
        run()


@pytest.mark.parametrize(
    ("forge", "match"),
    [
        (
            lambda said: replaced(said, packed=said.packed[:-1]),
            "malformed reports from cohort 1: expected .* bytes of reports",
        ),
        (
            lambda said: replaced(said, bits=said.bits + 1),
            "malformed reports from cohort 1: expected .* bits of each",
        ),
        (lambda said: replaced(said, users=-1), "malformed reports from cohort 1"),
        (
            lambda said: replaced(said, users=1 << 60, bits=said.bits),
            "malformed reports from cohort 1",
        ),
        (
            lambda said: FilterMessages.Reports(0, 0, said.packed[:0], False),
            "malformed reports from cohort 1",
        ),
        (
            lambda said: FilterMessages.Reports(0, 0, said.packed[:0], True),
            "expected 3000 users to report as planned, found 0",
        ),
        (
            lambda said: FilterMessages.Reports(
                2 * said.users, 2 * said.bits, np.tile(said.packed, 2), said.last
            ),
            "expected at most as many users as planned, found more from cohort",
        ),
    ],
)
def test_the_curator_refuses_malformed_reports(
    forge: Callable[[Any], Any], match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Party.send

    def forged(me: Party, said: Any, **more: Any) -> None:
        send(me, forge(said) if isinstance(said, FilterMessages.Reports) else said, **more)

    monkeypatch.setattr(Party, "send", forged)
    with pytest.raises(MessageError, match=match):
        run()


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"simulate": "counts"}, "simulate"),
        (
            {"hashes": 20},
            "expected 1 to 16 hashes, the bits of the smallest filter, found 20",
        ),
        ({"epsilon": 1e-9}, "choose a larger one"),
        ({"users": -1}, "users"),
        ({"mode": "paper"}, "expected --mode rigorous for lopub, found paper"),
    ],
)
def test_bad_parameters_are_refused(more: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        run(**more)


def test_tables_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lopub, "MAX_CELLS", 30)
    with pytest.raises(
        UsageError,
        match=r"cliques with fewer .* --drop \S+, .*fewer edges, --set phi= above 0.01",
    ):
        run(phi=0.01, epsilon=500.0)
    monkeypatch.setattr(lopub, "MAX_CELLS", 29)
    with pytest.raises(UsageError, match="pairs of attributes with fewer"):
        run()


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 12.0])
def test_the_request_states_how_likely_a_bit_is_turned(epsilon: float) -> None:
    filters = BloomFilters([2, 3], epsilon=epsilon, key=bytes(32))
    domain = Domain({"sex": ("f", "m"), "city": ("Bonn", "Kiel", "Ulm")})
    said = request(filters, domain, ["city"])
    assert Fraction(said.turned, 1 << said.digits) == filters.flips
    assert (said.hashes, said.bits_per_value) == (filters.hashes, filters.bits_per_value)
    assert said.attributes == (1,)


@pytest.mark.parametrize("weights", [[0.0, 0.0, 0.0], [0.5, 0.0, 1.5]])
def test_where_no_signature_is_found_all_labels_start_alike(
    weights: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start of a search is a distribution, and uniform where Lasso finds nothing."""
    monkeypatch.setattr(tables, "lasso", lambda *_, **__: np.array(weights))
    search: Any = SimpleNamespace(filters=SimpleNamespace(signatures=lambda _: None))
    start = tables.Tables._lasso(search, 0, np.zeros(8))
    total = sum(weights)
    assert start.tolist() == [weight / total if total else 1 / 3 for weight in weights]
