"""What a curator loads while it waits for parties, so that it need not in the conversation."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
from sottovoce.runs.settings import settings
from sottovoce.runs.setup import load_ahead
load_ahead(settings({"protocol": sys.argv[1]}).job)
print(json.dumps([name for name in ("networkx", "pandas") if name in sys.modules]))
"""


@pytest.mark.parametrize(
    ("protocol", "loaded"), [("dp-subn", ["networkx", "pandas"]), ("head-count", [])]
)
def test_a_curator_loads_what_it_draws_rows_with(protocol: str, loaded: list[str]) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, protocol],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert json.loads(answer.stdout) == loaded
