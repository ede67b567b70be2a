"""A budget outlives runs: what is refused, what is written down, and when."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.launch.jobs import UNKNOWN_COST, run_job
from sottovoce.launch.spending import USED_UP
from sottovoce.messages import SottovoceError
from sottovoce.parties import digest_of
from sottovoce.parties.demo import demo_table
from sottovoce.protocols.head_count import HeadCount
from sottovoce.report.spending import joint_costs, loss_by_party
from sottovoce.runs.budget import Budget
from sottovoce.runs.budget_file import create_budget, read_budget
from sottovoce.runs.datasets import Dataset, cost_of, datasets_of
from sottovoce.runs.job import Job
from sottovoce.runs.placement import Placement
from sottovoce.runs.record import Unaccounted
from sottovoce.runs.reservation import reserve

KEYS: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "spent.json"
    create_budget(path, epsilon=1.0, neighbours="add-or-remove-one")
    return path


def head_count(file: Path, *, epsilon: float = 0.4, **options: Any) -> sottovoce.Run:
    return sottovoce.run(
        "head-count",
        **{"rows": 50, "epsilon": epsilon, "budget_file": file, "judge": False, **options},
    )


def test_runs_add_up_and_what_would_exceed_the_total_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head_count(file)
    head_count(file, transport="threads", seed=5, data=demo_table(50, seed=0))
    assert read_budget(file).spending[0].dataset != read_budget(file).spending[1].dataset
    head_count(file)
    before = file.read_bytes()

    def play(*_: object) -> None:
        raise AssertionError("expected no role to begin")

    monkeypatch.setattr(HeadCount, "party", play)
    with pytest.raises(
        UsageError,
        match=r"at most epsilon 0\.2 on demo, found one that claims 0\.4: .*spent\.json allows 1, "
        r"and 2 earlier runs spent 0\.8; see `sottovoce budget",
    ):
        head_count(file)
    assert file.read_bytes() == before


def test_a_run_is_written_down_before_it_begins(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A role that fails may have released, so its run counts with its claim."""
    seen: list[Budget] = []

    def fail(*_: object) -> None:
        seen.append(read_budget(file))
        raise RuntimeError("made to fail")

    monkeypatch.setattr(HeadCount, "party", fail)
    with pytest.raises(SottovoceError, match="made to fail"):
        head_count(file)
    (entry,) = seen[0].spending
    assert (entry.state, entry.epsilon, entry.name, entry.protocol) == (
        "started",
        0.4,
        "demo",
        "head-count",
    )
    assert read_budget(file) == seen[0]
    assert "@" in entry.who


def test_a_run_that_ends_counts_with_what_was_accounted(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HeadCount, "epsilon", 0.9)  # claims more than it spends
    head_count(file)
    (entry,) = read_budget(file).spending
    assert (entry.state, entry.claimed, entry.epsilon) == ("ended", 0.9, 0.4)


@pytest.mark.parametrize("transport", ["threads", pytest.param("mpi", marks=pytest.mark.mpi)])
def test_a_run_whose_set_up_fails_costs_nothing(tmp_path: Path, transport: Any) -> None:
    file = tmp_path / "spent.json"
    create_budget(file, epsilon=1.0)
    table = tmp_path / "people.csv"
    demo_table(50).to_csv(table, index=False)
    schema = {"nobody": ["a", "b"]}
    with pytest.raises(SottovoceError, match="nobody"):
        sottovoce.run(
            "one-way",
            str(table),
            schema=schema,
            epsilon=0.4,
            budget_file=file,
            transport=transport,
            aggregator="masks",
        )
    assert not read_budget(file).spending


def test_a_missing_mpiexec_costs_nothing(file: Path, tmp_path: Path) -> None:
    job = Job(protocol="head-count", rows=50)
    placement = Placement(transport="mpi", mpiexec=str(tmp_path / "none"), budget=str(file))
    with pytest.raises(UsageError, match="none"):
        run_job(job, placement=placement)
    assert not read_budget(file).spending


