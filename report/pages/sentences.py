"""The sentences at the top of a run's page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ...evaluation import Utility
from ..above_claim import losses_text
from ..claims import exceeds, is_accounted, unmet_conditions
from ..formats import bound_text, bytes_text, quantity
from ..report import Privacy, Report
from ..reported import ReportedRun

__all__ = ["compared", "lead"]

NUMBERS: Final = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
LABELS: Final = ("label-within-belief", "label-alone")
"""Neighbouring relations in which neighbours differ in a label."""


def lead(run: ReportedRun) -> tuple[str, str]:
    """Write two paragraphs: what was run and published; its privacy loss, utility, cost."""
    report = run.report
    protocol = f"`{report.protocol}`{' as printed in its paper' if report.mode == 'paper' else ''}"
    sent = report.communication
    sentences = [
        _capital(_privacy_loss(report)),
        *([] if run.utility is None else _utility(run.utility)),
        f"The run sent {bytes_text(sent.payload_bytes)} in {quantity(sent.rounds, 'round')}.",
    ]
    return (
        f"{_capital(_roles(run))} ran {protocol} and published {_published(report)}.",
        " ".join(sentences),
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _roles(run: ReportedRun) -> str:
    """Name the roles and the data."""
    report, privacy, users = run.report, run.report.privacy, run.report.communication.users
    parties = f"{_number(report.parties)} {'party' if report.parties == 1 else 'parties'}"
    source = _source(report)
    records = source if run.rows is None else f"the {run.rows:,} records of {source}"
    if users is not None and report.parameters.get("users"):
        return (
            f"{users.users:,} made-up users, drawn with replacement from {records} and simulated "
            f"by {parties},"
        )
    if users is not None:
        return f"{users.users:,} users, one for each record of {source}, simulated by {parties},"
    text = f"{parties} with {records} and a curator"
    if (
        not privacy.not_accounted
        and privacy.epsilon["curator"] <= privacy.claimed_epsilon < math.inf
    ):
        text += f" that saw none of {'their records' if run.rows is None else 'them'}"
    return text


def _number(value: int) -> str:
    return NUMBERS[value] if value < len(NUMBERS) else f"{value:,}"


def _source(report: Report) -> str:
    """Name the tables. Those of the same name are named with their folders."""
    names = [path.rsplit("/", 1)[-1].replace("`", "'") for path in report.data]
    if len({*names}) < len({*report.data}):
        names = ["/".join(path.rsplit("/", 2)[-2:]).replace("`", "'") for path in report.data]
    if {*names} == {"demo"}:
        return "made-up people"
    if {*names} == {"<table>"}:
        return "a table in memory" if len(names) == 1 else f"{len(names)} tables in memory"
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:3])}{' and others' if len(names) > 3 else ''}"


def _published(report: Report) -> str:
    parts = []
    if (size := report.published.synthetic) is not None:
        parts.append(
            f"a synthetic table of {size.rows:,} rows and {size.attributes} attributes "
            "(`synthetic.csv`)"
        )
    if (sizes := report.published.marginals) is not None:
        parts.append(
            f"{quantity(sizes.marginals, 'noisy marginal')} of {quantity(sizes.cells, 'count')} "
            "(`marginals.csv`)"
        )
    if report.published.model:
        parts.append("a model (`model.json`)")
    if len(parts) > 1:
        return f"{', '.join(parts[:-1])} and {parts[-1]}"
    return parts[0] if parts else "a few figures"


def _privacy_loss(report: Report) -> str:
    """Write the privacy loss to each role. Conditions that the run does not meet come first."""
    privacy = report.privacy
    if privacy.not_accounted:
        return _not_accounted(report)
    conditions = unmet_conditions(report)
    verb = "would be" if conditions else "is"
    text = f"if {' and '.join(conditions)}, " if conditions else ""
    text += f"{_whose_loss(report)}, as accounted, {verb} {_losses(report)}"
    if privacy.neighbours == "label-within-belief":
        text += ", unless they know her attributes"
    if privacy.delta:
        text += f", except with probability {privacy.delta:g}"
    text += "."
    if coalitions := _coalitions_above(privacy):
        text += f" To coalitions it {verb} larger: {losses_text(coalitions)}."
    if privacy.whole_record is not None:
        text += f" The privacy loss of the whole record {verb} {_bound(privacy.whole_record)}."
    return text


def _whose_loss(report: Report) -> str:
    drawn = report.communication.users is not None and report.parameters.get("users")
    person = "made-up user" if drawn else "person"
    what = "label" if report.privacy.neighbours in LABELS else "record"
    return f"the privacy loss of one {person}'s {what}"


def _not_accounted(report: Report) -> str:
    """Name the roles to which no loss can be stated, and give the losses to the others."""
    losses = {name: report.privacy.epsilon[view] for name, view in _roles_of_views(report).items()}
    unknown = [name for name, loss in losses.items() if not is_accounted(loss, report.privacy)]
    others = [f"{name} {bound_text(loss)}" for name, loss in losses.items() if name not in unknown]
    text = f"{_whose_loss(report)} is not accounted: releases do not cover all that left parties"
    if unknown:
        text += f", and {_and(unknown)} may have learnt anything from it"
    if others:
        text += f". Of the others, as accounted: {_and(others)}"
    return f"{text}."


def _coalitions_above(privacy: Privacy) -> dict[str, float]:
    """List the coalitions that have a larger loss than any single role."""
    alone = max(privacy.epsilon.values())
    return {view: loss for view, loss in privacy.coalitions.items() if exceeds(loss, alone)}


def _roles_of_views(report: Report) -> dict[str, str]:
    """List the single roles by name, with their views."""
    roles = {"the public": "public", "the curator": "curator"}
    return {**roles, "another party": "other_party"} if report.parties > 1 else roles


def _losses(report: Report) -> str:
    """Write the losses, once if they are the same to everybody."""
    losses = {name: report.privacy.epsilon[view] for name, view in _roles_of_views(report).items()}
    if len({*losses.values()}) == 1:
        others = "the curator and the other parties" if report.parties > 1 else "the curator"
        return f"{_bound(losses['the public'])} to anybody, including {others}"
    return _and([f"{_bound(loss)} to {name}" for name, loss in losses.items()])


def _and(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _bound(loss: float) -> str:
    return "unbounded" if math.isinf(loss) else f"at most epsilon {bound_text(loss)}"


def _utility(utility: Utility) -> list[str]:
    """Write how good the result is, beside its baseline."""
    if (accuracy := utility.accuracy) is not None:
        label = accuracy.label.replace("`", "'")
        text = f"The published classifier predicts {label} right in {accuracy.model:.1%} of rows"
        return [f"{text} (most frequent label: {accuracy.majority:.1%})."]
    if not utility.tvd:
        return []
    ways, distance = next(iter(utility.tvd.items()))
    text = f"Its {ways}-way marginals differ from the real ones by {distance:.3g} on average"
    baseline = utility.baselines.get(ways)
    if baseline is None:
        return [f"{text}."]
    return [f"{text}, {compared(distance, baseline)} of independent attributes."]


def compared(distance: float, baseline: float, digits: str = ".3g") -> str:
    """Compare a distance with its baseline, in words."""
    verdict = "better" if distance < baseline else "no better"
    return f"{verdict} than the baseline {baseline:{digits}}"
