"""Faults for experiments: roles and networks that fail as the person declared.

A fault is a sentence: who, what, and where.

    party 2 dies in parameters          2 parties lie
    party 2 pauses 5 s in parameters    a tenth of parties lie
    the curator dies after 4 messages   party 1 falls silent in learn/sum
    party 2 dies after its part
    party 3 lies in count 4             the network drops 1 % of messages
                                        the network delays messages by 50 ms in learn

Parties that are not named are drawn with the job's public seed, so every role knows the same ones.
A party that lies replaces its records by as many whose values are drawn uniformly, for all counts
or for one. It follows the protocol otherwise. The other faults are in the wire (`runs.faulty_wire`,
`runs.faulty_network`), so that no protocol knows of them, and they happen on every transport.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from ..messages import CURATOR, UsageError, role_name
from ..parties import Records
from ..parties.lying import LyingCounts, LyingRecords

__all__ = ["Fault", "faults_of", "lying_records", "public_generator", "read_faults", "untold_lies"]

Action = Literal["dies", "falls silent", "pauses", "lies", "drops", "delays"]
ACTIONS: Final[dict[str, Action]] = {
    "dies": "dies",
    "die": "dies",
    "falls silent": "falls silent",
    "fall silent": "falls silent",
    "pauses": "pauses",
    "pause": "pauses",
    "lies": "lies",
    "lie": "lies",
}
SHARES: Final = {"half": 2, "a third": 3, "a quarter": 4, "a fifth": 5, "a tenth": 10}
SENTENCE: Final = re.compile(
    r"(?P<who>the curator|curator|party (?P<party>\d+)|(?P<count>\d+) (?:party|parties)"
    r"|(?P<percent>\d+(?:\.\d+)?) ?% of parties|(?P<share>[a-z ]+?) of parties)"
    r" (?P<action>" + "|".join(sorted(ACTIONS, key=len, reverse=True)) + r")"
    r"(?: (?P<seconds>\d+(?:\.\d+)?) ?s)?"
    r"(?: in count (?P<number>[1-9]\d*))?"
    r"(?: in (?:phase (?!\d))?(?P<phase>\S+(?: \d+)?(?:/\S+(?: \d+)?)*))?"
    r"(?: after (?P<messages>\d+) messages?)?"
    r"(?P<after> after its part)?"
)
NETWORK: Final = re.compile(
    r"(?:the )?network (?:drops (?P<percent>\d+(?:\.\d+)?) ?% of messages"
    r"|delays messages by (?P<length>\d+(?:\.\d+)?) ?(?P<unit>ms|s))"
    r"(?: in (?:phase (?!\d))?(?P<phase>\S+))?"
)
EXPECTED: Final = (
    "'party 2 dies in PHASE', '2 parties lie', 'a tenth of parties fall silent after 3 messages', "
    "'party 2 pauses 5 s in PHASE', 'party 2 lies in count 3', 'curator dies', "
    "'the network drops 1 % of messages' or 'the network delays messages by 50 ms'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What one role does, and from where on."""

    rank: int
    action: Action
    phase: str | None = None
    """The phase in which it happens; `None` where the phase does not matter."""
    messages: int = 0
    """Number of messages that the role has sent before."""
    seconds: float = 0.0
    """Length of a pause, or of a delay."""
    count: int | None = None
    """Number of the count that is a lie, from 1; `None` where all are."""
    is_after_part: bool = False
    """Whether it happens when the role has ended its part."""
    share: float = 0.0
    """Chance that a message is dropped."""

    def is_within(self, phase: str) -> bool:
        """Tell whether a phase is the fault's, or one within it."""
        wanted = self.phase
        is_wanted = wanted is None or phase == wanted or phase.startswith(f"{wanted}/")
        return bool(phase) and is_wanted

    def __str__(self) -> str:
        where = "" if self.phase is None else f" in {self.phase}"
        if self.action == "drops":
            return f"the network drops {100 * self.share:g} % of messages{where}"
        if self.action == "delays":
            return f"the network delays messages by {self.seconds:g} s{where}"
        where += "" if self.count is None else f" in count {self.count}"
        where += " after its part" if self.is_after_part else ""
        if self.messages:
            where += f" after {self.messages} message{'s' * (self.messages > 1)}"
        length = f" {self.seconds:g} s" if self.action == "pauses" else ""
        return f"{role_name(self.rank)} {self.action}{length}{where}"


def read_faults(sentences: Sequence[str], *, parties: int, seed: int) -> list[Fault]:
    """Read the faults of a job.

    Args:
        sentences: the declared faults.
        parties: number of parties.
        seed: the public seed, which decides who is meant where nobody is named.

    Raises:
        UsageError: a sentence that says nothing known, or names a party that is not there.
    """
    return [
        fault
        for sentence in sentences
        for fault in _read(" ".join(sentence.split()), parties=parties, seed=seed)
    ]


