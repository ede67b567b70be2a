"""Groups of labels: how labels are merged, and how rows get labels back."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sottovoce.curator.label_groups import LabelGroups, merge_labels
from sottovoce.privacy import Domain


@pytest.mark.parametrize("groups", [1, 2, 5, 16, 99, 100, 200])
def test_groups_are_of_neighbours(groups: int) -> None:
    counts = np.random.default_rng(groups).integers(0, 1000, 100).tolist()
    merged = merge_labels(counts, groups=groups)
    assert len(merged) == 100
    assert merged[0] == 0
    assert set(np.diff(merged).tolist()) <= {0, 1}
    assert merged[-1] + 1 == min(groups, 100)


def test_two_groups_are_as_equal_as_can_be() -> None:
    """The referee tries all places of the cut; a label counts as one row more than it has."""
    generator = np.random.default_rng(3)
    for _ in range(50):
        counts = generator.integers(0, 40, 9).tolist()
        merged = merge_labels(counts, groups=2)
        sizes = [sum(counts[:cut]) + cut for cut in range(1, 9)]
        difference = [abs(2 * size - sum(counts) - 9) for size in sizes]
        assert difference[merged.index(1) - 1] == min(difference)


def test_spread_labels_have_the_proportions_of_the_counts() -> None:
    """Each label of a group is drawn as often as expected, to within one row."""
    names = tuple(str(label) for label in range(12))
    domain = Domain({"wide": names, "narrow": ("no", "yes")})
    counts = {"wide": [5, 0, 7, 30, 1, 1, 2, 9, 4, 4, 0, 37], "narrow": [3, 1]}
    groups = LabelGroups.of(domain, counts, most=4)
    assert set(groups.groups) == {"wide"}
    assert groups.grouped.shape(domain.attributes) == (4, 2)
    generator = np.random.default_rng(1)
    codes = [generator.integers(0, size, 5000).astype(np.uint8) for size in (4, 2)]
    wide, narrow = groups.spread(codes, generator=generator)
    assert (narrow == codes[1]).all()
    group_of = np.array(groups.groups["wide"])
    assert (group_of[wide] == codes[0]).all()
    for group in range(4):
        members = np.flatnonzero(group_of == group)
        expected = np.array(counts["wide"])[members] / sum(np.array(counts["wide"])[members])
        rows = int((codes[0] == group).sum())
        drawn = np.bincount(wide[codes[0] == group], minlength=12)[members]
        assert np.abs(drawn - rows * expected).max() <= 1 + 1e-6
    for first, second in combinations(range(4), 2):  # no group is empty
        assert (group_of == first).any()
        assert (group_of == second).any()


def test_a_group_without_rows_in_the_counts_is_spread_evenly() -> None:
    domain = Domain({"a": ("x", "y", "z", "w")})
    groups = LabelGroups.of(domain, {"a": [0, 0, 0, 0]}, most=2)
    (labels,) = groups.spread([np.zeros(1000, np.uint8)], generator=np.random.default_rng(2))
    first = [label for label, group in enumerate(groups.groups["a"]) if group == 0]
    assert set(labels.tolist()) == set(first)
