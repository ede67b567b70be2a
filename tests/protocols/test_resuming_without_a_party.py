"""Runs with `--on-loss continue` that stop after a loss go on, and no message has two versions.

The referee is an undisturbed run that has lost the same party at the same moment. If nobody had
acted upon the loss when the run stopped, the party is back, and the referee is a run without a
loss. Released tables, releases and the accountant's totals are the same, and the ledger balances.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import msgspec
import pytest
from going_on import MASKS, PARTIES, job, spent
from stopped_runs import essence

from sottovoce.crypto import IdentifiedRole
from sottovoce.crypto.role_log import RoleLog
from sottovoce.messages import (
    CURATOR,
    SottovoceError,
    ThreadWire,
    UsageError,
)
from sottovoce.messages.frame import FrameKind
from sottovoce.messages.wire import Buffer
from sottovoce.privacy import members
from sottovoce.report.losses import losses_text
from sottovoce.report.making import make_report
from sottovoce.runs.durable import derived_key
from sottovoce.runs.faulty_wire import InjectedFault
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job
from sottovoce.runs.log_header import DurableTask
from sottovoce.runs.lost_parties import can_be_given_up, lost_parties, witnesses_needed
from sottovoce.runs.lost_releases import UNREADABLE, all_that_it_may_spend
from sottovoce.runs.record import RunRecord
from sottovoce.runs.role_places import role_place
from sottovoce.runs.settings import settings
from sottovoce.runs.threads import run_on_threads

pytestmark = pytest.mark.usefixtures("state")

MOMENTS = int(os.environ.get("SOTTOVOCE_MOMENTS", "1"))
"""Moments at which the party, and after it the curator, is lost; more for runs by hand."""


COMPARED = ("outcome", "transcripts", "releases", "privacy")
"""Not the ledger: a message to a party that is about to be lost may be in one and not in another.
"""


class VersionReferee:
    """Notes a digest of each message that leaves, in all attempts of a run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.digests: dict[tuple[int, int, bytes], bytes] = {}
        send, referee = ThreadWire.send, self

        def noting(
            wire: ThreadWire,
            parts: Sequence[Buffer],
            *,
            to: int,
            timeout: float,
            more: bool = False,
        ) -> None:
            if parts[0][3] == FrameKind.MESSAGE:
                frame = b"".join(parts)
                digest = hashlib.sha256(frame).digest()
                first = referee.digests.setdefault((wire.rank, to, frame[16:24]), digest)
                assert first == digest, f"two versions of a message from {wire.rank} to {to}"
            send(wire, parts, to=to, timeout=timeout, more=more)

        monkeypatch.setattr(ThreadWire, "send", noting)


def stopped_and_resumed(job: Job, run: str, *, by: str) -> tuple[RunRecord, bool]:
    """Play a job that a loss ends, and go on; tell whether it had ended."""
    try:
        record = run_on_threads(job, durable=DurableTask(run=run))
    except SottovoceError as error:
        assert by in str(error)
    else:
        return record, False
    return run_on_threads(job, durable=again(run)), True


def again(run: str) -> DurableTask:
    return DurableTask(run=run, is_resumed=True, has_begun=True)


def history(record: RunRecord) -> tuple[Any, ...]:
    """Give what depends on when roles hear of a loss: who is in which batch, and its attempts."""
    losses = [
        (loss.party, loss.batches_with, loss.batches_without, loss.turns) for loss in record.losses
    ]
    return losses, record.attempts


def require_same(record: RunRecord, referees: Sequence[RunRecord]) -> bool:
    """Compare a run with the referee that has its history; tell whether there is one."""
    for referee in referees:
        if history(referee) == history(record):
            found, expected = essence(record), essence(referee)
            for part in COMPARED:
                assert found[part] == expected[part], part
            return True
    return False


def moments(count: int) -> list[int]:
    """Spread numbers of messages over a conversation."""
    return sorted({round(count * (2 * part + 1) / (2 * MOMENTS)) for part in range(MOMENTS)})


