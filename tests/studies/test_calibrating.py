"""Calibrations: their costs explain plays, runs under them repeat themselves, files are checked."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

import sottovoce
from sottovoce.crypto.paillier import expected_candidates
from sottovoce.launch.commands import app
from sottovoce.messages import UsageError, WorkKind, WorkMeter, count_work, metered
from sottovoce.network import read_network
from sottovoce.runs.calibration import (
    Calibration,
    PaillierCost,
    UnitCost,
    calibration_path,
    read_calibration,
    unit_seconds,
    write_calibration,
)
from sottovoce.runs.made_up import run_on_made_up
from sottovoce.runs.settings import settings
from sottovoce.studies.calibrating import calibrate, units_in_play
from sottovoce.studies.forecast import forecast
from sottovoce.studies.forecast_plays import processor_seconds
from sottovoce.studies.forecast_result import Forecast, Method

MASKS = {"aggregator": "masks"}
PAGE_BYTES = 52
"""Of a page of ciphertexts, beside them."""
FOUR = ["sex", "race", "relationship", "income"]
UNIT = 1e-3
METHODS: tuple[Method, ...] = ("predicted", "played")
"""Seconds of a message in the calibration that tests make up."""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOTTOVOCE_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def made_up_costs(**costs: float) -> Calibration:
    """Make a calibration in which some kinds of work cost something, and others nothing."""
    return Calibration(
        machine="here",
        processor="any",
        cores=1,
        versions={},
        date="2026-01-01",
        took=0,
        costs=[UnitCost(kind=kind, seconds=seconds) for kind, seconds in costs.items()],
        paillier=[PaillierCost(bits=1024, encrypt=1, add=1, decrypt=1)],
    )


def plan(parties: int, calibration: Calibration | None, **options: Any) -> Forecast:
    job = settings({"protocol": "one-way", "set": MASKS, "parties": parties, **options}).job
    instant = [read_network("none")]
    return forecast(job, rows=1200, networks=instant, calibration=calibration)[0][0]


def test_work_is_counted_only_for_a_meter_and_once_where_it_is_kept() -> None:
    count_work(WorkKind.STEP, 1)
    meter, other = WorkMeter(), WorkMeter()
    with metered(meter):
        count_work(WorkKind.STEP, 2)
        count_work(WorkKind.STEP, 3)
        count_work(WorkKind.LAW, 5, once="law")
        count_work(WorkKind.LAW, 5, once="law")
        with metered(other):
            count_work(WorkKind.LAW, 5, once="law")
    assert meter.units == {(WorkKind.STEP, 0): 5, (WorkKind.LAW, 0): 5}
    assert other.units == {(WorkKind.LAW, 0): 5}


def test_costs_between_sizes_follow_a_power() -> None:
    known = [(1024, 1.0), (2048, 4.0), (4096, 32.0)]
    assert [unit_seconds(known, size) for size in (1024, 2048, 4096)] == [1, 4, 32]
    assert unit_seconds(known, 3072) == pytest.approx(4 * 1.5**3)
    assert unit_seconds(known, 512) == pytest.approx(1 / 4)
    assert unit_seconds([], 512) == 0


def test_every_role_takes_what_its_messages_cost() -> None:
    """Three messages of a head count: each party sends one, and the curator receives three."""
    result = plan(3, made_up_costs(STEP=UNIT), protocol="head-count", set={})
    assert result.processor is not None
    assert result.processor.basis == "calibrated"
    assert (result.processor.curator, result.processor.party) == (3 * UNIT, UNIT)
    # A party sends, and the curator reads three messages after that.
    assert result.seconds == pytest.approx(4 * UNIT)


def test_each_message_is_counted_where_it_leaves_and_where_it_arrives() -> None:
    """What a play takes is divided by these units."""
    job = settings({"protocol": "one-way", "set": MASKS, "parties": 4, "seed": 1}).job
    messages = len(run_on_made_up(job, rows=100).entries)
    assert units_in_play(WorkKind.STEP, job) == pytest.approx(2 * messages)


def test_two_plays_under_a_calibration_take_the_same_seconds() -> None:
    job = settings({"protocol": "one-way", "key_bits": 512, "insecure_test_keys": True}).job
    job = msgspec.structs.replace(job, seed=1)
    pricing = made_up_costs(STEP=UNIT, COUNTED=1e-9, NOISE=1e-7, MULTIPLICATION=1e-6).pricing()
    first, second = (run_on_made_up(job, rows=300, costs=pricing) for _ in range(2))
    assert first.entries == second.entries
    assert first.seconds == second.seconds > 0


def test_no_play_depends_on_the_luck_of_the_key_search() -> None:
    """Without a seed, each play finds a key of its own; 1,000 parties have one curator."""
    costs = made_up_costs(PRIME_TEST=1e-3)
    options: dict[str, Any] = {"set": {}, "key_bits": 512, "insecure_test_keys": True}
    expected = expected_candidates(512) * 1e-3
    for parties in (3, 1000):
        result = plan(parties, costs, columns=["sex"], **options)
        assert result.processor is not None
        assert result.processor.curator == pytest.approx(expected, rel=1e-3)
        assert result.processor.party == 0


def test_a_virtual_run_under_a_calibration_repeats_itself(state: Path) -> None:
    options: dict[str, Any] = {"transport": "virtual", "network": "wan", "seed": 1}
    options["computation"] = "calibrated"
    with pytest.raises(UsageError, match="run `sottovoce calibrate`"):
        sottovoce.run("head-count", rows=60, judge=False, **options)
    write_calibration(made_up_costs(STEP=UNIT))
    assert calibration_path().parent == state
    first, second = (sottovoce.run("head-count", rows=60, judge=False, **options) for _ in "12")
    assert first.report["seconds"] == second.report["seconds"] > 0.05
    with pytest.raises(UsageError, match="virtual beside --computation calibrated"):
        sottovoce.run("head-count", rows=60, computation="calibrated")


@pytest.mark.parametrize("parties", [20, 40])
def test_computation_of_many_parties_is_that_of_a_play(parties: int) -> None:
    """Beyond thirty parties, each talks to some of the others only."""
    costs = made_up_costs(STEP=UNIT, COUNTED=1e-7, NOISE=1e-6, MASK=1e-7)
    predicted = plan(parties, costs)
    job = settings({"protocol": "one-way", "set": MASKS, "parties": parties}).job
    instant = [read_network("none")]
    [(played, _)] = forecast(job, rows=1200, networks=instant, calibration=costs, method="played")
    assert (predicted.method, played.method) == ("predicted", "played")
    assert predicted.processor is not None
    assert played.processor is not None
    assert predicted.processor.curator == pytest.approx(played.processor.curator, rel=0.02)
    assert predicted.processor.party == pytest.approx(played.processor.party, rel=0.1)
    assert predicted.seconds == pytest.approx(played.seconds, rel=0.25)


def test_computation_that_depends_on_records_is_near_that_of_a_play() -> None:
    """Chance decides what is chosen, so plays with few parties differ by more than their number."""
    costs = made_up_costs(STEP=UNIT, COUNTED=1e-7, NOISE=1e-6, MASK=1e-7, SAMPLED=1e-8, RAKED=1e-9)
    job = settings(
        {
            "protocol": "dp-subn",
            "set": MASKS,
            "columns": ["sex", "race", "relationship", "income"],
            "parties": 40,
            "seed": 1,
        }
    ).job
    networks = [read_network("none")]
    [(predicted, _)], [(played, _)] = (
        forecast(job, rows=3000, networks=networks, calibration=costs, method=method)
        for method in METHODS
    )
    assert predicted.processor is not None
    assert played.processor is not None
    assert predicted.processor.curator == pytest.approx(played.processor.curator, rel=0.2)
    assert [remark for remark in predicted.remarks if "a party had more records there" in remark]


def test_chance_is_not_multiplied_by_the_number_of_parties() -> None:
    """Pairs are estimated in as long among 1,000 parties as among 100."""
    costs = made_up_costs(CELL=1e-8, ARRAY=1e-6, RAKED=1e-9, TABLE=1e-6)
    curator = []
    for parties in (100, 1000):
        result = plan(parties, costs, protocol="adaptive-pairs", set=MASKS, columns=FOUR)
        assert result.processor is not None
        curator.append(result.processor.curator)
    assert curator[0] == curator[1] > 0


def test_the_curator_adds_up_the_ciphertexts_of_all_parties() -> None:
    """Each further party costs as many multiplications as one of few sends ciphertexts.

    How many these are is chance, so that all plays have a seed.
    """
    costs = made_up_costs(MULTIPLICATION=1e-6)
    small, more, many = (
        plan(
            parties,
            costs,
            protocol="dp-ccbn",
            set={"aggregator": "paillier"},
            columns=FOUR,
            key_bits=512,
            insecure_test_keys=True,
            seed=1,
        )
        for parties in (3, 100, 1000)
    )
    assert (small.method, more.method) == ("played", "predicted")
    assert more.processor is not None
    assert many.processor is not None
    pages = [line for line in small.lines if line.kind == "Encrypted"]
    sent = sum(page.payload_bytes - page.messages * PAGE_BYTES for page in pages) / 3 / 128
    assert sent > 2
    more_seconds = many.processor.curator - more.processor.curator
    assert more_seconds == pytest.approx(900 * sent * 1e-6, abs=2e-6)


@pytest.mark.parametrize("copies", [5, 9])
def test_the_curator_adds_up_ciphertexts_of_any_message(
    copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a protocol of somebody else are numbers, too, and other marked bytes are not."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    seconds = []
    for parties in (100, 1000):
        result = plan(
            parties,
            made_up_costs(MULTIPLICATION=1e-6),
            protocol="encrypting:EncryptedCounts",
            set={"copies": copies},
            columns=FOUR,
            key_bits=512,
            insecure_test_keys=True,
            seed=1,
        )
        assert result.method == "predicted"
        assert result.processor is not None
        seconds.append(result.processor.curator)
    assert seconds[1] - seconds[0] == pytest.approx(900 * copies * 1e-6, abs=2e-6)


def test_without_a_calibration_the_plan_says_so() -> None:
    words = ["plan", "one-way", "--set", "aggregator=masks", "--network", "lan"]
    words += ["--rows", "400", "--columns", "sex,income"]
    few = CliRunner().invoke(app, [*words, "--parties", "3"])
    many = CliRunner().invoke(app, [*words, "--parties", "20"])
    assert "measured in the play" in few.stdout
    assert "left out: `sottovoce calibrate`" in many.stdout
    assert "+ computation" in many.stdout
    write_calibration(made_up_costs(STEP=UNIT))
    for parties in ("3", "20"):
        result = CliRunner().invoke(app, [*words, "--parties", parties])
        assert "by the calibration of this machine" in result.stdout
        assert "+ computation" not in result.stdout
    with pytest.raises(UsageError, match="--computation measured or calibrated, found 'x'"):
        CliRunner().invoke(app, [*words, "--computation", "x"], catch_exceptions=False)


def test_a_damaged_file_is_an_error_that_says_what_to_do(state: Path) -> None:
    assert read_calibration() is None
    state.mkdir()
    calibration_path().write_text("{")
    with pytest.raises(UsageError, match="`sottovoce calibrate` makes a new one"):
        read_calibration()


def test_this_machine_is_calibrated() -> None:
    """All kinds that take time have a cost, and a play under them takes about what it takes."""
    started = time.process_time()
    calibration = calibrate()
    assert time.process_time() - started < 60, "processor seconds; a busy machine takes longer"
    costs = {(cost.kind, cost.size): cost.seconds for cost in calibration.costs}
    assert {kind for kind, _ in costs} == {kind.name for kind in WorkKind}
    assert all(seconds >= 0 for seconds in costs.values())
    by_size = [costs["MULTIPLICATION", bits] for bits in (512, 1024, 2048, 4096)]
    assert by_size == sorted(by_size)
    write_calibration(calibration)
    assert read_calibration() == calibration
    job = settings({"protocol": "dp-subn", "set": MASKS, "seed": 1}).job
    run_on_made_up(job, rows=1000)
    measured, priced = (
        sum(processor_seconds(run_on_made_up(job, rows=20_000, costs=costs)))
        for costs in (None, calibration.pricing())
    )
    assert measured / 3 < priced < 3 * measured
