"""Plain words: names, docstrings, comments and messages that the rooms no longer use.

Every rule finds places in one file. `words.toml` names, by rule, the files that still have some.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = sorted(path.name for path in (ROOT / "src" / "sottovoce").iterdir() if path.is_symlink())
FILES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]

PARTICIPLES = frozenset(
    [
        "Asked",
        "Believed",
        "Concluded",
        "Done",
        "Drawn",
        "Enlisted",
        "Found",
        "Given",
        "Heard",
        "Kept",
        "Known",
        "Left",
        "Made",
        "Mustered",
        "Prepared",
        "Reproduced",
        "Said",
        "Seen",
        "Settled",
        "Spoken",
        "Surveyed",
        "Taken",
        "Told",
        "Written",
    ]
)
"""Names of classes that do not say what the class is. Messages may have them: they are events."""

VARIABLES = frozenset(["at", "found", "given", "known", "made", "one", "own", "said", "told"])
"""Names of variables that do not say what the variable holds."""

FRAGMENTS = re.compile(
    r"Of |There (are|is)\.|How (many|much|often|long)\b|What .*\b(ends|begins) with"
)
"""Beginnings of docstrings of constants and fields that are no phrase of their own."""

SECTION = re.compile(r"^ *(Args|Raises|Returns|Yields): +\S", re.MULTILINE)
"""A section of a docstring whose text stands beside its heading, where tools do not find it."""

PHRASES = {
    r"who looks": "the adversary",
    r"told": "sent to, or learns",
    r"said": "sent, or stated",
    r"somebody": "someone, or the role's name",
    r"in truth": "in fact, or accounted",
    r"pools? what": "collude",
    r"belong together": "depend on each other",
    r"(?<!ground )floors?(?!\()": "baseline",
    r"what latency multiplies": "the longest chain of dependent messages",
}
"""Phrases that are read twice, as regular expressions, each with what to write instead."""

EXCEPTIONS: dict[str, list[str]] = tomllib.loads(
    (ROOT / "tests" / "house" / "words.toml").read_text()
)
"""By rule, files that still break it."""


@dataclass(frozen=True)
class Module:
    """The text of one file, and its syntax tree."""

    text: str

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)


def class_names(module: Module) -> Iterator[str]:
    """Find classes that are named by a participle and are no messages."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef) and node.name.lstrip("_") in PARTICIPLES:
            decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
            if "message" not in decorators:
                yield f"line {node.lineno}: class {node.name}: name it by a noun"


def bounds(module: Module) -> Iterator[str]:
    """Find bounds that are not called MAX_... or MIN_..."""
    for name, line in assigned(module):
        if re.match(r"_?(MOST|LEAST)_", name):
            yield f"line {line}: {name}: call it MAX_... or MIN_..."


def variables(module: Module) -> Iterator[str]:
    """Find variables whose names do not say what they hold."""
    for name, line in assigned(module):
        if name in VARIABLES:
            yield f"line {line}: {name}: say what it holds"


def fragments(module: Module) -> Iterator[str]:
    """Find docstrings of constants and fields that are fragments of a sentence."""
    for text, line, of_field in docstrings(module):
        if of_field and FRAGMENTS.match(text):
            yield f"line {line}: {text[:60]!r}: write a phrase, such as 'Number of users.'"


def sections(module: Module) -> Iterator[str]:
    """Find headings of a docstring with text beside them."""
    for text, line, _ in docstrings(module):
        if SECTION.search(text):
            yield f"line {line}: begin the text of a section below its heading"


def phrases(module: Module) -> Iterator[str]:
    """Find refused phrases in docstrings, comments and messages of errors."""
    for text, line in prose(module):
        for phrase, instead in PHRASES.items():
            if match := re.search(rf"\b(?:{phrase})\b", text, re.IGNORECASE):
                yield f"line {line}: {match[0]!r}: write {instead}"


def formatting(module: Module) -> Iterator[str]:
    """Find statements kept from the formatter that are not tables of numbers."""
    skipped = [
        token.start[0]
        for token in comments(module)
        if re.match(r"# *fmt: *(skip|off)", token.string)
    ]
    for line in skipped:
        for node in module.tree.body:
            inside = node.lineno <= line <= (node.end_lineno or line)
            if inside and any(
                isinstance(part, ast.Call | ast.FunctionDef) for part in ast.walk(node)
            ):
                yield f"line {line}: only tables of numbers are kept from the formatter"


def assigned(module: Module) -> Iterator[tuple[str, int]]:
    """List names that are assigned, and parameters, with their lines.

    Fields are left out: many are keys of files.
    """
    fields = {
        statement.target
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields:
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def docstrings(module: Module) -> Iterator[tuple[str, int, bool]]:
    """List docstrings with their lines, and whether they belong to a constant or a field."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for number, statement in enumerate(node.body):
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    text = statement.value.value
                    if isinstance(text, str):
                        yield text.strip(), statement.lineno, number > 0


def prose(module: Module) -> Iterator[tuple[str, int]]:
    """List docstrings, comments and the texts of raised errors, without what they quote as code."""
    texts = [(text, line) for text, line, _ in docstrings(module)]
    texts += [(token.string, token.start[0]) for token in comments(module)]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Raise):
            texts += [
                (part.value, part.lineno)
                for part in ast.walk(node)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
    for text, line in texts:
        yield re.sub(r"`[^`]*`|>>> .*", "", text), line


def comments(module: Module) -> Iterator[tokenize.TokenInfo]:
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    return (token for token in tokens if token.type == tokenize.COMMENT)


Rule = Callable[[Module], Iterator[str]]
RULES: list[Rule] = [
    class_names,
    bounds,
    variables,
    fragments,
    sections,
    phrases,
    formatting,
]


def excepted(rule: Rule) -> list[str]:
    return EXCEPTIONS.get(rule.__name__, [])


@functools.cache
def read(path: Path) -> Module:
    return Module(path.read_text())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rooms_use_plain_words(rule: Rule) -> None:
    broken = []
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        if name not in excepted(rule):
            broken += [f"{name}, {place}" for place in rule(read(path))]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_files_that_are_excepted_exist(rule: Rule) -> None:
    assert not [name for name in excepted(rule) if not (ROOT / name).is_file()]


@pytest.mark.parametrize(
    ("rule", "wrong", "right"),
    [
        (class_names, "class _Heard: ...", "@message\nclass Heard: ..."),
        (bounds, "MOST_ROWS = 3", "MAX_ROWS = 3"),
        (variables, "for own in []: ...", "for row in []: ..."),
        (variables, "lambda at: 0", "lambda place: 0"),
        (fragments, 'X = 1\n"""Of one report."""', 'X = 1\n"""Bits of one report."""'),
        (fragments, 'X = 1\n"""There are."""', '"""There are two sides."""'),
        (sections, '"""Do.\n\nRaises: X: no\n    more.\n"""', '"""Do.\n\nRaises:\n    X: No.\n"""'),
        (phrases, "x = 1  # what somebody gave", "somebody = 1  # what `somebody` gave"),
        (phrases, "raise X(f'{a} is told')", "print('told')"),
        (phrases, '"""The floor."""', '"""Is floor(n / 2)."""'),
        (formatting, "x = f(1,  2)  # fmt: skip", "x = [1,  2]  # fmt: skip"),
    ],
)
def test_the_check_sees_what_is_wrong(rule: Rule, wrong: str, right: str) -> None:
    assert [*rule(Module(wrong))]
    assert not [*rule(Module(right))]
