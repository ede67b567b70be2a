"""ro-crate-metadata.json: valid RO-Crate 1.1, right digests, and nothing that is not public.

The laws are those of https://www.researchobject.org/ro-crate/specification/1.1/: a flattened graph,
a metadata descriptor about a root dataset, its four required properties, and files that are there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sottovoce
from sottovoce.launch.commands import app
from sottovoce.runs.version import VERSION

CRATE = "ro-crate-metadata.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "out"
    sottovoce.run("one-way", rows=500, seed=7, epsilon=2.0, classify=["income"]).save(path)
    assert (path / "judgement.json").is_file()
    return path


@pytest.fixture(scope="module")
def graph(folder: Path) -> dict[str, dict[str, Any]]:
    document = json.loads((folder / CRATE).read_text())
    assert document["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    entities = document["@graph"]
    assert len({entity["@id"] for entity in entities}) == len(entities)
    return {entity["@id"]: entity for entity in entities}


def references(value: Any) -> Iterator[str]:
    """List what a property refers to; entities are flat, so nothing else is nested."""
    if isinstance(value, dict):
        assert [*value] == ["@id"]
        yield value["@id"]
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_the_structure_is_that_of_the_specification(graph: dict[str, dict[str, Any]]) -> None:
    descriptor, root = graph[CRATE], graph["./"]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert descriptor["about"] == {"@id": "./"}
    assert root["@type"] == "Dataset"
    for name in ("name", "description", "datePublished", "license"):
        assert root[name]
    assert datetime.fromisoformat(root["datePublished"]).tzinfo is not None
    outside = {"https://w3id.org/ro/crate/1.1"}
    for entity in graph.values():
        assert isinstance(entity["@type"], str)
        for name, value in entity.items():
            if name not in ("@id", "@type"):
                assert {*references(value)} <= graph.keys() | outside, (entity["@id"], name)


def test_files_are_there_with_their_digests(graph: dict[str, dict[str, Any]], folder: Path) -> None:
    listed = {part["@id"] for part in graph["./"]["hasPart"]}
    assert listed == {path.name for path in folder.iterdir()} - {CRATE, "judgement.json"}
    for name in listed - {"report.html"}:
        data = (folder / name).read_bytes()
        assert graph[name]["@type"] == "File"
        assert graph[name]["sha256"] == hashlib.sha256(data).hexdigest()
        assert graph[name]["contentSize"] == str(len(data))


def test_a_digest_of_what_is_not_private_is_not_there(
    graph: dict[str, dict[str, Any]], folder: Path
) -> None:
    """A digest or a size would let anybody test guesses of what was measured."""
    text = (folder / CRATE).read_text()
    for name in ("judgement.json", "report.html"):
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() not in text
    assert {*graph["report.html"]} == {"@id", "@type", "name", "encodingFormat"}
    assert "judgement.json" not in text


def test_it_says_no_more_than_the_report(graph: dict[str, dict[str, Any]], folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text())
    options = {
        entity["name"]: entity["value"]
        for entity in graph.values()
        if entity["@type"] == "PropertyValue"
    }
    for name, value in options.items():
        key, _, parameter = name.partition(".")
        reported = report["reference" if key == "protocol" else key]
        reported = reported[parameter] if parameter else reported
        assert value == (reported if isinstance(reported, str) else json.dumps(reported)), name
    assert options["seed"] == "7"
    assert options["parameters.epsilon"] == "2.0"
    versions = {
        entity["name"]: entity.get("softwareVersion")
        for entity in graph.values()
        if entity["@type"] == "SoftwareApplication"
    }
    assert versions["sottovoce"] == VERSION
    assert versions["numpy"]


def test_the_run_names_what_it_used_and_made(graph: dict[str, dict[str, Any]]) -> None:
    action = graph["#run"]
    assert action["@type"] == "CreateAction"
    assert action["result"] == graph["./"]["hasPart"]
    assert {"@id": "#seed"} in action["object"]
    assert graph[action["instrument"][0]["@id"]]["name"] == "sottovoce"


def test_what_is_given_to_others_has_it(folder: Path, tmp_path: Path) -> None:
    words = ["report", str(folder), "--public", "--out", str(tmp_path / "public")]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    copied = json.loads((tmp_path / "public" / CRATE).read_text())
    for entity in copied["@graph"]:
        if "sha256" in entity:
            data = (tmp_path / "public" / entity["@id"]).read_bytes()
            assert entity["sha256"] == hashlib.sha256(data).hexdigest()
