"""Real numbers as whole ones: clipped to public bounds, and rounded to a public resolution.

Noise is exact for whole numbers alone. So a real number x becomes the number of steps of length r
that is nearest to it, after it was clipped. A sum of n numbers is off by n r / 2 at most in each
column. How far it can be off is public, and so are the bounds, so clipping and rounding cost no
privacy.

There are two ways to clip a row of d numbers:

    bounds      each number to its own interval (low, high)
    bound       the whole row to an L2 norm of at most B, by scaling it down

Sensitivities are computed from the clipped steps, so floating point cannot exceed them. Let w be
the vector of the intervals' lengths in steps, and let a be that of their largest absolute values.

    add-or-remove-one, by bounds      a
    replace-one, by bounds            w
    add-or-remove-one, by a bound     L2: b,   L1: sqrt(d) b
    replace-one, by a bound           twice that

Rounding makes a row longer by sqrt(d) / 2 steps at most, so b = B / r + sqrt(d) / 2. Where rows are
summed by group, a replaced record may leave one group and enter another. Then the two vectors a of
the two groups change, so the sensitivity is the larger of the two cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..messages import ArgumentError, Private
from .arguments import exact_fraction, real_numbers
from .neighbours import Neighbours
from .real_bounds import Bounds, interval, require_one_of

__all__ = ["Clipping", "Sensitivities", "fitted_clipping", "make_clipping"]

Steps = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

MAX_STEPS: Final = 1 << 50
"""Largest number of steps in one value by bounds; floats represent them exactly."""
MAX_NORM: Final = 1 << 30
"""Largest L2 norm of a row in steps; its square fits into 64 bits."""
MAX_SUM: Final = 1 << 61
"""Largest absolute value of a sum in steps; noise can be added within 64 bits."""
FINE: Final = 1 << 24
"""Steps in the largest bound of a trial that chooses the default resolution."""


class Sensitivities(NamedTuple):
    """By how much one record changes all sums together, in steps."""

    l1: Fraction
    l2_squared: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Clipping:
    """How rows of real numbers become whole ones. Everything here is public."""

    resolution: Fraction
    """The length of a step."""
    lows: tuple[int, ...]
    """The lowest step of each column."""
    highs: tuple[int, ...]
    norm: Fraction | None
    """The bound on the L2 norm of a row before rounding, in steps; `None` where `bounds` clip."""

    @property
    def columns(self) -> int:
        return len(self.lows)

    @property
    def largest(self) -> int:
        """Largest absolute value in steps."""
        return max(map(abs, self.lows + self.highs))

    @property
    def squared_norm(self) -> int | None:
        """Bound on the squared L2 norm of a row after rounding, in steps."""
        if self.norm is None:
            return None
        half_root = Fraction(math.isqrt(self.columns << 40) + 1, 2 << 20)
        return math.floor((self.norm + half_root) ** 2)

    def steps(self, values: object, *, mechanism: str) -> Steps:
        """Clip and round rows of real numbers.

        >>> clipping = make_clipping(columns=1, bounds=(0, 10), resolution=0.5)
        >>> clipping.steps([[3.3], [-2.0], [99.0]], mechanism="sum").tolist()
        [[7], [0], [20]]
        """
        reals = real_numbers(values, mechanism=mechanism)
        if reals.ndim != 2 or reals.shape[1] != self.columns:
            raise ArgumentError(
                f"expected rows of {self.columns} numbers in {mechanism}, found an array of "
                f"{reals.ndim} dimensions",
                Private(f" with rows of {reals.shape[1]}" if reals.ndim == 2 else ""),
            )
        resolution = float(self.resolution)
        lows, highs = np.array(self.lows, np.float64), np.array(self.highs, np.float64)
        if self.norm is not None:
            with np.errstate(over="ignore"):
                norms = np.sqrt((reals**2).sum(axis=1))
            largest = float(self.norm) * resolution
            reals = reals * np.minimum(1, largest / np.maximum(norms, largest))[:, None]
        with np.errstate(over="ignore"):
            steps = np.rint(np.clip(reals / resolution, lows, highs)).astype(np.int64)
        self._shorten(steps)
        return steps

    def _shorten(self, steps: Steps) -> None:
        """Shorten rows that are longer than the bound because of floating point."""
        if self.squared_norm is None:
            return
        while (longer := (steps**2).sum(axis=1) > self.squared_norm).any():
            steps[longer] -= np.sign(steps[longer])

    def sums(
        self, values: object, *, mechanism: str, groups: object = None, number_of_groups: int = 1
    ) -> Steps:
        """Clip, round and add up rows, all together or by group: a row for each group."""
        steps = self.steps(values, mechanism=mechanism)
        if len(steps) * self.largest > MAX_SUM:
            raise ArgumentError(
                f"expected sums below 2**61 steps in {mechanism}, found ",
                Private(str(self.largest)),
                " steps in the largest value: choose a larger resolution",
            )
        sums = np.zeros((number_of_groups, self.columns), np.int64)
        if groups is None:
            sums[0] = steps.sum(axis=0)
        else:
            np.add.at(sums, _groups(groups, len(steps), number_of_groups, mechanism), steps)
        return sums

    def sensitivities(self, neighbours: Neighbours, *, by_group: bool = False) -> Sensitivities:
        """Bound the change of the sums between neighbouring datasets, in steps.

        >>> make_clipping(columns=2, bounds=(-1, 3), resolution=1).sensitivities("replace-one")
        Sensitivities(l1=Fraction(8, 1), l2_squared=Fraction(32, 1))
        """
        if neighbours not in ("replace-one", "add-or-remove-one"):
            raise ArgumentError(
                "expected neighbours replace-one or add-or-remove-one for a sum, found "
                f"{neighbours}: a sum of real numbers protects whole records"
            )
        if self.squared_norm is not None:
            once = Fraction(self.squared_norm)
            factor = 2 if neighbours == "replace-one" else 1
            root = math.isqrt(self.columns * self.squared_norm) + 1
            return Sensitivities(Fraction(factor * root), factor**2 * once)
        pairs = list(zip(self.lows, self.highs, strict=True))
        largest = [max(abs(low), abs(high)) for low, high in pairs]
        alone = Sensitivities(Fraction(sum(largest)), Fraction(sum(a * a for a in largest)))
        if neighbours == "add-or-remove-one":
            return alone
        widths = [high - low for low, high in pairs]
        l1, l2_squared = sum(widths), sum(width**2 for width in widths)
        if by_group:
            return Sensitivities(
                max(Fraction(l1), 2 * alone.l1), max(Fraction(l2_squared), 2 * alone.l2_squared)
            )
        return Sensitivities(Fraction(l1), Fraction(l2_squared))

    def reals(self, steps: npt.ArrayLike) -> Reals:
        """Turn numbers of steps into real numbers."""
        return np.asarray(steps, np.float64) * float(self.resolution)


def make_clipping(
    *,
    columns: int,
    bound: float | None = None,
    bounds: Bounds | None = None,
    resolution: float | Fraction,
) -> Clipping:
    """Describe how real numbers become whole ones.

    Args:
        columns: The number of real numbers in a row.
        bound: The largest L2 norm of a row. For a single number it is the largest absolute value.
        bounds: The lowest and the highest number.
        resolution: The length of a step.
    """
    require_one_of(bound, bounds)
    step = exact_fraction(resolution, name="a resolution")
    if bound is not None:
        norm = exact_fraction(bound, name="a bound") / step
        ends = math.floor(norm + Fraction(1, 2))
        if columns == 1:
            return _checked(Clipping(resolution=step, lows=(-ends,), highs=(ends,), norm=None))
        if norm > MAX_NORM:
            raise ArgumentError(
                "expected a bound of at most 2**30 steps, found ",
                Private(f"{float(norm):g}"),
                ": choose a larger resolution",
            )
        lows, highs = (-ends,) * columns, (ends,) * columns
        return _checked(Clipping(resolution=step, lows=lows, highs=highs, norm=norm))
    lowest, highest = interval(bounds, columns=columns)
    steps = [
        tuple(math.floor(Fraction(end) / step + Fraction(1, 2)) for end in ends.tolist())
        for ends in (lowest, highest)
    ]
    return _checked(Clipping(resolution=step, lows=steps[0], highs=steps[1], norm=None))


def fitted_clipping(
    scale: Callable[[Clipping], float],
    *,
    columns: int,
    bound: float | None = None,
    bounds: Bounds | None = None,
    resolution: float | Fraction | None = None,
    steps: int,
) -> Clipping:
    """Describe how real numbers become whole ones, by default in steps that fit the noise.

    The default resolution is a power of two. A noise scale has `steps` steps at least, and the
    largest absolute value has 64 of them, or 64 sqrt(d) in rows of d numbers.

    Args:
        scale: Computes the noise scale, in steps, of a way to clip.
        columns: As in `make_clipping`.
        bound: As in `make_clipping`.
        bounds: As in `make_clipping`.
        resolution: The length of a step, or `None` for the default.
        steps: The number of steps in a noise scale, rounded up to a power of two.
    """
    require_one_of(bound, bounds)
    if resolution is None:
        if bound is None:
            size = float(np.abs(interval(bounds, columns=columns)).max())
        else:
            size = float(exact_fraction(bound, name="a bound"))
        trial = make_clipping(
            columns=columns, bound=bound, bounds=bounds, resolution=_power_of_two(size) / FINE
        )
        noise = Fraction(scale(trial)) * trial.resolution
        # Rounding makes a row of d numbers longer by sqrt(d) / 2 steps: less than a hundredth.
        root = 1 << ((columns - 1).bit_length() + 1) // 2
        resolution = _power_of_two(size) / (64 * root)
        if noise:
            fine = 1 << max(0, steps - 1).bit_length()
            resolution = min(resolution, _power_of_two(float(noise)) / fine)
    return make_clipping(columns=columns, bound=bound, bounds=bounds, resolution=resolution)


def _power_of_two(number: float) -> Fraction:
    """Give the largest power of two that is not larger."""
    return Fraction(2) ** (math.frexp(number)[1] - 1)


def _checked(clipping: Clipping) -> Clipping:
    """Refuse a resolution that leaves nothing of the values, or too much."""
    if clipping.largest > MAX_STEPS:
        raise ArgumentError(
            "expected bounds of at most 2**50 steps, found ",
            Private(str(clipping.largest)),
            ": choose a larger resolution",
        )
    if clipping.largest == 0:
        raise ArgumentError(
            "expected a resolution below the bounds, found ",
            Private(f"{float(clipping.resolution):g}"),
            ": choose a smaller one",
        )
    return clipping


def _groups(groups: object, rows: int, number: int, mechanism: str) -> npt.NDArray[np.int64]:
    """Check the group of each row."""
    labels = np.asarray(groups)
    if labels.shape != (rows,) or (labels.size and labels.dtype.kind not in "iu"):
        raise ArgumentError(
            f"expected the number of a group for each row in {mechanism}, found something else"
        )
    if labels.size and not 0 <= int(labels.min()) <= int(labels.max()) < number:
        raise ArgumentError(
            "expected groups from 0 to ",
            Private(str(number - 1)),
            f" in {mechanism}, found another: say number_of_groups=",
        )
    return labels.astype(np.int64)
