"""What is said of losses above the claim, and of messages that no release covers.

The options that a warning names are tried: with them the claim holds for the adversaries it names.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pandas as pd
import pytest

import sottovoce
from sottovoce import Curator, Epsilon, Options, Outcome, Party, Protocol
from sottovoce.messages import MisuseError
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import coalition, members, views, with_curator
from sottovoce.protocols.secure_sum import SecureSums, SumOptions
from sottovoce.report.above_claim import losses_text
from sottovoce.report.claims import claimed_for, exceeds
from sottovoce.report.comparison import compare
from sottovoce.report.comparison_table import comparison_json, comparison_table
from sottovoce.report.not_accounted import MARK, unaccounted_texts
from sottovoce.report.pages import comparison_page, run_page
from sottovoce.report.pages.sentences import lead
from sottovoce.report.report import Privacy, parse_report, report_json
from sottovoce.report.reported import ReportedRun, pack_run, unpack_run
from sottovoce.report.summary import summary_lines
from sottovoce.report.sweep_printing import print_sweep
from sottovoce.report.terminal import print_comparison, print_summary
from sottovoce.runs.record import Unaccounted
from sottovoce.studies.sweep import RunCell

COLUMNS = ["sex", "race", "income", "relationship"]
KEYS: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True, "judge": False, "seed": 1}
SUMS = [
    *("noisy-marginals", "one-way", "dp-subn", "dp-ccbn", "jtree", "adaptive-pairs"),
    *("aim", "mst", "flaim", "aug-flaim"),
]
"""The protocols with secure sums among any number of parties."""


def run(name: str, *, parties: int = 3, **options: Any) -> sottovoce.Run:
    return sottovoce.run(name, demo_table(300)[COLUMNS], parties=parties, **KEYS, **options)


def above(privacy: Privacy) -> set[str]:
    """List the views above the claim, directly from the losses."""
    losses = {**privacy.epsilon, **privacy.coalitions}
    return {view for view, loss in losses.items() if exceeds(loss, privacy.claimed_epsilon)}


def options_in(text: str, *, largest: int) -> dict[str, Any]:
    """Read the options that a remedy names; C stands for any size of coalition."""
    values = dict(re.findall(r"--set (\w+)=(\w+)", text))
    if "colluding" in values:
        values["colluding"] = largest if values["colluding"] == "C" else int(values["colluding"])
    return {**values, **({"mode": "rigorous"} if "--mode rigorous" in text else {})}


def test_the_members_of_every_view_are_read_from_its_name() -> None:
    for parties in (1, 2, 5):
        for view in views(parties):
            size, curator = members(view)
            names = {with_curator(size)} if curator else {coalition(size), "public"}
            assert view in names
            assert (view == "public") == ((size, curator) == (0, False))


@pytest.mark.parametrize("aggregator", ["paillier", "masks", "clear"])
@pytest.mark.parametrize("parties", [2, 3, 5])
@pytest.mark.parametrize("name", SUMS)
def test_the_options_that_a_warning_names_cover_the_coalitions(
    name: str, parties: int, aggregator: str
) -> None:
    first = run(name, parties=parties, aggregator=aggregator).reported.report
    excesses = first.privacy.above_claim
    assert {view for excess in excesses for view in excess.views} == above(first.privacy)
    assert [excess.claimed for excess in excesses] == sorted(
        {claimed_for(view, first.privacy) for view in above(first.privacy)}, reverse=True
    )
    texts = [text for text in first.warnings if "as accounted" in text]
    assert len(texts) == len(excesses)
    options = {"aggregator": aggregator}
    for excess in excesses:
        options |= options_in(excess.remedy, largest=parties - 1)
    covered = run(name, parties=parties, **options).reported.report.privacy
    assert above(covered) == set()
    assert covered.above_claim == []


def test_the_price_is_the_noise() -> None:
    """The deviation that the outcome states grows by the factor that the warning states."""
    first = run("noisy-marginals", parties=5, aggregator="masks", marginals="sex").reported.report
    remedy = first.privacy.above_claim[0].remedy
    prices = {
        int(size): float(price)
        for price, size in re.findall(r"([\d.]+) times the noise for (\d)", remedy)
    }
    assert [*prices] == [2, 4]
    for size, price in prices.items():
        more = run(
            "noisy-marginals", parties=5, aggregator="masks", marginals="sex", colluding=size
        ).reported.report
        ratio = _deviation(more.outcome) / _deviation(first.outcome)
        assert ratio == pytest.approx(price, abs=0.005)


def _deviation(outcome: dict[str, Any]) -> float:
    figure = re.search(r"deviation ([\d.]+)", outcome["noise"])
    assert figure
    return float(figure[1])


@pytest.mark.parametrize("name", ["noisy-marginals", "dp-subn", "dp-ccbn", "dist-diff-gen"])
def test_a_broken_claim_of_a_printed_algorithm_names_the_mode_that_keeps_it(name: str) -> None:
    parties = 2 if name == "dist-diff-gen" else 3
    printed = run(name, parties=parties, mode="paper").reported.report
    broken = printed.privacy.above_claim[0]
    assert broken.claimed
    assert broken.views["other_party"] == inf
    assert broken.remedy == "--mode rigorous keeps the claim"
    assert any(
        text.startswith("the claimed epsilon 1 does not hold, as accounted: ")
        and "another party infinity" in text
        for text in printed.warnings
    )
    privacy = run(name, parties=parties).reported.report.privacy
    assert not any(claimed_for(view, privacy) for view in above(privacy))


@pytest.mark.parametrize("name", ["head-count", "independent", "one-way-ldp", "clldp-joint"])
def test_where_each_party_adds_its_own_noise_the_claim_covers_everybody(name: str) -> None:
    privacy = run(name, parties=4).reported.report.privacy
    assert privacy.claimed_coalition is None
    assert all(claimed_for(view, privacy) for view in {**privacy.epsilon, **privacy.coalitions})
    assert above(privacy) == set()


class LoneParameters(Options):
    epsilon: Epsilon = 1.0


class Forgetful(Protocol[LoneParameters]):
    """Names secure sums without a collusion threshold."""

    name = "forgetful"
    neighbours = "replace-one"
    uses = (SecureSums,)

    def party(self, me: Party) -> None:
        raise AssertionError("it must not start")

    def curator(self, desk: Curator) -> Outcome:
        raise AssertionError("it must not start")


class ThresholdParameters(SumOptions):
    epsilon: Epsilon = 1.0


class Declared(Protocol[ThresholdParameters]):
    """Has the threshold by its parameters alone."""

    name = "declared"
    neighbours = "replace-one"
    uses = (SecureSums,)
    party = Forgetful.party
    curator = Forgetful.curator


def test_a_threshold_cannot_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "forgetful", sys.modules[__name__])
    with pytest.raises(MisuseError, match=r"expected a parameter colluding, .* found none"):
        sottovoce.run("forgetful:Forgetful", rows=30)
    assert Declared(ThresholdParameters(colluding=2), mode="rigorous").colluding == 2


def leaky(report_of: sottovoce.Run) -> ReportedRun:
    """Give a run whose parties sent messages that no release covers, to the curator."""
    report = report_of.reported.report
    seen = {
        view: inf if view == "public" or members(view).curator else loss
        for view, loss in {**report.privacy.epsilon, **report.privacy.coalitions}.items()
    }
    messages = [
        Unaccounted(party=party, kind="Total", messages=2, reason="") for party in (3, 1, 2)
    ]
    privacy = msgspec.structs.replace(
        report.privacy,
        not_accounted=messages,
        epsilon={view: seen[view] for view in report.privacy.epsilon},
        coalitions={view: seen[view] for view in report.privacy.coalitions},
        by_party=dict.fromkeys(report.privacy.by_party, seen),
    )
    warnings = [*unaccounted_texts(messages), *report.warnings]
    return replace(
        report_of.reported,
        report=msgspec.structs.replace(report, privacy=privacy, warnings=warnings),
    )


SENTENCE = "NOT ACCOUNTED: 6 messages of kind Total left parties 1 to 3 without a release"


@pytest.fixture(scope="module")
def unaccounted() -> ReportedRun:
    return leaky(run("head-count"))


def test_the_terminal_says_it_below_the_protocol(
    unaccounted: ReportedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    print_summary(unaccounted, folder=Path("run"), names=["report.json"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("protocol ")
    assert lines[1] == SENTENCE
    assert sum(MARK in line for line in lines) == 1
    epsilon = dict(summary_lines(unaccounted))["epsilon"]
    assert epsilon == (
        "claimed 1; as accounted: public not accounted, curator not accounted, another party 1, "
        "coalitions not accounted (add-or-remove-one)"
    )


def test_it_is_red_where_the_terminal_has_colours(
    unaccounted: ReportedRun,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    print_summary(unaccounted, folder=Path("run"), names=[])
    assert f"\x1b[1;31m{SENTENCE}" in capsys.readouterr().out


def test_the_page_has_a_banner_and_no_figure(unaccounted: ReportedRun) -> None:
    page = run_page(unaccounted).replace("&nbsp;", " ")
    head = page[page.index("<h1>") : page.index("</header>")]
    assert head.index('class="banner" role="alert"') < head.index("<p class")
    assert "6 messages of kind Total left parties 1 to 3 without a release" in head
    assert page.count(">6 messages of kind Total") == 1
    assert "infinity" not in page
    assert "unbounded" not in page
    for sentence in lead(unaccounted):
        assert "at most epsilon" not in sentence
        assert "saw none of" not in sentence
    assert "the public and the curator may have learnt anything" in lead(unaccounted)[1]
    assert '<strong class="worse">not accounted</strong>' in page


def test_comparisons_say_it(unaccounted: ReportedRun, capsys: pytest.CaptureFixture[str]) -> None:
    comparison = compare({"clean": run("head-count").reported, "leaky": unaccounted})
    heads, rows = comparison_table(comparison)
    by_name = [dict(zip(heads, row, strict=True)) for row in rows[:2]]
    assert [row["not accounted"] for row in by_name] == ["0", "6"]
    for view in ("public", "curator", "coalition"):
        assert [row[view] for row in by_name] == ["1", "not accounted"]
    assert [row["party"] for row in by_name] == ["1", "1"]
    print_comparison(comparison)
    assert capsys.readouterr().out.splitlines()[0] == f"leaky: {SENTENCE}"
    page = comparison_page(comparison)
    assert page.index('class="banner"') < page.index("<h2")
    assert "leaky: 6 messages of kind Total" in page
    assert json.loads(comparison_json(comparison))[1]["public"] == "infinity"


def test_a_sweep_says_it(
    unaccounted: ReportedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell: Any = SimpleNamespace(factors={}, also={}, run_of=unpack_run)
    reported = {"leaky": unaccounted, "sums": run("one-way", aggregator="masks").reported}
    rows = []
    for name, of_run in reported.items():
        (figures,) = RunCell.figures(cell, pack_run(of_run))
        rows.append({"run": name, "protocol": name, "seed": 1, "status": "done", **figures})
    table = pd.DataFrame(rows)
    assert table["not_accounted"].tolist()[0] == 6
    assert table["epsilon_public"].isna().tolist() == [True, False]
    assert table["epsilon_coalition"][1] > table["claimed_epsilon"][1]
    print_sweep(table, before=0, folder=tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("NOT ACCOUNTED: in 1 run messages left parties without a release")
    warning = "warning: in 1 run a privacy loss, as accounted, is above the claimed epsilon;"
    assert any(line.startswith(warning) for line in lines)


def test_a_report_is_read_again_as_it_was_written(unaccounted: ReportedRun) -> None:
    for report in (unaccounted.report, run("one-way").reported.report):
        assert parse_report(json.loads(report_json(report))) == report


def test_many_kinds_and_parties_are_few_lines() -> None:
    messages = [
        Unaccounted(party=party, kind=f"Kind{kind}", messages=kind, reason="")
        for kind in range(1, 21)
        for party in range(1, 32)
    ]
    texts = unaccounted_texts(messages)
    assert texts[0] == f"{MARK}: 31 messages of kind Kind1 left parties 1 to 31 without a release"
    assert len(texts) == 6
    counts = [int(text.split()[2].replace(",", "")) for text in texts]
    assert sum(counts) == sum(message.messages for message in messages)
    assert "of 15 more kinds left parties 1 to 31" in texts[-1]


def test_losses_of_many_coalitions_are_one_line() -> None:
    losses = {f"{size}_parties": float(size) for size in range(2, 31)}
    losses |= {f"curator_and_{size}": inf for size in (1, 3)}
    assert losses_text(losses) == (
        "2 to 30 other parties together 2 to 30, the curator with 1 or 3 parties infinity"
    )


@pytest.mark.parametrize(("noise", "is_named"), [("auto", True), ("gaussian", False)])
def test_gaussian_noise_is_named_where_shares_of_laplace_noise_lose_much(
    noise: str, is_named: bool
) -> None:
    """On a small table Laplace noise is more accurate, but 1 of its 3 shares hides little."""
    columns = ["sex", "income", "race"]
    run = sottovoce.run(
        "adaptive-pairs", parties=3, rows=300, columns=columns, noise=noise, seed=1, judge=False
    )
    (excess,) = run.report["privacy"]["above_claim"]
    assert (max(excess["views"].values()) > 10) == is_named
    assert ("--set noise=gaussian" in excess["remedy"]) == is_named
