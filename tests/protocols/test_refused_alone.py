"""What one role refuses by itself, while another role's refusal, or a later one, would hide it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator import Curator, Estimate, Marginal
from sottovoce.messages import MessageError, MisuseError, PeerLostError, UsageError
from sottovoce.parties import Categories, Learnt, Party, SchemaPlan
from sottovoce.privacy import Budget, Domain
from sottovoce.privacy.local.bloom import BloomFilters
from sottovoce.protocols.clldp.leaves import _read_tree
from sottovoce.protocols.cost import Public
from sottovoce.protocols.dp_ccbn import plan as ccbn_plan
from sottovoce.protocols.dp_subn.learning import pair_tables
from sottovoce.protocols.dp_subn.usefulness import Sizes
from sottovoce.protocols.lopub import tables as lopub_tables
from sottovoce.protocols.lopub.filters import FilterAnswers
from sottovoce.protocols.private_schema.curator import _agreed_plan
from sottovoce.protocols.private_schema.messages import SchemaLearning
from sottovoce.protocols.registry import OWN_PROTOCOLS, load
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SumBatch,
    SumOptions,
    Tables,
)
from sottovoce.protocols.secure_sum.graph import Circle
from sottovoce.protocols.survey import CuratorSurvey, PartySurvey, SurveyMessages, SurveyOptions
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

# ---- Secure sums


def test_a_curator_refuses_members_that_could_be_parted() -> None:
    """Of a circle with two neighbours each, all sets of members are tried by a search."""
    circle = Circle((1, 2, 3, 4, 5, 6, 7), 2)

    def is_parted(left: set[int]) -> bool:
        reached, fresh = set[int](), {min(left)}
        while fresh:
            reached |= fresh
            fresh = {
                peer for party in fresh for peer in circle.neighbours_among(party, left)
            } - reached
        return reached != left

    outcomes = set()
    for size in range(3, 8):
        for members in combinations(range(1, 8), size):
            sums: Any = SimpleNamespace(circle=circle, colluding=1, rows=70, rows_by_party=[10] * 7)
            parted = any(is_parted(set(members) - {party}) for party in members)
            parted = parted or is_parted(set(members))
            batch = SumBatch(cells=2, sensitivity=2, epsilon=1.0)
            if parted:
                with pytest.raises(PeerLostError, match="no table is sent"):
                    CuratorSums._terms(sums, batch, members)
            else:
                terms = CuratorSums._terms(sums, batch, members)
                assert terms.rows == (10,) * size
                assert (terms.batch.rows, terms.batch.parties) == (10 * size, size)
            outcomes.add(parted)
    assert outcomes == {False, True}


def test_without_encryption_nobody_has_a_key(converse: Callable[..., Any]) -> None:
    """Neither role hands out one; with encryption it is the same key."""

    def talk(aggregator: Any) -> Any:
        options = SumOptions(aggregator=aggregator)

        def party(me: Party) -> Any:
            with me.phase("keys"):
                return PartySums(me, options)

        def curator(desk: Curator) -> Any:
            with desk.phase("keys"):
                return CuratorSums(desk, options)

        return converse(party, curator).results

    for sums in talk("masks").values():
        with pytest.raises(MisuseError, match="expected aggregator=paillier, found no key"):
            _ = sums.key_holder if isinstance(sums, CuratorSums) else sums.keyed_party
    sides = talk("paillier")
    key = sides[0].key_holder.private.public.n
    assert [sides[party].keyed_party.key.n for party in (1, 2, 3)] == [key] * 3


@pytest.mark.parametrize("verb", ["contribute", "receive"])
def test_a_cell_is_the_rest_of_all_rows_only_where_their_number_is_public(verb: str) -> None:
    domain = Domain({"a": ("x", "y"), "b": ("p", "q", "r")})
    batches: list[SumBatch] = []

    def total(batch: SumBatch) -> Any:
        batches.append(batch)
        return np.ones(batch.cells)

    def act(tables: Tables, *, counts_rows: bool) -> int:
        sums: Any = SimpleNamespace(
            counts_rows=counts_rows,
            rows=9,
            total=total,
            variance=lambda _: 1.0,
            contribute=lambda cells, batch: total(batch) if list(cells) else None,
        )
        records: Any = SimpleNamespace(
            marginals=lambda families: [np.ones(domain.cells(family), int) for family in families]
        )
        before = len(batches)
        if verb == "receive":
            tables.receive(sums)
        else:
            tables.contribute(records, sums)
        return len(batches) - before

    laplace, gaussian = Budget.pure(1.0), Budget("rho", 1.0)
    two, three = (("a",),), (("b",),)
    with pytest.raises(MisuseError, match="expected the number of all rows"):
        act(Tables(domain, two, laplace), counts_rows=False)
    assert not batches
    assert act(Tables(domain, two, laplace), counts_rows=True) == 1
    assert act(Tables(domain, two, laplace, as_printed=True), counts_rows=False) == 1
    assert act(Tables(domain, two, gaussian), counts_rows=False) == 1
    assert act(Tables(domain, three, laplace), counts_rows=False) == 1


# ---- Surveys


def ended(counted: dict[int, list[int]], sizes: list[int], *, lost: list[int]) -> CuratorSurvey:
    survey = CuratorSurvey.__new__(CuratorSurvey)
    desk: Any = SimpleNamespace(
        lost=dict.fromkeys(lost, "reports"), where=None, note_batch=lambda *_, **__: None
    )
    survey._desk, survey._rows, survey._sizes = desk, np.array([5, 5, 5]), []
    users = {party: np.array(counts) for party, counts in counted.items()}
    survey._end_round(users, np.array(sizes))
    return survey


def test_a_round_ends_with_the_users_that_were_planned() -> None:
    """A question that nobody was asked has no report, and one whose users are lost ends the run."""
    assert ended({1: [2, 0], 2: [1, 0]}, [3, 0], lost=[]).sizes.tolist() == [3, 0]
    assert ended({1: [2, 1, 0]}, [3, 2, 0], lost=[2]).sizes.tolist() == [2, 1, 0]
    with pytest.raises(PeerLostError, match="only users of lost parties were asked"):
        ended({1: [2, 0]}, [3, 2], lost=[2])
    for other in ([3, 1], [2, 0]):
        with pytest.raises(MessageError, match="expected 3 users to report as planned"):
            ended({1: other}, [3, 0], lost=[])


@pytest.mark.parametrize(("numbers", "is_refused"), [([0, 5, 12, 9], False), ([0, 5, 13, 9], True)])
def test_numbers_of_users_are_below_the_number_of_all(numbers: list[int], is_refused: bool) -> None:
    """Two cohorts have 13 rows, and rows are numbered from 0."""

    class Rows:
        def __init__(self) -> None:
            self.numbers = np.array(numbers)

        def __len__(self) -> int:
            return len(numbers)

    opening = SurveyMessages.Opening(np.array([4, 9]), 13, bytes(16))
    me: Any = SimpleNamespace(
        min_parties=None,
        records=Rows(),
        number=1,
        parties=range(1, 3),
        receive=lambda *_, **__: opening,
        send=lambda *_, **__: None,
        where=None,
    )
    if is_refused:
        with pytest.raises(MessageError, match="expected more rows than 13 in all, found 13"):
            PartySurvey(me, SurveyOptions())
    else:
        assert PartySurvey(me, SurveyOptions()).users == 13


@pytest.mark.parametrize("names", ["pql", "lpq"])
def test_a_test_of_a_tree_names_an_attribute(names: str) -> None:
    """Neither the label nor a place before the first attribute, which Python would take."""
    domain = Domain(dict.fromkeys(names, ("x", "y")))

    def tree(place: int) -> Any:
        return ((place, 1, 2, 0), (), ())

    for place in range(-4, 5):
        if 0 <= place < 3 and names[place] != "l":
            first = _read_tree(tree(place), domain, label="l").nodes[0]
            assert first.test is not None
            assert first.test.attribute == names[place]
        else:
            with pytest.raises(ValueError, match="expected a test of an attribute"):
                _read_tree(tree(place), domain, label="l")


def test_lopub_starts_where_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lasso's start is the product of the attributes' own tables."""
    starts: list[Any] = []
    filters = BloomFilters.__new__(BloomFilters)
    ones = {
        "a": Marginal(("a",), np.array([0.3, 0.7])),
        "b": Marginal(("b",), np.array([0.1, 0.9])),
    }

    def search(likelihoods: Any, *, start: Any, iterations: int) -> Any:
        starts.append((len(likelihoods), start, iterations))
        return SimpleNamespace(table=np.full((2, 2), 0.25), iterations=3, converged=False)

    monkeypatch.setitem(lopub_tables.SEARCHES, "plain", search)
    monkeypatch.setattr(lopub_tables.Tables, "__post_init__", lambda _: None)
    monkeypatch.setattr(lopub_tables.Tables, "_likelihood", lambda *_: np.ones((2, 1)))
    answers = FilterAnswers(5, np.zeros(1), [])  # type: ignore[arg-type]
    for start in ("lasso", "uniform"):
        tables = lopub_tables.Tables(("a", "b"), filters, answers, start, "plain", 7)
        tables.ones = ones
        tables.joint(["a", "b"])
        assert (tables.steps, tables.stopped) == ([3], 1)
    assert [(attributes, steps) for attributes, _, steps in starts] == [(2, 7)] * 2
    assert starts[0][1] == pytest.approx(np.outer([0.3, 0.7], [0.1, 0.9]))
    assert starts[1][1] is None


