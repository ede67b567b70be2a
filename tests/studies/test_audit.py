"""The audit: a short one of everything, and attacks on the audit's own statistics.

Seeds are fixed. Realised losses are exact, so honest protocols cannot fail by chance; a lower bound
exceeds a true epsilon with probability 0.001 at most, for each view and table.
"""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.crypto import RandomStream
from sottovoce.launch.audit import plan_audit
from sottovoce.launch.audit_processes import _end, chunks_here, chunks_in_processes
from sottovoce.privacy import laplace
from sottovoce.privacy.laplace_shares import excess
from sottovoce.privacy.likelihood import log_ratio
from sottovoce.protocols.registry import available, find
from sottovoce.report.audit_report import (
    AuditLine,
    AuditReport,
    judge_line,
    skipped_text,
    verdict_text,
)
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.job import Job
from sottovoce.studies.audit import audit_lines, run_chunk
from sottovoce.studies.audit_line import SURE, _table_bound
from sottovoce.studies.audit_noise import NoisyTables
from sottovoce.studies.audit_plan import AuditPlan, Figures, RunFigures
from sottovoce.studies.audit_run import play_pair
from sottovoce.studies.audit_tables import AUDIT_TABLES, audit_schema, neighbouring_tables
from sottovoce.studies.mechanism_audit import audit_case, audit_mechanisms
from sottovoce.studies.mechanism_cases import MechanismCase, mechanism_cases

EVERYTHING = [(name, mode) for name in available() for mode in find(name).modes]
ALLOWED = {"holds", "no claim", "not refuted"}
PLUG_INS = Path(__file__).parent


def short(name: str, mode: Any, *, runs: int = 16, tables: int = 1, **parameters: Any) -> AuditPlan:
    plan = plan_audit(name, mode=mode, parameters=parameters, runs=runs, seed=7)
    return msgspec.structs.replace(plan, tables=plan.tables[:tables])


def lines_of(plan: AuditPlan) -> dict[str, AuditLine]:
    lines = audit_lines(plan, start=chunks_here, progress=lambda *_: None)
    return {line.view: line for line in lines}


@pytest.mark.parametrize(("name", "mode"), EVERYTHING)
def test_no_view_loses_more_than_is_accounted(name: str, mode: str) -> None:
    lines = lines_of(short(name, mode))
    for line in lines.values():
        assert not line.difference, line
        assert line.verdict in ALLOWED | ({"above the claim"} if mode == "paper" else set()), line
    assert {"public", "curator"} <= set(lines)


@pytest.mark.parametrize("table", AUDIT_TABLES)
def test_every_table_is_a_neighbour(table: str) -> None:
    schema = audit_schema((2, 3, 2))
    pair = neighbouring_tables(table, schema, rows=12, parties=3, party=2, neighbours="replace-one")
    changed = pair.tables[1] != pair.neighbour
    assert len(pair.tables) == 3
    assert changed.iloc[0].all()
    assert not changed.iloc[1:].any(axis=None)
    shorter = neighbouring_tables(
        table, schema, rows=12, parties=1, party=1, neighbours="add-or-remove-one"
    )
    assert len(shorter.neighbour) == len(shorter.tables[0]) - 1


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("noisy-marginals", "other_party"),  # Pathak: a party's own noise may be the only one
        ("dp-subn", "curator"),  # noise replacement: each later owner's noise hides P_1 again
        ("dp-subn", "other_party"),  # P_K knows the noise in what is published
        ("jtree", "public"),  # the threshold mechanism
        ("clldp-joint", "curator"),  # CLLDP is not stronger than LabelDP
    ],
)
def test_the_papers_false_claims_are_found(name: str, view: str) -> None:
    line = lines_of(short(name, "paper", runs=40))[view]
    assert line.verdict == "above the claim"
    assert line.claim is not None
    assert line.largest_loss is not None
    assert line.largest_loss > 1.2 * line.claim


def test_three_parties_have_all_views() -> None:
    plan = plan_audit("noisy-marginals", mode="rigorous", parameters={}, parties=3, runs=16, seed=2)
    lines = lines_of(msgspec.structs.replace(plan, tables=("lone", "pair")))
    assert list(lines) == [
        "public",
        "curator",
        "other_party",
        "2_parties",
        "curator_and_1",
        "curator_and_2",
    ]
    # Two colluding parties leave one share of a half, which is more than the claim and accounted.
    assert lines["2_parties"].verdict == "no claim"
    assert lines["2_parties"].accounted > 1


