"""CLLDP's figures at their boundaries: terms, priors, rounds, growth, and what is forecast."""

from __future__ import annotations

from collections import Counter
from math import exp, expm1, log
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator import Marginal
from sottovoce.curator.decision_tree import Answer, Split
from sottovoce.curator.tree_levels import NodeEstimate
from sottovoce.messages import MessageError, UsageError
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Domain
from sottovoce.privacy.local import SymmetricUnary
from sottovoce.privacy.local.belief import PastReport, allocate
from sottovoce.privacy.local.groups import GroupBook
from sottovoce.privacy.local.heads import HeadsResponse, choose_heads, variance_of_set
from sottovoce.protocols.clldp import leaves as leaves_module
from sottovoce.protocols.clldp.estimates import GroupEstimate, pool
from sottovoce.protocols.clldp.growth import PrintedGrowth, TreeGrowth
from sottovoce.protocols.clldp.leaves import _read_tree, _write_tree, review_tree
from sottovoce.protocols.clldp.levels import LevelRounds, PrintedLevelRounds, RoundGroup
from sottovoce.protocols.clldp.messages import LabelMessages
from sottovoce.protocols.clldp.protocol import check_sets, group_figures, summary_of
from sottovoce.protocols.clldp.settings import (
    BeliefRules,
    LabelOptions,
    LabelSettings,
    label_of,
    prior_beliefs,
    read_prior,
)
from sottovoce.protocols.clldp.survey import CuratorLabelSurvey, choose_terms, divide_evenly
from sottovoce.protocols.clldp.terms import (
    MAX_CELLS,
    MAX_GROUPS,
    GroupRandomizers,
    GroupTerms,
    review_terms,
    settings_randomizers,
    terms_of_sets,
    write_terms,
)
from sottovoce.protocols.cost import Public
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

DOMAIN = Domain({"a": ("x", "y"), "b": ("x", "y", "z"), "l": ("n", "p")})


def settings_of(
    options: LabelOptions | None = None,
    *,
    cap: float | None = None,
    domain: Domain = DOMAIN,
    choice: Any = "scan",
) -> LabelSettings:
    rules = BeliefRules(sure=3.0, choice=choice, cap=cap)
    return LabelSettings(options or LabelOptions(), rules, domain, "l")


def group(**more: Any) -> GroupTerms:
    fields: dict[str, Any] = {
        "attributes": ("a",),
        "start": 0,
        "users": 10,
        "heads": 1,
        "belief": 0.5,
        "epsilon": 1.0,
        **more,
    }
    return GroupTerms(**fields)


def review(*groups: GroupTerms, settings: LabelSettings, users: int = 100, **more: Any) -> Any:
    terms = write_terms(settings.domain, groups)
    book = more.pop("book", GroupBook())
    return review_terms(
        terms, settings, users=users, key=bytes(16), book=book, **{"plain": False, **more}
    )


# ---- Terms


@pytest.mark.parametrize("excess", [1 - 1e-6, 1 + 1e-10, 1 + 1e-7, 1.5, 1.9])
def test_a_record_loses_no_more_than_the_cap(excess: float) -> None:
    """With omega = 1/2 and epsilon 1 a report loses ln((e - 1) / omega + 1) of a whole record."""
    loss = log(expm1(1.0) / 0.5 + 1)
    settings = settings_of(LabelOptions(epsilon=1.0), cap=loss / excess)
    if excess > 1 + 1e-9:
        with pytest.raises(ValueError, match="of the whole record"):
            review(group(), settings=settings)
    else:
        assert review(group(), settings=settings).groups == (group(),)


def test_the_cap_is_on_all_reports_together() -> None:
    settings = settings_of(LabelOptions(epsilon=1.0), cap=1.0)
    half = log(expm1(0.3) / 0.5 + 1)
    first = review(group(epsilon=0.3), settings=settings)
    assert 1.0 < 2 * half < 1.1
    with pytest.raises(ValueError, match="at most epsilon 1 of the whole record"):
        review(group(epsilon=0.3), settings=settings, book=first.book)
    review(group(epsilon=0.2), settings=settings, book=first.book)


@pytest.mark.parametrize(
    ("epsilon", "is_refused"),
    [(0.0, True), (1e-9, False), (1.0, False), (1 + 1e-10, False), (1 + 1e-8, True), (1.9, True)],
)
def test_a_report_has_no_more_than_epsilon(epsilon: float, is_refused: bool) -> None:
    settings = settings_of(LabelOptions(epsilon=1.0))
    if is_refused:
        with pytest.raises(ValueError, match="an epsilon above 0 and at most 1"):
            review(group(epsilon=epsilon), settings=settings)
    else:
        review(group(epsilon=epsilon), settings=settings)


@pytest.mark.parametrize(
    ("start", "users", "is_refused"),
    [
        (0, 100, False),
        (99, 1, False),
        (60, 40, False),
        (60, 41, True),
        (100, 1, True),
        (0, 101, True),
        (0, 0, True),
        (-1, 5, True),
    ],
)
def test_groups_are_of_users_that_there_are(start: int, users: int, is_refused: bool) -> None:
    settings = settings_of(LabelOptions(epsilon=1.0))
    terms = group(start=start, users=users)
    if is_refused:
        with pytest.raises(ValueError, match="expected groups of at least one of 100 users"):
            review(terms, settings=settings)
    else:
        assert review(terms, settings=settings).groups == (terms,)


