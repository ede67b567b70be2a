"""The guard and the rehearsal: what leaves a party without a release is counted when it is run."""

from __future__ import annotations

import importlib
import math
from pathlib import Path

import msgspec
import pytest

from sottovoce.launch.rehearsal import rehearse
from sottovoce.messages import UsageError
from sottovoce.report.making import make_report
from sottovoce.report.report import Report
from sottovoce.runs.guard import TOO_LONG, TOO_SLOW
from sottovoce.runs.identities import write_identity
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job
from sottovoce.runs.record import Guard, Rehearsal, RunRecord, Unaccounted
from sottovoce.runs.replay import UNREACHED
from sottovoce.runs.threads import run_on_threads

pytestmark = pytest.mark.usefixtures("first_tables")

COUNTED_BY_KIND = {
    "ExactStatistic": "Figure",
    "HashOfTable": "Figure",
    "IntOfCell": "Figure",
    "Argmax": "Figure",
    "RowCount": "Figure",
    "KindOfMessage": "Figure",
    "Categories": "Labels",
    "NumberOfMessages": "Figure",
    "NumberOfMessagesAlone": "Figure",
    "SizeOfMessage": "Zeros",
    "NoisePastTheAccountant": "Figure",
    "NoiseOfTheSystem": "Figure",
    "RareLabel": "Figure",
    "NothingIsReleased": "Count",
    "OpenShare": "Cells",
    "ExactBesideNoise": "Cells",
    "DifferenceOfShares": "Cells",
    "ComparisonOfShares": "Cells",
    "ThresholdOfShare": "Cells",
    "ShareInAFrameworkMessage": "Masked",
    "ShareInTheClear": "Unprotected",
    "NumberOfShareMessages": "Cells",
    "SeenByNobody": "Figure",
}
"""Protocols of `leaky_protocols`, and the kind of message that leaks."""
BESIDE_MESSAGES = {
    "Progress": "progress",
    "PhaseName": "phases",
    "OrderOfMessages": "order",
    "SensitivityOfTheData": "sensitivity",
    "PhaseOfShare": "phases",
    "OpaqueAnswer": "could not be checked",
}
"""Protocols that leak beside messages, and a word of the reason."""


@pytest.fixture(autouse=True)
def _leaky_protocols_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    # Tests run in any order, and this one keeps its counts between runs on purpose.
    importlib.import_module("leaky_protocols").Kept.counts.clear()


def job_of(name: str, *, rows: int = 600, seed: int | None = 3) -> Job:
    return Job(protocol=f"leaky_protocols:{name}", rows=rows, seed=seed)


def played(name: str, *, seed: int | None = 3) -> tuple[RunRecord, Report]:
    record = run_on_threads(job_of(name, seed=seed))
    return record, make_report(record)


@pytest.mark.usefixtures("unlimited_replays")
@pytest.mark.parametrize(("name", "kind"), COUNTED_BY_KIND.items())
def test_messages_without_a_release_are_counted_when_they_are_sent(name: str, kind: str) -> None:
    record, report = played(name)
    counted = [line for line in report.privacy.not_accounted if line.kind == kind]
    assert {line.party for line in counted} == {1, 2, 3}
    for party in (1, 2, 3):
        sent = sum(entry.sender == party and entry.kind == kind for entry in record.entries)
        assert sum(line.messages for line in counted if line.party == party) <= sent
    assert any(text.startswith("NOT ACCOUNTED: ") and kind in text for text in report.warnings)
    losses = {**report.privacy.epsilon, **report.privacy.coalitions}
    assert set(losses.values()) == {math.inf}


@pytest.mark.usefixtures("unlimited_replays")
@pytest.mark.parametrize(("name", "word"), BESIDE_MESSAGES.items())
def test_leaks_beside_messages_are_named(name: str, word: str) -> None:
    _, report = played(name)
    assert {line.party for line in report.privacy.not_accounted} == {1, 2, 3}
    assert all(word in line.reason for line in report.privacy.not_accounted)
    assert set(report.privacy.epsilon.values()) == {math.inf}


@pytest.mark.parametrize("seed", [3, None])
def test_an_honest_protocol_has_its_figures(seed: int | None) -> None:
    """Without a seed, too: the party's streams are repeated from a secret."""
    record, report = played("Leaky", seed=seed)
    assert report.privacy.not_accounted == []
    assert report.privacy.epsilon["public"] == 1.0
    assert not [text for text in report.warnings if "NOT ACCOUNTED" in text]
    assert all(notes.guard and notes.guard.replays for notes in record.roles[1:])


@pytest.mark.parametrize("name", ["FullShare", "ChangedInPlace"])
def test_an_answer_in_the_open_with_its_full_loss_is_accounted(name: str) -> None:
    _, report = played(name)
    assert report.privacy.not_accounted == []
    rehearsal = rehearse(job_of(name))
    assert (rehearsal.failure, rehearsal.unaccounted) == (None, [])


