"""The plan of a schema: which attributes have public rules, and which are to be learnt privately.

It is public, like a schema. What is learnt are the bins of numbers and the categories of texts
(`protocols.private_schema`). The names of the columns are public, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from ..messages import Private, UsageError
from .bins import Bins
from .categories import Categories
from .columns import ColumnChoice

__all__ = ["LEARN_ALL", "Learnt", "LearntKind", "SchemaPlan"]

LearntKind: TypeAlias = Literal["any", "numbers", "integers", "categories"]
"""What a column holds: it is public, or `any`, and then noisy counts decide."""
MAX_LEARNT_BINS: Final = 256


class Learnt(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """An attribute whose rule is learnt."""

    kind: LearntKind = "any"
    bins: Annotated[int, msgspec.Meta(ge=2, le=MAX_LEARNT_BINS)] = 16
    """The largest number of bins; there are fewer where the noise does not carry as many."""

    @classmethod
    def of(cls, kind: LearntKind, *, bins: int) -> Learnt:
        """Learn at most so many bins."""
        if not 2 <= bins <= MAX_LEARNT_BINS or kind == "categories":
            raise ValueError(
                f"expected 2 to {MAX_LEARNT_BINS} bins of private numbers, found {bins}"
                + (" of categories" if kind == "categories" else "")
            )
        return cls(kind=kind, bins=bins)


class SchemaPlan(msgspec.Struct, frozen=True):
    """Attributes in order, each with its rule, or to be learnt."""

    attributes: dict[str, Categories | Bins | Learnt]
    rest: Learnt | None = None
    """How all other columns of the data are learnt; `None` leaves them out."""

    @property
    def learnt(self) -> dict[str, Learnt]:
        """The attributes that are learnt."""
        return {name: rule for name, rule in self.attributes.items() if isinstance(rule, Learnt)}

    @property
    def public(self) -> dict[str, Categories | Bins]:
        """The attributes with public rules."""
        return {
            name: rule for name, rule in self.attributes.items() if not isinstance(rule, Learnt)
        }

    def __post_init__(self) -> None:
        dropping = [name for name, rule in self.public.items() if rule.missing == "drop"]
        if dropping and (self.learnt or self.rest is not None):
            raise ValueError(
                f'attribute {dropping[0]!r}: expected "missing": "category" or none where other '
                'attributes are private, found "drop"'
            )

    def select(self, choice: ColumnChoice) -> SchemaPlan:
        """Keep the attributes that are chosen, unless the columns of the data decide."""
        if self.rest is not None:
            return self
        names = choice.of([*self.attributes], where="the schema")
        return SchemaPlan({name: self.attributes[name] for name in names})

    def of(self, columns: Sequence[str]) -> SchemaPlan:
        """Make the plan for a table with these columns, in their order where the rest is learnt."""
        if self.rest is None:
            names = [*self.attributes]
            missing = [name for name in names if name not in columns]
        else:
            names, missing = [*columns], []
        if missing:
            raise UsageError(
                f"expected a column {missing[0]!r}, as the schema says, found ",
                Private(", ".join(columns)),
            )
        rest = self.rest or Learnt()
        return SchemaPlan({name: self.attributes.get(name, rest) for name in names})


LEARN_ALL: Final = SchemaPlan({}, rest=Learnt())
"""All columns of the data are learnt."""
