"""Playing a protocol's two sides, after all roles were introduced if identities were given.

With identities from before the run, all roles are introduced in a phase of their own before the
protocol begins, and nothing travels without a seal. So an adversary that owns the network can stop
the run, and nothing else. The curator is introduced to every party. Parties are introduced to each
other here, unless the protocol does so itself or they do not talk (`Protocol.parties_talk`).

Without identities only the protocols that introduce their roles themselves have seals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..crypto import IdentifiedRole
from ..curator import Curator
from ..messages import CURATOR, MisuseError
from ..parties import Party
from ..protocols import AnyProtocol, Cost, Outcome, Public
from ..protocols.cost import add_up
from ..protocols.introductions import (
    HANDSHAKE,
    introduce,
    predict_handshakes,
    predict_introductions,
)
from .job import Job
from .schema_stage import schema_stage, with_rest_of_budget

__all__ = ["PHASE", "kinds_of", "play_desk", "play_part", "predict_run"]

PHASE: Final = "introductions"
"""The phase in which roles are introduced before the protocol begins."""


def kinds_of(protocol: AnyProtocol, job: Job) -> tuple[type, ...]:
    """List the messages of a run: the protocol's own, and introductions if there are identities.

    Raises:
        MisuseError: the protocol has another message of that name.
    """
    kinds = protocol.kinds()
    stage = schema_stage(protocol, job)
    if stage is not None:
        kinds = (*kinds, *(kind for kind in stage.kinds() if kind not in kinds))
    if job.identities is None or set(HANDSHAKE) <= {*kinds}:
        return kinds
    names = {kind.__name__ for kind in kinds}
    for kind in HANDSHAKE:
        if kind.__name__ in names:
            raise MisuseError(
                f"expected no message of {protocol.name} to be named {kind.__name__}, as runs "
                "with identities have one, found one: give it another name"
            )
    return (*kinds, *HANDSHAKE)


def play_part(party: Party, protocol: AnyProtocol, job: Job) -> None:
    """Play one party."""
    others = [CURATOR, *party.peers] if protocol.parties_talk else [CURATOR]
    _introduce(party, job, others=others)
    stage = schema_stage(protocol, job)
    if stage is not None:
        stage.party(party)
        protocol = with_rest_of_budget(protocol, stage)
    protocol.party(party)


def play_desk(curator: Curator, protocol: AnyProtocol, job: Job) -> Outcome:
    """Play the curator."""
    _introduce(curator, job, others=curator.parties)
    stage = schema_stage(protocol, job)
    if stage is None:
        return _published(protocol.curator(curator), curator)
    learnt = stage.curator(curator)
    outcome = _published(with_rest_of_budget(protocol, stage).curator(curator), curator)
    figures = ", ".join(f"{name} {figure}" for name, figure in learnt.summary.items())
    summary = {"schema learnt": figures, **outcome.summary}
    return replace(outcome, schema=learnt.schema, summary=summary)


def _published(outcome: object, curator: Curator) -> Outcome:
    """Take what the curator's part returned, which is an author's code."""
    if isinstance(outcome, Outcome):
        return outcome
    raise MisuseError(
        f"expected an Outcome from the curator's part, found {type(outcome).__name__}: end it with "
        "`return Outcome(summary={...})`",
        where=curator.where,
    )


def _introduce(role: IdentifiedRole, job: Job, *, others: Sequence[int]) -> None:
    if job.identities is None:
        return
    role.require_seals(but=HANDSHAKE)
    with role.phase(PHASE):
        introduce(role, others=others)


def predict_run(
    protocol: AnyProtocol, public: Public, *, identities: bool, hybrid: bool
) -> list[Cost] | None:
    """Predict the cost of a run, with its introductions and its seals.

    Args:
        protocol: the protocol, whose forecast has no seals.
        public: the public figures.
        identities: whether identities were given before the run.
        hybrid: whether channels need ML-KEM.
    """
    lines = protocol.predict(public)
    if lines is None:
        return None
    lines = add_up(lines)  # a protocol may list the lines of each of its rounds
    if not identities:
        return predict_handshakes(lines, hybrid=hybrid)
    parties = public.parties
    pairs = parties * (parties - 1) // 2 if protocol.parties_talk else 0
    first = predict_introductions(edges=parties + pairs, phase=PHASE)
    return predict_handshakes([first, *_without(first, lines)], hybrid=hybrid)


def _without(first: Cost, lines: Sequence[Cost]) -> list[Cost]:
    """Leave out of a forecast the introductions that were made before the protocol began."""
    messages, rest = first.messages, []
    for line in lines:
        if line.kind != first.kind:
            rest.append(line)
            continue
        left = max(0, line.messages - messages)
        messages -= line.messages - left
        if left:
            size = line.payload_bytes // line.messages
            rest.append(replace(line, messages=left, payload_bytes=size * left))
    return rest
