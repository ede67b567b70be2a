"""Replaying one party's part on other records: what then differs was not covered by a release.

A party's part is deterministic given the messages that it received, the answers of its releases and
its random streams. All of these are on a tape. The part is played again with other records, alone
and without other roles. Every message that then differs depends on records in a way that no release
covers. This holds for exact numbers, for noise that the accountant did not draw, for the number and
the size of messages, and for the order of releases.

What it prints and logs, the warnings that it shows, the files that it writes, the variables that
it sets in the environment and what else it does to its machine are compared, too. What all replays
of a part found together is counted in `runs.unaccounted`. A replay changes neither a file nor a
variable that anybody else can see (`runs.private_place`).

The replay cannot see three things:

- A mechanism of one's own may have too little noise. `launch.rehearsal` looks for it.
- A part may keep something from one play to the next in an object that was there before. What it
  leaves in the environment, or under new names in modules, is found (`runs.left_behind`), and so is
  what it leaves in files (`runs.files_written`).
- A statistic may be the same on all tables that are tried.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ..crypto import RandomStream
from ..messages import Wire
from ..messages.tape import (
    OTHER_NUMBER,
    OTHER_RELEASES,
    Difference,
    ReplayedWire,
    TapedWire,
    TapeEnd,
    WireTape,
)
from ..parties import Party, Records
from ..privacy import Release
from ..privacy.taping import ExtraRelease, ReleasePair, ReplayedAccountant, TapedAccountant
from ..protocols import AnyProtocol
from .altered_messages import Alteration
from .identities import Credentials
from .instance import instantiate
from .introduced import play_part
from .job import Job
from .left_behind import Surroundings
from .patched import packages_of
from .printing import Printing, note_printing
from .private_place import private_place
from .protected_label import protected_label
from .roles import MADE_FOR_THE_RUN, make_accountant, make_party_as, seed_of
from .taped_party import TapedParty
from .time_limit import call_within

__all__ = [
    "PartTape",
    "Replay",
    "replay_part",
    "tape_part",
]

WORDS: Final = {
    "to": "receiver",
    "seen": "loss in a view",
    "laplace_epsilon": "epsilon of Laplace noise",
    "whole_record": "epsilon of a whole record",
    "part": "part of the records",
    "gaussian": "Gaussian loss",
}
"""What fields of a release are called in a sentence."""
MAX_FIELDS: Final = 2
"""Fields of a release that a sentence names."""
UNREACHED: Final = "on all other records that were tried, its part ends before this message"
UNREACHED_IN_TIME: Final = (
    "on all other records that were tried, its part ends before this message, or took too long"
)
KEPT: Final = (
    "it read its records in the run and not when it was played again, so it keeps something from "
    "one play to the next, and its messages could not be checked"
)


@dataclass(frozen=True, kw_only=True)
class PartTape:
    """One party's part: everything that a replay needs, and what it is compared with."""

    party: TapedParty
    wire: WireTape
    accountant: TapedAccountant
    seed: int
    """Seed of the party's random streams: the job's, or one drawn for this tape."""
    job: Job
    credentials: Credentials
    records: Records
    """The party's own records."""
    label: str | None
    """The attribute in which alone other records may differ from these; `None` if in all."""
    surroundings: Surroundings
    """What there was outside of the author's modules when the part began."""
    alteration: Alteration | None = None
    """What replays alter in the messages that the part receives."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What a replay did otherwise."""

    differences: list[Difference]
    pairs: list[ReleasePair]
    """Every release on both tables."""
    doubts: list[str]
    """What depends on records beside messages, each as a clause."""
    answers: Mapping[int, object] = field(default_factory=dict, kw_only=True)
    """Answers that releases had instead of those on the tape, by the number of the release."""
    reached: Mapping[int, int]
    """Numbers of the messages that the replay sent, by receiver."""
    sent: WireTape = field(default_factory=WireTape)
    """What the replay sent."""
    variables: Mapping[str, str | None] = field(default_factory=dict)
    """Variables of the environment that it has set or removed."""
    written: Mapping[Path, bytes] = field(default_factory=dict)
    """Digests of what it has written to files."""
    printed: bytes = b""
    """A digest of what it would have printed."""
    acts: Mapping[str, int] = field(default_factory=dict)
    """What else it has done to its machine, and how often."""
    warnings: AbstractSet[tuple[str, str]] = frozenset()
    """Line of code and text of each warning that it has shown."""
    error: BaseException | None = None
    """The error in which the replay ended, while the part itself ended well."""
    was_cut_off: bool = False
    """Whether it ended where the tape ends, with more to do."""
    same_records: bool = False
    """Whether it was played on the party's own records."""
    other_answers: bool = False
    """Whether releases had other answers than on the tape."""
    has_lacking: bool = False
    """Whether it was played on values that the party's own records lack."""
    is_unlikely: bool = False
    """Whether most parts do not expect these values, so that an error tells nothing new."""


def tape_part(
    wire: Wire,
    protocol: AnyProtocol,
    job: Job,
    *,
    records: Records,
    cores: int,
    credentials: Credentials = MADE_FOR_THE_RUN,
    surroundings: Surroundings | None = None,
    rehearses: bool = False,
) -> PartTape:
    """Make a party whose part is taped; the caller plays it.

    Args:
        wire: the party's end of the wire.
        protocol: the protocol, for the job.
        job: the job.
        records: the party's records.
        cores: cores that the party may use.
        credentials: what the party's identity and seed follow from.
        surroundings: what there is before the part, where it was noted already.
        rehearses: whether the records are made up.
    """
    tape = WireTape()
    accountant = make_accountant(TapedAccountant, protocol, party=wire.rank, parties=job.parties)
    # Without a seed, streams read the operating system's generator and could not be replayed. A
    # secret of 256 bits takes its place. It never leaves this process.
    seed = seed_of(job, credentials)
    seed = secrets.randbits(256) if seed is None else seed
    party = make_party_as(
        TapedParty,
        TapedWire(wire, tape),
        protocol,
        job,
        records=records,
        accountant=accountant,
        seed=seed,
        cores=cores,
        credentials=credentials,
    )
    party.printing = Printing(shown=not rehearses, packages=packages_of(type(protocol)))
    return PartTape(
        party=party,
        wire=tape,
        accountant=accountant,
        seed=seed,
        job=job,
        credentials=credentials,
        records=records,
        label=(
            protected_label(protocol, records.attributes)
            if protocol.neighbours == "label-alone"
            else None
        ),
        surroundings=surroundings or Surroundings(),
    )


