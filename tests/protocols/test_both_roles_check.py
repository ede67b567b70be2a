"""What every role checks by itself, though another role would notice a moment later."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import msgspec
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator import Curator
from sottovoce.messages import MessageError, SottovoceError, UsageError
from sottovoce.parties import Schema
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Domain
from sottovoce.protocols.aim.messages import Messages
from sottovoce.protocols.dp_ccbn import iterative, plan
from sottovoce.protocols.private_schema import curator as schema_curator
from sottovoce.protocols.registry import find

TABLE = pd.DataFrame({"age": range(40), "sex": ["f", "m"] * 20})


@pytest.mark.parametrize("role", ["PartySums", "CuratorSums"])
def test_a_search_that_takes_too_long_is_refused_by_each_role(
    role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was counted and nothing sent by then."""
    monkeypatch.setattr(plan, "MAX_ITERATED", 0)
    monkeypatch.setattr(iterative, role, lambda *_, **__: SimpleNamespace(rows=10**6))
    domain = Domain(dict.fromkeys("abc", ("x", "y")))
    kind: Any = find("dp-ccbn")
    protocol = kind(kind.Parameters(), mode="rigorous")
    place: Any = SimpleNamespace(
        domain=domain,
        records=SimpleNamespace(domain=domain),
        parties=range(1, 3),
        phase=lambda _: nullcontext(),
    )
    play = protocol.party if role == "PartySums" else protocol.curator
    with pytest.raises(UsageError, match="candidates in all iterations"):
        play(place)


@pytest.mark.parametrize("changed", ["drop", "no fallback", "a column less"])
def test_parties_refuse_a_learnt_schema_by_which_records_would_be_told_apart(
    changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The curator is hostile at the end alone, when all has been counted."""
    plain = schema_curator._schema

    def hostile(*args: Any, **options: Any) -> Schema:
        rules = {**plain(*args, **options).attributes}
        if changed == "drop":
            rules["age"] = msgspec.structs.replace(rules["age"], missing="drop")
        elif changed == "no fallback":
            rules["age"] = msgspec.structs.replace(rules["age"], clip=False)
        else:
            del rules["age"]
        return Schema(rules)

    options: dict[str, Any] = {"parties": 2, "aggregator": "masks", "seed": 1, "judge": False}
    assert sottovoce.run("private-schema", TABLE, **options).record.schema is not None
    monkeypatch.setattr(schema_curator, "_schema", hostile)
    with pytest.raises(MessageError, match="expected a schema by the plan of all roles"):
        sottovoce.run("private-schema", TABLE, **options)


@pytest.mark.parametrize("rho", [float("nan"), 0.0, -1.0, 1e3])
def test_parties_refuse_what_a_turn_of_aim_must_not_cost(
    rho: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hostile curator names another cost of the table that all parties count."""
    plain = Curator.broadcast

    def hostile(self: Curator, message: Any, **options: Any) -> None:
        is_turn = isinstance(message, Messages.Turn) and message.party
        plain(self, Messages.Turn(message.party, rho) if is_turn else message, **options)

    table = demo_table(60, seed=1)[["sex", "income", "race"]]
    monkeypatch.setattr(Curator, "broadcast", hostile)
    with pytest.raises(MessageError, match="expected a cost of at most rho"):
        sottovoce.run("aim", table, parties=2, aggregator="masks", seed=1, judge=False)


@pytest.mark.parametrize(
    ("protocol", "consequence"),
    [
        ("aim", "no table is measured without them"),
        ("private-schema", "nothing was released"),
    ],
)
def test_who_is_lost_between_sums_is_missed_before_anything_else_is_spent(
    protocol: str, consequence: str
) -> None:
    """At some moment the loss is noticed by that check alone, and no other party has gone on."""
    table = demo_table(60, seed=1)[["sex", "income", "race"]]
    options: dict[str, Any] = {
        "parties": 3,
        "aggregator": "masks",
        "seed": 1,
        "judge": False,
        "on_loss": "continue",
        "min_parties": 3,
    }
    texts = []
    for messages in range(14):
        try:
            sottovoce.run(
                protocol, table, fault=[f"party 1 dies after {messages} messages"], **options
            )
        except SottovoceError as error:
            texts.append(str(error))
    assert any(consequence in text for text in texts)
