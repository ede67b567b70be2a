"""DistDiffGen: the laws of every protocol, scores and sensitivities by brute force, and utility."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, pairwise, product
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce
from sottovoce.crypto import RandomStream
from sottovoce.messages import ConversationError, UsageError
from sottovoce.parties import Records, read_schema
from sottovoce.privacy import Accountant, Budget, Domain
from sottovoce.privacy.conversion import rho_of
from sottovoce.privacy.exponential import STEPS
from sottovoce.protocols.dist_diff_gen import as_printed, noisy_tables
from sottovoce.protocols.dist_diff_gen.as_printed import AsPrinted
from sottovoce.protocols.dist_diff_gen.descent import pick_best, specialise
from sottovoce.protocols.dist_diff_gen.disclosure import Disclosure
from sottovoce.protocols.dist_diff_gen.leaves import count_leaves, describe, draw_rows, spread
from sottovoce.protocols.dist_diff_gen.noisy_tables import NoisyTables
from sottovoce.protocols.dist_diff_gen.options import DistDiffGenParameters, Messages
from sottovoce.protocols.dist_diff_gen.plan import SpecialisationPlan
from sottovoce.protocols.dist_diff_gen.scores import (
    JointChoice,
    Score,
    choose_together,
    score_splits,
    sensitivity_of,
)
from sottovoce.protocols.dist_diff_gen.taxonomy import Cuts, are_bins
from sottovoce.protocols.registry import find
from sottovoce.protocols.secure_sum import SumBatch

REFERENCE = "sottovoce.protocols.dist_diff_gen:DistDiffGen"
SCORES: tuple[Score, ...] = ("max", "gain")
SCHEMA = {
    "age": {"edges": [0, 10, 20, 30, 40, 50]},
    "colour": ["red", "green", "blue"],
    "only": ["one"],
    "rich": ["no", "yes"],
}
EXACT: dict[str, Any] = {"aggregator": "masks", "epsilon": 1000.0}


class TestConformance(SampledSuite):
    protocol = REFERENCE
    parties = 2
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "masks", "specialisations": 4}


class TestConformanceAsPrinted(VariantSuite):
    protocol = REFERENCE
    parties = 2
    mode = "paper"
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "masks", "specialisations": 4}


class TestConformanceInARing(VariantSuite):
    protocol = REFERENCE
    parties = 2
    parameters: ClassVar[dict[str, Any]] = {
        "specialisations": 3,
        "key_bits": 512,
        "insecure_test_keys": True,
    }


def table(rows: int = 400, *, seed: int = 0) -> pd.DataFrame:
    """Make a table in which people above 20 who like blue are rich, and few others are."""
    generator = np.random.default_rng(seed)
    age, colour = generator.uniform(0, 50, rows), generator.integers(0, 3, rows)
    rich = ((age > 20) & (colour == 2)) | (generator.random(rows) < 0.1)
    return pd.DataFrame(
        {
            "age": age.round(2),
            "colour": np.array(["red", "green", "blue"])[colour],
            "only": "one",
            "rich": np.where(rich, "yes", "no"),
        }
    )


def plan_of(schema: dict[str, Any] = SCHEMA, **given: Any) -> SpecialisationPlan:
    asked: dict[str, Any] = {
        "target": "rich",
        "budget": Budget.pure(1.0),
        "specialisations": 3,
        "score": "max",
        "most_cells": 1 << 20,
    }
    return SpecialisationPlan(read_schema(schema).domain, **{**asked, **given})


def halves() -> list[pd.DataFrame]:
    whole = table()
    return [whole.iloc[:150].reset_index(drop=True), whole.iloc[150:].reset_index(drop=True)]


def run(**given: Any) -> sottovoce.Run:
    asked: dict[str, Any] = {"parties": 2, "seed": 3, "schema": SCHEMA, **EXACT, **given}
    return sottovoce.run(REFERENCE, asked.pop("data", halves()), **asked)


# Taxonomies.


@pytest.mark.parametrize(
    ("labels", "bins"),
    [
        (["[0, 5]", "(5, 9]"], True),
        (["[-1.5, 2e+06]", "(2e+06, 3e+06]", "?"], True),
        (["[0, 5]"], True),
        (["[0, 5]", "(6, 9]"], False),  # a gap
        (["(0, 5]", "(5, 9]"], False),  # bins begin closed
        (["[0, 5]", "[5, 9]"], False),
        (["(5, 9]", "[0, 5]"], False),
        (["[0, 5]", "?", "(5, 9]"], False),
        (["[0, 5]", "?", "!"], False),
        (["?"], False),
        (["a", "b", "c"], False),
    ],
)
def test_labels_of_bins_are_recognised(labels: list[str], bins: bool) -> None:
    assert are_bins(labels) is bins


@pytest.mark.parametrize(
    "rule",
    [
        {"edges": [0, 0.1, 1e9]},
        {"bins": 7, "range": [-3, 3]},
        {"bins": 40, "range": [1e6, 1e6 + 1], "missing": "category"},
    ],
)
def test_bins_of_any_schema_are_recognised(rule: dict[str, Any]) -> None:
    assert are_bins(read_schema({"x": rule}).domain.labels["x"])


def test_the_plan_of_a_run() -> None:
    plan = plan_of(budget=Budget.pure(2.0), specialisations=5)
    assert (plan.predictors, plan.numeric) == (("age", "colour"), ("age",))
    assert plan.epsilon_of_choice == 2.0 / (2 * (1 + 10))
    assert plan.tables.batch == SumBatch(cells=16, sensitivity=4, epsilon=1.0)
    cuts: Cuts = {"age": (0, 2, 5), "colour": (0, 1, 2, 3)}
    assert plan.leaves(cuts) == SumBatch(cells=12, sensitivity=2, epsilon=1.0)
    assert (
        plan_of({"a": {"bins": 2, "range": [0, 1]}, "rich": ["no", "yes"]}).numeric == ()
    )  # there is nothing to choose


def test_bins_are_split_by_choice_and_categories_in_halves() -> None:
    """With one predictor and dictated picks, the cut after each choice is the expected one."""
    bins = plan_of({"a": {"bins": 5, "range": [0, 5]}, "rich": ["no", "yes"]}, specialisations=2)
    asked: list[list[int]] = []

    def dictated(answers: list[tuple[int, ...]]) -> Callable[[Sequence[Any]], Sequence[int]]:
        def pick(many: Sequence[Any]) -> Sequence[int]:
            asked.append([len(own) for own in many])
            return answers.pop(0)

        return pick

    counts = {"a": np.ones((5, 2))}
    # The root's point, 3 of 1 2 3 4; the root; the child 0-3's point, 1 of 1 2, as 3-5 has one
    # point only; the second, 3-5.
    assert specialise(bins, counts, pick=dictated([(2,), (0,), (0,), (1,)])) == {"a": (0, 3, 4, 5)}
    assert asked == [[4], [1], [2], [2]]
    names = plan_of({"a": list("vwxyz"), "rich": ["no", "yes"]}, specialisations=2)
    assert specialise(names, counts, pick=dictated([(0,), (0,)])) == {"a": (0, 1, 2, 5)}
    assert specialise(names, counts, pick=dictated([(0,), (1,)])) == {"a": (0, 2, 3, 5)}
    once = plan_of({"a": list("vwxyz"), "rich": ["no", "yes"]}, specialisations=1)
    assert specialise(once, counts, pick=dictated([(0,)])) == {"a": (0, 2, 5)}


def test_both_children_choose_at_once() -> None:
    plan = plan_of({"a": {"bins": 8, "range": [0, 8]}, "rich": ["no", "yes"]}, specialisations=1)
    asked: list[int] = []

    def pick(many: Sequence[Any]) -> Sequence[int]:
        asked.append(len(many))
        return [len(own) // 2 for own in many]

    specialise(plan, {"a": np.ones((8, 2))}, pick=pick)
    assert asked == [1, 1, 2]


# Scores.


def brute_force(left: Sequence[int], right: Sequence[int], *, score: Score) -> float:
    """Compute a score by its definition, a record at a time."""
    records = [
        (side, label)
        for side, own in enumerate((left, right))
        for label, n in enumerate(own)
        for _ in range(n)
    ]
    labels = range(len(left))

    def entropy(chosen: list[tuple[int, int]]) -> float:
        shares = [sum(own == label for _, own in chosen) / len(chosen) for label in labels]
        return -sum(share * math.log2(share) for share in shares if share)

    sides = [[record for record in records if record[0] == side] for side in (0, 1)]
    if score == "max":
        return float(
            sum(max(sum(own == label for _, own in side) for label in labels) for side in sides)
        )
    return (
        entropy(records) - sum(len(side) / len(records) * entropy(side) for side in sides if side)
        if records
        else 0.0
    )


@pytest.mark.parametrize("score", SCORES)
def test_scores_are_those_of_the_definition(score: Score) -> None:
    lefts, rights = zip(*product(product(range(4), repeat=3), repeat=2), strict=True)
    found = score_splits(np.array(lefts, float), np.array(rights, float), score=score)
    assert found.tolist() == pytest.approx(
        [brute_force(*both, score=score) for both in zip(lefts, rights, strict=True)]
    )


def neighbours(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Replace one record; the last place counts the records that are under no child."""
    for gone, come in product(range(len(counts)), repeat=2):
        if gone != come and counts[gone]:
            yield tuple(n - (at == gone) + (at == come) for at, n in enumerate(counts))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_sensitivity_of_one_score(score: Score, classes: int) -> None:
    """Over all tables of few records the bound is never exceeded, and is reached."""
    worst = 0.0
    for counts in product(range(3), repeat=2 * classes):
        own = brute_force(counts[:classes], counts[classes:], score=score)
        for other in neighbours((*counts, 1)):
            worst = max(
                worst, abs(own - brute_force(other[:classes], other[classes:-1], score=score))
            )
    assert worst == pytest.approx(sensitivity_of(score, choices=1))


