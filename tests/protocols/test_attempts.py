"""Secure sums that go on without lost parties: exact, read once, and accounted for.

The referees are the tables of the parties themselves, and linear algebra on what a curator and a
coalition hold after several attempts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.crypto.sealed import Channel
from sottovoce.curator import Curator
from sottovoce.messages import CURATOR, MisuseError, PeerLostError, SottovoceError, UsageError
from sottovoce.parties import Records, TableNote
from sottovoce.privacy import laplace
from sottovoce.protocols import introductions
from sottovoce.protocols.secure_sum import SecureSums, hidden_words, lasting_party
from sottovoce.protocols.secure_sum.attempts import pieces_needed
from sottovoce.protocols.secure_sum.graph import Circle, degree
from sottovoce.protocols.secure_sum.lasting_curator import Arrived, LastingCurator
from sottovoce.report.making import make_report
from sottovoce.runs.job import Job
from sottovoce.runs.record import RunRecord
from sottovoce.runs.settings import settings
from sottovoce.runs.setup import load_all_records
from sottovoce.runs.threads import run_on_threads

SILENT: dict[str, Any] = {"epsilon": 1000.0, "noise": "laplace", "marginals": "age*sex"}
"""A table whose noise is 0 but with a chance of e**-500, so that sums are exact."""


def job(
    fault: Sequence[str] = (),
    *,
    parties: int = 5,
    seed: int | None = 1,
    protocol: str = "noisy-marginals",
    min_parties: int = 2,
    **parameters: Any,
) -> Job:
    return settings(
        {
            "protocol": protocol,
            "parties": parties,
            "rows": 60 * parties,
            "seed": seed,
            "fault": [*fault],
            "on_loss": "continue",
            "min_parties": min_parties,
            "set": {"aggregator": "masks", **parameters},
        }
    ).job


def tables(job: Job, record: RunRecord) -> dict[int, Records]:
    notes = {party: TableNote() for party in range(1, job.parties + 1)}
    return load_all_records(job, schema=record.schema, notes=notes)


def require_exact(job: Job, record: RunRecord) -> list[int]:
    """Compare the published table with that of the parties that the record says are in it."""
    without = {loss.party for loss in record.losses if not loss.batches_with}
    members = [party for party in range(1, job.parties + 1) if party not in without]
    records = tables(job, record)
    expected = sum(np.asarray(records[party].marginal(["age", "sex"]), int) for party in members)
    published = record.outcome.marginals
    assert published is not None
    assert np.array_equal(published.frame()["count"], np.ravel(expected))
    assert record.rows == sum(len(records[party]) for party in members)
    return members


def sent_in_count(record: RunRecord, kind: str) -> int:
    """Count the messages that party 2 has sent until it has sent this one."""
    acts = [act for act in record.roles[2].acts if act.sent]
    return next(index for index, act in enumerate(acts, start=1) if act.kind == kind)


STAGES = {
    "Introduction": (False, {1, 2}),
    "Rows": (False, {1, 2}),
    "SealedPieces": (False, {2}),
    "Agreement": (False, {2}),
    "Masked": (True, {1}),
}
"""The last message before the loss: whether the records are in the sum, and how often is asked.