def test_the_sum_that_the_curator_received_is_the_tables_with_all_noise() -> None:
    """The noise that losses are computed from is that of the sums on the wire."""
    plan = short("noisy-marginals", "rigorous")
    chunk = plan.chunks()[0]
    run = _play(plan)
    (release,) = run.releases
    tables = NoisyTables.of(release.first, release.second, release.answer)
    taped = run.others[2][0]
    other = NoisyTables.of(taped.mechanism, taped.mechanism, taped.answer)
    total = np.concatenate([cells for _, cells in run.sums])
    assert np.array_equal(total, tables.exact + tables.noise + other.exact + other.noise)
    assert chunk.plan == plan
    assert tables.shift.any()
    assert np.abs(tables.shift).sum() <= tables.batch.sensitivity


def _play(plan: AuditPlan) -> Any:
    from sottovoce.studies.audit import _setup

    setup = _setup(plan)
    audited, neighbour = setup.datasets["lone"]
    return play_pair(
        setup.job,
        [setup.protocol() for _ in range(plan.parties + 2)],
        records=[audited, *setup.others["lone"]],
        neighbour=neighbour,
        party=1,
        schema=setup.schema,
    )


def test_what_the_curator_computes_alone_is_left_out_and_changes_nothing() -> None:
    first, second = (run_chunk(short("one-way", "rigorous").chunks()[0]) for _ in range(2))
    assert first == second


@pytest.fixture
def _plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PLUG_INS)


def _audit_of(name: str, *, runs: int, **parameters: Any) -> dict[str, AuditLine]:
    result = sottovoce.audit(
        f"audited:{name}",
        data="made-up",
        runs=runs,
        seed=11,
        processes=1,
        epsilon=1.0,
        **parameters,
    )
    return {line.view: line for line in result.lines}


@pytest.mark.usefixtures("_plug_ins")
@pytest.mark.parametrize("name", ["ExactCount", "OwnNoise"])
def test_what_no_release_covers_is_found(name: str) -> None:
    line = _audit_of(name, runs=64)["curator"]
    assert line.verdict == "NOT ACCOUNTED"
    assert "no release" in line.difference
    if name == "ExactCount":
        assert line.accounted == 0


@pytest.mark.usefixtures("_plug_ins")
def test_a_scale_five_per_cent_too_small_is_found_exactly() -> None:
    line = _audit_of("SlightlySmallNoise", runs=64)["curator"]
    assert line.verdict == "ABOVE WHAT IS ACCOUNTED"
    assert line.largest_loss == pytest.approx(1 / 0.95)


@pytest.mark.usefixtures("_plug_ins")
@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("OpenShare", excess(rate=1.0, shape=1 / 2)),
        ("ShareOfOneParty", excess(rate=1.0, shape=1 / 2)),
        ("ExactBesideNoise", math.inf),
    ],
)
def test_answers_that_no_sum_hides_have_their_own_loss(name: str, loss: float) -> None:
    """The largest loss of a lone share is where its noise is 0, which 64 runs meet often."""
    for line in _audit_of(name, runs=64).values():
        assert line.verdict == "ABOVE WHAT IS ACCOUNTED"
        assert line.largest_loss == pytest.approx(loss)


@pytest.mark.usefixtures("_plug_ins")
def test_a_sum_that_the_curator_does_not_keep_has_no_law() -> None:
    lines = _audit_of("SumOfItsOwn", runs=8, aggregator="paillier")
    assert lines["other_party"].accounted == math.inf
    assert {line.verdict for line in lines.values()} <= {"not refuted", "no claim"}
    assert {line.largest_loss for line in lines.values()} == {None}


@pytest.mark.usefixtures("_plug_ins")
def test_honest_noise_is_not_accused() -> None:
    """The bound at 99.9 % may fail with probability 0.001, the exact loss never."""
    line = _audit_of("HonestNoise", runs=200)["curator"]
    assert line.verdict == "holds"
    assert line.largest_loss == pytest.approx(1.0)


@pytest.mark.parametrize(("loss", "accused"), [(0.3, False), (0.5, True)])
def test_the_mean_loss_of_pure_releases_accuses_only_above_their_rho(
    loss: float, *, accused: bool
) -> None:
    """Randomised response is audited, where pure epsilon 0.3 and a delta are accounted.

    The rho of epsilon 0.3 alone would imply an epsilon above 1 at this delta.
    """
    generator = np.random.default_rng(1)
    runs = []
    for swapped in (False, True):
        truthful = generator.random(20_000) < 1 / (1 + math.exp(-loss))
        for sign in (2 * truthful - 1).tolist():
            figures = Figures(sign * loss, (), 0.3, 0.3**2 / 2)
            runs.append(RunFigures("all", swapped, {"curator": figures}, 1e-9, ""))
    bound = _table_bound(runs, "curator", confidence=SURE, delta=1e-9)
    assert (bound > 0.3) is accused


