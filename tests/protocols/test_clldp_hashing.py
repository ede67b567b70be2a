"""Local hashing in CLLDP's protocols: what users accept, and what the curator estimates."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from house_suites import VariantSuite

import sottovoce
from sottovoce import UsageError
from sottovoce.curator.labels import underestimation
from sottovoce.parties import Records, read_schema
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Domain
from sottovoce.privacy.local.groups import GroupBook
from sottovoce.privacy.local.hashed_heads import HashedHeads, named_values
from sottovoce.privacy.local.heads import HeadsResponse
from sottovoce.protocols.clldp.settings import BeliefRules, LabelOptions, LabelSettings
from sottovoce.protocols.clldp.survey import PartyLabelSurvey, choose_terms
from sottovoce.protocols.clldp.terms import GroupTerms, TermsReview, review_terms, write_terms

DOMAIN = Domain({"age": tuple(map(str, range(12))), "ill": ("no", "yes")})
SCHEMA = read_schema({"age": [*map(str, range(12))], "ill": ["no", "yes"]})


class TestHashedJoint(VariantSuite):
    protocol = "clldp-joint"
    parameters: ClassVar[Mapping[str, Any]] = {"epsilon": 2.0, "randomizer": "hashed"}
    rows = 600


class TestHashedNaiveBayes(VariantSuite):
    protocol = "clldp-naive-bayes"
    parameters: ClassVar[Mapping[str, Any]] = {
        "epsilon": 2.0,
        "randomizer": "hashed",
        "simulate": "counts",
    }
    rows = 600


def settings(**more: Any) -> LabelSettings:
    options = LabelOptions(epsilon=1.0, randomizer="hashed", **more)
    rules = BeliefRules(sure=3.0, choice="scan", cap=None)
    return LabelSettings(options, rules, DOMAIN, "ill")


def review(
    *, hashes: int, belief: float, plain: bool = False, of: LabelSettings | None = None
) -> TermsReview:
    of = of or settings()
    group = GroupTerms(("age",), 0, 10, hashes, belief, 1.0)
    terms = write_terms(DOMAIN, [group])
    return review_terms(terms, of, users=20, key=bytes(16), book=GroupBook(), plain=plain)


def test_users_report_by_the_hashes_and_omega_that_were_announced() -> None:
    accepted = review(hashes=4, belief=0.6)
    (randomizer,) = accepted.assignment.randomizers
    assert isinstance(randomizer, HashedHeads)
    assert (randomizer.labels, randomizer.values, randomizer.hashes) == (2, 12, 4)  # noqa: PD011 - no pandas
    assert (randomizer.belief, randomizer.cells) == (0.6, 24)
    assert accepted.book.of(0, 10).whole_record_loss == pytest.approx(randomizer.local_epsilon)


@pytest.mark.parametrize("hashes", [0, 1, 14, 100])
def test_users_refuse_other_numbers_of_hashes(hashes: int) -> None:
    with pytest.raises(ValueError, match=r"expected 2 to 13 hashes of 12 values"):
        review(hashes=hashes, belief=1.0)


def test_users_refuse_an_omega_that_no_data_has() -> None:
    """Four of 12 values share one of 4 hashes at P = 13, so omega is a third at least."""
    assert review(hashes=4, belief=4 / 12).groups
    with pytest.raises(ValueError, match=r"expected omega of 0\.333333 to 1"):
        review(hashes=4, belief=0.33)


@pytest.mark.parametrize(("source", "belief"), [("sample", 0.8), ("sample", 1.0), ("none", 1.0)])
@pytest.mark.parametrize("plain", [False, True])
def test_delta_is_the_chance_that_an_estimated_omega_is_too_small(
    source: str, belief: float, plain: bool
) -> None:
    """An omega of 1 cannot be too small, and whoever estimates it takes it as 1."""
    if plain and belief < 1:
        return  # users refuse it
    options = settings(belief=source)
    survey: Any = PartyLabelSurvey.__new__(PartyLabelSurvey)
    survey._settings, survey.book = options, GroupBook()
    survey.base = SimpleNamespace(users=20, key=bytes(16))
    frame = pd.DataFrame({"age": list("0123456789") * 2, "ill": ["no", "yes"] * 10})
    survey._me = SimpleNamespace(records=Records(frame, schema=SCHEMA))
    terms = write_terms(DOMAIN, [GroupTerms(("age",), 0, 10, 4, belief, 1.0)])
    plan = survey._plan(terms, plain=plain)
    is_estimate = source == "sample" and not plain
    assert plan.delta == (underestimation(3.0) if is_estimate and belief < 1 else 0.0)


def test_a_prior_is_that_of_all_values_with_one_hash() -> None:
    known = settings(belief="prior", prior="age:0.15")
    assert known.least_belief(("age",), heads=4, plain=False) == pytest.approx(0.6)
    assert known.least_belief(("age",), heads=13, plain=False) == pytest.approx(0.15)
    with pytest.raises(ValueError, match=r"expected omega of 0\.6 to 1"):
        review(hashes=4, belief=0.59, of=known)


def test_users_of_the_sample_hash_nothing() -> None:
    """Their omega is 1, so hashing gains nothing."""
    (randomizer,) = review(hashes=3, belief=1.0, plain=True).assignment.randomizers
    assert isinstance(randomizer, HeadsResponse)
    assert randomizer.chosen == 3
    with pytest.raises(ValueError, match="expected omega of 1 to 1"):
        review(hashes=3, belief=0.5, plain=True)


def test_the_curator_takes_the_omega_of_the_values_that_a_report_names() -> None:
    curve = np.minimum(np.arange(1, 13) * 0.2, 1.0)
    for hashes, named in ((2, 7), (3, 5), (4, 4), (13, 1)):
        chosen, omega = choose_terms(24, 12, curve, settings(hashes=hashes), epsilon=1.0)
        assert chosen == hashes
        assert omega == pytest.approx(max(curve[named - 1], named / 12))
    hashes, belief = choose_terms(24, 12, curve, settings(), epsilon=1.0)
    assert review(hashes=hashes, belief=belief).groups
    with pytest.raises(UsageError, match="expected 2 to 13 hashes for 12 values, found 14"):
        choose_terms(24, 12, curve, settings(hashes=14), epsilon=1.0)


@pytest.mark.parametrize("labels", [2, 3, 6])
@pytest.mark.parametrize("epsilon", [1.0, 3.0, 5.0])
@pytest.mark.parametrize("most", [0.2, 1.0])
def test_the_chosen_number_of_hashes_has_the_least_variance(
    labels: int, epsilon: float, most: float
) -> None:
    """Of all numbers of hashes of so many labels, by the support of a cell that nobody has."""
    curve = np.minimum(np.arange(1, 9) * most, 1.0)

    def variance(hashes: int) -> float:
        belief = float(max(curve[named_values(8, hashes) - 1], named_values(8, hashes) / 8))
        randomizer = HashedHeads(
            labels * 8, epsilon=epsilon, labels=labels, belief=belief, hashes=hashes
        )
        p, same, q = (float(x) for x in (randomizer.p, randomizer.q_same, randomizer.q))
        return q * (1 - q) / (p - same) ** 2

    chosen, _ = choose_terms(labels * 8, 8, curve, settings(), epsilon=epsilon)
    assert variance(chosen) == pytest.approx(min(map(variance, range(2, 12))))


@pytest.mark.parametrize("simulate", ["reports", "counts"])
@pytest.mark.parametrize("belief", ["none", "sample"])
def test_tables_are_close_at_a_large_epsilon(simulate: str, belief: str) -> None:
    table = demo_table(20_000, seed=3)[["education", "sex"]]
    outcome = sottovoce.run(
        "clldp-joint",
        table,
        label="sex",
        epsilon=6.0,
        randomizer="hashed",
        belief=belief,
        simulate=simulate,
        seed=4,
    )
    assert outcome.judgement["utility"]["tvd"]["2"] < 0.05
    asked = outcome.model["asked"]["education"]
    assert asked["hashes"] >= 2
    losses = outcome.report["privacy"]["whole_record"]
    if belief == "none":
        assert losses == pytest.approx(6.0)
    else:
        assert losses >= 6.0


@pytest.mark.parametrize(
    ("protocol", "more", "match"),
    [
        ("clldp-joint", {"randomizer": "hashed", "heads": 2}, "hashes= with randomizer=hashed"),
        ("clldp-joint", {"hashes": 4}, "hashes= with randomizer=hashed, found randomizer=khr"),
        ("clldp-decision-tree", {"randomizer": "hashed"}, "for a decision tree, found hashed"),
    ],
)
def test_options_that_do_not_go_together(protocol: str, more: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        sottovoce.run(protocol, demo_table(50, seed=1), epsilon=1.0, **more)