Before the first table it depends on who is quicker whether the curator knows of the loss.
"""


@pytest.mark.parametrize("last", STAGES)
def test_a_party_may_be_lost_after_every_message(last: str) -> None:
    undisturbed = run_on_threads(job(**SILENT))
    number = sent_in_count(undisturbed, last)
    lossy = job([f"party 2 dies after {number} messages"], **SILENT)
    record = run_on_threads(lossy)
    members = require_exact(lossy, record)
    is_in, asked = STAGES[last]
    assert (2 in members) == is_in
    assert record.attempts[0] in asked
    (loss,) = record.losses
    assert (loss.party, loss.batches_with, loss.batches_without) == (2, int(is_in), int(not is_in))


def test_with_paillier_a_loss_changes_the_sum_alike() -> None:
    lossy = job(
        ["party 2 dies in count after 8 messages"],
        aggregator="paillier",
        **SILENT,
    )
    record = run_on_threads(lossy)
    assert require_exact(lossy, record) == [1, 3, 4, 5]


def test_without_a_seed_introductions_with_ml_kem_go_on_too() -> None:
    for messages in (1, 4, 7):
        lossy = job([f"party 3 dies after {messages} messages"], seed=None, **SILENT)
        record = run_on_threads(lossy)
        assert 3 not in require_exact(lossy, record)


def test_a_third_of_many_parties_lost_at_random_moments() -> None:
    """Sums are those of the parties that are left, and each of these has spent its epsilon once."""
    rng = random.Random(5)
    parties = 40
    undisturbed = run_on_threads(job(parties=parties, min_parties=20, **SILENT))
    messages = max(sum(act.sent for act in notes.acts) for notes in undisturbed.roles[1:])
    for _ in range(3):
        dying = rng.sample(range(1, parties + 1), parties // 3)
        # Half of them are lost in the last messages, where tables and keys are sent.
        faults = [
            f"party {party} dies after "
            f"{rng.randrange(messages - 5 if place % 2 else 0, messages)} messages"
            for place, party in enumerate(dying)
        ]
        lossy = job(faults, parties=parties, min_parties=20, **SILENT)
        record = run_on_threads(lossy)
        members = require_exact(lossy, record)
        privacy = make_report(record).privacy
        for party in range(1, parties + 1):
            epsilon = 1000.0 if party in members else 0.0
            assert privacy.by_party[str(party)]["curator_and_1"] == epsilon


def test_several_sums_say_whose_records_each_has() -> None:
    lossy = job(
        ["party 2 dies in round 2", "party 4 dies in round 1"],
        protocol="adaptive-pairs",
        parties=4,
        rounds=2,
        synthetic_rows=50,
    )
    record = run_on_threads(lossy)
    losses = {loss.party: (loss.batches_with, loss.batches_without) for loss in record.losses}
    assert losses == {4: (0, 2), 2: (1, 1)}
    assert record.attempts == [2, 2]
    report = make_report(record)
    spent = {party: losses["curator"] for party, losses in report.privacy.by_party.items()}
    assert spent["1"] == spent["3"] == pytest.approx(1.0, abs=1e-6)
    assert spent["4"] == 0
    assert 0 < spent["2"] < 1
    (text,) = [warning for warning in report.warnings if "lost" in warning]
    assert "party 4 in phase round 1, without records in the result" in text
    assert "party 2 in phase round 2, with records in the first 1 of 2 sums alone" in text


def test_too_few_parties_end_the_run() -> None:
    with pytest.raises(
        PeerLostError, match="expected at least 4 parties, found 3: parties 2 and 3"
    ):
        run_on_threads(
            job(["party 2 dies in keys", "party 3 dies in count"], min_parties=4, **SILENT)
        )


def test_without_the_curator_nothing_goes_on() -> None:
    with pytest.raises(SottovoceError, match=r"curator.*as the fault"):
        run_on_threads(job(["curator dies in count"], **SILENT))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            {"protocol": "dp-subn", "mode": "paper"},
            "expected a protocol that can go on .* hands its noise, and its choices, to the next",
        ),
        ({"set": {"aggregator": "clear"}}, "nothing protects a table that was sent before"),
        ({"min_parties": 1}, "expected --min-parties of 2 to 3"),
        ({"min_parties": 4}, "expected --min-parties of 2 to 3"),
        ({"set": {"colluding": 2}}, "expected --min-parties of 3 to 3"),
        ({"on_loss": "stop", "min_parties": 2}, "expected --min-parties beside --on-loss continue"),
    ],
)
def test_what_is_refused(options: dict[str, Any], complaint: str) -> None:
    given = {"protocol": "noisy-marginals", "on_loss": "continue", **options}
    with pytest.raises(UsageError, match=complaint):
        run_on_threads(settings(given).job)


# ---- what an adversary has


def test_no_mask_is_used_in_two_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of masks: a pair's is used twice, with both signs, and an own key once."""
    used: list[tuple[bytes, int, int]] = []

    class Noting(RandomStream):
        def __init__(self, key: bytes | None) -> None:
            super().__init__(key)
            self.key = key

    hide = hidden_words.HiddenWords.hide

    def noting(self: Any, cells: Any, masks: Any, *, batch: int, page: int) -> Any:
        used.extend((mask.stream.key, mask.sign, len(masks)) for mask in masks)
        return hide(self, cells, masks, batch=batch, page=page)

    monkeypatch.setattr(lasting_party, "RandomStream", Noting)
    monkeypatch.setattr(hidden_words.HiddenWords, "hide", noting)
    for fault in ("party 2 dies in count after 7 messages", "party 4 dies in count"):
        used.clear()
        record = run_on_threads(job([fault], **SILENT))
        assert record.attempts == [2]
        signs: dict[bytes, list[int]] = {}
        for key, sign, _ in used:
            signs.setdefault(key, []).append(sign)
        own = [key for key, pair in signs.items() if pair == [1]]
        assert all(sorted(pair) in ([-1, 1], [1], [-1]) for pair in signs.values())
        # Four parties have an own mask in both attempts, and six pairs a mask in each. The lost
        # party sent no table, so four masks of the first attempt have one end.
        assert sum(len(pair) == 2 for pair in signs.values()) == 2 * 6
        assert len(signs) == 2 * 6 + 2 * 4 + 4
        assert 2 * 4 <= len(own) <= 3 * 4


