"""Columns of which nearly all real rows lie in one wide bin, so that published values say little.

The distances between marginals do not show it: they compare bins. It depends on the real table, so
it is part of the judgement, which is not published.
"""

from __future__ import annotations

from typing import Final

from ..parties import Bins, Records, Schema

__all__ = ["concentrated_columns"]

SHARE: Final = 0.9
"""Share of the rows in the fullest bin."""
WIDTH: Final = 1 / 32
"""Share of the column's range that this bin has."""
MIN_BINS: Final = 4


def concentrated_columns(real: Records, schema: Schema) -> list[str]:
    """Warn of columns of numbers whose fullest bin is wide and has nearly all rows."""
    warnings = []
    for name, rule in schema.attributes.items():
        if not isinstance(rule, Bins) or name not in real.attributes or not len(real):
            continue
        counts = real.marginal((name,))[: len(rule.edges) - 1]
        fullest = int(counts.argmax())
        share = counts[fullest] / len(real)
        width = (rule.edges[fullest + 1] - rule.edges[fullest]) / (rule.edges[-1] - rule.edges[0])
        if len(counts) >= MIN_BINS and share >= SHARE and width >= WIDTH:
            warnings.append(
                f"{share:.0%} of the real rows lie in one of the {len(counts)} bins of {name}, "
                "within which its published values are drawn: `sottovoce schema` proposes bins "
                "of about equally many rows"
            )
    return warnings
