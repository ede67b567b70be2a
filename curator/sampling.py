"""Ancestral sampling: rows are drawn attribute by attribute, each conditional on earlier ones.

Bayesian networks and junction trees are both sampled in this way. The conditional distributions of
an attribute are kept as alias tables (Walker 1977, in the arrangement of Vose 1991). A value then
takes one uniform number and two look-ups, however many labels there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ..messages import WorkKind, count_work
from ..privacy.binary import BinaryEncoding
from ..privacy.domain import Domain
from .marginal import Marginal, Numbers

__all__ = ["Chain", "Fallback", "Sample", "SampleCodes", "Step", "Synthesis", "synthesise"]

BLOCK: Final = 1 << 15
"""Rows drawn at a time: the working set fits in the L2 cache."""
MAX_ATTEMPTS: Final = 50
"""Times that a row whose bits are no code is drawn again."""

SampleCodes: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
Fallback: TypeAlias = Literal["uniform", "marginal"]


@dataclass(frozen=True, slots=True)
class Step:
    """Draw `heads` conditional on `parents`, as `table` distributes them.

    The table may have more attributes, which are summed out. It need not be normalised. Negative
    cells then count as 0.
    """

    heads: tuple[str, ...]
    parents: tuple[str, ...]
    table: Marginal


@dataclass(frozen=True, slots=True)
class Sample:
    """Codes of drawn rows, an array for each attribute."""

    codes: list[SampleCodes]
    undefined: int = 0
    """Number of times that a row came to a step that had no distribution for its parents."""


@dataclass(frozen=True, slots=True)
class _Draw:
    """The conditional distributions of one attribute, a row for each configuration of parents."""

    head: int
    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    conditional: Numbers
    keep: Numbers
    alias: npt.NDArray[np.int64]
    empty: npt.NDArray[np.bool_]
    """Whether the step has no distribution for a configuration; only for its first head."""


class Chain:
    """A distribution over all attributes of a domain, as steps that draw them.

    If a step has no mass for a configuration of parents, `empty` names the distribution that is
    used instead: that of its heads without regard to the parents, or the uniform one.
    """

    def __init__(
        self, domain: Domain, steps: Sequence[Step], *, empty: Fallback = "marginal"
    ) -> None:
        self.domain = domain
        self._draws: list[_Draw] = []
        drawn: list[str] = []
        for step in steps:
            misplaced = [
                name
                for name in (*step.heads, *step.parents)
                if (name in step.heads) == (name in drawn)
            ]
            if misplaced:
                parents = ", ".join(step.parents) or "nothing"
                raise ValueError(
                    f"expected {', '.join(step.heads)} once, after {parents}, "
                    f"found {misplaced[0]} out of its place"
                )
            self._draws += _prepare(domain, step, empty=empty)
            drawn += step.heads
        if missing := [name for name in domain.attributes if name not in drawn]:
            raise ValueError(
                f"expected a step for every attribute, found none for {', '.join(missing)}"
            )

    def blocks(self, rows: int, *, generator: np.random.Generator) -> Iterator[Sample]:
        """Draw rows block by block, in bounded memory."""
        for start in range(0, rows, BLOCK):
            yield self._block(min(BLOCK, rows - start), generator)

    def sample(self, rows: int, *, generator: np.random.Generator) -> Sample:
        """Draw rows."""
        sizes = self.domain.shape(self.domain.attributes)
        codes: list[SampleCodes] = [np.empty(rows, _code_type(size)) for size in sizes]
        undefined = start = 0
        for block in self.blocks(rows, generator=generator):
            for column, part in zip(codes, block.codes, strict=True):
                column[start : start + len(part)] = part
            start, undefined = start + BLOCK, undefined + block.undefined
        return Sample(codes, undefined)

    def distribution(self) -> Marginal:
        """Compute every cell of the whole domain, which must be small."""
        names = self.domain.attributes
        joint = Marginal((), np.array(1.0))
        for draw in self._draws:
            attributes = (*(names[parent] for parent in draw.parents), names[draw.head])
            joint = joint * Marginal.of(self.domain, attributes, draw.conditional)
        return joint.project(names)

    def _block(self, rows: int, generator: np.random.Generator) -> Sample:
        drawn: dict[int, SampleCodes] = {}
        undefined = 0
        count_work(WorkKind.SAMPLED, rows * len(self._draws))
        for draw in self._draws:
            row = np.zeros(rows, np.int64)
            for parent, size in zip(draw.parents, draw.sizes, strict=True):
                row *= size
                row += drawn[parent]
            if draw.empty.any():
                undefined += int(draw.empty[row].sum())
            size = draw.conditional.shape[1]
            place = generator.random(rows)
            place *= size
            column = place.astype(np.int64)
            place -= column
            row *= size
            row += column
            codes = np.where(place < draw.keep[row], column, draw.alias[row])
            drawn[draw.head] = codes.astype(_code_type(size))
        return Sample([drawn[index] for index in range(len(drawn))], undefined)


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A synthetic table, and how often the model could not be followed."""

    codes: list[SampleCodes]
    undefined: int
    """Number of values drawn where the model had no distribution."""
    rejected: int
    """Number of rows drawn again because their bits were no code."""
    replaced: int
    """Number of values drawn from all labels alike, because many attempts gave no code."""


