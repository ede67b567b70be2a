"""The pytest plug-in: the option `--sottovoce-protocol module:Class`.

It is installed with sottovoce and adds the option and its fixture. With it, `pytest --pyargs
sottovoce.launch.conformance` runs the conformance suite on a protocol.
"""

from __future__ import annotations

import pytest

__all__ = ["pytest_addoption", "sottovoce_protocol"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--sottovoce-protocol`."""
    parser.addoption(
        "--sottovoce-protocol",
        default=None,
        metavar="REF",
        help="run the conformance suite on this protocol",
    )


@pytest.fixture
def sottovoce_protocol(request: pytest.FixtureRequest) -> str:
    """Give the protocol named on the command line."""
    reference = request.config.getoption("--sottovoce-protocol")
    if reference is None:
        pytest.skip("--sottovoce-protocol names no protocol")
    return str(reference)