@pytest.mark.parametrize(
    ("heads", "belief", "match"),
    [
        (1, 0.5, ""),
        (2, 1.0, ""),
        (3, 1.0, "expected 1 to 2 heads of 4 cells"),
        (0, 1.0, "expected 1 to 2 heads of 4 cells"),
        (1, 0.5 - 1e-9, "expected omega of 0.5 to 1"),
        (2, 0.9, "expected omega of 1 to 1"),
        (1, 1 + 1e-9, "expected omega"),
    ],
)
def test_heads_and_beliefs_at_their_boundaries(heads: int, belief: float, match: str) -> None:
    """Of four cells at most two are reported; omega is at least k of two values."""
    settings = settings_of(LabelOptions(epsilon=1.0))
    terms = group(heads=heads, belief=belief)
    if match:
        with pytest.raises(ValueError, match=match):
            review(terms, settings=settings)
    else:
        assert review(terms, settings=settings).groups == (terms,)


def test_a_table_has_as_many_cells_as_a_report_can_hold() -> None:
    """The bound is 2^17 = 131,072 cells of the label and the attributes."""
    assert MAX_CELLS == 131_072
    for size, is_refused in ((256, False), (257, True)):
        labels = {"a": tuple(map(str, range(256))), "b": tuple(map(str, range(size)))}
        domain = Domain({**labels, "l": ("n", "p")})
        settings = settings_of(LabelOptions(epsilon=1.0), domain=domain)
        terms = group(attributes=("a", "b"), belief=1.0)
        if is_refused:
            with pytest.raises(ValueError, match="at most 131,072 cells, found 131,584"):
                review(terms, settings=settings)
            with pytest.raises(
                UsageError,
                match=r"beside l with fewer .* found b with 257, a with 256 and l with 2",
            ):
                check_sets(domain, "l", [("a", "b")])
        else:
            review(terms, settings=settings)
            check_sets(domain, "l", [("a", "b")])


def test_a_round_has_a_bounded_number_of_groups() -> None:
    """The bound is 2^16 groups; each has its place, size, k, omega and epsilon."""
    settings = settings_of(LabelOptions(epsilon=1.0))
    columns: dict[str, Any] = {
        "starts": np.arange(MAX_GROUPS + 1),
        "sizes": np.ones(MAX_GROUPS + 1, np.int64),
        "heads": np.ones(MAX_GROUPS + 1, np.int64),
        "beliefs": np.ones(MAX_GROUPS + 1),
        "epsilons": np.ones(MAX_GROUPS + 1),
    }
    assert MAX_GROUPS == 65_536
    many = LabelMessages.Terms(questions=((0,),) * (MAX_GROUPS + 1), **columns)
    with pytest.raises(ValueError, match="for each of 65537 groups"):
        review_terms(many, settings, users=70_000, key=bytes(16), book=GroupBook(), plain=False)
    few = {name: column[:2] for name, column in columns.items()}
    for name in few:
        short = {**few, name: few[name][:1]}
        terms = LabelMessages.Terms(questions=((0,), (1,)), **short)
        with pytest.raises(ValueError, match="for each of 2 groups"):
            review_terms(terms, settings, users=100, key=bytes(16), book=GroupBook(), plain=False)


def test_terms_are_written_as_they_are_read() -> None:
    groups = (group(), group(attributes=("a", "b"), start=10, users=3, heads=2, belief=0.75))
    settings = settings_of(LabelOptions(epsilon=1.0))
    assert review(*groups, settings=settings).groups == groups
    written = terms_of_sets(DOMAIN, [("a",), ("a", "b")])
    assert written.questions == ((0,), (0, 1))
    lengths = {len(column) for column in (written.starts, written.sizes, written.heads)}
    assert lengths | {len(written.beliefs), len(written.epsilons)} == {2}


def test_groups_that_are_asked_alike_share_a_randomizer() -> None:
    makers = GroupRandomizers("khr", labels=2)
    first = makers.of(6, epsilon=1.0, belief=0.5, heads=2)
    assert makers.of(6, epsilon=1.0, belief=0.5, heads=2) is first
    assert isinstance(first, HeadsResponse)
    assert (first.cells, first.chosen, first.belief) == (6, 2, 0.5)
    for other in ((6, 0.9, 0.5, 2), (6, 1.0, 0.6, 2), (6, 1.0, 0.5, 1), (8, 1.0, 0.5, 2)):
        cells, epsilon, belief, heads = other
        assert makers.of(cells, epsilon=epsilon, belief=belief, heads=heads) is not first
    basic = GroupRandomizers("basic", labels=2)
    assert isinstance(basic.of(6, epsilon=1.0, belief=1.0, heads=2), SymmetricUnary)


# ---- Settings


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"epsilon": 300.0}, ""),
        ({"epsilon": 300.1}, "an epsilon of at most 300"),
        ({"users": 999_999_999, "simulate": "counts"}, ""),
        ({"users": 1_000_000_000, "simulate": "counts"}, "fewer than 1,000,000,000 users"),
        ({"users": 1_000_000_000}, ""),
        ({"record_cap": 0.0}, ""),
        ({"belief": "prior"}, "prior= with belief=prior"),
        ({"prior": "a:0.5"}, "prior= with belief=prior"),
    ],
)
def test_options_at_their_boundaries(more: dict[str, Any], match: str) -> None:
    if match:
        with pytest.raises(UsageError, match=match):
            LabelOptions(**more)
    else:
        options = LabelOptions(**more)
        assert all(getattr(options, name) == value for name, value in more.items())