@pytest.mark.parametrize("score", SCORES)
def test_the_sensitivity_of_two_scores(score: Score) -> None:
    """The sum of two nodes' scores changes by *max* no more than one score.

    By *gain* it changes by more than one score does, and by at most twice that.
    """
    worst = 0.0
    tables = np.array(list(product(range(3), repeat=8)), float)
    places = {tuple(own): at for at, own in enumerate(tables)}
    sums = score_splits(tables[:, :2], tables[:, 2:4], score=score) + score_splits(
        tables[:, 4:6], tables[:, 6:], score=score
    )
    for counts, at in places.items():
        for other in neighbours(tuple(map(int, counts))):
            if other in places:
                worst = max(worst, abs(float(sums[at] - sums[places[other]])))
    assert worst <= sensitivity_of(score, choices=2) + 1e-12
    assert worst == pytest.approx(1) if score == "max" else worst > 1.4


# The exponential mechanism.


def laws(plan: SpecialisationPlan, tables: dict[str, Any]) -> dict[tuple[Any, ...], float]:
    """Compute the log-probability of every transcript of picks.

    It uses the steps to which the mechanism really rounds.
    """
    found: dict[tuple[Any, ...], float] = {}

    def follow(script: list[tuple[int, ...]]) -> None:
        said: list[float] = []

        class Undecided(Exception):
            def __init__(self, sizes: list[int]) -> None:
                self.sizes = sizes

        def pick(many: Sequence[Any]) -> Sequence[int]:
            if len(said) == len(script):
                raise Undecided([len(own) for own in many])
            picked, choice = (
                script[len(said)],
                choose_together(many, score=plan.score, epsilon=plan.epsilon_of_choice),
            )
            total = 0.0
            for part, at in zip(choice.parts, picked, strict=True):
                weights = part.steps * (part.epsilon / (2 * STEPS))
                total += float(weights[at] - np.logaddexp.reduce(weights))
            said.append(total)
            return picked

        try:
            specialise(plan, tables, pick=pick)
        except Undecided as undecided:
            for picked in product(*map(range, undecided.sizes)):
                follow([*script, picked])
        else:
            found[tuple(script)] = sum(said)

    follow([])
    return found


