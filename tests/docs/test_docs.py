"""The documentation shows what happens: examples, frames, files for clusters, notebooks."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import sottovoce
from sottovoce.messages import to_bytes
from sottovoce.messages.frame import Header, pack_header
from sottovoce.protocols.head_count import HeadCount

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def test_included_files_are_included() -> None:
    included = {
        page.name: re.findall(r'^--8<-- "(.+)"$', page.read_text(), re.MULTILINE) for page in PAGES
    }
    assert [name for name in included["writing-a-protocol.md"] if ":" not in name] == [
        "docs/examples/over_forty.py",
        "docs/examples/private_mean.py",
        "docs/examples/by_sex.py",
        "docs/examples/bisection.py",
    ]
    assert included["secure-sums.md"] == ["docs/examples/regions.py"]
    assert included["writing-a-randomizer.md"] == ["docs/examples/my_randomizer.py"]
    assert included["mechanisms.md"] == [
        "docs/examples/private_mean.py",
        "docs/examples/private_median.py",
    ]
    for page in PAGES:
        assert len(re.findall('"(?:docs/)?examples/', page.read_text())) == len(
            included[page.name]
        ), page.name
        assert all((ROOT / name.partition(":")[0]).is_file() for name in included[page.name])


def test_options_shown_exist() -> None:
    help_text = subprocess.run(
        [sys.executable, "-m", "sottovoce", "run", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        env={"COLUMNS": "200", "PATH": ""},
    ).stdout
    for page in PAGES:
        for line in re.findall(r"^\$ .*sottovoce run .*$", page.read_text(), re.MULTILINE):
            for option in re.findall(r"--[a-z-]+", line.partition("sottovoce run")[2]):
                assert option in help_text, f"{page.name}: {line}"


def test_the_readme_shows_the_example_that_is_tested() -> None:
    code = (DOCS / "examples" / "census.py").read_text().partition('"""\n\n')[2]
    assert code in (ROOT / "README.md").read_text()


@pytest.mark.usefixtures("first_tables", "short_replays")
def test_the_example_of_secure_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (DOCS / "examples" / "ages.py").read_text().partition('"""\n\n')[2]
    assert code in (DOCS / "secure-sums.md").read_text()
    monkeypatch.syspath_prepend(str(DOCS / "examples"))
    run = sottovoce.run(
        "ages:Ages", rows=300, parties=3, seed=1, epsilon=20, key_bits=256, insecure_test_keys=True
    )
    # Scale 0.1: a decade is off by one or more with probability 1e-4 or so, by 5 with 1e-21.
    assert abs(sum(run.report["outcome"].values()) - 300) < 50
    assert max(run.report["outcome"], key=run.report["outcome"].get) in ("20s", "30s", "40s")


@pytest.mark.usefixtures("first_tables", "short_replays")
def test_the_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS / "examples")
    monkeypatch.syspath_prepend(str(DOCS / "examples"))
    run = sottovoce.run("census:Census", rows=300, parties=3, seed=1)
    assert abs(run.report["outcome"]["people"] - 300) < 60
    assert run.report["communication"]["rounds"] == 2
    assert run.report["communication"]["messages"] == 6


@pytest.mark.usefixtures("first_tables", "short_replays")
def test_the_example_of_disjoint_records_costs_one_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """That it keeps the rules of every protocol is tested with all that are shown."""
    monkeypatch.syspath_prepend(str(DOCS / "examples"))
    privacy = sottovoce.run("by_sex:BySex", rows=60, parties=3, seed=1).report["privacy"]
    assert len(privacy["releases"]) == 2 * 3
    assert privacy["epsilon"]["public"] == 1.0


def test_the_frame_shown_is_a_real_one() -> None:
    shown = re.findall(
        r"^[0-9a-f]{4}  ((?:[0-9a-f]{2} )+)", (DOCS / "wire-format.md").read_text(), re.MULTILINE
    )
    message = HeadCount.NoisyCount(15074)
    frame = pack_header(Header(0, 8, 0, 2, 0, "head-count", "count", "NoisyCount")) + to_bytes(
        message
    )
    assert bytes.fromhex("".join(shown)) == frame


@pytest.mark.parametrize("page", ["README.md", "ARTIFACT.md"])
def test_links_in_pages_at_the_top_exist(page: str) -> None:
    targets = re.findall(r"\]\((docs/[^)#]+)", (ROOT / page).read_text())
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target


def test_the_artefact_names_what_is_there() -> None:
    text = (ROOT / "ARTIFACT.md").read_text()
    assert [*re.findall(r"^## (\w+)$", text, re.MULTILINE)] == [
        "Available",
        "Functional",
        "Reproduced",
    ]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"| version | {version}" in text
    for name in re.findall(r"`((?:benchmarks|launch|studies)/[\w/.]+)`", text):
        assert (ROOT / name).exists(), name
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for name in re.findall(r"\bmake ([a-z]+)", text):
        assert name in targets or name in ("bench", "lint"), name
    items = {path.stem for path in (ROOT / "studies" / "reproductions").glob("*.toml")}
    for name in re.findall(r"sottovoce reproduce ([\w-]+)", text):
        assert name in items | {"all"}, name


def test_the_slurm_script_is_a_script() -> None:
    script = ROOT / "launch" / "cluster" / "slurm.sbatch"
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=30)
    text = script.read_text()
    assert text.startswith("#!/bin/bash\n")
    assert "--kill-on-bad-exit=1" in text
    directives = [line for line in text.splitlines() if line.startswith("#SBATCH")]
    assert all(re.fullmatch(r"#SBATCH --[a-z-]+=\S+", line) for line in directives)


def test_the_manifest_has_a_worker_for_every_rank() -> None:
    job = yaml.safe_load((ROOT / "launch" / "cluster" / "mpijob.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")
    replicas = job["spec"]["mpiReplicaSpecs"]
    arguments = replicas["Launcher"]["template"]["spec"]["containers"][0]["args"]
    ranks = int(arguments[arguments.index("-n") + 1])
    assert replicas["Worker"]["replicas"] * job["spec"]["slotsPerWorker"] == ranks
    words = arguments[arguments.index("run") + 1 :]
    parsed = subprocess.run(
        [
            sys.executable,
            "-m",
            "sottovoce",
            "run",
            *words[:-2],
            "--rows",
            "30",
            "--transport",
            "threads",
            "--out",
            "/dev/null",
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert "expected a folder for --out" in parsed.stderr  # everything before it was understood
    for role in replicas.values():
        assert role["template"]["spec"]["restartPolicy"] == "Never"


NOTEBOOKS = sorted((DOCS / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    """Every notebook runs in its own kernel, from the first cell to the last.

    The site keeps the page for as long as neither the notebook nor any code has changed, so
    `make docs` runs it no second time.
    """
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("notebook_pages", DOCS / "notebook_pages.py")
    assert spec is not None
    assert spec.loader is not None
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    title = "".join(json.loads(path.read_text())["cells"][0]["source"]).splitlines()[0]
    assert pages.page_of(path).startswith(f"{title}\n")


def test_notebooks_hold_no_output() -> None:
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells), (
            path.name
        )


def test_the_page_of_notebooks_has_them_all() -> None:
    named = re.findall(r"\]\(examples/([\w-]+)\.ipynb\)", (DOCS / "notebooks.md").read_text())
    assert sorted(named) == [path.stem for path in NOTEBOOKS]
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        assert any(
            "assert " in "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"
        ), path.name