@pytest.mark.parametrize("entry", ["a:0", "a:1.01", "a:-0.5", "a:nan", "a", "c:0.5", "a:x", ""])
def test_priors_that_cannot_be(entry: str) -> None:
    assert read_prior("a:1,*:0.25", ("a", "b")) == {"a": 1.0, "b": 0.25}
    with pytest.raises(UsageError, match="expected ATTRIBUTE:OMEGA"):
        read_prior(f"b:0.5,{entry}", ("a", "b"))


def test_prior_beliefs_by_hand() -> None:
    """k times the least omega of the attributes, which is 1/m at least, up to 1."""
    both = prior_beliefs("a:0.4,b:0.6", attributes=("a", "b"), values=6, names=("a", "b"))
    assert both == pytest.approx([0.4, 0.8, 1, 1, 1, 1])
    even = prior_beliefs("a:0.1", attributes=("a",), values=4, names=("a", "b"))
    assert even == pytest.approx([0.25, 0.5, 0.75, 1])


@pytest.mark.parametrize(
    ("more", "plain", "least"),
    [
        ({}, False, (1 / 3, 2 / 3, 1.0, 1.0)),
        ({}, True, (1.0,) * 4),
        ({"belief": "none"}, False, (1.0,) * 4),
        ({"randomizer": "basic"}, False, (1.0,) * 4),
        ({"belief": "prior", "prior": "b:0.45"}, False, (0.45, 0.9, 1.0, 1.0)),
        ({"belief": "prior", "prior": "b:0.45"}, True, (1.0,) * 4),
    ],
)
def test_the_least_belief_that_users_accept(
    more: dict[str, Any], plain: bool, least: tuple[float, ...]
) -> None:
    settings = settings_of(LabelOptions(**more))
    found = [settings.least_belief(("b",), heads=heads, plain=plain) for heads in (1, 2, 3, 4)]
    assert found == pytest.approx(least)


@pytest.mark.parametrize(
    ("more", "size"),
    [({}, 10), ({"sample": 0.25}, 25), ({"sample": 0.001}, 1), ({"belief": "none"}, 0)],
)
def test_the_sample_is_a_share_of_the_users(more: dict[str, Any], size: int) -> None:
    assert settings_of(LabelOptions(**more)).sample_size(100) == size


def test_rules_follow_the_options() -> None:
    defaults: dict[str, Any] = {"sure": 3.0, "choice": "scan", "cap": 4.0}
    assert BeliefRules.of(LabelOptions(), **defaults) == BeliefRules(3.0, "scan", 4.0)
    assert BeliefRules.of(LabelOptions(), **{**defaults, "cap": 0.0}).cap is None
    chosen = LabelOptions(sure=0.0, choice="paper", record_cap=0.0)
    assert BeliefRules.of(chosen, **defaults) == BeliefRules(0.0, "paper", None)


def test_the_label_needs_two_classes_and_company() -> None:
    domain = Domain({"a": ("x",), "b": ("x", "y"), "c": ("x", "y")})
    assert label_of(domain, "") == "c"
    assert label_of(domain, "b") == "b"
    with pytest.raises(UsageError, match="at least two classes, found a"):
        label_of(domain, "a")
    with pytest.raises(UsageError, match="two labels or more beside b, found none"):
        label_of(domain.project(("a", "b")), "")


@pytest.mark.parametrize("protocol", ["clldp-joint", "clldp-naive-bayes", "clldp-decision-tree"])
def test_attributes_of_one_label_are_not_asked(protocol: str) -> None:
    domain = Domain({"a": ("x", "y"), "one": ("x",), "b": ("x", "y", "z"), "l": ("n", "p")})
    made: Any = instantiate(Job(protocol=protocol, parameters={}, parties=2))
    assert made.sets(domain) == [("a",), ("b",)]


def test_sets_are_named() -> None:
    parameters = {"attributes": "a, b;b"}
    made: Any = instantiate(Job(protocol="clldp-joint", parameters=parameters, parties=2))
    assert made.sets(DOMAIN) == [("a", "b"), ("b",)]
    for wrong in ("a,a", "a,l", "a;b,b"):
        made = instantiate(Job(protocol="clldp-joint", parameters={"attributes": wrong}, parties=2))
        with pytest.raises(UsageError, match="different attributes beside l in a set"):
            made.sets(DOMAIN)


# ---- Sharing out


def test_users_are_shared_out_evenly() -> None:
    sets = [("a",), ("b",), ("a", "b")]
    shares = divide_evenly(range(10, 21), sets)
    assert [names for names, _, _ in shares] == sets
    assert sum(size for _, _, size in shares) == 11
    assert {size for _, _, size in shares} == {3, 4}
    places = [place for _, start, size in shares for place in range(start, start + size)]
    assert places == list(range(10, 21))
    assert [size for _, _, size in divide_evenly(range(5, 8), sets)] == [1, 1, 1]
    with pytest.raises(UsageError, match="at least a user for each of 3 sets"):
        divide_evenly(range(5, 7), sets)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_terms_have_the_share_of_the_cap(epsilon: float) -> None:
    """At a share of epsilon a report may lose this share of the cap, so omega is raised to it."""
    settings = settings_of(LabelOptions(epsilon=1.0), cap=1.5)
    curve = np.array([0.34, 0.7, 1.0])
    heads, belief = choose_terms(6, 3, curve, settings, epsilon=epsilon)
    least = expm1(epsilon) / expm1(1.5 * epsilon)
    bounds = [max(omega, least) for omega in (0.34, 0.7, 1.0)]
    assert heads == choose_heads(6, epsilon=epsilon, beliefs=bounds)
    assert belief == pytest.approx(bounds[heads - 1])
    assert log(expm1(epsilon) / belief + 1) <= 1.5 * epsilon * (1 + 1e-9)