@pytest.mark.parametrize("score", SCORES)
def test_all_choices_together_cost_half_of_epsilon(score: Score) -> None:
    """Over all tables of two records, all neighbours and every transcript of choices."""
    schema = {"a": {"bins": 6, "range": [0, 6]}, "rich": ["no", "yes"]}
    plan = plan_of(schema, specialisations=1, budget=Budget.pure(6.0), score=score)
    kinds = list(product(range(6), range(2)))
    found: dict[tuple[int, ...], dict[tuple[Any, ...], float]] = {}
    for drawn in combinations_with_replacement(range(len(kinds)), 2):
        counts = np.zeros((6, 2))
        for record in drawn:
            counts[kinds[record]] += 1
        found[drawn] = laws(plan, {"a": counts})
    worst = 0.0
    for records, law in found.items():
        assert np.logaddexp.reduce(list(law.values())) == pytest.approx(
            0, abs=1e-9
        )  # a distribution
        for at, new in product(range(2), range(len(kinds))):
            other = found[tuple(sorted((*records[:at], *records[at + 1 :], new)))]
            worst = max(worst, *(abs(law[script] - other[script]) for script in law))
    assert worst <= plan.budget.amount / 2 * (1 + 1e-9)
    assert worst > plan.budget.amount / 20  # something was chosen by the records at all