def attempts_of(parties: int, sizes: Sequence[int]) -> Iterator[list[tuple[int, ...]]]:
    """List the members of all series of attempts in which so many parties are left each time."""

    def more(done: list[tuple[int, ...]], left: Sequence[int]) -> Iterator[list[tuple[int, ...]]]:
        if not left:
            yield done
            return
        for members in combinations(done[-1], left[0]):
            yield from more([*done, members], left[1:])

    yield from more([tuple(range(1, parties + 1))], sizes)


@pytest.mark.parametrize(
    ("parties", "sizes", "lies"),
    [(4, [3], False), (4, [3], True), (5, [4, 3], False), (5, [3], True), (6, [5], True)],
)
def test_a_curator_and_a_coalition_read_one_attempt_at_most(
    parties: int, sizes: Sequence[int], lies: bool
) -> None:
    """The referee is the span of all that they hold, without the masks that they do not know.

    The unknowns are each honest party's table with its noise, attempt by attempt, the masks of
    honest pairs, and own masks whose keys no coalition has. The curator has what every member sent.
    If it lies, it has every table of each attempt, those of parties that it calls lost as well.
    Otherwise a lost party sent nothing in the attempt in which it was lost.
    """
    colluding = 1
    circle = Circle(tuple(range(1, parties + 1)), parties - 1)
    for series in attempts_of(parties, sizes):
        for coalition in combinations(range(1, parties + 1), colluding):
            honest = [party for party in range(1, parties + 1) if party not in coalition]
            view = View(series, honest=honest)
            for attempt, members in enumerate(series):
                is_read = attempt == len(series) - 1
                lost = set() if is_read or lies else set(members) - set(series[attempt + 1])
                for party in set(members) & set(honest) - lost:
                    view.see_table(party, attempt)
                if is_read:
                    view.see_own_masks(attempt, members)
                for party in set(members) & set(honest):
                    holders = circle.neighbours_among(party, members)
                    assert len(set(coalition) & set(holders)) < pieces_needed(
                        len(holders), colluding=colluding
                    )
            known = view.without_masks()
            last = series[-1]
            aim = sum(view.table(party, len(series) - 1) for party in last if party in honest)
            assert np.linalg.matrix_rank(known) == 1
            assert np.linalg.matrix_rank(np.vstack([known, aim])) == 1


def test_without_own_masks_a_lying_curator_would_read_two_attempts() -> None:
    """The referee finds the attack that own masks prevent, so it can find one."""
    series = [(1, 2, 3, 4), (1, 2, 3)]
    view = View(series, honest=[1, 2, 3, 4])
    for attempt, members in enumerate(series):
        view.see_own_masks(attempt, members)
        for party in members:
            view.see_table(party, attempt)
    assert np.linalg.matrix_rank(view.without_masks()) == 2


