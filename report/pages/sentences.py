"""The sentences and large figures at the top of a run's page, and the names of views."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from ...evaluation import Utility
from ..formats import bytes_text, epsilon_text, quantity
from ..report import Communication, Privacy, Report
from ..reported import ReportedRun

__all__ = ["claimed_for", "exceeds", "figures", "lead", "view_name"]

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
    "public": "the public, who sees what is published",
    "curator": "the curator, who sees all messages to it",
    "other_party": "another party, who sees all messages to it and its own noise",
}
LABELS: Final = ("label-within-belief", "label-alone")
"""Neighbouring relations in which neighbours differ in a label."""
MIN_KEY_BITS: Final = 2048
"""The length of keys that cannot be broken."""


def lead(run: ReportedRun) -> tuple[str, str]:
    """Write two paragraphs: what was run and published, and its privacy loss, cost and utility."""
    report = run.report
    protocol = f"`{report.protocol}`{' as printed in its paper' if report.mode == 'paper' else ''}"
    sent = report.communication
    sentences = [
        _capital(_privacy_loss(report)),
        f"The run sent {bytes_text(sent.payload_bytes)} in {quantity(sent.rounds, 'round')}.",
        *([] if run.utility is None else _utility(run.utility)),
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
    if privacy.epsilon["curator"] <= privacy.claimed_epsilon < math.inf:
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
    conditions = _unmet_conditions(report)
    verb = "would be" if conditions else "is"
    drawn = report.communication.users is not None and report.parameters.get("users")
    person = "made-up user" if drawn else "person"
    what = "label" if privacy.neighbours in LABELS else "record"
    text = f"if {' and '.join(conditions)}, " if conditions else ""
    text += f"the privacy loss of one {person}'s {what} {verb} {_losses(report)}"
    if privacy.neighbours == "label-within-belief":
        text += ", unless they know her attributes"
    if privacy.delta:
        text += f", except with probability {privacy.delta:g}"
    text += "."
    if together := _loss_together(privacy):
        threshold = privacy.claimed_coalition or 0
        who = "some of them collude"
        if threshold > 1:
            who = f"more than {threshold} parties, or the curator and a party, collude"
        text += f" It {verb} {_bound(together)} if {who}."
    if privacy.whole_record is not None:
        text += f" The privacy loss of the whole record {verb} {_bound(privacy.whole_record)}."
    return text


def _losses(report: Report) -> str:
    """Write the losses, once if they are the same to everybody."""
    views = {"the public": "public", "the curator": "curator"}
    if report.parties > 1:
        views["another party"] = "other_party"
    losses = {name: report.privacy.epsilon[view] for name, view in views.items()}
    if len({*losses.values()}) == 1:
        others = "the curator and the other parties" if report.parties > 1 else "the curator"
        return f"{_bound(losses['the public'])} to anybody, including {others}"
    each = [f"{_bound(loss)} to {name}" for name, loss in losses.items()]
    return f"{', '.join(each[:-1])} and {each[-1]}"


def _bound(loss: float) -> str:
    return "unbounded" if math.isinf(loss) else f"at most epsilon {epsilon_text(loss)}"


def _unmet_conditions(report: Report) -> list[str]:
    """List the conditions of every claim that this run does not meet."""
    conditions = []
    if report.seed is not None:
        conditions.append("nobody knew the seed")
    if report.privacy.key_bits < MIN_KEY_BITS and report.communication.ciphertext_bytes > 0:
        conditions.append("nobody could break the keys")
    return conditions


def _loss_together(privacy: Privacy) -> float:
    """Give the largest loss to a coalition if it is larger than to any single role; else 0."""
    alone = max(privacy.epsilon.values())
    together = max(privacy.coalitions.values(), default=0.0)
    return together if together > alone else 0.0


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
    baseline = _baselines(utility).get(ways)
    return [text + ("" if baseline is None else f", {_compared(distance, baseline)}") + "."]


def _compared(distance: float, baseline: float, digits: str = ".3g") -> str:
    verdict = "better" if distance < baseline else "no better"
    return f"{verdict} than the baseline {baseline:{digits}}"


def _baselines(utility: Utility) -> dict[str, float]:
    """Give the distances of the exact single attributes, by number of attributes."""
    return {
        str(distance.ways): distance.one_way
        for distance in utility.distances or ()
        if distance.attributes == "original"
    }


def figures(run: ReportedRun) -> list[tuple[str, str, str]]:
    """Choose the figures that are shown large: name, figure, and a remark."""
    report = run.report
    chosen = _loss_figures(report)
    if report.published.synthetic is None:
        chosen += _outcome_figures(report)
    chosen += _cost_figures(report.communication)
    chosen.append(("time", f"{report.seconds:,.3g} s", report.transport))
    if run.utility is not None:
        chosen += _utility_figures(run.utility)
    return chosen


def _loss_figures(report: Report) -> list[tuple[str, str, str]]:
    privacy = report.privacy
    remarks = [f"claimed {epsilon_text(privacy.claimed_epsilon)}"]
    if together := _loss_together(privacy):
        remarks.append(f"up to {epsilon_text(together)} with collusion")
    if conditions := _unmet_conditions(report):
        remarks.append(f"only if {' and '.join(conditions)}")
    alone = epsilon_text(max(privacy.epsilon.values()))
    losses = [("epsilon, no collusion", alone, "; ".join(remarks))]
    if privacy.whole_record is not None:
        whole = epsilon_text(privacy.whole_record)
        losses.append(("epsilon of the record", whole, "attributes and label together"))
    return losses


def _outcome_figures(report: Report) -> list[tuple[str, str, str]]:
    return [
        (
            name.replace("_", " "),
            f"{value:,}" if isinstance(value, int) else f"{value:.5g}",
            "published",
        )
        for name, value in [*report.outcome.items()][:3]
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]


def _cost_figures(sent: Communication) -> list[tuple[str, str, str]]:
    payload = f"{sent.payload_bytes:,} bytes of payload"
    costs = [
        ("sent", bytes_text(sent.payload_bytes), payload),
        ("rounds", f"{sent.rounds:,}", quantity(sent.messages, "message")),
    ]
    if sent.users is not None and sent.per_user_bits is not None:
        bits = f"{sent.per_user_bits:,.4g} bits"
        costs.append(("one user sends", bits, quantity(sent.users.reports, "report")))
    return costs


def _utility_figures(utility: Utility) -> list[tuple[str, str, str]]:
    baselines = _baselines(utility)
    chosen = []
    for ways, distance in utility.tvd.items():
        remark = "of the published marginals"
        if ways in baselines:
            remark = _compared(distance, baselines[ways], ".4f")
        chosen.append((f"{ways}-way distance", f"{distance:.4f}", remark))
    if (accuracy := utility.accuracy) is not None:
        name, right = f"{accuracy.label} predicted right", f"{accuracy.model:.1%}"
        chosen.append((name, right, f"most frequent label: {accuracy.majority:.1%}"))
    return chosen


def view_name(view: str) -> str:
    """Name an adversary's view.

    >>> view_name("2_parties"), view_name("curator_and_1")
    ('2 other parties that collude', 'the curator colluding with 1 party')
    """
    if view in VIEWS:
        return VIEWS[view]
    if view.startswith("curator_and_"):
        number = int(view.rsplit("_", 1)[1])
        return f"the curator colluding with {quantity(number, 'party', 'parties')}"
    return f"{view.split('_', maxsplit=1)[0]} other parties that collude"


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
