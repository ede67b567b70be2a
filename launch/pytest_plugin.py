"""The pytest plug-in: options that name a protocol for the conformance suite.

    pytest --pyargs sottovoce.launch.conformance --sottovoce-protocol my_package:MyProtocol
        --sottovoce-data people.csv --sottovoce-schema schema.json --sottovoce-set clusters=4

It is installed with sottovoce and adds the options and their fixture.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

__all__ = ["ChosenProtocol", "pytest_addoption", "sottovoce_protocol"]

OPTIONS = {
    "protocol": ("REF", "run the conformance suite on this protocol"),
    "data": ("FILE", "on this table; by default on made-up people"),
    "schema": ("FILE", "with this schema; by default it is inferred where one is needed"),
    "parties": ("K", "with so many parties (default 3)"),
    "rows": ("N", "with the first N rows of the table (default 120)"),
}


class ChosenProtocol(NamedTuple):
    """A protocol, its table and its parameters, as the command line names them."""

    reference: str
    parameters: Mapping[str, str]
    data: str
    schema: str | None
    parties: int
    rows: int


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options `--sottovoce-protocol`, `--sottovoce-data` and so on."""
    group = parser.getgroup("sottovoce", "conformance suite of sottovoce")
    for name, (metavar, text) in OPTIONS.items():
        group.addoption(f"--sottovoce-{name}", default=None, metavar=metavar, help=text)
    group.addoption(
        "--sottovoce-set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="with this parameter; the option may be repeated",
    )


@pytest.fixture
def sottovoce_protocol(request: pytest.FixtureRequest) -> ChosenProtocol:
    """Give the protocol named on the command line."""
    values = {name: request.config.getoption(f"--sottovoce-{name}") for name in OPTIONS}
    if values["protocol"] is None:
        pytest.skip("--sottovoce-protocol names no protocol")
    return ChosenProtocol(
        reference=values["protocol"],
        parameters=_parameters(request.config.getoption("--sottovoce-set")),
        data=values["data"] or "demo",
        schema=values["schema"],
        parties=_number("parties", values["parties"], default=3),
        rows=_number("rows", values["rows"], default=120),
    )


def _parameters(assignments: list[str]) -> dict[str, str]:
    for assignment in assignments:
        if "=" not in assignment:
            raise pytest.UsageError(f"expected --sottovoce-set NAME=VALUE, found {assignment!r}")
    return dict(assignment.split("=", 1) for assignment in assignments)


def _number(name: str, text: str | None, *, default: int) -> int:
    if text is None:
        return default
    if not text.isdecimal() or not int(text):
        raise pytest.UsageError(f"expected a number above 0 for --sottovoce-{name}, found {text!r}")
    return int(text)