def test_fixed_heads_have_their_belief() -> None:
    """With more heads than omegas the belief is 1; k of m cells is its least value."""
    options = LabelOptions(epsilon=1.0, heads=2)
    curve = np.array([0.2, 0.3])
    heads, belief = choose_terms(6, 3, curve, settings_of(options), epsilon=1.0)
    assert heads == 2
    assert belief == pytest.approx(2 / 3)
    assert choose_terms(6, 3, np.array([0.2]), settings_of(options), epsilon=1.0) == (2, 1.0)
    three = settings_of(LabelOptions(epsilon=1.0, heads=3))
    assert choose_terms(6, 3, curve, three, epsilon=1.0)[0] == 3
    with pytest.raises(UsageError, match=r"heads of at most half of .*, 2 for 3 values, found 3"):
        choose_terms(5, 3, curve, three, epsilon=1.0)


@pytest.mark.parametrize("cells", [[1, 2, 3], [1, 2, 3, 4, 5], [0, 0, -1, 1]])
def test_counts_of_an_oracle_that_cannot_be(cells: list[int]) -> None:
    message = LabelMessages.Counts(np.array(cells))
    desk: Any = SimpleNamespace(gather_answers=lambda _: {1: message}, where=None)
    survey = CuratorLabelSurvey.__new__(CuratorLabelSurvey)
    survey._desk, survey._settings = desk, settings_of(LabelOptions(belief="oracle"))
    with pytest.raises(MessageError, match="expected 4 counts of cohort 1"):
        survey.find_beliefs([("a",)])


def test_an_oracle_knows_omega() -> None:
    """Pr[x | n] = 0.2 and Pr[x | p] = 0.75: the likelier value of n has 0.8."""
    counts = [np.array([10, 40, 50, 20]), np.array([0, 0, 10, 0])]
    messages = {rank: LabelMessages.Counts(part) for rank, part in enumerate(counts, start=1)}
    desk: Any = SimpleNamespace(gather_answers=lambda _: messages, where=None)
    survey = CuratorLabelSurvey.__new__(CuratorLabelSurvey)
    survey._desk, survey._settings = desk, settings_of(LabelOptions(belief="oracle"))
    assert survey.find_beliefs([("a",)])["a",] == pytest.approx([0.8, 1.0])
    empty = dict.fromkeys((1, 2), LabelMessages.Counts(np.array([0, 0, 3, 1])))
    survey._desk = SimpleNamespace(gather_answers=lambda _: empty, where=None)  # type: ignore[assignment]
    assert survey.find_beliefs([("a",)])["a",] == pytest.approx([0.75, 1.0])


# ---- Estimates


def estimate(
    joint: Any, *, users: int, names: tuple[str, ...] = ("a",), basic: bool = False
) -> GroupEstimate:
    values = np.asarray(joint, float)
    randomizer: Any = (
        SymmetricUnary(values.size, epsilon=1.0)
        if basic
        else HeadsResponse(values.size, epsilon=1.0, belief=0.5, chosen=1)
    )
    return GroupEstimate(names, Marginal(("l", *names), values), users, randomizer)


def test_estimates_are_pooled_by_their_variances() -> None:
    """Four times the users have a quarter of the variance, and four times the weight."""
    one = estimate([[0.1, 0.2], [0.3, 0.4]], users=100)
    four = estimate([[0.6, 0.2], [0.3, -0.1]], users=400)
    other = estimate([[9.0, 0], [0, 0]], users=400, names=("c",))
    assert one.variance == pytest.approx(4 * four.variance)
    pooled = pool(one, [other, four])
    assert pooled.joint == pytest.approx(np.array([[0.5, 0.2], [0.3, 0.0]]))
    assert (pooled.users, pooled.attributes) == (500, ("a",))
    assert pooled.variance == pytest.approx(one.variance / 5)
    alone = pool(one, [])
    assert (alone.variance, alone.users) == (one.variance, 100)


def test_the_variance_of_some_cells() -> None:
    heads = estimate(np.full((2, 3), 1 / 6), users=50)
    p = float(heads.randomizer.p)
    for size in (1, 2, 6):
        expected = variance_of_set(cells=6, chosen=1, p=p, size=size, users=50)
        assert heads.variance_of(size) == pytest.approx(expected)
    assert (heads.belief, heads.heads) == (0.5, 1)
    basic = estimate(np.full((2, 3), 1 / 6), users=50, basic=True)
    assert basic.variance_of(3) == pytest.approx(3 * basic.randomizer.variance(users=50))
    assert (basic.belief, basic.heads) == (1.0, None)


