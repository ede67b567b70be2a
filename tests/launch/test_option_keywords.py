"""`sottovoce.run` with an option of the command line as a keyword names the way in Python."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import typer

import sottovoce
from sottovoce.launch.commands import app, running
from sottovoce.launch.option_keywords import IN_PYTHON, refuse_options
from sottovoce.messages import UsageError
from sottovoce.protocols.registry import find


@pytest.mark.parametrize(
    ("keyword", "way"),
    [
        (
            "out",
            r"found 'out', an option of `sottovoce run`: write the results by `.save\(folder\)",
        ),
        ("no_judge", "say judge=False"),
        ("budget", "say budget_file="),
        ("hosts", "only the command line takes it"),
        ("quiet", "leave it out"),
    ],
)
def test_an_option_of_the_command_line_names_the_way_in_python(keyword: str, way: str) -> None:
    options: dict[str, Any] = {keyword: "results"}
    with pytest.raises(UsageError, match=way) as error:
        sottovoce.run("head-count", rows=30, **options)
    assert "did you mean" not in str(error.value)


def test_an_audit_names_it_too() -> None:
    with pytest.raises(UsageError, match=r"an option of `sottovoce audit`: write the results by"):
        sottovoce.audit("head-count", runs=8, out="results")
    with pytest.raises(UsageError, match="expected a parameter of head-count"):
        sottovoce.audit("head-count", runs=8, hosts=2)


def test_a_parameter_of_the_protocol_may_have_the_name_of_an_option() -> None:
    assert "budget" in find("dp-subn").Parameters.__struct_fields__
    refuse_options(["budget", "epsilon"], protocol="dp-subn")
    with pytest.raises(UsageError, match="found 'budget', an option of `sottovoce run`"):
        refuse_options(["budget", "epsilon"], protocol="head-count")


def test_every_option_of_the_command_line_has_a_way_in_python() -> None:
    assert callable(running.run_command)  # its import registers the command
    command = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    options = {
        spelling.removeprefix("--").replace("-", "_")
        for parameter in command.params
        if parameter.param_type_name == "option"
        for spelling in (*parameter.opts, *parameter.secondary_opts)
        if spelling.startswith("--")
    }
    keywords = set(inspect.signature(sottovoce.run).parameters)
    assert len(options) > 40
    assert options - keywords - IN_PYTHON.keys() - {"help"} == set()
    assert not keywords & IN_PYTHON.keys()
