"""report.json is what its published schema says, for every kind of protocol."""

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sottovoce
from sottovoce.report.report import as_dictionary, parse_report
from sottovoce.report.schema import report_schema
from sottovoce.runs.infinity import in_json

SCHEMA = Path(__file__).parents[2] / "docs" / "report-schema.json"
KEYS: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True}
RUNS: list[tuple[str, dict[str, Any]]] = [
    ("head-count", {"epsilon": 1.0}),
    ("dp-subn", {"mode": "paper", "epsilon": 4.0, **KEYS}),
    ("dp-subn", {"aggregator": "masks"}),
    ("noisy-marginals", {"mode": "paper", "ways": 1, **KEYS}),  # infinite for another party
    ("calm", {"ways": 1}),
    ("clldp-naive-bayes", {"epsilon": 4.0}),
    ("no-priv-jtree", {}),
]


def test_the_published_schema_is_the_structs() -> None:
    """`make schema` writes it anew."""
    assert json.loads(SCHEMA.read_text()) == report_schema()


@pytest.mark.parametrize(("protocol", "options"), RUNS)
def test_what_runs_write_follows_the_schema(
    protocol: str, options: dict[str, Any], tmp_path: Path
) -> None:
    run = sottovoce.run(protocol, rows=600, parties=3, seed=1, judge=False, **options)
    run.save(tmp_path)
    written = json.loads((tmp_path / "report.json").read_text())
    jsonschema.validate(written, json.loads(SCHEMA.read_text()))
    assert parse_report(written).privacy == run.reported.report.privacy
    assert in_json(as_dictionary(run.reported.report)) == {
        **written,
        "command": run.reported.report.command,
    }


def test_infinity_is_a_float_in_memory_and_a_word_in_json() -> None:
    run = sottovoce.run(
        "noisy-marginals", rows=90, parties=3, seed=1, mode="paper", ways=1, judge=False, **KEYS
    )
    assert run.report["privacy"]["epsilon"]["other_party"] == float("inf")
    written = json.loads(run.files["report.json"])
    assert written["privacy"]["epsilon"]["other_party"] == "infinity"


if __name__ == "__main__":  # what `make schema` runs
    SCHEMA.write_text(json.dumps(report_schema(), indent=2) + "\n")
    sys.stdout.write(f"written  {SCHEMA}\n")