def test_the_fields_of_a_joint_choice() -> None:
    one = choose_together([np.array([0.0, 5.0])], score="gain", epsilon=0.5)
    two = choose_together([np.array([0.0, 5.0])] * 2, score="gain", epsilon=0.5)
    assert (one.loss.epsilon, two.loss.epsilon) == (0.5, 0.5)
    assert two.sensitivity == pytest.approx(2, rel=1e-5)
    assert (one.scale, two.scale) == pytest.approx((4, 8), rel=1e-5)
    sure = choose_together(
        [np.array([0.0, 9.0]), np.array([9.0, 0.0, 0.0])], score="max", epsilon=1000
    )
    assert sure.draw(RandomStream(bytes(32))) == (1, 0)
    accountant = Accountant(party=1, parties=2, budget=1.0, neighbours="replace-one")
    accountant.release(two, to=0, phase="x", randomness=RandomStream(bytes(32)))
    assert accountant.spent == 0.5


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.01, 0.03, 0.1])
def test_the_noise_of_a_leaf_is_the_smaller_one(epsilon: float, delta: float) -> None:
    """By the deviations of Laplace and Gaussian noise, each with half of its budget."""
    kind: Any = find("dist-diff-gen")
    protocol = kind(kind.Parameters(epsilon=epsilon, delta=delta), mode="rigorous")
    laplace = math.sqrt(2) * 2 / (epsilon / 2)
    gaussian = math.sqrt(2 / (2 * rho_of(epsilon, delta=delta) / 2))
    expected = "epsilon" if laplace <= gaussian else "rho"
    assert protocol.plan(Domain(dict.fromkeys("ab", ("x", "y")))).budget.unit == expected