def test_how_sets_were_asked() -> None:
    one = estimate(np.full((2, 2), 0.25), users=70)
    basic = estimate(np.full((2, 3), 1 / 6), users=30, names=("b",), basic=True)
    figures: Any = group_figures([one, basic])
    assert figures["a"]["omega"] == 0.5
    assert (figures["a"]["k"], figures["a"]["users"]) == (1, 70)
    assert figures["a"]["epsilon of the whole record"] == pytest.approx(log(expm1(1) / 0.5 + 1))
    assert (figures["b"]["omega"], figures["b"]["k"]) == (1.0, None)
    assert summary_of([one, basic], users=100, label="l") == {
        "users": 100,
        "label": "l",
        "omega": "0.5 to 1",
        "k": 1,
    }
    assert summary_of([one, one], users=100, label="l")["omega"] == "0.5"
    wide = GroupEstimate(
        ("b",),
        Marginal(("l", "b"), np.full((2, 3), 1 / 6)),
        5,
        HeadsResponse(6, epsilon=1.0, belief=0.5, chosen=3),
    )
    assert summary_of([one, wide], users=5, label="l")["k"] == "1 to 3"
    assert "k" not in summary_of([basic], users=5, label="l")


# ---- Growth


class Exact:
    """A table with hardly any noise."""

    def __init__(self, joint: Marginal, *, variance: float = 1e-12) -> None:
        self.joint = joint
        self.attributes = joint.attributes[1:]
        self._variance = variance

    def variance_of(self, size: int) -> float:
        return self._variance * size


def growth_of(*tables: Any, kind: type[TreeGrowth] = TreeGrowth) -> TreeGrowth:
    return kind(DOMAIN, ("a", "b"), list(tables))


def test_without_tables_there_is_no_tree() -> None:
    for kind in (TreeGrowth, PrintedGrowth):
        growth = growth_of(kind=kind)
        growth.grow(last=False)
        assert (growth.tests, growth.labels, growth.waiting) == ({}, {(): 0}, [])
        assert growth.is_leaf(None) == (kind is TreeGrowth)


def test_a_tree_grows_by_hand() -> None:
    """The label follows from b alone: z is mostly p, and the rest n."""
    joint = np.zeros((2, 2, 3))
    joint[0] = [[0.15, 0.15, 0.02], [0.15, 0.15, 0.02]]
    joint[1] = [[0.05, 0.05, 0.08], [0.05, 0.05, 0.08]]
    joint /= joint.sum()
    growth = growth_of(Exact(Marginal(("l", "a", "b"), joint)))
    growth.grow(last=False)
    test = Split("b", (2,))
    yes, no = (Answer(test, yes=True),), (Answer(test, yes=False),)
    assert growth.tests == {(): test}
    assert growth.labels == {(): 0, yes: 1, no: 0}
    assert growth.waiting == [yes, no]
    # Neither a nor another value of b tells more, so the tree ends there.
    growth.grow(last=False)
    assert growth.tests == {(): test}
    assert growth.waiting == []
    once = growth_of(Exact(Marginal(("l", "a", "b"), joint)))
    once.grow(last=True)
    assert (once.tests, once.waiting) == ({(): test}, [])


def test_a_node_is_tested_where_a_later_attribute_helps() -> None:
    """After b was answered with yes, a is still tested; after no, other values of b as well."""
    joint = np.zeros((2, 2, 3))
    joint[0] = [[0.30, 0.02, 0.02], [0.02, 0.06, 0.10]]
    joint[1] = [[0.02, 0.20, 0.10], [0.10, 0.02, 0.02]]
    joint /= joint.sum()
    domain = Domain({"b": ("x", "y", "z"), "a": ("x", "y"), "l": ("n", "p")})
    growth = TreeGrowth(domain, ("b", "a"), [Exact(Marginal(("l", "a", "b"), joint))])  # type: ignore[list-item]
    for _ in range(6):
        growth.grow(last=False)
    exact = {}
    tree = growth.tree
    for a in range(2):
        for b in range(3):
            codes = {"a": np.array([a]), "b": np.array([b])}
            exact[a, b] = int(tree.predict(codes, 1)[0])
    assert exact == {(a, b): int(joint[:, a, b].argmax()) for a in range(2) for b in range(3)}
    tested = Counter(test.attribute for test in growth.tests.values())
    assert tested["a"] >= 2


def test_a_leaf_does_not_end_the_level() -> None:
    """Of two waiting branches the first has no test that helps, and the second has one."""
    joint = np.zeros((2, 2, 3))
    joint[0] = [[0.2, 0.2, 0.0], [0.1, 0.1, 0.0]]
    joint[1] = [[0.0, 0.0, 0.1], [0.1, 0.1, 0.1]]
    growth = growth_of(Exact(Marginal(("l", "a", "b"), joint)))
    test = Split("b", (2,))
    paths = [(Answer(test, yes=True),), (Answer(test, yes=False),)]
    growth.waiting = list(paths)
    growth.grow(last=True)
    assert {path: tested.attribute for path, tested in growth.tests.items()} == {paths[1]: "a"}


def test_a_node_is_a_leaf_if_its_mass_is_not_above_the_noise() -> None:
    """Two rows of variance v vary together by sqrt(2 v); twice that is the bound."""
    growth = growth_of()
    bound = 2 * (2 * 0.02) ** 0.5
    for mass, is_leaf in ((bound * 0.999, True), (bound * 1.001, False)):
        table = np.array([[mass / 4, mass / 4], [mass / 4, mass / 4]])
        assert growth.is_leaf(NodeEstimate(table, 0.01, 0.02)) == is_leaf
        assert not growth_of(kind=PrintedGrowth).is_leaf(NodeEstimate(table, 0.01, 0.02))


