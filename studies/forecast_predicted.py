"""The cost of many parties, from the protocol's prediction and the order of messages among few.

A prediction says how many messages of each kind there are, and how long they are, but not who waits
for whom. A play with few parties shows that: in which round each kind is sent, and from whom to
whom. Where it shows neither that many parties have the same rounds nor that they have more, a
second play with one party less has to have them (`forecast_order`). Otherwise seconds are left out.

Where messages depend on what was learnt, it is what the first play has learnt of made-up records.
Those that the protocol does not predict are as the plays show them (`forecast_unpredicted`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..messages import CURATOR, Entry, UsageError
from ..network import Exchange, Network, RoundSeconds, Route, Timing, time_rounds
from ..protocols import AnyProtocol, Cost, Public
from ..protocols.cost import add_up
from ..runs.introduced import predict_run
from ..runs.job import Job
from ..runs.record import RunRecord
from .forecast_order import Place, grows_by_rounds, is_same_order, rates_of, shows_order

__all__ = ["NotPredictedError", "Prediction", "across_of", "messages_across", "predict"]

CHANGING_ROUNDS = (
    "its rounds change with the number of parties or with what is learnt, so rounds and seconds "
    "are left out: --method played has them"
)


class NotPredictedError(UsageError):
    """A protocol's messages with many parties do not follow from what it predicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The predicted messages of many parties, and their rounds."""

    parties: int
    lines: Sequence[Cost]
    overheads: Mapping[tuple[str, str], int]
    """Bytes of a frame beside its payload, by phase and kind."""
    exchanges: Sequence[Sequence[Exchange]] | None
    """What is exchanged in each round; `None` where the rounds of many parties are not known."""
    places: Sequence[int]
    """Place in the play of each of these rounds; the play may have turns that many do not have."""
    remarks: Sequence[str]

    @property
    def rounds(self) -> int | None:
        """Number of rounds, where it is known."""
        return None if self.exchanges is None else len(self.exchanges)

    def overhead(self, line: Cost) -> int:
        """Give the bytes of each frame of a line beside the payload."""
        return self.overheads[line.phase, line.kind]

    def timing(self, network: Network, *, seconds: RoundSeconds | None = None) -> Timing | None:
        """Give the time on a network; without `seconds` roles take no time to compute."""
        if self.exchanges is None:
            return None
        return time_rounds(
            self.exchanges,
            network,
            parties=self.parties,
            seconds=seconds,
            last=0.0 if seconds is None else seconds.curator[-1],
        )


def predict(
    job: Job,
    protocol: AnyProtocol,
    *,
    rows: int,
    play: RunRecord,
    unpredicted: Sequence[Cost],
    other_play: Callable[[], RunRecord],
) -> Prediction:
    """Predict the cost of a job from a play of it with few parties.

    Args:
        job: the job.
        protocol: its protocol.
        rows: number of records of all parties.
        play: a play with few parties; messages are predicted from what it has learnt.
        unpredicted: the messages of many parties that the protocol does not predict.
        other_play: makes one with another number of parties, where the first one does not show the
            order of many parties' messages.

    Raises:
        NotPredictedError: the protocol predicts nothing for so many parties.
    """
    schema = play.schema
    public = Public(
        parties=job.parties,
        rows=0 if play.rows is None else rows,
        key_bits=job.key_bits,
        domain=None if schema is None else schema.domain,
        model=play.outcome.model,
        lasting=job.fewest_parties is not None,
    )
    try:
        predicted = predict_run(protocol, public, identities=False, hybrid=play.hybrid) or []
    except (LookupError, ValueError, ArithmeticError) as error:
        raise NotPredictedError(
            f"expected a cost that {protocol.name} predicts from what {play.job.parties} "
            f"parties learnt, found {type(error).__name__}: --method played"
        ) from None
    lines, played = add_up([*predicted, *unpredicted]), play.job.parties
    rates, entries = rates_of(play.entries, parties=played), [*play.entries]
    has_rounds = shows_order(play.entries, lines, played=played, parties=job.parties)
    if not has_rounds and not grows_by_rounds(play.entries, lines, played=played):
        other = other_play()
        entries += other.entries
        seen = {(place.phase, place.kind) for place in rates}
        in_turn = {(line.phase, line.kind): len(line.hops) for line in lines if line.hops}
        turns = Counter(place.line for place in rates)
        has_rounds = (
            {(line.phase, line.kind) for line in lines} <= seen
            and all(turns[line] >= number for line, number in in_turn.items())
            and is_same_order(
                rates_of(other.entries, parties=other.job.parties), rates, in_turn=in_turn
            )
        )
    overheads = {
        (entry.phase, entry.kind): entry.frame_bytes - entry.payload_bytes for entry in entries
    }
    usual = max(overheads.values())
    overheads |= {
        (line.phase, line.kind): usual for line in lines if (line.phase, line.kind) not in overheads
    }
    exchanges = _exchanges(lines, rates, overheads, parties=job.parties) if has_rounds else []
    return Prediction(
        parties=job.parties,
        lines=lines,
        overheads=overheads,
        exchanges=[each for each in exchanges if each] if has_rounds else None,
        places=[place for place, each in enumerate(exchanges) if each],
        remarks=[] if has_rounds else [CHANGING_ROUNDS],
    )


def messages_across(entries: Sequence[Entry], *, parties: int) -> float:
    """Count the messages that a party sends to others in a play."""
    across = sum(CURATOR not in (entry.sender, entry.receiver) for entry in entries)
    return across / parties


def across_of(prediction: Prediction) -> float:
    """Count them as they are predicted among many parties."""
    exchanges = [exchange for exchanges in prediction.exchanges or [] for exchange in exchanges]
    across = sum(each.messages for each in exchanges if each.route is Route.ACROSS)
    return across / prediction.parties


def _exchanges(
    lines: Sequence[Cost],
    rates: Mapping[Place, float],
    overheads: Mapping[tuple[str, str], int],
    *,
    parties: int,
) -> list[list[Exchange]]:
    """Distribute the predicted messages of each kind over its rounds and routes.

    Where the play has more turns than there are, the first ones are left empty.
    """
    rounds: list[list[Exchange]] = [[] for _ in range(max(place.round for place in rates))]
    for line in lines:
        places = {
            place: rate for place, rate in rates.items() if place.line == (line.phase, line.kind)
        }
        size = math.ceil(line.payload_bytes / line.messages) if line.messages else 0
        frame = size + overheads[line.phase, line.kind]
        if line.hops:
            last = list(places)[-len(line.hops) :]
            for place, hop in zip(last, line.hops, strict=True):
                rounds[place.round - 1].append(Exchange.between(hop.senders, hop.receivers, frame))
            continue
        across = [place for place in places if place.route is Route.ACROSS]
        counts = {
            place: round(rate * parties) for place, rate in places.items() if place not in across
        }
        if across:
            rest = line.messages - sum(counts.values())
            counts |= _shared(rest, {place: places[place] for place in across})
        elif sum(counts.values()) != line.messages:
            counts = _shared(line.messages, places)
        for place, count in counts.items():
            if count > 0:
                rounds[place.round - 1].append(Exchange(place.route, count, frame))
    return rounds


def _shared(messages: int, rates: Mapping[Place, float]) -> dict[Place, int]:
    """Divide messages among places in proportion to their rates."""
    whole, counts, passed, shared = sum(rates.values()), {}, 0.0, 0
    for place, rate in rates.items():
        passed += rate
        until = round(messages * passed / whole)
        counts[place] = until - shared
        shared = until
    return counts
