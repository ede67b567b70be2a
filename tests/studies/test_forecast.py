"""Forecasts: equal to the ledgers of real runs where they are exact, and to closed forms."""

import csv
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sottovoce
from sottovoce.launch.commands import app
from sottovoce.messages import UsageError
from sottovoce.network import (
    Exchange,
    Host,
    Link,
    Network,
    Route,
    Stack,
    parts_of_rounds,
    read_network,
    replay,
)
from sottovoce.parties import DEMO_SCHEMA, write_schema
from sottovoce.protocols import RECOMMENDED, RECOMMENDED_PURE
from sottovoce.protocols.mst import MST
from sottovoce.runs.job import Job
from sottovoce.runs.settings import settings
from sottovoce.studies import forecast_many
from sottovoce.studies.forecast import forecast
from sottovoce.studies.forecast_conditions import OF_MADE_UP
from sottovoce.studies.forecast_plays import PLAYED_ROWS, only_in_order, play
from sottovoce.studies.forecast_result import Forecast, Method

COLUMNS = ["sex", "income", "race"]
KEYS = {"key_bits": 512, "insecure_test_keys": True}
CASES: dict[str, dict[str, Any]] = {
    "head-count": {"protocol": "head-count"},
    "one-way-masks": {"protocol": "one-way", "set": {"aggregator": "masks"}},
    "one-way-paillier": {"protocol": "one-way", **KEYS},
    "ring": {"protocol": "one-way", "mode": "paper", **KEYS},
}
LIMITED = 1e6


@pytest.fixture(autouse=True)
def _without_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure computation, even where this machine's user has calibrated it."""
    monkeypatch.setenv("SOTTOVOCE_STATE", str(tmp_path / "state"))


SIMPLE = Stack(polling_seconds=0)
ROWS = 1000


def plan(
    case: dict[str, Any],
    *,
    parties: int,
    network: Network | None = None,
    method: Method | None = None,
    seed: int | None = 1,
) -> Forecast:
    chosen = settings({"columns": COLUMNS, "seed": seed, **case, "parties": parties})
    networks = [network or read_network("lan")]
    [(result, timing)] = forecast(chosen.job, rows=ROWS, networks=networks, method=method)
    assert (timing is None) == (result.seconds is None)
    return result


def run(case: dict[str, Any], *, parties: int, seed: int | None = 1) -> sottovoce.Run:
    options = {name: value for name, value in case.items() if name not in ("protocol", "set")}
    return sottovoce.run(
        case["protocol"],
        parties=parties,
        rows=ROWS,
        seed=seed,
        columns=COLUMNS,
        schema=json.loads(write_schema(DEMO_SCHEMA)) if case["protocol"] != "head-count" else None,
        judge=False,
        **options,
        **case.get("set", {}),
    )


def lines_of(result: Forecast) -> dict[tuple[str, str], tuple[int, int, int]]:
    return {
        (line.phase, line.kind): (line.messages, line.payload_bytes, line.frame_bytes)
        for line in result.lines
    }


def measured_lines(real: sottovoce.Run) -> dict[tuple[str, str], tuple[int, int, int]]:
    sums: dict[tuple[str, str], Counter[str]] = {}
    for entry in real.record.entries:
        sums.setdefault((entry.phase, entry.kind), Counter()).update(
            messages=1, payload=entry.payload_bytes, frames=entry.frame_bytes
        )
    return {key: (line["messages"], line["payload"], line["frames"]) for key, line in sums.items()}


@pytest.mark.parametrize("seed", [1, None])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("parties", "method"), [(3, "played"), (6, "predicted")])
def test_messages_and_bytes_are_those_of_a_run(
    name: str, parties: int, method: Method, seed: int | None
) -> None:
    result = plan(CASES[name], parties=parties, method=method, seed=seed)
    real = run(CASES[name], parties=parties, seed=seed)
    sums = real.report["communication"]
    assert result.exact
    assert result.method == method
    assert lines_of(result) == measured_lines(real)
    assert result.messages == sums["messages"]
    assert result.payload_bytes == sums["payload_bytes"]
    assert result.frame_bytes == sums["frame_bytes"]
    if name == "ring" and method == "predicted":
        assert result.rounds is None
        assert result.seconds is None
        assert "rounds change" in result.remarks[0]
    else:
        assert result.rounds == sums["rounds"]