@pytest.mark.mpi
def test_a_data_frame_is_one_dataset_on_all_transports(file: Path) -> None:
    """Over MPI it travels as a temporary file, whose name means nothing to anyone."""
    table = demo_table(50)
    for transport in ("threads", "mpi"):
        head_count(file, data=table, transport=transport)
    first, second = read_budget(file).spending
    assert first.dataset == second.dataset
    assert first.name == second.name == "<table>"


def test_a_job_of_the_users_own_mpirun_has_no_budget(file: Path) -> None:
    """Other ranks may hold tables that this one cannot read."""
    outside = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0"}
    result = subprocess.run(
        [sys.executable, "-m", "sottovoce", "run", "head-count", "--budget", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **outside},
    )
    assert result.returncode == 2
    assert "expected --budget without an MPI job around the run" in result.stderr
    assert not read_budget(file).spending


def test_users_who_are_drawn_have_no_budget(tmp_path: Path) -> None:
    """A record may stand behind several users, so epsilon bounds no record's loss."""
    file = tmp_path / "spent.json"
    create_budget(file, epsilon=10.0)
    options: dict[str, Any] = {"rows": 300, "judge": False, "ways": 1}
    with pytest.raises(UsageError, match="found users drawn from the records"):
        sottovoce.run("calm", users=1000, budget_file=file, **options)
    runs = [sottovoce.run("calm", users=users, **options) for users in (1000, 0)]
    (cost,) = joint_costs((run.record.job, run.reported.report.privacy) for run in runs)
    assert (cost.runs, cost.epsilon) == (1, 1.0)
    sottovoce.run("calm", budget_file=file, **options)
    assert [entry.epsilon for entry in read_budget(file).spending] == [1.0]


def test_the_result_is_not_lost_with_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    party = HeadCount.party

    def remove(protocol: HeadCount, me: Any) -> None:
        file.unlink(missing_ok=True)
        party(protocol, me)

    monkeypatch.setattr(HeadCount, "party", remove)
    assert head_count(file).report["outcome"]
    assert "the run counts with its claim: expected a budget at" in capsys.readouterr().err


def test_two_runs_at_once_never_spend_the_same(file: Path) -> None:
    def take(_: int) -> bool:
        try:
            reserve(
                file,
                [(Dataset("t", "digest", ((1,),)), 0.1)],
                protocol="p",
                claimed=0.1,
                neighbours="add-or-remove-one",
            )
        except UsageError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(take, range(40))) == 10
    assert len(read_budget(file).spending) == 10


def test_a_write_that_fails_leaves_the_file_as_it_was(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head_count(file)
    before = file.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(UsageError, match=r"expected to write the budget .*No space left"):
        head_count(file)
    assert file.read_bytes() == before
    assert sorted(path.name for path in file.parent.iterdir()) == [
        ".spent.json.lock",
        "spent.json",
    ]


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", '{"epsilon": 1}', '{"epsilon": "x", "neighbours": "replace-one"}', "\0"],
)
def test_a_damaged_file_is_never_an_empty_one(file: Path, content: str) -> None:
    file.write_text(content)
    with pytest.raises(UsageError, match="expected a file of `sottovoce budget` at"):
        head_count(file)
    assert file.read_text() == content


def test_a_missing_file_is_not_made_by_a_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"make one by `sottovoce budget .*new\.json --epsilon"):
        head_count(tmp_path / "new.json")
    assert not (tmp_path / "new.json").exists()


def test_a_total_is_not_changed_by_making_the_file_again(file: Path) -> None:
    with pytest.raises(UsageError, match="expected a new file"):
        create_budget(file, epsilon=100.0)
    for epsilon in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(UsageError, match="expected a finite epsilon above 0"):
            create_budget(file.with_name("other.json"), epsilon=epsilon)