def test_the_budget_of_every_choice() -> None:
    done = run(mode="paper", epsilon=2.0, specialisations=3)
    releases = done.report["privacy"]["releases"]
    chosen = [own for own in releases if own["mechanism"] == "exponential"]
    assert {own["party"] for own in chosen} == {1}
    assert {own["epsilon"] for own in chosen} == {2.0 / (2 * (1 + 6))}
    assert 4 <= len(chosen) <= 1 + 6
    (told,) = [own for own in releases if own["mechanism"] == "exact-counts"]
    assert (told["party"], told["to"], told["epsilon"], told["scale"], told["sensitivity"]) == (
        2,
        1,
        1.0,
        0.0,
        4.0,
    )
    seen = {
        "public": 1.0,
        "curator": 1.0,
        "other_party": float("inf"),
        "curator_and_1": float("inf"),
    }
    assert {view: loss["epsilon"] for view, loss in told["seen"].items()} == seen
    privacy = done.report["privacy"]
    assert (
        privacy["epsilon"]["other_party"] == privacy["by_party"]["2"]["other_party"] == float("inf")
    )
    assert privacy["by_party"]["2"]["public"] == privacy["by_party"]["2"]["curator"] == 2.0
    assert max(privacy["by_party"]["1"].values()) <= 2.0 * (
        1 + 1e-9
    )  # what party 1 has told is still private
    leaves = [own for own in releases if own["phase"] == "leaves"]
    assert [(own["sensitivity"], own["epsilon"], own["scale"]) for own in leaves] == [
        (2, 1.0, 2.0)
    ] * 2  # 4 / eps
    (said,) = [text for text in done.report["warnings"] if "simulates" in text]
    assert "no epsilon holds for party 2 against party 1" in said


def test_rigorous_keeps_epsilon_for_everybody() -> None:
    done = run(epsilon=0.5)
    assert done.report["privacy"]["epsilon"] == {"public": 0.5, "curator": 0.5, "other_party": 0.5}
    found = [
        (own["phase"], own["sensitivity"], own["epsilon"])
        for own in done.report["privacy"]["releases"]
    ]
    assert sorted(found) == [("leaves", 2, 0.25)] * 2 + [("tables", 4, 0.25)] * 2
    assert not [text for text in done.report["warnings"] if "simulates" in text]
    assert "ClassCounts" not in set(done.ledger["kind"])


def test_as_printed_with_paillier_no_epsilon_holds_against_a_party() -> None:
    """With one noise, selected obliviously, nothing holds against either party.

    The report states both reasons.
    """
    done = run(
        mode="paper", aggregator="paillier", epsilon=1.0, key_bits=512, insecure_test_keys=True
    )
    by_party = done.report["privacy"]["by_party"]
    assert [by_party[party]["other_party"] for party in ("1", "2")] == [float("inf"), float("inf")]
    assert (
        sum("simulates" in text or "noise=selected" in text for text in done.report["warnings"])
        == 2
    )
    for line in done.report["communication"]["predicted"]:
        assert (line["messages"], line["payload_bytes"]) == (
            line["measured_messages"],
            line["measured_payload_bytes"],
        )


def test_exact_counts_are_sealed() -> None:
    """They are sealed with aggregator=clear as well, where nothing else is."""
    done = run(mode="paper", aggregator="clear")
    told = done.ledger.query("kind == 'ClassCounts'")
    assert told[["sender", "receiver"]].to_numpy().tolist() == [["party 2", "party 1"]]
    plain = sottovoce.encoded_size(Messages.ClassCounts(np.zeros(16, np.int64)))
    assert told["payload_bytes"].tolist() == [plain + 16]
    predicted = done.report["communication"]["predicted"]
    assert {line["kind"] for line in predicted} == {
        "Rows",
        "RowsByParty",
        "Introduction",
        "ClassCounts",
        "Specialised",
    }
    for line in predicted:
        assert (line["messages"], line["payload_bytes"]) == (
            line["measured_messages"],
            line["measured_payload_bytes"],
        )
    assert "Introduction" not in set(run(aggregator="clear").ledger["kind"])


# What is published.


def expected_leaves(frame: pd.DataFrame, model: Mapping[str, Any]) -> list[list[int]]:
    """Count every leaf of a model by its definition, from labels."""
    labels = Records(frame, schema=read_schema(SCHEMA))
    columns = {name: labels.column(name) for name in labels.attributes}
    counts = []
    for leaf in model["leaves"]:
        inside = np.ones(len(frame), bool)
        for (name, sets), at in zip(model["sets"].items(), leaf["sets"], strict=True):
            inside &= np.isin(columns[name].astype(str), sets[at])
        counts.append(
            [int((inside & (columns["rich"] == label)).sum()) for label in model["classes"]]
        )
    return counts


