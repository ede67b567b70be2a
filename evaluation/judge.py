"""The judge: both tables side by side.

Stands outside of every conversation: whoever can see the real table may judge, the curator cannot.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..curator.projections import norm_sub
from ..messages import UsageError
from ..parties import Bins, Categories, Records, Schema, blocks, infer, load, merge, read_schema
from .classification import classify, read_target, revealing
from .dependence import dependence_kept
from .distances import SHOWN, Distance, Told, distance
from .worst import MarginalShown, show_marginal, worst_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["evaluate", "judge", "judge_marginals"]

SCHEMA_FILE: Final = "schema.json"


def evaluate(
    real: str | os.PathLike[str] | pd.DataFrame,
    synthetic: str | os.PathLike[str] | pd.DataFrame,
    *,
    schema: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    ways: Sequence[int] = (2, 3),
    binary: bool = True,
    classify: Sequence[str] = (),
    drop: Sequence[str] = (),
    seed: int = 0,
    told: Told | None = None,
) -> dict[str, Any]:
    """Compare a synthetic table with the real one.

    Args: real: a path, or a DataFrame. synthetic: the same. schema: what categories and bins there
        are. Without it, the one beside the synthetic table, as a run leaves it; without
            that, one inferred from both.
        ways: how many attributes the compared marginals have.
        binary: compare the marginals of binarised attributes, too.
        classify: what to predict: "income", "education>=Bachelors", "race=White|Black".
        drop: attributes that the classifiers do not get.
        seed: of the samples and of the split into training and test.
        told: is told of the progress.

    Returns:
        What `sottovoce evaluate --json` prints.
    """
    one, other = (
        table if not isinstance(table, str | os.PathLike) else str(table)
        for table in (real, synthetic)
    )
    notes: list[str] = []
    settled, where = _schema(one, other, schema, notes)
    if told is not None:
        told("reading the tables", 0, 2)
    tables = [load(table, schema=settled) for table in (one, other)]
    found = judge(
        *tables, ways=ways, binary=binary, targets=classify, drop=drop, seed=seed, told=told
    )
    return {"schema": where, **found, "notes": [*notes, *found["notes"]]}


def judge(
    real: Records,
    synthetic: Records,
    *,
    ways: Sequence[int] = (2, 3),
    binary: bool = True,
    targets: Sequence[str] = (),
    drop: Sequence[str] = (),
    seed: int = 0,
    test: Records | None = None,
    told: Told | None = None,
) -> dict[str, Any]:
    """Compare records of one domain; classifiers are tested on a fifth of the real ones, or on
    those of `test`.
    """
    wanted = [
        read_target(real.domain, text) for text in targets
    ]  # what is wrong with them is said before the work
    notes = []
    distances = [
        distance(real, synthetic, ways=way, seed=seed, told=told) for way in sorted(set(ways))
    ]
    bits: list[Distance] = []
    if binary:
        pair = real.binary(), synthetic.binary()
        possible = [way for way in sorted(set(ways)) if way <= len(pair[0].attributes)]
        bits = [
            distance(*pair, ways=way, attributes="binary", seed=seed, told=told) for way in possible
        ]
    notes += [
        f"compared {own.marginals:,} of the {own.of:,} {own.ways}-way marginals of {own.attributes} attributes, drawn at random"
        for own in (*distances, *bits)
        if own.marginals < own.of
    ]
    classified = []
    for at, target in enumerate(wanted):
        if told is not None:
            told(f"predicting {target.text}", at, len(wanted))
        reveal = [name for name in revealing(real, target) if name not in drop]
        if reveal:
            notes.append(
                f"{' and '.join(reveal)} alone decides {target.text}: drop it with --drop {' '.join(reveal)}"
            )
        classified.append(classify(real, synthetic, target, drop=drop, seed=seed, test=test))
    return {
        "rows": {"real": len(real), "synthetic": len(synthetic)},
        "tvd": {str(own.ways): own.average for own in distances},
        "tvd_binary": {str(own.ways): own.average for own in bits},
        "distances": [msgspec.to_builtins(own) for own in (*distances, *bits)],
        "marginals": [msgspec.to_builtins(own) for own in _shown(real, synthetic, distances)],
        "dependence": msgspec.to_builtins(dependence_kept(real, synthetic)),
        "classification": [msgspec.to_builtins(own) for own in classified],
        "notes": notes,
    }


def judge_marginals(
    real: Records,
    published: Sequence[tuple[tuple[str, ...], npt.NDArray[np.float64]]],
    *,
    total: int | None = None,
) -> dict[str, Any]:
    """Compare published marginals, made distributions by `norm_sub`, with the real ones.

    Beside the total variation distance the sum of squared errors, which is CALM's measure.

    `total`: what a marginal sums to, if that is not the number of real rows, as where users were
    drawn from them.
    """
    sums_to = float(total or len(real))
    distances: dict[int, list[float]] = {}
    squares: dict[int, list[float]] = {}
    wanted = [attributes for attributes, _ in published]
    worst: list[MarginalShown] = []
    for (attributes, cells), counts in zip(published, real.marginals(wanted), strict=True):
        noisy = norm_sub(cells, sums_to) / sums_to
        apart = counts / len(real) - noisy
        distances.setdefault(len(attributes), []).append(float(np.abs(apart).sum()) / 2)
        worst = worst_of(
            [*worst, show_marginal(real.domain, attributes, counts, noisy)], most=SHOWN
        )
        squares.setdefault(len(attributes), []).append(float((apart**2).sum()))
    means = [
        {str(ways): float(np.mean(found)) for ways, found in sorted(own.items())}
        for own in (distances, squares)
    ]
    shown = [msgspec.to_builtins(own) for own in worst]
    return {"tvd": means[0], "squared": means[1], "distances": [], "marginals": shown}


def _shown(real: Records, synthetic: Records, distances: Sequence[Distance]) -> list[MarginalShown]:
    """Show the worst single attributes, and the worst pairs, as far as pairs were compared."""
    pairs = [pair for own in distances if own.ways == 2 for pair in own.worst_marginals]
    found = []
    for wanted in ([(name,) for name in real.domain.attributes], pairs):
        both = zip(wanted, real.marginals(wanted), synthetic.marginals(wanted), strict=True)
        found += worst_of([show_marginal(real.domain, *own) for own in both], most=SHOWN)
    return found


def _schema(
    real: str | pd.DataFrame, synthetic: str | pd.DataFrame, given: Any, notes: list[str]
) -> tuple[Schema, str]:
    """Settle on a schema, and say where it comes from."""
    if given is not None:
        return read_schema(given), "given"
    if isinstance(synthetic, str) and (beside := Path(synthetic).parent / SCHEMA_FILE).is_file():
        return read_schema(beside), str(beside)
    one, other = (infer(blocks(table)) for table in (real, synthetic))
    names = [name for name in one.attributes if name in other.attributes]
    if not names:
        raise UsageError(
            f"expected columns of the same names in both tables, found {', '.join(one.attributes)} in the real one and "
            f"{', '.join(other.attributes)} in the synthetic one"
        )
    for side, own in (("real", one), ("synthetic", other)):
        if missing := [name for name in own.attributes if name not in names]:
            notes.append(f"left out, as only the {side} table has them: {', '.join(missing)}")
    return Schema(
        {name: _common(name, one.attributes[name], other.attributes[name]) for name in names},
        inferred=True,
    ), "inferred"


def _common(name: str, real: Categories | Bins, synthetic: Categories | Bins) -> Categories | Bins:
    """Unite what the two tables show of one column; labels of bins in the synthetic one are the
    real one's.
    """
    own = merge([Schema({name: real})]).attributes[name]
    if (
        isinstance(own, Bins)
        and isinstance(synthetic, Categories)
        and set(synthetic.categories) <= set(own.labels)
    ):
        return own
    return merge([Schema({name: real}), Schema({name: synthetic})]).attributes[name]
