"""What installs and chooses: lock files, the least releases, the tests that touch a change."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "locks").glob("py*.txt"))


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    listed = [Requirement(text) for group in groups for text in group]
    return [requirement for requirement in listed if requirement.name != "sottovoce"]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_a_lock_file_pins_everything_and_names_no_place(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9.-]+==[A-Za-z0-9.+!]+", line) for line in lines)
    pins = dict(line.split("==") for line in lines)
    assert lines == sorted(lines, key=lambda line: line.partition("==")[0])
    for requirement in requirements():
        name = requirement.name.lower().replace("_", "-")
        assert requirement.specifier.contains(pins[name]), (path.name, str(requirement))


def test_there_is_a_lock_file_for_each_python_that_is_tried() -> None:
    assert {path.stem for path in LOCKS} >= {"py311", "py312", "py313"}


def test_the_least_releases_are_the_bounds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    least = dict(line.split("==") for line in script("oldest").constraints(project))
    assert {"numpy", "scikit-learn", "pytest", "mpich"} <= set(least)
    assert not {"ruff", "mkdocs-material", "sottovoce"} & set(least)
    by_name = {requirement.name: requirement for requirement in requirements()}
    assert all(str(by_name[name].specifier) == f">={least[name]}" for name in least)


@pytest.mark.parametrize("requirement", ["numpy", "numpy==2.0", "numpy>=2,<3", "numpy>2"])
def test_a_requirement_is_a_lower_bound(requirement: str) -> None:
    project = {"name": "x", "dependencies": [requirement], "optional-dependencies": {}}
    with pytest.raises(ValueError, match=r"lower bound|name>=release"):
        list(script("oldest").constraints(project))


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("messages/wire.py", ["tests/messages/test_wires.py", "tests/launch/test_fuzz.py"]),
        ("protocols/jtree/scores.py", ["tests/protocols/test_jtree.py"]),
        ("tests/messages/test_wires.py", ["tests/messages/test_wires.py"]),
        ("protocols/dp_subn/plan.py", ["tests/protocols/dp_subn/test_plan.py"]),
        ("docs/index.md", []),
        ("benchmarks/local.py", []),
    ],
)
def test_a_change_chooses_its_tests(changed: str, tests: list[str]) -> None:
    texts = {
        "tests/messages/test_wires.py": "",
        "tests/protocols/test_jtree.py": "",
        "tests/protocols/dp_subn/test_plan.py": "",
        "tests/protocols/dp_subn/test_views.py": "",
        "tests/launch/test_fuzz.py": "from sottovoce.messages.wire import Wire\n",
    }
    assert list(script("changed").touched([changed], texts)) == tests


def test_the_long_tests_are_listed_once_and_there() -> None:
    """A line that names no test is left over from a test that has another name now."""
    listed = (ROOT / "tests" / "long.txt").read_text().splitlines()
    assert listed == sorted({*listed})
    names = ["launch/conformance.py", "tools/house_suites.py", "privacy/local/conformance.py"]
    inherited = "".join((ROOT / name).read_text() for name in names)
    for line in listed:
        file, *classes, function = line.partition("[")[0].split("::")
        text = (ROOT / file).read_text()
        # Classes with an underscore are made of pages and their examples.
        assert all(f"class {name}" in text for name in classes if "_" not in name), line
        assert f"def {function}(" in text + inherited * bool(classes), line


def test_the_pythons_of_this_machine_are_new_enough_and_listed_once() -> None:
    listed = subprocess.run(
        [ROOT / ".ci" / "pythons"], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    ask = "import sys; print(sys.version_info >= (3, 11), sys.version_info[1])"
    answers = [
        subprocess.run([path, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
        for path in listed
    ]
    assert all(new_enough == "True" for new_enough, _ in answers)
    assert len({minor for _, minor in answers}) == len(answers)


def run_ci(folder: Path, *, failing: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    """Run CI with a make that fails where its arguments have a word, and that does nothing."""
    fail = "".join(f'case " $* " in *" {word} "*) exit 2 ;; esac; ' for word in failing)
    for name, text in {"make": f'{fail}echo "make $*"', "dpkg": "exit 0"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return subprocess.run(
        [ROOT / ".ci" / "run"],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_ci_names_all_that_failed_and_runs_the_rest(tmp_path: Path) -> None:
    ran = run_ci(tmp_path, failing=("test", "EXTRAS=test", "newest"))
    assert ran.returncode == 1
    failed = re.findall(r"^FAILED: (.*?)(?: with Python .*)?$", ran.stdout, re.MULTILINE)
    assert failed == ["make test", "a part of the tests in a path with a space", "make newest"]


def test_ci_passes_when_everything_passes(tmp_path: Path) -> None:
    ran = run_ci(tmp_path, failing=())
    assert ran.returncode == 0
    assert "FAILED" not in ran.stdout
    assert "no other Python" in ran.stdout or "in a folder called sottovoce" in ran.stdout


FAILS_ONCE = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", {names})
def test_it(name: str) -> None:
    seen = Path(f"seen-{{name}}")
    if {again} or not seen.exists():
        seen.touch()
        raise AssertionError
"""


@pytest.mark.parametrize(
    ("names", "again", "status", "reruns"),
    [("ab", False, 0, 2), ("ab", True, 1, 2), ("abc", False, 1, 0)],
)
def test_two_tests_that_fail_are_run_once_more(
    names: str, again: bool, status: int, reruns: int, tmp_path: Path
) -> None:
    """A test that always fails is not hidden, and those that failed once are named."""
    (tmp_path / "test_once.py").write_text(FAILS_ONCE.format(names=[*names], again=again))
    ran = subprocess.run(
        [ROOT / ".ci" / "tests", sys.executable, "-q"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == status, ran.stdout
    assert ran.stdout.count("FAILED ONCE, is run once more: test_once.py::test_it[") == reruns
