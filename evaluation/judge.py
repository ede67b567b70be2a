"""The judge compares what was published with the real table.

It stands outside of every protocol. Whoever holds the real table can judge; the curator cannot.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from ..curator.projections import norm_sub
from ..parties import (
    COMMAS,
    CsvForm,
    Records,
    load,
    read_schema,
)
from ..parties.table_argument import TableSource, table_argument
from .classification import Misclassification, Target, classify, determining, read_target
from .common_schema import find_schema, schema_beside
from .dependence import Dependence, compare_dependence
from .distances import SHOWN_MARGINALS, Distance, ReportProgress, distance
from .utility import Evaluation, RowCounts, TableComparison, Utility
from .worst import MarginalComparison, compare_marginal, worst_of

__all__ = ["evaluate", "judge", "judge_marginals"]

USUAL_WAYS: Final = (2, 3)
"""Numbers of attributes of the marginals that are compared if none are named."""
SchemaSource: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]


def evaluate(
    real: TableSource,
    synthetic: TableSource,
    *,
    schema: SchemaSource | None = None,
    ways: Sequence[int] = (),
    binary: bool = True,
    classify: Sequence[str] = (),
    drop: Sequence[str] = (),
    seed: int = 0,
    separator: str = ",",
    encoding: str = "utf-8",
    progress: ReportProgress | None = None,
) -> Evaluation:
    """Compare a synthetic table with the real one.

    Args:
        real: A path or a DataFrame.
        synthetic: A path or a DataFrame.
        schema: Categories and bins. The default is the file schema.json beside the synthetic
            table, as a run writes it. Without that file the schema is inferred from both tables.
        ways: Numbers of attributes of the compared marginals. The default is 2 and 3, as far as
            the tables have so many.
        binary: Whether marginals of binarised attributes are compared, too.
        classify: Labels to predict: "income", "education>=Bachelors", "race=White|Black".
        drop: Attributes that the classifiers do not use.
        seed: Seed of the samples and of the split into training and test.
        separator: What separates columns of CSV files: "," or ";", or "tab". A table beside the
            schema.json of a run is always read with commas, as UTF-8.
        encoding: The encoding of CSV files, such as "latin-1".
        progress: A function that is called with the progress.

    Returns:
        What `sottovoce evaluate --json` prints.
    """
    real_source = table_argument(real, name="real")
    synthetic_source = table_argument(synthetic, name="synthetic")
    form = CsvForm.of(separator=separator, encoding=encoding)
    synthetic_form = COMMAS if schema_beside(synthetic_source) else form
    left_out: list[str] = []
    if schema is not None:
        common_schema, origin = read_schema(schema), "given"
    else:
        common_schema, origin, left_out = find_schema(real_source, synthetic_source, form=form)
    if progress is not None:
        progress("reading the tables", 0, 2)
    comparison = judge(
        load(real_source, schema=common_schema, form=form),
        load(synthetic_source, schema=common_schema, form=synthetic_form),
        ways=ways,
        binary=binary,
        targets=classify,
        drop=drop,
        seed=seed,
        progress=progress,
    )
    fields = {**msgspec.structs.asdict(comparison), "notes": (*left_out, *comparison.notes)}
    return Evaluation(schema=origin, **fields)


def judge(
    real: Records,
    synthetic: Records,
    *,
    ways: Sequence[int] = (),
    binary: bool = True,
    targets: Sequence[str] = (),
    drop: Sequence[str] = (),
    seed: int = 0,
    test: Records | None = None,
    progress: ReportProgress | None = None,
) -> TableComparison:
    """Compare two tables with the same domain.

    Without `ways` marginals of `USUAL_WAYS` are compared, as far as there are so many attributes.
    Classifiers are tested on a fifth of the real table, or on the table `test`.
    """
    # A wrong target is an error before any work is done.
    labels = [read_target(real.domain, text) for text in targets]
    attributes = len(real.domain.attributes)
    numbers = sorted(set(ways)) or [number for number in USUAL_WAYS if number <= attributes]
    original = [distance(real, synthetic, ways=n, seed=seed, progress=progress) for n in numbers]
    bits = _binary_distances(real, synthetic, numbers, seed, progress) if binary else []
    errors: list[Misclassification] = []
    for index, label in enumerate(labels):
        if progress is not None:
            progress(f"predicting {label.text}", index, len(labels))
        errors.append(classify(real, synthetic, label, drop=drop, seed=seed, test=test))
    dependence = compare_dependence(real, synthetic, seed=seed)
    return TableComparison(
        rows=RowCounts(real=len(real), synthetic=len(synthetic)),
        tvd={str(result.ways): result.average for result in original},
        tvd_binary={str(result.ways): result.average for result in bits},
        distances=(*original, *bits),
        marginals=tuple(_worst_marginals(real, synthetic, original)),
        dependence=dependence,
        classification=tuple(errors),
        notes=(
            *_sampling_notes([*original, *bits]),
            *_dependence_notes(real, dependence),
            *_label_notes(real, labels, drop),
        ),
    )


def judge_marginals(
    real: Records,
    published: Sequence[tuple[tuple[str, ...], npt.NDArray[np.float64]]],
    *,
    total: int | None = None,
) -> Utility:
    """Compare published marginals with the real ones, after `norm_sub` made them distributions.

    Beside the total variation distance there is the sum of squared errors, the measure of CALM.

    Args:
        real: The real table.
        published: Attributes and cells of each marginal.
        total: Sum of a marginal's cells. The default is the number of real rows; it differs where
            users were drawn from them.
    """
    scale = float(total or len(real))
    distances: dict[int, list[float]] = {}
    squares: dict[int, list[float]] = {}
    comparisons: list[MarginalComparison] = []
    counts_of_all = real.marginals([attributes for attributes, _ in published])
    for (attributes, cells), counts in zip(published, counts_of_all, strict=True):
        shares = norm_sub(cells, scale) / scale
        difference = counts / len(real) - shares
        distances.setdefault(len(attributes), []).append(float(np.abs(difference).sum()) / 2)
        squares.setdefault(len(attributes), []).append(float((difference**2).sum()))
        comparison = compare_marginal(real.domain, attributes, counts, shares)
        comparisons = worst_of([*comparisons, comparison], count=SHOWN_MARGINALS)
    return Utility(
        tvd=_means(distances),
        squared=_means(squares),
        distances=(),
        marginals=tuple(comparisons),
    )


def _means(values: Mapping[int, Sequence[float]]) -> dict[str, float]:
    return {str(ways): float(np.mean(numbers)) for ways, numbers in sorted(values.items())}


def _binary_distances(
    real: Records,
    synthetic: Records,
    numbers: Sequence[int],
    seed: int,
    progress: ReportProgress | None,
) -> list[Distance]:
    """Compare the marginals of binarised attributes, with as many attributes as there are bits."""
    real_bits, synthetic_bits = real.binary(), synthetic.binary()
    return [
        distance(
            real_bits, synthetic_bits, ways=ways, attributes="binary", seed=seed, progress=progress
        )
        for ways in numbers
        if ways <= len(real_bits.domain.attributes)
    ]


def _sampling_notes(distances: Sequence[Distance]) -> list[str]:
    return [
        f"compared {result.marginals:,} of the {result.of:,} {result.ways}-way marginals "
        f"of {result.attributes} attributes, drawn at random"
        for result in distances
        if result.marginals < result.of
    ]


def _dependence_notes(real: Records, dependence: Dependence) -> list[str]:
    compared, attributes = len(dependence.attributes), len(real.domain.attributes)
    if compared == attributes:
        return []
    return [f"compared the dependence of {compared} of {attributes} attributes, drawn at random"]


def _label_notes(real: Records, labels: Sequence[Target], drop: Sequence[str]) -> list[str]:
    """Name the attributes that alone determine a label."""
    names = {
        label.text: [name for name in determining(real, label) if name not in drop]
        for label in labels
    }
    return [
        f"{' and '.join(names[label.text])} alone decides {label.text}: "
        f"drop it with --drop {' '.join(names[label.text])}"
        for label in labels
        if names[label.text]
    ]


def _worst_marginals(
    real: Records, synthetic: Records, distances: Sequence[Distance]
) -> list[MarginalComparison]:
    """Find the worst single attributes, and the worst pairs if pairs were compared."""
    singles = [(name,) for name in real.domain.attributes]
    pairs = [pair for result in distances if result.ways == 2 for pair in result.worst_marginals]

    def worst(marginals: Sequence[tuple[str, ...]]) -> list[MarginalComparison]:
        tables = zip(
            marginals, real.marginals(marginals), synthetic.marginals(marginals), strict=True
        )
        comparisons = [compare_marginal(real.domain, *table) for table in tables]
        return worst_of(comparisons, count=SHOWN_MARGINALS)

    return [*worst(singles), *worst(pairs)]
