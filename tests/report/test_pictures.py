"""Pictures of graphs and trees: what is drawn, and that the report has it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

import sottovoce
from sottovoce.report.folder import put
from sottovoce.report.pages.models import FILES, cliques, pictures

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
TREE = {
    "cliques": [["age", "sex"], ["sex", "<income & more>"], ["race"], ["sex", "work"]],
    "edges": [[0, 1, ["sex"]], [0, 3, ["sex"]]],
}


def drawn(model: Any) -> dict[str, ET.Element]:
    return {name: ET.fromstring(text) for name, text in pictures(model).items()}


def texts(picture: ET.Element) -> list[str]:
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


def test_a_tree_has_its_cliques_and_what_they_share() -> None:
    svgs = drawn({"tree": TREE, "edges": [["age", "sex"]]})
    assert set(svgs) == {"graph.svg", "tree.svg"}
    tree = svgs["tree.svg"]
    assert sorted(texts(tree)) == sorted(
        ["age, sex", "sex, <income & more>", "race", "sex, work", "sex", "sex"]
    )
    assert len(list(tree.iter(f"{SVG}line"))) == 2
    boxes = [
        (float(box.get("x", 0)), float(box.get("y", 0)), float(box.get("width", 0)))
        for box in tree.iter(f"{SVG}rect")
    ]
    assert len(boxes) == 4
    for (x1, y1, w1), (x2, y2, w2) in pairwise(sorted(boxes, key=lambda box: box[1])):
        assert abs(y1 - y2) >= 24 or x1 + w1 <= x2 or x2 + w2 <= x1  # none upon another
    assert "4 cliques: age, sex; " in (tree.findtext(f"{SVG}desc") or "")


def test_rounds_have_a_panel_each() -> None:
    rounds = [
        {"edges": [["age", "sex"], ["sex", "work"], ["race", "work"]]},
        {"edges": [["age", "sex"]]},
    ]
    graph = drawn({"tree": TREE, "rounds": rounds})["graph.svg"]
    assert len(list(graph.iter(f"{SVG}line"))) == 4
    assert [text for text in texts(graph) if text.startswith("round")] == [
        "round 1: 3 of 10 pairs",
        "round 2: 1 of 10 pairs",
    ]
    assert graph.findtext(f"{SVG}title") == "The dependency graph"
    assert "age - sex" in (graph.findtext(f"{SVG}desc") or "")


@pytest.mark.parametrize(
    "model",
    [
        None,
        {},
        {"parents": {"a": []}},
        {"parents": {"a": ["b"]}},
        {"parents": {"a": ["a"]}},
        {"parents": {"a": 3}},
        {"tree": None},
        {"tree": {"root": 1}},
        {"tree": {"cliques": 3, "edges": []}},
        {"kind": "decision-tree", "label": "x", "tree": {"feature": 1}},
        {"kind": "decision-tree", "tree": {"label": 0, "is": "a"}},
        {"kind": "naive-bayes"},
        {
            "kind": "naive-bayes",
            "label": "x",
            "labels": ["a"],
            "prior": [1.0],
            "likely": {"b": [[0.5]]},
            "attributes": {},
        },
        {"parents": [{"a": []}]},
        {"parents": [{"a": ["b"]}]},
        {"parents": ["a"]},
        {"sets": {}},
        {"sets": {"a": 3}},
    ],
)
def test_other_models_have_none(model: Any) -> None:
    assert pictures(model) == {}


def test_a_network_has_its_parents_on_the_left() -> None:
    parents = {"age": [], "sex": ["age"], "work": ["age", "sex"], "race": [], "income": ["work"]}
    network = drawn({"parents": parents, "frontiers": [[["age", "sex", "income"]]]})["network.svg"]
    boxes = zip(network.iter(f"{SVG}rect"), texts(network), strict=False)
    place = {name: float(box.get("x", 0)) for box, name in boxes}
    assert {*place} == {"age", "sex", "work", "income"}
    assert all(place[parent] < place[name] for name in parents for parent in parents[name])
    assert texts(network)[-1] == "without edges: race"
    paths = [path for path in network.iter(f"{SVG}path") if path.get("fill") == "none"]
    dashed = [path for path in paths if path.get("stroke-dasharray")]
    assert len(paths) - len(dashed) == 4
    assert len(dashed) == 2  # age - income and sex - income were looked at, and not chosen
    assert (
        network.findtext(f"{SVG}desc")
        == "sex from age; work from age, sex; income from work; without edges: race"
    )


@pytest.mark.parametrize(
    ("parties", "left"), [(2, ""), (4, ""), (5, "and 1 more party"), (7, "and 3 more parties")]
)
def test_parties_have_a_network_each(parties: int, left: str) -> None:
    parents = [{"age": [], f"own {party}": ["age"]} for party in range(1, parties + 1)]
    network = drawn({"parents": parents})["network.svg"]
    shown = [text for text in texts(network) if text != "age"]
    assert shown[:4] == ["party 1", "own 1", "party 2", "own 2"]
    assert shown[-1] == (left or f"own {parties}")
    assert sum(text.startswith("own") for text in shown) == min(parties, 4)
    assert (network.findtext(f"{SVG}desc") or "").startswith(
        "party 1: own 1 from age. party 2: own 2 from age"
    )


def test_what_speaks_for_a_label_is_as_bayes_has_it() -> None:
    model = {
        "kind": "naive-bayes",
        "label": "income",
        "labels": ["low", "high"],
        "prior": [0.75, 0.25],
        "likely": {
            "sex": [[0.6, 0.4], [0.2, 0.8]],
            "age": [[0.5, 0.499, 0.001], [0.5, 0.49, 0.01]],
        },
        "attributes": {"sex": ["f", "m"], "age": ["young", "old", "<none>"]},
    }
    shown = texts(drawn(model)["evidence.svg"])
    # Pr[high | m] = .25 * .8 / (.75 * .4 + .25 * .8) = .4, and .4 / .25 = 1.6; Pr[low | f] = .45 /
    # .5 = .9, and .9 / .75 = 1.2. Nobody's age is as good as unknown: .01 / .00325 = 3.1 times, and
    # comes last, since hardly anybody has it.
    assert shown == [
        "low",
        "1.2 times",
        "sex is f",
        "1.0 times",
        "age is old",
        "high",
        "1.6 times",
        "sex is m",
        "3.1 times",
        "age is <none>",
    ]
    many = {
        **model,
        "labels": [f"l{number}" for number in range(9)],
        "prior": [1 / 9] * 9,
        "likely": {"sex": [[0.5, 0.5]] * 9},
    }
    assert texts(drawn(many)["evidence.svg"])[-3:] == [
        "l5",
        "nothing",
        "and 3 labels more, which are rarer",
    ]


def test_sets_of_values_are_named_by_their_ends() -> None:
    shown = texts(
        drawn({"sets": {"sex": [["f"], ["m"]], "age": [["a", "b"], ["c", "d", "e"]]}})["sets.svg"]
    )
    assert shown == ["sex", "f", "m", "age", "a or b", "c to e (3)"]


@pytest.mark.parametrize(
    ("protocol", "name"),
    [
        ("independent", "network.svg"),
        ("clldp-naive-bayes", "evidence.svg"),
        ("label-dp", "evidence.svg"),
        ("dist-diff-gen", "sets.svg"),
    ],
)
def test_what_protocols_learn_is_drawn(protocol: str, name: str) -> None:
    run = sottovoce.run(protocol, "demo", parties=2, epsilon=8, rows=3000, seed=1)
    assert run.files[name].decode() in run.page()


def test_nothing_is_fetched_and_nothing_runs() -> None:
    for text in pictures({"tree": TREE, "edges": []}).values():
        assert "<script" not in text
        assert text.count("http") == 1  # the name of SVG itself
        assert "<income" not in text


def test_pictures_lie_in_the_folder_and_in_the_report(tmp_path: Path) -> None:
    run = sottovoce.run("jtree", "demo", parties=1, aggregator="clear", rows=2000, seed=1)
    for name in ("graph.svg", "tree.svg"):
        assert run.files[name].decode() in run.page()
    folder = tmp_path / "run"
    run.save(folder)
    (folder / "report.html").unlink()
    drawn = (folder / "tree.svg").read_text()
    (folder / "tree.svg").write_text(
        "<script>"
    )  # a folder may be somebody else's: pictures are drawn from the model
    subprocess.run(
        [sys.executable, "-m", "sottovoce", "report", str(folder)],
        check=True,
        capture_output=True,
        timeout=600,
    )
    assert drawn in (folder / "report.html").read_text()
    assert "<script" not in (folder / "report.html").read_text()
    # Another run in the same folder leaves none of them behind.
    put(sottovoce.run("head-count", "demo", rows=100, seed=1).files, folder=folder)
    assert not any((folder / name).exists() for name in FILES)
    shutil.rmtree(folder)


def test_a_wide_graph_is_small_and_a_long_tree_is_drawn() -> None:
    """A graph of too many edges is counted and not drawn, and no tree is too deep."""
    names = [f"c{number}" for number in range(100)]
    edges = list(combinations(names, 2))
    drawn = cliques.graphs(names, [("round 1", edges), ("round 2", edges[:50])])
    assert len(drawn) < 60_000
    assert "round 1: 4950 of 4950 pairs: too many to list; round 2: 50 of 4950 pairs: c0 - c1" in (
        drawn
    )
    assert drawn.count("<line") + drawn.count("<path") >= 50
    path = [(name, f"d{name}") for name in map(str, range(1500))]
    steps = [(number, number + 1, ("x",)) for number in range(len(path) - 1)]
    assert cliques.junction_tree(path, steps).count("<rect") == 1500


def test_cliques_stand_in_the_middle_of_those_below_them() -> None:
    layout = cliques.Layout({0: [1, 4], 1: [0, 2, 3, 5], 2: [1], 3: [1], 4: [0], 5: [1], 6: []})
    layout.place_all()
    assert layout.level == {1: 0, 0: 1, 4: 2, 2: 1, 3: 1, 5: 1, 6: 0}
    assert layout.row == {4: 0, 0: 0, 2: 1, 3: 2, 5: 3, 1: 1.5, 6: 4}
    assert layout.lines == [(1, 0), (0, 4), (1, 2), (1, 3), (1, 5)]