@pytest.mark.parametrize("mode", ["rigorous", "paper"])
@pytest.mark.parametrize("score", SCORES)
def test_without_noise_leaves_are_exact(mode: str, score: Score) -> None:
    done = run(mode=mode, score=score, specialisations=3, noise="laplace")
    model = done.model
    assert model["target"] == "rich"
    exact = expected_leaves(table(), model)
    assert [leaf["counts"] for leaf in model["leaves"]] == exact
    assert sum(map(sum, exact)) == 400
    assert done.synthetic is not None
    assert expected_leaves(done.synthetic, model) == exact
    assert done.report["outcome"] == {
        "target": "rich",
        "specialisations": "3",
        "leaves": len(exact),
    }
    assert done.synthetic["only"].eq("one").all()
    assert list(done.synthetic) == list(SCHEMA)


def greedy(frame: pd.DataFrame, *, score: Score, times: int) -> Cuts:
    """Specialise by the definition, in groups of records that are kept apart.

    A node's score is summed over all groups in which it stands.
    """
    schema = read_schema(SCHEMA)
    records = Records(frame, schema=schema)
    rows = [
        tuple(map(int, row))
        for row in zip(*(records.codes(name) for name in ("age", "colour", "rich")), strict=True)
    ]
    cuts: Cuts = {"age": (0, 5), "colour": (0, 3)}

    def value(attribute: int, low: int, middle: int, high: int) -> float:
        groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for row in rows:
            key = tuple(
                sum(row[at] >= border for border in own) for at, own in enumerate(cuts.values())
            )
            groups.setdefault(key, []).append(row)
        sides = [[0, 0], [0, 0]]
        for group in groups.values():
            for row in group:
                if low <= row[attribute] < high:
                    sides[row[attribute] >= middle][row[2]] += 1
        return round(brute_force(*sides, score=score), 9)

    def middle_of(attribute: int, low: int, high: int) -> int:
        if attribute == 1:
            return (low + high) // 2
        return max(range(low + 1, high), key=lambda middle: (value(0, low, middle, high), -middle))

    for _ in range(times):
        nodes = [
            (
                value(at, low, middle_of(at, low, high), high),
                -number,
                at,
                low,
                middle_of(at, low, high),
                high,
            )
            for number, (at, low, high) in enumerate(
                (at, low, high)
                for at, own in enumerate(cuts.values())
                for low, high in pairwise(own)
                if high - low > 1
            )
        ]
        _, _, at, _, middle, _ = max(nodes)
        name = ("age", "colour")[at]
        cuts[name] = tuple(sorted((*cuts[name], middle)))
    return cuts


@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_without_noise_the_best_is_chosen(times: int) -> None:
    labels = read_schema(SCHEMA).domain.labels
    for score in SCORES:
        expected = greedy(table(), score=score, times=times)
        sets = {
            name: [list(labels[name][low:high]) for low, high in pairwise(own)]
            for name, own in expected.items()
        }
        found = run(specialisations=times, score=score).model["sets"]
        assert found == {name: own for name, own in sets.items() if len(own) > 1}


def test_the_score_follows_from_the_mode() -> None:
    parameters = DistDiffGenParameters(aggregator="masks")
    assert NoisyTables(parameters, mode="rigorous").score == "gain"
    assert AsPrinted(parameters, mode="paper").score == "max"
    parameters = DistDiffGenParameters(aggregator="masks", score="max")
    assert NoisyTables(parameters, mode="rigorous").score == "max"


def test_the_first_of_equal_candidates_is_picked() -> None:
    assert pick_best([np.array([1.0, 2.0, 2.0 + 1e-12]), np.array([0.0, 3.0])]) == [1, 1]