# ---- Other protocols


def test_a_single_attribute_misses_no_edge() -> None:
    """With two attributes, and too much noise for their pair, both are without an edge."""
    frame = pd.DataFrame({"a": ["x", "y"] * 100, "b": ["p", "q", "q", "q"] * 50})
    for columns, expected in ((["a"], None), (["a", "b"], "a, b")):
        run = sottovoce.run("dp-subn", frame[columns], parties=2, epsilon=0.01, seed=1, judge=False)
        assert run.report["outcome"].get("no edge") == expected
        assert run.report["outcome"]["network"] == "none worth its noise: one-way tables"


def test_averaged_tables_of_pairs_have_one_margin_of_each_attribute() -> None:
    """Whatever the noise, all tables with an attribute agree on it, and on the number of rows."""
    generator = np.random.default_rng(4)
    domain = Domain(
        {name: tuple(map(str, range(size))) for name, size in {"a": 2, "b": 3, "c": 4}.items()}
    )
    views = [
        Estimate(Marginal.of(domain, pair, generator.normal(50, 20, domain.cells(pair))), 1.0)
        for pair in combinations("abc", 2)
    ]
    margins: dict[str, list[Any]] = {name: [] for name in "abc"}
    for _, _, table in pair_tables(domain, views, rows=600, averaged=True):
        assert table.total == pytest.approx(600)
        for name in table.attributes:
            margins[name].append(np.asarray(table.project((name,)).values))
    for first, second in margins.values():
        assert first == pytest.approx(second)
    # The margin is the average of those of the views by their variances: sums of 3 and of 4 cells.
    own = [np.asarray(view.table.project(("a",)).values) for view in views[:2]]
    level = [values + (600 - values.sum()) / 2 for values in own]
    assert margins["a"][0] == pytest.approx((level[0] / 3 + level[1] / 4) / (1 / 3 + 1 / 4))


