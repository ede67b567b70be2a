"""How far a role is, as every protocol says it: from above 0 to the whole, and never back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import sottovoce
from sottovoce.messages import Role
from sottovoce.parties.demo import demo_table

if TYPE_CHECKING:
    import pandas as pd

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        name: (name, {"aggregator": "masks"})
        for name in (
            "adaptive-pairs",
            "aim",
            "aug-flaim",
            "dist-diff-gen",
            "dp-subn",
            "flaim",
            "mst",
            "one-way",
            "private-schema",
        )
    },
    **{
        name: (name, {})
        for name in ("calm", "fourier", "lopub", "one-way-ldp", "privincr", "independent")
    },
    "sums that go on": ("one-way", {"aggregator": "masks", "on_loss": "continue"}),
    "dp-subn that goes on": ("dp-subn", {"aggregator": "masks", "on_loss": "continue"}),
    "dp-subn on bits": ("dp-subn", {"aggregator": "masks", "attributes": "binary"}),
    "dp-ccbn": ("dp-ccbn", {"aggregator": "masks"}),
    "dp-ccbn at once": ("dp-ccbn", {"aggregator": "masks", "search": "oneshot"}),
    "naive Bayes": ("clldp-naive-bayes", {"label": "income"}),
    "tree": ("clldp-decision-tree", {"label": "income"}),
    "levels": ("clldp-decision-tree", {"label": "income", "learning": "levels"}),
    "joint": ("clldp-joint", {"label": "income"}),
}


def people() -> pd.DataFrame:
    return demo_table(1500, seed=1)[["sex", "race", "income", "education"]]


def check(steps: list[tuple[str, float, float]]) -> None:
    """Check one role's steps: its phase, how much is done, and of how much.

    While a round is under way its sum may say how far it is. It ends before the rounds go on.
    """
    under_way: list[tuple[str, float, float]] = []
    for phase, done, of in steps:
        assert 0 <= done <= of
        before = [one for one in under_way if (one[0], one[2]) == (phase, of)]
        if before:
            assert under_way[-1] == before[0], (under_way, phase, done, of)
            assert done > before[0][1], (under_way, phase, done, of)
            under_way.pop()
        assert all(one[0] == phase for one in under_way), (under_way, phase)
        if done < of:
            under_way.append((phase, done, of))
    assert not under_way


@pytest.mark.parametrize("kind", RUNS)
def test_progress_rises_to_the_whole(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, parameters = RUNS[kind]
    calls: dict[int, list[tuple[str, float, float]]] = {}

    def note(role: Role, done: float, *, of: float) -> None:
        calls.setdefault(role.rank, []).append((role._phases.current, done, of))

    monkeypatch.setattr(Role, "progress", note)
    parties = 2 if name == "dist-diff-gen" else 3
    sottovoce.run(name, people(), parties=parties, epsilon=8.0, seed=1, judge=False, **parameters)
    assert calls
    for steps in calls.values():
        check(steps)
