"""What a curator loads while it waits for parties, and what it does without."""

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


def printed(program: str, protocol: str) -> str:
    """Run a program in an interpreter of its own, and give what it prints."""
    command = [sys.executable, "-c", program, protocol]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return answer.stdout.strip()


@pytest.mark.parametrize(("protocol", "loaded"), [("dp-subn", ["networkx"]), ("head-count", [])])
def test_a_curator_loads_what_it_draws_rows_with(protocol: str, loaded: list[str]) -> None:
    assert printed(PROGRAM, protocol) == json.dumps(loaded)


RUN = """
import sys
from sottovoce.runs.settings import settings
from sottovoce.runs.threads import run_on_threads
options = {"protocol": sys.argv[1], "rows": 300, "parties": 2, "columns": ["sex", "race", "income"]}
record = run_on_threads(settings(options).job)
assert record.outcome.synthetic is not None or record.outcome.marginals is not None
print(*(name for name in ("pandas", "pyarrow") if name in sys.modules))
"""


@pytest.mark.parametrize(
    "protocol",
    ["calm", "clldp-joint", "dp-subn", "fourier", "independent", "mst", "noisy-marginals"],
)
def test_no_role_on_made_up_people_needs_pandas(protocol: str) -> None:
    """It would take 35 MB of each rank: tables are published as codes of labels."""
    assert printed(RUN, protocol) == ""