def test_labels_inside_a_leaf_are_equally_likely() -> None:
    """Of the attribute that is not specialised every label has a third, or a fifth.

    The test is a chi-squared test after one specialisation.
    """
    plan = plan_of()
    cuts: Cuts = {"age": (0, 2, 5), "colour": (0, 3)}
    counts = np.array([3000, 0, 0, 3000])
    drawn = draw_rows(plan, cuts, counts, generator=np.random.default_rng(5))
    by_name = dict(zip(plan.domain.attributes, drawn, strict=True))
    assert np.bincount(by_name["rich"]).tolist() == [3000, 3000]
    assert set(by_name["age"][by_name["rich"] == 0].tolist()) == {0, 1}
    assert set(by_name["age"][by_name["rich"] == 1].tolist()) == {2, 3, 4}
    from scipy.stats import chi2

    colours = np.bincount(by_name["colour"], minlength=3)
    assert ((colours - 2000) ** 2 / 2000).sum() < chi2.ppf(1 - 1e-6, 2)
    assert not np.array_equal(np.sort(by_name["rich"]), by_name["rich"])  # rows are shuffled


def test_leaves_are_counted_by_their_definition() -> None:
    plan = plan_of()
    cuts: Cuts = {"age": (0, 1, 3, 5), "colour": (0, 1, 3)}
    counts = count_leaves(Records(table(), schema=read_schema(SCHEMA)), plan, cuts)
    model = describe(plan, cuts, counts)
    assert [leaf["counts"] for leaf in model["leaves"]] == expected_leaves(table(), model)
    assert model["sets"]["colour"] == [["red"], ["green", "blue"]]


def test_rounding_keeps_the_sum_and_no_bias() -> None:
    generator = np.random.default_rng(1)
    for _ in range(200):
        values = generator.dirichlet(np.ones(7)) * 50
        found = spread(values, 50, generator=generator)
        assert found.sum() == 50
        assert (np.abs(found - values) < 1 + 1e-5).all()
    mean = np.mean(
        [spread(np.array([0.3, 0.5, 0.2]), 1, generator=generator) for _ in range(10_000)], axis=0
    )
    assert mean == pytest.approx([0.3, 0.5, 0.2], abs=0.03)  # six standard deviations


def test_most_cells_bounds_the_leaves() -> None:
    plain, capped = run(specialisations=6), run(specialisations=6, most_cells=9)
    assert plain.report["outcome"]["specialisations"] == "6"
    assert capped.report["outcome"]["leaves"] * 2 <= 9
    assert capped.report["outcome"]["specialisations"].endswith(
        "of 6: most_cells=9 leaves no room for more"
    )
    predicted = {line["kind"] for line in capped.report["communication"]["predicted"]}
    assert "Specialised" not in predicted
    assert "Specialised" in {line["kind"] for line in plain.report["communication"]["predicted"]}


def test_specialisation_ends_at_single_labels() -> None:
    done = run(specialisations=50)
    assert done.report["outcome"]["specialisations"] == "6 of 50: every range is a single label"
    assert done.report["outcome"]["leaves"] == 15
    for line in done.report["communication"]["predicted"]:
        assert line["payload_bytes"] == line["measured_payload_bytes"], line["kind"]


def test_another_target_may_be_named() -> None:
    done = run(target="colour", specialisations=2)
    assert done.model["classes"] == ["red", "green", "blue"]
    assert set(done.model["sets"]) <= {"age", "rich"}


def test_the_same_seed_publishes_the_same() -> None:
    one, other = run(epsilon=0.3, seed=5), run(epsilon=0.3, seed=5)
    assert {name: one.files[name] for name in ("synthetic.csv", "model.json")} == {
        name: other.files[name] for name in ("synthetic.csv", "model.json")
    }
    assert one.files["synthetic.csv"] != run(epsilon=0.3, seed=6).files["synthetic.csv"]


def test_very_noisy_leaves_make_a_table() -> None:
    for mode in ("rigorous", "paper"):
        done = run(epsilon=0.001, mode=mode)
        assert done.synthetic is not None
        assert len(done.synthetic) == 400


# What is refused.