class View:
    """What a curator and a coalition hold, as rows over the unknowns."""

    def __init__(self, series: Sequence[Sequence[int]], *, honest: Sequence[int]) -> None:
        self._series = [[party for party in members if party in honest] for members in series]
        names: list[Any] = []
        for attempt, members in enumerate(self._series):
            names += [("table", party, attempt) for party in members]
        self._tables = len(names)
        for attempt, members in enumerate(self._series):
            names += [("own", party, attempt) for party in members]
            names += [("pair", *pair, attempt) for pair in combinations(members, 2)]
        self._unknowns = dict(zip(names, np.eye(len(names)), strict=True))
        self._rows: list[np.ndarray] = []

    def table(self, party: int, attempt: int) -> np.ndarray:
        return np.asarray(self._unknowns["table", party, attempt][: self._tables])

    def see_table(self, party: int, attempt: int) -> None:
        row = self._unknowns["table", party, attempt] + self._unknowns["own", party, attempt]
        for other in self._series[attempt]:
            if other != party:
                sign = 1 if other > party else -1
                pair = min(party, other), max(party, other)
                row = row + sign * self._unknowns["pair", *pair, attempt]
        self._rows.append(row)

    def see_own_masks(self, attempt: int, members: Sequence[int]) -> None:
        own = [self._unknowns.get(("own", party, attempt)) for party in members]
        self._rows += [row for row in own if row is not None]

    def without_masks(self) -> np.ndarray:
        """Give what follows of tables alone: combinations of rows in which no mask is left."""
        rows = np.array(self._rows)
        masks = rows[:, self._tables :]
        _, values, right = np.linalg.svd(masks.T)
        rank = int((values > 1e-9).sum())
        kernel = right[rank:]
        return np.asarray(kernel @ rows[:, : self._tables])


@pytest.mark.parametrize("parties", [4, 5])
def test_the_coalitions_that_read_two_attempts_are_those_that_are_charged(parties: int) -> None:
    """All ways in which a lying curator may part the members between two attempts are tried.

    One party is left out of the second attempt: one that is lost, or one of the coalition. The
    curator tells each honest member of both that all tables of the first have arrived, or that it
    is to take part in the second. Any of them may be lost in the end. A member that gave its key of
    an attempt opens its pieces of the keys of those that were lost since, and the coalition opens
    all pieces that it has.
    """
    series_of = [tuple(range(1, parties + 1))]
    fewest = parties
    for size in range(parties - 1):
        coalition = set(range(1, size + 1))
        honest = set(range(size + 1, parties + 1))
        for left_out in ([1] if coalition else []) + [parties]:
            series = [*series_of, tuple(p for p in series_of[0] if p != left_out)]
            both = sorted(honest - {left_out})
            for told in product((0, 1), repeat=len(both)):
                for is_lost in product((False, True), repeat=len(both)):
                    fates = dict(zip(both, zip(told, is_lost, strict=True), strict=True))
                    read = 0
                    for attempt, members in enumerate(series):
                        gave = {p for p in both if fates[p][0] == attempt}
                        # Who goes on has sent a table of the first attempt, too.
                        sent = set(members) & honest if not attempt else gave
                        known = gave | {
                            p
                            for p in set(members) & honest
                            if len(coalition & set(members))
                            + sum(h in gave and h != p for h in both)
                            * (p == left_out or fates[p][1])
                            >= pieces_needed(len(members) - 1, colluding=1)
                        }
                        read += sent == known == set(members) & honest
                    if read == 2:
                        fewest = min(fewest, size)
    assert fewest == pieces_needed(parties - 1, colluding=1) > 1
    lossy = job(["party 2 dies in count"], parties=parties, **{**SILENT, "epsilon": 1.0})
    record = run_on_threads(lossy)
    (failed, read_) = (release for release in record.releases if release.party == 1)
    charged = {view for view, loss in failed.seen.items() if loss.epsilon}
    assert charged == {f"curator_and_{size}" for size in range(fewest, parties)}
    spent = make_report(record).privacy.by_party["1"]
    for view, loss in read_.seen.items():
        assert spent[view] == pytest.approx(loss.epsilon + failed.seen[view].epsilon, abs=1e-6)


