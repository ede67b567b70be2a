"""What a report says of a durable run that was stopped: which roles went on, and in which phase."""

from __future__ import annotations

from collections.abc import Sequence

from ..messages import role_name
from ..runs.record import RunRecord
from .report import ResumedRole

__all__ = ["resumed_roles", "resumed_text"]


def resumed_roles(record: RunRecord) -> list[ResumedRole]:
    """List the roles that went on after the run had stopped.

    An attempt that was stopped while a role still replayed its log does not count for it.
    """
    return [
        ResumedRole(role=role_name(rank), phases=notes.resumed_in)
        for rank, notes in enumerate(record.roles)
        if notes.resumed_in
    ]


def resumed_text(roles: Sequence[ResumedRole]) -> list[str]:
    """Describe them in a sentence, if there are any."""
    if not roles:
        return []
    times = max(len(role.phases) for role in roles)
    places = "; ".join(
        f"{role.role} {', then '.join(_place(phase) for phase in role.phases)}" for role in roles
    )
    often = "once" if times == 1 else f"{times} times"
    text = f"the run was stopped and went on {often} ({places})"
    return [f"{text}; its times are those of the last attempt"]


def _place(phase: str) -> str:
    return f"in {phase}" if phase else "after its part"