@pytest.mark.parametrize(
    ("protocol", "phases", "parties", "method"),
    [
        ("dp-subn", ("keys", "correlations"), 3, "played"),
        ("adaptive-pairs", ("keys", "round 1"), 3, "played"),
        ("adaptive-pairs", ("keys", "round 1"), 6, "predicted"),
    ],
)
def test_what_depends_on_records_is_marked(
    protocol: str, phases: tuple[str, ...], parties: int, method: Method
) -> None:
    """What comes before anything was learnt is as in every run, and the rest is marked."""
    case = {"protocol": protocol, "set": {"aggregator": "masks"}}
    result, real = plan(case, parties=parties, method=method), run(case, parties=parties)
    assert not result.exact
    assert OF_MADE_UP in result.remarks
    measured = measured_lines(real)
    first = {key: line for key, line in lines_of(result).items() if key[0] in phases}
    assert len(first) >= 5
    assert all(measured[key] == line for key, line in first.items())
    assert len(result.lines) > len(first)


def test_noise_that_hides_all_dependence_does_not_make_messages_exact() -> None:
    """With this budget nothing is learnt, so all messages of this play are known before it."""
    case = {
        "protocol": "dp-subn",
        "epsilon": 1e-3,
        "set": {"aggregator": "masks", "init": "forest"},
    }
    assert not plan(case, parties=3).exact


def test_infinitely_fast_roles_leave_no_computation_out() -> None:
    """Played and predicted seconds are then alike; else predicted ones lack computation."""
    wan = read_network("wan")
    left_out = {
        network.speed: [
            plan(CASES["one-way-masks"], parties=parties, network=network).leaves_out
            for parties in (3, 20)
        ]
        for network in (wan, wan.with_speed(math.inf))
    }
    assert left_out == {1.0: [False, True], math.inf: [False, False]}


def test_what_is_not_predicted_is_played() -> None:
    """AIM asks one party in each round, and chance says which."""
    case = {"protocol": "aim", "set": {"aggregator": "masks"}}
    assert plan(case, parties=14).method == "played"
    assert plan(CASES["ring"], parties=14).rounds is not None
    with pytest.raises(UsageError, match="private-schema does not predict schema/"):
        plan({"protocol": "private-schema"}, parties=101)


def test_what_a_protocol_says_of_its_messages_is_not_found_out_by_a_play(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The play of AIM that shows it takes ten seconds."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a play")

    monkeypatch.setattr(forecast_many, "play", fail)
    case = {"protocol": "aim", "set": {"aggregator": "masks"}}
    with pytest.raises(UsageError, match="found predicted: aim asks one party in each round"):
        plan(case, parties=14, method="predicted")
    with pytest.raises(UsageError, match="at most 100 parties, found 101: aim asks one party"):
        plan(case, parties=101)


@pytest.mark.parametrize("init", ["edges", "forest"])
@pytest.mark.parametrize("parties", [8, 40])
def test_turns_of_many_parties_are_predicted(init: str, parties: int) -> None:
    """Messages and rounds are those of all parties, and seconds nearly so without computation."""
    case = {
        "protocol": "dp-subn",
        "columns": [*COLUMNS, "relationship"],
        "set": {"aggregator": "masks", "init": init},
    }
    instant = read_network("wan").with_speed(math.inf)
    played, predicted = (
        plan(case, parties=parties, network=instant, method=method)
        for method in ("played", "predicted")
    )
    counts = [
        {key: line[0] for key, line in lines_of(each).items()} for each in (played, predicted)
    ]
    assert counts[0] == counts[1]
    assert ("initialisation", "Chosen") in counts[0]
    assert predicted.rounds == played.rounds
    assert predicted.seconds == pytest.approx(played.seconds, rel=0.1)


def test_many_parties_may_have_fewer_turns() -> None:
    """Of so few records 60 parties have two turns, and few parties have three or more."""
    columns = [*COLUMNS, "education"]
    case = {"protocol": "dp-subn", "columns": columns, "set": {"aggregator": "masks"}}
    instant = read_network("wan").with_speed(math.inf)
    played, predicted = (
        plan(case, parties=60, network=instant, method=method) for method in ("played", "predicted")
    )
    assert [line.messages for line in played.lines if line.kind == "Chosen"] == [2]
    assert (predicted.messages, predicted.rounds) == (played.messages, played.rounds)
    assert predicted.seconds == pytest.approx(played.seconds, rel=0.1)


