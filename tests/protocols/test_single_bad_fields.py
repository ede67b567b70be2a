"""Messages with one bad field are refused by the role that receives them, and good ones pass.

Each role here is a stand-in that is handed one message: what it says of itself is public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sottovoce.messages import MessageError, MisuseError, UsageError
from sottovoce.privacy import Domain
from sottovoce.protocols.adaptive_pairs.messages import Plans, receive_plan
from sottovoce.protocols.aim import AIM
from sottovoce.protocols.aim.messages import Messages as AimMessages
from sottovoce.protocols.aim.reading import check_cost, read_model
from sottovoce.protocols.aim.workload import workload_of
from sottovoce.protocols.dp_subn.edge_margins import receive_groups
from sottovoce.protocols.dp_subn.messages import Messages as EdgeMessages
from sottovoce.protocols.flaim import FLAIM
from sottovoce.protocols.one_way import OneWay
from sottovoce.protocols.one_way_ldp import OneWayLocal
from sottovoce.protocols.options import Options
from sottovoce.protocols.outcome import Outcome
from sottovoce.protocols.private_schema import PrivateSchema
from sottovoce.protocols.privincr.adaptive import round_shares
from sottovoce.protocols.protocol import Protocol
from sottovoce.protocols.secure_sum import SecureSums
from sottovoce.protocols.secure_sum.members import members_among
from sottovoce.protocols.secure_sum.options import SumOptions
from sottovoce.protocols.secure_sum.pages import WINDOW, await_window
from sottovoce.protocols.secure_sum.rows import receive_rows

DOMAIN = Domain({"a": ("x", "y"), "b": ("1", "2", "3"), "c": ("only",)})


def role(message: object, **more: Any) -> Any:
    """Make a role that receives this message next."""
    return SimpleNamespace(
        receive=lambda *_, **__: message,
        receive_in_turn=lambda *_, **__: message,
        send=lambda *_, **__: None,
        where=SimpleNamespace(),
        number=2,
        rank=2,
        parties=(1, 2, 3),
        min_parties=None,
        domain=DOMAIN,
        records=SimpleNamespace(domain=DOMAIN, __len__=lambda: 5),
        **more,
    )


class Rows:
    domain = DOMAIN

    def __len__(self) -> int:
        return 5


def refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except MessageError:
        return True
    return False


@pytest.mark.parametrize(
    ("rows", "may_be_lost", "passes"),
    [
        ([0, 5, 9], False, True),
        ([0, 5], False, False),
        ([0, 5, 9, 1], False, False),
        ([0, 4, 9], False, False),
        ([0, 6, 9], False, False),
        ([-1, 5, 9], False, False),
        ([-1, 5, 9], True, True),
        ([-2, 5, 9], True, False),
    ],
)
def test_rows_of_all_parties(rows: list[int], may_be_lost: bool, passes: bool) -> None:
    """A party finds its own number of rows; -1 stands for a lost party, where one may be lost."""
    me = role(SecureSums.RowsByParty(np.array(rows)))
    me.records, me.min_parties = Rows(), 2 if may_be_lost else None
    assert refused(lambda: receive_rows(me)) != passes
    if passes:
        assert list(receive_rows(me)) == rows


@pytest.mark.parametrize(
    ("cells", "passes"),
    [
        ([2, 3, 0, 4, 1, 5], True),
        ([2, 3, 0, 4, 1, 2**50], True),
        ([2, 3, 0, 4, 1, 2**50 + 1], False),
        ([2, 3, -1, 4, 1, 5], False),
        ([2, 3, 0, 4, 1], False),
        ([2, 3, 0, 4, 1, 5, 5], False),
        ([], False),
    ],
)
def test_counts_of_all_labels(cells: list[int], passes: bool) -> None:
    me = role(EdgeMessages.Margins(np.array(cells, np.int64)))
    plan: Any = SimpleNamespace(groups=2)
    if passes:
        assert receive_groups(me, plan=plan) is not None
    else:
        with pytest.raises(MessageError):
            receive_groups(me, plan=plan)


PLAN = Plans.Plan(
    np.array([1, 100], np.uint8),
    np.array([1, 2], np.uint8),
    np.array([0, 0, 1], np.uint16),
    np.array([0, 0, 1], np.uint16),
    (np.array([0, 1, 1], np.uint16),),
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("weights", [0, 100]),
        ("weights", [1, 101]),
        ("weights", [1]),
        ("weights", []),
        ("lengths", [0, 2]),
        ("lengths", [1, 1]),
        ("lengths", [1, 3]),
        ("lengths", [3]),
        ("attributes", [0, 0, 3]),
        ("attributes", [0, 0]),
        ("attributes", [0, 1, 1]),
        ("groupings", [0, 0, 2]),
        ("groupings", [0, 0]),
        ("groupings", [1, 0, 1]),
    ],
)
def test_plans_of_a_round(field: str, value: list[int]) -> None:
    """Weights are from 1 to 100, attributes exist and differ, and a grouping fits its attribute."""
    first, second = receive_plan(role(PLAN))
    assert (first.attributes, second.attributes) == (("a",), ("a", "b"))
    assert (first.weight, second.weight) == (1, 100)
    changed: dict[str, Any] = {field: np.array(value, getattr(PLAN, field).dtype)}
    bad = replace(PLAN, **changed)
    with pytest.raises(MessageError):
        receive_plan(role(bad))


def test_plans_with_more_cells_than_a_role_can_hold() -> None:
    labels = tuple(map(str, range(8192)))
    me = role(
        Plans.Plan(
            np.array([1], np.uint8),
            np.array([2], np.uint8),
            np.array([0, 1], np.uint16),
            np.array([0, 0], np.uint16),
            (),
        )
    )
    for size, passes in ((4096, True), (4097, False)):
        me.records.domain = Domain({"a": labels, "b": labels[:size]})
        assert refused(lambda: receive_plan(me)) != passes


@pytest.mark.parametrize("page", [0, 1, WINDOW - 1, WINDOW, 2 * WINDOW])
def test_pages_wait_at_the_end_of_a_window(page: int) -> None:
    waits = page in (WINDOW, 2 * WINDOW)
    await_window(role(SecureSums.Continue(page)), page, receiver=0)
    for other in (page - 1, page + 1):
        wrong = role(SecureSums.Continue(other))
        assert refused(partial(await_window, wrong, page, receiver=0)) == waits


def aim() -> Any:
    kind: Any = AIM
    return kind(kind.Parameters(), mode="rigorous")


@pytest.mark.parametrize(("index", "passes"), [(0, True), (1, True), (2, False), (-1, False)])
def test_a_choice_is_one_of_the_candidates(index: int, passes: bool) -> None:
    candidates = [("a",), ("a", "b")]
    desk = role(AimMessages.Chosen(index))

    def chosen() -> object:
        return aim().receive_choice(desk, None, candidates, party=1)

    if passes:
        assert chosen() == candidates[index]
    else:
        with pytest.raises(MessageError, match="expected one of 2 candidates"):
            chosen()
    assert aim().receive_choice(role(None), None, candidates, party=1) == ()


def test_every_party_chooses_one_of_the_candidates() -> None:
    kind: Any = FLAIM
    protocol = kind(kind.Parameters(), mode="rigorous")
    for places, passes in (((0, 1), True), ((0,), True), ((1,), False), ((1, 0), False)):
        answers = {2: SimpleNamespace(attributes=places)}
        desk = SimpleNamespace(
            domain=DOMAIN,
            where=SimpleNamespace(),
            gather_answers=lambda *_, answers=answers, **__: answers,
        )

        def receive(desk: Any = desk) -> Any:
            return protocol.receive_choices(desk, [("a", "b"), ("a",)], rows=[5])

        assert refused(receive) != passes
        if passes:
            assert receive() == {2: tuple(DOMAIN.attributes[place] for place in places)}


@pytest.mark.parametrize(
    ("share", "passes"), [(0.0, True), (2.5, True), (-1e-9, False), (inf, False), (nan, False)]
)
def test_noise_is_a_share_of_the_rows(share: float, passes: bool) -> None:
    workload = workload_of(DOMAIN, max_cells=100)
    singles = ((0,), (1,))
    message = AimMessages.Candidates(0.1, share, singles, np.zeros(5), ((0, 1),))

    def read() -> object:
        return read_model(message, workload, max_cells=100, where=SimpleNamespace())  # type: ignore[arg-type]

    assert refused(read) != passes


@pytest.mark.parametrize(
    ("rho", "passes"), [(0.5, True), (1e-300, True), (0.501, False), (0.0, False), (nan, False)]
)
def test_nothing_costs_more_than_is_allowed(rho: float, passes: bool) -> None:
    allowed: Any = SimpleNamespace(amount=0.5, unit="rho")
    where: Any = SimpleNamespace()
    assert refused(lambda: check_cost(rho, allowed, where=where)) != passes


# ---- What protocols refuse before any message


@pytest.mark.parametrize("rounds", [1, 2, 3, 7])
def test_rounds_share_all_users(rounds: int) -> None:
    shares = round_shares(rounds)
    assert len(shares) == rounds
    assert sum(shares) == pytest.approx(1)
    assert min(shares) > 0
    assert len({round(share, 12) for share in shares[1:]}) <= 1


def test_tables_without_anything_to_count() -> None:
    kind: Any = OneWay
    with pytest.raises(UsageError, match="at least one attribute, found none"):
        kind(kind.Parameters(), mode="rigorous").tables(Domain({}), parties=3)
    users: Any = OneWayLocal
    protocol = users(users.Parameters(), mode="rigorous")
    with pytest.raises(UsageError, match="at least one attribute of two labels"):
        protocol.questions(Domain({"c": ("only",)}), 100)
    assert len(protocol.questions(DOMAIN, 100)) == 2


def test_a_sum_is_among_ranks_of_parties() -> None:
    options = SumOptions(aggregator="masks")

    def among(ranks: Any) -> list[int]:
        return members_among(ranks, parties=(1, 2, 3), options=options, noise="shares")

    assert among([3, 1, 2]) == [1, 2, 3]
    assert among([1, 3]) == [1, 3]
    refusals: dict[Any, str] = {"13": "a text", (1, 4): "rank 4", (0, 1): "rank 0"}
    for wrong, words in refusals.items():
        with pytest.raises(UsageError, match=words):
            among(wrong)
    with pytest.raises(UsageError):
        among([2])


def test_what_a_protocol_has_to_declare() -> None:
    class Sums(Protocol[Options]):
        name = "sums"
        uses = (SecureSums,)

        def party(self, me: Any) -> None: ...

        def curator(self, desk: Any) -> Outcome:
            return Outcome()

    protocol = Sums(Options(), mode="rigorous")
    for name in ("colluding", "epsilon"):
        with pytest.raises(MisuseError, match=f"expected a parameter .*{name}"):
            getattr(protocol, name)
    assert Options().covering([], parties=3) == ""


def test_an_outcome_has_mappings_and_tables() -> None:
    Outcome(summary={"a": 1}, model={"b": 2}, marginals=[{"c": 3}])
    for wrong in (
        {"summary": [1]},
        {"model": "b"},
        {"synthetic": [{"a": 1}]},
        {"marginals": [1]},
        {"marginals": [{"a": 1}, 1]},
    ):
        with pytest.raises(Exception, match="in Outcome, found a"):
            Outcome(**wrong)


def test_the_rest_of_a_budget_is_known_after_its_stage() -> None:
    kind: Any = PrivateSchema
    protocol = kind(kind.Parameters(), mode="rigorous")
    with pytest.raises(MisuseError, match="after its stage"):
        _ = protocol.rest
