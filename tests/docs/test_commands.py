"""Every command on the site runs, page by page, from top to bottom, in a folder of its own.

In a block of code a line that begins with `$ ` is a command. The lines below it are compared with
the output; `...` there stands for anything. A block with a title, such as `title="schema.json"`, is
written to a file of that name when the page comes to it. A `pycon` block is run as a doctest, and a
`python` block without a title as a script; sections of files that are tested elsewhere are only
read. Other languages are read by what reads them in sottovoce.
EXEMPT lists what cannot run here, with the reason. A command that is neither sottovoce's nor in
that list is an error.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from mpi_starts import with_daemon
from typer.testing import CliRunner

import sottovoce
from sottovoce.launch.commands import app
from sottovoce.launch.mpiexec import SHARED_MEMORY
from sottovoce.parties import DEMO_SCHEMA, read_plan, write_schema
from sottovoce.parties.demo import demo_table
from sottovoce.studies.items import read_item

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("api/*.md"))]

NETWORK = "installs from the network"
HOSTS = "needs several hosts: tests/launch/test_hosts.py makes some"
SLURM, CLUSTER = "needs Slurm", "needs a cluster"
ADULT = "needs the data, and minutes: tests/studies/test_reproducing.py uses made-up people"
FAILS = "it fails on purpose: test_faults"
MINUTES = "takes minutes: tests/studies/test_forecast.py draws less"
DROPOUT = "takes minutes: tests/studies/test_sweep.py sweeps over dropout with fewer runs"
EXEMPT = {
    "pip install 'sottovoce[openmpi]'": NETWORK,
    "sottovoce run head-count --parties 3 --hosts a:2,b:1,c:1": HOSTS,
    "sbatch --ntasks=4 launch/cluster/slurm.sbatch run head-count --epsilon 1 --out runs/slurm": (
        SLURM
    ),
    "make image": NETWORK,
    "podman build -f launch/cluster/Containerfile -t sottovoce .": NETWORK,
    "buildah bud --isolation chroot -f launch/cluster/Containerfile -t sottovoce .": NETWORK,
    "SOTTOVOCE_MPIJOB_CRD=kubeflow.org_mpijobs.yaml pytest tests/launch/test_cluster_files.py": (
        NETWORK
    ),
    "kubectl apply -f launch/cluster/mpijob.yaml": CLUSTER,
    "kubectl logs -f job/sottovoce-launcher": CLUSTER,
    "pip install jupyterlab": NETWORK,
    "sottovoce plan head-count one-way dp-subn jtree --parties 3 10 30 "
    "--network lan wan mobile --method played --figure seconds:parties:network": MINUTES,
    "sottovoce sweep dropout.toml --figure error:fault": DROPOUT,
    'sottovoce run dp-subn --timeout 10 --fault "party 1 falls silent after 3 messages"': FAILS,
    "sottovoce reproduce dp-subn-figure-4 --quick --data adult=adult.csv": ADULT,
    "sottovoce reproduce flaim-heterogeneity --quick --data adult=adult.csv": ADULT,
    "sottovoce reproduce all --data adult=adult.csv retail=retail.csv.gz": ADULT,
    "sottovoce reproduce all --quick --jobs 2 --keep results --data adult=adult.csv": ADULT,
    "jupyter lab docs/examples/first-run.ipynb": "needs a browser: test_docs runs the notebooks",
}
"""Commands that are not run, each exactly as a page has it."""

WITH_MPI = {"index.md": 1, "several-hosts.md": 9}
"""Number of runs on a page that start processes; in all others roles are threads."""
ROWS, USERS, SEED = 3000, 20_000, 2
"""Number of the demo's people and of users, and the seed, where a page does not show the output."""
AUDITED, SEEDS = 40, 2
"""Number of an audit's runs, likewise, and of seeds in a page's files."""
LONG_LAWS = ("transport", "accounts", "record", "party")
"""Tests of the conformance suite, by their names, that a page's `pytest` leaves out.

test_protocols_shown holds what pages show to all of the suite, and test_command_line what `new`
writes.
"""
SLOW = ("calm", "fourier", "jtree", "privincr", "no-incremental")
"""Protocols that get six attributes instead of 15, on which they are slow or find large cliques."""


@dataclass
class File:
    """A block with a title."""

    name: str
    text: str


@dataclass
class Script:
    """A block of Python without a title."""

    text: str


@dataclass
class Session:
    """Lines of Python, with what they print."""

    text: str


@dataclass
class Command:
    """A command, and what the page shows below it."""

    line: str
    shown: list[str] = field(default_factory=list)