def test_a_label_wins_where_it_leads_beyond_the_noise() -> None:
    """The lead of 0.1 counts, unless it is below two deviations of the rows' difference."""
    table = np.array([[0.2, 0.1], [0.3, 0.1]])
    growth, printed = growth_of(), growth_of(kind=PrintedGrowth)
    assert growth.winner(NodeEstimate(table, 1e-9, 1e-9)) == 1
    assert growth.winner(NodeEstimate(table, 1.0, 1.0)) is None
    assert printed.winner(NodeEstimate(table, 1.0, 1.0)) == 1
    wide = np.array([[0.1, 0.1, 0.1], [0.0, 0.0, 0.9]])
    assert printed.winner(NodeEstimate(wide, 1.0, 1.0)) == 1


def test_a_label_without_evidence_is_that_of_the_parent() -> None:
    growth = growth_of(Exact(Marginal(("l", "a"), np.array([[0.1, 0.1], [0.4, 0.4]]))))
    path = (Answer(Split("b", (0,)), yes=True),)
    growth.labels[()] = 1
    assert growth._label(None, path) == 1
    assert growth._label(NodeEstimate(np.array([[0.9], [0.1]]), 1e-9, 1e-9), path) == 0
    assert growth._label(NodeEstimate(np.array([[0.9], [0.1]]), 9.0, 9.0), path) == 1
    growth.labels[path] = 0
    assert growth._label(None, (*path, Answer(Split("a", (0,)), yes=False))) == 0


# ---- Rounds of levels


def rounds_of(
    *, depth: int = 3, cap: float | None = None, kind: type[LevelRounds] = LevelRounds, **more: Any
) -> LevelRounds:
    settings = settings_of(LabelOptions(epsilon=1.0, **more), cap=cap)
    curves: dict[tuple[str, ...], Any] = {
        ("a",): np.array([0.7, 1.0]),
        ("b",): np.array([0.5, 0.8, 1.0]),
    }
    return kind(settings, depth, "tight", curves)


def test_a_group_is_parted_evenly_over_its_candidates() -> None:
    path = (Answer(Split("a", (0,)), yes=True),)
    parts = rounds_of()._draw(RoundGroup(7, 11, ("a",)), [path], ["a", "b"])
    assert [(part.drawn, part.start, part.users) for part in parts] == [(("a", "b"), 7, 11)]
    both = rounds_of()._draw(RoundGroup(7, 11, ()), [path], ["a", "b"])
    assert (both[0].drawn, both[0].start) == (("a",), 7)
    assert sum(part.users for part in both) == 11
    single = rounds_of()._draw(RoundGroup(3, 1, ("a", "b")), [path], ["a", "b"])
    assert sum(part.users for part in single) == 1
    assert all(part.users for part in single)


@pytest.mark.parametrize("number", [1, 2])
def test_the_terms_of_a_round_by_hand(number: int) -> None:
    """omega of two attributes is at most that of each, and at least k of their values."""
    rounds = rounds_of()
    reports = () if number == 1 else (PastReport(0.7, 1.5),)
    drawn = RoundGroup(0, 20, ("b", "a"), reports)
    terms = rounds._terms_of(drawn, number=number)
    assert terms is not None
    assert terms.attributes == ("a", "b")  # in the order of the domain
    omegas = [0.5, 0.8, 1.0, 1.0, 1.0, 1.0]  # the least of both curves, at least k / 6
    assert terms.belief == pytest.approx(omegas[terms.heads - 1])
    budget: dict[str, Any] = {"epsilon": 1.0, "rounds": 3, "allocation": "tight", "cap": None}
    assert terms.epsilon == pytest.approx(
        allocate(reports, belief=terms.belief, number=number, **budget)
    )
    first = allocate(reports, belief=0.5, number=number, **budget)
    curve = np.array(omegas)
    assert terms.heads == choose_terms(12, 6, curve, rounds.settings, epsilon=first)[0]
    assert (terms.start, terms.users) == (0, 20)


def test_fixed_heads_of_a_round() -> None:
    """k is at most half of the cells; with more heads than omegas the belief is 1."""
    terms = rounds_of(heads=9)._terms_of(RoundGroup(0, 20, ("a",)), number=1)
    assert terms is not None
    assert (terms.heads, terms.belief) == (2, 1.0)
    one = rounds_of(heads=1)._terms_of(RoundGroup(0, 20, ("a",)), number=1)
    assert one is not None
    assert (one.heads, one.belief) == (1, 0.7)
    basic = rounds_of(randomizer="basic", heads=1)._terms_of(RoundGroup(0, 20, ("a",)), number=1)
    assert basic is not None
    assert basic.belief == 1.0
    printed = rounds_of(kind=PrintedLevelRounds)
    assert printed.fixed_heads(RoundGroup(0, 20, ("a",), heads=4)) == 4
    assert rounds_of().fixed_heads(RoundGroup(0, 20, ("a",), heads=4)) == 0


