"""The measured figures of a run by column, and runs as the rows that figures are drawn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from ...evaluation import Utility
from ..claims import is_accounted
from ..comparison import ComparedRun, Comparison
from ..judgement import NOT_CLASSIFIED
from ..not_accounted import count_unaccounted
from ..reported import ReportedRun
from .figure_table import FigureTable
from .quantities import OUTCOME

__all__ = ["run_figures", "run_rows"]


def run_rows(comparison: Comparison, runs: Mapping[str, ReportedRun]) -> FigureTable:
    """Put compared runs into rows; their settings are those in which they differ."""
    rows: list[dict[str, Any]] = []
    names: dict[str, None] = dict.fromkeys(
        ("line", "protocol", "parties", "epsilon", "network", "neighbours", "rows_asked")
    )
    for compared, run in zip(comparison.runs, runs.values(), strict=True):
        settings = _settings(compared, run)
        names |= dict.fromkeys(settings)
        rows.append({**run_figures(run), **settings, "seed": run.report.seed})
    return FigureTable(rows=rows, setting_names=[*names])


def _settings(compared: ComparedRun, run: ReportedRun) -> dict[str, Any]:
    settings = {name: _value(text) for name, text in compared.settings.items() if name != "rows"}
    return {
        "protocol": compared.protocol,
        "parties": compared.parties,
        "epsilon": compared.epsilon,
        "network": run.report.network,
        "neighbours": compared.neighbours,
        "rows_asked": compared.rows,
        "data": compared.data,
        **settings,
    }


def _value(text: str) -> str | float | None:
    """Read a setting, of which a comparison has the text."""
    if text == "None":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def run_figures(run: ReportedRun) -> dict[str, Any]:
    """Take from a run the figures that sweeps and figures show."""
    exchanged, privacy = run.report.communication, run.report.privacy
    coalition = max(privacy.coalitions.values(), default=privacy.epsilon["other_party"])
    figures: dict[str, Any] = {
        "rows": run.rows,
        "seconds": run.report.seconds,
        "messages": exchanged.messages,
        "rounds": exchanged.rounds,
        "payload_bytes": exchanged.payload_bytes,
        "ciphertext_bytes": exchanged.ciphertext_bytes,
        "per_user_bits": exchanged.per_user_bits,
        "claimed_epsilon": privacy.claimed_epsilon,
        **{
            f"epsilon_{view}": loss
            for view, loss in {**privacy.epsilon, "coalition": coalition}.items()
            if is_accounted(loss, privacy)
        },
        "above_claim": sum(len(excess.views) for excess in privacy.above_claim) or None,
        "not_accounted": count_unaccounted(privacy.not_accounted) or None,
        "whole_record": privacy.whole_record,
        **({} if run.utility is None else _quality(run.utility)),
        **dict(_published_numbers(run.report.outcome, name=OUTCOME)),
        "note": next((text for text in run.warnings if text.startswith(NOT_CLASSIFIED)), None),
    }
    return {name: value for name, value in figures.items() if value is not None}


def _published_numbers(
    summary: Mapping[str, Any], *, name: str
) -> Iterator[tuple[str, int | float]]:
    """Name the finite numbers of an outcome; those of a dictionary in it are named by both keys."""
    for key, value in summary.items():
        if isinstance(value, Mapping):
            yield from _published_numbers(value, name=f"{name}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            yield f"{name}{key}", value


def _quality(utility: Utility) -> dict[str, float]:
    """Name the judge's figures as columns."""
    figures: dict[str, float] = {}
    for name, values in (
        ("tvd", utility.tvd),
        ("tvd_synthetic", utility.tvd_synthetic),
        ("squared", utility.squared),
        ("l2", utility.l2),
    ):
        figures |= {f"{name}_{ways}": value for ways, value in (values or {}).items()}
    for line in utility.distances or ():
        if line.attributes == "original":
            figures[f"floor_{line.ways}"] = line.one_way
            distance = (utility.tvd_synthetic or utility.tvd).get(str(line.ways))
            if distance is not None and line.one_way > 0:
                figures[f"ratio_{line.ways}"] = distance / line.one_way
        else:
            figures[f"tvd_binary_{line.ways}"] = line.average
            figures[f"floor_binary_{line.ways}"] = line.one_way
    for target in utility.classification or ():
        figures[f"wrong_{target.target}"] = target.synthetic
        figures[f"real_{target.target}"] = target.real
        figures[f"majority_{target.target}"] = target.majority
    for errors in utility.marginal_classification or ():
        figures[f"marginals_wrong_{errors.target}"] = errors.published
        figures[f"marginals_real_{errors.target}"] = errors.exact
        figures[f"marginals_majority_{errors.target}"] = errors.majority
    if utility.network is not None:
        figures["network_entropy"] = utility.network.entropy
        figures["floor_network_entropy"] = utility.network.independent
        figures["network_divergence"] = utility.network.divergence
    if utility.accuracy is not None:
        figures["accuracy"] = utility.accuracy.model
        figures["majority"] = utility.accuracy.majority
    return figures