def test_a_dataset_is_known_by_its_content(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": ["1", "2"], "b": ["x", "y"]})
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    for path in (first, second):
        table.to_csv(path, index=False)
    other = tmp_path / "other.csv"
    table.iloc[::-1].to_csv(other, index=False)

    def digests(*data: str, **options: Any) -> list[Dataset]:
        values = {"protocol": "head-count", "data": data, "parties": max(len(data), 2), **options}
        return datasets_of(msgspec.convert(values, Job))

    (shared,) = digests(str(first))
    assert shared.holders == ((1, 2),)
    (twice,) = digests(str(first), str(second))
    assert (twice.digest, twice.holders) == (shared.digest, ((1,), (2,)))
    assert len(digests(str(first), str(other))) == 2
    job = Job(protocol="head-count", data=("<table>",), parties=2)
    assert datasets_of(job, tables=[table])[0].digest == shared.digest
    assert digests("demo", rows=10) != digests("demo", rows=11)
    assert digests("demo", seed=1) != digests("demo")
    losses = {1: 0.25, 2: 1.0}
    assert (cost_of(shared, losses), cost_of(twice, losses)) == (1.0, 1.25)


@pytest.mark.parametrize("transport", ["threads", pytest.param("mpi", marks=pytest.mark.mpi)])
def test_a_dataframe_keeps_its_types_and_its_digest_on_every_transport(
    tmp_path: Path, transport: Any
) -> None:
    """Ranks get a file. In a CSV file codes of categories would come back as integers."""
    file = tmp_path / "spent.json"
    create_budget(file, epsilon=10.0)
    table = pd.DataFrame({"code": pd.Categorical(["1", "2"] * 20), "sex": ["F", "M"] * 20})
    done = sottovoce.run(
        "one-way",
        table,
        parties=2,
        epsilon=5.0,
        seed=1,
        budget_file=file,
        transport=transport,
        aggregator="clear",
        judge=False,
    )
    assert done.synthetic is not None
    assert done.synthetic["code"].dtype == table["code"].dtype
    (entry,) = read_budget(file).spending
    assert (entry.name, entry.dataset) == ("<table>", digest_of(table))


def test_a_file_that_changes_is_another_dataset(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a\n1\n")
    job = Job(protocol="head-count", data=(str(path),))
    (before,) = datasets_of(job)
    path.write_text("a\n1\n2\n")
    assert datasets_of(job)[0].digest != before.digest


@pytest.mark.parametrize(
    ("of_run", "of_file", "factor"),
    [
        ("replace-one", "replace-one", 1),
        ("add-or-remove-one", "replace-one", 2),
        ("add-or-remove-one", "label-alone", 2),
        ("replace-one", "label-within-belief", 1),
        ("replace-one", "add-or-remove-one", math.inf),
        ("label-alone", "replace-one", math.inf),
        ("label-within-belief", "label-alone", math.inf),
    ],
)
def test_epsilons_of_different_neighbours_are_converted_or_refused(
    tmp_path: Path, of_run: Any, of_file: str, factor: float
) -> None:
    file = tmp_path / "spent.json"
    create_budget(file, epsilon=1.0, neighbours=of_file)
    arguments: Any = {"protocol": "p", "claimed": 0.3, "neighbours": of_run}
    claims = [(Dataset("people.csv", "digest", ((1,),)), 0.3)]
    if factor == math.inf:
        with pytest.raises(UsageError, match=f"found {of_run}, which cannot be converted"):
            reserve(file, claims, **arguments)
        return
    reservation = reserve(file, claims, **arguments)
    assert read_budget(file).spent("digest") == 0.3 * factor
    reservation.settle({"digest": 0.2}, to_anyone={"digest": 0.7}, delta=1e-6)
    (entry,) = read_budget(file).spending
    assert (entry.epsilon, entry.to_anyone, entry.delta) == (0.2 * factor, 0.7 * factor, 1e-6)


def test_coalitions_beyond_the_claim_count_where_the_file_says_so(tmp_path: Path) -> None:
    claimed, anyone = tmp_path / "claimed.json", tmp_path / "anyone.json"
    create_budget(claimed, epsilon=3.0)
    create_budget(anyone, epsilon=3.0, against_anyone=True)
    for file in (claimed, anyone):
        run = sottovoce.run(
            "noisy-marginals", rows=90, ways=1, epsilon=1.0, budget_file=file, judge=False, **KEYS
        )
        privacy = run.report["privacy"]
    worst = max({**privacy["epsilon"], **privacy["coalitions"]}.values())
    assert worst > 1.0
    (entry,) = read_budget(claimed).spending
    within_claim = privacy["epsilon"]["curator"]
    assert 0.9 < within_claim <= 1.0
    assert (entry.epsilon, entry.to_anyone) == pytest.approx((within_claim, worst))
    assert read_budget(anyone).spending[0].epsilon == pytest.approx(worst)


def test_a_broken_claim_counts_as_accounted(tmp_path: Path) -> None:
    """The printed algorithm gives another party the exact sums of the others."""
    file = tmp_path / "spent.json"
    create_budget(file, epsilon=3.0)
    options: dict[str, Any] = {"rows": 90, "ways": 1, "mode": "paper", "judge": False, **KEYS}
    sottovoce.run("noisy-marginals", budget_file=file, **options)
    (entry,) = read_budget(file).spending
    assert entry.epsilon == math.inf
    assert json.loads(file.read_text())["spending"][0]["epsilon"] == "infinity"
    with pytest.raises(UsageError, match=r"at most epsilon 0 on demo"):
        sottovoce.run("noisy-marginals", budget_file=file, **options)


def test_messages_without_a_release_cost_infinity() -> None:
    privacy = sottovoce.run("head-count", rows=50, epsilon=0.4, judge=False).reported.report.privacy
    assert set(loss_by_party(privacy).values()) == {0.4}
    message = Unaccounted(party=2, kind="Total", messages=1, reason="")
    leaky = msgspec.structs.replace(privacy, not_accounted=[message])
    assert loss_by_party(leaky) == {1: 0.4, 2: math.inf, 3: 0.4}


@pytest.mark.usefixtures("short_replays")
def test_a_run_whose_cost_is_not_known_is_refused(
    file: Path, counting_job: Callable[..., Job], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a rehearsal it runs, and then a line says what that has cost."""
    counting_job(after_the_release="answer = count")
    before = file.read_bytes()

    def counted(**options: Any) -> sottovoce.Run:
        return sottovoce.run(
            "counting:NoisyCount", data="people.csv", budget_file=file, judge=False, **options
        )

    with pytest.raises(UsageError) as refused:
        counted()
    finding = "NOT ACCOUNTED: 3 messages of kind Answer left parties 1 to 3 without a release"
    assert UNKNOWN_COST.partition("{}")[0] + str(file) in str(refused.value)
    assert finding in str(refused.value)
    assert file.read_bytes() == before
    with pytest.warns(sottovoce.NotAccountedWarning):
        counted(no_rehearsal=True)
    assert USED_UP.format("people.csv", file) in capsys.readouterr().err
    with pytest.raises(UsageError, match="infinity"):
        counted(no_rehearsal=True)


def test_runs_on_one_table_cost_together_what_they_cost_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    demo_table(60).to_csv(path, index=False)
    runs = []
    for epsilon, parties in ((0.5, 2), (0.25, 3)):
        run = sottovoce.run("head-count", str(path), parties=parties, epsilon=epsilon, judge=False)
        runs.append((run.record.job, run.reported.report.privacy))
    (cost,) = joint_costs(runs)
    assert cost.text == (
        f"2 runs on {path} cost its records together epsilon 0.75 as accounted (add-or-remove-one)"
    )
    path.unlink()
    (cost,) = joint_costs(runs)
    assert (cost.runs, cost.epsilon) == (2, 0.75)


def test_demo_tables_of_several_seeds_share_one_line() -> None:
    runs = []
    for seed, epsilon in ((1, 0.5), (1, 0.25), (2, 0.5), (3, 1.0)):
        run = sottovoce.run("head-count", rows=60, seed=seed, epsilon=epsilon, judge=False)
        runs.append((run.record.job, run.reported.report.privacy))
    (two,) = joint_costs(runs[:2])
    assert two.text == (
        "2 runs on demo cost its records together epsilon 0.75 as accounted (add-or-remove-one)"
    )
    (three,) = joint_costs(runs[:3])
    assert three.text == (
        "3 runs on 2 demo tables, one for each seed or size, cost the records of one table "
        "together at most epsilon 0.75 as accounted (add-or-remove-one)"
    )
    (cost,) = joint_costs(runs)
    assert (cost.runs, cost.tables, cost.epsilon) == (4, 3, 1.0)
