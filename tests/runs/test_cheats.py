"""Protocols that get around the accountant are noticed, in the run and in its rehearsal."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sottovoce.launch.rehearsal import rehearse
from sottovoce.messages import SottovoceError
from sottovoce.privacy import Accountant
from sottovoce.privacy.laplace import DiscreteLaplace
from sottovoce.report.making import make_report
from sottovoce.report.report import Report
from sottovoce.runs.job import Job
from sottovoce.runs.threads import run_on_threads

pytestmark = pytest.mark.usefixtures("first_tables")

COUNTED = {
    "TwoNoises": "its content depends on records",
    "OneNoiseForTwo": "its content depends on records",
    "UntilLarge": "number of its releases",
    "NoiseOfTheData": "its content depends on records",
    "LowDigits": "its content depends on records",
    "AccountantOfItsOwn": "has changed the accountant",
    "ConstantNoise": "has drawn an answer past Party.release",
    "ForgottenReleases": "has changed the accountant",
    "TwiceTheBudget": "has changed the accountant",
    "SmallerLoss": "has changed the accountant",
    "SmallerLossInPlace": "has changed the accountant",
    "TakenBack": "has changed the accountant",
    "MechanismWithoutNoise": "has replaced sottovoce.privacy.laplace.DiscreteLaplace.draw",
    "SaysItIsBuiltIn": "its content depends on records",
    "Prints": "what it prints depends on its records",
    "KeptInTheEnvironment": "its content depends on records",
    "LeftInTheEnvironment": "what it leaves in the environment (SOTTOVOCE_TEST_",
    "KeptByAnotherPackage": "has left something in numpy.sottovoce_test_",
    "KeptByAFrameworkClass": "sottovoce.privacy.accountant.Accountant.sottovoce_test_",
    "PartsOfTheData": "how it splits its records into parts depends on its records",
}
"""Protocols of `cheating_protocols` that the run itself counts, with words of the reason."""
REHEARSED = {
    "NoiseRoundedAway": "changes its release 0 (discrete-laplace) by 1000, and the stated",
    "BoundsOfTheData": "and the stated sensitivity is 100",
    "TwoTablesForOne": "by 4, and the stated sensitivity is 2",
}
"""Protocols of which only the rehearsal can tell, as it has neighbouring tables."""
REFUSED = {
    "WholeBudgetTwice": "expected to spend at most epsilon 1 on party",
    "LargerBudget": "expected to spend at most epsilon 1 on party",
    "SumOfOneParty": "expected at least two parties in a secure sum",
}


@pytest.fixture(autouse=True)
def _nothing_is_left_of_another_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    importlib.import_module("cheating_protocols")
    monkeypatch.setattr(DiscreteLaplace, "draw", DiscreteLaplace.draw)  # and back at the end
    _forget()
    yield
    _forget()


def _forget() -> None:
    os.environ.pop("SOTTOVOCE_TEST_LATE", None)
    for number in (1, 2, 3):
        os.environ.pop(f"SOTTOVOCE_TEST_{number}", None)
        for holder in (np, Accountant):
            if hasattr(holder, f"sottovoce_test_{number}"):
                delattr(holder, f"sottovoce_test_{number}")


def job_of(name: str) -> Job:
    return Job(protocol=f"cheating_protocols:{name}", rows=600, seed=3)


def sums_of(name: str) -> Job:
    return Job(
        protocol=f"cheating_protocols:{name}", rows=600, seed=3, parameters={"aggregator": "masks"}
    )


def report_of(job: Job) -> Report:
    return make_report(run_on_threads(job))


@pytest.mark.usefixtures("unlimited_replays")
@pytest.mark.parametrize(("name", "words"), COUNTED.items())
def test_it_is_not_accounted_when_it_is_run(name: str, words: str) -> None:
    report = report_of(job_of(name))
    lines = [line for line in report.privacy.not_accounted if words in line.reason]
    assert {line.party for line in lines} == {1, 2, 3}
    assert {*report.privacy.epsilon.values(), *report.privacy.coalitions.values()} == {math.inf}
    assert any(text.startswith("NOT ACCOUNTED: ") for text in report.warnings)


@pytest.mark.usefixtures("unlimited_replays")
@pytest.mark.parametrize(("name", "words"), COUNTED.items())
def test_the_rehearsal_finds_it(name: str, words: str) -> None:
    rehearsal = rehearse(job_of(name))
    assert rehearsal.failure is None
    assert {line.party for line in rehearsal.unaccounted if words in line.reason} == {1, 2, 3}


@pytest.mark.parametrize(("name", "words"), REHEARSED.items())
def test_a_false_sensitivity_is_found_in_the_rehearsal(
    name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Time enough for every neighbouring table, however slow the machine is.
    monkeypatch.setattr("sottovoce.launch.rehearsal.PARTY_SECONDS", 300.0)
    monkeypatch.setattr("sottovoce.launch.rehearsal.SECONDS", 600.0)
    if name == "BoundsOfTheData":  # the first tables do not show it
        monkeypatch.setattr("sottovoce.launch.close_tables._middle_first", range)
    job = sums_of(name) if name == "TwoTablesForOne" else job_of(name)
    rehearsal = rehearse(job)
    assert rehearsal.failure is None
    assert {line.party for line in rehearsal.unaccounted if words in line.reason} == {1, 2, 3}


@pytest.mark.parametrize(("name", "words"), REFUSED.items())
def test_a_sum_beyond_its_budget_or_of_one_party_is_refused(name: str, words: str) -> None:
    with pytest.raises(SottovoceError) as refusal:
        run_on_threads(sums_of(name))
    assert words in str(refusal.value)
    failure = rehearse(sums_of(name)).failure
    assert failure is not None
    assert words in failure


def test_honest_sums_have_their_figures() -> None:
    report = report_of(sums_of("Sums"))
    assert report.privacy.not_accounted == []
    assert report.privacy.epsilon["public"] == 1.0
    assert rehearse(sums_of("Sums")).unaccounted == []


def test_a_threshold_that_the_noise_does_not_keep_is_shown_with_its_real_figure() -> None:
    report = report_of(sums_of("ThresholdOfWords"))
    larger = report.privacy.coalitions["curator_and_1"]
    assert larger <= 1.0 < report.privacy.coalitions["curator_and_2"]
    assert any("curator" in text and "2 parties" in text for text in report.warnings)


def test_what_is_printed_alike_on_all_records_is_no_leak(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.warns(UserWarning, match="shown once"):
        report = report_of(job_of("PrintsWhatIsPublic"))
    assert report.privacy.not_accounted == []
    printed = capsys.readouterr().out.splitlines()
    # The run's own lines alone: a replay prints nothing.
    assert sorted(printed) == [f"party {number} has counted" for number in (1, 2, 3)]


def test_a_variable_that_a_late_import_sets_is_no_leak() -> None:
    report = report_of(job_of("ImportsLate"))
    assert report.privacy.not_accounted == []
    assert rehearse(job_of("ImportsLate")).unaccounted == []


def test_a_rehearsal_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert rehearse(job_of("Prints")).failure is None
    assert capsys.readouterr().out == ""
