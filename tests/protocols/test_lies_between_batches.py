"""A curator that claims deaths between dependent batches, to have the same records measured twice.

Whatever it claims, each party's account has all that the party released, or the party refuses.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from sottovoce.messages import SottovoceError
from sottovoce.parties.party import Party
from sottovoce.protocols.aim.budget import RunBudget
from sottovoce.protocols.aim.protocol import AIM
from sottovoce.protocols.secure_sum import SecureSums, lasting_party
from sottovoce.protocols.secure_sum.lasting_curator import LastingCurator
from sottovoce.report.making import make_report
from sottovoce.runs.job import Job
from sottovoce.runs.settings import settings
from sottovoce.runs.threads import run_on_threads

PARTIES = 4


def job(protocol: str, *fault: str, **parameters: Any) -> Job:
    return settings(
        {
            "protocol": protocol,
            "parties": PARTIES,
            "rows": 240,
            "columns": ("sex", "race", "income"),
            "seed": 1,
            "fault": fault,
            "on_loss": "continue",
            "min_parties": 2,
            "set": {"aggregator": "masks", "epsilon": 20.0, **parameters},
        }
    ).job


def test_a_party_that_lives_is_not_left_out_of_a_later_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two sums that differ by one living party would show that party's table, with noise twice."""
    monkeypatch.setattr(lasting_party, "NOTICE_SECONDS", 0.2)
    plain = LastingCurator._send_roster

    def leave_out(self: LastingCurator, number: int, attempt: int, *, arrived: int) -> None:
        if number == 1 and not arrived:
            self.members = self.members[:-1]
        plain(self, number, attempt, arrived=arrived)

    monkeypatch.setattr(LastingCurator, "_send_roster", leave_out)
    with pytest.raises(SottovoceError, match="expected that party 4 is lost, as the curator"):
        run_on_threads(job("adaptive-pairs", rounds=2, synthetic_rows=20))


def test_a_batch_that_was_read_is_not_asked_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch 0 once more, with a smaller roster, after a real loss and in the place of batch 1."""
    plain = LastingCurator._send_roster

    def again(self: LastingCurator, number: int, attempt: int, *, arrived: int) -> None:
        if number == 1:
            number, attempt = 0, 1
        plain(self, number, attempt, arrived=arrived)

    monkeypatch.setattr(LastingCurator, "_send_roster", again)
    with pytest.raises(SottovoceError, match="expected the members of attempt 0 at batch 1"):
        run_on_threads(
            job("adaptive-pairs", "party 2 dies in round 2", rounds=2, synthetic_rows=20)
        )


def test_the_plan_of_a_batch_stays_when_it_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a loss a party sends the same table once more, and takes no other plan in between."""
    plain = LastingCurator._send_roster

    def another_plan(self: LastingCurator, number: int, attempt: int, *, arrived: int) -> None:
        if number == 1 and attempt == 1:
            keys = SecureSums.MissingKeys(1, np.zeros(0, np.int64), np.zeros(0, np.uint8))
            self._desk.broadcast(keys, to=self.members)
        plain(self, number, attempt, arrived=arrived)

    monkeypatch.setattr(LastingCurator, "_send_roster", another_plan)
    with pytest.raises(SottovoceError, match=r"expected .*Roster.*MissingKeys"):
        run_on_threads(
            job(
                "adaptive-pairs",
                "party 2 dies after 10 messages",
                rounds=2,
                synthetic_rows=20,
            )
        )


def test_choices_that_a_curator_calls_lost_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """In AIM it reads a choice, claims that the party died before, and gets one of another party.

    The others believe it, as they do not depend on who chooses. Each choice is in the account of
    the party that made it, and no account exceeds the claim.
    """
    plain = AIM.receive_choice
    lies = iter([True, False, True])

    def lying(self: AIM, *args: Any, **more: Any) -> Any:
        family = plain(self, *args, **more)
        return () if next(lies, False) else family

    monkeypatch.setattr(AIM, "receive_choice", lying)
    record = run_on_threads(job("aim", rounds=6))
    choices = Counter(entry.sender for entry in record.entries if entry.kind == "Chosen")
    charged = Counter(
        release.party for release in record.releases if "exponential" in release.mechanism
    )
    assert choices == charged
    assert sum(choices.values()) == len(record.outcome.model["rounds"]) + 2
    privacy = make_report(record).privacy
    assert all(float(views["curator"]) <= 20 for views in privacy.by_party.values())


def test_a_curator_that_always_claims_deaths_exhausts_what_choices_may_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It asks again and again, until all parties have spent their part: then no table is left."""
    plain, asked = AIM.receive_choice, Counter[int]()

    def lying(self: AIM, desk: Any, message: Any, candidates: Any, *, party: int) -> Any:
        asked[party] += 1
        plain(self, desk, message, candidates, party=party)
        return ()

    monkeypatch.setattr(AIM, "receive_choice", lying)
    record = run_on_threads(job("aim", rounds=6))
    assert record.outcome.model["rounds"] == []
    assert set(asked) == set(range(1, PARTIES + 1))
    charged = Counter(
        release.party for release in record.releases if "exponential" in release.mechanism
    )
    assert charged == asked


def test_a_party_refuses_choices_beyond_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A curator that keeps no account of what choices cost is refused by the party that does."""
    plain = AIM.receive_choice

    def lying(self: AIM, *args: Any, **more: Any) -> Any:
        plain(self, *args, **more)
        return ()

    monkeypatch.setattr(AIM, "receive_choice", lying)
    monkeypatch.setattr(RunBudget, "next_round", lambda budget: (1, 0.4 * budget.choices[0]))
    with pytest.raises(SottovoceError, match="expected a cost of at most rho"):
        run_on_threads(job("aim", rounds=6))


def test_a_larger_quota_costs_no_more() -> None:
    """In MST a party that chooses in a lost one's place divides one budget among more choices."""
    spent = []
    for fault in ((), ("party 1 dies in choices",)):
        record = run_on_threads(job("mst", *fault))
        spent.append(
            sum(
                release.rho
                for release in record.releases
                if release.party == 2 and release.phase == "choices"
            )
        )
    assert spent[0] == pytest.approx(spent[1])


def test_what_a_party_released_before_it_was_lost_is_known_to_the_account(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The referee is the party's own account at the moment of its death."""
    accounts: dict[int, list[Any]] = {}
    begin = Party._prepare_to_send

    def noting(self: Party) -> None:
        begin(self)
        if self.rank == 2:
            accounts[2] = [*self.accountant.releases]

    monkeypatch.setattr(Party, "_prepare_to_send", noting)
    for messages in range(9, 14):
        record = run_on_threads(job("mst", f"party 2 dies after {messages} messages"))
        own = [release for release in accounts[2] if "multi-party" not in release.mechanism]
        kept = [
            release
            for release in record.roles[2].releases
            if "multi-party" not in release.mechanism
        ]
        # What was drawn and not sent has left no trace, and is no loss.
        assert kept == own[: len(kept)]
        sent = sum(entry.sender == 2 and entry.kind == "Chosen" for entry in record.entries)
        assert bool(kept) == bool(sent)
