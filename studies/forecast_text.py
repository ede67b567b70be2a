"""Forecasts as lines, tables, CSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..network import Reason, Timing, share_lines, time_text
from ..privacy import members
from ..report.claims import view_name
from ..report.formats import bytes_text, epsilon_text, quantity
from ..runs.infinity import in_json
from .forecast_result import Forecast

__all__ = [
    "LEFT_OUT",
    "METHODS",
    "alternative_texts",
    "forecast_json",
    "forecast_lines",
    "forecast_rows",
    "line_rows",
    "varied_settings",
]

METHODS = {
    "played": "played: all roles ran here on made-up records, with their computation",
    "predicted": "predicted: from formulas or plays of few parties, and the network",
}
BASES = {
    "measured": "measured in the play; `sottovoce calibrate` makes it repeat itself",
    "calibrated": "by the calibration of this machine",
}
LEFT_OUT_COMPUTATION = "left out: `sottovoce calibrate` measures what it costs on this machine"
NO_TIME = "takes no time, as roles are infinitely fast on this network"
LEFT_OUT = (
    "how close the result comes to the data, but for what the protocol predicts; and that roles on "
    "one machine share its cores, unless the network's file has `cores`"
)
MAX_NOISE_LINES = 12


def forecast_lines(plan: Forecast, timing: Timing | None) -> list[tuple[str, str]]:
    """Say what one run would cost, in names and texts."""
    rounds = "" if plan.rounds is None else f" in {quantity(plan.rounds, 'round')}"
    parties = quantity(plan.parties, "party", "parties")
    frames = bytes_text(plan.frame_bytes)
    basis = "as in every run" if plan.exact else "of made-up records"
    lines = [
        ("protocol", f"{plan.protocol} of {parties}, {quantity(plan.rows, 'row')}"),
        ("method", METHODS[plan.method]),
        ("messages", f"{plan.messages:,}{rounds}, {basis}"),
        ("bytes", f"{frames} in frames, {bytes_text(plan.payload_bytes)} of payload"),
        (
            "memory",
            (
                f"{bytes_text(plan.memory.curator)} for the curator's process, "
                f"{bytes_text(plan.memory.party)} for a party's"
            ),
        ),
        ("computation", _processor_text(plan)),
        ("network", plan.network_text),
    ]
    if timing is not None:
        lines.append(("seconds", _seconds_text(plan)))
        names = ["consists of", *[""] * len(timing.by_reason)]
        lines += zip(names, share_lines(timing), strict=False)
    delta = f", delta {plan.claimed_delta:g}" if plan.claimed_delta else ""
    lines.append(
        ("epsilon", f"{epsilon_text(plan.claimed_epsilon)}{delta}, claimed for {plan.claimed_for}")
    )
    views = [
        f"{view_name(view)}: {epsilon_text(loss)}"
        for view, loss in plan.epsilon.items()
        if members(view)[0] in (0, 1, plan.claimed_coalition, plan.parties - 1)
    ]
    names = ["of the view of", *[""] * len(views)]
    lines += zip(names, views, strict=False)
    names = ["noise of one record", *[""] * len(plan.noise)]
    lines += zip(names, _noise_lines(plan), strict=False)
    names = ["on made-up records", *[""] * len(plan.figures)]
    lines += zip(names, (f"{name}: {text}" for name, text in plan.figures.items()), strict=False)
    lines += [("remark", remark) for remark in plan.remarks]
    names = ["cheaper", *[""] * len(plan.alternatives)]
    lines += zip(names, alternative_texts(plan), strict=False)
    return [*lines, ("left out", LEFT_OUT)]


def alternative_texts(plan: Forecast) -> list[str]:
    """Say which other options would cost less, how much, and what they change."""
    texts = []
    for other in plan.alternatives:
        rounds = ""
        if other.rounds is not None and other.rounds != plan.rounds:
            rounds = f", {quantity(other.rounds, 'round')}"
        sizes = f"{bytes_text(other.frame_bytes)} instead of {bytes_text(plan.frame_bytes)}"
        seconds = ""
        if other.seconds is not None and plan.seconds is not None:
            seconds = f"{time_text(other.seconds)} instead of {time_text(plan.seconds)}, "
        texts.append(f"{other.option}: {seconds}{sizes}{rounds}; {other.change}")
    return texts


def _processor_text(plan: Forecast) -> str:
    """Say for how long roles compute, and how that is known."""
    processor = plan.processor
    if processor is None:
        return NO_TIME if plan.is_instant else LEFT_OUT_COMPUTATION
    return (
        f"{time_text(processor.curator)} of the curator, {time_text(processor.party)} of a party, "
        f"{BASES[processor.basis]}"
    )


def _noise_lines(plan: Forecast) -> list[str]:
    """Say how much one record changes each answer, and how much noise is added to it."""
    lines = []
    for line in plan.noise[:MAX_NOISE_LINES]:
        times = "" if line.releases == 1 else f"{line.releases:,} times "
        ratio = line.scale / line.sensitivity if line.sensitivity else 0.0
        lines.append(
            f"{line.phase}: {times}{line.mechanism}, a record changes {line.sensitivity:.3g}, "
            f"noise scale {line.scale:.3g} ({ratio:.3g} times)"
        )
    left = len(plan.noise) - MAX_NOISE_LINES
    return [*lines, f"and {left:,} more"] if left > 0 else lines


def line_rows(plan: Forecast) -> tuple[tuple[str, ...], list[list[str]]]:
    """List messages and bytes by phase and kind, as the head and the rows of a table."""
    head = ("phase", "kind", "messages", "payload bytes", "frame bytes")
    return head, [
        [
            line.phase,
            line.kind,
            f"{line.messages:,}",
            f"{most}{line.payload_bytes:,}",
            f"{most}{line.frame_bytes:,}",
        ]
        for line in plan.lines
        for most in ("at most " if line.at_most else "",)
    ]


def forecast_rows(plans: Sequence[Forecast]) -> tuple[list[str], list[list[str]]]:
    """Put forecasts side by side, as the head and the rows of a table."""
    varied = varied_settings(plans)
    several = len({plan.protocol for plan in plans}) > 1
    figures = ["network", "method", "messages", "rounds", "frame bytes"]
    asked = [f"{name}_asked" if name in figures else name for name in varied]
    head = ["parties", "epsilon", *asked, *figures]
    rows = [
        [
            *([plan.protocol] if several else []),
            f"{plan.parties:,}",
            epsilon_text(plan.claimed_epsilon),
            *(plan.settings.get(name, "") for name in varied),
            plan.network,
            plan.method,
            f"{plan.messages:,}",
            "" if plan.rounds is None else f"{plan.rounds:,}",
            bytes_text(plan.frame_bytes),
            _seconds_text(plan),
            _largest(plan),
        ]
        for plan in plans
    ]
    return [*(["protocol"] if several else []), *head, "seconds", "mostly"], rows


def forecast_json(plans: Sequence[Forecast]) -> str:
    """Write forecasts as JSON, a list."""
    content = in_json([msgspec.to_builtins(plan) for plan in plans])
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def varied_settings(plans: Sequence[Forecast]) -> list[str]:
    """List the parameters with several values, without epsilon."""
    names = dict.fromkeys(name for plan in plans for name in plan.settings if name != "epsilon")
    return [name for name in names if len({plan.settings.get(name) for plan in plans}) > 1]


def _seconds_text(plan: Forecast) -> str:
    if plan.seconds is None:
        return ""
    further = " + computation" if plan.leaves_out else ""
    return f"{time_text(plan.seconds)}{further}"


def _largest(plan: Forecast) -> str:
    """Say what most of the seconds are."""
    if not plan.shares or not plan.seconds:
        return ""
    share = plan.shares[0]
    part = f"{share.seconds / plan.seconds:.0%}".replace("%", " %")
    detail = f", {quantity(share.stretches, 'round')}" if share.reason is Reason.LATENCY else ""
    return f"{share.reason} {part}{detail}"