@pytest.mark.usefixtures("_plug_ins")
def test_noise_without_a_law_is_tested_by_its_answers() -> None:
    line = _audit_of("SmallNoise", runs=800)["curator"]
    assert line.largest_loss is None
    assert line.lower_bound > 1.0
    assert line.verdict == "ABOVE WHAT IS ACCOUNTED"


@pytest.mark.parametrize("case", mechanism_cases(), ids=lambda case: f"{case.name} {case.view}")
def test_mechanisms_use_their_epsilon_and_not_more(case: MechanismCase) -> None:
    dear = case.name.startswith("threshold-mechanism")  # it loses far more than it claims
    draws = 400 if case.mode == "rigorous" or dear else 2_000
    line = audit_case(case, seed=5, draws=draws)
    assert not line.difference
    assert line.claim is not None
    assert line.largest_loss is not None
    if case.mode == "rigorous":
        assert 0.9 * line.claim < line.largest_loss <= line.claim + 1e-5
        assert line.lower_bound <= line.claim
    else:
        assert line.verdict == "above the claim"
        assert line.lower_bound > line.claim


def test_all_mechanisms_are_audited_together() -> None:
    steps: list[tuple[int, int]] = []
    lines = audit_mechanisms(seed=5, draws=1, progress=lambda *step: steps.append(step))
    assert len(lines) == len(mechanism_cases()) == steps[-1][0]


def test_draws_of_another_law_are_found() -> None:
    """The sampler has half of the scale that the mechanism declares."""
    pair = [laplace(value, sensitivity=1, epsilon=0.5) for value in (0, 1)]
    wrong = [laplace(value, sensitivity=1, epsilon=1.0) for value in (0, 1)]

    def case(draws: list[Any]) -> MechanismCase:
        return MechanismCase(
            name="half",
            first=draws[0].draw,
            second=draws[1].draw,
            ratio=lambda answer: log_ratio(pair[0], pair[1], answer),
            claim=0.5,
            accounted=0.5,
        )

    assert not audit_case(case(pair), seed=1, draws=8_000).difference
    assert "declared law" in audit_case(case(wrong), seed=1, draws=8_000).difference
    assert RandomStream(b"k" * 32).below(2) in (0, 1)


def test_processes_find_what_one_process_finds() -> None:
    chunks = short("head-count", "rigorous", runs=24).chunks()
    here = [run for runs in chunks_here(chunks) for run in runs]
    there = [run for runs in chunks_in_processes(chunks, processes=2) for run in runs]
    assert sorted(map(repr, here)) == sorted(map(repr, there))


def test_a_failed_run_ends_the_audit() -> None:
    plan = msgspec.structs.replace(short("head-count", "rigorous", runs=60), protocol="no-such")
    chunks = [msgspec.structs.replace(chunk, plan=plan) for chunk in plan.chunks()]
    with pytest.raises(RunFailed, match="no-such"):
        list(chunks_in_processes(chunks, processes=2))


def test_a_worker_that_has_not_read_its_input_ends_without_an_error() -> None:
    """The reason why the audit ends would be hidden behind that of the pipe."""
    worker = subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert worker.stdin is not None
    worker.stdin.write(b"not sent yet")
    _end(worker)
    assert worker.returncode == -signal.SIGKILL


