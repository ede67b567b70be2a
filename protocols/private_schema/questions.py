"""What the curator asks next, and the schema at the end, as both travel.

A party checks them. A curator that sends anything else learns nothing more: the budget of a
question does not depend on its cells, and each column has one answer in each round.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec
import numpy as np

from ...messages import MessageError, Private
from ...parties import Schema, SchemaPlan

__all__ = ["Questions", "check_questions", "check_schema", "decode"]

MAX_EDGES: Final = 1 + 256
T = TypeVar("T")


class Questions(msgspec.Struct, frozen=True, kw_only=True):
    """The next round: edges for each column of numbers, and the names of columns of texts."""

    edges: dict[str, tuple[float, ...]]
    texts: tuple[str, ...] = ()


# msgspec looks at a type the first time that it is read. Two threads that do so at once may crash
# the process, so it is done here, before there are roles on threads.
msgspec.json.Decoder(Questions)


def decode(text: str, *, kind: type[T]) -> T:
    """Decode JSON of another role.

    Raises:
        MessageError: it is something else.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, ValueError) as error:
        raise MessageError("expected JSON by the protocol, found ", Private(error)) from None


def check_questions(questions: Questions, *, plan: SchemaPlan, before: Questions | None) -> None:
    """Refuse questions that are not about learnt columns, or have no edges that rise.

    Raises:
        MessageError: the curator asked something else.
    """
    names = [*questions.edges, *questions.texts]
    kinds = {name: rule.kind for name, rule in plan.learnt.items()}
    expected = {*kinds} if before is None else {*before.edges}
    fits = (
        all(kinds.get(name) != "categories" for name in questions.edges)
        and all(kinds.get(name) in ("any", "categories") for name in questions.texts)
        # Texts have the whole rest of a column's budget.
        and (before is None or not questions.texts)
    )
    if len({*names}) < len(names) or not {*names} <= expected or not fits:
        raise MessageError("expected questions about the columns to be learnt, found others")
    for edges in questions.edges.values():
        if not 2 <= len(edges) <= MAX_EDGES or not np.all(np.diff(edges) > 0):
            raise MessageError("expected edges that rise, found others")


def check_schema(schema: Schema, *, plan: SchemaPlan) -> None:
    """Refuse a schema with other attributes or other public rules than the plan's.

    A rule that is learnt must refuse no value and drop no row, so that no error and no number of
    rows tells of a record.

    Raises:
        MessageError: the curator sent something else.
    """
    fits = [*schema.attributes] == [*plan.attributes] and all(
        schema.attributes[name] == rule for name, rule in plan.public.items()
    )
    if not fits or any(
        schema.attributes[name].fallback is None or schema.attributes[name].missing == "drop"
        for name in plan.learnt
    ):
        raise MessageError("expected a schema by the plan of all roles, found another one")