@pytest.mark.parametrize("parties", [1, 3, 5])
def test_other_numbers_of_parties_are_refused(parties: int) -> None:
    with pytest.raises(
        UsageError, match=rf"expected at (least|most) 2 parties for dist-diff-gen, found {parties}"
    ) as caught:
        run(data=table(), parties=parties)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "given", "message"),
    [
        (SCHEMA, {"target": "wealth"}, "expected an attribute of the data .*, found 'wealth'"),
        (SCHEMA, {"target": "only"}, "expected two or more labels of the target only, found 1"),
        (
            {"only": ["one"], "rich": ["no", "yes"]},
            {},
            "expected an attribute of two or more labels beside the target rich",
        ),
        (
            SCHEMA,
            {"target": "colour", "most_cells": 2},
            "expected most_cells of at least the 3 labels of colour, found 2",
        ),
        (SCHEMA, {"most_cells": 1}, "parameter most_cells, found 1"),
        (SCHEMA, {"specialisations": 0}, "parameter specialisations, found 0"),
        (SCHEMA, {"score": "gini"}, "parameter score, found 'gini'"),
        (
            SCHEMA,
            {"noise": "selected", "aggregator": "paillier"},
            "expected noise=laplace, gaussian or auto in mode rigorous",
        ),
    ],
)
def test_bad_parameters_are_refused(
    schema: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        run(schema=schema, **given)


def test_no_attributes_are_refused() -> None:
    protocol = NoisyTables(DistDiffGenParameters(aggregator="masks"), mode="rigorous")
    with pytest.raises(UsageError, match="expected at least two attributes, found none"):
        protocol.plan(Domain({}))


@pytest.mark.parametrize(
    ("borders", "message"),
    [
        ([(0, 5)], "rising borders for each of 2 attributes"),
        ([(0, 5), (0, 3), (0, 2)], "rising borders"),
        ([(0, 5), ()], "rising borders"),
        ([(0, 3, 2, 5), (0, 3)], "rising borders"),
        ([(0, 2, 2, 5), (0, 3)], "rising borders"),
        ([(0, 5), (1, 3)], "rising borders"),
        ([(0, 4), (0, 3)], "rising borders"),
        ([(0, 1, 2, 3, 5), (0, 1, 3)], "at most 3 specialisations and 12 cells, found 4 and 16"),
        ([(0, 1, 2, 5), (0, 1, 2, 3)], "found 4 and 18"),
        ([(0, 1, 2, 5), (0, 1, 3)], None),
        ([(0, 5), (0, 3)], None),
    ],
)
def test_cuts_that_cannot_be_are_refused(
    borders: list[tuple[int, ...]], message: str | None
) -> None:
    plan = plan_of(most_cells=12)
    if message is None:
        assert plan.read(borders) == dict(zip(("age", "colour"), borders, strict=True))
    else:
        with pytest.raises(ValueError, match=message):
            plan.read(borders)


def test_the_number_of_cells_alone_is_checked() -> None:
    with pytest.raises(ValueError, match="at most 3 specialisations and 10 cells, found 3 and 12"):
        plan_of(most_cells=10).read([(0, 1, 2, 5), (0, 1, 3)])


def test_wrong_cuts_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (as_printed, noisy_tables):
        monkeypatch.setattr(
            module, "specialise", lambda *_, **__: {"age": (0, 9), "colour": (0, 3)}
        )
    with pytest.raises(ConversationError, match=r"expected rising borders.*from the curator"):
        run()
    with pytest.raises(ConversationError, match=r"expected rising borders.*from party 1"):
        run(mode="paper")


@pytest.mark.parametrize("wrong", [np.zeros(15, np.int64), np.full(16, -1)])
def test_wrong_counts_end_the_run(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Disclosure, "draw", lambda *_: wrong)
    with pytest.raises(
        ConversationError, match="expected 16 counts of party 2, none below 0, found"
    ):
        run(mode="paper")


def test_exact_counts_are_not_printed() -> None:
    assert "array" not in repr(Disclosure(np.arange(3), 4.0, 1.0))
    assert isinstance(choose_together([np.ones(2)], score="max", epsilon=1), JointChoice)