def test_every_turn_of_the_printed_protocol_is_predicted() -> None:
    """Later parties have frontiers of their own, though few parties played."""
    case = {"protocol": "dp-subn", "mode": "paper", **KEYS}
    played, predicted = (plan(case, parties=9, method=method) for method in ("played", "predicted"))
    assert predicted.messages == played.messages
    assert {key: line[0] for key, line in lines_of(predicted).items()} == {
        key: line[0] for key, line in lines_of(played).items()
    }
    handed = [line.messages for line in predicted.lines if line.kind == "Handover"]
    assert handed == [9 * 8 // 2]


@pytest.mark.parametrize(
    ("protocol", "phase", "kind"),
    [
        ("calm", "reports", "Reports"),
        ("one-way-ldp", "reports", "Reports"),
        ("independent", "model", "Model"),
        ("jtree", "single attributes", "Margins"),
    ],
)
def test_messages_that_depend_on_records_are_as_few_parties_show(
    protocol: str, phase: str, kind: str
) -> None:
    """Every party sends or receives as many, and their lengths are those of parties' records."""
    case = {"protocol": protocol, "epsilon": 50.0}
    played, predicted = (
        plan(case, parties=20, method=method) for method in ("played", "predicted")
    )
    measured, expected = (lines_of(each)[phase, kind] for each in (played, predicted))
    assert expected[0] == measured[0]
    assert expected[1] == pytest.approx(measured[1], rel=0.15)
    assert predicted.messages == played.messages
    assert predicted.rounds == played.rounds
    assert not predicted.exact


@pytest.mark.parametrize("name", ["head-count", "one-way-masks"])
def test_epsilon_is_that_of_a_run(name: str) -> None:
    result, privacy = plan(CASES[name], parties=3), run(CASES[name], parties=3).report["privacy"]
    assert result.claimed_epsilon == privacy["claimed_epsilon"]
    assert result.claimed_coalition == privacy["claimed_coalition"]
    assert result.epsilon == {**privacy["epsilon"], **privacy["coalitions"]}
    assert plan(CASES[name], parties=6, method="predicted").epsilon == {}


@pytest.mark.parametrize(("parties", "method"), [(5, "played"), (1000, "predicted")])
def test_a_head_count_takes_what_its_bytes_take(parties: int, method: Method) -> None:
    """All answers and all frames that end parts come one after another to the curator."""
    narrow = Host(downlink=Link(bandwidth=LIMITED))
    network = Network(name="t", between=Link(latency=0.05), stack=SIMPLE, speed=math.inf)
    free = plan(CASES["head-count"], parties=parties, network=network, method=method)
    assert free.seconds == pytest.approx(0.05, abs=1e-5)
    wire_bytes = SIMPLE.wire_bytes(8 + 64) + SIMPLE.wire_bytes(64)
    expected = 0.05 + parties * 8 * wire_bytes / LIMITED
    limited = network.with_host("curator", narrow)
    result = plan(CASES["head-count"], parties=parties, network=limited, method=method)
    assert result.seconds == pytest.approx(expected, abs=1e-4)
    assert sum(share.seconds for share in result.shares) == pytest.approx(result.seconds, abs=1e-5)


@pytest.mark.parametrize("network", ["lan", "wan", "10ms/2Mbit/s"])
@pytest.mark.parametrize("name", ["one-way-masks", "one-way-paillier"])
def test_both_methods_agree_without_computation(name: str, network: str) -> None:
    """The rounds of many parties stand for their ledger; what is left is who sends first."""
    instant = read_network(network).with_speed(math.inf)
    played, predicted = (
        plan(CASES[name], parties=8, network=instant, method=method)
        for method in ("played", "predicted")
    )
    assert played.seconds is not None
    assert predicted.seconds == pytest.approx(played.seconds, rel=0.1)


@pytest.mark.parametrize("name", ["one-way-paillier", "ring", "dp-subn"])
def test_short_keys_in_plays_change_no_prediction(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plays show rounds alone; bytes are predicted from the key that was asked for."""
    case = {**CASES.get(name, {"protocol": name}), "key_bits": 640}
    instant = read_network("wan").with_speed(math.inf)
    plans = []
    for bits in (640, 512):
        monkeypatch.setattr("sottovoce.studies.forecast_plays.PLAYED_KEY_BITS", bits)
        case |= {"insecure_test_keys": True}
        plans.append(plan(case, parties=20, network=instant, method="predicted"))
    assert plans[0] == plans[1]
    assert plans[0].payload_bytes > 0


@pytest.mark.parametrize(("name", "plays"), [("ring", 1), ("one-way-masks", 1), ("mst", 2)])
def test_a_ring_needs_no_second_play(
    name: str, plays: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One play shows that its rounds grow with the number of parties.

    MST asks pairs by turns, of which a play with few parties has others than one with more.
    """
    played: list[int] = []

    def counted(job: Job, **options: Any) -> Any:
        played.append(job.parties)
        return play(job, **options)

    monkeypatch.setattr(forecast_many, "play", counted)
    predicted = plan(CASES.get(name, {"protocol": name}), parties=200, method="predicted")
    assert len(played) == plays
    assert (predicted.rounds is None) == (name != "one-way-masks")


def test_rounds_carry_all_bytes() -> None:
    """Whatever travels together has the bytes on the wire of all that it stands for."""
    stack, parties = Stack(), 7
    exchanges = [
        Exchange(Route.UP, 7, 500),
        Exchange(Route.DOWN, 10, 100_000),
        Exchange(Route.ACROSS, 7 * 60 + 3, 200),
        Exchange(Route.ACROSS, 7, 70_000),
    ]
    parts = parts_of_rounds([exchanges[:2], exchanges[2:]], parties=parties, stack=stack)
    sent: Counter[tuple[int, int]] = Counter()
    received: Counter[tuple[int, int]] = Counter()
    total = 0
    for rank, part in enumerate(parts):
        for step in part:
            assert step.peer != rank
            if step.sent:
                sent[rank, step.peer] += step.size
                total += stack.wire_bytes(step.size)
            else:
                received[step.peer, rank] += step.size
    assert sent == received
    whole = sum(exchange.messages * stack.wire_bytes(exchange.size) for exchange in exchanges)
    assert total == pytest.approx(whole, rel=0.02)
    assert replay(parts, Network(name="t", stack=stack)).seconds > 0


def test_a_schema_says_what_is_counted(tmp_path: Path) -> None:
    """A table of one label more makes every party's words one cell longer."""
    small, large = (
        plan({**CASES["one-way-masks"], "columns": columns}, parties=3)
        for columns in (["sex"], ["sex", "income"])
    )
    assert small.payload_bytes < large.payload_bytes
    path = tmp_path / "schema.json"
    path.write_text(write_schema(DEMO_SCHEMA))
    given = plan({**CASES["one-way-masks"], "schema": str(path)}, parties=3)
    assert lines_of(given) == lines_of(plan(CASES["one-way-masks"], parties=3))


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_noise_is_that_of_every_run(epsilon: float) -> None:
    """A head count changes by 1 with a record, so its Laplace noise has the scale 1 / epsilon."""
    [line] = plan({"protocol": "head-count", "epsilon": epsilon}, parties=3).noise
    assert (line.phase, line.releases, line.sensitivity) == ("count", 1, 1)
    assert line.scale == pytest.approx(1 / epsilon)
    masks = {**CASES["one-way-masks"], "epsilon": epsilon}
    releases = run(masks, parties=3).record.roles[1].releases
    assert [(line.sensitivity, line.scale) for line in plan(masks, parties=3).noise] == [
        (release.sensitivity, release.scale) for release in releases
    ]


def test_memory_grows_by_records_and_frames() -> None:
    """A record of 15 attributes takes a party's process less than 200 bytes, at any number."""
    job = settings({"protocol": "one-way", "set": {"aggregator": "masks"}, "parties": 20}).job
    lan = [read_network("lan")]
    few, many = (forecast(job, rows=rows, networks=lan)[0][0].memory for rows in (2000, 4_000_000))
    assert 15 * 200_000 < many.party - few.party < 200 * 200_000
    values = 15 * (4_000_000 - 2000)
    assert values < many.curator - few.curator < 8 * values, "the curator publishes so many rows"
    more = settings({"protocol": "one-way", "set": {"aggregator": "masks"}, "parties": 1000}).job
    [(result, _)] = forecast(more, rows=2000, networks=lan)
    assert result.method == "predicted"
    masked = next(line for line in result.lines if line.kind == "Masked")
    assert result.memory.curator - few.curator > masked.frame_bytes


def test_what_a_protocol_predicts_of_its_result_is_shown() -> None:
    words = ["plan", "adaptive-pairs", "--columns", "sex", "income", "--rows", "500"]
    result = CliRunner().invoke(app, [*words, "--network", "lan", "--json"])
    assert result.exit_code == 0, result.output
    [parsed] = json.loads(result.output)
    assert 0 <= float(parsed["figures"]["predicted distance of a pair"]) <= 1
    assert parsed["memory"]["curator"] > parsed["memory"]["party"] > 0


@pytest.mark.parametrize("protocol", ["dp-subn", "one-way"])
def test_noise_leads_further_with_less_epsilon(protocol: str) -> None:
    """With much epsilon only a sample's own dependence is left, with little one noise is most."""
    off = {}
    for epsilon in ("0.02", "50"):
        words = ["plan", protocol, "--columns", "sex", "race", "education", "--rows", "2000"]
        words += ["--epsilon", epsilon, "--network", "lan", "--set", "aggregator=masks", "--json"]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        [parsed] = json.loads(result.output)
        text = parsed["figures"]["distance of a pair if attributes are independent"]
        distance, exact = (float(word) for word in re.findall(r"0\.\d+", text))
        off[epsilon] = distance / exact
    assert off["0.02"] > 1.3 * off["50"]
    assert off["50"] < 2.5


def test_grids_and_counts_have_no_distance() -> None:
    for words in (["dp-subn", "--epsilon", "1", "2"], ["head-count"]):
        result = CliRunner().invoke(
            app, ["plan", *words, "--columns", "sex", "race", "--rows", "500", "--json"]
        )
        assert result.exit_code == 0, result.output
        plans = json.loads(result.output)
        assert not [name for plan in plans for name in plan["figures"] if "independent" in name]


def test_the_command_plans_a_grid(tmp_path: Path) -> None:
    table = tmp_path / "plan.csv"
    words = ["plan", "head-count", "--parties", "2", "40", "--epsilon", "1", "2"]
    words += ["--network", "lan", "wan", "--rows", "100"]
    result = CliRunner().invoke(app, [*words, "--speed", "inf", "--csv", str(table)])
    assert result.exit_code == 0, result.output
    rows = [*csv.DictReader(table.read_text().splitlines())]
    assert len(rows) == 8
    assert {(row["parties"], row["method"]) for row in rows} == {
        ("2", "played"),
        ("40", "predicted"),
    }
    assert all(row["messages"] == row["parties"] for row in rows)
    assert {row["epsilon"] for row in rows} == {"1.0", "2.0"}
    for row in rows:
        parts = [
            float(value)
            for name, value in row.items()
            if name.endswith("_seconds") and "processor" not in name
        ]
        assert sum(parts) == pytest.approx(float(row["seconds"]), abs=1e-5)
    for row in rows:
        is_played = row["method"] == "played"
        assert row["count noise scale"] == (str(1 / float(row["epsilon"])) if is_played else "")
        assert int(row["party_memory_bytes"]) > 0
    assert result.output.count("  predicted  ") == 4
    printed = CliRunner().invoke(app, [*words, "--json"])
    assert len(json.loads(printed.output)) == 8


def test_the_command_draws_several_protocols(tmp_path: Path) -> None:
    out = tmp_path / "figures"
    words = ["plan", "head-count", "noisy-marginals", "--parties", "2", "3", "5", "--speed", "inf"]
    words += [
        "--network",
        "lan",
        "wan",
        "--columns",
        "sex",
        "race",
        "--rows",
        "100",
        "--out",
        str(out),
    ]
    words += ["--figure", "seconds:parties:network", "bytes:parties"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    names = ("seconds-over-parties-by-network", "bytes-over-parties")
    for name in names:
        assert f"figure   {out / name}.svg, .pdf and .csv" in result.output
    rows = [*csv.DictReader((out / f"{names[0]}.csv").read_text().splitlines())]
    assert {row["line"] for row in rows} == {"head-count", "noisy-marginals"}
    assert len(rows) == 12
    assert all(float(row["seconds"]) > 0 for row in rows)
    # Bytes are the same on both networks.
    assert len((out / f"{names[1]}.csv").read_text().splitlines()) == 7


def test_what_a_protocol_publishes_hides_no_setting(tmp_path: Path) -> None:
    """dp-subn publishes a line called network, and a grid has a column of that name."""
    table = tmp_path / "plan.csv"
    words = ["plan", "dp-subn", "--columns", "sex", "income", "race", "--rows", "300"]
    words += ["--set", "aggregator=masks", "--network", "lan", "wan", "--csv", str(table)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    rows = [*csv.DictReader(table.read_text().splitlines())]
    assert [row["network"] for row in rows] == ["lan", "wan"]
    assert all(row["published network"] not in ("", "lan", "wan") for row in rows)


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        ("latency:parties", "found 'latency' in latency:parties"),
        ("error:parties", "found 'error' in error:parties"),
        ("seconds:party", "found 'party' in seconds:party"),
        ("seconds:parties:aggregator", "found 'aggregator' in seconds:parties:aggregator"),
    ],
)
def test_a_wrong_figure_is_refused_before_any_play(
    figure: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(*_: Any, **__: Any) -> None:
        pytest.fail("a play began")

    monkeypatch.setattr("sottovoce.studies.forecast_grid.forecast", play)
    result = CliRunner().invoke(app, ["plan", "head-count", "--figure", figure])
    assert isinstance(result.exception, UsageError)
    assert text in str(result.exception)


def test_a_figure_of_what_only_a_play_names_is_drawn(tmp_path: Path) -> None:
    words = ["plan", "head-count", "--rows", "100", "--epsilon", "1", "2", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, [*words, "--figure", "count noise scale:epsilon"])
    assert result.exit_code == 0, result.output
    wrong = CliRunner().invoke(app, [*words, "--figure", "sum noise scale:epsilon"])
    assert "found 'sum noise scale'" in str(wrong.exception)
    (drawn,) = tmp_path.glob("*.csv")
    scales = {
        float(row["count noise scale"]) for row in csv.DictReader(drawn.read_text().splitlines())
    }
    assert scales == {1.0, 0.5}


@pytest.mark.parametrize("name", ["epsilon", "parties", "rows", "network", "mode", "delta"])
def test_what_can_be_drawn_is_accepted_before_a_play(name: str, tmp_path: Path) -> None:
    words = ["plan", "noisy-marginals", "--rows", "100", "--columns", "sex", "race"]
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path), "--figure", f"bytes:{name}"])
    assert result.exit_code == 0, result.exception


