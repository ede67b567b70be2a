"""The mutator: what it changes, and that it tells apart what tests notice and what they do not."""

from __future__ import annotations

import doctest
import re
import time
import tomllib
from ast import literal_eval
from pathlib import Path
from typing import Any

import mutants.mutation as mutation_module
import numpy as np
import pytest
from mutants.__main__ import main
from mutants.campaign import Equivalents, Tuned, modules_of, sample
from mutants.mutation import Statement, mutations, statement_of
from mutants.reach import Reach


def changes(source: str) -> set[tuple[str, str]]:
    return {(mutation.kind, mutation.after(source)) for mutation in mutations(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {("boundary", "x = a <= b"), ("negation", "x = a >= b")}),
        ("x = a == b != c", {("negation", "x = a != b != c"), ("negation", "x = a == b == c")}),
        ("x = a not  in b", {("negation", "x = a in b")}),
        ("x = (a) is (b)", {("negation", "x = (a) is not (b)")}),
        ("x = a + b", {("arithmetic", "x = a - b")}),
        ("x = a // b", {("arithmetic", "x = a * b")}),
        ("x = a and b and c", {("logic", "x = a or b and c"), ("logic", "x = a and b or c")}),
        ("x = not a", {("logic", "x = (a)")}),
        ("x = 5", {("constant", "x = 6"), ("constant", "x = 4")}),
        ("x = 0.5", {("constant", "x = 1.5"), ("constant", "x = (-0.5)")}),
        ("x = True", {("constant", "x = False")}),
        ("x = all(a)", {("quantifier", "x = any(a)")}),
        ("x = a if b else c", {("negation", "x = a if (not (b)) else c")}),
        ("f(a)", {("statement", "pass")}),
        ("x += a", {("statement", "pass"), ("arithmetic", "x -= a")}),
        ("del x[y]", {("statement", "pass")}),
        ("é = 'ü' if a < b else 'ö'", {("boundary", "é = 'ü' if a <= b else 'ö'"),
                                      ("negation", "é = 'ü' if a >= b else 'ö'")}),
    ],
)  # fmt: skip
def test_each_kind_of_change(source: str, expected: set[tuple[str, str]]) -> None:
    assert changes(source) == expected


def test_the_examples_of_the_documentation() -> None:
    assert doctest.testmod(mutation_module).failed == 0