def test_verdicts() -> None:
    usual: dict[str, Any] = {
        "claim": 1.0,
        "accounted": 1.0,
        "delta": 0.0,
        "largest_loss": 1.0,
        "lower_bound": 0.2,
        "sure_bound": 0.1,
        "difference": "",
        "differs": True,
    }
    assert judge_line(**usual) == "holds"
    assert judge_line(**usual | {"largest_loss": 1.1}) == "ABOVE WHAT IS ACCOUNTED"
    assert judge_line(**usual | {"lower_bound": 1.1}) == "holds"
    assert judge_line(**usual | {"sure_bound": 1.1}) == "ABOVE WHAT IS ACCOUNTED"
    unknown = usual | {"largest_loss": None}
    assert judge_line(**unknown | {"lower_bound": 1.1}) == "ABOVE WHAT IS ACCOUNTED"
    assert judge_line(**usual | {"largest_loss": 1.1, "delta": 1e-6}) == "holds"
    assert judge_line(**usual | {"largest_loss": 1.5, "accounted": 2.0}) == "above the claim"
    assert judge_line(**usual | {"largest_loss": None}) == "not refuted"
    assert judge_line(**usual | {"claim": None}) == "no claim"
    assert judge_line(**usual | {"difference": "a message"}) == "NOT ACCOUNTED"
    never_changed = usual | {
        "largest_loss": 0.0,
        "lower_bound": 0.0,
        "sure_bound": 0.0,
        "differs": False,
    }
    assert judge_line(**never_changed) == "nothing tested"
    assert judge_line(**never_changed | {"largest_loss": None}) == "nothing tested"
    assert judge_line(**never_changed | {"accounted": 0.0}) == "holds"


def test_an_audit_in_which_no_release_changes_tests_nothing(
    counting_job: Callable[..., Job],
) -> None:
    """The rows of an audit are the first and the last label of each column: nobody is 41."""
    counting_job(before_the_release="count = int((me.records.column('age') == '41').sum())")
    result = sottovoce.audit("counting:NoisyCount", runs=16, seed=1, data="people.csv")
    assert {line.verdict for line in result.lines} == {"nothing tested"}
    assert str(result) == "Nothing was tested: no neighbouring table changed a release."


@pytest.mark.usefixtures("_plug_ins")
def test_noise_without_a_law_for_a_count_that_never_changes_tests_nothing() -> None:
    line = _audit_of("NoiseForNobody", runs=16)["curator"]
    assert line.largest_loss is None
    assert line.verdict == "nothing tested"


@pytest.mark.usefixtures("_plug_ins")
def test_a_mechanism_that_an_audit_draws_from_prints_and_writes_for_nobody(
    capfd: pytest.CaptureFixture[str],
) -> None:
    line = _audit_of("TalkativeNoise", runs=16)["curator"]
    assert line.largest_loss is None
    assert "drawn" not in "".join(capfd.readouterr())
    assert not Path("drawn.txt").exists()


def test_no_view_holds_of_which_the_rehearsal_has_found_more(
    counting_job: Callable[..., Job],
) -> None:
    counting_job(after_the_release="answer = count if answer < -50 else answer")
    result = sottovoce.audit("counting:NoisyCount", runs=16, seed=1, data="people.csv")
    assert not result.ok
    assert {line.verdict for line in result.lines} == {"NOT ACCOUNTED"}
    assert all(line.difference.startswith("in the rehearsal, ") for line in result.lines)
    assert any("NOT ACCOUNTED" in remark for remark in result.report.remarks)


def test_an_audit_says_that_a_module_reads_files(counting_job: Callable[..., Job]) -> None:
    counting_job(on_import="from pathlib import Path; Path('people.csv').read_text()")
    result = sottovoce.audit("counting:NoisyCount", runs=16, seed=1)
    assert any("its module reads files" in remark for remark in result.report.remarks)
    result = sottovoce.audit("counting:NoisyCount", runs=16, seed=1, data="people.csv")
    assert {line.verdict for line in result.lines} == {"NOT ACCOUNTED"}


def test_the_sentence_tells_losses_unknown_ones_and_untested_views_apart() -> None:
    def sentence(*verdicts: str) -> str:
        lines = [
            AuditLine(
                protocol="count",
                mode="rigorous",
                view=f"view {number}",
                claim=1.0,
                accounted=1.0,
                delta=0.0,
                runs=8,
                largest_loss=0.0,
                table="lone",
                lower_bound=0.0,
                difference="",
                verdict=verdict,
            )
            for number, verdict in enumerate(verdicts)
        ]
        report = AuditReport(
            lines=lines, parties=2, runs=8, seconds=1.0, confidence=0.999, left_out=[]
        )
        return verdict_text(report)

    assert sentence("NOT ACCOUNTED", "ABOVE WHAT IS ACCOUNTED", "holds") == (
        "More is lost than is accounted: view 1 of count (rigorous). "
        "What is lost is not accounted: view 0 of count (rigorous)."
    )
    assert sentence("holds", "nothing tested").endswith(
        "Nothing was tested of view 1 of count (rigorous)."
    )
    assert sentence(*["NOT ACCOUNTED"] * 5).endswith("view 2 of count (rigorous) and 2 more.")