def faults_of(faults: Sequence[Fault], *, rank: int) -> list[Fault]:
    """Select the faults of one role."""
    return [fault for fault in faults if fault.rank == rank]


def _read_network(match: re.Match[str], *, sentence: str, parties: int) -> list[Fault]:
    """Read a fault of the network, which every role has at its end."""
    percent, length = float(match["percent"] or 0.0), float(match["length"] or 0.0)
    if percent > 100:
        raise UsageError(f"expected at most 100 % of messages, found {sentence!r}")
    return [
        Fault(
            rank=rank,
            action="delays" if match["length"] else "drops",
            phase=match["phase"],
            seconds=length / 1000 if match["unit"] == "ms" else length,
            share=percent / 100,
        )
        for rank in range(parties + 1)
    ]


def _read(sentence: str, *, parties: int, seed: int) -> list[Fault]:
    network = NETWORK.fullmatch(sentence)
    if network is not None:
        return _read_network(network, sentence=sentence, parties=parties)
    match = SENTENCE.fullmatch(sentence)
    if match is None:
        raise UsageError(f"expected a fault such as {EXPECTED}, found {sentence!r}")
    action = ACTIONS[match["action"]]
    if (match["seconds"] is not None) != (action == "pauses"):
        needs = "seconds for a pause, as in 'party 2 pauses 5 s'"
        raise UsageError(f"expected {needs}, and for nothing else, found {sentence!r}")
    ranks = _ranks(match, sentence=sentence, parties=parties, seed=seed)
    if action == "lies" and (CURATOR in ranks or match["phase"] or match["messages"]):
        raise UsageError(
            "expected parties that lie from the start on, since they replace their records, "
            f"found {sentence!r}"
        )
    if match["number"] and action != "lies":
        raise UsageError(f"expected 'in count' for lies alone, found {sentence!r}")
    if match["after"] and (match["phase"] or match["messages"] or action == "lies"):
        raise UsageError(
            f"expected 'after its part' without a phase, and not for lies, found {sentence!r}"
        )
    return [
        Fault(
            rank=rank,
            action=action,
            is_after_part=match["after"] is not None,
            count=None if match["number"] is None else int(match["number"]),
            phase=match["phase"],
            messages=int(match["messages"] or 0),
            seconds=float(match["seconds"] or 0.0),
        )
        for rank in ranks
    ]


def _ranks(match: re.Match[str], *, sentence: str, parties: int, seed: int) -> list[int]:
    if match["party"] is not None:
        if not 1 <= int(match["party"]) <= parties:
            raise UsageError(f"expected a party from 1 to {parties}, found {sentence!r}")
        return [int(match["party"])]
    if match["who"].endswith("curator"):
        return [CURATOR]
    if match["count"] is not None:
        count = int(match["count"])
    elif match["percent"] is not None:
        count = round(Fraction(match["percent"]) * parties / 100)
    else:
        if match["share"] not in SHARES:
            raise UsageError(
                f"expected {', '.join(SHARES)} or a number of per cent of parties, "
                f"found {sentence!r}"
            )
        count = round(Fraction(parties, SHARES[match["share"]]))
    if count > parties:
        raise UsageError(f"expected at most {parties} parties, found {sentence!r}")
    generator = public_generator(f"{seed} {sentence}")
    return sorted((generator.permutation(parties)[:count] + 1).tolist())


def public_generator(text: str) -> np.random.Generator:
    """Make a public generator that is the same at every role."""
    return np.random.default_rng([*hashlib.sha256(text.encode()).digest()])


def lying_records(records: Records, faults: Sequence[Fault], *, seed: int) -> Records:
    """Replace the records of a party that lies by as many with uniform values; others stay.

    A lie in one count is in the records that are returned, too.
    """
    lies = [fault for fault in faults if fault.action == "lies"]
    if not lies or not len(records):
        return records
    generator = public_generator(f"{seed} lies {faults[0].rank}")
    others = records.changed(lambda codes, values: generator.integers(values, size=len(codes)))
    counts = [fault.count for fault in lies if fault.count is not None]
    is_partial = len(counts) == len(lies)
    return LyingRecords(records, others, LyingCounts(counts)) if is_partial else others


def untold_lies(records: Records, faults: Sequence[Fault]) -> list[Fault]:
    """List the lies in one count that did not happen, as the party counted fewer tables."""
    untold = records.lies.untold if isinstance(records, LyingRecords) else []
    return [fault for fault in faults if fault.count in untold]
