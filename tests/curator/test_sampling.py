"""Chains of conditional distributions: exact ones, and the rows drawn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sottovoce.curator import Chain, Marginal, Step, synthesise
from sottovoce.curator.decoding import decode_rows
from sottovoce.curator.sampling import _alias, _prepare
from sottovoce.privacy import Domain
from sottovoce.privacy.binary import BinaryEncoding

if TYPE_CHECKING:
    from conftest import Random


def test_attributes_of_a_single_label_are_added_to_drawn_rows() -> None:
    domain = Domain({"a": ("x",), "b": ("no", "yes"), "c": ("y",)})
    table = decode_rows(domain, ["b"], [np.array([1, 0, 1], np.uint8)])
    assert table.frame().to_dict("list") == {
        "a": ["x"] * 3,
        "b": ["yes", "no", "yes"],
        "c": ["y"] * 3,
    }


@pytest.mark.parametrize("size", [1, 2, 3, 17, 300])
def test_alias_tables_are_the_distribution(size: int) -> None:
    generator = np.random.default_rng(size)
    rows = np.concatenate(
        [
            generator.dirichlet(np.full(size, 0.1), 20),
            np.full((1, size), 1 / size),
            np.eye(size)[:3],
        ]
    )
    keep, alias = _alias(rows)
    probabilities = keep / size
    for row in range(len(rows)):
        np.add.at(probabilities[row], alias[row], (1 - keep[row]) / size)
    assert keep.min() >= 0
    assert keep.max() <= 1
    assert np.abs(probabilities - rows).max() < 1e-12


def test_a_chain_is_the_product_of_its_steps(random: Random) -> None:
    domain = random.domain(attributes=5)
    joint = random.joint(domain)
    names = tuple(map(str, random.generator.permutation(domain.attributes)))
    whole = Chain(domain, [Step(names[:2], (), joint), Step(names[2:], names[:2], joint)])
    assert whole.distribution().distance(joint) < 1e-12
    independent = Chain(domain, [Step((name,), (), joint) for name in names])
    expected = joint.project(names[:1])
    for name in names[1:]:
        expected = expected * joint.project([name])
    assert independent.distribution().distance(expected) < 1e-12


def test_rows_follow_the_distribution() -> None:
    """A chi-squared test of 200,000 rows, which a correct sampler fails once in a million runs."""
    generator = np.random.default_rng(5)
    domain = Domain({"a": ("0", "1", "2"), "b": ("0", "1"), "c": tuple(map(str, range(7)))})
    joint = Marginal(domain.attributes, generator.dirichlet(np.ones(42)).reshape(3, 2, 7))
    chain = Chain(domain, [Step(("b",), (), joint), Step(("c", "a"), ("b",), joint)])
    sample = chain.sample(200_000, generator=generator)
    counts = np.zeros((3, 2, 7))
    np.add.at(counts, tuple(sample.codes), 1)
    expected = joint.values * 200_000
    statistic = float(((counts - expected) ** 2 / expected).sum())
    from scipy.stats import chi2

    assert chi2.ppf(1e-6 / 2, 41) < statistic < chi2.ppf(1 - 1e-6 / 2, 41)
    assert sample.undefined == 0
    assert [column.dtype for column in sample.codes] == [np.uint8] * 3


def test_blocks_are_the_whole() -> None:
    domain = Domain({"a": ("0", "1"), "b": tuple(map(str, range(300)))})
    chain = Chain(domain, [Step(("b", "a"), (), Marginal.uniform(domain, ["a", "b"]))])
    whole = chain.sample(70_000, generator=np.random.default_rng(1))
    parts = list(chain.blocks(70_000, generator=np.random.default_rng(1)))
    for index in (0, 1):
        assert np.array_equal(
            whole.codes[index], np.concatenate([part.codes[index] for part in parts])
        )
    assert whole.codes[1].dtype == np.uint16
    assert chain.sample(0, generator=np.random.default_rng(1)).codes[0].tolist() == []


@pytest.mark.parametrize(
    ("empty", "expected"), [("marginal", [0.75, 0.25]), ("uniform", [0.5, 0.5])]
)
def test_where_there_is_no_distribution(empty: Any, expected: list[float]) -> None:
    domain = Domain({"a": ("0", "1"), "b": ("0", "1")})
    table = Marginal(("a", "b"), np.array([[3.0, 1.0], [-2.0, 0.0]]))
    chain = Chain(
        domain,
        [Step(("a",), (), Marginal.uniform(domain, ["a"])), Step(("b",), ("a",), table)],
        empty=empty,
    )
    joint = chain.distribution().values
    assert joint[0] * 2 == pytest.approx([0.75, 0.25])
    assert joint[1] * 2 == pytest.approx(expected)
    sample = chain.sample(10_000, generator=np.random.default_rng(2))
    assert sample.undefined == int(sample.codes[0].sum())


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([(("a",), ())], "a step for every attribute, found none for b"),
        (
            [(("a",), ()), (("a", "b"), ())],
            "expected a, b once, after nothing, found a out of its place",
        ),
        ([(("a",), ("b",)), (("b",), ())], "expected a once, after b, found b out of its place"),
    ],
)
def test_steps_that_are_no_chain(steps: list[Any], message: str) -> None:
    domain = Domain({"a": ("0", "1"), "b": ("0", "1")})
    with pytest.raises(ValueError, match=message):
        Chain(
            domain,
            [
                Step(heads, parents, Marginal.uniform(domain, ["a", "b"]))
                for heads, parents in steps
            ],
        )


DOMAIN = Domain(
    {
        "size": tuple(map(str, range(5))),
        "kind": ("x",),
        "sex": ("f", "m"),
        "town": tuple(map(str, range(41))),
    }
)


def test_heads_in_any_order_and_an_empty_line_keeps_their_dependence() -> None:
    domain = Domain({"s": ("0", "1"), "a": ("0", "1"), "b": ("0", "1")})
    table = Marginal(("s", "a", "b"), np.array([[[-5.0, 5], [3, 1]], [[0, -1], [0, 0]]]))
    for heads in (("a", "b"), ("b", "a")):
        first = Step(("s",), (), Marginal.uniform(domain, ["s"]))
        chain = Chain(domain, [first, Step(heads, ("s",), table)])
        # A row without mass gets the distribution of the heads without s.
        for row in chain.distribution().values * 2:
            assert row == pytest.approx(np.array([[0, 5], [3, 1]]) / 9)
        sample = chain.sample(1000, generator=np.random.default_rng(0))
        assert sample.undefined == int(sample.codes[0].sum())


def test_tables_of_another_shape_are_refused() -> None:
    domain = Domain({"a": ("0", "1")})
    for table in (np.ones(4), np.array([1, np.nan])):
        with pytest.raises(ValueError, match="a table of 2 finite numbers for a"):
            Chain(domain, [Step(("a",), (), Marginal(("a",), table))])


def test_nothing_to_draw() -> None:
    binary = BinaryEncoding(Domain({"a": ("x",), "b": ("y",)}))
    synthesis = synthesise(
        Chain(binary.bits, []), 5, generator=np.random.default_rng(0), binary=binary
    )
    assert [column.tolist() for column in synthesis.codes] == [[0] * 5] * 2
    assert Chain(Domain({}), []).sample(3, generator=np.random.default_rng(0)).codes == []


def test_binarisation() -> None:
    binary = BinaryEncoding(DOMAIN)
    assert binary.widths == (3, 0, 1, 6)
    assert binary.bits.attributes == (
        "size[0]",
        "size[1]",
        "size[2]",
        "sex[0]",
        *(f"town[{bit}]" for bit in range(6)),
    )
    assert binary.of("town") == binary.bits.attributes[4:]
    codes = [np.arange(200) % size for size in (5, 1, 2, 41)]
    bits = binary.encode(codes)
    assert [int(bit[4]) for bit in bits[:3]] == [1, 0, 0]  # the most significant first
    decoded, valid = binary.decode(bits)
    assert valid.all()
    assert all(np.array_equal(column, again) for column, again in zip(codes, decoded, strict=True))
    every = [np.arange(1 << 10) >> shift & 1 for shift in range(9, -1, -1)]
    _, valid = binary.decode([bit.astype(np.uint8) for bit in every])
    assert valid.sum() == 5 * 2 * 41
    with pytest.raises(ValueError, match="expected 10 bits, found 9"):
        binary.decode(bits[1:])


def test_rows_that_are_no_code_are_drawn_again() -> None:
    binary = BinaryEncoding(DOMAIN)
    free = Chain(
        binary.bits,
        [
            Step((name,), (), Marginal.uniform(binary.bits, [name]))
            for name in binary.bits.attributes
        ],
    )
    synthesis = synthesise(free, 5000, generator=np.random.default_rng(3), binary=binary)
    assert all(
        column.max() < size for column, size in zip(synthesis.codes, (5, 1, 2, 41), strict=True)
    )
    assert synthesis.replaced == 0
    # 410 of 1,024 patterns are codes, so the number of rejections is negative binomial.
    assert synthesis.rejected == pytest.approx(
        5000 * (1024 / 410 - 1), abs=6 * (5000 * 614 * 1024) ** 0.5 / 410
    )
    counts = np.bincount(synthesis.codes[0], minlength=5)
    assert np.abs(counts - 1000).max() < 6 * 800**0.5


def test_a_model_that_never_gives_a_code_ends() -> None:
    binary = BinaryEncoding(Domain({"size": tuple(map(str, range(5)))}))
    ones = Marginal(("size[0]",), np.array([0.0, 1.0]))
    tables = [ones, Marginal(("size[1]",), ones.values), Marginal(("size[2]",), ones.values)]
    chain = Chain(binary.bits, [Step(table.attributes, (), table) for table in tables])
    synthesis = synthesise(chain, 100, generator=np.random.default_rng(3), binary=binary)
    assert synthesis.replaced == 100
    assert synthesis.rejected == 4900
    assert set(synthesis.codes[0].tolist()) == set(range(5))


def test_a_line_without_mass_within_a_step() -> None:
    """No row has a = 1, so b given a = 1 may be anything, but must be a distribution."""
    domain = Domain({"a": ("0", "1"), "b": ("0", "1", "2")})
    table = Marginal(("a", "b"), np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 0.0]]))
    step = Step(("a", "b"), (), table)
    chain = Chain(domain, [step])
    draws = list(_prepare(domain, step, empty="uniform"))
    assert draws[1].conditional[1].tolist() == pytest.approx([1 / 3] * 3)
    assert chain.distribution().values.tolist() == [[0.25, 0.5, 0.25], [0.0, 0.0, 0.0]]
    sample = chain.sample(300, generator=np.random.default_rng(1))
    assert not sample.codes[0].any()
    assert set(sample.codes[1].tolist()) == {0, 1, 2}


@pytest.mark.parametrize(
    ("empty", "expected"), [("marginal", [0.25, 0.5, 0.25]), ("uniform", [1 / 3] * 3)]
)
def test_parents_without_mass(empty: Any, expected: list[float]) -> None:
    domain = Domain({"a": ("0", "1"), "b": ("0", "1", "2")})
    table = Marginal(("a", "b"), np.array([[1.0, 2.0, 1.0], [0.0, -1.0, 0.0]]))
    (draw,) = _prepare(domain, Step(("b",), ("a",), table), empty=empty)
    assert draw.conditional.tolist() == [[0.25, 0.5, 0.25], pytest.approx(expected)]
    nothing = Marginal(("a", "b"), np.zeros((2, 3)))
    (draw,) = _prepare(domain, Step(("b",), ("a",), nothing), empty=empty)
    assert draw.conditional.tolist() == [pytest.approx([1 / 3] * 3)] * 2
