"""The judgement on a run: what was published, measured against the real tables, and written into
its report.

Made by whoever started the run, after it has ended, if the tables can be read there. The curator,
who writes the report, does not see them, so a run inside somebody else's MPI job has none:
`sottovoce evaluate` makes it afterwards.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ..evaluation import Utility, judge, judge_marginals
from ..evaluation.classification import read_target
from ..evaluation.distances import l2_error
from ..evaluation.prediction import KINDS, Classifier, accuracy
from ..messages import UsageError
from ..parties import Records, Schema, load, read_schema, unite
from ..privacy.domain import read_marginal_table
from .folder import NOT_CLASSIFIED, report_json

if TYPE_CHECKING:
    import pandas as pd

    from ..runs.job import Job

__all__ = ["Judging", "judged"]

WAYS: Final = (2, 3)


class Judging(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is measured beyond the distances."""

    classify: list[str] = []
    drop: list[str] = []
    """Attributes that classifiers do not get."""
    test: str = ""
    """A table of other people, on which classifiers are tested; without it a fifth of the table
    itself.
    """
    binary: bool = False
    """Whether marginals of binarised attributes are compared, too."""
    l2: list[int] = []
    """L2 errors of marginals of so many attributes."""


def judged(
    job: Job,
    files: Mapping[str, bytes],
    *,
    tables: tuple[pd.DataFrame, ...] = (),
    judging: Judging | None = None,
) -> dict[str, bytes]:
    """Add the utility to report.json; as it is when there is nothing to measure or to measure by.

    With it the number of rows, where the parties could not tell it. Neither is private: both are
    for who has the tables.
    """
    asked = judging or Judging()
    classify = asked.classify
    report = json.loads(files["report.json"])
    comparable = "schema.json" in files and (
        files.keys() & {"synthetic.csv", "marginals.csv"} or _classifier(files)
    )
    if classify and "synthetic.csv" not in files:
        report["warnings"].append(
            f"{NOT_CLASSIFIED}: {report['protocol']} publishes no table to learn from"
        )
    if comparable or report["rows"] is None:
        schema = read_schema(json.loads(files["schema.json"])) if comparable else None
        try:
            parts = [
                load(source, schema=schema, rows=job.rows, seed=job.public_seed)
                for source in tables or job.data
            ]
        except UsageError as error:  # the files are on the parties' hosts
            if classify:
                report["warnings"].append(
                    f"{NOT_CLASSIFIED}, as the tables cannot be read here: {error}"
                )
        else:
            report["rows"] = report["rows"] or sum(map(len, parts))
            if classify and str(report.get("command", "")).startswith("sottovoce run"):
                report["command"] += " " + shlex.join(["--classify", *classify])
            if schema is not None:
                real = unite(parts)
                asked = msgspec.structs.replace(
                    asked, classify=_targets(real, classify, report["warnings"])
                )
                users = report["communication"].get("users", {}).get("users")
                utility = _utility(real, files, schema, asked, users=users)
                report["utility"] = msgspec.to_builtins(utility)
    return {**files, "report.json": report_json(report)}


def _targets(real: Records, classify: Sequence[str], warnings: list[str]) -> list[str]:
    """Keep what can be predicted: the run has ended, and what it published must not be lost for a
    wrong word.
    """
    targets = []
    for text in classify:
        try:
            read_target(real.domain, text)
            targets.append(text)
        except UsageError as error:
            warnings.append(f"{NOT_CLASSIFIED} by {text}: {error}")
    return targets


def _classifier(files: Mapping[str, bytes]) -> Classifier | None:
    """Open the classifier that was published, if one was."""
    model = json.loads(files["model.json"]) if "model.json" in files else None
    if not isinstance(model, dict) or model.get("kind") not in KINDS:
        return None
    try:
        return Classifier(model, read_schema(json.loads(files["schema.json"])))
    except UsageError:  # a model of somebody's own, called alike and made otherwise
        return None


def _utility(
    real: Records, files: Mapping[str, bytes], schema: Schema, asked: Judging, *, users: int | None
) -> Utility | None:
    import pandas as pd

    utility: Utility | None = None
    test = load(asked.test, schema=schema) if asked.test else None
    if (classifier := _classifier(files)) is not None:
        utility = Utility(tvd={}, accuracy=accuracy(classifier, test or real))
    if "marginals.csv" in files:
        table = pd.read_csv(io.BytesIO(files["marginals.csv"]), keep_default_na=False)
        # Marginals of which cells are missing cannot be compared.
        with contextlib.suppress(UsageError):
            utility = judge_marginals(real, read_marginal_table(real.domain, table), total=users)
    if "synthetic.csv" in files:
        table = pd.read_csv(io.BytesIO(files["synthetic.csv"]), dtype=object, keep_default_na=False)
        ways = [way for way in WAYS if way <= len(schema.attributes)]
        drawn = load(table, schema=schema)
        comparison = judge(
            real,
            drawn,
            ways=ways,
            binary=asked.binary,
            targets=asked.classify,
            drop=asked.drop,
            test=test,
        )
        synthetic = Utility(
            tvd=comparison.tvd,
            distances=comparison.distances,
            marginals=comparison.marginals,
            dependence=comparison.dependence,
            classification=comparison.classification,
            notes=comparison.notes,
            l2={str(ways): l2_error(real, drawn, ways=ways) for ways in asked.l2} or None,
        )
        # Published marginals are what was estimated. A table drawn from a model of them stands
        # beside, and is mostly worse.
        if utility is not None:
            synthetic = msgspec.structs.replace(
                synthetic,
                tvd=utility.tvd,
                squared=utility.squared or {},
                tvd_synthetic=synthetic.tvd,
            )
        utility = synthetic
    return utility