def test_statements_of_functions() -> None:
    source = "def f():\n    for x in y:\n        continue\n    raise E(1 + 2)\n    return x\n"
    assert changes(source) == {
        ("jump", "break"),
        ("statement", "pass"),
        ("result", "return None"),
    }


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring of 3 < 4."""',
        "x = f'{a + 1}'",
        "x = 'a' + b",
        "@dataclass(frozen=True)\nclass A:\n    x: Annotated[int, 3]\n",
        "Name: TypeAlias = Annotated[int, 5]",
        "def f() -> Annotated[int, 5]: ...",
        "me.progress(a + 1, of=b)",
        "x = zip(a, b, strict=True)",
        "x = a  # 3 < 4",
        "if TYPE_CHECKING:\n    f()",
        "raise AssertionError(a + 1)",
        "del a, b",
    ],
)
def test_what_no_result_depends_on_is_left_alone(source: str) -> None:
    assert not changes(source)


@pytest.mark.parametrize("numbers", ["-1", "(-1,)", "a, -1", "(a, -1, b)"])
def test_any_negative_length_lets_numpy_compute_it(numbers: str) -> None:
    """So -2 is no mutant. 0 is one, and 1, as is -2 anywhere else."""
    after = {text for _, text in changes(f"x = y.reshape({numbers})")}
    assert after == {f"x = y.reshape({numbers.replace('-1', other)})" for other in ("-0", "(1)")}
    assert ("constant", "x = y.sum(-2)") in changes("x = y.sum(-1)")
    table = np.ones((4, 6))
    given = numbers.replace("a", "2").replace("b", "3")
    lengths = [literal_eval(given.replace("1", text)) for text in ("1", "2")]
    assert table.reshape(lengths[0]).shape == table.reshape(lengths[1]).shape


@pytest.mark.parametrize("name", ["BATCH", "BATCH_REPORTS", "MAX_KEPT_BYTES", "CHUNK"])
def test_the_size_of_a_piece_may_be_any_power_of_two(name: str) -> None:
    """Others could let pieces overlap; the length of a cipher's block is no choice."""
    numbers = ("0 << 4", "1 << 4", "2 << 4", "1 << 3", "1 << 5", "1 >> 4")
    tried = {text.partition(" = ")[2] for _, text in changes(f"{name}: Final = 1 << 4")}
    assert tried == {"0 << 4", "1 >> 4"}
    others = {text.partition(" = ")[2] for _, text in changes("MAX_ROWS: Final = 1 << 4")}
    assert others == {*numbers} - {"1 << 4"}
    assert len(changes(f"{name}: Final = 4096")) == len(changes("BLOCK_BYTES: Final = 15")) == 2
    assert len(changes(f"{name}: Final = 17")) == 1  # 16 is a power of two


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("MAX_FAMILIES: Final = 2_000_000", 0),
        ("MIN_ROWS: Final = 3000", 0),
        ("MAX_FAMILIES: Final = 2_000_500", 2),
        ("MAX_CELLS: Final = 4096", 2),
        ("MIN_ROWS: Final = 0", 2),
        ("ROWS: Final = 3000", 2),
        ("MAX_CELLS: Final = 1 << 16", 5),
    ],
)
def test_a_bound_in_round_numbers_may_be_one_more_or_less(line: str, number: int) -> None:
    assert len(changes(line)) == number


def test_an_operator_stands_between_its_operands() -> None:
    """Neither in a comment nor in an operand, and on its own line."""
    source = "x = (\n    a - 1  # a < b\n    <\n    b\n)"
    (boundary,) = [change for change in mutations(source) if change.kind == "boundary"]
    assert boundary.line == 3
    assert boundary.applied(source) == "x = (\n    a - 1  # a < b\n    <=\n    b\n)"


def test_the_tests_of_a_line_run_first() -> None:
    reach = Reach()
    reach.add(
        {
            "tests": {"t.py::a": 0.1, "t.py::b": 9.0, "t.py::C::d": 0.2, "t.py::C::e": 0.1,
                      "u.py::f": 0.1},
            "digests": {"m.py": "x"},
            "lines": {"m.py": {"1": [1], "2": [0, 2], "3": [4]}},
        }
    )  # fmt: skip

    def chosen(
        line: int, *, text: str = "x", most: float = 60.0, in_function: bool = True
    ) -> list[str]:
        statement = Statement(range(line, line + 1), in_function)
        return reach.choose("m.py", statement, text=text, most=most)

    # Those of the line, then the others of their classes and files.
    assert chosen(2) == ["t.py::C::d", "t.py::a", "t.py::C::e", "t.py::b"]
    assert chosen(2, most=1.0) == ["t.py::C::d", "t.py::a", "t.py::C::e"]
    assert chosen(3) == ["u.py::f"]
    # A line that no test reaches, as it may run in another process, or that runs on import, and a
    # module that has changed: all that reach the module.
    on_import = chosen(9, in_function=False)
    assert on_import == chosen(2, text="y") == chosen(9)
    assert set(on_import) == {"t.py::a", "t.py::C::d", "u.py::f", "t.py::C::e", "t.py::b"}
    assert reach.choose("other.py", Statement(range(1), False), text="x", most=60.0) == []


