"""Ancestral sampling: rows drawn attribute by attribute, each given some that stand before it.

Bayesian networks and junction trees both end here. An attribute's conditional distributions are
kept as alias tables (Walker 1977, in the arrangement of Vose 1991), so a value costs one uniform
number and two look-ups however many labels there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from ..privacy.binary import Binary
from ..privacy.domain import Domain
from .marginal import Marginal, Numbers

__all__ = ["Chain", "Sample", "Step", "synthesise"]

Codes = npt.NDArray[np.unsignedinteger[Any]]
CHUNK: Final = 1 << 15
"""Rows that are drawn at a time: what is touched stays in the second cache."""
ATTEMPTS: Final = 50

Empty = Literal["uniform", "marginal"]


@dataclass(frozen=True, slots=True)
class Step:
    """Draw `heads` given `given`, as `table` distributes them.

    The table may have more attributes, which are summed out, and need not sum to anything; what is
    then negative counts as 0.
    """

    heads: tuple[str, ...]
    given: tuple[str, ...]
    table: Marginal


@dataclass(frozen=True, slots=True)
class Sample:
    """Codes, an array an attribute, and how often a row came to a step that had no distribution for
    it.
    """

    codes: list[Codes]
    undefined: int = 0


@dataclass(frozen=True, slots=True)
class _Draw:
    """One attribute's conditional distributions, a line a configuration of what is given, ready to
    be drawn from.
    """

    head: int
    given: tuple[int, ...]
    sizes: tuple[int, ...]
    conditional: Numbers
    keep: Numbers
    alias: npt.NDArray[np.int64]
    empty: npt.NDArray[np.bool_]
    """Lines of what the step is given, not what its earlier heads are: only for the first head of a
    step.
    """


class Chain:
    """A distribution over all attributes of a domain, by steps in which they are drawn.

    Where a step has no mass for what is given, `empty` says what stands in: the distribution of its
    heads without regard to what is given, or all of their labels alike.
    """

    def __init__(self, domain: Domain, steps: Sequence[Step], *, empty: Empty = "marginal") -> None:
        self.domain = domain
        self._draws: list[_Draw] = []
        done: list[str] = []
        for step in steps:
            if wrong := [
                name
                for name in (*step.heads, *step.given)
                if (name in step.heads) == (name in done)
            ]:
                given = ", ".join(step.given) or "nothing"
                raise ValueError(
                    f"expected {', '.join(step.heads)} once, after {given}, found {wrong[0]} out of its place"
                )
            self._draws += _prepare(domain, step, empty=empty)
            done += step.heads
        if missing := [name for name in domain.attributes if name not in done]:
            raise ValueError(
                f"expected a step for every attribute, found none for {', '.join(missing)}"
            )

    def blocks(self, rows: int, *, generator: np.random.Generator) -> Iterator[Sample]:
        """Draw rows, some at a time, in bounded memory."""
        for start in range(0, rows, CHUNK):
            yield self._block(min(CHUNK, rows - start), generator)

    def sample(self, rows: int, *, generator: np.random.Generator) -> Sample:
        """Draw rows."""
        sizes = self.domain.shape(self.domain.attributes)
        codes: list[Codes] = [np.empty(rows, _width(size)) for size in sizes]
        undefined = at = 0
        for block in self.blocks(rows, generator=generator):
            for column, part in zip(codes, block.codes, strict=True):
                column[at : at + len(part)] = part
            at, undefined = at + CHUNK, undefined + block.undefined
        return Sample(codes, undefined)

    def distribution(self) -> Marginal:
        """Multiply all steps out: every cell of the whole domain, so for small ones."""
        names = self.domain.attributes
        factors = []
        for draw in self._draws:
            shape = (
                *(self.domain.shape([names[at]])[0] for at in draw.given),
                draw.conditional.shape[1],
            )
            factors.append(
                Marginal(
                    (*(names[at] for at in draw.given), names[draw.head]),
                    draw.conditional.reshape(shape),
                )
            )
        return reduce(lambda one, other: one * other, factors, Marginal((), np.array(1.0))).project(
            names
        )

    def _block(self, rows: int, generator: np.random.Generator) -> Sample:
        drawn: dict[int, Codes] = {}
        undefined = 0
        for draw in self._draws:
            line = np.zeros(rows, np.int64)
            for at, size in zip(draw.given, draw.sizes, strict=True):
                line *= size
                line += drawn[at]
            if draw.empty.any():
                undefined += int(draw.empty[line].sum())
            size = draw.conditional.shape[1]
            place = generator.random(rows)
            place *= size
            column = place.astype(np.int64)
            place -= column
            line *= size
            line += column
            drawn[draw.head] = np.where(place < draw.keep[line], column, draw.alias[line]).astype(
                _width(size)
            )
        return Sample([drawn[at] for at in range(len(drawn))], undefined)


def _width(labels: int) -> type[np.uint8 | np.uint16]:
    return np.uint8 if labels <= 256 else np.uint16


def _prepare(domain: Domain, step: Step, *, empty: Empty) -> Iterator[_Draw]:
    """Take a step apart, head by head, each given the heads before it."""
    names = domain.attributes
    table = step.table.project((*step.given, *step.heads))
    if table.values.shape != domain.shape(table.attributes) or not np.isfinite(table.values).all():
        shape = "x".join(map(str, domain.shape(table.attributes)))
        found = "x".join(map(str, table.values.shape))
        raise ValueError(
            f"expected a table of {shape} finite numbers for {', '.join(table.attributes)}, found {found}"
        )
    weights = np.maximum(table.values, 0.0).reshape(domain.cells(step.given), -1)
    none = ~(weights.sum(axis=1) > 0)
    own = weights.sum(axis=0)
    weights[none] = own if empty == "marginal" and own.sum() > 0 else 1.0
    whole = Marginal(table.attributes, weights.reshape(table.values.shape))
    for at, head in enumerate(step.heads):
        given = (*step.given, *step.heads[:at])
        size = domain.cells([head])
        lines = whole.project((*given, head)).values.reshape(-1, size)
        mass = lines.sum(axis=1, keepdims=True)
        # A line without mass here begins with heads that are never drawn; any distribution will do.
        conditional = np.divide(lines, mass, out=np.full(lines.shape, 1 / size), where=mass > 0)
        keep, alias = _alias(conditional)
        yield _Draw(
            names.index(head),
            tuple(names.index(name) for name in given),
            domain.shape(given),
            conditional,
            keep.reshape(-1),
            alias.reshape(-1),
            none if at == 0 else none[:0],
        )


def _alias(conditional: Numbers) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Make alias tables of all lines at once: column j of a line stays with probability keep[j],
    else it is alias[j].

    Every column holds 1/size of the mass. In order of size: while the largest left has more than
    its share, it fills up the smallest; when it has less, the next largest fills it up. One column
    is finished in each pass, of every line.
    """
    lines, size = conditional.shape
    order = np.argsort(conditional, axis=1, kind="stable")
    share = np.take_along_axis(conditional, order, axis=1) * size
    keep, alias = np.ones((lines, size)), np.tile(np.arange(size), (lines, 1))
    every = np.arange(lines)
    small, large = np.zeros(lines, np.int64), np.full(lines, size - 1)
    left = share[:, -1].copy()
    for _ in range(size - 1):
        fill = left < 1
        taken = np.where(fill, left, share[every, small])
        done, giver = np.where(fill, large, small), np.where(fill, large - 1, large)
        keep[every, order[every, done]] = taken
        alias[every, order[every, done]] = order[every, giver]
        left = np.where(fill, share[every, giver] + left - 1, left + taken - 1)
        small, large = small + ~fill, giver
    return np.clip(keep, 0.0, 1.0), alias


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A synthetic table, and what had to be done for it."""

    codes: list[Codes]
    undefined: int
    """Values drawn where the model had no distribution."""
    rejected: int
    """Rows thrown away because their bits were no code."""
    replaced: int
    """Values still no code after many attempts, drawn from all labels alike."""


def synthesise(
    chain: Chain, rows: int, *, generator: np.random.Generator, binary: Binary | None = None
) -> Synthesis:
    """Draw a table; of a chain over bits, one of codes: rows with a pattern that is no code are
    drawn again.
    """
    if binary is None:
        sample = chain.sample(rows, generator=generator)
        return Synthesis(sample.codes, sample.undefined, 0, 0)
    codes: list[Codes] = [
        np.zeros(rows, _width(len(labels))) for labels in binary.domain.labels.values()
    ]
    missing = np.arange(
        rows if binary.bits.labels else 0
    )  # without bits there is one row that anybody can have
    undefined = rejected = replaced = 0
    for attempt in range(ATTEMPTS):
        sample = chain.sample(len(missing), generator=generator)
        found, valid = binary.decode(sample.codes)
        for column, drawn in zip(codes, found, strict=True):
            column[missing] = drawn
        undefined += sample.undefined
        missing = missing[~valid]
        if not len(missing) or attempt + 1 == ATTEMPTS:
            break
        rejected += len(missing)
    for column, labels in zip(codes, binary.domain.labels.values(), strict=True):
        wrong = missing[column[missing] >= len(labels)]
        column[wrong] = generator.integers(0, len(labels), len(wrong))
        replaced += len(wrong)
    return Synthesis(codes, undefined, rejected, replaced)
