"""A dishonest curator over MPI, with a party that colludes, reads one attempt at a sum and not two.

All honest parties keep their logs until the launcher has a record of the run. So whatever the
curator says when the run goes on, these logs say whom they have left out (`tools/two_attempts.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from two_attempts import put_back, read_sums

LONG = 300.0
"""Seconds that a run may take on a busy machine."""
TOOLS = Path(__file__).parents[2] / "tools"


class Attack:
    """A run whose curator lies, in a folder of the test."""

    def __init__(self, tmp_path: Path) -> None:
        self.loot, self.state, self.out = (tmp_path / name for name in ("loot", "state", "out"))
        self.loot.mkdir()
        self._start = tmp_path / "start"
        self._start.mkdir()
        (self._start / "sitecustomize.py").write_text("import two_attempts\n")

    def play(self, *words: str, lie: str, end: str = "") -> subprocess.CompletedProcess[str]:
        paths = [str(self._start), str(TOOLS), os.environ.get("PYTHONPATH", "")]
        return subprocess.run(
            [sys.executable, "-m", "sottovoce", *words],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                "SOTTOVOCE_STATE": str(self.state),
                "SOTTOVOCE_LIE": lie,
                "SOTTOVOCE_LOOT": str(self.loot),
                "SOTTOVOCE_END": end,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=LONG,
        )

    def begin(self, *, end: str) -> subprocess.CompletedProcess[str]:
        words = ["--parties", "4", "--rows", "60", "--seed", "1", "--no-judge", "--quiet"]
        words += ["--epsilon", "1000", "--set", "aggregator=masks", "--set", "marginals=sex"]
        words += ["--min-parties", "2", "--on-loss", "continue", "--durable"]
        words += ["--fault", "party 3 dies in count after 8 messages", "--out", str(self.out)]
        return self.play("run", "noisy-marginals", *words, lie="ask-again", end=end)

    def go_on(self, *, lie: str) -> subprocess.CompletedProcess[str]:
        return self.play("resume", str(self.out), "--quiet", lie=lie)

    @property
    def logs(self) -> list[str]:
        return sorted(path.parent.name for path in self.state.rglob("log"))


@pytest.mark.parametrize("end", ["after-sum", "after-dismissal"])
def test_parties_that_ended_are_witnesses_when_the_run_goes_on(end: str, tmp_path: Path) -> None:
    """The curator stops after it has read a sum, or after it has also dismissed the others."""
    attack = Attack(tmp_path)
    begun = attack.begin(end=end)
    assert begun.returncode == 3, begun.stderr
    (first,) = read_sums(attack.loot)
    assert 30 < sum(first) < 60  # Those of three parties.
    assert attack.logs == ["curator", "party-1", "party-2", "party-3", "party-4"]

    concluded = attack.go_on(lie="claim-conclusion")
    assert concluded.returncode == 3, concluded.stderr
    assert "the curator ended without a result" in concluded.stderr
    assert attack.logs == ["curator", "party-1", "party-2", "party-3", "party-4"]

    put_back(attack.loot, attack.state)
    again = attack.go_on(lie="leave-out")
    assert read_sums(attack.loot) == [first]
    assert again.returncode == 2, again.stderr
    assert "expected at least 2 parties in run " in again.stderr
    assert "without all but 1: parties 1, 2 and 3 were lost" in again.stderr
    assert len(attack.logs) == 5
