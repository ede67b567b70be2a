"""Views of many parties: sizes of coalitions are thinned out, and no loss is lost."""

import random
from itertools import pairwise
from math import inf

import pytest

from sottovoce.privacy import Loss, coalition, coalition_sizes, members, views, with_curator
from sottovoce.privacy.adversary import losses_in


@pytest.mark.parametrize("parties", [1, 2, 3, 32, 33])
def test_few_parties_have_all_views(parties: int) -> None:
    sizes = [*range(1, parties)]
    assert coalition_sizes(parties) == sizes
    assert coalition_sizes(parties, threshold=parties) == sizes
    expected = ["public", "curator", *map(coalition, sizes or [1]), *map(with_curator, sizes)]
    assert views(parties) == expected


@pytest.mark.parametrize("parties", [34, 100, 1000, 65535])
@pytest.mark.parametrize("threshold", [None, 0, 1, 33, 500])
def test_many_parties_have_few_views(parties: int, threshold: int | None) -> None:
    sizes = coalition_sizes(parties, threshold=threshold)
    assert sizes == sorted(set(sizes))
    assert sizes[:8] == [*range(1, 9)]
    assert sizes[-1] == parties - 1
    assert len(sizes) <= 8 + 2 * parties.bit_length()
    # The next larger size listed is never more than half as large again.
    assert all(after <= 1.5 * before for before, after in pairwise(sizes[7:]))
    if threshold and threshold < parties:
        assert threshold in sizes
    assert len(set(views(parties, threshold=threshold))) == 2 + 2 * len(sizes)


@pytest.mark.parametrize("seed", range(20))
def test_each_loss_is_bounded_by_a_listed_view_that_includes_it(seed: int) -> None:
    """Brute force over all views, with losses that need not grow with the coalition."""
    generator = random.Random(seed)
    parties = generator.choice([3, 40, 100])
    names = ["curator", "public", *map(coalition, range(1, parties))]
    names += map(with_curator, range(1, parties))
    losses = {
        name: Loss.pure(generator.choice([0.0, 0.5, 1.0, 2.0, inf]))
        for name in generator.sample(names, generator.randrange(1, len(names)))
    }
    listed = dict.fromkeys(views(parties), Loss.pure(1.0))
    seen = losses_in(listed, losses, parties=parties)
    assert list(seen) == list(listed)
    for view, loss in losses.items():
        who = members(view)
        including = [
            seen[name].epsilon
            for name in listed
            if members(name).curator == who.curator and members(name).parties >= who.parties
        ]
        assert max(including) >= loss.epsilon
    for name, loss in seen.items():
        who = members(name)
        folded = [
            losses[view]
            for view in losses.keys() - listed.keys()
            if members(view).curator == who.curator and members(view).parties < who.parties
        ]
        stated = losses.get(name, Loss.pure(1.0))
        assert loss.epsilon in (other.epsilon for other in (stated, *folded))
        assert loss.epsilon >= stated.epsilon
    if parties == 3:
        expected = {**listed, **losses}
        assert {name: loss.epsilon for name, loss in seen.items()} == {
            name: loss.epsilon for name, loss in expected.items()
        }


@pytest.mark.parametrize("view", ["9_parties", "curator_and_40", "nobody", "0_parties"])
def test_views_that_do_not_exist_are_refused(view: str) -> None:
    parties = 9 if view == "9_parties" else 40
    with pytest.raises(ValueError, match=f"expected views among public, .*, found {view}"):
        losses_in(
            dict.fromkeys(views(parties), Loss.pure(1.0)), {view: Loss.pure(1.0)}, parties=parties
        )
