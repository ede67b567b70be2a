"""The sentences about a run: what was run, what it cost, and who learns how much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from ...crypto.key_sizes import MIN_KEY_BITS
from ...evaluation import Utility
from ..report import Communication, Privacy, Report
from ..reported import ReportedRun
from ..summary import epsilon_shown
from .conversation import bytes_shown
from .document import counted

__all__ = ["claimed_for", "exceeds", "figures", "lead", "view_shown"]

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
VIEWS: Final[Mapping[str, str]] = {
    "public": "anybody who reads what is published",
    "curator": "the curator, from all that it was sent",
    "other_party": "another party, from all that it was sent and its own noise",
}
LABELS: Final = ("label-within-belief", "label-alone")
"""Neighbouring relations of which two neighbours differ by a label."""


def lead(run: ReportedRun) -> tuple[str, str]:
    """Write two sentences: what was run and published, and its cost in privacy and bytes."""
    report = run.report
    name = f"`{report.protocol}`{' as printed in its paper' if report.mode == 'paper' else ''}"
    roles = _roles(run)
    loss = _privacy_loss(report)
    sent = report.communication
    cost = f"{bytes_shown(sent.payload_bytes)} in {counted(sent.rounds, 'round')}"
    return (
        f"{_capital(roles)} ran {name} and published {_published(report)}.",
        f"{_capital(loss)}; the run sent {cost}{_utility(run.utility)}.",
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _roles(run: ReportedRun) -> str:
    """Name the roles, and whose records they held."""
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
    if privacy.epsilon["curator"] <= privacy.claimed_epsilon < math.inf:
        text += f" that saw none of {'their records' if run.rows is None else 'them'}"
    return text


def _privacy_loss(report: Report) -> str:
    """Say who learns how much. A condition of the claim that is not met comes first."""
    privacy = report.privacy
    conditions = _unmet_conditions(report)
    text = f"if {' and '.join(conditions)}, " if conditions else ""
    learns, bounds = ("would learn", "would bound") if conditions else ("learns", "bounds")
    drawn = report.communication.users is not None and report.parameters.get("users")
    what = (
        f"one {'made-up user' if drawn else 'person'}'s "
        f"{'label' if privacy.neighbours in LABELS else 'record'}"
    )
    views = {"the public": "public", "the curator": "curator"}
    if report.parties > 1:
        views["another party"] = "other_party"
    losses = {name: privacy.epsilon[view] for name, view in views.items()}
    if len({*losses.values()}) > 1:
        each = ", ".join(f"{name} {learns} {_at_most(loss)}" for name, loss in losses.items())
        text += f"of {what}, {each}"
    elif math.isinf(losses["the public"]):
        text += f"nothing {bounds} what anybody learns of {what}"
    else:
        others = "the curator and the other parties" if report.parties > 1 else "the curator"
        text += f"anybody, {others} included, {learns} of {what} {_at_most(losses['the public'])}"
    if privacy.neighbours == "label-within-belief":
        text += ", unless she is one whose attributes they know"
    if privacy.delta:
        text += f", but for a chance of {privacy.delta:g}"
    if privacy.whole_record is not None:
        text += f"; of the whole record {_at_most(privacy.whole_record)}"
    if worse := _worse_together(privacy):
        threshold = privacy.claimed_coalition or 0
        who = "some of them"
        if threshold > 1:
            who = f"more than {threshold} parties, or one and the curator,"
        text += f", and {_at_most(worse)} where {who} pool what they know"
    return text


def _at_most(epsilon: float) -> str:
    return (
        "without any bound" if math.isinf(epsilon) else f"at most epsilon {epsilon_shown(epsilon)}"
    )


def _unmet_conditions(report: Report) -> list[str]:
    """List the conditions of every claim that this run does not meet."""
    conditions = []
    if report.seed is not None:
        conditions.append("nobody knew the seed")
    if report.privacy.key_bits < MIN_KEY_BITS and report.communication.ciphertext_bytes > 0:
        conditions.append("keys could not be broken")
    return conditions


def _worse_together(privacy: Privacy) -> float:
    """Give the largest loss to a coalition if it is larger than to any single role; else 0."""
    alone = max(privacy.epsilon.values())
    together = max(privacy.coalitions.values(), default=0.0)
    return together if together > alone else 0.0


def _number(value: int) -> str:
    return NUMBERS[value] if value < len(NUMBERS) else f"{value:,}"


def _source(report: Report) -> str:
    """Name the tables; those of the same name with their folders."""
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
            f"{counted(sizes.marginals, 'noisy table')} of {counted(sizes.cells, 'count')} "
            "(`marginals.csv`)"
        )
    if report.published.model:
        parts.append("a model (`model.json`)")
    if len(parts) > 1:
        return f"{', '.join(parts[:-1])} and {parts[-1]}"
    return parts[0] if parts else "a few figures"


def _utility(utility: Utility | None) -> str:
    if utility is None:
        return ""
    if (accuracy := utility.accuracy) is not None:
        label = accuracy.label.replace("`", "'")
        return (
            f", and {label} is predicted right in {accuracy.model:.1%} "
            f"(most frequent: {accuracy.majority:.1%})"
        )
    if not utility.tvd:
        return ""
    ways, distance = next(iter(utility.tvd.items()))
    baseline = _baselines(utility).get(ways)
    compared = ""
    if baseline is not None:
        verdict = "better" if distance < baseline else "no better"
        compared = f", {verdict} than single attributes alone ({baseline:.3g})"
    return f", and its {ways}-way tables are on average {distance:.3g} off the real ones{compared}"


def _baselines(utility: Utility) -> dict[str, float]:
    """Give the distances of the real one-way marginals without noise, by number of attributes."""
    return {
        str(distance.ways): distance.one_way
        for distance in utility.distances or ()
        if distance.attributes == "original"
    }


def figures(run: ReportedRun) -> list[tuple[str, str, str]]:
    """Choose the figures that are shown large: name, figure, and a remark."""
    report = run.report
    chosen = _losses(report)
    if report.published.synthetic is None:
        chosen += _outcome(report)
    chosen += _costs(report.communication)
    chosen.append(("time", f"{report.seconds:,.3g} s", report.transport))
    if run.utility is not None:
        chosen += _qualities(run.utility)
    return chosen


def _losses(report: Report) -> list[tuple[str, str, str]]:
    privacy = report.privacy
    remarks = [f"claimed {epsilon_shown(privacy.claimed_epsilon)}"]
    if worse := _worse_together(privacy):
        remarks.append(f"up to {epsilon_shown(worse)} if some pool")
    if conditions := _unmet_conditions(report):
        remarks.append(f"only if {' and '.join(conditions)}")
    worst = epsilon_shown(max(privacy.epsilon.values()))
    losses = [("epsilon, to anybody alone", worst, "; ".join(remarks))]
    if privacy.whole_record is not None:
        whole = epsilon_shown(privacy.whole_record)
        losses.append(("of the whole record", whole, "its attributes and its label"))
    return losses


def _outcome(report: Report) -> list[tuple[str, str, str]]:
    return [
        (
            name.replace("_", " "),
            f"{value:,}" if isinstance(value, int) else f"{value:.5g}",
            "published",
        )
        for name, value in [*report.outcome.items()][:3]
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]


def _costs(sent: Communication) -> list[tuple[str, str, str]]:
    costs = [
        (
            "sent",
            bytes_shown(sent.payload_bytes),
            f"{sent.payload_bytes:,} bytes of payload",
        ),
        ("rounds", f"{sent.rounds:,}", counted(sent.messages, "message")),
    ]
    if sent.users is not None and sent.per_user_bits is not None:
        bits = f"{sent.per_user_bits:,.4g} bits"
        costs.append(("a user sends", bits, counted(sent.users.reports, "report")))
    return costs


def _qualities(utility: Utility) -> list[tuple[str, str, str]]:
    baselines = _baselines(utility)
    qualities = []
    for ways, distance in utility.tvd.items():
        remark = "of the published tables"
        if ways in baselines:
            verdict = "better" if distance < baselines[ways] else "no better"
            remark = f"{verdict} than single attributes: {baselines[ways]:.4f}"
        qualities.append((f"{ways}-way distance", f"{distance:.4f}", remark))
    if (accuracy := utility.accuracy) is not None:
        qualities.append(
            (
                f"{accuracy.label} predicted",
                f"{accuracy.model:.1%}",
                f"most frequent: {accuracy.majority:.1%}",
            )
        )
    return qualities


def view_shown(view: str) -> str:
    """Name an adversary's view.

    >>> view_shown("2_parties"), view_shown("curator_and_1")
    ('2 other parties, pooling what they know', 'the curator together with 1 party')
    """
    if view in VIEWS:
        return VIEWS[view]
    if view.startswith("curator_and_"):
        number = int(view.rsplit("_", 1)[1])
        return f"the curator together with {number:,} part{'y' if number == 1 else 'ies'}"
    return f"{view.split('_', maxsplit=1)[0]} other parties, pooling what they know"


def claimed_for(view: str, privacy: Privacy) -> bool:
    """Tell whether the claim covers a view: coalitions only up to the collusion threshold."""
    threshold = privacy.claimed_coalition
    size = int(view.split("_", maxsplit=1)[0]) if view[0].isdigit() else 1
    return not view.startswith("curator_and") and (
        threshold is None or view in ("public", "curator") or size <= threshold
    )


def exceeds(real: float, claimed: float) -> bool:
    """Tell whether a real loss is more than a claimed one, beyond rounding."""
    return real > claimed * (1 + 1e-9)
