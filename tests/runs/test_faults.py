"""Faults for experiments happen where they were declared, on every transport, and are told."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.messages import (
    CURATOR,
    ConversationError,
    Role,
    SottovoceError,
    UsageError,
    message,
    thread_wires,
)
from sottovoce.parties import Records, read_schema
from sottovoce.parties.alternatives import alternatives, lacking_neighbours
from sottovoce.parties.made_up import made_up_codes
from sottovoce.runs.faults import Fault, faults_of, lying_records, read_faults, untold_lies
from sottovoce.runs.faulty_network import with_network_faults
from sottovoce.runs.settings import settings


@message
class Word:
    text: str


SCHEMA = {"sex": ["f", "m"], "age": [str(age) for age in range(6)]}


def run(fault: str | list[str], **options: Any) -> sottovoce.Run:
    return sottovoce.run(
        "noisy-marginals",
        "demo",
        rows=600,
        seed=1,
        judge=False,
        aggregator="masks",
        fault=fault,
        **options,
    )


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("party 2 dies", Fault(rank=2, action="dies")),
        ("party 2  dies in learn/sum", Fault(rank=2, action="dies", phase="learn/sum")),
        ("the curator dies after 4 messages", Fault(rank=CURATOR, action="dies", messages=4)),
        ("party 1 pauses 2.5 s in x", Fault(rank=1, action="pauses", seconds=2.5, phase="x")),
        ("party 3 falls silent after 1 message", Fault(rank=3, action="falls silent", messages=1)),
        ("party 3 lies", Fault(rank=3, action="lies")),
        ("party 3 lies in count 2", Fault(rank=3, action="lies", count=2)),
    ],
)
def test_what_a_sentence_means(sentence: str, fault: Fault) -> None:
    assert read_faults([sentence], parties=3, seed=0) == [fault]


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("2 parties lie", 2),
        ("half of parties lie", 6),
        ("a third of parties lie", 4),
        ("25 % of parties lie", 3),
        ("25% of parties lie", 3),
        ("0 parties lie", 0),
    ],
)
def test_drawn_parties(sentence: str, count: int) -> None:
    draws = [
        tuple(fault.rank for fault in read_faults([sentence], parties=12, seed=seed))
        for seed in (1, 1, *range(2, 12))
    ]
    assert all(len(set(draw)) == count for draw in draws)
    assert all(1 <= rank <= 12 for draw in draws for rank in draw)
    assert draws[0] == draws[1], "all roles draw the same parties"
    # With two of twelve parties, ten draws agree with a chance below 1e-16.
    assert count == 0 or len(set(draws)) > 1


@pytest.mark.parametrize(
    ("sentence", "complaint"),
    [
        ("bob lies", "expected a fault such as 'party 2 dies in PHASE'"),
        ("party 4 dies", "expected a party from 1 to 3, found 'party 4 dies'"),
        ("party 0 dies", "expected a party from 1 to 3"),
        ("4 parties die", "expected at most 3 parties"),
        ("most of parties die", "expected half, a third"),
        ("party 1 pauses", "expected seconds for a pause"),
        ("party 1 dies 3 s", "expected seconds for a pause"),
        ("party 1 dies in count 2", "expected 'in count' for lies alone"),
        ("the network drops 101 % of messages", "expected at most 100 % of messages"),
        ("the network lies", "expected a fault such as"),
        ("party 1 drops 1 % of messages", "expected a fault such as"),
        ("curator lies", "expected parties that lie from the start on"),
        ("party 1 lies in sum", "expected parties that lie from the start on"),
    ],
)
def test_refused_sentences(sentence: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(complaint)):
        settings({"protocol": "head-count", "fault": sentence})


def test_lying_records_have_the_shape_and_none_of_the_values() -> None:
    table = pd.DataFrame({"sex": ["f"] * 3000, "age": ["0"] * 3000})
    records = Records(table, schema=read_schema(SCHEMA))
    faults = read_faults(["party 1 lies"], parties=2, seed=0)
    lying = lying_records(records, faults_of(faults, rank=1), seed=0)
    assert len(lying) == len(records)
    assert lying.domain.attributes == records.domain.attributes
    # Uniform codes: each count has a deviation of at most sqrt(3000 / 4) = 27.4; six of them are
    # missed by one of eight counts with a chance below 2e-8.
    assert np.abs(lying.marginal(["sex"]) - 1500).max() < 6 * 27.4
    assert np.abs(lying.marginal(["age"]) - 500).max() < 6 * 27.4
    assert lying_records(records, faults_of(faults, rank=2), seed=0) is records


NEVER = [{"sex": ["f"], "age": ["0", "1"]}, {"sex": ["m"], "age": ["5"]}]


def impossible(records: Records) -> int:
    """Count the records that break a rule."""
    cells = records.marginal(["sex", "age"]).reshape(2, 6)
    return int(cells[0, :2].sum() + cells[1, 5])


def test_no_record_of_a_lie_or_a_replay_is_an_impossible_one() -> None:
    """Three of twelve cells are ruled out, so free draws would have 250 of 1000 records there."""
    table = pd.DataFrame({"sex": ["f", "m"] * 500, "age": ["3"] * 1000})
    records = Records(table, schema=read_schema({**SCHEMA, "never": NEVER}))
    faults = read_faults(["party 1 lies"], parties=1, seed=0)
    lying = lying_records(records, faults, seed=0)
    free = lying_records(Records(table, schema=read_schema(SCHEMA)), faults, seed=0)
    assert impossible(free) > 150
    assert impossible(lying) == 0
    # All possible cells are drawn: each has at least 1/12, so none is empty but with 1e-37.
    assert (lying.marginal(["sex", "age"]) > 0).sum() == 9
    generator = np.random.default_rng(0)
    tables = [
        table.records
        for table in alternatives(records, rows_are_secret=True, generator=generator, rules={})
    ]
    for three_tables in lacking_neighbours(records, generator=generator, rules={}):
        tables += three_tables
    for other in tables:
        assert impossible(other) == 0
    schema = read_schema({**SCHEMA, "never": NEVER})
    made_up = made_up_codes(schema, rows=1000, generator=generator)
    assert impossible(Records(made_up)) == 0


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("calm", {}),
        ("privincr", {}),
        ("adaptive-pairs", {"aggregator": "masks"}),
        ("noisy-marginals", {"aggregator": "masks"}),
    ],
)
def test_liars_keep_the_rules_of_the_schema(protocol: str, options: dict[str, Any]) -> None:
    """The curator trusts that nobody breaks them; half of all parties lie here."""
    labels = {"sex": ["f", "m"], "age": [str(age) for age in range(6)], "job": ["no", "yes"]}
    never = [*NEVER, {"age": ["2"], "job": ["yes"]}]
    generator = np.random.default_rng(3)
    table = pd.DataFrame({name: generator.choice(values, 900) for name, values in labels.items()})
    table.loc[(table["sex"] == "f") & table["age"].isin(["0", "1"]), "age"] = "3"
    table.loc[(table["sex"] == "m") & (table["age"] == "5"), "age"] = "4"
    table.loc[(table["age"] == "2") & (table["job"] == "yes"), "job"] = "no"
    done = sottovoce.run(
        protocol,
        table,
        schema={**labels, "never": never},
        parties=4,
        seed=1,
        fault="half of parties lie",
        **options,
    )
    assert any("half of parties lie" in warning for warning in done.report["warnings"])
    if done.labels is not None:
        published = done.labels
        assert not ((published["sex"] == "f") & published["age"].isin(["0", "1"])).any()
        assert not ((published["sex"] == "m") & (published["age"] == "5")).any()
        assert not ((published["age"] == "2") & (published["job"] == "yes")).any()


def test_a_party_that_lies_changes_what_is_published() -> None:
    honest, lying = run([]), run("party 2 lies")
    assert honest.marginals is not None
    assert lying.marginals is not None
    # The noise is the same in both, as the seed is.
    assert np.abs(honest.marginals["count"] - lying.marginals["count"]).max() > 20
    assert not any("fault" in warning for warning in honest.report["warnings"])
    (told,) = [warning for warning in lying.report["warnings"] if "fault" in warning]
    assert "faults were declared for this run (party 2 lies)" in told
    assert "fault='party 2 lies'" in lying.report["command"] or "--fault" in lying.report["command"]


@pytest.mark.parametrize("network", [None, "lan"])
@pytest.mark.parametrize("who", ["party 2", "curator"])
def test_a_role_that_dies(who: str, network: str | None) -> None:
    options = {} if network is None else {"transport": "virtual", "network": network}
    with pytest.raises(ConversationError, match=f"{who}.*phase count.*as the fault"):
        run(f"{who} dies in count", **options)


def test_a_sentence_is_written_as_it_is_read() -> None:
    for sentence in (
        "party 3 falls silent after 1 message",
        "party 1 dies in learn after 2 messages",
        "curator pauses 2.5 s in x",
        "party 2 lies in count 3",
        "the network drops 0.5 % of messages in learn",
        "the network delays messages by 0.05 s",
    ):
        faults = read_faults([sentence], parties=3, seed=0)
        assert len(faults) == (4 if "network" in sentence else 1)
        for fault in faults:
            assert str(fault).replace("the curator", "curator") == sentence
            assert fault in read_faults([str(fault)], parties=3, seed=0)


@pytest.mark.parametrize(
    "sentence", ["party 2 dies in {}update", "the network drops 1 % of messages in {}update"]
)
def test_a_phase_may_be_called_so(sentence: str) -> None:
    read = partial(read_faults, parties=3, seed=1)
    faults = read([sentence.format("phase ")])
    assert {fault.phase for fault in faults} == {"update"}
    assert faults == read([sentence.format("")])
    assert read(["party 2 dies in phase 1"])[0].phase == "phase 1"


@pytest.mark.mpi
def test_a_process_that_dies() -> None:
    with pytest.raises(SottovoceError, match=r"party 2.*the process was lost"):
        run("party 2 dies in count", transport="mpi")


@pytest.mark.parametrize("network", [None, "lan"])
def test_a_role_that_falls_silent(network: str | None) -> None:
    options = {} if network is None else {"transport": "virtual", "network": network}
    with pytest.raises(ConversationError, match="from party 2, found nothing in 2 s"):
        run("party 2 falls silent in count", timeout=2.0, **options)


def test_a_pause_takes_its_time_and_changes_nothing_else() -> None:
    usual, paused = (
        run([], transport="virtual", network="lan"),
        run("party 2 pauses 50 s in count", transport="virtual", network="lan"),
    )
    assert usual.report["seconds"] < 30
    assert paused.report["seconds"] > 50
    assert usual.marginals is not None
    assert paused.marginals is not None
    assert usual.marginals.equals(paused.marginals)


def test_a_fault_that_did_not_happen_is_told() -> None:
    warnings = run("party 2 dies in nowhere").report["warnings"]
    (told,) = [warning for warning in warnings if "did not happen" in warning]
    assert "party 2 dies in nowhere: no such place was reached" in told
    assert "the phases of the run are keys, count" in told


@pytest.mark.parametrize("attribute", ["sex", "age"])
def test_a_lie_in_one_count_is_in_no_other(attribute: str) -> None:
    table = pd.DataFrame({"sex": ["f"] * 600, "age": ["0"] * 600})
    records = Records(table, schema=read_schema(SCHEMA))
    faults = read_faults(["party 1 lies in count 3"], parties=1, seed=0)
    lying = lying_records(records, faults, seed=0)
    exact = records.marginal([attribute])
    first, second = lying.marginals([[attribute], [attribute]])
    assert np.array_equal(first, exact)
    assert np.array_equal(second, exact)
    assert untold_lies(lying, faults) == faults
    # What follows from the records has the same number of counts.
    third = next(lying.take(np.arange(600)).marginals([[attribute]]))
    assert third.sum() == 600
    assert not np.array_equal(third, exact)
    assert untold_lies(lying, faults) == []
    assert np.array_equal(lying.marginal([attribute]), exact)


def test_a_party_that_lies_in_one_count_changes_one_table() -> None:
    """The noise is the same in both runs, as the seed is."""
    honest = run([], ways=1, columns="sex,income,race").marginals
    done = run("party 2 lies in count 2", ways=1, columns="sex,income,race")
    assert honest is not None
    assert done.marginals is not None
    changed = honest["count"] != done.marginals["count"]
    assert len(set(honest["attribute_1"][changed])) == 1
    assert any("party 2 lies in count 2" in warning for warning in done.report["warnings"])
    warnings = run("party 2 lies in count 1000").report["warnings"]
    assert any("party 2 lies in count 1000: no such place" in warning for warning in warnings)


def test_a_network_that_delays_takes_longer_and_changes_nothing_else() -> None:
    """The longest chain of messages has some rounds; each takes 2 s more."""
    options: dict[str, Any] = {"transport": "virtual", "network": "lan"}
    usual, delayed = run([], **options), run("the network delays messages by 2 s", **options)
    rounds = usual.report["communication"]["rounds"]
    assert delayed.report["communication"]["rounds"] == rounds
    assert delayed.report["seconds"] - usual.report["seconds"] > 1.9 * rounds
    assert usual.marginals is not None
    assert delayed.marginals is not None
    assert usual.marginals.equals(delayed.marginals)
    in_a_phase = run("the network delays messages by 2 s in count", **options)
    assert 1.9 < in_a_phase.report["seconds"] - usual.report["seconds"] < 1.9 * rounds


def test_a_network_that_drops_ends_the_run() -> None:
    with pytest.raises(ConversationError, match=r"expected|waits"):
        run("the network drops 100 % of messages in count", timeout=2.0)
    run("the network drops 100 % of messages in nowhere", timeout=20.0)
    run("the network drops 0 % of messages", timeout=20.0)


def test_a_network_drops_the_messages_that_its_seed_draws() -> None:
    job = settings(
        {"protocol": "head-count", "fault": "the network drops 30 % of messages", "seed": 5}
    ).job
    frame = _message_frame()
    arrived = []
    for _ in range(2):
        sender, receiver = thread_wires(2)
        wire = with_network_faults(sender, job, is_resumed=False)
        for _ in range(1000):
            wire.send([frame], to=1, timeout=1.0)
        count = 0
        while receiver.arrive(timeout=0.0) is not None:
            count += 1
        arrived.append(count)
    assert arrived[0] == arrived[1]
    # 1000 messages: the deviation is at most 14.5; six of them are missed with 2e-9.
    assert abs(arrived[0] - 700) < 87
    assert with_network_faults(sender, job, is_resumed=True) is sender


def _message_frame() -> bytes:
    """Give a frame of a message, as a role sends it."""
    sender, receiver = thread_wires(2)
    role = Role(sender, protocol="word", kinds=[Word])
    with role.phase("talk"):
        role.send(Word("hello"), to=1)
    arrival = receiver.arrive(timeout=1.0)
    assert arrival is not None
    return bytes(arrival[1])
