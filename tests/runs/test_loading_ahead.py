"""What roles do without: modules for which others would wait in the conversation."""

import subprocess
import sys

import pytest


def printed(program: str, protocol: str) -> str:
    """Run a program in an interpreter of its own, and give what it prints."""
    command = [sys.executable, "-c", program, protocol]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return answer.stdout.strip()


RUN = """
import sys
from sottovoce.runs.settings import settings
from sottovoce.runs.threads import run_on_threads
options = {"protocol": sys.argv[1], "rows": 300, "parties": 2, "columns": ["sex", "race", "income"]}
record = run_on_threads(settings(options).job)
assert record.outcome.synthetic is not None or record.outcome.marginals is not None
print(*(name for name in ("networkx", "pandas", "pyarrow") if name in sys.modules))
"""


@pytest.mark.parametrize(
    "protocol",
    [
        "adaptive-pairs",
        "calm",
        "clldp-joint",
        "dp-subn",
        "fourier",
        "independent",
        "mst",
        "noisy-marginals",
    ],
)
def test_no_role_on_made_up_people_needs_pandas_or_networkx(protocol: str) -> None:
    """Either would take a tenth of a second, and pandas 35 MB of each rank."""
    assert printed(RUN, protocol) == ""