def steps(page: Path) -> Iterator[File | Script | Session | Command]:
    """List the steps of a page in their order."""
    for head, text in blocks(page):
        if (title := re.search(r'title="(.+?)"', head)) is not None:
            yield File(title[1], included(text))
        elif head == "pycon":
            yield Session(text)
        elif head == "python" and not SECTION.fullmatch(text):
            yield Script(text)
        elif head == "console":
            yield from commands(text)


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """List the blocks of a page: language and title, and text."""
    for block in re.finditer(r"^( *)```(.*)\n([\s\S]*?)^ *```$", page.read_text(), re.MULTILINE):
        yield block[2], textwrap.dedent(block[3])


SECTION = re.compile(r'--8<-- "([^":]+):([^":]+)"\n')
"""A block that is a section of a file, and nothing else."""


def included(text: str) -> str:
    """Put the file, or its section, in place of the line that includes it."""
    return re.sub(
        r'^--8<-- "([^":]+)(?::([^":]+))?"$',
        lambda match: section_of(ROOT / match[1], match[2]),
        text,
        flags=re.MULTILINE,
    )


def section_of(path: Path, name: str | None) -> str:
    """Read a file, or a section of it that comments enclose."""
    text = path.read_text()
    if name is not None:
        (text,) = re.findall(
            rf"^ *# --8<-- \[start:{name}\]\n([\s\S]*?)^ *# --8<-- \[end:{name}\]$",
            text,
            re.MULTILINE,
        )
    return textwrap.dedent(text).rstrip("\n")


def commands(text: str) -> Iterator[Command]:
    """Split a block at its prompts; a line that ends with a backslash continues."""
    command: Command | None = None
    for line in re.sub(r"\\\n *", "", text).splitlines():
        if line.startswith("$ "):
            if command:
                yield command
            command = Command(re.sub(r"\s+# .*", "", line[2:]).strip())
        elif command:
            command.shown.append(line)
    if command:
        yield command


def name_of(page: Path) -> str:
    return f"api-{page.stem}" if page.parent.name == "api" else page.stem


def with_steps() -> list[ParameterSet]:
    return [
        pytest.param(
            page, id=name_of(page), marks=[pytest.mark.mpi] if page.name in WITH_MPI else []
        )
        for page in PAGES
        if any(True for _ in steps(page))
    ]


COLUMNS = (
    "age",
    "workclass",
    "education",
    "education-num",
    "marital-status",
    "sex",
    "hours-per-week",
    "income",
)
"""Columns of the tables that pages assume."""
WITH_EVERY_COLUMN = ("clldp.md",)
"""Pages whose people have all columns of the demo."""


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files that pages assume: some of the demo's people under several names."""
    folder = tmp_path_factory.mktemp("tables")
    whole = demo_table(1200, seed=3)
    people = whole[[*COLUMNS]]
    for name, rows in {
        "people": people[:600],
        "adult": people[:600],
        "own": people[:600],
        "next-year": people[:300],
        "north": people[600:900],
        "south": people[900:],
    }.items():
        rows.to_csv(folder / f"{name}.csv", index=False)
    whole[:600].to_csv(folder / "everything.csv", index=False)
    (folder / "error.toml").write_text(
        "seeds = 1\n[every]\nrows = 600\nparties = 2\n[[run]]\n"
        'protocol = ["head-count", "one-way-ldp"]\nepsilon = [1, 2]\n'
    )
    few = ("age", "workclass", "education", "marital-status", "sex", "income")
    (folder / "schema.json").write_text(
        json.dumps({name: json.loads(write_schema(DEMO_SCHEMA))[name] for name in few})
    )
    (folder / "hosts").write_text("localhost slots=8\n")
    return folder


CONTEXT = {
    "audit.md": "",
    "clldp.md": """
from sottovoce.parties.demo import demo_table
columns = ["age", "workclass", "education", "marital-status", "sex", "income"]
table = demo_table(2000, seed=1)[columns]
X, y = table.drop(columns="income"), table["income"]
X_new = X[:5]
import json
from sottovoce.parties import DEMO_SCHEMA, write_schema
rules = json.loads(write_schema(DEMO_SCHEMA))
with open("features.json", "w") as file:
    json.dump({name: rules[name] for name in columns[:-1]}, file)
""",
    "python.md": """
from sottovoce.parties.demo import demo_table
columns = ["age", "education", "marital-status", "sex", "income"]
patients = demo_table(2000, seed=1)[columns].rename(columns={"income": "disease"})
patients.to_csv("patients.csv", index=False)
""",
    "gaussian.md": """
from sottovoce import Budget
from sottovoce.protocols.secure_sum import SumBatch
class self:
    budgets = Budget.candidates(1.0, delta=1e-9)
""",
    "mechanisms.md": """
from sottovoce import CURATOR, laplace
from sottovoce.crypto import RandomStream
count = 7
class me:
    release = staticmethod(lambda mechanism, to: mechanism.draw(RandomStream(bytes(32))))
""",
}
"""What the scripts of a page assume, as Python."""
SMALLER = {"sweeps.md": ["error.toml"]}
"""Files of a page that are only planned (`--dry-run`); commands that run get those of `tables`."""

