"""Options that cost less: their figures are those of forecasts of their own."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sottovoce.launch.commands import app
from sottovoce.network import read_network
from sottovoce.runs.settings import settings
from sottovoce.studies.forecast import forecast
from sottovoce.studies.forecast_grid import forecast_grid
from sottovoce.studies.forecast_result import Forecast

ROWS = 300
SHORT: dict[str, Any] = {
    "columns": ["sex", "income", "race"],
    "key_bits": 512,
    "insecure_test_keys": True,
    "seed": 1,
}
NETWORKS = [read_network("wan").with_speed(float("inf"))]


def job_of(protocol: str, **options: Any) -> Any:
    return settings({**SHORT, "protocol": protocol, "parties": 3, **options}).job


def planned(*jobs: Any, alternatives: bool = True) -> Forecast:
    results = [*forecast_grid(jobs, rows=ROWS, networks=NETWORKS, alternatives=alternatives)]
    return results[0][0]


def test_an_alternative_costs_what_its_own_forecast_says() -> None:
    plan = planned(job_of("one-way"))
    assert [other.option for other in plan.alternatives] == [
        "--set aggregator=masks",
        "--set aggregator=clear",
    ]
    for other in plan.alternatives:
        aggregator = other.option.rpartition("=")[2]
        job = job_of("one-way", set={"aggregator": aggregator})
        [(alone, _)] = forecast(job, rows=ROWS, networks=NETWORKS)
        assert other.frame_bytes == alone.frame_bytes < plan.frame_bytes
        assert (other.rounds, other.seconds) == (alone.rounds, alone.seconds)
    masks, clear = plan.alternatives
    assert masks.change.startswith("the same trust")
    assert clear.change.startswith("another trust: the curator sees every party's own table")


@pytest.mark.parametrize(
    ("protocol", "options", "names"),
    [
        ("head-count", {}, []),
        ("one-way", {"set": {"aggregator": "masks"}}, ["--set aggregator=clear"]),
        ("one-way", {"set": {"aggregator": "clear"}}, []),
        ("one-way", {"mode": "paper", "parties": 8}, ["--mode rigorous"]),
    ],
)
def test_only_what_saves_much_is_named(
    protocol: str, options: dict[str, Any], names: list[str]
) -> None:
    plan = planned(job_of(protocol, **options))
    assert [other.option for other in plan.alternatives] == names


def test_fewer_rounds_are_another_result() -> None:
    gaussian = {"aggregator": "clear", "noise": "gaussian"}
    plan = planned(job_of("adaptive-pairs", set=gaussian))
    [other] = plan.alternatives
    assert other.option == "--set rounds=2"
    assert other.rounds is not None
    assert plan.rounds is not None
    assert other.rounds < plan.rounds
    assert "another result (predicted distance of a pair " in other.change
    assert planned(job_of("adaptive-pairs", set={**gaussian, "rounds": "2"})).alternatives == []


def test_grids_compare_options_themselves() -> None:
    jobs = [job_of("one-way", set={"aggregator": name}) for name in ("paillier", "masks")]
    assert planned(*jobs).alternatives == []
    assert planned(jobs[0], alternatives=False).alternatives == []
    assert planned(job_of("one-way", parties=101)).alternatives == []


def test_the_command_names_them(tmp_path: Path) -> None:
    words = ["plan", "one-way", "--columns", "sex", "race", "--rows", "300", "--speed", "inf"]
    result = CliRunner().invoke(app, [*words, "--network", "wan"])
    assert result.exit_code == 0, result.output
    assert "cheaper              --set aggregator=masks: " in result.output
    page = tmp_path / "plan.html"
    result = CliRunner().invoke(app, [*words, "--network", "lan", "wan", "--page", str(page)])
    assert "cheaper on wan  --set aggregator=masks: " in result.output
    assert "heaper on wan: --set aggregator=masks: " in page.read_text()
    result = CliRunner().invoke(app, [*words, "--no-alternatives"])
    assert result.exit_code == 0, result.output
    assert "cheaper" not in result.output