@pytest.mark.parametrize(
    ("protocol", "parameters"),
    [
        ("noisy-marginals", MASKS),
        ("dp-subn", {**MASKS, "init": "forest"}),
        ("mst", MASKS),
        ("jtree", {**MASKS, "structure": "svt"}),
        ("aug-flaim", {**MASKS, "rounds": 2}),
        ("privincr", {"epsilon": 1.0}),
    ],
)
def test_a_run_that_lost_a_party_and_then_the_curator_goes_on(
    protocol: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_on_threads(job(protocol, **parameters))
    sent = [sum(act.sent for act in notes.acts) for notes in whole.roles]
    resumed = without = same = 0
    for lost in moments(sent[2]):
        fault = f"party 2 dies after {lost} messages"
        referees = [run_on_threads(job(protocol, [fault], **parameters)), whole]
        for end in sorted({sent[0] // 3, *moments(sent[0])}):
            faults = [fault, f"curator dies after {end} messages"]
            with monkeypatch.context() as patched:
                VersionReferee(patched)
                record, has_stopped = stopped_and_resumed(
                    job(protocol, faults, **parameters), f"{protocol}-{lost}-{end}", by="curator"
                )
            resumed += has_stopped
            without += has_stopped and any(loss.party == 2 for loss in record.losses)
            same += require_same(record, referees)
            claimed = parameters["epsilon"] * (1 + 1e-9)
            assert all(epsilon <= claimed for epsilon in spent(record).values()), (lost, end)
            assert make_report(record).privacy.not_accounted == [], (lost, end)
    assert resumed
    assert same
    assert without or MOMENTS == 1


def test_a_party_is_back_whose_loss_would_leave_too_few() -> None:
    """One of four was lost, then one more, of at least three: the others have sent much since."""
    lost, too_few = "party 1 dies in keys", "party 2 dies in count"
    few = job("noisy-marginals", [lost, too_few], min_parties=3, **MASKS)
    referee = run_on_threads(job("noisy-marginals", [lost], min_parties=3, **MASKS))
    by = "at least 3 parties, found 2: parties 1 and 2"
    record, has_stopped = stopped_and_resumed(few, "few", by=by)
    assert has_stopped
    assert [loss.party for loss in record.losses] == [1]
    assert require_same(record, [referee])


@pytest.mark.parametrize(
    ("protocol", "parameters", "messages"),
    [
        *(("noisy-marginals", MASKS, messages) for messages in range(8)),
        ("dp-subn", {**MASKS, "init": "forest"}, 9),
        ("aug-flaim", {**MASKS, "rounds": 2}, 14),
        ("mst", MASKS, 9),
    ],
)
def test_parties_are_back_whose_losses_leave_too_few_before_a_sum(
    protocol: str, parameters: dict[str, Any], messages: int
) -> None:
    """Two of four are lost at once, while roles meet, or between two sums of at least three."""
    faults = [f"party {party} dies after {messages} messages" for party in (1, 3)]
    few = job(protocol, faults, min_parties=3, **parameters)
    by, run = "at least 3 parties, found 2", f"{protocol}-{messages}"
    record, has_stopped = stopped_and_resumed(few, run, by=by)
    assert has_stopped
    losses = [[], faults[:1], faults[1:]]
    referees = [job(protocol, fault, min_parties=3, **parameters) for fault in losses]
    assert require_same(record, [run_on_threads(referee) for referee in referees])


def test_parties_are_back_whose_users_alone_were_asked_a_question() -> None:
    """Of 8 users some questions have one, who may be with a lost party."""
    options = {
        "protocol": "fourier",
        "parties": 4,
        "rows": 8,
        "columns": ("sex", "race"),
        "seed": 1,
        "on_loss": "continue",
        "min_parties": 2,
        "set": {"ways": 1},
    }
    asked = settings({**options, "fault": ["2 parties die in reports"]}).job
    record, has_stopped = stopped_and_resumed(asked, "asked", by="expected reports on every")
    assert has_stopped
    assert record.losses == []
    assert require_same(record, [run_on_threads(settings(options).job)])


@pytest.mark.parametrize("min_parties", [3, 2])
def test_the_log_of_a_party_that_stays_lost_is_not_needed(min_parties: int) -> None:
    """As long as among any members of a sum the log of one is there that does not collude."""
    faults = ["party 2 dies in keys", "curator dies in count"]
    both = job("noisy-marginals", faults, min_parties=min_parties, **MASKS)
    with pytest.raises(SottovoceError, match="curator"):
        run_on_threads(both, durable=DurableTask(run="both"))
    shutil.rmtree(role_place("both", 2))
    if min_parties == 2:
        with pytest.raises(
            UsageError, match=r"logs of at least 4 .* found 3, and none of party 2:"
        ):
            run_on_threads(both, durable=again("both"))
        return
    for _ in range(2):  # The curator's conclusion says the same.
        record = run_on_threads(both, durable=again("both"))
        assert [loss.party for loss in record.losses] == [2]


def test_what_a_lost_party_has_released_is_charged_though_it_never_arrived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its answer has left, the curator has no word of it, and another party has gone on."""
    heads = job("head-count", epsilon=1.0)
    arrive = ThreadWire.arrive

    def losing(wire: ThreadWire, *, timeout: float) -> tuple[int, memoryview] | None:
        arrival = arrive(wire, timeout=timeout)
        if wire.rank == CURATOR and arrival is not None and arrival[0] == 2:
            raise InjectedFault("the curator is lost, with an answer in its hands")
        return arrival

    with monkeypatch.context() as patched:
        patched.setattr(ThreadWire, "arrive", losing)
        with pytest.raises(SottovoceError, match="in its hands"):
            run_on_threads(heads, durable=DurableTask(run="charged"))
    other = role_place("charged", 1)
    log = RoleLog(other / "log", key=derived_key((other / "key").read_bytes(), b"log"))
    log.note_loss(2, before=0, order=0)
    log.close()
    record = run_on_threads(heads, durable=again("charged"))
    assert [(loss.party, loss.batches_with) for loss in record.losses] == [(2, 0)]
    assert spent(record) == {f"{party}": 1.0 for party in range(1, PARTIES + 1)}
    # Whoever goes on once more finds the same.
    assert make_report(record).privacy.not_accounted == []


@pytest.mark.parametrize(
    ("noted", "lost"),
    [
        ([[], []], set()),
        ([[2], [2, 2], [3]], {2, 3}),
        ([[CURATOR, 2, 9, -1]], {2}),  # Nobody goes on without the curator.
    ],
)
def test_parties_stay_lost_that_some_role_has_gone_on_without(
    noted: list[list[int]], lost: set[int]
) -> None:
    everybody = range(PARTIES + 1)
    masks = job("noisy-marginals", **MASKS)
    assert lost_parties(masks, noted, witnesses=everybody, run="r") == lost
    ended_by_a_loss = msgspec.structs.replace(
        job("noisy-marginals", min_parties=None, **MASKS), on_loss="stop"
    )
    assert lost_parties(ended_by_a_loss, noted, witnesses=[], run="r") == set()


@pytest.mark.parametrize(("parties", "colluding"), [(3, 1), (4, 1), (5, 1), (5, 2)])
def test_what_a_line_offers_to_give_up_is_not_refused_afterwards(
    parties: int, colluding: int
) -> None:
    """The referee gives up the same parties, as `--without` does."""
    offered = set()
    for least in range(colluding + 1, parties + 1):
        masks = job("noisy-marginals", min_parties=least, **MASKS, colluding=colluding)
        masks = msgspec.structs.replace(masks, parties=parties)
        for count in range(1, parties):
            missing = range(1, count + 1)
            there = [CURATOR, *range(count + 1, parties + 1)]
            try:
                lost_parties(masks, [missing], witnesses=there, run="r")
            except UsageError:
                is_accepted = False
            else:
                is_accepted = True
            assert can_be_given_up(masks, missing) == is_accepted
            assert not can_be_given_up(masks, [CURATOR, *missing])
            offered.add(is_accepted)
    assert offered == ({False} if parties == 3 else {True, False})


def test_too_few_are_never_left() -> None:
    with pytest.raises(UsageError, match=r"at least 2 parties in run r, found .* all but 1"):
        masks = job("noisy-marginals", **MASKS)
        lost_parties(masks, [[1], [2, 3]], witnesses=range(PARTIES + 1), run="r")


@pytest.mark.parametrize(
    ("colluding", "min_parties"),
    [(colluding, fewest) for colluding in range(4) for fewest in range(max(2, colluding + 1), 6)],
)
def test_among_the_logs_is_one_of_an_honest_member_of_every_sum(
    colluding: int, min_parties: int
) -> None:
    """All sets of logs, members and liars are tried: one log fewer would not be enough."""
    parties = range(1, 6)
    five = job("noisy-marginals", parties=5, min_parties=min_parties, colluding=colluding, **MASKS)
    needed = witnesses_needed(five)

    def always_has_one(logs: int) -> bool:
        return all(
            set(there) & (set(members) - set(liars))
            for size in range(min_parties, 6)
            for members in combinations(parties, size)
            for liars in combinations(parties, colluding)
            if set(members) - set(liars)
            for there in combinations(parties, logs)
        )

    assert always_has_one(needed)
    assert not always_has_one(needed - 1)


def test_protocols_without_secure_sums_need_no_witnesses() -> None:
    heads = job("head-count", epsilon=1.0)
    assert lost_parties(heads, [[2]], witnesses=[1, 3], run="r") == {2}


@pytest.mark.parametrize(
    ("protocol", "parameters"),
    [
        ("noisy-marginals", {**MASKS, "min_parties": 3}),
        ("privincr", {"epsilon": 1.0}),
        *([("mst", {**MASKS, "min_parties": 3})] if MOMENTS > 1 else []),
    ],
)
def test_a_party_can_be_given_up_at_any_moment(
    protocol: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The curator is lost, and the party's host for good, with its table and its log."""
    whole = run_on_threads(job(protocol, **parameters))
    sent = [sum(act.sent for act in notes.acts) for notes in whole.roles]
    referees = [
        essence(
            run_on_threads(job(protocol, [f"party 2 dies after {lost} messages"], **parameters))
        )
        for lost in range(sent[2] + 1)
    ]
    for end in range(sent[0]) if MOMENTS > 1 else moments(sent[0]):
        run = f"given-up-{protocol}-{end}"
        with monkeypatch.context() as patched:
            VersionReferee(patched)
            asked = job(protocol, [f"curator dies after {end} messages"], **parameters)
            with pytest.raises(SottovoceError, match="curator"):
                run_on_threads(asked, durable=DurableTask(run=run))
            shutil.rmtree(role_place(run, 2))
            with pytest.raises(UsageError, match="found none of party 2 on"):
                run_on_threads(asked, durable=again(run))
            given_up = msgspec.structs.replace(again(run), without=(2,))
            record = run_on_threads(asked, durable=given_up)
        assert [loss.party for loss in record.losses] == [2]
        found = essence(record)
        assert any(all(found[part] == each[part] for part in COMPARED) for each in referees), end
        claimed = parameters["epsilon"] * (1 + 1e-9)
        assert all(epsilon <= claimed for epsilon in spent(record).values()), end
        assert make_report(record).privacy.not_accounted == [], end


def test_a_party_whose_log_was_damaged_is_given_up_and_no_other_by_mistake() -> None:
    """A run that is refused gives up nobody, and its logs say what they have said."""
    asked = job("noisy-marginals", ["curator dies in count"], min_parties=3, **MASKS)
    with pytest.raises(SottovoceError, match="curator"):
        run_on_threads(asked, durable=DurableTask(run="damaged"))
    log = role_place("damaged", 2) / "log"
    whole = log.read_bytes()
    log.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    others = [role_place("damaged", party) / "log" for party in (1, 3)]
    before = [other.read_bytes() for other in others]
    with pytest.raises(UsageError, match=r"log .* as this role wrote it"):
        run_on_threads(asked, durable=msgspec.structs.replace(again("damaged"), without=(3,)))
    log.rename(log.with_name("elsewhere"))
    with pytest.raises(UsageError, match="say --without 2, if that is gone for good"):
        run_on_threads(asked, durable=msgspec.structs.replace(again("damaged"), without=(3,)))
    log.with_name("elsewhere").rename(log)
    assert [other.read_bytes() for other in others] == before
    record = run_on_threads(asked, durable=msgspec.structs.replace(again("damaged"), without=(2,)))
    assert [loss.party for loss in record.losses] == [2]
    assert losses_text(record).endswith("what it released last may be missing in its account")
    assert log.read_bytes()[:-1] == whole[:-1]


def broken_payloads(release: dict[str, Any]) -> list[bytes]:
    """Make accounts that are none, or mean nothing, of one that is right."""
    (seen, view), loss = (release["seen"], "curator"), release["seen"]["curator"]
    wrong = [
        {**release, "epsilon": -1.0},
        {**release, "scale": float("nan")},
        {**release, "seen": {}},
        {**release, "seen": {**seen, view: {**loss, "rho": float("nan")}}},
        {**release, "seen": {**seen, view: {**loss, "delta": 2.0}}},
        {**release, "seen": {**seen, "nobody": loss}},
        {**release, "users": 7},
    ]
    texts = [b"", b"o", b"x", b"o\xc1", b"o" + msgspec.msgpack.encode(7)]
    return [*texts, *(b"o" + msgspec.msgpack.encode([each]) for each in wrong)]


def test_an_account_that_cannot_be_read_costs_all_that_its_party_may_spend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It ends no run, and no figure of anybody is less than what an honest party has spent."""
    death = "party 2 dies in round 2"
    referee = run_on_threads(job("privincr", [death], epsilon=1.0))
    asked = job("privincr", [death, "curator dies in round 3"], epsilon=1.0)
    (right,) = (msgspec.to_builtins(each) for each in referee.roles[2].releases)
    send = IdentifiedRole.send_control
    for number, payload in enumerate(broken_payloads(right)):

        def lying(
            role: Any, kind: FrameKind, data: Any, *, to: int, broken: bytes = payload
        ) -> None:
            is_account = kind is FrameKind.RELEASES and role.rank == 2
            send(role, kind, broken if is_account else data, to=to)

        with monkeypatch.context() as patched:
            patched.setattr(IdentifiedRole, "send_control", lying)
            run = f"unreadable-{number}"
            with pytest.raises(SottovoceError, match="curator"):
                run_on_threads(asked, durable=DurableTask(run=run))
            record = run_on_threads(
                asked, durable=msgspec.structs.replace(again(run), without=(2,))
            )
        assert [each.mechanism for each in record.roles[2].releases] == [UNREADABLE], payload
        assert spent(record) == {f"{party}": 1.0 for party in range(1, PARTIES + 1)}, payload
        assert record.outcome.summary == referee.outcome.summary
        (text,) = [text for text in make_report(record).warnings if "was lost" in text]
        assert "party 2 sent its account in a form that cannot be read, so the claimed" in text
    assert 0 < spent(referee)["2"] <= 1.0


@pytest.mark.parametrize("protocol", ["noisy-marginals", "mst"])
def test_without_an_account_no_view_has_less_than_a_party_can_spend(protocol: str) -> None:
    """All that an honest party has spent in an undisturbed run is the referee, view by view."""
    whole = job(protocol, **MASKS)
    record = run_on_threads(whole)
    made = instantiate(whole)
    views = make_report(record).privacy.by_party
    for party in range(1, PARTIES + 1):
        bound = all_that_it_may_spend(made, party, parties=PARTIES, phase="p")
        assert {*bound.seen} == {*views[f"{party}"]}
        for view, epsilon in views[f"{party}"].items():
            assert epsilon <= bound.seen[view].epsilon * (1 + 1e-9), view
            covered = members(view).parties <= (made.colluding or 0)
            assert (bound.seen[view].epsilon == made.epsilon) == covered