# ---- lies


def test_a_curator_cannot_ask_again_without_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it could ask as often as it likes, for a coalition that has all keys."""
    plain = LastingCurator._receive

    def again(self: LastingCurator, *args: Any, **attempt: Any) -> Any:
        return plain(self, *args, **attempt)._replace(pages=[{}])

    monkeypatch.setattr(LastingCurator, "_receive", again)
    with pytest.raises(SottovoceError, match="found the same members: the curator asks again"):
        run_on_threads(job(**SILENT))


def test_a_party_refuses_fewer_members_than_it_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A curator that goes on with two parties of five, where four must be left, is refused."""
    monkeypatch.setattr(Curator, "require_enough", lambda _self, _members, **_: None)
    dying = [f"party {party} dies in keys" for party in (2, 3, 4)]
    with pytest.raises(SottovoceError, match="found a roster of fewer"):
        run_on_threads(job(dying, min_parties=4, **SILENT))


def test_a_curator_that_sends_different_rosters_reads_random_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two parties are lost, and the curator tells one member of one of them alone.

    It gets all tables and all own keys, and leaves out every check of its own. Only parties 1 and 4
    have the same roster, and so a mask in common.
    """
    derived: list[bytes] = []
    next_key = Channel.next_key

    def noting(self: Channel, purpose: str) -> bytes:
        key = next_key(self, purpose)
        derived.extend([key] if purpose.startswith("masks") else [])
        return key

    def part(self: LastingCurator, number: int, attempt: int, *, arrived: int) -> None:
        for party, members in ((1, [1, 4, 5]), (4, [1, 4, 5]), (5, [1, 2, 4, 5])):
            roster = SecureSums.Roster(number, attempt, arrived, np.array(members))
            self._desk.send(roster, to=party)

    def take(self: LastingCurator, _batch: Any, revealing: Any, **_: Any) -> Any:
        heard = [
            self._desk.gather_living(kind, sources=[1, 4, 5])
            for kind in (SecureSums.SealedPieces, SecureSums.Agreement, revealing.kind)
        ]
        assert len({agreement.digest for agreement in heard[1].values()}) == 2
        return Arrived(heard[0], [heard[2]])

    monkeypatch.setattr(LastingCurator, "_send_roster", part)
    monkeypatch.setattr(LastingCurator, "_receive", take)
    monkeypatch.setattr(Channel, "next_key", noting)
    with pytest.raises(SottovoceError, match="expected masks that cancel in the sum of all"):
        run_on_threads(job(["party 2 dies in keys", "party 3 dies in keys"], **SILENT))
    assert sum(derived.count(key) == 2 for key in set(derived)) == 1


@pytest.mark.parametrize("aggregator", ["masks", "paillier"])
def test_a_party_that_was_lost_before_an_introduction_is_left_out(
    monkeypatch: pytest.MonkeyPatch, aggregator: str
) -> None:
    """Over MPI a party's last messages may reach the curator and not another party."""
    plain = introductions._gather

    def lossy_gather(role: Any, kind: Any, *, sources: Sequence[int]) -> Any:
        heard = plain(role, kind, sources=sources)
        return {rank: what for rank, what in heard.items() if (role.rank, rank) != (4, 2)}

    monkeypatch.setattr(introductions, "_gather", lossy_gather)
    lossy = job(["party 2 dies in count after 7 messages"], aggregator=aggregator, **SILENT)
    record = run_on_threads(lossy)
    assert require_exact(lossy, record) == [1, 3, 4, 5]
    assert record.attempts == [2]


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_release_that_can_be_read_is_not_withdrawn(converse: Any, goes_on: bool) -> None:
    """Not even in a run that goes on: a party's own noisy answer is no attempt at a sum."""

    def party(me: Any) -> None:
        me.min_parties = 2 if goes_on else None
        with me.phase("count"):
            me.release(laplace(3, sensitivity=1, epsilon=1.0), to=CURATOR)
            me.withdraw(readers=[])

    with pytest.raises(MisuseError, match="found another release, or another run: what has left"):
        converse(party, lambda _desk: None)


