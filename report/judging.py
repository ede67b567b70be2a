"""Measure what a run published against the real tables, for its judgement."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ..evaluation import Utility, judge, judge_marginals
from ..evaluation.classification import read_target
from ..evaluation.distances import l2_error
from ..evaluation.marginal_classification import (
    MarginalMisclassification,
    Published,
    classify_from_marginals,
)
from ..evaluation.network_fit import network_fit
from ..evaluation.prediction import KINDS, Classifier, accuracy
from ..messages import UsageError
from ..parties import CsvForm, Records, Schema, load, unite
from ..parties.sources import DEMO
from ..privacy.marginal_table import read_marginal_table
from ..runs.job import Job
from ..runs.record import PublishedOutcome, RunRecord, of_numpy
from .concentrated import concentrated_columns
from .formats import quantity
from .judgement import NOT_CLASSIFIED, Judgement, Judging

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NO_BETTER", "judge_run"]

NO_BETTER: Final = "the synthetic table is no better than independent attributes"
"""The beginning of the judge's warning about a table of rows."""
SMALLEST_DISTANCE: Final = 1e-9
"""Distances below it are roundings: the table has the real marginals."""


def judge_run(
    record: RunRecord,
    *,
    tables: tuple[pd.DataFrame, ...] = (),
    judging: Judging | None = None,
    strict: bool = False,
) -> Judgement | None:
    """Measure what a run published; `None` if nothing can be measured, or no real table is here.

    An error is a warning, since epsilon is spent and the result must not be lost. A sweep is
    `strict`: its cell fails with the error, and is computed again later.
    """
    try:
        judgement = _judge(record, tables=tables, judging=judging or Judging())
        _check_finite(judgement)
    except Exception as error:
        if strict:
            raise
        text = f"the utility was not measured: {type(error).__name__}: {error}"
        return Judgement(rows=record.rows or 0, utility=None, warnings=[text])
    return judgement


def _check_finite(judgement: Judgement | None) -> None:
    """Refuse a figure that is infinite or NaN: JSON has no such number, and none was measured.

    Raises:
        ValueError: There is one; the error names it.
    """

    def check(value: object, name: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                check(item, f"{name}.{key}")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                check(item, f"{name}[{index}]")
        elif isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"expected a finite number for {name}, found {value}")

    if judgement is not None:
        check(msgspec.to_builtins(judgement.utility, enc_hook=of_numpy), "utility")


def _judge(
    record: RunRecord, *, tables: tuple[pd.DataFrame, ...], judging: Judging
) -> Judgement | None:
    job, outcome = record.job, record.outcome
    schema = record.schema if _comparable(outcome, record.schema) else None
    warnings = []
    if judging.classify and not _has_attributes(outcome):
        warnings.append(f"{NOT_CLASSIFIED}: {job.protocol} publishes no table to learn from")
    try:
        parts = [
            load(
                source,
                schema=schema,
                rows=job.rows,
                seed=job.public_seed,
                choice=job.choice,
                form=job.form,
            )
            for source in tables or job.data
        ]
    except UsageError as error:  # the files are on the parties' hosts
        if not judging.classify:
            return None
        warnings.append(f"{NOT_CLASSIFIED}, as the tables cannot be read here: {error}")
        return Judgement(rows=record.rows or 0, utility=None, warnings=warnings)
    warnings += _fewer_rows(job, parts)
    utility = None
    if schema is not None:
        real = unite(parts)
        targets, wrong = _targets(real, judging.classify)
        warnings += wrong
        judging = msgspec.structs.replace(judging, classify=targets)
        users = None if outcome.traffic is None else outcome.traffic.users
        utility = _utility(real, outcome, schema, judging, users=users, form=job.form)
        warnings += _no_better(utility)
        if outcome.synthetic is not None and (tables or job.data != (DEMO,)):
            warnings += concentrated_columns(real, schema)
    return Judgement(rows=sum(map(len, parts)), utility=utility, warnings=warnings)


def _fewer_rows(job: Job, parts: Sequence[Records]) -> list[str]:
    """Warn of tables that have fewer rows than were asked for."""
    schema = job.schema
    drops = schema is not None and any(
        rule.missing == "drop" for rule in schema.attributes.values()
    )
    if job.rows is None or drops:  # then there may be fewer records than rows that were read
        return []
    return [
        f"--rows {job.rows:,} was asked for, and {source} has {quantity(len(part), 'row')}: all of "
        "them were taken"
        for source, part in zip(job.data, parts, strict=False)
        if len(part) < job.rows
    ]