@pytest.mark.parametrize(
    "parameters",
    [{"aggregator": "masks"}, {"aggregator": "paillier"}, {"aggregator": "clear"}],
    ids=lambda parameters: parameters["aggregator"],
)
def test_secure_sums_of_a_protocol_of_ones_own_carry_its_shares(
    parameters: dict[str, str],
) -> None:
    """In the clear, too, where the release states the curator's whole loss."""
    job = Job(
        protocol="leaky_protocols:OwnTables",
        parameters={"ways": 1, **parameters},
        rows=300,
        seed=3,
        key_bits=1024,
        insecure_test_keys=True,
    )
    report = make_report(run_on_threads(job))
    assert report.privacy.not_accounted == []
    assert rehearse(job).unaccounted == []


def test_one_message_in_many_is_counted_alone() -> None:
    """Of the kind Figure one leaks, and as many others only by their number."""
    _, report = played("IntOfCell")
    assert [(line.party, line.kind, line.messages) for line in report.privacy.not_accounted] == [
        (party, "Figure", 1) for party in (1, 2, 3)
    ]


@pytest.mark.usefixtures("unlimited_replays")
@pytest.mark.parametrize("name", [*COUNTED_BY_KIND, *BESIDE_MESSAGES])
def test_the_rehearsal_finds_it_before_real_records_are_touched(name: str) -> None:
    rehearsal = rehearse(job_of(name))
    assert rehearsal.failure is None
    assert {line.party for line in rehearsal.unaccounted} == {1, 2, 3}


def test_a_wrong_sensitivity_is_stated_once_for_each_party_and_release() -> None:
    """Many pairs of tables show it, and the largest change is named."""
    assert len(rehearse(job_of("Median"), seconds=60).unaccounted) == 3


def test_records_that_pass_a_check_are_tried() -> None:
    """Whole records of the table, drawn anew, have its averages."""
    _, report = played("ChecksItsRecords")
    reasons = {line.reason for line in report.privacy.not_accounted}
    assert reasons == {"its content depends on records"}


def test_messages_that_no_replay_reached_are_not_accounted() -> None:
    leaky_protocols = importlib.import_module("leaky_protocols")
    leaky_protocols.RefusesOtherRecords.seen.clear()
    _, report = played("RefusesOtherRecords")
    lines = report.privacy.not_accounted
    assert [(line.party, line.kind, line.reason) for line in lines] == [
        (party, "Figure", UNREACHED) for party in (1, 2, 3)
    ]
    assert set(report.privacy.epsilon.values()) == {math.inf}


def test_a_replay_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    # Time enough to come to a table on which it is endless, however slow the machine is.
    monkeypatch.setattr("sottovoce.runs.guard.MIN_SECONDS", 2.0)
    monkeypatch.setattr("sottovoce.runs.guard.SLOWER", 0.5)
    record, report = played("Endless")
    # A party that comes to no such table in its time has nothing to remark.
    assert any(notes.guard and TOO_SLOW in notes.guard.remarks for notes in record.roles[1:])
    assert report.privacy.not_accounted == []  # records that were drawn anew reach the end