def synthesise(
    chain: Chain, rows: int, *, generator: np.random.Generator, binary: BinaryEncoding | None = None
) -> Synthesis:
    """Draw a table of codes.

    If the chain is over bits, `binary` decodes them. A row with a pattern that is no code is drawn
    again.
    """
    if binary is None:
        sample = chain.sample(rows, generator=generator)
        return Synthesis(sample.codes, sample.undefined, 0, 0)
    codes: list[SampleCodes] = [
        np.zeros(rows, _code_type(len(labels))) for labels in binary.domain.labels.values()
    ]
    # Without bits there is only one possible row.
    missing = np.arange(rows if binary.bits.labels else 0)
    undefined = rejected = replaced = 0
    for attempt in range(MAX_ATTEMPTS):
        sample = chain.sample(len(missing), generator=generator)
        decoded, valid = binary.decode(sample.codes)
        for column, drawn in zip(codes, decoded, strict=True):
            column[missing] = drawn
        undefined += sample.undefined
        missing = missing[~valid]
        if not len(missing) or attempt + 1 == MAX_ATTEMPTS:
            break
        rejected += len(missing)
    for column, labels in zip(codes, binary.domain.labels.values(), strict=True):
        invalid = missing[column[missing] >= len(labels)]
        column[invalid] = generator.integers(0, len(labels), len(invalid))
        replaced += len(invalid)
    return Synthesis(codes, undefined, rejected, replaced)


def _code_type(labels: int) -> type[np.uint8 | np.uint16]:
    return np.uint8 if labels <= 256 else np.uint16


def _prepare(domain: Domain, step: Step, *, empty: Fallback) -> Iterator[_Draw]:
    """Split a step into one draw for each head, conditional on the heads before it."""
    names = domain.attributes
    table = step.table.project((*step.parents, *step.heads))
    if table.values.shape != domain.shape(table.attributes) or not np.isfinite(table.values).all():
        raise ValueError(
            f"expected a table of {_dimensions(domain.shape(table.attributes))} finite numbers "
            f"for {', '.join(table.attributes)}, found {_dimensions(table.values.shape)}"
        )
    weights = np.maximum(table.values, 0.0).reshape(domain.cells(step.parents), -1)
    without_mass = ~(weights.sum(axis=1) > 0)
    margin = weights.sum(axis=0)
    weights[without_mass] = margin if empty == "marginal" and margin.sum() > 0 else 1.0
    complete = Marginal(table.attributes, weights.reshape(table.values.shape))
    for index, head in enumerate(step.heads):
        parents = (*step.parents, *step.heads[:index])
        size = domain.cells([head])
        rows = complete.project((*parents, head)).values.reshape(-1, size)
        mass = rows.sum(axis=1, keepdims=True)
        # A row without mass belongs to earlier heads that are never drawn, so any distribution
        # will do.
        conditional = np.divide(rows, mass, out=np.full(rows.shape, 1 / size), where=mass > 0)
        keep, alias = _alias(conditional)
        yield _Draw(
            names.index(head),
            tuple(names.index(name) for name in parents),
            domain.shape(parents),
            conditional,
            keep.reshape(-1),
            alias.reshape(-1),
            without_mass if index == 0 else without_mass[:0],
        )


def _dimensions(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _alias(conditional: Numbers) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Make the alias tables of all rows: column j stays with probability keep[j], else alias[j].

    Every column holds 1/size of the mass, and columns are sorted by their share. As long as the
    largest remaining column has more than its share, it fills up the smallest one. When it has
    less, the next largest fills it up. Each pass finishes one column in every row.
    """
    rows, size = conditional.shape
    order = np.argsort(conditional, axis=1, kind="stable")
    share = np.take_along_axis(conditional, order, axis=1) * size
    keep, alias = np.ones((rows, size)), np.tile(np.arange(size), (rows, 1))
    every = np.arange(rows)
    small, large = np.zeros(rows, np.int64), np.full(rows, size - 1)
    rest = share[:, -1].copy()
    """Share that is left of the largest column."""
    for _ in range(size - 1):
        exhausted = rest < 1
        kept = np.where(exhausted, rest, share[every, small])
        finished = np.where(exhausted, large, small)
        giver = np.where(exhausted, large - 1, large)
        keep[every, order[every, finished]] = kept
        alias[every, order[every, finished]] = order[every, giver]
        rest = np.where(exhausted, share[every, giver] + rest - 1, rest + kept - 1)
        small, large = small + ~exhausted, giver
    return np.clip(keep, 0.0, 1.0), alias