def test_where_no_budget_is_left_nobody_is_asked() -> None:
    spent = (PastReport(1.0, exp(1.0)),)
    group_ = RoundGroup(0, 20, ("a", "b"), spent, heads=1)
    assert rounds_of()._terms_of(group_, number=2) is None
    asked, after = rounds_of()._terms([group_], number=2, idle=False)
    assert (asked, after) == ([], [group_])


def test_who_draws_an_attribute_again_reports_nothing() -> None:
    fresh, again = RoundGroup(0, 20, ("a", "b")), RoundGroup(20, 10, ("a", "a"))
    rounds = rounds_of()
    asked, after = rounds._terms([fresh, again], number=2, idle=False)
    assert [terms.start for terms in asked] == [0]
    assert after[1] == again
    assert after[0].heads == asked[0].heads
    randomizer = settings_randomizers(rounds.settings).of_group(asked[0], rounds.settings)
    assert after[0].reports == (PastReport(asked[0].belief, float(randomizer.ratio)),)
    assert rounds._terms([fresh, again], number=2, idle=True) == ([], [fresh, again])
    first, _ = rounds._terms(
        [RoundGroup(0, 20, ("a",)), RoundGroup(20, 9, ("b",))], number=1, idle=False
    )
    assert [terms.attributes for terms in first] == [("a",), ("b",)]


# ---- Trees that are sent