def test_the_command_says_what_one_run_costs() -> None:
    words = ["plan", "one-way", "--set", "aggregator=masks", "--network", "wan", "--rows", "100"]
    result = CliRunner().invoke(app, [*words, "--columns", "sex"])
    assert result.exit_code == 0, result.output
    for text in ("in 4 rounds", "latency: ", "keys   Introduction", "made-up records"):
        assert text in result.output
    both = CliRunner().invoke(
        app, [*words, "--set", "aggregator=clear", "--columns", "sex", "--json"]
    )
    assert [each["settings"]["aggregator"] for each in json.loads(both.output)] == [
        "masks",
        "clear",
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--rows 2", "expected at least as many rows as parties (3), found 2"),
        ("--method guess", "expected --method played or predicted, found 'guess'"),
        ("--method predicted", "expected more than 3 parties for --method predicted, found 3"),
        ("--speed 0", "expected a number above 0 for --speed, found 0"),
        ("--network nowhere", "expected a network"),
        ("--set epsilon", "expected --set NAME=VALUE, found 'epsilon'"),
        ("--set value=1 value=1", "expected each value of --set once, found value=1 twice"),
        ("--csv no/such/plan.csv", "expected a folder for --csv no/such/plan.csv"),
        ("--schema private", "expected no --schema private for head-count"),
    ],
)
def test_mistakes_are_named(words: str, text: str) -> None:
    result = CliRunner().invoke(app, ["plan", "head-count", *words.split()])
    assert isinstance(result.exception, UsageError)
    assert text in str(result.exception)
    assert "\n" not in str(result.exception)


