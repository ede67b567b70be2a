"""A finished run on another network: seconds, what they consist of, and who waited for whom."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from ..messages import CURATOR, Entry, UsageError, role_name
from ..network import (
    Network,
    Reason,
    Timing,
    check_hosts,
    host_name,
    network_text,
    parts_of,
    replay,
    share_lines,
    time_text,
)
from .folder import BROKEN, read_ledger
from .formats import quantity
from .report import read_report

__all__ = [
    "ReplayReport",
    "Share",
    "computation_of",
    "network_rows",
    "replay_json",
    "replay_lines",
    "replay_run",
    "rounded",
    "seconds_after",
    "shares_of",
    "waiting_rows",
]

MAX_WAITS_SHOWN: Final = 8
LEDGER: Final = "ledger.csv"
LONGER: Final = "their computation is longer than on cores of their own"
"""The end of a remark on roles that may have computed in turn."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the critical path."""

    reason: Reason
    seconds: float
    stretches: int
    """Number of stretches of the path with this reason: for latency, the rounds on it."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """How long one role waited for messages of another."""

    role: str
    awaited: str
    seconds: float


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `sottovoce replay --json` prints."""

    protocol: str
    parties: int
    messages: int
    rounds: int
    network: str
    seconds: float
    """Seconds on this network, until the curator knows that all roles have ended."""
    measured_seconds: float
    """Seconds that the run took where it ran."""
    shares: list[Share]
    """What the critical path consists of, the largest part first."""
    computation: dict[str, float]
    """Seconds of computation on the critical path, by role."""
    waits: list[Waiting]
    """Who waited for whom, the longest first."""
    remark: str = ""
    """Why the computation may be longer than on cores of the roles' own; empty if it is not."""


def replay_run(folder: Path, network: Network) -> tuple[ReplayReport, Timing]:
    """Replay the run of a folder, with its report.json and ledger.csv, on a network.

    Raises:
        UsageError: the folder holds no run, or the network describes a party that it had not.
    """
    report = read_report(folder)
    entries = _ledger(folder)
    if len(entries) != report.communication.messages:
        raise UsageError(
            f"expected {report.communication.messages:,} messages in {folder / LEDGER}, as "
            f"report.json counts, found {len(entries):,}: some lines are gone, or were added"
        )
    check_hosts(network, parties=report.parties)
    parts = parts_of(entries, parties=report.parties)
    timing = replay(
        parts, network, last=seconds_after(entries, until=report.seconds - report.closing_seconds)
    )
    waits = sorted(timing.waits.items(), key=lambda item: (-item[1], item[0]))
    summary = ReplayReport(
        protocol=report.protocol,
        parties=report.parties,
        messages=len(entries),
        rounds=report.communication.rounds,
        network=network_text(network),
        seconds=rounded(timing.seconds),
        measured_seconds=report.seconds,
        shares=shares_of(timing),
        computation=computation_of(timing),
        waits=[
            Waiting(role=host_name(role), awaited=host_name(awaited), seconds=rounded(seconds))
            for (role, awaited), seconds in waits
        ],
        remark=_shared_cores(report.transport, roles=report.parties + 1),
    )
    return summary, timing


def _shared_cores(transport: str, *, roles: int) -> str:
    """Say why roles may have waited for each other while they computed; empty if they did not."""
    cores = os.cpu_count() or 1
    if transport == "threads":
        return f"its {roles} roles were threads of one process, which compute in turn: {LONGER}"
    if transport == "mpi" and roles > cores:
        return (
            f"its {roles} roles may have shared fewer cores (this machine has {cores}): "
            f"then {LONGER}"
        )
    return ""


def shares_of(timing: Timing) -> list[Share]:
    """List what the critical path consists of, the largest part first."""
    return [
        Share(reason=reason, seconds=rounded(seconds), stretches=timing.count(reason))
        for reason, seconds in timing.by_reason.items()
    ]


def computation_of(timing: Timing) -> dict[str, float]:
    """Give the seconds of computation on the critical path, by role."""
    return {
        host_name(rank): rounded(seconds) for rank, seconds in timing.computation_by_role.items()
    }


def replay_lines(report: ReplayReport, timing: Timing) -> list[tuple[str, str]]:
    """Say what the run would have taken, in names and texts."""
    parties = quantity(report.parties, "party", "parties")
    measured = time_text(report.measured_seconds)
    messages, rounds = quantity(report.messages, "message"), quantity(report.rounds, "round")
    lines = [
        ("run", f"{report.protocol} of {parties}, {messages} in {rounds}"),
        ("network", report.network),
        ("seconds", f"{time_text(report.seconds)}, where it ran {measured}"),
    ]
    names = ["consists of", *[""] * len(timing.by_reason)]
    lines += zip(names, share_lines(timing), strict=False)
    return [*lines, ("remark", report.remark)] if report.remark else lines


def waiting_rows(timing: Timing) -> list[list[str]]:
    """List who waited longest for whom, for a table."""
    longest = sorted(timing.waits.items(), key=lambda item: (-item[1], item[0]))
    return [
        [role_name(role), role_name(awaited), time_text(seconds)]
        for (role, awaited), seconds in longest[:MAX_WAITS_SHOWN]
        if seconds > 0
    ]


def network_rows(results: Sequence[tuple[ReplayReport, Timing]]) -> list[list[str]]:
    """Put a run's replays on several networks side by side, each with its largest part."""
    return [
        [report.network, time_text(report.seconds), share_lines(timing)[0]]
        for report, timing in results
    ]


def replay_json(report: ReplayReport | Sequence[ReplayReport]) -> str:
    """Write the report of a replay, or a list of reports, as JSON."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def _ledger(folder: Path) -> list[Entry]:
    path = folder / LEDGER
    try:
        return read_ledger(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"expected the ledger of a run at {path}, found {error.strerror}"
        ) from None
    except BROKEN as error:
        raise UsageError(f"expected the ledger of a run at {path}, found {error}") from None


def seconds_after(entries: Sequence[Entry], *, until: float) -> float:
    """Give the seconds that the curator computed after its last message, up to its end."""
    ends = [entry.received_at for entry in entries if entry.receiver == CURATOR]
    ends += [entry.sent_at for entry in entries if entry.sender == CURATOR]
    return max(0.0, until - max(ends, default=0.0))


def rounded(seconds: float) -> float:
    """Round seconds to a microsecond."""
    return round(seconds, 6)