def chain(nodes: int) -> tuple[tuple[int, ...], ...]:
    """Make a tree of an odd number of nodes, in which each no leads to the next test."""
    tests = [(0, 2 * index + 1, 2 * index + 2, 0) for index in range(nodes // 2)]
    lines: list[tuple[int, ...]] = []
    for test in tests:
        lines += [test, ()]
    return (*lines, ())


def test_a_tree_has_at_most_as_many_nodes_as_a_role_reads() -> None:
    """The bound is 2^14 = 16,384 nodes, and a tree has an odd number of them."""
    assert len(_read_tree(chain(16_383), DOMAIN, label="l").nodes) == 16_383
    with pytest.raises(ValueError, match="a tree of 1 to 16384 nodes, found 16385"):
        _read_tree(chain(16_385), DOMAIN, label="l")
    small = chain(5)
    assert _write_tree(_read_tree(small, DOMAIN, label="l"), DOMAIN) == small


@pytest.mark.parametrize(
    ("start", "size", "heads", "is_refused"),
    [
        (0, 100, 1, False),
        (99, 1, 1, False),
        (0, 1, 2, False),
        (0, 0, 1, True),
        (-1, 2, 1, True),
        (50, 51, 1, True),
        (0, 10, 0, True),
        (0, 10, 3, True),
    ],
)
def test_users_accept_trees_at_the_boundaries(
    start: int, size: int, heads: int, is_refused: bool
) -> None:
    """Two leaves and two labels make four cells, of which two are reported at most."""
    request = LabelMessages.Grown(nodes=chain(3), start=start, size=size, heads=heads)
    options: dict[str, Any] = {"users": 100, "book": GroupBook()}
    settings = settings_of(LabelOptions(epsilon=1.0))
    if is_refused:
        with pytest.raises(ValueError, match=r"expected some of 100 users|expected 1 to 2 heads"):
            review_tree(request, settings, **options)
    else:
        assert len(review_tree(request, settings, **options).leaves) == 2
    alone = LabelMessages.Grown(nodes=((),), start=0, size=10, heads=1)
    assert len(review_tree(alone, settings, **options).leaves) == 1


def test_a_leaf_and_a_label_make_a_cell() -> None:
    """Rows of x reach leaf 1, which is the first; a label's cells stand in a row."""
    tree = _read_tree(chain(3), DOMAIN, label="l")
    columns = {"a": np.array([0, 1, 0, 1]), "l": np.array([0, 0, 1, 1])}

    class Rows:
        def codes(self, name: str) -> Any:
            return columns[name]

        def __len__(self) -> int:
            return 4

    cells = leaves_module._values(Rows(), tree, label="l")  # type: ignore[arg-type]
    assert cells.tolist() == [0, 1, 2, 3]


# ---- Forecasts and what is said


@pytest.mark.parametrize("protocol", ["clldp-joint", "clldp-naive-bayes", "clldp-decision-tree"])
@pytest.mark.parametrize(
    ("parameters", "phases"),
    [
        ({"belief": "oracle"}, {"users", "beliefs", "reports"}),
        ({"belief": "sample"}, {"users", "beliefs", "reports"}),
        ({"belief": "none"}, {"users", "reports"}),
        ({"belief": "prior", "prior": "*:0.9"}, {"users", "reports"}),
    ],
)
def test_the_phases_before_reports_are_predicted(
    protocol: str, parameters: dict[str, Any], phases: set[str]
) -> None:
    job = Job(protocol=protocol, parameters=parameters, parties=2)
    public = Public(parties=2, rows=100, key_bits=2048, domain=DOMAIN)
    lines = list(instantiate(job).predict(public) or [])
    assert {line.phase for line in lines} == phases
    beliefs = [line for line in lines if line.phase == "beliefs"]
    assert all(line.payload_bytes > 0 and line.messages == 2 for line in beliefs)


@pytest.mark.parametrize(
    ("mode", "parameters", "expected"),
    [
        ("rigorous", {"epsilon": 1.5}, (3.0, "scan", 3.0)),
        ("paper", {"epsilon": 1.5}, (0.0, "paper", 0.0)),
        (
            "rigorous",
            {"epsilon": 1.5, "sure": 1.0, "choice": "paper", "record_cap": 2.0},
            (1.0, "paper", 2.0),
        ),
    ],
)
@pytest.mark.parametrize("protocol", ["clldp-joint", "clldp-naive-bayes", "clldp-decision-tree"])
def test_what_open_parameters_stand_for(
    protocol: str, mode: Any, parameters: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    made: Any = instantiate(Job(protocol=protocol, mode=mode, parameters=parameters, parties=2))
    assert (made.sure, made.choice, made.record_cap) == expected
    assert made.epsilon == 1.5
    oracle: Any = instantiate(
        Job(protocol=protocol, mode=mode, parameters={"belief": "oracle"}, parties=2)
    )
    assert oracle.epsilon == float("inf")


@pytest.mark.parametrize(
    ("mode", "given", "projection"),
    [
        ("rigorous", None, "simplex"),
        ("rigorous", "none", "none"),
        ("paper", None, "none"),
        ("paper", "simplex", "simplex"),
    ],
)
def test_tables_are_projected_by_the_mode(mode: Any, given: Any, projection: str) -> None:
    """Projected tables add up to the users and have no negative cell."""
    parameters = {} if given is None else {"projection": given}
    made: Any = instantiate(
        Job(protocol="clldp-joint", mode=mode, parameters=parameters, parties=2)
    )
    assert made.projection == projection
    result = sottovoce.run(
        "clldp-joint",
        demo_table(400, seed=2)[["education", "relationship", "income"]],
        mode=mode,
        epsilon=0.5,
        seed=1,
        judge=False,
        **parameters,
    )
    assert result.marginals is not None
    counts = result.marginals["count"]
    assert (counts.min() >= 0) == (projection == "simplex")
    if projection == "simplex":
        assert counts.sum() == pytest.approx(2 * 400, abs=0.1)


@pytest.mark.parametrize(
    ("parameters", "starts"),
    [
        ({"belief": "oracle"}, {"belief=oracle"}),
        ({"belief": "none"}, set()),
        ({"belief": "prior", "prior": "*:0.9"}, {"epsilon 1 bounds", "belief=prior"}),
        ({"belief": "sample"}, {"epsilon 1 bounds", "belief=sample"}),
        ({"belief": "sample", "sure": 0.0}, {"epsilon 1 bounds", "sure=0"}),
        ({"simulate": "counts", "belief": "none"}, {"simulate=counts"}),
    ],
)
def test_the_user_is_warned(parameters: dict[str, Any], starts: set[str]) -> None:
    made = instantiate(Job(protocol="clldp-joint", parameters=parameters, parties=2))
    public = Public(parties=2, rows=100, key_bits=2048, domain=DOMAIN)
    warnings = list(made.warnings(public))
    assert len(warnings) == len(starts)
    for start in starts:
        assert any(text.startswith(start) for text in warnings)


@pytest.mark.parametrize("learning", ["distilled", "levels"])
def test_a_tree_has_a_test_less_than_leaves(learning: str) -> None:
    """Every test has two branches, so a tree with n leaves has n - 1 tests."""
    result = sottovoce.run(
        "clldp-decision-tree",
        demo_table(4000, seed=2)[["education", "relationship", "income"]],
        learning=learning,
        depth=3,
        epsilon=20.0,
        seed=1,
        judge=False,
    )
    outcome = result.report["outcome"]
    assert outcome["tests"] == outcome["ends"] - 1 > 0
    assert outcome["learning"] == learning
    assert outcome["users"] == 4000
    assert outcome["attributes"] == ", ".join(result.model["attributes"])


def test_a_tree_of_a_leaf_has_no_attributes() -> None:
    """All users have one label, so nothing tells of it."""
    table = pd.DataFrame({"a": ["x", "y"] * 400, "label": ["no"] * 800})
    schema = {"a": ["x", "y"], "label": ["no", "yes"]}
    outcome = sottovoce.run(
        "clldp-decision-tree", table, schema=schema, epsilon=20.0, seed=1, judge=False
    ).report["outcome"]
    assert (outcome["tests"], outcome["ends"], outcome["attributes"]) == (0, 1, "none")


@pytest.mark.parametrize("kind", [LevelRounds, PrintedLevelRounds])
def test_a_remainder_of_the_budget_that_no_report_can_use_ends_no_run(
    kind: type[LevelRounds],
) -> None:
    """Whatever earlier reports leave, a group is asked by a randomizer that can be made, or not."""
    labels = tuple(map(str, range(100)))
    domain = Domain({"l": ("0", "1"), "a": labels, "b": labels})
    curve = np.linspace(0.1, 1, 100)
    settings = settings_of(LabelOptions(epsilon=1.0), domain=domain)
    rounds, asked = kind(settings, 3, "tight", {("a",): curve, ("b",): curve}), []
    for exponent in range(-14, 0):
        spent = (PastReport(1.0, exp(1.0) * (1 - 10.0**exponent)),)
        before = RoundGroup(0, 20, ("a", "b"), spent, heads=1)
        terms, groups = rounds._terms([before], number=3, idle=False)
        reports = groups[0].reports[1:]
        assert [report.belief for report in reports] == [each.belief for each in terms]
        assert all(report.ratio > 1 for report in reports)
        asked.append(len(terms))
    assert asked == sorted(asked)
    assert set(asked) == {0, 1}
