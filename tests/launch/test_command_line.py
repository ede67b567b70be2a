"""The command line as its user meets it: what it prints, what it writes, its exit status."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mpi_starts import with_daemon

import sottovoce as package
from sottovoce import UsageError
from sottovoce.launch.mpiexec import find_launcher, inside_mpi_job
from sottovoce.protocols import RECOMMENDED, RECOMMENDED_PURE
from sottovoce.report import folder as run_folder


def sottovoce(
    *words: str, python: str = sys.executable, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = [python, "-m", "sottovoce", *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, cwd=cwd
    )


def test_run_writes_everything(tmp_path: Path, mpi_python: str) -> None:
    out = tmp_path / "out"
    ran = sottovoce(
        "run", "head-count", "--rows", "90", "--seed", "4", "--out", str(out), python=mpi_python
    )
    assert ran.returncode == 0, ran.stderr
    assert {path.name for path in out.iterdir()} == {
        "marginals.csv",
        "ledger.csv",
        "judgement.json",
        "report.json",
        "ro-crate-metadata.json",
        "report.html",
    }
    report = json.loads((out / "report.json").read_text())
    assert report["transport"] == "mpi"
    assert len(report["mpi"]["hosts"]) == 4
    assert json.loads((out / "judgement.json").read_text())["rows"] == 90
    assert "3 messages in 1 round" in ran.stdout
    assert ran.stderr == ""


def test_json_and_quiet(tmp_path: Path) -> None:
    words = [
        "run",
        "head-count",
        "--rows",
        "90",
        "--transport",
        "threads",
        "--out",
        str(tmp_path / "out"),
    ]
    assert json.loads(sottovoce(*words, "--json").stdout)["protocol"] == "head-count"
    assert sottovoce(*words, "--quiet").stdout == ""


def test_a_run_is_judged_and_can_be_judged_again(tmp_path: Path) -> None:
    words = [
        "run",
        "noisy-marginals",
        "--rows",
        "900",
        "--set",
        "aggregator=clear",
        "--transport",
        "threads",
        "--out",
        "out",
    ]
    ran = sottovoce(*words, "--split", "by:age@0.5", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "utility" in ran.stdout
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert "utility" not in report
    judgement = json.loads((tmp_path / "out" / "judgement.json").read_text())
    assert "not private" in next(iter(judgement.values()))  # the first key says so
    assert judgement["rows"] == 900
    assert set(judgement["utility"]["tvd"]) == {"1", "2"}
    assert 0 < judgement["utility"]["tvd"]["1"] < judgement["utility"]["tvd"]["2"] < 1
    assert "Utility was not measured" not in (tmp_path / "out" / "report.html").read_text()
    assert sottovoce(*words, "--overwrite", "--no-judge", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "out" / "judgement.json").exists()
    written = json.loads((tmp_path / "out" / "schema.json").read_text())
    assert written["age"] == {"bins": 16, "range": [17, 90]}


def test_labels_that_look_like_numbers_are_judged_and_returned_as_they_are() -> None:
    import pandas as pd

    import sottovoce as package

    table = pd.DataFrame({"a": ["01", "1", "1.0", "NA", "?"] * 400})
    ways: dict[str, Any] = {"ways": "1"}
    for protocol, more in (("one-way", {}), ("noisy-marginals", ways)):
        schema = {"a": ["01", "1", "1.0", "NA", "?"]}
        done = package.run(
            protocol, table, schema=schema, seed=1, epsilon=50.0, aggregator="masks", **more
        )
        assert done.judgement["utility"] is not None
        published = done.synthetic["a"] if done.synthetic is not None else done.marginals["value_1"]  # type: ignore[index]
        assert set(published) == {"01", "1", "1.0", "NA", "?"}


def test_evaluate(tmp_path: Path) -> None:
    from sottovoce.parties.demo import demo_table

    demo_table(800, seed=1).to_csv(tmp_path / "real.csv", index=False)
    demo_table(700, seed=2).to_csv(tmp_path / "synthetic.csv.gz", index=False)
    words = [
        "evaluate",
        "real.csv",
        "synthetic.csv.gz",
        "--ways",
        "1",
        "2",
        "--classify",
        "income",
        "sex",
        "--drop",
        "race",
    ]
    ran = sottovoce(*words, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "800 real rows, 700 synthetic ones; schema inferred" in ran.stdout
    assert (
        len([line for line in ran.stdout.splitlines() if line.startswith(("original", "binary"))])
        == 4
    )
    found = json.loads(sottovoce(*words, "--json", cwd=tmp_path).stdout)
    assert set(found["tvd"]) == {"1", "2"}
    assert [own["target"] for own in found["classification"]] == ["income", "sex"]
    assert found["classification"][0]["dropped"] == ["race"]


def test_the_demo_people_of_a_run_are_those_it_had(tmp_path: Path) -> None:
    words = [
        "--rows",
        "900",
        "--seed",
        "3",
        "--parties",
        "2",
        "--set",
        "aggregator=masks",
        "--out",
        "run",
        "--json",
    ]
    ran = json.loads(sottovoce("run", "one-way", *words, cwd=tmp_path).stdout)
    found = json.loads(sottovoce("evaluate", "demo", "run", "--json", cwd=tmp_path).stdout)
    judgement = json.loads((tmp_path / "run" / "judgement.json").read_text())
    assert found["tvd"] == judgement["utility"]["tvd"]
    (tmp_path / "run" / "report.json").write_text(json.dumps({**ran, "data": ["people.csv"]}))
    other = sottovoce("evaluate", "demo", "run", cwd=tmp_path)
    assert (other.returncode, other.stderr) == (
        2,
        "sottovoce: expected the table that run was made of (people.csv), found demo\n",
    )


def test_results_come_into_a_folder_on_another_file_system(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is but one file system")
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        (tmp_path / "out").symlink_to(folder)
        ran = sottovoce(
            "run",
            "head-count",
            "--rows",
            "90",
            "--transport",
            "threads",
            "--out",
            "out",
            cwd=tmp_path,
        )
        assert ran.returncode == 0, ran.stderr
        assert {path.name for path in Path(folder).iterdir()} >= {
            "report.json",
            "ro-crate-metadata.json",
            "ledger.csv",
            "report.html",
        }
        assert not [path for path in Path(folder).iterdir() if path.name.startswith(".")]


def test_a_result_that_cannot_be_put_where_it_was_to_lie_is_put_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = package.run("head-count", rows=90, seed=1)
    real = run_folder.put

    def full(files: Mapping[str, bytes], *, folder: Path) -> None:
        if folder == tmp_path / "out":
            raise UsageError("expected to write to out, found No space left on device")
        real(files, folder=folder)

    monkeypatch.setattr(run_folder, "put", full)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(
        UsageError, match=r"No space left on device; the results are in (.*)$"
    ) as caught:
        run.save(tmp_path / "out")
    assert (Path(str(caught.value).rsplit(" ", 1)[1]) / "report.json").is_file()


def test_a_folder_that_takes_nothing_is_refused_before_anything_starts(tmp_path: Path) -> None:
    ran = sottovoce("run", "head-count", "--rows", "90", "--out", "/proc/none", cwd=tmp_path)
    assert ran.returncode == 2
    assert ran.stderr.startswith(
        "sottovoce: expected a folder for --out that can be written, found /proc: "
    )
    assert ran.stderr.count("\n") == 1


def test_a_schema_to_edit(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        "age,job\n" + "".join(f"{age},{'cook' if age % 2 else '?'}\n" for age in 2 * [*range(99)])
    )
    ran = sottovoce("schema", "people.csv", "--out", "schema.json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "NOT private" in ran.stderr
    assert json.loads((tmp_path / "schema.json").read_text()) == {
        "age": {"bins": 10, "range": [0, 100]},
        "job": {"categories": ["cook"], "missing": "category"},
    }
    assert sottovoce("schema", "people.csv", "--out", "schema.json", cwd=tmp_path).returncode == 2
    demo = sottovoce("schema", "demo", cwd=tmp_path)
    assert len(json.loads(demo.stdout)) == 15
    assert demo.stderr == ""


def test_the_default_folder(tmp_path: Path) -> None:
    ran = sottovoce("run", "head-count", "--rows", "90", "--transport", "threads", cwd=tmp_path)
    assert ran.returncode == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("head-count-")


@pytest.mark.parametrize(
    ("options", "recommended", "words_for"),
    [
        ({}, RECOMMENDED, "recommended for delta above 0"),
        ({"delta": 0}, RECOMMENDED_PURE, "recommended for delta 0"),
    ],
)
def test_without_a_name_the_recommended_protocol_runs(
    options: dict[str, Any], recommended: str, words_for: str, tmp_path: Path
) -> None:
    """The command line and Python alike."""
    words = ["--rows", "90", "--columns", "sex,income", "--transport", "threads", "--seed", "1"]
    words += [word for name, value in options.items() for word in (f"--{name}", str(value))]
    ran = sottovoce("run", *words, "--set", "aggregator=masks", "--out", "table", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    report = json.loads((tmp_path / "table" / "report.json").read_text())
    assert report["protocol"] == recommended
    first = ran.stdout.splitlines()[0]
    assert first.endswith(f"{recommended} (rigorous), 3 parties, 90 rows, {words_for}")
    done = package.run(
        rows=90, columns="sex,income", seed=1, aggregator="masks", judge=False, **options
    )
    assert done.synthetic is not None
    published = (tmp_path / "table" / "synthetic.csv").read_text()
    assert published == done.synthetic.to_csv(index=False)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "hed-count"], "did you mean head-count?"),
        (["run", "nowhere:Class"], "expected a protocol at nowhere:Class"),
        (["run", "json:loads"], "expected a subclass of sottovoce.Protocol"),
        (["run", "head-count", "--epsilon", "0"], "parameter epsilon"),
        (["run", "head-count", "--epsilon", "x"], "--epsilon"),
        (["run", "head-count", "--parties", "0"], "--parties"),
        (["run", "head-count", "--set", "epsilon"], "expected --set NAME=VALUE"),
        (["run", "head-count", "--set", "colour=1"], "found 'colour'"),
        (["run", "head-count", "--epsilon", "1", "--set", "epsilon=2"], "expected epsilon once"),
        (["run", "head-count", "--data", "none.csv"], "found none at none.csv"),
        (["run", "head-count", "--out", "/dev/null"], "expected a folder for --out"),
        (["run", "head-count", "--key-bits", "512"], "--insecure-test-keys"),
        (
            ["run", "head-count", "--mpiexec", "/no/mpiexec", "--transport", "mpi"],
            "expected an mpiexec",
        ),
        (["run", "head-count", "--transport", "pigeon"], "--transport"),
        (["report", "/no/where"], "expected a run"),
        (["new", "Bad Name"], "expected a name"),
        (["dance"], "No such command"),
        (["evaluate", "demo"], "Missing argument"),
        (["evaluate", "none.csv", "demo"], "found none at none.csv"),
        (
            ["evaluate", "demo", "demo", "--ways", "2", "99"],
            "--ways from 1 to the 15 attributes of the data, found 99",
        ),
        (["evaluate", "demo", "demo", "--ways", "two"], "--ways"),
        (["evaluate", "demo", "demo", "--classify", "hair"], "found 'hair'"),
        (["evaluate", "demo", "."], "expected synthetic.csv in ., found none"),
        (["evaluate", "demo", "demo", "--schema", "none.json"], "expected a schema at none.json"),
        (["schema", "none.csv"], "found none at none.csv"),
        (["run", "noisy-marginals", "--split", "odd"], "expected --split even"),
        (["run", "noisy-marginals", "--split", "by:hair"], "found 'hair'"),
        (["run", "noisy-marginals", "--split", "sizes:1,2"], "3 whole numbers"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    words: list[str], complaint: str, tmp_path: Path
) -> None:
    more = [] if "--transport" in words or words[0] != "run" else ["--transport", "threads"]
    out = [] if "--out" in words or words[0] != "run" else ["--out", str(tmp_path / "out")]
    ran = sottovoce(*words, *more, *out, cwd=tmp_path)
    assert ran.returncode == 2, ran.stderr
    assert complaint in ran.stderr
    assert ran.stderr.startswith("sottovoce: ")
    assert ran.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("epsilonn = 1", "unknown key 'epsilonn': did you mean epsilon?"),
        ('parties = "three"', "key 'parties': expected `int`"),
        ("parties = ", "expected TOML"),
        ("[set]\ncolour = 1", "found 'colour'"),
    ],
)
def test_a_wrong_configuration_names_the_key(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(f'protocol = "head-count"\n{text}\n')
    ran = sottovoce(
        "run", "--config", "run.toml", "--transport", "threads", "--out", "out", cwd=tmp_path
    )
    assert ran.returncode == 2
    assert complaint in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_options_win_over_the_configuration(tmp_path: Path) -> None:
    text = (
        'protocol = "head-count"\ntransport = "threads"\nparties = 2\nepsilon = 2.0\n'
        'rows = 80\nout = "o"\nkey-bits = 2048\n'
    )
    (tmp_path / "run.toml").write_text(text)
    ran = sottovoce("run", "--config", "run.toml", "--epsilon", "3", "--json", cwd=tmp_path)
    report = json.loads(ran.stdout)
    assert (report["parties"], report["parameters"]["epsilon"]) == (2, 3.0)
    assert (tmp_path / "o" / "report.json").exists()


def test_protocols_lists_and_explains() -> None:
    assert "head-count" in sottovoce("protocols").stdout
    assert "auto|gaussian|laplace|selected " in sottovoce("protocols", "noisy-marginals").stdout
    shown = sottovoce("protocols", "head-count").stdout
    assert "epsilon" in shown
    assert "number >= 1e-12 <= 1000" in shown
    assert {
        row["name"] for row in json.loads(sottovoce("protocols", "head-count", "--json").stdout)
    } >= {"epsilon", "value"}


def test_runs_are_compared(tmp_path: Path) -> None:
    for name, seed in (("one", "1"), ("two", "2")):
        words = (
            "run",
            "head-count",
            "--rows",
            "90",
            "--transport",
            "threads",
            "--seed",
            seed,
            "--out",
            str(tmp_path / name),
        )
        assert sottovoce(*words).returncode == 0
    done = sottovoce("compare", str(tmp_path / "one"), str(tmp_path / "two"))
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()[:3]] == ["run", "one", "two"]
    rows = json.loads(sottovoce("compare", str(tmp_path / "one"), "--json").stdout)
    assert (rows[0]["run"], rows[0]["protocol"], rows[0]["rounds"]) == ("one", "head-count", 1)
    wrong = {
        "expected each run once, found": ["one", "two", "one"],
        "expected a run with report.json in": ["three"],
    }
    for said, names in wrong.items():
        refused = sottovoce("compare", *(str(tmp_path / name) for name in names))
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert said in refused.stderr


def test_what_cannot_be_judged_is_refused_before_the_run(tmp_path: Path) -> None:
    words = (
        "run",
        "one-way",
        "--rows",
        "90",
        "--no-judge",
        "--classify",
        "income",
        "sex",
        "--out",
        str(tmp_path / "x"),
    )
    refused = sottovoce(*words)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "expected --classify or --no-judge, found both" in refused.stderr
    assert not (tmp_path / "x").exists()


def test_report_writes_the_page_anew(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = sottovoce(
        "run", "head-count", "--rows", "90", "--transport", "threads", "--out", str(out)
    )
    (out / "report.html").unlink()
    again = sottovoce("report", str(out))
    assert again.returncode == 0
    assert first.stdout == again.stdout
    assert (out / "report.html").read_text().startswith("<!doctype html>")
    assert (out / "marginals.csv").exists()


def test_doctor_proves_it(mpi_python: str) -> None:
    ran = sottovoce("doctor", python=mpi_python)
    assert ran.returncode == 0, ran.stdout
    assert "MPI works" in ran.stdout
    assert "4 ranks on" in ran.stdout


def joined(python: str, out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Start `sottovoce run` under somebody's own mpiexec."""
    launcher = find_launcher(str(Path(python).parent / "mpiexec"))
    rest = [
        python,
        "-m",
        "sottovoce",
        "run",
        "head-count",
        "--rows",
        "90",
        "--seed",
        "4",
        "--out",
        str(out),
        *words,
    ]
    command = launcher.command(rest, ranks=4, variables=[], hosts=None, hostfile=None, extra=[])
    return with_daemon(
        lambda: subprocess.run(
            command,
            env=launcher.environment(),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    )


def test_joining_a_job_that_somebody_started(tmp_path: Path, mpi_python: str) -> None:
    ran = joined(mpi_python, tmp_path / "out")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("protocol  head-count") == 1
    assert (tmp_path / "out" / "report.json").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--parties", "5"], "expected 6 ranks (a curator and 5 parties), found 4"),
        (["--data", "/no/such.csv"], "found none at /no/such.csv"),
        (["--epsilon", "0"], "parameter epsilon"),
    ],
)
def test_a_mistake_in_a_joined_job_is_said_once(
    tmp_path: Path, mpi_python: str, words: list[str], complaint: str
) -> None:
    ran = joined(mpi_python, tmp_path / "out", *words)
    assert ran.returncode == 2, ran.stderr
    assert (ran.stdout + ran.stderr).count(complaint) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("environment", "rank", "size"),
    [
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "2"}, 2, 4),
        ({"PMI_RANK": "0", "PMI_SIZE": "3"}, 0, 3),
        ({"PMIX_RANK": "1", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4"}, 1, 4),
    ],
)
def test_an_mpi_job_is_known_by_its_environment(
    environment: dict[str, str], rank: int, size: int
) -> None:
    world = inside_mpi_job(environment)
    assert world is not None
    assert (world.rank, world.size) == (rank, size)