def test_the_audit_is_a_table_a_page_and_json(tmp_path: Path) -> None:
    steps: list[tuple[int, int, str]] = []
    result = sottovoce.audit(
        "head-count", runs=16, seed=1, progress=lambda *step: steps.append(step)
    )
    assert result.ok
    assert str(result) == "No view loses more than the claim or than is accounted."
    assert steps[0] == (0, 64, "head-count (rigorous)")
    assert steps[-1] == (64, 64, "head-count (rigorous)")
    result.save(tmp_path)
    content = json.loads((tmp_path / "audit.json").read_bytes())
    assert [line["view"] for line in content["lines"]] == [line.view for line in result.lines]
    page = (tmp_path / "audit.html").read_text()
    assert "<script" not in page
    for line in result.lines:
        assert f"<td>{line.view}</td>" in page
    for text in content["left_out"]:
        assert escape(text) in page


def test_wrong_options_are_refused() -> None:
    for options, text in (
        ({"mode": "paper"}, "expected --mode rigorous for head-count"),
        ({"view": "nobody"}, "expected a view among public, curator"),
        ({"runs": 0}, "expected at least one run"),
        ({"party": 3}, "expected an audited party from 1 to 2"),
        ({"epsilom": 1.0}, "epsilom"),
    ):
        with pytest.raises(UsageError, match=text):
            sottovoce.audit("head-count", **{"runs": 8, "seed": 1, **options})  # type: ignore[arg-type]


def test_options_that_a_protocol_refuses_when_it_runs_are_refused_at_once() -> None:
    """No run is made for the audit: private-schema refuses texts without a delta in its first."""
    steps: list[object] = []
    with pytest.raises(UsageError, match="expected a delta above 0 to learn 'a'"):
        sottovoce.audit(
            "private-schema", runs=16, seed=1, progress=lambda *step: steps.append(step), delta=0.0
        )
    assert not steps


def test_an_audit_of_everything_skips_what_the_options_do_not_suit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One protocol refuses before its run and another in it; the third one is audited."""
    from sottovoce.launch import audit as module

    monkeypatch.setattr(module, "available", lambda: ["aim", "head-count", "private-schema"])
    monkeypatch.setattr(module, "audit_mechanisms", lambda **_: [])
    result = sottovoce.audit("all", runs=16, seed=1, delta=0.0)
    assert {line.protocol for line in result.lines} == {"head-count"}
    assert {*result.report.skipped} == {"aim", "private-schema"}
    result.save(tmp_path)
    for line in skipped_text(result.report):
        assert "expected a delta above 0" in line
        page = re.sub(r"</?span[^>]*>", "", (tmp_path / "audit.html").read_text())
        assert escape(line) in page
    with pytest.raises(UsageError, match="epsilom"):
        sottovoce.audit("all", runs=16, seed=1, epsilom=1.0)


def test_more_runs_than_requested_are_explained() -> None:
    few, enough = (sottovoce.audit("head-count", runs=runs, seed=1) for runs in (63, 64))
    assert [line.runs for line in (*few.lines[:1], *enough.lines[:1])] == [64, 64]
    (remark,) = few.report.remarks
    assert remark.startswith("64 runs, not 63: 4 tables with a neighbour each")
    assert f"{remark}." in few.page()
    assert enough.report.remarks == []


def test_the_command_ends_with_1_where_more_is_lost() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sottovoce", "audit", *arguments, "--seed", "1"]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=600, cwd=PLUG_INS
        )

    honest = run("head-count", "--runs", "16", "--view", "public", "--epsilon", "0.5")
    assert honest.returncode == 0, honest.stderr
    assert "holds" in honest.stdout
    assert "0.5" in honest.stdout
    assert "64 runs, not 16: 4 tables with a neighbour each" in honest.stdout
    leaky = run("audited:ExactCount", "--runs", "16", "--data", "made-up", "--json")
    assert leaky.returncode == 1, leaky.stderr
    content = json.loads(leaky.stdout)
    assert content["lines"][0]["verdict"] == "NOT ACCOUNTED"
    assert math.isfinite(content["lines"][0]["lower_bound"])


def test_rows_are_those_of_each_party() -> None:
    plan = plan_audit("head-count", mode="rigorous", parameters={}, rows=33, runs=16, seed=7)
    assert plan.rows == 33
    (line, *_) = sottovoce.audit("head-count", rows=33, runs=16, view="public", seed=7).lines
    assert line.verdict == "holds"
    with pytest.raises(UsageError, match="expected at least one row, found 0"):
        sottovoce.audit("head-count", rows=0)
