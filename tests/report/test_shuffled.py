"""The view `shuffled`: users who report once hide among those who answer the same question."""

from __future__ import annotations

import re
from typing import Any

import pytest

import sottovoce
from sottovoce.privacy import Release
from sottovoce.privacy.local.assignment import share_out
from sottovoce.privacy.shuffling import shuffled_epsilon
from sottovoce.protocols.outcome import UserTraffic
from sottovoce.report.pages import run_page
from sottovoce.report.report import Shuffled
from sottovoce.report.shuffled import shuffled_view
from sottovoce.report.summary import summary_lines

PEOPLE = 40_000


def run(protocol: str, **options: Any) -> Any:
    options = {"rows": 600, "users": PEOPLE, "simulate": "counts", "seed": 1, **options}
    return sottovoce.run(protocol, parties=2, judge=False, **options)


def release_of(**changed: Any) -> Release:
    fields: dict[str, Any] = {
        "party": 1,
        "phase": "reports",
        "mechanism": "oue",
        "sensitivity": 1.0,
        "scale": 1.0,
        "epsilon": 1.0,
        "rho": 0.5,
        "delta": 0.0,
        "laplace_epsilon": 1.0,
        "to": 0,
        "seen": {},
        "users": (0, 500),
        "whole_record": None,
    }
    return Release(**{**fields, **changed})


def view_of(*releases: Release, **changed: Any) -> Shuffled | None:
    traffic = UserTraffic(
        users=9000, reports=9000, bits=1, least=1, most=1, simulate="reports", smallest_group=5000
    )
    options: dict[str, Any] = {
        "traffic": traffic,
        "epsilon": 1.0,
        "delta": 1e-6,
        "budget_of": "user",
        "neighbours": "replace-one",
    }
    return shuffled_view(releases or [release_of()], **{**options, **changed})


def test_users_hide_among_those_who_answer_the_same_question() -> None:
    """Of 15 attributes each is asked of as many users, and the smallest group counts."""
    ran = run("one-way-ldp", epsilon=1.0)
    smallest = min(share_out(PEOPLE, [1.0] * 15))
    assert smallest < PEOPLE / 14
    shuffled = ran.reported.report.privacy.shuffled
    assert (shuffled.users, shuffled.delta) == (smallest, ran.report["parameters"]["delta"])
    assert shuffled.epsilon == shuffled_epsilon(1.0, users=smallest, delta=shuffled.delta)
    assert shuffled.epsilon < ran.report["privacy"]["epsilon"]["public"] == 1.0
    assert ran.report["privacy"]["claimed_epsilon"] == 1.0
    assert shuffled.assumption == (
        f"if the reports on each question, {smallest:,} or more, reach the analyst unlinked and in "
        "random order"
    )
    assert ran.report["communication"]["users"]["smallest_group"] == smallest


def test_everybody_hides_among_all_where_all_answer_the_same() -> None:
    ran = run("lopub", epsilon=2.0, users=0, rows=3000, simulate="reports", columns="sex,income")
    assert ran.report["privacy"]["shuffled"]["users"] == 3000


@pytest.mark.parametrize("protocol", ["calm", "privincr"])
def test_groups_too_small_to_hide_gain_nothing(protocol: str) -> None:
    ran = run(protocol, epsilon=6.0)
    shuffled = ran.report["privacy"]["shuffled"]
    assert 0 < shuffled["users"] < PEOPLE
    assert shuffled["epsilon"] == ran.report["privacy"]["epsilon"]["public"]


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("clldp-naive-bayes", {"epsilon": 4.0}),
        ("label-dp", {"simulate": "reports", "users": 0}),
        ("one-way-ldp", {"delta": 0.0}),
    ],
)
def test_other_runs_have_no_such_view(protocol: str, options: dict[str, Any]) -> None:
    """Reports name attributes, or no delta is allowed."""
    ran = run(protocol, **options)
    assert ran.report["privacy"]["shuffled"] is None
    assert "Shuffled" not in run_page(ran.reported)
    assert "shuffled" not in dict(summary_lines(ran.reported))


def test_parties_who_hold_records_have_no_such_view() -> None:
    ran = sottovoce.run("noisy-marginals", rows=300, parties=2, seed=1, ways=1, judge=False)
    assert ran.report["privacy"]["shuffled"] is None


def test_the_view_is_shown_with_its_assumption_and_never_as_the_claim() -> None:
    ran = run("one-way-ldp", epsilon=1.0)
    shuffled = ran.reported.report.privacy.shuffled
    text = (
        f"epsilon {shuffled.epsilon:g} except with probability {shuffled.delta:g}, "
        f"{shuffled.assumption}: nothing here ensures that"
    )
    assert dict(summary_lines(ran.reported))["shuffled"] == text
    assert f"Shuffled: {text}." in re.sub(r"</?span[^>]*>", "", run_page(ran.reported))
    assert text not in dict(summary_lines(ran.reported))["epsilon"]


@pytest.mark.parametrize(
    "releases",
    [
        [release_of(), release_of(users=(499, 900))],
        [release_of(), release_of(users=None)],
        [release_of(delta=1e-9)],
    ],
)
def test_users_report_once_and_by_a_pure_epsilon(releases: list[Release]) -> None:
    assert view_of(*releases) is None


def test_other_users_may_report_later_and_other_parties_have_other_users() -> None:
    assert view_of(release_of(), release_of(users=(500, 900)), release_of(party=2)) == view_of()


@pytest.mark.parametrize(
    "changed",
    [
        {"budget_of": "record"},
        {"neighbours": "label-alone"},
        {"delta": 0.0},
        {"epsilon": float("inf")},
        {"traffic": None},
        {"traffic": UserTraffic(users=9, reports=9, bits=9, least=1, most=1, simulate="reports")},
    ],
)
def test_where_the_theorem_does_not_apply_there_is_no_view(changed: dict[str, Any]) -> None:
    assert view_of() is not None
    assert view_of(**changed) is None
