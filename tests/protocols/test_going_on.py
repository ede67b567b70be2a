"""Protocols that go on without lost parties: sums are exact, and epsilon is what happened.

The referees are the tables that each party counted in the run, before any noise, and each party's
own account as the undisturbed roles kept it.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from going_on import MASKS, PARTIES, SumReferee, job, spent
from house_suites import WHOLE, SampledSuite

from sottovoce.launch.conformance import ProtocolConformance
from sottovoce.messages import SottovoceError, UsageError
from sottovoce.messages.frame import FrameKind
from sottovoce.privacy.domain import Domain
from sottovoce.protocols.aim import protocol as aim
from sottovoce.protocols.aim.workload import expected_noise
from sottovoce.protocols.dp_subn import edge_choice, initial
from sottovoce.protocols.dp_subn.initial import choosing_circle, turn_of, turns_of
from sottovoce.protocols.registry import OWN_PROTOCOLS, find
from sottovoce.protocols.secure_sum.batch import SumBatch
from sottovoce.protocols.secure_sum.curator_sums import CuratorSums
from sottovoce.protocols.secure_sum.graph import Circle
from sottovoce.runs.faulty_wire import FaultyWire
from sottovoce.runs.identities import write_identity
from sottovoce.runs.instance import instantiate
from sottovoce.runs.record import RunRecord
from sottovoce.runs.threads import run_on_threads

APART = 1 if os.environ.get("SOTTOVOCE_ALL_MOMENTS") else 3
"""Messages between two moments at which a party is lost; by hand every moment is tried."""


WIDE: dict[str, Any] = {
    "rows": 2000,
    "columns": ("sex", "race", "income", "relationship", "marital-status", "workclass"),
    "synthetic_rows": 50,
}
SUMMING: list[tuple[str, dict[str, Any]]] = [
    ("adaptive-pairs", {**MASKS, "rounds": 2}),
    ("aim", {**MASKS, "rounds": 6}),
    ("aug-flaim", {**MASKS, "rounds": 2}),
    ("dp-ccbn", MASKS),
    ("dp-ccbn", {**MASKS, "search": "oneshot"}),
    ("dp-subn", {**MASKS, "epsilon": 1.0, **WIDE}),
    ("dp-subn", {**MASKS, "init": "forest"}),
    ("dp-subn", {**MASKS, "attributes": "binary"}),
    ("dp-subn", {**MASKS, "attributes": "binary", "update": "sequential"}),
    ("flaim", {**MASKS, "rounds": 3}),
    ("jtree", MASKS),
    ("jtree", {**MASKS, "together": "votes"}),
    ("jtree", {**MASKS, "structure": "top"}),
    ("jtree", {**MASKS, "structure": "svt"}),
    ("jtree", {**MASKS, "structure": "gauss"}),
    ("jtree", {**MASKS, "structure": "laplace"}),
    ("mst", MASKS),
    ("noisy-marginals", MASKS),
    ("one-way", MASKS),
]
ANSWERING: list[tuple[str, dict[str, Any]]] = [
    ("head-count", {}),
    ("independent", {}),
    ("no-priv-jtree", {}),
]


def sent_by(record: RunRecord, party: int) -> int:
    return sum(act.sent for act in record.roles[party].acts)


@pytest.mark.usefixtures("few_weighted_rows")
@pytest.mark.parametrize(("protocol", "parameters"), SUMMING)
def test_whenever_a_party_is_lost_sums_are_those_of_the_others(
    protocol: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A party is lost at one moment in three, from another one on for each party and protocol."""
    undisturbed = run_on_threads(job(protocol, **parameters))
    claimed = parameters["epsilon"]
    for party in (1, 2):
        count = sent_by(undisturbed, party)
        moments = range((party + len(str(parameters))) % APART, count + 1, APART)
        for messages in moments:
            with monkeypatch.context() as patched:
                referee = SumReferee(patched)
                fault = f"party {party} dies after {messages} messages"
                record = run_on_threads(job(protocol, [fault], **parameters))
                referee.require_exact()
            epsilons = spent(record)
            assert all(epsilon <= claimed * (1 + 1e-9) for epsilon in epsilons.values())
            for loss in record.losses:
                if not loss.batches_with and not loss.turns:
                    assert epsilons[str(loss.party)] == 0
                if loss.batches_without:
                    assert epsilons[str(loss.party)] < claimed
            left = len(set(range(1, PARTIES + 1)) - {loss.party for loss in record.losses})
            members = referee.read[max(referee.read)][0]
            assert len(members) in (left, PARTIES)