def test_a_curator_cannot_leave_out_a_party_that_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting_party, "NOTICE_SECONDS", 0.2)

    def leave_out(self: LastingCurator, number: int, attempt: int, *, arrived: int) -> None:
        self.members = self.members[:-1] if not attempt and not arrived else self.members
        plain(self, number, attempt, arrived=arrived)

    plain = LastingCurator._send_roster
    monkeypatch.setattr(LastingCurator, "_send_roster", leave_out)
    with pytest.raises(
        SottovoceError, match="expected that party 5 is lost, as the curator leaves"
    ):
        run_on_threads(job(**SILENT))


def test_a_curator_cannot_have_a_living_party_s_key_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting_party, "NOTICE_SECONDS", 0.2)
    plain = LastingCurator._receive_keys

    def ask(self: LastingCurator, batch: Any, sealed: Any, *, number: int, attempt: int) -> Any:
        self._desk.gather_living(SecureSums.OwnKey, sources=self.members)
        self._ask_for_pieces([2], batch, sealed, number=number)
        return plain(self, batch, sealed, number=number, attempt=attempt)

    monkeypatch.setattr(LastingCurator, "_receive_keys", ask)
    with pytest.raises(SottovoceError, match="expected that party 2 is lost, as the curator asks"):
        run_on_threads(job(**SILENT))


def test_a_party_that_gave_its_key_takes_part_in_no_further_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A curator that asks again after it has read a sum gets no second one."""
    plain = LastingCurator._receive_keys

    def again(self: LastingCurator, batch: Any, sealed: Any, *, number: int, attempt: int) -> Any:
        self._desk.gather_living(SecureSums.OwnKey, sources=self.members)
        self._send_roster(number, attempt + 1, arrived=0)
        return plain(self, batch, sealed, number=number, attempt=attempt)

    monkeypatch.setattr(LastingCurator, "_receive_keys", again)
    with pytest.raises(
        SottovoceError, match=r"expected MissingKeys .*from the curator, found Roster"
    ):
        run_on_threads(job(**SILENT))


# ---- the mask graph


def test_the_cut_agrees_with_a_search() -> None:
    """All coalitions of all sets of members of small circles are tried."""
    for parties, size in ((7, 2), (8, 4), (9, 4), (9, 2)):
        circle = Circle(tuple(range(1, parties + 1)), size)
        for left in range(3, parties + 1):
            for members in combinations(range(1, parties + 1), left):
                fewest = next(
                    (
                        number
                        for number in range(left - 1)
                        for coalition in combinations(members, number)
                        if _is_parted(circle, set(members) - set(coalition))
                    ),
                    left - 1,
                )
                assert circle.cut(members) == fewest, (parties, size, members)


def _is_parted(circle: Circle, members: set[int]) -> bool:
    reached, fresh = set[int](), {min(members)}
    while fresh:
        reached |= fresh
        fresh = {
            peer for party in fresh for peer in circle.neighbours_among(party, members)
        } - reached
    return reached != members


def test_the_cut_of_all_parties_is_the_degree() -> None:
    for parties in (40, 100):
        size = degree(parties=parties, colluding=1)
        circle = Circle.of(parties=parties, colluding=1, seed=b"x")
        assert circle.cut(range(1, parties + 1)) == size


def test_pieces_needed() -> None:
    assert [pieces_needed(holders, colluding=1) for holders in (1, 2, 3, 4, 34)] == [2, 2, 2, 3, 18]
    assert pieces_needed(4, colluding=3) == 4


def test_the_curator_is_no_party_of_a_roster() -> None:
    assert CURATOR not in Circle.of(parties=5, colluding=1, seed=b"").order
