"""What a party refuses of a curator that asks for more than the plan has."""

from __future__ import annotations

import pytest

from sottovoce.messages import MessageError
from sottovoce.parties import Bins, Categories, Learnt, Schema, SchemaPlan
from sottovoce.protocols.private_schema.questions import (
    Questions,
    check_questions,
    check_schema,
    decode,
)

PLAN = SchemaPlan(
    {
        "age": Learnt(kind="numbers"),
        "any": Learnt(),
        "town": Learnt(kind="categories"),
        "sex": Categories(categories=("f", "m")),
    }
)
EDGES = (0.0, 1.0, 2.0)
FIRST = Questions(edges={"age": EDGES, "any": EDGES}, texts=("town",))
LEARNT: dict[str, Categories | Bins] = {
    "age": Bins(edges=EDGES, clip=True),
    "any": Categories(categories=(), other="(other)"),
    "town": Categories(categories=("x",), other="(other)"),
    "sex": PLAN.public["sex"],
}


def test_what_the_plan_has_is_accepted() -> None:
    check_questions(FIRST, plan=PLAN, before=None)
    check_questions(Questions(edges={"any": EDGES}), plan=PLAN, before=FIRST)
    check_schema(Schema(LEARNT), plan=PLAN)


@pytest.mark.parametrize(
    ("questions", "before"),
    [
        (Questions(edges={"sex": EDGES}), None),
        (Questions(edges={"nobody": EDGES}), None),
        (Questions(edges={"town": EDGES}), None),
        (Questions(edges={}, texts=("age",)), None),
        (Questions(edges={}, texts=("town", "town")), None),
        (Questions(edges={"any": EDGES}, texts=("any",)), None),
        (Questions(edges={"age": (0.0, 2.0, 1.0)}), None),
        (Questions(edges={"age": (0.0,)}), None),
        (Questions(edges={"age": tuple(map(float, range(300)))}), None),
        (Questions(edges={"any": EDGES}), Questions(edges={"age": EDGES})),
        (Questions(edges={}, texts=("any",)), FIRST),
    ],
)
def test_other_questions_are_refused(questions: Questions, before: Questions | None) -> None:
    with pytest.raises(MessageError, match="found others"):
        check_questions(questions, plan=PLAN, before=before)


@pytest.mark.parametrize(
    "changed",
    [
        {"age": Bins(edges=EDGES)},
        {"age": Bins(edges=EDGES, clip=True, missing="drop")},
        {"town": Categories(categories=("x",))},
        {"sex": Categories(categories=("f", "m"), other="x")},
        {"more": Categories(categories=("x",), other="y")},
    ],
)
def test_another_schema_is_refused(changed: dict[str, Categories | Bins]) -> None:
    with pytest.raises(MessageError, match="by the plan of all roles"):
        check_schema(Schema(LEARNT | changed), plan=PLAN)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"edges": {"a": ["x"]}}', '{"edges": 3}'])
def test_texts_that_are_no_questions_are_refused(text: str) -> None:
    with pytest.raises(MessageError, match="expected JSON"):
        decode(text, kind=Questions)
