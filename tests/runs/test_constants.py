"""The constants that a plug-in's source names, of packages small and large."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from sottovoce.runs import constants
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

MODULES = 40


@pytest.fixture
def large_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type:
    """Import a package of many modules, each with a hundred texts, and give a class of the last."""
    folder = tmp_path / "verylarge"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for number in range(MODULES):
        texts = "\n".join(f"T{place} = 'text {number} {place}'" for place in range(100))
        (folder / f"m{number}.py").write_text(
            f'"""A docstring."""\n{texts}\nclass Own:\n    label = "of class {number}"\n'
        )
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = [importlib.import_module(f"verylarge.m{number}") for number in range(MODULES)]
    for name in [name for name in sys.modules if name.startswith("verylarge")]:
        monkeypatch.setitem(sys.modules, name, sys.modules[name])
    own: type = modules[-1].Own
    return own


def test_no_more_modules_are_parsed_than_constants_are_tried(
    large_package: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To parse all modules of a large package for every party would take most of a run's time."""
    parsed: list[str] = []
    parse = ast.parse

    def counted(source: str, *rest: Any, **more: Any) -> Any:
        if "class Own" in source:
            parsed.append(source)
        return parse(source, *rest, **more)

    monkeypatch.setattr(ast, "parse", counted)
    found = constants.constants_of(large_package)
    assert len(found) == constants.MAX_CONSTANTS
    assert found[0] == f"of class {MODULES - 1}"
    assert f"text {MODULES - 1} 99" in found
    assert "A docstring." not in found
    # The class, its module, and as many others as it takes.
    assert len({*parsed}) <= 12
    many = len(parsed)
    assert constants.constants_of(large_package) == found
    assert len(parsed) == many


def test_parameters_come_first() -> None:
    """A threshold is often a parameter, of which the source names no value."""
    job = Job(
        protocol="head-count",
        parameters={"attribute": "native-country", "value": "Cambodia", "epsilon": 0.25},
    )
    first = constants.constants_for(instantiate(job))[:4]
    assert {"Cambodia", 0.25} <= {*first}
