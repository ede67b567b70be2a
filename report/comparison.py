"""The comparison of several runs: protocol, privacy loss, cost and errors of each.

Errors are compared with baselines, which every protocol should beat: the exact tables of single
attributes, and for predictions the most frequent label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..evaluation import Utility
from ..evaluation.classification import Misclassification
from ..evaluation.prediction import Accuracy
from ..runs.record import Unaccounted
from .above_claim import excess_text
from .not_accounted import count_unaccounted
from .report import Report
from .reported import ReportedRun

__all__ = [
    "BASELINE",
    "DIFFERENT",
    "REAL",
    "ComparedRun",
    "Comparison",
    "Cell",
    "compare",
]

BASELINE: Final = "baseline"
"""The row of what costs nothing: exact single attributes, and the most frequent label."""
REAL: Final = "real data"
"""The row of classifiers that learnt from the real table."""
DIFFERENT: Final = "(not of the same records: distances cannot be compared)"
"""The only row besides the runs where they were measured on different tables."""
Errors: TypeAlias = Mapping[str, float]
"""Errors by column: "2-way" is a distance, "wrong: income" a share of wrong predictions."""
Cell: TypeAlias = str | int | float | None
"""A value of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """The figures by which a run is compared."""

    name: str
    protocol: str
    settings: Mapping[str, str]
    """The settings by which the compared runs of this protocol differ."""
    parties: int
    epsilon: float
    """The claimed privacy loss. The losses as accounted follow, by view."""
    public: float
    curator: float
    other_party: float
    coalition: float
    """The largest loss to any coalition; that of another party where there is no coalition."""
    excesses: Sequence[str]
    """Which losses are above the claim, and what to do about it."""
    not_accounted: Sequence[Unaccounted]
    """Messages that no release covers. Where there are some, infinity means: not accounted."""
    neighbours: str
    delta: float
    whole_record: float | None
    bytes: int
    """Bytes of payload."""
    rounds: int
    seconds: float
    errors: Errors
    baselines: Errors
    """Errors of the exact single attributes, and of the most frequent label, of the same table."""
    data: str
    """The names of the tables."""
    rows: int | None
    """Number of records of all parties."""

    @property
    def setting(self) -> str:
        """The settings as text."""
        return ", ".join(f"{name}={value}" for name, value in self.settings.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Runs, and the levels that their errors are compared with."""

    runs: tuple[ComparedRun, ...]
    levels: Mapping[str, Errors] | None
    """Baselines and errors of the real table by row; `None` if the real tables differ."""

    @property
    def rows(self) -> list[dict[str, Cell]]:
        """The rows of the table: a row for each run, then one for each level."""
        rows = [self._row(run) for run in self.runs]
        if self.levels is None:
            rows.append({"run": DIFFERENT})
        else:
            rows += [{"run": name, **errors} for name, errors in self.levels.items()]
        return rows

    def _row(self, run: ComparedRun) -> dict[str, Cell]:
        """Give a run's figures by column. What is the same in all runs has no column."""
        row: dict[str, Cell] = {"run": run.name, "protocol": run.protocol}
        if any(other.settings for other in self.runs):
            row["with"] = run.setting
        row |= {
            "parties": run.parties,
            "epsilon": run.epsilon,
            "public": run.public,
            "curator": run.curator,
            "other_party": run.other_party,
            "coalition": run.coalition,
        }
        if any(other.not_accounted for other in self.runs):
            row["not accounted"] = count_unaccounted(run.not_accounted)
        if len({other.neighbours for other in self.runs}) > 1:
            row["neighbours"] = run.neighbours
        if len({other.delta for other in self.runs}) > 1:
            row["delta"] = run.delta
        whole_records = {other.whole_record for other in self.runs}
        if len(whole_records) > 1 and run.whole_record is not None:
            row["whole record"] = run.whole_record
        row |= {**run.errors, "bytes": run.bytes, "rounds": run.rounds}
        row["seconds"] = round(run.seconds, 2)
        if _other_tables(self.runs):
            row |= {"data": run.data, "rows": run.rows}
        return row


def compare(runs: Mapping[str, ReportedRun]) -> Comparison:
    """Compare runs by their names."""
    varied = _varied_settings([*runs.values()])
    compared = tuple(
        _compared(name, run, varied[run.report.protocol]) for name, run in runs.items()
    )
    baseline = _merged([_baseline(run.utility) for run in runs.values()])
    real = _merged([_real(run.utility) for run in runs.values()])
    if _other_tables(compared) or baseline is None or real is None:
        return Comparison(runs=compared, levels=None)
    levels = {name: errors for name, errors in ((BASELINE, baseline), (REAL, real)) if errors}
    return Comparison(runs=compared, levels=levels)


def _other_tables(runs: Sequence[ComparedRun]) -> bool:
    """Tell whether runs had tables of other names or sizes."""
    names = {run.data for run in runs}
    sizes = {run.rows for run in runs if run.rows is not None}
    return len(names) > 1 or len(sizes) > 1


def _compared(name: str, run: ReportedRun, varied: Sequence[str]) -> ComparedRun:
    report, sent, privacy = run.report, run.report.communication, run.report.privacy
    settings = _settings(run)
    return ComparedRun(
        name=name,
        protocol=report.protocol + (" (paper)" if report.mode == "paper" else ""),
        settings={setting: settings.get(setting, "None") for setting in varied},
        parties=report.parties,
        epsilon=privacy.claimed_epsilon,
        public=privacy.epsilon["public"],
        curator=privacy.epsilon["curator"],
        other_party=privacy.epsilon["other_party"],
        coalition=max(privacy.coalitions.values(), default=privacy.epsilon["other_party"]),
        excesses=[excess_text(excess, privacy) for excess in privacy.above_claim],
        not_accounted=privacy.not_accounted,
        neighbours=privacy.neighbours,
        delta=privacy.delta,
        whole_record=privacy.whole_record,
        bytes=sent.payload_bytes,
        rounds=sent.rounds,
        seconds=report.seconds,
        errors={} if run.utility is None else _errors(run.utility),
        baselines=_baseline(run.utility),
        data=_data(report),
        rows=run.rows,
    )


def _varied_settings(runs: Sequence[ReportedRun]) -> dict[str, list[str]]:
    """List by protocol the settings, other than epsilon, by which its runs differ."""
    values: dict[str, dict[str, set[str]]] = {}
    for run in runs:
        of_protocol = values.setdefault(run.report.protocol, {})
        for name, value in _settings(run).items():
            of_protocol.setdefault(name, set()).add(value)
    return {
        protocol: [
            name for name, different in settings.items() if len(different) > 1 and name != "epsilon"
        ]
        for protocol, settings in values.items()
    }


def _settings(run: ReportedRun) -> dict[str, str]:
    """List a run's parameters and options as text.

    A number that the protocol chose follows from other settings, such as a cap from epsilon. So
    runs do not differ by it.
    """
    report = run.report
    settings = {
        **report.parameters,
        **{name: value for name, value in report.chosen.items() if isinstance(value, str)},
        "rows": run.rows,
        "split": report.split,
        "transport": report.transport,
        "network": report.network,
        "data": _data(report),
        "key_bits": report.privacy.key_bits,
    }
    return {name: str(value) for name, value in settings.items()}


def _data(report: Report) -> str:
    """Name the tables, without their folders."""
    return " ".join(path.rsplit("/", 1)[-1] for path in report.data)


def _errors(utility: Utility) -> Errors:
    """List the errors of what was published.

    Published marginals are not all marginals of a synthetic table, and they have no baseline. So
    where there are both, the marginals have columns of their own.
    """
    table, counts = utility.tvd_synthetic, utility.tvd
    if table is None:
        table, counts = (utility.tvd, {}) if utility.distances else ({}, utility.tvd)
    errors = {f"{ways}-way": distance for ways, distance in table.items()}
    errors |= {f"{ways}-way, as counted": distance for ways, distance in counts.items()}
    errors |= {f"wrong: {result.target}": result.synthetic for result in _classified(utility)}
    if (accuracy := utility.accuracy) is not None:
        errors[_training_error(accuracy)] = 1 - accuracy.model
    return errors


def _baseline(utility: Utility | None) -> Errors:
    """List the errors of the exact single attributes, and of the most frequent label."""
    if utility is None:
        return {}
    errors = {f"{ways}-way": distance for ways, distance in utility.baselines.items()}
    errors |= {f"wrong: {result.target}": result.majority for result in _classified(utility)}
    if (accuracy := utility.accuracy) is not None:
        errors[_training_error(accuracy)] = 1 - accuracy.majority
    return errors


def _real(utility: Utility | None) -> Errors:
    """List the errors of classifiers that learnt from the real table."""
    if utility is None:
        return {}
    return {f"wrong: {result.target}": result.real for result in _classified(utility)}


def _classified(utility: Utility) -> Sequence[Misclassification]:
    return utility.classification or ()


def _training_error(accuracy: Accuracy) -> str:
    """Name the error of a published classifier. It is no test: these rows' labels taught it."""
    return f"wrong, where it learnt: {accuracy.label}"


def _merged(levels: Sequence[Errors]) -> Errors | None:
    """Merge what runs were compared with; `None` if they were compared with different tables."""
    merged: dict[str, float] = {}
    for errors in levels:
        if any(abs(merged.get(name, error) - error) > 1e-12 for name, error in errors.items()):
            return None
        merged |= errors
    return merged