BEFORE = {
    "concepts.md": [
        "sottovoce run one-way-ldp --data people.csv --schema schema.json --out runs/table"
    ],
    "judging.md": ["sottovoce run one-way-ldp --data people.csv --out runs/first"],
    "report.md": [
        f"sottovoce run one-way-ldp --data people.csv --out runs/{name}"
        for name in ("first", "one", "two")
    ],
}
"""Commands that a page assumes have been run before."""


@pytest.fixture
def own_modules(tmp_path: Path) -> Iterator[None]:
    """Forget the modules of a page when it ends, as another may have some of the same name."""
    yield
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.usefixtures("own_modules", "first_tables", "short_replays")
@pytest.mark.parametrize("page", with_steps())
def test_the_commands_of_a_page_run(
    page: Path,
    tables: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for table in tables.iterdir():
        (tmp_path / table.name).write_bytes(table.read_bytes())
    shell = Shell(tmp_path, monkeypatch, capfd, runs=WITH_MPI.get(page.name, 0))
    if page.name in WITH_EVERY_COLUMN:
        (tmp_path / "everything.csv").replace(tmp_path / "people.csv")
    for line in BEFORE.get(page.name, ()):
        shell.run(Command(line))
    module = ModuleType("page")  # messages look for their module
    monkeypatch.setitem(sys.modules, "page", module)
    names = vars(module)
    for step in steps(page):
        if isinstance(step, File):
            text = re.sub(r"^seeds = \d+$", f"seeds = {SEEDS}", step.text, flags=re.MULTILINE)
            (shell.folder / step.name).write_text(text)
        elif isinstance(step, Script):
            shell.execute(step, names, context=CONTEXT.get(page.name, ""))
        elif isinstance(step, Session):
            shell.converse(step, names)
        elif step.line not in EXEMPT:
            if "--dry-run" not in step.line:
                for name in SMALLER.get(page.name, ()):
                    (shell.folder / name).write_bytes((tables / name).read_bytes())
            output = shell.run(step)
            if any(step.shown):
                assert as_shown("\n".join(step.shown), output), (
                    f"{page.name}: {step.line}\n{output}"
                )


def as_shown(shown: str, output: str) -> bool:
    """Compare two outputs, except for seconds, which differ from run to run."""
    shown, output = (
        re.sub(r"^(seconds +).*", r"\1", text, flags=re.MULTILINE).strip() + "\n"
        for text in (shown, output)
    )
    return doctest.OutputChecker().check_output(
        shown, output, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )


class Shell:
    """Runs commands in a folder; those of sottovoce run in this process, with threads as roles."""

    def __init__(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
        *,
        runs: int,
    ) -> None:
        self.folder = folder
        self._runs = runs  # that start processes
        self._patch, self._capture = monkeypatch, capfd
        self._path = [str(ROOT / "src")]
        shims = folder / ".bin"
        shims.mkdir()
        for name, module in (("sottovoce", "sottovoce"), ("pytest", "pytest"), ("python", "")):
            words = f"-m {module}" if module else ""
            (shims / name).write_text(
                f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n'
            )
            (shims / name).chmod(0o755)
        self._bin = os.pathsep.join(
            [str(shims), str(Path(sys.executable).parent), os.environ["PATH"]]
        )

    def run(self, command: Command) -> str:
        words = shlex.split(command.line)
        self._patch.chdir(self.folder)
        match words:
            case ["cd", name]:
                self.folder = self.folder / name
                return ""
            case ["pip", "install", "-e", _]:
                self._install(self.folder)
                return ""
            case ["pip", "install", place] if place.startswith("./examples/"):
                copy = self.folder / Path(place).name
                shutil.copytree(ROOT / place, copy)
                self._install(copy)
                return ""
            case ["sottovoce", "run", *_] if self._runs and "--transport" not in words:
                self._runs -= 1
                return self._process(words)
            case ["sottovoce", *more]:
                return self._here(self._quicker(more, shown=bool(command.shown)))
            case ["mpirun", *_]:
                return self._process([*words[:1], "--oversubscribe", *words[1:]])
            case ["pytest", *_]:
                left_out = f"not ({' or '.join(LONG_LAWS)})"
                return self._process([*words, "-q", "-p", "no:cacheprovider", "-k", left_out])
            case ["python", *_]:
                return self._process(words)
        raise AssertionError(f"neither sottovoce's nor exempt: {command.line}")

    def _quicker(self, words: list[str], *, shown: bool) -> list[str]:
        """Add options that make a run short; if the page shows its output, only use threads."""
        if words[0] in ("audit", "plan") and not shown:
            return _quicker_study(words)
        if words[0] != "run" or "--transport" in words:
            return words
        words = [*words, "--transport", "threads"]
        if shown:
            return words
        words = [re.sub(r"^users=\d+", f"users={USERS}", word) for word in words]
        words += [
            "--key-bits",
            "512",
            "--insecure-test-keys",
            *([] if "--seed" in words else ["--seed", str(SEED)]),
        ]
        if words[1] in SLOW and "--schema" not in words:
            words += ["--schema", "schema.json"]
        return (
            words if {"--data", "--rows", "--config"} & {*words} else [*words, "--rows", str(ROWS)]
        )

    def _here(self, words: list[str]) -> str:
        self._patch.setenv("COLUMNS", "120")
        self._patch.setenv("SOTTOVOCE_STATE", str(Path.cwd() / "state"))
        self._capture.readouterr()
        self._find()
        try:
            app(words, standalone_mode=False)
        except SystemExit as left:
            assert not left.code, words
        return self._capture.readouterr().out

    def _find(self) -> None:
        """Put the page's own modules on the path."""
        for place in [*reversed(self._path[1:]), str(self.folder)]:
            self._patch.syspath_prepend(place)
        importlib.invalidate_caches()

    def execute(self, script: Script, names: dict[str, object], *, context: str) -> None:
        """Run a block of Python; later blocks and sessions of the page know its names."""
        self._patch.chdir(self.folder)
        self._find()
        exec(compile(context, "context", "exec"), names)
        text = re.sub(r"\bruns=\d+", f"runs={AUDITED}", included(script.text))
        exec(compile(text, "page", "exec"), names)

    def converse(self, session: Session, names: dict[str, object]) -> None:
        self._patch.chdir(self.folder)
        self._find()
        test = doctest.DocTestParser().get_doctest(session.text, {}, "page", None, 0)
        test.globs = names  # later sessions of a page know the names of earlier ones
        problems: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        runner.run(test, out=problems.append, clear_globs=False)
        assert not problems, "".join(problems)

    def _process(self, words: list[str]) -> str:
        environment = {
            **os.environ,
            "PATH": self._bin,
            "PYTHONPATH": os.pathsep.join(self._path),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            **SHARED_MEMORY,  # mpirun would look for network adapters, for more than a second
        }
        done = with_daemon(
            lambda: subprocess.run(
                words,
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
        )
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _install(self, folder: Path) -> None:
        """Do what `pip install --editable` does: add the package and its entry points."""
        import tomllib

        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        metadata = (
            folder / "src" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        )
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        groups = project["entry-points"].items()
        lines = [
            f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items())
            for group, points in groups
        ]
        (metadata / "entry_points.txt").write_text("".join(lines))
        self._path.append(str(folder / "src"))


def _quicker_study(words: list[str]) -> list[str]:
    """Make an audit of fewer runs, and a plan of fewer people with short keys."""
    if words[0] == "audit":
        after = ["", *words]
        return [
            str(AUDITED) if before == "--runs" else word
            for before, word in zip(after, words, strict=False)
        ]
    words = words if "--rows" in words else [*words, "--rows", str(ROWS)]
    return [*words, "--key-bits", "512", "--insecure-test-keys"]


def test_nothing_is_exempt_that_no_page_has() -> None:
    lines = {step.line for page in PAGES for step in steps(page) if isinstance(step, Command)}
    assert not EXEMPT.keys() - lines


READ_ELSEWHERE = ("console", "pycon", "python")
"""Languages that `steps` reads."""
UNREAD = ("text", "latex")
"""Languages that nothing reads: what a program printed, a picture, a line of LaTeX."""


def other_blocks() -> list[ParameterSet]:
    return [
        pytest.param(page, head, text, id=f"{name_of(page)}-{number}")
        for page in PAGES
        for number, (head, text) in enumerate(blocks(page))
        if "title=" not in head and head not in READ_ELSEWHERE
    ]


@pytest.mark.parametrize(("page", "head", "text"), other_blocks())
def test_a_block_of_another_language_is_read(
    page: Path, head: str, text: str, tmp_path: Path
) -> None:
    """Schemas, items and shell are read by what reads them; programs that are named exist."""
    for script in re.findall(r"^python (\S+\.py)", text, re.MULTILINE):
        assert (ROOT / script).is_file(), f"{page.name}: {script}"
    if head in UNREAD:
        assert not re.search(r"^(def|class|import|from|with) ", text, re.MULTILINE), (
            f"{page.name}: code in a block of {head}, where nothing runs it"
        )
    elif head == "json":
        read_plan(json.loads(text))
    elif head == "toml":
        (tmp_path / "item.toml").write_text(text)
        assert read_item(tmp_path / "item.toml").title
    elif head == "sh":
        subprocess.run(["bash", "-n"], input=text, text=True, check=True, timeout=60)
        for words in re.findall(r"^(?:.*\s)?sottovoce ([a-z].*?)(?:\s+#.*)?$", text, re.MULTILINE):
            command, *rest = shlex.split(words)
            shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
            assert shown.exit_code == 0, f"{page.name}: {command}"
            for option in filter(lambda word: word.startswith("--"), rest):
                assert option in shown.stdout, f"{page.name}: {option}"
    else:
        raise AssertionError(f"{page.name}: nothing reads a block of {head!r}")


def test_a_typo_in_a_script_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shell, names = Shell(tmp_path, monkeypatch, capfd, runs=0), dict[str, object]()
    shell.execute(Script("x = 1\n"), names, context="y = 2\n")
    shell.execute(Script("z = x + y\n"), names, context="")
    assert names["z"] == 3
    with pytest.raises(NameError, match="zz"):
        shell.execute(Script("zz + 1\n"), names, context="")


def test_a_section_that_is_not_there_is_found(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text("# --8<-- [start:one]\nx = 1\n# --8<-- [end:one]\n")
    assert section_of(path, "one") == "x = 1"
    with pytest.raises(ValueError, match="not enough"):
        section_of(path, "two")


def test_every_prompt_is_in_a_block_that_is_read() -> None:
    for page in PAGES:
        read = sum(isinstance(step, Command) for step in steps(page))
        assert len(re.findall(r"^ *\$ ", page.read_text(), re.MULTILINE)) == read, page.name


def test_every_block_of_python_is_python() -> None:
    """Every block compiles and its imports exist; `pycon` blocks and files are also run."""
    for page in PAGES:
        for head, text in re.findall(
            r"^```(python.*)\n([\s\S]*?)^```$", page.read_text(), re.MULTILINE
        ):
            tree = ast.parse(included(text))
            files = {
                step.name.removesuffix(".py") for step in steps(page) if isinstance(step, File)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module not in files:
                    module = importlib.import_module(node.module or "")
                    assert all(hasattr(module, name.name) for name in node.names), (
                        f"{page.name}: {ast.unparse(node)}"
                    )
                elif isinstance(node, ast.Import):
                    assert all(importlib.util.find_spec(name.name) for name in node.names), (
                        f"{page.name} {head}"
                    )


def test_a_page_is_read_as_it_stands(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        'Text $ 5.\n\n```json title="own.json"\n{}\n```\n\n1. In a list:\n\n'
        '    ```console\n    $ one "a b"  # why\n    out\n    $ two\n    ```\n\n'
        "```console\n$ three \\\n    four\n```\n\n```pycon\n>>> 1\n1\n```\n\n"
        "```python\nnothing\n```\n"
    )
    assert list(steps(page)) == [
        File("own.json", "{}\n"),
        Command('one "a b"', ["out"]),
        Command("two"),
        Command("three four"),
        Session(">>> 1\n1\n"),
        Script("nothing\n"),
    ]


def test_what_is_shown_is_compared() -> None:
    assert as_shown("...\nseconds 1\nlast", "first\nsecond\nseconds 2.5\nlast\n")
    assert not as_shown("first\nlast", "first\nsecond\nlast\n")


def test_an_unknown_command_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(tmp_path, monkeypatch, capfd, runs=0)
    with pytest.raises(AssertionError, match="neither sottovoce's nor exempt: rm -r"):
        shell.run(Command("rm -r people.csv"))
    with pytest.raises(sottovoce.UsageError, match="expected"):
        shell.run(Command("sottovoce run no-such-protocol"))


def test_a_session_that_prints_something_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shell, names = Shell(tmp_path, monkeypatch, capfd, runs=0), dict[str, object]()
    shell.converse(Session(">>> x = 1\n"), names)
    shell.converse(Session(">>> x\n1\n"), names)
    with pytest.raises(AssertionError, match="Expected"):
        shell.converse(Session(">>> x\n2\n"), names)
