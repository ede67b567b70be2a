"""Limits on the size of what is counted: the last domain passes, and the next one is refused.

Sizes are written out here. A test that takes a limit from the code would follow it anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from sottovoce.messages import UsageError
from sottovoce.privacy import Domain
from sottovoce.protocols.adaptive_pairs.messages import cells_beyond_bound
from sottovoce.protocols.adaptive_pairs.rounds import require_bounded
from sottovoce.protocols.aim.workload import workload_of
from sottovoce.protocols.clldp.protocol import check_sets
from sottovoce.protocols.dp_ccbn.plan import CandidatePlan
from sottovoce.protocols.dp_subn.usefulness import Sizes, countable_degree
from sottovoce.protocols.flaim.choosing import measurable
from sottovoce.protocols.fourier import number_of_coefficients
from sottovoce.protocols.local.publishing import check_marginals
from sottovoce.protocols.lopub import LoPub
from sottovoce.protocols.mst.protocol import attributes_of
from sottovoce.protocols.noisy_marginals import requested
from sottovoce.protocols.privincr.no_privacy import pairs_of
from sottovoce.protocols.registry import OWN_PROTOCOLS, find

LABELS = tuple(map(str, range(65_536)))


def domain(*sizes: int) -> Domain:
    return Domain({f"a{place}": LABELS[:size] for place, size in enumerate(sizes)})


def filters(*sizes: int) -> object:
    kind: Any = LoPub
    parameters = kind.Parameters(hashes=1, bits_per_value=1)
    return kind(parameters, mode="rigorous").filters(domain(*sizes), key=b"k")


def table(cells: int) -> Any:
    return SimpleNamespace(cells=lambda _: cells)


def cells_of_tables(*cells: int) -> None:
    if problem := cells_beyond_bound(domain(2, 3), [table(count) for count in cells]):
        raise UsageError(problem)


def iterated(attributes: int, degree: int) -> None:
    plan: Any = SimpleNamespace(domain=domain(*[2] * attributes), degree=degree)
    CandidatePlan.check_iterations(plan)


LIMITS: dict[str, tuple[Callable[..., object], tuple[int, ...], tuple[int, ...]]] = {
    "adaptive-pairs": (lambda *s: require_bounded(domain(*s)), (2048, 4096), (2048, 4097)),
    "tables of a round": (cells_of_tables, (2**24, 2**24), (2**24, 2**24 + 1)),
    "aim": (
        lambda *s: workload_of(domain(*s), max_cells=10**9), (1024, 2048), (1024, 2049)
    ),
    "pairs of aim": (
        lambda n: workload_of(domain(*[2] * n), max_cells=10**9), (100,), (101,)
    ),
    "a table of aim": (
        lambda n: workload_of(domain(2, n), max_cells=100).weights["a0", "a1"], (50,), (51,)
    ),
    "mst": (lambda *s: attributes_of(domain(*s)), (4096, 8192), (4097, 8192)),
    "noisy-marginals": (
        lambda *s: requested(domain(*s), ways=2, named=""), (8192, 16_384), (8193, 16_384)
    ),
    "no-priv-jtree": (lambda *s: pairs_of(domain(*s)), (4096, 4096), (4096, 4097)),
    "pairs of lopub": (filters, (1024, 1024), (1024, 1025)),
    "labels of lopub": (filters, (4096,), (4097,)),
    "fourier": (
        lambda n: number_of_coefficients(domain(*[65_536] * n), 1), (30,), (31,)
    ),
    "calm and one-way-ldp": (
        lambda *s: check_marginals(domain(*s), 2), (4000, 5000), (4000, 5001)
    ),
    "clldp": (
        lambda *s: check_sets(domain(*s), "a0", [("a1",)]), (2, 65_536), (3, 43_691)
    ),
    "dp-ccbn": (iterated, (52, 2), (53, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_size_passes_and_the_next_does_not(name: str) -> None:
    make, last, beyond = LIMITS[name]
    make(*last)
    with pytest.raises((UsageError, KeyError)):
        make(*beyond)


@pytest.mark.parametrize(("attributes", "degree"), [(159, 2), (160, 1), (1000, 1), (3, 2), (2, 1)])
def test_families_with_two_parents_are_scored_up_to_159_attributes(
    attributes: int, degree: int
) -> None:
    assert countable_degree(attributes, bits=False) == degree


@pytest.mark.parametrize(("bits", "degree"), [(52, 4), (53, 3), (97, 3), (98, 2)])
def test_families_with_four_parents_are_scored_up_to_52_bits(bits: int, degree: int) -> None:
    assert countable_degree(bits, bits=True) == degree


@pytest.mark.parametrize("name", sorted(OWN_PROTOCOLS))
def test_every_protocol_publishes_at_most_a_hundred_million_rows(name: str) -> None:
    kind = find(name).Parameters
    if "synthetic_rows" not in kind.__struct_fields__:
        pytest.skip("publishes no rows")
    settings = msgspec.convert({"synthetic_rows": 10**8}, kind)
    assert getattr(settings, "synthetic_rows") == 10**8  # noqa: B009 - of some kinds
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"synthetic_rows": 10**8 + 1}, kind)


def test_a_family_fits_up_to_the_most_cells() -> None:
    sizes = Sizes(domain(2, 3, 4), max_cells=12)
    assert [sizes.fits("a1", parents) for parents in (["a2"], ["a0", "a2"], [])] == [
        True,
        False,
        True,
    ]
    assert not Sizes(domain(2, 3, 4), max_cells=11).fits("a1", ["a2"])


def test_a_choice_that_does_not_fit_keeps_no_later_one_from_being_measured() -> None:
    """A triangle of three pairs has a clique of a thousand cells; a pair after it is measured."""
    four = domain(10, 10, 10, 2)
    chosen = {1: ("a0", "a1"), 2: ("a0", "a1"), 3: ("a1", "a2"), 4: ("a0", "a2"), 5: ("a0", "a3")}
    found = measurable(four, chosen, rows=[50, 50, 40, 30, 20], terms=[], max_cells=300)
    assert found == [("a0", "a1"), ("a1", "a2"), ("a0", "a3")]