@pytest.mark.parametrize("mode", ["rigorous", "paper"])
@pytest.mark.parametrize("name", sorted(OWN_PROTOCOLS))
def test_without_a_schema_a_forecast_names_no_size(name: str, mode: Any) -> None:
    """A forecast before the columns are known is empty, or that of messages without columns."""
    try:
        protocol: Any = instantiate(Job(protocol=name, mode=mode))
    except UsageError:
        pytest.skip("the protocol does not have this mode, or needs a parameter")
    public = Public(parties=3, rows=100, key_bits=2048, domain=None)
    lines = protocol.predict(public)
    assert all(line.messages > 0 for line in lines or [])
    assert list(protocol.formulas(public)) == []
    # What follows from the columns is left open.
    domain = Domain(dict.fromkeys(("sex", "race", "income"), ("0", "1")))
    try:
        with_columns = protocol.chosen(replace(public, domain=domain))
    except UsageError:
        return  # it needs a label, or other columns
    assert set(protocol.chosen(public)) <= set(with_columns)


def test_sets_of_attributes_are_listed_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 6 attributes there are 15 pairs and 20 sets of three; where all fit all are listed."""
    domain = Domain(dict.fromkeys("abcdef", ("0", "1")))
    monkeypatch.setattr(ccbn_plan, "MAX_LISTED", 15)
    for degree, is_refused in ((1, False), (2, True)):
        plan = ccbn_plan.CandidatePlan(
            domain=domain,
            sizes=Sizes(domain, 8),
            degree=degree,
            budget=Budget.pure(1.0),
            weighted=False,
        )
        if is_refused:
            with pytest.raises(UsageError, match="at most 15 sets of 3 attributes, found 20"):
                plan.candidate_sets()
        else:
            assert sorted(plan.candidate_sets()) == sorted(combinations("abcdef", 2))


@pytest.mark.parametrize("init", ["forest", "edges"])
def test_forecasts_of_dp_subn_need_columns(init: str) -> None:
    protocol: Any = instantiate(Job(protocol="dp-subn", parameters={"init": init}))
    figures: dict[str, Any] = {"parties": 3, "rows": 5000, "key_bits": 2048}
    assert list(protocol.predict(Public(domain=None, **figures))) == []
    domain = Domain(dict.fromkeys("abc", ("0", "1", "2")))
    assert len(list(protocol.predict(Public(domain=domain, **figures)))) > 3


def test_a_module_of_the_working_folder_is_found_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never replaces an installed one, and an error of the project's keeps its own text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "calendar.py").write_text("VALUE = 1\n")
    (tmp_path / "own_value_here.py").write_text("VALUE = 2\n")
    (tmp_path / "own_error_here.py").write_text(
        "from sottovoce.messages import UsageError\nraise UsageError('expected this text')\n"
    )
    assert load("own_value_here:VALUE", what="a value") == 2
    assert sys.path.count(str(tmp_path)) == 1
    assert load("own_value_here:VALUE", what="a value") == 2
    assert (sys.path.count(str(tmp_path)), sys.path[-1]) == (1, str(tmp_path))
    with pytest.raises(
        UsageError, match="expected a value at calendar:VALUE, found AttributeError"
    ):
        load("calendar:VALUE", what="a value")
    with pytest.raises(UsageError, match=r"^expected this text$"):
        load("own_error_here:VALUE", what="a value")
    with pytest.raises(UsageError, match="a value at absent_module_here, found ModuleNotFound"):
        load("absent_module_here", what="a value")


def test_a_curator_learns_the_rules_that_all_parties_lack() -> None:
    """A party alone refuses a schema with all rules when it starts."""
    texts = Categories(categories=("x", "y"))

    def agreed(*plans: SchemaPlan) -> SchemaPlan:
        messages = {
            party: SchemaLearning.Columns(msgspec.json.encode(plan).decode())
            for party, plan in enumerate(plans, start=1)
        }
        desk: Any = SimpleNamespace(
            parties=tuple(messages),
            gather_living=lambda *_, **__: messages,
            require_enough=lambda *_, **__: None,
        )
        return _agreed_plan(desk)

    some = SchemaPlan({"a": texts, "b": Learnt()})
    assert agreed(some, some) == some
    with pytest.raises(UsageError, match="expected a column to learn a rule for"):
        agreed(*[SchemaPlan({"a": texts})] * 2)
    for other in (SchemaPlan({"b": Learnt(), "a": texts}), SchemaPlan({"b": Learnt()})):
        with pytest.raises(UsageError, match="found others at party 2 than at party 1"):
            agreed(some, other)


def test_tables_of_pairs_alone_draw_no_rows() -> None:
    """Without rows there is no tree to draw along."""
    frame = pd.DataFrame({"a": ["x", "y"] * 200, "b": ["p", "q", "q", "q"] * 100})
    options: dict[str, Any] = {"parties": 2, "seed": 1, "judge": False, "epsilon": 4.0}
    for rows in (0, 50):
        run = sottovoce.run("privincr", frame, synthetic_rows=rows, **options)
        assert (run.record.outcome.synthetic is None) == (rows == 0)
        assert ("cliques" in run.report["outcome"]) == (rows > 0)


def test_without_a_network_there_is_nothing_to_compare_with_a_formula() -> None:
    """With a budget that buys no pair dp-ccbn counts single attributes alone."""
    domain = Domain(dict.fromkeys(("sex", "race", "income"), ("0", "1")))
    bits = [f"{name}[0]" for name in ("sex", "race", "income")]
    model = {"chosen": [bits[:1], bits[:2], bits]}
    found = {}
    for epsilon in (1e-4, 50.0):
        parameters = {"attributes": "binary", "epsilon": epsilon}
        protocol: Any = instantiate(Job(protocol="dp-ccbn", parameters=parameters))
        public = Public(parties=3, rows=5000, key_bits=2048, domain=domain, model=model)
        plan = protocol.plan(protocol.form.domain(domain), rows=5000, parties=3)
        found[epsilon] = bool(plan.degree), bool(protocol.formulas(public))
    assert found == {1e-4: (False, False), 50.0: (True, True)}


def test_plans_of_dp_ccbn_are_compared_by_their_noise() -> None:
    """Half of a budget pays for the tables, whichever its unit: the referee is their deviation."""
    domain = Domain(dict.fromkeys("abcde", ("0", "1", "2")))
    families = tuple((name,) for name in "abcde")

    def plan(budget: Budget) -> ccbn_plan.CandidatePlan:
        return ccbn_plan.CandidatePlan(
            domain=domain, sizes=Sizes(domain, 9), degree=1, budget=budget, weighted=False
        )

    def noise(budget: Budget) -> float:
        return Tables(domain, families, budget.share(1 / 2)).batch.deviation

    orders = set()
    for rho in np.geomspace(1e-4, 1, 60):
        pure, concentrated = Budget.pure(1.0), Budget("rho", float(rho))
        is_less = noise(concentrated) < noise(pure)
        assert (plan(concentrated).error < plan(pure).error) == is_less, rho
        orders.add(is_less)
    assert orders == {False, True}
