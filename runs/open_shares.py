"""Answers that only a secure sum may carry: does anything else carry one?

A party's share of a sum's noise is less noise than the sum's epsilon needs, and its counts beside
selected noise are exact. The releases of these state the privacy loss of the *sum* in each view.
That is true if the answer leaves the party masked or encrypted. In the open its loss is larger.

So the part is played again on the same records, with other answers of these releases. A message
that then differs carries an answer, or something that was computed from it. It is covered if the
framework's own code sends it, in a message of the framework that is encrypted or masked. In any
other message of the framework the answer is covered if the release states its full loss in each
view of the receiver.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Final

from ..messages import CURATOR
from ..messages.composed_fields import CiphertextField
from ..messages.message import message_fields
from ..messages.tape import Difference
from ..parties import Records
from ..privacy import SelectedNoise, SharedNoise, members
from ..privacy.answers import other_answers
from ..privacy.loss import UNBOUNDED, Loss
from ..privacy.mechanism import AnyMechanism, loss_of
from ..privacy.taping import TapedRelease
from .instance import instantiate, is_built_in, is_own_module
from .replay import PartTape, Replay, replay_part

__all__ = ["CARRIES", "CAUSE", "loss_of_answer", "replay_other_answers"]

CARRIES: Final = "it carries the answer of a release that only a secure sum may carry"
CAUSE: Final = "the answer of a release that only a secure sum may carry"
UNCHANGED: Final = (
    "its {} states less loss than its answer alone has, and which messages carry the answer "
    "could not be checked, as it holds something else than numbers and texts"
)
ROUNDING: Final = 1e-9


def replay_other_answers(
    tape: PartTape, *, records: Records, seconds: float, longest: float
) -> list[Replay]:
    """Replay a part on its own records with other answers of releases that need a secure sum.

    Args:
        tape: the part.
        records: the party's records.
        seconds: the time after which no further replay begins; one at least is played.
        longest: the time after which a replay is ended.
    """
    started = time.perf_counter()
    releases = {
        number: release
        for number, release in enumerate(tape.accountant.tape)
        if _understates(_losses(tape, release), release.mechanism)
    }
    replays: list[Replay] = []
    choices = {}
    for number, release in releases.items():
        try:
            choices[number] = [*other_answers(release.answer, seed=number)]
        except TypeError:
            doubt = UNCHANGED.format(release.mechanism.name)
            # It was not played, so nothing that it leaves can be compared.
            unplayed = Replay(differences=[], pairs=[], doubts=[doubt], reached={})
            replays.append(replace(unplayed, was_cut_off=True, other_answers=True))
    numbers = [*choices]
    for answers in zip(*choices.values(), strict=True):
        if replays and time.perf_counter() - started > seconds:
            break
        replay = replay_part(
            tape,
            records=records,
            seconds=longest,
            answers=dict(zip(numbers, answers, strict=True)),
            cause=CAUSE,
        )
        replays.append(_only_open(tape, replay, releases.values()))
    return replays


@singledispatch
def loss_of_answer(mechanism: AnyMechanism[object]) -> Loss:
    """Give the privacy loss of a mechanism's answer, for an adversary who sees it alone."""
    return loss_of(mechanism)


@loss_of_answer.register
def _(mechanism: SharedNoise) -> Loss:
    return mechanism.batch.loss_with(1)


@loss_of_answer.register
def _(mechanism: SelectedNoise) -> Loss:  # noqa: ARG001 - the counts are exact
    return UNBOUNDED


def _losses(tape: PartTape, release: TapedRelease) -> dict[str, Loss]:
    """List the loss that a release states in each view."""
    mechanism = release.mechanism
    return tape.accountant.stated_losses(mechanism, loss=loss_of(mechanism))


def _understates(losses: Mapping[str, Loss], mechanism: AnyMechanism[object]) -> bool:
    """Tell whether less is stated in one of these views than the answer alone loses."""
    alone = loss_of_answer(mechanism)
    return not all(alone.is_within(stated, slack=ROUNDING) for stated in losses.values())


def _only_open(tape: PartTape, replay: Replay, releases: Iterable[TapedRelease]) -> Replay:
    """Leave the differences that no secure sum covers."""
    kinds = {kind.__name__: kind for kind in instantiate(tape.job).kinds()}
    stated = [(_losses(tape, release), release.mechanism) for release in releases]

    def is_covered(difference: Difference) -> bool:
        kind, sent = kinds[difference.kind], tape.wire.sent[difference.to]
        if difference.number >= len(sent) or not is_built_in(kind):
            return False
        if not is_own_module(sent[difference.number].author):
            return False
        if any(isinstance(field, CiphertextField) for field in message_fields(kind).values()):
            return True
        return not any(
            _understates(
                {view: loss for view, loss in losses.items() if _is_in(difference.to, view)},
                mechanism,
            )
            for losses, mechanism in stated
        )

    differences = [
        difference._replace(reason=CARRIES)
        for difference in replay.differences
        if not is_covered(difference)
    ]
    return replace(replay, differences=differences, other_answers=True)


def _is_in(rank: int, view: str) -> bool:
    """Tell whether the role of this rank may be in a view."""
    who = members(view)
    return who.curator if rank == CURATOR else who.parties > 0
