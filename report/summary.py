"""What a person wants to know of a run first: a name and a sentence, line by line."""

from __future__ import annotations

from ..evaluation import Utility
from .report import Communication, Privacy, Traffic
from .reported import ReportedRun

__all__ = ["epsilon_shown", "summary_lines"]


def summary_lines(run: ReportedRun) -> list[tuple[str, str]]:
    """Say what was run, published, sent and spent, and how good it is."""
    report = run.report
    rows = "" if run.rows is None else f", {run.rows:,} rows"
    return [
        ("protocol", f"{report.protocol} ({report.mode}), {_parties(report.parties)}{rows}"),
        *((name, _figure(value)) for name, value in report.outcome.items()),
        *_cost(report.communication),
        *([] if run.utility is None else _quality(run.utility)),
        ("epsilon", _epsilon(report.privacy)),
        ("seconds", f"{report.seconds:.2f}"),
    ]


def epsilon_shown(epsilon: float) -> str:
    """Write an epsilon.

    >>> epsilon_shown(0.5), epsilon_shown(float("inf"))
    ('0.5', 'infinity')
    """
    return "infinity" if epsilon == float("inf") else f"{epsilon:g}"


def _cost(exchanged: Communication) -> list[tuple[str, str]]:
    messages, rounds = _count(exchanged.messages, "message"), _count(exchanged.rounds, "round")
    size = f"{exchanged.payload_bytes:,} bytes of payload, {exchanged.frame_bytes:,} with frames"
    lines = [("sent", f"{messages} in {rounds}: {size}")]
    if exchanged.predicted is not None:
        lines.append(("cost", _prediction(exchanged)))
    if exchanged.users is not None and exchanged.per_user_bits is not None:
        lines.append(("one user", _one_user(exchanged.users, exchanged.per_user_bits)))
    if exchanged.formulas:
        printed = _formula_sum(exchanged, "printed")
        corrected = _formula_sum(exchanged, "corrected")
        text = f"the paper's, a ciphertext for each cell: {printed}; corrected: {corrected}"
        lines.append(("formulas", text))
    return lines


def _formula_sum(exchanged: Communication, which: str) -> str:
    sizes = [getattr(line, f"{which}_bytes") for line in exchanged.formulas]
    rounds = [getattr(line, f"{which}_rounds") for line in exchanged.formulas]
    return f"{sum(sizes):,.0f} bytes in {sum(rounds):,.0f} rounds"


def _epsilon(privacy: Privacy) -> str:
    views = ", ".join(
        f"{view.replace('_', ' ')} {epsilon_shown(loss)}" for view, loss in privacy.epsilon.items()
    )
    text = f"claimed {epsilon_shown(privacy.claimed_epsilon)}; seen by {views}"
    if privacy.delta:
        text += f" but for a chance of {privacy.delta:g}"
    if privacy.whole_record is not None:
        text += f"; of the whole record {epsilon_shown(privacy.whole_record)}"
    return f"{text} ({privacy.neighbours})"


def _one_user(users: Traffic, per_user_bits: float) -> str:
    """Say what a user sends in a deployment, and what all of them do."""
    spread = f" ({users.least:,} to {users.most:,})" if users.least < users.most else ""
    simulated = "made and counted"
    if users.simulate != "reports":
        simulated = "not made: their sums were drawn"
    return (
        f"sends one report of {per_user_bits:,.4g} bits{spread}; "
        f"{_count(users.reports, 'report')}, {-(-users.bits // 8):,} bytes in all, {simulated}"
    )


def _prediction(exchanged: Communication) -> str:
    """Say whether what was sent is what was predicted, and how much could not be."""
    lines = exchanged.predicted or []
    wrong = [
        f"{line.phase}/{line.kind}: predicted {line.payload_bytes:,} bytes, "
        f"found {line.measured_payload_bytes:,}"
        for line in lines
        if not line.right
    ]
    if wrong:
        return "; ".join(wrong)
    rest = exchanged.payload_bytes - sum(line.payload_bytes for line in lines)
    return (
        f"as predicted, but for {rest:,} bytes that depend on choices" if rest else "as predicted"
    )


def _quality(utility: Utility) -> list[tuple[str, str]]:
    lines = []
    if (accuracy := utility.accuracy) is not None:
        lines.append(
            f"{accuracy.label} is predicted right in {accuracy.model:.4f} of the "
            f"{accuracy.rows:,} rows that it was learnt from "
            f"(the most frequent one: {accuracy.majority:.4f})"
        )
    if utility.tvd:
        floors = {str(line.ways): line.one_way for line in utility.distances or ()}
        shown = [
            f"{ways}-way {value:.4f}"
            + (f" (one-way tables only: {floors[ways]:.4f})" if ways in floors else "")
            for ways, value in utility.tvd.items()
        ]
        lines.append(f"average total variation distance {', '.join(shown)}")
    return [("utility", line) for line in lines]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _parties(number: int) -> str:
    return "1 party" if number == 1 else f"{number:,} parties"


def _figure(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