def test_without_a_name_the_recommended_protocol_is_planned() -> None:
    for delta, protocol in (("1e-9", RECOMMENDED), ("0", RECOMMENDED_PURE)):
        words = ["plan", "--columns", "sex,income", "--parties", "20", "--delta", delta, "--json"]
        (forecast, *_) = json.loads(CliRunner().invoke(app, words).output)
        assert forecast["protocol"] == protocol


@pytest.mark.parametrize("words", ["--parties 3,100", "--parties=3,100", "--epsilon 0.5 1,2"])
def test_a_comma_between_numbers_is_named(words: str) -> None:
    result = CliRunner().invoke(app, ["plan", "head-count", *words.split()])
    assert result.exit_code == 2
    assert re.search("expected numbers without commas for --(parties|epsilon)", result.output)


def test_the_page_has_every_plan_of_the_grid(tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    words = ["plan", "head-count", "--parties", "2", "40", "--network", "lan", "wan"]
    result = CliRunner().invoke(app, [*words, "--rows", "100", "--page", str(page)])
    assert result.exit_code == 0, result.output
    text = page.read_text()
    for name in ("lan, 2 parties", "wan, 2 parties", "lan, 40 parties", "wan, 40 parties"):
        assert f"<summary>{name}</summary>" in text
        assert f"{name}: seconds " in text, "in the description of the chart"
        assert f">{name}</text>" in text, "beside its bar"
    assert text.count("NoisyCount") == 4
    assert "noise scale 1 (1 times)" in text
    one = CliRunner().invoke(app, ["plan", "head-count", "--network", "wan", "--page", str(page)])
    assert one.exit_code == 0, one.output
    assert "All plans" not in page.read_text()
    with pytest.raises(UsageError, match="expected a folder for --page"):
        wrong = ["plan", "head-count", "--page", str(tmp_path / "none" / "plan.html")]
        CliRunner().invoke(app, wrong, catch_exceptions=False)


def test_a_number_of_rows_that_nobody_said_is_named() -> None:
    words = ["plan", "head-count", "--network", "wan"]
    plain, lan = (CliRunner().invoke(app, [*words, *more]) for more in ([], ["lan"]))
    for result in (plain, lan):
        assert result.exit_code == 0, result.output
        assert result.stdout.endswith("no --rows: for 45,222 rows, as the demo table has\n")
    stated = CliRunner().invoke(app, [*words, "--rows", "45222"])
    assert "no --rows" not in stated.stdout
    machine = CliRunner().invoke(app, [*words, "--json"])
    assert json.loads(machine.stdout)


class AuthorsOwn(MST):
    """A plug-in, which may send its rows to the parties."""

    name = "authors-own"


def test_only_built_in_protocols_draw_fewer_rows_where_an_order_is_played() -> None:
    """The messages of a plug-in may have as many rows as it was asked for."""
    left_open = {"epsilon": 1.0}
    few = only_in_order(Job(protocol="mst", parameters=left_open))
    assert few.parameters == {**left_open, "synthetic_rows": PLAYED_ROWS}
    asked = {"epsilon": 1.0, "synthetic_rows": 7}
    assert only_in_order(Job(protocol="mst", parameters=asked)).parameters == asked
    reference = f"{AuthorsOwn.__module__}:AuthorsOwn"
    assert only_in_order(Job(protocol=reference, parameters=left_open)).parameters == left_open


def test_a_parameter_with_the_name_of_a_figure_has_a_column_of_its_own() -> None:
    """adaptive-pairs has the parameter `rounds`, and every forecast has rounds of messages."""
    measurements, rounds = [], []
    for number in (1, 2):
        plan = sottovoce.plan("adaptive-pairs", parties=2, rows=50, rounds=number, method="played")
        measurements.append(plan.row["rounds_asked"])
        rounds.append(plan.row["rounds"])
    assert measurements == ["1", "2"]
    assert rounds[1] == rounds[0] + 2


def test_the_grid_tells_them_apart_too() -> None:
    words = ["plan", "adaptive-pairs", "--parties", "2", "--rows", "50", "--network", "lan"]
    words += ["--set", "rounds=1", "--set", "rounds=2", "--no-alternatives"]
    printed = CliRunner().invoke(app, words).output
    head = next(line for line in printed.splitlines() if line.startswith("parties"))
    assert "rounds_asked" in head
    assert head.replace("rounds_asked", "").count("rounds") == 1