def test_a_slurm_batch_script_is_no_rank() -> None:
    assert inside_mpi_job({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"}) is None


def test_tasks_that_srun_started_without_mpi_are_refused() -> None:
    with pytest.raises(UsageError, match="--mpi=pmix"):
        inside_mpi_job({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"})


def test_new_writes_a_package_that_passes_its_own_test(tmp_path: Path) -> None:
    ran = sottovoce("new", "noisy-sum", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    package = tmp_path / "noisy-sum"
    environment = {**os.environ, "PYTHONPATH": str(package / "src")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "not transport",
    ]
    tested = subprocess.run(
        command,
        cwd=package,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
    assert sottovoce("new", "noisy-sum", cwd=tmp_path).returncode == 2


def test_help_lists_every_command_and_loads_no_numpy() -> None:
    from typer.main import get_command

    from sottovoce.launch.commands import app
    from sottovoce.launch.commands.app import COMMANDS

    group: Any = get_command(app)
    for name in COMMANDS:
        assert group.get_command(None, name).name == name
    assert {info.name for info in app.registered_commands} == {*COMMANDS}
    code = "import sys\nfrom sottovoce.launch.cli import main\ntry:\n    main()\nfinally:\n    "
    loaded = "assert not {'numpy', 'pandas', 'rich'} & {*sys.modules}, sorted(sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code + loaded, "--help"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert all(f"  {name} " in ran.stdout for name in COMMANDS)


def test_the_version_and_a_command_that_does_not_exist() -> None:
    from importlib.metadata import version

    assert sottovoce("--version").stdout == f"sottovoce {version('sottovoce')}\n"
    ran = sottovoce("swep")
    assert (ran.returncode, ran.stderr) == (
        2,
        "sottovoce: No such command 'swep': did you mean sweep? (see --help)\n",
    )