@pytest.mark.parametrize(("protocol", "parameters"), ANSWERING)
def test_answers_of_those_who_are_left_are_enough(
    protocol: str, parameters: dict[str, Any]
) -> None:
    undisturbed = run_on_threads(job(protocol, **parameters))
    for messages in range(sent_by(undisturbed, 3) + 1):
        record = run_on_threads(job(protocol, [f"party 3 dies after {messages} messages"]))
        epsilons = spent(record)
        if not messages:
            (loss,) = record.losses
            assert (loss.party, loss.batches_with) == (3, 0)
            assert epsilons["3"] == 0
        else:
            assert epsilons["3"] == epsilons["1"]


def test_a_lost_party_is_not_in_the_count() -> None:
    """The noise of three parties at epsilon 1000 is 0 but with a chance of e**-999."""
    record = run_on_threads(job("head-count", ["party 3 dies"], epsilon=1000.0))
    assert record.outcome.summary == {"count": 60 * (PARTIES - 1)}


@pytest.fixture
def chosen_by_party(monkeypatch: pytest.MonkeyPatch) -> dict[int, Sequence[Any]]:
    """Note all choices that each party of dp-subn sends in its turn."""
    chosen: dict[int, Sequence[Any]] = {}
    pass_on = initial.pass_on

    def noting(me: Any, turn: Any, edges: Sequence[Any]) -> None:
        chosen[me.rank] = [*edges]
        pass_on(me, turn, edges)

    monkeypatch.setattr(edge_choice, "pass_on", noting)
    return chosen


def test_choices_are_used_though_the_party_of_the_next_turn_dies(
    chosen_by_party: dict[int, Sequence[Any]],
) -> None:
    dying = ["party 2 dies in initialisation"]
    record = run_on_threads(job("dp-subn", dying, epsilon=1.0, aggregator="masks", **WIDE))
    (loss,) = record.losses
    assert (loss.party, loss.turns) == (2, 0)
    assert chosen_by_party[1]
    counted = {tuple(edge) for edge in record.outcome.model["counted"]}
    living = {edge for party, edges in chosen_by_party.items() if party != 2 for edge in edges}
    assert counted == living