def test_a_conversation_that_is_too_long_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was compared, so a rehearsal says this and finds nothing."""
    monkeypatch.setattr("sottovoce.messages.tape.MAX_TAPE_BYTES", 10)
    rehearsal = rehearse(job_of("OrderOfMessages"))
    assert rehearsal.unaccounted == []
    by_source, remark = rehearsal.remarks
    assert by_source.startswith("by its source, ")
    assert remark == TOO_LONG
    record, _ = played("OrderOfMessages")
    assert all(notes.guard and notes.guard.remarks == [TOO_LONG] for notes in record.roles[1:])


def test_releases_are_counted_though_the_part_catches_errors() -> None:
    _, report = played("GoesOn")
    assert {line.party for line in report.privacy.not_accounted} == {1, 2, 3}
    assert any("number of its releases" in line.reason for line in report.privacy.not_accounted)


@pytest.mark.parametrize("name", ["TooLittleNoise", "RhoTooSmall"])
def test_a_mechanism_that_loses_more_than_it_states_is_bounded(name: str) -> None:
    """One loses epsilon 10 and states 1; of 3,000 answers some ten are improbable even at 3.

    The other states epsilon 1, which holds, and a rho that means 0 at the tested delta.
    """
    rehearsal = rehearse(job_of(name))
    assert rehearsal.unaccounted
    assert all("loses at least epsilon" in line.reason for line in rehearsal.unaccounted)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SensitivityTooSmall", "the stated sensitivity is 1"),
        ("Median", "the stated sensitivity is 1"),
        ("Maximum", "the stated sensitivity is 1"),
        ("BinsOfTheData", "the stated sensitivity is 1"),
        ("OtherPartOfTheRecords", "releases of 3 parts that change with one record"),
    ],
)
def test_the_rehearsal_finds_releases_whose_accounting_is_false(name: str, words: str) -> None:
    rehearsal = rehearse(job_of(name))
    assert rehearsal.failure is None
    assert {line.party for line in rehearsal.unaccounted} == {1, 2, 3}
    assert all(words in line.reason for line in rehearsal.unaccounted)


def test_floating_point_noise_is_named() -> None:
    """The exact support of its answers cannot be sampled, but their precision can be seen."""
    rehearsal = rehearse(job_of("FloatingPoint"))
    assert any("floating-point numbers of full precision" in text for text in rehearsal.remarks)


def test_a_rehearsal_finds_nothing_in_an_honest_protocol() -> None:
    rehearsal = rehearse(job_of("Leaky"))
    assert (rehearsal.failure, rehearsal.unaccounted, rehearsal.remarks) == (None, [], [])
    assert rehearsal.replays > 50


def test_what_a_rehearsal_found_counts_in_the_run() -> None:
    """A kind that leaks on some tables is not accounted, though real replays may not show it."""
    record = run_on_threads(job_of("Leaky"))
    finding = Unaccounted(party=1, kind="Figure", messages=1, reason="its content depends")
    rehearsal = Rehearsal(
        failure=None, parties=3, rows=600, replays=9, seconds=0.1, unaccounted=[], remarks=[]
    )
    found = msgspec.structs.replace(rehearsal, unaccounted=[finding])
    report = make_report(msgspec.structs.replace(record, rehearsal=found))
    assert [(line.party, line.messages) for line in report.privacy.not_accounted] == [
        (party, 1) for party in (1, 2, 3)
    ]
    assert make_report(msgspec.structs.replace(record, rehearsal=rehearsal)).privacy.epsilon == {
        "public": 1.0,
        "curator": 1.0,
        "other_party": 1.0,
    }


def test_a_part_that_nothing_replayed_has_no_figures() -> None:
    """A conversation beyond the tape is not checked, unless a rehearsal replayed a shorter one."""
    record = run_on_threads(job_of("Leaky"))
    unchecked = [
        msgspec.structs.replace(notes, guard=Guard(replays=0, unaccounted=[], remarks=[]))
        if notes.guard is not None
        else notes
        for notes in record.roles
    ]
    alone = make_report(msgspec.structs.replace(record, roles=unchecked))
    assert {line.party for line in alone.privacy.not_accounted} == {1, 2, 3}
    assert set(alone.privacy.epsilon.values()) == {math.inf}
    rehearsal = rehearse(job_of("Leaky"))
    rehearsed = msgspec.structs.replace(record, roles=unchecked, rehearsal=rehearsal)
    assert make_report(rehearsed).privacy.not_accounted == []


def test_what_is_kept_between_plays_is_a_doubt() -> None:
    """The first play reads the records, and the replays do not."""
    _, report = played("Kept")
    assert {line.party for line in report.privacy.not_accounted} == {1, 2, 3}
    assert all("keeps something" in line.reason for line in report.privacy.not_accounted)
    assert rehearse(job_of("Kept")).failure is None


@pytest.mark.parametrize("name", ["OwnReader", "Kept"])
def test_a_part_that_never_reads_its_records_has_a_remark(name: str) -> None:
    """What is kept from an earlier run, or read from elsewhere, is not checked."""
    played(name)
    _, report = played(name)
    assert any("never read me.records" in text for text in report.warnings)


def test_a_subclass_that_would_run_as_a_built_in_class_is_refused() -> None:
    """What it overrides would be ignored without a word."""
    with pytest.raises(UsageError, match=r"variant\(\) of Mine to pick a class of its own"):
        instantiate(job_of("Mine"))


@pytest.mark.parametrize("seed", [3, None])
@pytest.mark.parametrize("name", ["Honest", "ExactStatistic", "SizeOfMessage", "OpenShare"])
def test_sealed_messages_are_replayed(tmp_path: Path, name: str, seed: int | None) -> None:
    """With identities every edge is sealed, those to the curator as well."""
    for rank in range(4):
        write_identity(tmp_path, rank=rank)
    job = msgspec.structs.replace(job_of(name, seed=seed), identities=str(tmp_path))
    record = run_on_threads(job)
    assert {entry.kind for entry in record.entries} >= {"Introduction"}
    counted = make_report(record).privacy.not_accounted
    if name == "Honest":
        assert counted == []
        assert all(notes.guard is not None and notes.guard.replays for notes in record.roles[1:])
    else:
        assert {line.kind for line in counted} == {COUNTED_BY_KIND[name]}
        assert {line.party for line in counted} == {1, 2, 3}