def replay_part(
    tape: PartTape,
    *,
    records: Records,
    protocol: AnyProtocol | None = None,
    seconds: float | None = None,
    answers: Mapping[int, object] = MappingProxyType({}),
    fresh: int | None = None,
    cause: str = "its records",
) -> Replay:
    """Play a taped part again with these records.

    Args:
        tape: the part.
        records: the records of the replay. Where neighbours differ in a label alone, only their
            labels are taken: all other attributes may be sent as they are.
        protocol: an instance to play it; by default a new one.
        seconds: the time after which the replay is ended; by default it is not.
        answers: answers of releases instead of those on the tape, by the number of the release.
        fresh: the number of the stream from which answers are drawn anew, if they are.
        cause: what the replay changes, for the sentences about what it did otherwise.
    """
    job = tape.job
    protocol = instantiate(job) if protocol is None else protocol
    wire = ReplayedWire(tape.wire, rank=tape.party.rank, size=tape.party.size)
    accountant = ReplayedAccountant(
        tape.accountant,
        parties=job.parties,
        budget=protocol.epsilon,
        answers=answers,
        fresh=None if fresh is None else RandomStream(fresh.to_bytes(32, "big")),
    )
    if tape.label is not None:
        records = tape.records.with_attribute_of(records, tape.label)
    party = make_party_as(
        TapedParty,
        wire,
        protocol,
        job,
        records=records,
        accountant=accountant,
        seed=tape.seed,
        cores=tape.party.workers,
        credentials=tape.credentials,
    )
    party.tape_of_encapsulated = iter(tape.party.encapsulated)
    party.alteration = tape.alteration
    party.release_lines = tape.party.release_lines
    party.min_parties = job.fewest_parties
    doubts: list[str] = []
    party.printing = Printing(shown=False, packages=packages_of(type(protocol)))
    with private_place(
        variables=tape.surroundings.environment,
        absent=tape.party.printing.files.new,
        folder=tape.surroundings.folder,
    ) as place:
        with place.used(), note_printing(party.printing):
            error = call_within(lambda: play_part(party, protocol, job), seconds=seconds)
        variables = tape.surroundings.changed_in(place.variables.values())
    # The part may have caught these two and gone on.
    if wire.ended:
        doubts.append(f"how many messages it waits for depends on {cause}")
    if accountant.exceeded:
        doubts.append(f"the number of its releases depends on {cause}")
    cut_off = isinstance(error, TapeEnd | ExtraRelease)
    unreached = OTHER_RELEASES if isinstance(error, ExtraRelease) else OTHER_NUMBER
    if cut_off:
        error = None
    differences = tape.wire.differences(wire.tape, to_the_end=error is None, unreached=unreached)
    if error is None and not cut_off:
        doubts += _doubts(tape, party, accountant, same_messages=not differences, cause=cause)
    return Replay(
        differences=differences,
        pairs=accountant.pairs,
        answers=accountant.answers,
        doubts=doubts,
        error=error,
        was_cut_off=cut_off,
        reached={to: len(frames) for to, frames in wire.tape.sent.items()},
        sent=wire.tape,
        variables=variables,
        written=party.printing.files.written,
        printed=party.printing.digest,
        acts=party.printing.effects.acts,
        warnings=frozenset(party.printing.warnings),
    )


def _doubts(
    tape: PartTape,
    party: TapedParty,
    accountant: ReplayedAccountant,
    *,
    same_messages: bool,
    cause: str,
) -> Iterator[str]:
    """List what depends on records beside the messages."""
    if tape.party.reads and not party.reads:
        yield KEPT
    first, second = tape.accountant.releases, accountant.releases
    if len(second) < len(first):
        yield f"the number of its releases depends on {cause}"
    for number, (release, other) in enumerate(zip(first, second, strict=False)):
        fields = _different_fields(release, other)
        if fields:
            verb = "depend" if fields[1:] else "depends"
            yield (
                f"{' and '.join(fields[:MAX_FIELDS])} of its release {number} "
                f"({release.mechanism} in phase {release.phase}) {verb} on {cause}"
            )
    if tape.party.splits != party.splits:
        yield f"how it splits its records into parts depends on {cause}"
    if list(tape.party.phase_seconds) != list(party.phase_seconds):
        yield f"the names of its phases depend on {cause}"
    if same_messages and _order(tape.party) != _order(party):
        yield f"the order of its messages depends on {cause}"
    if same_messages and tape.party.shown != party.shown:
        yield f"the progress that it shows depends on {cause}"


def _different_fields(first: Release, second: Release) -> list[str]:
    return [
        f"the {WORDS.get(name, name)}"
        for name in Release.__struct_fields__
        if getattr(first, name) != getattr(second, name)
    ]


def _order(party: Party) -> list[tuple[bool, int, int]]:
    """List for each message of a party whether it was sent, the other role, and the step."""
    return [(act.sent, act.peer, act.step) for act in party.acts]