def test_no_choice_is_used_whose_cost_is_unknown(
    chosen_by_party: dict[int, Sequence[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network drops all that a party tells the curator in its turn, and then it is lost."""
    received: dict[int, list[Any]] = {}
    before, send = initial.choices_before, FaultyWire.send

    def noting(me: Any, turn: Any) -> list[Any]:
        received[me.rank] = before(me, turn)
        return received[me.rank]

    def dropping(wire: FaultyWire, parts: Sequence[Any], *, to: int, **more: Any) -> None:
        if wire._role is None or to or wire._role.current_phase != "initialisation":
            send(wire, parts, to=to, **more)

    monkeypatch.setattr(edge_choice, "choices_before", noting)
    monkeypatch.setattr(FaultyWire, "send", dropping)
    dying = ["party 1 dies in parameters"]
    record = run_on_threads(job("dp-subn", dying, epsilon=1.0, aggregator="masks", **WIDE))
    assert record.losses[0].turns == 0
    assert chosen_by_party[1]
    assert not any(received[2])
    phases = {release.phase for release in record.roles[1].releases}
    assert "initialisation" not in phases


def test_a_network_that_drops_what_was_sent_ahead_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Otherwise the choice of a party that is then lost would cost nothing in the report."""
    for rank in range(PARTIES + 1):
        write_identity(tmp_path, rank=rank)
    send = FaultyWire.send

    def dropping(wire: FaultyWire, parts: Sequence[Any], **more: Any) -> None:
        if parts[0][3] != FrameKind.RELEASES:
            send(wire, parts, **more)

    monkeypatch.setattr(FaultyWire, "send", dropping)
    lossy = job("mst", ["party 2 dies in pairs"], **MASKS)
    with pytest.raises(SottovoceError, match="malformed Chosen from party 2"):
        run_on_threads(msgspec.structs.replace(lossy, identities=str(tmp_path)))


def test_who_is_lost_before_the_turns_has_none() -> None:
    """In dp-subn quotas are those of the parties that are left, so no edge is missing."""
    dying = [f"party {party} dies in keys" for party in (1, 3)]
    record = run_on_threads(job("dp-subn", dying, epsilon=1.0, aggregator="masks", **WIDE))
    chosen = {entry.sender for entry in record.entries if entry.kind == "Chosen"}
    assert chosen == {2, 4}
    circle = Circle((3, 1, 4, 2), 3)
    assert turns_of(choosing_circle(circle, [2, 4]), edges=3) == [[4], [2]]
    many = Circle(tuple(range(40, 0, -1)), 34)
    assert choosing_circle(many, range(1, 41)) == many
    assert choosing_circle(many, range(1, 39)).order[:2] == (38, 37)
    assert [turn_of(party, Circle((4, 2), 1), edges=3) is None for party in (1, 2, 4)] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(("protocol", "messages"), [("head-count", 1), ("mst", 11), ("calm", 0)])
def test_with_identities_what_was_sent_ahead_is_sealed(
    protocol: str, messages: int, tmp_path: Path
) -> None:
    """A party may be lost before it was introduced, and its account arrives sealed afterwards."""
    for rank in range(PARTIES + 1):
        write_identity(tmp_path, rank=rank)
    options = MASKS if protocol == "mst" else {}
    lossy = msgspec.structs.replace(
        job(protocol, [f"party 2 dies after {messages} messages"], **options),
        identities=str(tmp_path),
    )
    record = run_on_threads(lossy)
    (loss,) = record.losses
    assert loss.batches_with == (protocol == "mst")
    assert (spent(record)["2"] > 0) == (protocol == "mst")


def test_later_parties_choose_the_edges_of_a_lost_one() -> None:
    """In MST the tree is whole, though the party whose turn was first is lost before it chose."""
    record = run_on_threads(job("mst", ["party 1 dies in choices"], **MASKS))
    turns = record.outcome.model["turns"]
    assert 1 not in {turn["party"] for turn in turns}
    assert sum(len(turn["edges"]) for turn in turns) == 2
    assert record.losses[0].turns == 0


REFUSING: list[tuple[str, str, dict[str, Any], str]] = [
    ("dp-subn", "paper", {}, "each party hands its noise, and its choices, to the next one"),
    ("jtree", "paper", {}, "it has one holder of all records"),
]


@pytest.mark.parametrize(("protocol", "mode", "parameters", "reason"), REFUSING)
def test_what_needs_all_parties_says_why(
    protocol: str, mode: str, parameters: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError, match=f"needs all, since .*{reason}"):
        instantiate(job(protocol, mode=mode, **parameters))


def test_every_protocol_goes_on_or_says_why_not() -> None:
    for name in OWN_PROTOCOLS:
        kind = find(name)
        assert kind.goes_on or kind.needs_all, name
    for name, parameters in SUMMING:
        assert instantiate(job(name, **parameters)).goes_on, (name, parameters)


# ---- protocols of others

AUTHORS = "lasting_protocols:"


@pytest.fixture
def _authors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)


class TestThreeWays(SampledSuite):
    protocol = f"{AUTHORS}ThreeWays"
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "masks"}
    over_mpi = WHOLE  # an author's sums over MPI are those of test_some_and_several_sums.py

    @pytest.fixture(autouse=True)
    def _importable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(Path(__file__).parent)
        monkeypatch.chdir(Path(__file__).parent)


@pytest.mark.usefixtures("_authors")
def test_the_suite_notices_a_protocol_that_only_says_that_it_goes_on() -> None:
    class Suite(ProtocolConformance):
        parameters: ClassVar[dict[str, Any]] = {"aggregator": "masks"}

    Suite.__test__ = False
    with pytest.raises(
        (SottovoceError, AssertionError), match=r"party 2 dies|its process was lost"
    ):
        Suite().test_it_goes_on_without_a_lost_party_if_it_says_so(f"{AUTHORS}Careless")


@pytest.mark.usefixtures("_authors")
@pytest.mark.parametrize(
    ("protocol", "options", "complaint"),
    [
        ("Silent", MASKS, "expected goes_on = True in Silent itself"),
        ("ThreeWays", {"aggregator": "clear"}, "nothing protects a table that was sent before"),
        ("ThreeWays", {**MASKS, "min_parties": 1}, "expected --min-parties of 2 to 4"),
    ],
)
def test_what_is_refused_of_an_author(
    protocol: str, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        instantiate(job(f"{AUTHORS}{protocol}", **options))


@pytest.mark.parametrize(
    ("protocol", "min_parties", "complaint"),
    [("head-count", 5, "of 1 to 4, found 5"), ("one-way", 1, "of 2 to 4"), ("mst", 5, "of 2 to 4")],
)
def test_numbers_of_parties_that_make_no_sense_are_refused(
    protocol: str, min_parties: int, complaint: str
) -> None:
    with pytest.raises(UsageError, match=f"expected --min-parties {complaint}"):
        instantiate(job(protocol, min_parties=min_parties))


def test_the_noise_that_aim_expects_is_that_of_the_parties_in_the_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Any m - c shares of m are the full noise of a table, whose variance is 1 / rho."""
    expected: list[float] = []
    announced: list[tuple[float, float, int]] = []
    noise_share = CuratorSums.noise_share

    def noting_noise(domain: Domain, candidates: Sequence[Any], *, deviation: float) -> Any:
        if threading.current_thread().name == "rank 0":
            expected.append(deviation)
        return expected_noise(domain, candidates, deviation=deviation)

    def noting_share(sums: CuratorSums, batch: SumBatch, *, members: Sequence[int]) -> float:
        share = noise_share(sums, batch, members=members)
        assert batch.rho is not None
        announced.append((share, batch.rho, PARTIES - len(sums._desk.lost)))
        return share

    def deviation(rho: float, parties: int) -> float:
        return sqrt(parties / (parties - 1) / rho)

    monkeypatch.setattr(aim, "expected_noise", noting_noise)
    monkeypatch.setattr(CuratorSums, "noise_share", noting_share)
    referee = SumReferee(monkeypatch)
    options: dict[str, Any] = {"aggregator": "masks", "epsilon": 1.0, "colluding": 1, "rounds": 6}
    changed = Counter[str]()
    messages = sent_by(run_on_threads(job("aim", **options)), 2)
    for lost_after in range(messages // 3, messages):
        expected.clear()
        announced.clear()
        referee.read.clear()
        record = run_on_threads(
            job("aim", [f"party 2 dies after {lost_after} messages"], **options)
        )
        rounds = record.outcome.model["rounds"]
        members = [len(referee.read[number][0]) for number in range(len(rounds) + 1)]
        assert expected == pytest.approx(
            [deviation(entry["rho"], m) for entry, m in zip(rounds, members[1:], strict=True)],
            rel=1e-3,
        )
        for share, rho, left in announced:
            assert share == pytest.approx(deviation(rho, left) / (60 * left), rel=1e-3)
        lefts = [left for *_, left in announced]
        changed["before the choice"] += sum(map(int.__lt__, lefts, members))
        changed["after it"] += sum(map(int.__gt__, lefts, members[1:]))
    assert min(changed.values()) > 0, changed