def test_a_file_that_was_measured_before_a_module_changed_comes_last() -> None:
    """Its lines are not known any more, while those of other files still are."""
    reach = Reach()
    for name, text in (("new.py", "x"), ("old.py", "y")):
        reach.add(
            {
                "tests": {f"{name}::a": 0.1, f"{name}::b": 0.2, f"{name}::C::c": 0.1},
                "digests": {"m.py": text},
                "lines": {"m.py": {"1": [0], "2": [1], "3": [2]}},
            }
        )
    options: dict[str, Any] = {"text": "x", "most": 60.0}
    stale = ["old.py::C::c", "old.py::a", "old.py::b"]
    for line, test in ((1, "a"), (2, "b")):
        chosen = reach.choose("m.py", Statement(range(line, line + 1), True), **options)
        assert chosen[0] == f"new.py::{test}"
        assert chosen[-3:] == stale
    # A line that no test of the same text reaches: all that reach the module count.
    assert len(reach.choose("m.py", Statement(range(9, 10), True), **options)) == 6


def test_of_many_tests_the_shortest_are_taken_and_run_file_by_file() -> None:
    """A file of runs comes first by its name, and would use up the time of a file of functions."""
    reach = Reach()
    seconds = {f"a.py::run{number}": 0.4 for number in range(9)}
    seconds |= {f"{name}.py::check": 0.01 for name in "zab"}
    lines = {"m.py": {1: [*range(len(seconds))]}}
    reach.add({"tests": seconds, "lines": lines, "digests": {"m.py": "x"}})
    chosen = reach.choose("m.py", Statement(range(1, 2), True), text="x", most=1.0)
    assert chosen == ["a.py::check", "a.py::run0", "a.py::run1", "b.py::check", "z.py::check"]


def test_constants_are_tried_with_the_tests_of_their_folder() -> None:
    """No test reaches a module of constants; whichever test imports a module reaches it first."""
    reach = Reach()
    lines = {"room/code.py": {1: [0], 5: [1], 6: [2]}, "other/code.py": {5: [3]}}
    tests = {"t.py::a": 0.1, "t.py::b": 0.1, "u.py::c": 0.1, "v.py::d": 0.1}
    reach.add({"tests": tests, "lines": lines, "digests": dict.fromkeys(lines, "x")})
    on_import, within = Statement(range(1, 2), False), Statement(range(5, 6), True)
    options: dict[str, Any] = {"text": "x", "most": 60.0}
    of_room = ["t.py::a", "t.py::b", "u.py::c"]
    assert reach.choose("room/constants.py", on_import, **options) == of_room
    assert reach.choose("room/code.py", on_import, **options) == of_room
    assert reach.choose("room/constants.py", within, **options) == []
    # A test that compares a constant runs no line: files that name the module come first.
    reach.words = {"v.py": frozenset({"constants", "test"}), "u.py": frozenset({"code"})}
    assert reach.choose("room/constants.py", on_import, **options) == ["v.py::d", *of_room]
    assert reach.choose("room/code.py", on_import, **options)[0] == "u.py::c"
    assert reach.choose("room/constants.py", within, **options) == []
    assert reach.choose("room/constants.py", on_import, text="x", most=0.25) == [
        "v.py::d",
        "t.py::a",
    ]
    assert reach.choose("room/code.py", within, **options)[0] == "t.py::b"


@pytest.mark.parametrize(
    ("line", "lines", "in_function"),
    [(1, (1, 2), False), (3, (3, 4), False), (4, (4, 6), True), (5, (4, 6), True),
     (6, (6, 7), True), (7, (7, 9), True), (8, (7, 9), True), (9, (9, 10), False)],
)  # fmt: skip
def test_statements_of_lines(line: int, lines: tuple[int, int], in_function: bool) -> None:
    source = (
        "x = 1\n\ndef f(a=2):\n    if (a\n            > 1):\n        b()\n"
        "    return g(\n        a)\ny = 3"
    )
    assert statement_of(source, line) == (range(*lines), in_function)


