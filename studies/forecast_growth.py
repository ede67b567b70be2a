"""What roles compute more with many parties than in a play with few, from their messages alone.

Whatever was learnt from records, roles handle more messages, and have masks in common with more
parties. A curator also adds up the ciphertexts of more parties. How many messages each role has is
predicted, so none of this needs a second play.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from ..messages import CURATOR, Entry, WorkKind, has_encrypted_numbers
from ..network import Route
from ..protocols.secure_sum import SecureSums
from ..runs.calibration import Calibration
from ..runs.instance import instantiate
from ..runs.record import RunRecord
from .forecast_plays import Play
from .forecast_predicted import Prediction, across_of, messages_across

__all__ = ["growth_of_curator", "growth_of_party"]

MASKED: Final = frozenset(kind.__name__ for kind in (SecureSums.Masked, SecureSums.Encrypted))
"""Kinds of messages in which a party hides its tables by masks."""


def growth_of_curator(
    record: RunRecord, prediction: Prediction, *, calibration: Calibration
) -> list[float]:
    """Give the curator's further seconds before each round, and at last: handling and adding up."""
    step, handled = calibration.cost_of(WorkKind.STEP), Counter[int]()
    for entry in record.entries:
        if CURATOR in (entry.sender, entry.receiver):
            handled[entry.round - (entry.sender == CURATOR)] -= 1
    growth = _at_places(handled, prediction)
    for number, exchanges in enumerate(prediction.exchanges or []):
        for exchange in exchanges:
            if exchange.route is Route.UP:
                growth[number + 1] += exchange.messages
            elif exchange.route is Route.DOWN:
                growth[number] += exchange.messages
    additions = _at_places(_additions(record, prediction, calibration), prediction)
    parties = prediction.parties - record.job.parties
    return [step * each + parties * sums for each, sums in zip(growth, additions, strict=True)]


def growth_of_party(
    order: Play, prediction: Prediction, *, calibration: Calibration
) -> list[float]:
    """Give a party's further seconds: it has more peers, so more messages and masks."""
    record, parties = order.record, order.record.job.parties
    step, turns = calibration.cost_of(WorkKind.STEP), _lines_in_turn(prediction)
    handled = Counter[int]()
    for entry in record.entries:
        if CURATOR not in (entry.sender, entry.receiver) and _line(entry) not in turns:
            handled[entry.round - 1] -= 1
            handled[entry.round] -= 1
    growth = [each / parties for each in _at_places(handled, prediction)]
    for number, exchanges in enumerate(prediction.exchanges or []):
        for exchange in exchanges:
            if exchange.route is Route.ACROSS and not exchange.senders:
                growth[number] += exchange.messages / prediction.parties
                growth[number + 1] += exchange.messages / prediction.parties
    masks = _masks(order, prediction, cost=calibration.cost_of(WorkKind.MASK))
    return [step * each + making for each, making in zip(growth, masks, strict=True)]


def _at_places(by_round: Mapping[int, float], prediction: Prediction) -> list[float]:
    """Give figures of a play, by round, for each predicted round and at last."""
    last = max((*by_round, prediction.places[-1] + 1))
    return [float(by_round.get(place, 0)) for place in (*prediction.places, last)]


def _line(entry: Entry) -> tuple[str, str]:
    return entry.phase, entry.kind


def _lines_in_turn(prediction: Prediction) -> set[tuple[str, str]]:
    """Find the messages that some parties send in turn."""
    return {(line.phase, line.kind) for line in prediction.lines if line.hops}


def _additions(
    record: RunRecord, prediction: Prediction, calibration: Calibration
) -> Mapping[int, float]:
    """Give the curator's seconds by round to add one more party's ciphertexts.

    They are added after the round in which they come. Whoever wrote a message, big integers that it
    marks as ciphertexts are taken to be Paillier's, under the job's key, and to be added up. What
    some parties send in turn does not grow with the number of all.
    """
    kinds = instantiate(record.job).kinds()
    numbers = {kind.__name__ for kind in kinds if has_encrypted_numbers(kind)}
    turns = _lines_in_turn(prediction)
    bits = 2 * record.job.key_bits
    by_party = calibration.cost_of(WorkKind.MULTIPLICATION, size=bits) / record.job.parties
    seconds = defaultdict[int, float](float)
    for entry in record.entries:
        if entry.receiver == CURATOR and entry.kind in numbers and _line(entry) not in turns:
            ciphertexts = entry.ciphertext_bytes // (bits // 8)
            seconds[entry.round] += by_party * ciphertexts
    return seconds


def _masks(order: Play, prediction: Prediction, *, cost: float) -> Sequence[float]:
    """Give a party's further seconds for masks before each round.

    There is one for each peer, and a party has as many more as it has more messages to others. They
    are made before what they hide is sent, so they are divided among rounds as its bytes are.
    """
    record, nothing = order.record, [0.0] * (len(prediction.places) + 1)
    hidden = Counter[int]()
    for entry in record.entries:
        if entry.kind in MASKED and entry.receiver == CURATOR:
            hidden[entry.round - 1] += entry.payload_bytes
    played = messages_across(record.entries, parties=record.job.parties)
    if not played or not hidden:
        return nothing
    seconds = cost * order.masks / record.job.parties * (across_of(prediction) / played - 1)
    whole = hidden.total()
    return [seconds * each / whole for each in _at_places(hidden, prediction)]