def _no_better(utility: Utility | None) -> list[str]:
    """Warn where a synthetic table is no better than independent attributes."""
    return [
        f"{NO_BETTER}: its 2-way marginals differ from the real ones by {distance.average:.3g} on "
        f"average, and the product of the real single attributes by {distance.one_way:.3g}; take "
        "a larger epsilon, more rows or fewer attributes"
        for distance in (utility and utility.distances) or ()
        if (distance.ways, distance.attributes) == (2, "original")
        and distance.average >= max(distance.one_way, SMALLEST_DISTANCE)
    ]


def _has_attributes(outcome: PublishedOutcome) -> bool:
    """Tell whether a table was published from which a label can be learnt; a mere count is none."""
    columns = () if outcome.marginals is None else outcome.marginals.columns
    return outcome.synthetic is not None or any(
        column.name.startswith("attribute_") for column in columns
    )


def _comparable(outcome: PublishedOutcome, schema: Schema | None) -> bool:
    if schema is None:
        return False
    published = (outcome.synthetic, outcome.marginals, _classifier(outcome, schema))
    return any(item is not None for item in published)


def _targets(real: Records, classify: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate what can be predicted from warnings; a wrong word must not lose the results."""
    targets, warnings = [], []
    for text in classify:
        try:
            read_target(real.domain, text)
            targets.append(text)
        except UsageError as error:
            warnings.append(f"{NOT_CLASSIFIED} by {text}: {error}")
    return targets, warnings


def _classifier(outcome: PublishedOutcome, schema: Schema) -> Classifier | None:
    """Open the classifier that was published, if one was."""
    if not isinstance(outcome.model, dict) or outcome.model.get("kind") not in KINDS:
        return None
    try:
        return Classifier(outcome.model, schema)
    except UsageError:  # a plug-in's model, with the same name of a kind and another structure
        return None


def _utility(
    real: Records,
    outcome: PublishedOutcome,
    schema: Schema,
    judging: Judging,
    *,
    users: int | None,
    form: CsvForm,
) -> Utility | None:
    utility: Utility | None = None
    test = load(judging.test, schema=schema, form=form) if judging.test else None
    if (classifier := _classifier(outcome, schema)) is not None:
        utility = Utility(tvd={}, accuracy=accuracy(classifier, test or real))
    if outcome.marginals is not None:
        # Marginals of which cells are missing cannot be compared.
        with contextlib.suppress(UsageError):
            marginals = read_marginal_table(real.domain, outcome.marginals.frame())
            utility = msgspec.structs.replace(
                judge_marginals(real, marginals, total=users),
                marginal_classification=_from_marginals(real, marginals, judging, test=test),
            )
    if outcome.synthetic is None:
        return utility
    drawn = load(outcome.synthetic.frame(), schema=schema)
    comparison = judge(
        real,
        drawn,
        binary=judging.binary,
        targets=judging.classify,
        drop=judging.classify_without,
        test=test,
    )
    synthetic = Utility(
        tvd=comparison.tvd,
        distances=comparison.distances,
        marginals=comparison.marginals,
        dependence=comparison.dependence,
        classification=comparison.classification,
        notes=comparison.notes,
        l2={str(ways): l2_error(real, drawn, ways=ways) for ways in judging.l2} or None,
        network=network_fit(real, outcome.model),
    )
    if utility is None:
        return synthetic
    # Published marginals are what was estimated. A table drawn from a model of them stands beside,
    # and is mostly worse.
    return msgspec.structs.replace(
        synthetic,
        tvd=utility.tvd,
        squared=utility.squared or {},
        marginal_classification=utility.marginal_classification,
        tvd_synthetic=synthetic.tvd,
    )


def _from_marginals(
    real: Records, marginals: Sequence[Published], judging: Judging, *, test: Records | None
) -> tuple[MarginalMisclassification, ...] | None:
    """Learn the labels from published marginals; `None` where no marginal tells of any."""
    results = [
        classify_from_marginals(
            real,
            marginals,
            read_target(real.domain, text),
            drop=judging.classify_without,
            test=test,
        )
        for text in judging.classify
    ]
    return tuple(result for result in results if result is not None) or None
