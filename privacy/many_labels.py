"""The refusal of attributes with too many labels: which they are, and what makes them fewer.

Tables of several attributes have a cell for every combination of labels. A number of cells tells
nobody what to change, so a refusal names the attributes with the most labels. Labels are public.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from .domain import Domain

__all__ = ["most_labels", "too_many_labels"]

NAMED: Final = 3
"""Attributes that a refusal names."""


def too_many_labels(
    what: str, domain: Domain, names: Sequence[str] | None = None, *, otherwise: str = ""
) -> str:
    """Say that tables of these attributes, or of all, are too large, and the way out.

    >>> domain = Domain({"zip": tuple(map(str, range(900))), "sex": ("F", "M")})
    >>> print(too_many_labels("pairs of attributes", domain))
    expected pairs of attributes with fewer combinations of labels, found zip with 900 and sex \
with 2: leave columns out, --drop zip, or give them fewer labels in --schema, by wider bins or \
"other"

    Args:
        what: The tables that would be too large.
        domain: Attributes and labels.
        names: The attributes of the tables. The default is all.
        otherwise: Another way out, which is named after the usual ones.
    """
    first = _by_labels(domain, names)[0]
    return (
        f"expected {what} with fewer combinations of labels, found {most_labels(domain, names)}: "
        f"leave columns out, --drop {shlex.quote(first)}, or give them fewer labels in --schema, "
        f'by wider bins or "other"{otherwise and f", or {otherwise}"}'
    )


def most_labels(domain: Domain, names: Sequence[str] | None = None) -> str:
    """Name the attributes with the most labels, each with its number of labels.

    >>> most_labels(Domain({"sex": ("F", "M"), "month": tuple(map(str, range(12)))}))
    'month with 12 and sex with 2'
    """
    parts = [f"{name} with {domain.cells((name,)):,}" for name in _by_labels(domain, names)[:NAMED]]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _by_labels(domain: Domain, names: Sequence[str] | None) -> list[str]:
    """Order attributes, those with the most labels first."""
    chosen = domain.attributes if names is None else names
    return sorted(chosen, key=lambda name: -domain.cells((name,)))