MODULE = """
def double(value: int, *, limit: int) -> int:
    if value > limit:
        raise ValueError("too large")
    return value * 2


def unused(value: int) -> int:
    return value - 1
"""
TESTS = """
import pytest
from tiny.doubling import double


def test_double():
    assert double(3, limit=5) == 6


def test_the_limit():
    with pytest.raises(ValueError):
        double(9, limit=5)


def test_that_fails():
    assert double(1, limit=5) == 3
"""
SURVIVOR = ("tiny/doubling.py", "if value > limit:", "if value >= limit:")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    for name, text in {
        "tiny/__init__.py": "",
        "tiny/doubling.py": MODULE,
        "tests/test_doubling.py": TESTS,
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    return tree


def run(tree: Path, capsys: pytest.CaptureFixture[str]) -> str:
    words = ["tiny", "--root", str(tree), "--store", str(tree.parent / "store"), "--tests", "tests"]
    assert main([*words, "--workers", "2"]) == 0
    return capsys.readouterr().out


def test_a_tiny_package(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One boundary is not tested, and a function not reached; a test that fails does not count."""
    before = {path: path.read_bytes() for path in tree.rglob("*.py")}
    output = run(tree, capsys)
    assert "measured what 2 tests of tests/test_doubling.py reach" in output
    assert "      11        6     55%  tiny/doubling.py" in output
    assert (
        "survived, 2 tests)\n    before  if value > limit:\n    after   if value >= limit:"
        in output
    )
    assert output.count("survived, 2 tests") == 5
    assert "noticed in" in output
    assert {path: path.read_bytes() for path in tree.rglob("*.py")} == before
    # What was tried is not tried again, and what was not noticed is when a test has changed.
    assert "11 mutants were tried before, 0 remain" in run(tree, capsys)
    with (tree / "tests/test_doubling.py").open("a") as tests:
        tests.write("\ndef test_the_boundary():\n    assert double(5, limit=5) == 10\n")
    output = run(tree, capsys)
    assert "6 mutants were tried before, 5 remain" in output
    assert "      11        7     64%  tiny/doubling.py" in output


def test_examples_in_docstrings_count_as_tests(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No test reaches these functions; the first has an example, and the second has none."""
    (tree / "tiny/halving.py").write_text(
        'def half(value):\n    """Halve.\n\n    >>> half(8)\n    4\n    """\n'
        "    return value // 2\n\n\ndef third(value):\n    return value // 3\n"
    )
    output = run(tree, capsys)
    assert "       8        4     50%  tiny/halving.py" in output


def test_what_runs_in_another_process_alone_is_tried(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line of it is measured, so all tests of the module are taken."""
    with (tree / "tests/test_doubling.py").open("a") as tests:
        tests.write(
            "\ndef test_in_another_process():\n    import subprocess, sys\n"
            "    assert double(1, limit=2) == 2\n"
            "    code = 'from tiny.doubling import unused; assert unused(8) == 7'\n"
            "    subprocess.run([sys.executable, '-c', code], check=True)\n"
        )
    assert "      11       10     91%  tiny/doubling.py" in run(tree, capsys)


def test_a_mutant_that_keeps_a_file_of_tests_from_being_imported_is_noticed(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests have limits, but here the loop is in the import of their file."""
    monkeypatch.setattr("mutants.trial.START_SECONDS", 4.0)
    (tree / "tiny/doubling.py").write_text(
        "def count(value):\n    while value < 3:\n        value += 1\n    return value\n"
    )
    (tree / "tests/test_doubling.py").write_text(
        "from tiny.doubling import count\n\nTHREE = count(0)\n\n"
        "def test_three():\n    assert THREE == count(1) == 3\n"
    )
    seconds = re.findall(r"time-out in (\d+) s: .*value [-+]= 1", run(tree, capsys))
    assert len(seconds) > 1
    assert max(map(int, seconds)) < 15  # a test has 20, and all tests of a mutant together more


def test_a_child_that_hangs_does_not_hold_up_its_mutant(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would keep the output open, and is ended with its parent."""
    (tree / "tests/test_doubling.py").write_text(
        f"{TESTS}\n\ndef test_beside_a_child():\n    import os, time\n"
        "    if 'MUTANTS_CHOICE' in os.environ:\n"
        "        child = os.fork()\n"
        "        if not child:\n"
        "            time.sleep(300)\n"
        "            os._exit(0)\n"
        f"        with open({str(tree.parent / 'children')!r}, 'a') as children:\n"
        "            print(child, file=children)\n"
        "    assert double(1, limit=2) == 2\n"
    )
    output = run(tree, capsys)
    assert max(map(int, re.findall(r"(?:noticed|survived) in (\d+) s", output))) < 60
    children = (tree.parent / "children").read_text().split()
    assert children
    until = time.monotonic() + 20
    while any(is_running(int(pid)) for pid in children) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(is_running(int(pid)) for pid in children)


def is_running(pid: int) -> bool:
    """Tell whether a process has not ended; one that nobody waits for is a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_test_that_fails_without_a_mutation_notices_nothing(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It passed when it was measured, but something else has changed since."""
    switch = tree.parent / "switch"
    (tree / "tests/test_doubling.py").write_text(
        f"{TESTS}\n\ndef test_the_surroundings():\n    double(1, limit=2)\n"
        f"    assert not __import__('os').path.exists({str(switch)!r})\n"
    )
    words = ["tiny", "--root", str(tree), "--store", str(tree.parent / "store"), "--tests", "tests"]
    main([*words, "--number", "0"])
    switch.touch()
    main([*words, "--number", "4", "--seed", "3"])
    output = capsys.readouterr().out
    assert "1 mutants are left out: tests/test_doubling.py::test_the_surroundings fail" in output
    switch.unlink()
    main([*words, "--number", "4", "--seed", "3"])
    output = capsys.readouterr().out
    assert "left out" not in output
    assert "       4        3     75%  tiny/doubling.py" in output


def sampled(
    tree: Path,
    modules: list[str],
    *,
    number: int,
    seed: int = 1,
    equivalents: Equivalents | None = None,
    tuned: Tuned | None = None,
) -> tuple[list[Any], int]:
    none = tree / "none.toml"
    return sample(
        tree,
        modules,
        number=number,
        seed=seed,
        equivalents=equivalents or Equivalents(none),
        tuned=tuned or Tuned(none),
    )


def test_tuned_numbers_are_not_mutated(tmp_path: Path) -> None:
    """They leave the sample by name, with a reason, and no other number of their module does."""
    path = tmp_path / "tuned.toml"
    (tmp_path / "numbers.py").write_text(
        "SHARES: Final = (\n    0.5,\n    1.5,\n)\nMAX_BITS: Final = 7\n"
        "class A:\n    share: ClassVar[float] = 0.5\n"
    )

    def lines(*names: str, reason: str = "measured") -> list[int]:
        path.write_text(
            f'[[tuned]]\nmodule = "numbers.py"\nnames = {[*names]}\nreason = "{reason}"\n'
        )
        candidates, _ = sampled(tmp_path, ["numbers.py"], number=99, tuned=Tuned(path))
        return sorted({candidate.mutation.line for candidate in candidates})

    assert lines() == [2, 3, 5, 7]
    assert lines("SHARES") == [5, 7]
    assert lines("SHARES", "share") == [5]
    with pytest.raises(ValueError, match=r"expected OTHER in numbers\.py, found none"):
        lines("MAX_BITS", "OTHER")
    with pytest.raises(ValueError, match="expected a reason for each tuned number"):
        lines("SHARES", reason="")


def test_every_tuned_number_is_there() -> None:
    root = Path(__file__).parents[2]
    entries = tomllib.loads((root / "tools/mutants/tuned.toml").read_text())["tuned"]
    tuned = Tuned(root / "tools/mutants/tuned.toml")
    for entry in entries:
        source = (root / entry["module"]).read_text()
        assert len(tuned.lines(entry["module"], source)) >= len(entry["names"]) > 0


def test_equivalent_mutants_are_not_counted(tmp_path: Path, tree: Path) -> None:
    path = tmp_path / "equivalents.toml"
    module, before, after = SURVIVOR
    entry = f'[[equivalent]]\nmodule = "{module}"\nbefore = "{before}"\nafter = "{after}"\n'
    modules = modules_of(tree, ["tiny"])

    def listed() -> tuple[set[str], int]:
        candidates, number = sampled(tree, modules, number=99, equivalents=Equivalents(path))
        source = (tree / module).read_text()
        return {candidate.mutation.after(source) for candidate in candidates}, number

    assert after in listed()[0]
    assert listed()[1] == 11
    path.write_text(f'{entry}reason = "never at the limit"\n')
    assert after not in listed()[0]
    assert listed()[1] == 10
    path.write_text(entry)
    with pytest.raises(ValueError, match="expected a reason"):
        Equivalents(path)


def test_a_larger_sample_extends_the_same_sample(tree: Path, tmp_path: Path) -> None:
    none = Equivalents(tmp_path / "none.toml")
    modules = modules_of(tree, ["tiny/doubling"])
    few, _ = sampled(tree, modules, number=3, equivalents=none)
    many, _ = sampled(tree, modules, number=6, equivalents=none)
    assert many[:3] == few
    assert sampled(tree, modules, number=6, seed=2, equivalents=none)[0] != many


def test_an_equivalent_mutant_leaves_the_sample_as_it_was(tree: Path, tmp_path: Path) -> None:
    """So an interrupted run goes on after it, with the same mutants."""
    modules, path = modules_of(tree, ["tiny/doubling"]), tmp_path / "equivalents.toml"
    every, number = sampled(tree, modules, number=99, equivalents=Equivalents(path))
    source = (tree / modules[0]).read_text()
    for place, candidate in enumerate(every):
        before, after = candidate.mutation.before(source), candidate.mutation.after(source)
        path.write_text(
            f"[[equivalent]]\nmodule = '{modules[0]}'\nbefore = '{before}'\n"
            f"after = '{after}'\nreason = 'none'\n"
        )
        left, rest = sampled(tree, modules, number=99, equivalents=Equivalents(path))
        assert left == [*every[:place], *every[place + 1 :]]
        assert rest == number - 1


def test_tests_may_be_named_by_file(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is named twice is measured once; a name without tests would notice nothing."""
    (tree / "tests/test_other.py").write_text("def test_nothing():\n    pass\n")
    words = ["tiny", "--root", str(tree), "--store", str(tree.parent / "store"), "--number", "0"]
    assert main([*words, "--tests", "tests/test_doubling.py", "tests/test_doubling.py"]) == 0
    output = capsys.readouterr().out
    assert "[1/1] measured what 2 tests of tests/test_doubling.py reach" in output
    for name in ("tests/absent", "tests/test_absent.py", "tiny"):
        with pytest.raises(SystemExit):
            main([*words, "--tests", name])
        assert f"expected a folder or a file of tests, found {name}" in capsys.readouterr().err


def test_nothing_is_kept_within_the_tree(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["tiny", "--root", str(tree), "--store", str(tree / "store")])
    assert "expected --store outside the tree" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["absent", "--root", str(tree)])
    assert "found absent" in capsys.readouterr().err


def test_the_projects_own_list_names_mutants_that_there_are_each_with_a_reason() -> None:
    """A line that was changed since leaves an entry that stands for nothing."""
    root = Path(__file__).parents[2]
    path = root / "tools" / "mutants" / "equivalents.toml"
    Equivalents(path)  # which refuses an entry without a reason
    entries = tomllib.loads(path.read_text())["equivalent"]
    for module in {entry["module"] for entry in entries}:
        source = (root / module).read_text()
        there = {
            (mutation.before(source), mutation.after(source)) for mutation in mutations(source)
        }
        named = {
            (entry["before"], entry["after"]) for entry in entries if entry["module"] == module
        }
        assert named <= there, f"no longer in {module}, so drop or mend: {named - there}"
