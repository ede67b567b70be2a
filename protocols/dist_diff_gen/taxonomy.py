"""Taxonomies of attributes, whose nodes are ranges of the published list of labels.

A taxonomy is binary. A range of bins is split where it separates the classes best. A schema has no
taxonomy of categories, so a range of them is split at the middle of the list, the smaller half
first. The order in which a schema lists categories is therefore a choice, and a public one. Labels
are recognised as bins by their form.

The cut of an attribute is the ranges into which it is divided. A group of records is a choice of
one range of every cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

__all__ = ["Cuts", "Node", "are_bins"]

Cuts: TypeAlias = dict[str, tuple[int, ...]]
"""The borders of each predictor's ranges, from 0 to the number of labels."""

BIN: Final = re.compile(r"([\[(])([^\[\](),\s]+), ([^\[\](),\s]+)\]")


class Node(NamedTuple):
    """A range of an attribute's labels, from `low` up to but not including `high`."""

    attribute: str
    low: int
    high: int

    @property
    def size(self) -> int:
        return self.high - self.low


def are_bins(labels: Sequence[str]) -> bool:
    """Recognise the labels of bins: each begins where the one before ended.

    A label for missing values may follow.

    >>> are_bins(["[0, 5]", "(5, 9]", "?"]), are_bins(["(5, 9]", "[0, 5]"])
    (True, False)
    """
    matches = [BIN.fullmatch(label) for label in labels]
    candidates = matches if matches[-1] else matches[:-1]
    bins = [match.groups() for match in candidates if match]
    if not bins or len(bins) < len(candidates):
        return False
    return [opening for opening, _, _ in bins] == ["[", *"(" * (len(bins) - 1)] and all(
        before[2] == after[1] for before, after in pairwise(bins)
    )
