"""The pages answer the questions of a reader who was not there, and agree with the report.

They also keep the laws of pages: no scripts, nothing fetched, headings in order, names for
pictures, tables and regions.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, Final

import pytest
from commands_here import command_here

import sottovoce
from sottovoce import UsageError
from sottovoce.messages import Entry
from sottovoce.network import time_text
from sottovoce.parties.demo import demo_table
from sottovoce.report.communication import Sums
from sottovoce.report.comparison import ComparedRun, Comparison, compare
from sottovoce.report.folder import ledger_csv, read_ledger
from sottovoce.report.formats import bound_text, bytes_text
from sottovoce.report.pages import comparison_page, run_page
from sottovoce.report.pages.bars import Bars, bars
from sottovoce.report.pages.chart_panel import Line, Panel
from sottovoce.report.pages.charts import panels
from sottovoce.report.pages.conversation import group_messages, sequence_diagram
from sottovoce.report.pages.document import document, table
from sottovoce.report.pages.privacy_panel import privacy_panel
from sottovoce.report.pages.sentences import lead
from sottovoce.report.pages.style import STYLE
from sottovoce.report.pages.timeline import timeline
from sottovoce.report.report import Privacy
from sottovoce.report.reported import ReportedRun, read_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KEYS: dict[str, Any] = {"key_bits": 256, "insecure_test_keys": True}
COLUMNS = ["sex", "race", "income", "relationship"]
VOID: Final = {"meta", "link", "br", "hr", "img", "input"}
REGION: Final = "region"


class Page(HTMLParser):
    """A page as its elements, with what of the laws it breaks."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.broken: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[int] = []
        self.words: list[str] = []
        self.pictures = 0
        self._svg: list[str] | None = None
        self.feed(text)
        self.close()
        if self.open:
            self.broken.append(f"never closed: {self.open}")
        if len({*self.ids}) < len(self.ids):
            self.broken.append(
                f"twice: {sorted({name for name in self.ids if self.ids.count(name) > 1})}"
            )
        self.broken += [f"leads nowhere: {link}" for link in self.links if link[1:] not in self.ids]
        self.broken += [
            f"heading {two} below {one}"
            for one, two in zip(self.headings, self.headings[1:], strict=False)
            if two > one + 1
        ]
        if self.headings[:1] != [1] or self.headings.count(1) != 1:
            self.broken.append(f"expected one first heading, found {self.headings}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if (name := values.get("id")) is not None:
            self.ids.append(name)
        if tag in {"script", "iframe", "object", "embed", "audio", "video", "form", "base"}:
            self.broken.append(f"<{tag}>")
        self.broken += [f"{name} on <{tag}>" for name in values if name.startswith("on")]
        for name in ("href", "src", "xlink:href", "data", "action", "srcset"):
            if (where := values.get(name)) is not None:
                if where.startswith("#"):
                    self.links.append(where)
                elif where != "data:,":
                    self.broken.append(f"{name}={where}")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "th" and "scope" not in values:
            self.broken.append("a head of a table without scope")
        if values.get("tabindex") is not None and not (
            values.get("role") == REGION and values.get("aria-label")
        ):
            self.broken.append(f"in the order of the keyboard without a name: {tag}")
        if tag == "svg":
            self.pictures += 1
            self._svg = []
            if values.get("role") != "img" or "viewBox" not in {
                name.replace("viewbox", "viewBox") for name in values
            }:
                self.broken.append(f"a picture without role or viewBox: {values}")
        elif self._svg is not None:
            self._svg.append(tag)
        if "style" in values and re.search(r"url\((?!#)", values["style"] or ""):
            self.broken.append(f"fetches: {values['style']}")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.broken.append(f"</{tag}> closes something else")
        if tag == "svg" and self._svg is not None:
            if self._svg[:2] != ["title", "desc"]:
                self.broken.append(f"a picture without title and description: {self._svg[:2]}")
            self._svg = None

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        """What a person reads, with the descriptions of pictures."""
        return " ".join(" ".join(self.words).split())


def contrast(one: str, other: str) -> float:
    """Compute the contrast of two colours such as #0b57a4, as WCAG 2 defines it."""

    def light(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.fixture(scope="module")
def runs() -> dict[str, sottovoce.Run]:
    """One of each kind: a table as printed and as mended, marginals, users, a tree, with few
    parties and with many.
    """
    few = demo_table(900)[COLUMNS]
    return {
        "paper": sottovoce.run(
            "dp-subn",
            few,
            mode="paper",
            seed=1,
            epsilon=8.0,
            classify=["income"],
            transcript=True,
            **KEYS,
        ),
        "mended": sottovoce.run("dp-subn", few, seed=2, epsilon=30.0, aggregator="masks"),
        "many": sottovoce.run(
            "one-way", rows=900, parties=12, seed=3, epsilon=2.0, aggregator="masks"
        ),
        "users": sottovoce.run("privincr", demo_table(3000)[COLUMNS], seed=4, epsilon=4.0),
        "label": sottovoce.run("clldp-decision-tree", rows=3000, seed=5, epsilon=6.0),
        "count": sottovoce.run("head-count", rows=90, epsilon=1.0),
        "nothing held back": sottovoce.run("no-priv-jtree", few, seed=6),
    }


def page_of(run: sottovoce.Run) -> Page:
    return Page(run.page())


def test_every_page_keeps_the_laws(runs: dict[str, sottovoce.Run]) -> None:
    for name, run in runs.items():
        page = page_of(run)
        assert page.broken == [], name
        assert page.pictures >= 2, name
        used = {*re.findall(r"var\((--[a-z0-9-]+)\)", run.page())}
        assert used <= {*re.findall(r"(--[a-z0-9-]+):", STYLE)}, name
    comparison = compare({name: run.reported for name, run in runs.items()})
    assert Page(comparison_page(comparison)).broken == []


def test_the_laws_see_what_is_wrong() -> None:
    good = document("t", "<h1>a</h1>")
    assert Page(good).broken == []
    for body in (
        "<h1>a</h1><p>",
        "<h2>a</h2>",
        "<h1>a</h1><h3>b</h3>",
        "<h1>a</h1><script></script>",
        '<h1>a</h1><a href="#x">b</a>',
        '<h1>a</h1><img src="http://somewhere/x.png">',
        '<h1 id="a">a</h1><p id="a"></p>',
        '<h1 onclick="x">a</h1>',
        "<h1>a</h1><svg></svg>",
        '<h1>a</h1><p tabindex="0"></p>',
        '<h1>a</h1><p style="background: url(x)"></p>',
    ):
        assert Page(document("t", body)).broken, body


def test_the_top_of_the_page_says_what_was_run(runs: dict[str, sottovoce.Run]) -> None:
    paragraphs = {name: lead(run.reported) for name, run in runs.items()}
    assert paragraphs["mended"][0] == (
        "Three parties with the 900 records of a table in memory and a curator that saw none of "
        "them ran `dp-subn` and published a synthetic table of 900 rows and 4 attributes "
        "(`synthetic.csv`) and a model (`model.json`)."
    )
    assert paragraphs["users"][0].startswith(
        "3,000 users, one for each record of a table in memory, simulated by three parties, ran "
    )
    assert paragraphs["count"][0].endswith(
        "ran `head-count` and published 1 noisy marginal of 1 count (`marginals.csv`)."
    )
    assert paragraphs["count"][1].startswith(
        "The privacy loss of one person's record, as accounted, is at most epsilon 1 to anybody, "
        "including the curator and the other parties. The run sent "
    )
    assert "as printed in its paper" in paragraphs["paper"][0]
    assert "that saw none" not in paragraphs["paper"][0]  # it learns more than is claimed
    assert paragraphs["paper"][1].startswith(
        "If nobody knew the seed and nobody could break the keys, the privacy loss of one person's "
        "record, as accounted, would be at most epsilon 12 to the public, at most epsilon 12 to "
        "the curator and unbounded to another party."
    )
    assert (
        "one person's label, as accounted, would be at most epsilon 6 to anybody"
        in paragraphs["label"][1]
    )
    assert "unless they know her attributes" in paragraphs["label"][1]
    assert (
        "record, as accounted, would be unbounded to anybody" in paragraphs["nothing held back"][1]
    )
    assert "that saw none" not in paragraphs["nothing held back"][0]
    for name, run in runs.items():
        text = re.sub(r"</?(?:code|span)[^>]*>", "", run.page())
        assert all(escape(words.replace("`", "")) in text for words in paragraphs[name])


def test_what_coalitions_learn_is_said() -> None:
    run = sottovoce.run("one-way", rows=300, epsilon=2.0, aggregator="paillier", **KEYS).reported
    worst = max(run.report.privacy.coalitions.values())
    assert worst > 2
    assert "would be at most epsilon 2 to anybody" in lead(run)[1]
    shown = bound_text(worst)
    assert worst <= float(shown) <= 1.01 * worst
    assert (
        f" To coalitions it would be larger: 2 other parties together {shown}, "
        f"the curator with 2 parties {shown}." in lead(run)[1]
    )
    run = sottovoce.run(
        "one-way", rows=300, parties=5, epsilon=2.0, aggregator="masks", colluding=2
    ).reported
    assert " To coalitions it is larger: 3 or 4 other parties together " in lead(run)[1]


def test_other_neighbours_and_made_up_users_are_said() -> None:
    alone = sottovoce.run("head-count", rows=300, parties=1, epsilon=2.0).reported
    assert "to anybody, including the curator. The run sent" in lead(alone)[1]
    label = sottovoce.run("label-dp", demo_table(300)[COLUMNS], epsilon=2.0).reported
    assert "one person's label, as accounted, is at most epsilon 2" in lead(label)[1]
    assert "The privacy loss of the whole record is unbounded." in lead(label)[1]
    drawn = sottovoce.run(
        "calm", demo_table(300)[COLUMNS], epsilon=2.0, users=5000, simulate="counts"
    ).reported
    assert lead(drawn)[0].startswith(
        "5,000 made-up users, drawn with replacement from the 300 records of a table in memory"
    )
    assert "of one made-up user's record" in lead(drawn)[1]


def test_every_figure_of_the_cost_is_there(runs: dict[str, sottovoce.Run]) -> None:
    for run in runs.values():
        sent, text = run.report["communication"], run.page().replace("&nbsp;", " ")
        for by in ("by_phase", "by_kind"):
            for key, sums in sent[by].items():
                assert f'<th scope="row">{key}</th>' in text
                assert f"{sums['payload_bytes']:,}" in text
        for line in sent["predicted"] or ():
            assert f"{line['payload_bytes']:,}" in text
        for edge in sent["by_edge"]:
            one, other = (
                "curator" if rank == "0" else f"party {rank}" for rank in edge.split("->")
            )
            assert f"{one} \N{RIGHTWARDS ARROW} {other}" in text


def test_claims_and_truth_side_by_side(runs: dict[str, sottovoce.Run]) -> None:
    text = runs["paper"].page().replace("&nbsp;", " ")
    assert (
        '<td class="number">8</td><td><strong class="worse">12: more than claimed</strong></td>'
        in text.replace("<td>8</td>", '<td class="number">8</td>')
    )
    assert text.count("more than claimed") == 3
    assert (
        '<th scope="row">the curator colluding with 1 party</th><td class="number">no claim</td>'
        '<td><strong class="worse">infinity: above the claim</strong></td>' in text
    )
    assert "infinity: more than claimed" in text
    assert "The paper's formulas".replace("'", "&#x27;") in text
    mended = runs["mended"].page()
    assert "more than claimed" not in mended
    # A claim of coalitions is kept against the size that it names, no more.
    assert "the curator colluding with 1 party" in mended.replace("&nbsp;", " ")


def test_of_many_coalitions_those_that_cost_more_than_claimed_are_not_folded_away() -> None:
    coalitions = {f"{size}_parties": 1.0 + size / 100 for size in range(2, 30)}
    coalitions |= {f"curator_and_{size}": 2.0 + size for size in range(1, 30)}
    privacy = Privacy(
        claimed_epsilon=1.2,
        claimed_delta=0.0,
        claimed_coalition=None,
        claimed_with_curator=True,
        neighbours="replace-one",
        epsilon={"public": 1.0, "curator": 1.0, "other_party": 1.0},
        coalitions=coalitions,
        by_party={},
        delta=0.0,
        rho={},
        curve=[],
        laplace_epsilon=None,
        releases=[],
        key_bits=2048,
        identities="made for the run",
        key_agreement="X25519",
    )
    shown = Page(document("privacy", "".join(privacy_panel(privacy)))).text.partition(
        "All 60 adversaries"
    )[0]
    for size in range(2, 30):
        row = f"{size} other parties that collude 1.2 {1 + size / 100:g}"
        assert (f"{row}: more than claimed" in shown) is (size > 20)
        assert (row in shown) is (size <= 4 or size > 20)


def test_every_release_is_counted(runs: dict[str, sottovoce.Run]) -> None:
    """Lines stand for several releases; together for all of them."""
    for name, run in runs.items():
        releases = run.report["privacy"]["releases"]
        text = page_of(run).text
        if name == "users":
            assert (
                text.count("each", text.index("Releases, in order")) >= 3
            )  # a cohort's places, round by round
        lines = re.findall(
            r"part(?:y|ies) [\d, to]+(?:, (\d+) times)?", text[text.index("Releases, in order") :]
        )
        assert lines or not releases, name
        for release in releases:
            assert release["mechanism"] in text


def test_warnings_are_on_the_page(runs: dict[str, sottovoce.Run]) -> None:
    for run in runs.values():
        text = page_of(run).text
        for warning in run.report["warnings"]:
            assert " ".join(warning.split()) in text


def test_parameters_are_said_as_they_were_chosen(runs: dict[str, sottovoce.Run]) -> None:
    """What was left open is not "none", which may be a value: noise=none would be no noise."""
    assert runs["paper"].report["parameters"]["noise"] is None
    assert runs["paper"].report["chosen"] == {
        "noise": "selected",
        "attributes": "binary",
        "views": "algorithm-2",
        "init": "em",
        "update": "replace",
        "score": "I",
        "budget": "0.25,0.25,0.25,0.25",
        "theta": 6.0,
        "theta_frontier": 2.0,
    }
    text = page_of(runs["paper"]).text
    assert "noise selected (not given: chosen for mode paper)" in text
    assert "update replace (not given: chosen for mode paper)" in text
    assert runs["users"].report["chosen"]["projection"] == "norm-sub"
    assert runs["label"].report["chosen"] == {
        "sure": 3.0,
        "choice": "scan",
        "record_cap": 12.0,
        "learning": "distilled",
    }
    assert "synthetic_rows not given" in text


def test_what_was_known_before_is_told_from_what_was_learnt(runs: dict[str, sottovoce.Run]) -> None:
    lines = {
        (line["phase"], line["kind"]): line["known"]
        for line in runs["paper"].report["communication"]["predicted"]
    }
    assert {kind: when for (_, kind), when in lines.items() if kind in ("Frontier", "Network")} == {
        "Frontier": "from the model",
        "Network": "from the model",
    }
    assert "before" in lines.values()
    assert {line["known"] for line in runs["many"].report["communication"]["predicted"]} == {
        "before"
    }


def test_without_a_judge_the_page_says_how_to_ask_one() -> None:
    run = sottovoce.run("one-way", rows=90, seed=1, aggregator="masks", judge=False)
    assert "sottovoce evaluate REAL.csv DIR" in page_of(run).text


def test_the_whole_record_is_always_said_where_epsilon_is_a_labels(
    runs: dict[str, sottovoce.Run],
) -> None:
    privacy = runs["label"].report["privacy"]
    assert privacy["whole_record"] >= privacy["epsilon"]["curator"]
    alone = sottovoce.run("clldp-joint", rows=900, seed=1, belief="none").report["privacy"]
    assert alone["whole_record"] == alone["epsilon"]["curator"] == 1.0
    assert runs["many"].report["privacy"]["whole_record"] is None
    printed = sottovoce.run("clldp-naive-bayes", rows=900, seed=1, mode="paper", epsilon=4.0).report
    assert any(
        "as much as follows from omega (record_cap=0)" in text for text in printed["warnings"]
    )
    assert printed["chosen"]["record_cap"] == 0.0


def test_a_page_is_not_written_where_the_rest_fails(
    runs: dict[str, sottovoce.Run], tmp_path: Path
) -> None:
    runs["count"].save(tmp_path)
    page = (tmp_path / "report.html").read_text()
    report = json.loads((tmp_path / "report.json").read_text())
    for missing in ("rows", "warnings"):
        (tmp_path / "report.json").write_text(
            json.dumps({key: value for key, value in report.items() if key != missing})
        )
        done = main_of("report", ".", "--public", folder=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert (tmp_path / "report.html").read_text() == page


def test_the_time_line_goes_by_one_clock(runs: dict[str, sottovoce.Run]) -> None:
    """By its own clock, which starts ten seconds later, the party answers before the question."""
    run = runs["count"].reported
    question = Entry(1, "count", 1, "Ask", 0, 1, 1, 10, 10, 0, 0, 11.0, 11.0, 0.5, 1.5, 1.5)
    answer = Entry(2, "count", 1, "Tell", 1, 0, 2, 10, 10, 0, 0, 2.0, 2.0, 12.0, 12.25, 12.25)
    assert "count from 11 to 12.2" in Page(run_page(run, entries=[question, answer])).text


def test_what_was_measured_can_be_left_out(runs: dict[str, sottovoce.Run], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    runs["paper"].save(folder)
    whole = (folder / "report.html").read_text()
    assert "not to be published" in whole
    for words in (["--public"], []):
        assert command_here("report", str(folder), *words, cwd=folder).returncode == 0
        written = (folder / "report.html").read_text()
        assert (written == whole) is not bool(words)
        assert ("Utility was not measured" in written) is bool(words)
        if words:
            for marginal in runs["paper"].judgement["utility"]["marginals"]:
                assert f"distance {marginal['distance']:.4f}" not in written
            distance = runs["paper"].judgement["utility"]["tvd"]["2"]
            assert f"by {distance:.3g} on average" not in written
            assert Page(written).broken == []


def test_a_secret_number_of_rows_is_left_out_for_others(tmp_path: Path) -> None:
    """Where neighbours differ by a row more or less the judge's count of them is exact, and what
    was released is noisy.
    """
    run = sottovoce.run(
        "head-count", demo_table(8_765)[COLUMNS], seed=1, epsilon=0.01, classify=["income"]
    )
    run.save(tmp_path / "run")
    assert "8,765 records" in (tmp_path / "run" / "report.html").read_text()
    assert "nothing was classified" in (tmp_path / "run" / "report.html").read_text()
    assert main_of("report", "run", "--public", folder=tmp_path).returncode == 0
    written = (tmp_path / "run" / "report.html").read_text()
    assert "8,765" not in written
    assert "8765" not in written
    assert "nothing was classified" not in written


def test_worst_marginals_are_those_of_the_tables(runs: dict[str, sottovoce.Run]) -> None:
    run = runs["paper"]
    real = demo_table(900)[COLUMNS].astype(str)
    assert run.synthetic is not None
    shown = run.judgement["utility"]["marginals"]
    assert [len(marginal["attributes"]) for marginal in shown] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert shown[4]["distance"] == pytest.approx(run.judgement["utility"]["distances"][0]["worst"])
    for marginal in shown:
        keys = list(marginal["attributes"])
        for table_, shares in (
            (real, marginal["real"]),
            (run.synthetic.astype(str), marginal["published"]),
        ):
            counted = table_.groupby(keys).size() / len(table_)
            cells: dict[Any, float] = counted.to_dict()
            by_cell = {
                ", ".join([cell] if isinstance(cell, str) else cell): share
                for cell, share in cells.items()
            }
            for cell, share in zip(marginal["cells"], shares, strict=True):
                assert share == pytest.approx(by_cell.get(cell, 0.0), abs=1e-6)
        left = marginal["rest"] or (0, 0.0, 0.0)
        assert sum(marginal["real"]) + left[1] == pytest.approx(1, abs=1e-4)
        assert sum(marginal["published"]) + left[2] == pytest.approx(1, abs=1e-4)


def test_it_says_how_to_run_it_again(tmp_path: Path) -> None:
    """The command on the page, in the folder of the page, gives the same files to the byte."""
    first = tmp_path / "first"
    options = "--rows 400 --parties 4 --epsilon 3 --seed 7 --transport threads"
    options += " --set aggregator=masks --split sizes:4,2,1,1"
    command = [
        sys.executable,
        "-m",
        "sottovoce",
        "run",
        "one-way",
        *options.split(),
        "--out",
        str(first),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    page = Page((first / "report.html").read_text()).text
    match = re.search(r"sottovoce run one-way .*?aggregator=masks", page)
    assert match is not None
    words = shlex.split(match.group(0))
    assert words[:3] == ["sottovoce", "run", "one-way"]
    again = [sys.executable, "-m", *words, "--out", "again"]
    subprocess.run(again, check=True, capture_output=True, timeout=600, cwd=first)
    for name in ("synthetic.csv", "schema.json"):
        assert (first / "again" / name).read_bytes() == (first / name).read_bytes()


def test_a_command_is_quoted(runs: dict[str, sottovoce.Run]) -> None:
    command = sottovoce.run(
        "noisy-marginals", rows=200, epsilon=1.0, marginals="age*sex, race"
    ).report["command"]
    assert "--set 'marginals=age*sex, race'" in command
    assert (
        runs["paper"]
        .report["command"]
        .startswith("sottovoce.run('dp-subn', table, parties=3, epsilon=8.0, mode='paper'")
    )


def test_a_ledger_is_read_as_it_was_written(runs: dict[str, sottovoce.Run]) -> None:
    for run in runs.values():
        data = run.files["ledger.csv"]
        assert ledger_csv(read_ledger(data)) == data
    with pytest.raises(ValueError, match="expected a ledger"):
        read_ledger(b"a,b\n1,2\n")


def entry(
    number: int, kind: str, sender: int, receiver: int, *, phase: str = "count", payload: int = 10
) -> Entry:
    return Entry(
        number,
        phase,
        1,
        kind,
        sender,
        receiver,
        number,
        payload,
        payload + 48,
        0,
        0,
        *[0.1 * number] * 5,
    )


def test_the_diagram_sums_up_what_is_alike() -> None:
    entries = [
        entry(1, "Ask", 0, 1),
        entry(2, "Ask", 0, 2),
        entry(3, "Answer", 1, 0),
        entry(4, "Answer", 2, 0),
        entry(5, "Ask", 0, 1),
        entry(6, "Pass", 1, 2, phase="ring"),
        entry(7, "Pass", 2, 0, phase="ring"),
    ]
    groups = group_messages(entries)
    assert [
        (group.phase, group.kind, group.direction, group.messages, group.payload_bytes)
        for group in groups
    ] == [
        ("count", "Ask", "curator to party", 3, 30),
        ("count", "Answer", "party to curator", 2, 20),
        ("ring", "Pass", "party to party", 1, 10),
        ("ring", "Pass", "party to curator", 1, 10),
    ]
    assert groups[0].edges == {(0, 1): 2, (0, 2): 1}
    drawn = sequence_diagram(groups, parties=2, seconds={"count": 1.5})
    for text in (
        "curator",
        "party 1",
        "party 2",
        "Ask \N{MULTIPLICATION SIGN} 3",
        "30 B, 3 rounds",
        "1.5 s",
    ):
        assert text in drawn, text
    assert (
        drawn.count(" v8 z") == 2 + 1 + 1 + 1
    )  # heads: an Ask at each party, one of both Answers, one for each Pass


def test_many_parties_share_a_column(runs: dict[str, sottovoce.Run]) -> None:
    text = runs["many"].page()
    assert "parties 1 to 12" in text
    assert ">party 12</text>" not in text
    assert "By edge: payload bytes of one edge, by direction" in text
    assert runs["count"].page().count(">party 3</text>") == 1


def test_bars_cut_names_where_they_have_little_place() -> None:
    name = "adaptive-pairs, wan, 100 parties"
    series = [Bars(name="seconds", heights=[0.0004])]
    assert f">{name}</text>" not in bars([name], series, title="")
    wide = bars([name], series, title="", letters=40, width=600, write=time_text)
    assert f">{name}</text>" in wide
    assert ">400 us</text>" in wide


def test_a_long_name_is_cut_by_its_first_letters_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of 100,000 letters was measured anew for each letter less."""
    measured = 0

    def width(letter: str) -> str:
        nonlocal measured
        measured += 1
        return "W" if letter == "\N{CJK UNIFIED IDEOGRAPH-4E00}" else "Na"

    monkeypatch.setattr("sottovoce.report.pages.bars.east_asian_width", width)
    wide = "\N{CJK UNIFIED IDEOGRAPH-4E00}" * 14
    names = ["x" * 100_000, wide + "x" * 100_000, "x" * 26]
    text = bars(names, [Bars(name="seconds", heights=[1, 2, 3])], title="")
    assert measured < 1000
    assert f">{'x' * 25}\N{HORIZONTAL ELLIPSIS}</text>" in text
    assert f">{wide[:13]}\N{HORIZONTAL ELLIPSIS}</text>" in text
    assert f">{'x' * 26}</text>" in text


def test_names_from_outside_are_escaped() -> None:
    wild = "<b>&\"'$x_1$"
    for drawn in (
        bars([wild], [Bars(name=wild, heights=[0.5]), Bars(name="b", heights=[0.2])], title=wild),
        panels(
            [
                Panel(
                    lines=[Line(name=wild, points=[(wild, 2)]), Line(name="x", points=[("1", 1)])],
                    x=wild,
                )
            ],
            title=wild,
        ),
        timeline([(0, 1), (1, 5)], spans=[(wild, 0, 0.4)], title=wild, x="s", y="b"),
        sequence_diagram(
            group_messages([entry(1, "Said", 1, 0, phase=wild)]), parties=1, seconds={}
        ),
    ):
        assert "<b>" not in drawn
        assert Page(document("t", f"<h1>a</h1>{drawn}")).broken == []
    assert "&lt;b&gt;" in table((wild,), [(wild,)])
    assert "<b>" not in document(wild, "")


def test_charts_follow_the_theme_and_their_names_are_their_own() -> None:
    lines = [
        Line(name=f"line {number}", points=[(1, number), (2, number + 1)], spread=(0.1, 0.1))
        for number in range(10)
    ]
    kinds = [
        Line(name="paper", points=[(1, 3), (2, 4)], kind="printed", of="line 3"),
        Line(name="all", points=[(1, 2)], kind="level"),
        Line(name="baseline", points=[(1, 0.5)], kind="baseline"),
    ]
    shown = [
        Panel(lines=[*lines, *kinds], x="x", y="y", log_x=True),
        Panel(lines=lines[:2], title="t", x="z", log_y=True),
    ]
    one, other = (panels(shown, title=title) for title in "ab")
    assert one == panels(shown, title="a")  # the same figure is the same text
    assert not {*re.findall(r'id="([^"]+)"', one)} & {*re.findall(r'id="([^"]+)"', other)}
    assert not re.findall(r"#[0-9a-fA-F]{6}\b", one)  # every colour is a variable
    assert {*re.findall(r"var\((--[a-z0-9-]+)\)", one)} <= {*re.findall(r"(--[a-z0-9-]+):", STYLE)}
    assert "3 at 2" in one  # described in words


def palette(text: str) -> dict[str, str]:
    return dict(re.findall(r"(--[a-z0-9-]+): (#[0-9a-f]{3,6})", text))


def test_every_colour_can_be_read() -> None:
    """WCAG 2: 4.5 for text, 3 for lines and bars."""
    dark_from = STYLE.index("prefers-color-scheme: dark")
    light = palette(STYLE[:dark_from])
    dark = light | palette(STYLE[dark_from : STYLE.index("* {")])
    assert contrast("#000", "#fff") == pytest.approx(21)
    for colours in (light, dark):
        for name in ("--ink", "--quiet", "--accent", "--warn", "--good", "--part"):
            assert contrast(colours[name], colours["--paper"]) >= 4.5, name
        assert contrast(colours["--quiet"], colours["--panel"]) >= 4.5
        assert contrast(colours["--ink"], colours["--warn-panel"]) >= 4.5
        assert contrast(colours["--on-banner"], colours["--banner"]) >= 7
        assert contrast(colours["--banner"], colours["--paper"]) >= 4.5
        for number in range(1, 9):
            assert contrast(colours[f"--series-{number}"], colours["--paper"]) >= 3


def test_bytes_for_people() -> None:
    shown = [
        bytes_text(number) for number in (0, 999, 1000, 999_499, 999_500, 1.5e6, 2e9, 3e12, 9e15)
    ]
    assert shown == ["0 B", "999 B", "1 kB", "999 kB", "1 MB", "1.5 MB", "2 GB", "3 TB", "9e+03 TB"]


def test_a_page_needs_neither_ledger_nor_judgement(runs: dict[str, sottovoce.Run]) -> None:
    public = ReportedRun(report=runs["mended"].reported.report)
    assert Page(run_page(public)).broken == []


def test_runs_side_by_side_are_drawn(runs: dict[str, sottovoce.Run], tmp_path: Path) -> None:
    for name in ("paper", "mended"):
        runs[name].save(tmp_path / name)
    command = ("compare", "paper", "mended")
    printed = main_of(*command, folder=tmp_path)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.endswith("written  comparison.html\n")
    page = Page((tmp_path / "comparison.html").read_text())
    assert page.broken == []
    assert "2 runs of dp-subn (paper), dp-subn: claimed epsilon 8 to 30, 3 parties." in page.text
    assert (
        "paper: the claimed epsilon 8 does not hold, as accounted: the public 12, the curator 12, "
        "another party infinity; --mode rigorous keeps the claim" in page.text
    )
    baseline = runs["mended"].judgement["utility"]["distances"][0]["one_way"]
    assert f"baseline: {baseline:.4g}" in page.text
    assert re.search(
        rf"dp-subn, [^:]*: {runs['mended'].judgement['utility']['tvd']['2']:.4g} at 30", page.text
    )
    sent = f"{runs['paper'].report['communication']['payload_bytes']:,}"
    assert re.search(rf"dp-subn \(paper\), [^:]*: {sent} at 8", page.text)
    # The page lies beside the runs: `compare *` takes it for none of them.
    assert main_of(*command, "comparison.html", folder=tmp_path).returncode == 0
    (tmp_path / "comparison.html").unlink()
    assert main_of(*command, "--json", folder=tmp_path).returncode == 0
    assert not (tmp_path / "comparison.html").exists()
    # What was measured on the real table is for whoever may see that.
    printed = main_of(*command, "--public", folder=tmp_path)
    assert printed.returncode == 0, printed.stderr
    for shown in (printed.stdout, Page((tmp_path / "comparison.html").read_text()).text):
        assert sent in shown
        assert not re.search(r"baseline|real data|\d-way|wrong", shown)
    elsewhere = main_of(*command, "--out", "paper", folder=tmp_path)
    assert elsewhere.returncode == 2
    assert "expected a file for --out, found the folder paper" in elsewhere.stderr


def test_runs_that_differ_by_their_seed_are_averaged() -> None:
    runs = tuple(
        ComparedRun(
            name=f"r{seed}",
            protocol="x",
            settings={},
            parties=3,
            epsilon=1.0,
            public=1.0,
            curator=1.0,
            other_party=1.0,
            coalition=1.0,
            excesses=(),
            not_accounted=(),
            neighbours="replace-one",
            delta=0.0,
            whole_record=None,
            bytes=10 * seed,
            rounds=2,
            seconds=1.0,
            errors={"2-way": 0.1 * seed},
            baselines={"2-way": 0.4},
            data="demo",
            rows=None,
        )
        for seed in (1, 2, 3)
    )
    text = Page(comparison_page(Comparison(runs=runs, levels={}))).text
    assert "x: 0.2 at 1" in text
    assert "x: 20 at 1" in text  # over epsilon, as all have as many parties
    more = replace(runs[0], name="r9", parties=5, bytes=70)
    page = Page(comparison_page(Comparison(runs=(*runs, more), levels={})))
    assert "x: 20 at 3, 70 at 5" in page.text


HUGE = 10**400
SUMS = Sums.__struct_fields__


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("seconds",), HUGE),
        (("seconds",), None),
        (("communication", "rounds"), "x"),
        (("privacy", "epsilon"), []),
        (("privacy", "claimed_epsilon"), None),
        (("privacy", "releases"), [3]),
        (("utility", "tvd"), {"2": "x"}),
        (("utility", "distances"), [1]),
        (("parties",), "three"),
        (("phases",), [{}]),
        (("communication", "by_edge"), {"0->x": {}}),
    ],
)
def test_a_folder_that_was_tampered_with_is_one_line(
    runs: dict[str, sottovoce.Run], where: tuple[str, ...], value: Any, tmp_path: Path
) -> None:
    runs["mended"].save(tmp_path)
    name = "judgement.json" if where[0] == "utility" else "report.json"
    tamper(tmp_path / name, where, value)
    with pytest.raises(UsageError, match=f"^expected {name} of a run in ") as caught:
        read_run(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("where", "value", "commands"),
    [
        (("seconds",), None, ("report", "compare")),
        (("communication", "payload_bytes"), HUGE, ("report", "compare")),
        (("communication", "by_edge"), {"0->x": dict.fromkeys(SUMS, 1)}, ("report",)),
    ],
)
def test_commands_end_with_one_line_where_a_folder_was_tampered_with(
    runs: dict[str, sottovoce.Run],
    where: tuple[str, ...],
    value: Any,
    commands: tuple[str, ...],
    tmp_path: Path,
) -> None:
    """Also where only the page shows what is wrong."""
    runs["mended"].save(tmp_path / "run")
    tamper(tmp_path / "run" / "report.json", where, value)
    for command in commands:
        done = main_of(command, "run", folder=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("sottovoce: expected")
        assert "report.json" in done.stderr or "files of a run" in done.stderr
        assert done.stderr.count("\n") == 1


def tamper(path: Path, where: Sequence[str], value: Any) -> None:
    """Change one value of a JSON file."""
    content = json.loads(path.read_text())
    inner = content
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n1,2\n",
        "HEAD\n1,2\n",
        "HEAD\n" + ",".join(["9" * 5000] * 13),
        "HEAD\n" + "x" * 200_000,
    ],
    ids=["empty", "other columns", "too few columns", "numbers too large", "a field too long"],
)
def test_a_ledger_that_is_none_is_one_line(
    runs: dict[str, sottovoce.Run], text: str, tmp_path: Path
) -> None:
    runs["mended"].save(tmp_path / "run")
    (tmp_path / "run" / "ledger.csv").write_text(text.replace("HEAD", ",".join(Entry._fields)))
    done = main_of("report", "run", folder=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("sottovoce: expected the files of a run in run, found")


@pytest.mark.parametrize(
    ("column", "value", "differs"),
    [
        ("frame_bytes", "1000000", "frame bytes, by phase, by edge, by kind"),
        ("phase", "none", "by phase"),
        ("round", "1000000", "rounds"),
        ("sender", "party 2", "by edge"),
    ],
)
def test_a_ledger_of_another_run_is_told_from_ones_own(
    runs: dict[str, sottovoce.Run], column: str, value: str, differs: str, tmp_path: Path
) -> None:
    words = "report.json and ledger.csv are not of the same run, or one was changed: they differ in"
    runs["mended"].save(tmp_path)
    assert words not in (tmp_path / "report.html").read_text()
    lines = [line.split(",") for line in (tmp_path / "ledger.csv").read_text().splitlines()]
    assert lines[-1][lines[0].index(column)] != value
    lines[-1][lines[0].index(column)] = value
    (tmp_path / "ledger.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    assert main_of("report", ".", folder=tmp_path).returncode == 0
    assert f"{words} {differs}" in Page((tmp_path / "report.html").read_text()).text


def main_of(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return command_here(*words, cwd=folder)


def test_a_page_that_fails_loses_nothing(
    runs: dict[str, sottovoce.Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epsilon is spent: what was published is kept whatever becomes of the page."""

    def fail(*_: Any, **__: Any) -> str:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("sottovoce.report.folder.run_page", fail)
    runs["mended"].save(tmp_path / "run")
    assert not (tmp_path / "run" / "report.html").exists()
    assert (tmp_path / "run" / "synthetic.csv").read_bytes() == runs["mended"].files[
        "synthetic.csv"
    ]
    warnings = json.loads((tmp_path / "run" / "report.json").read_text())["warnings"]
    assert "there is no report.html: ZeroDivisionError" in warnings


def test_the_command_has_the_schema_where_it_lies(
    runs: dict[str, sottovoce.Run], tmp_path: Path
) -> None:
    """As the run was started from: data as it was given, the schema in the run's folder."""
    people = demo_table(300)[COLUMNS]
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "my rules.json").write_bytes(runs["mended"].files["schema.json"])
    asked = [
        "run",
        "one-way",
        "--data",
        "people.csv",
        "--schema",
        "my rules.json",
        "--seed",
        "5",
        "--transport",
        "threads",
    ]
    asked += ["--epsilon", "3", "--set", "aggregator=masks", "--classify", "income", "--quiet"]
    assert main_of(*asked, "--out", "my runs/first", folder=tmp_path).returncode == 0
    command = json.loads((tmp_path / "my runs" / "first" / "report.json").read_text())["command"]
    words = shlex.split(command)
    assert words[words.index("--schema") + 1] == "my runs/first/schema.json"
    assert main_of(*words[1:], "--out", "again", folder=tmp_path).returncode == 0
    first, again = (tmp_path / name / "synthetic.csv" for name in ("my runs/first", "again"))
    assert first.read_bytes() == again.read_bytes()
    judged, again_judged = (table_.parent / "judgement.json" for table_ in (first, again))
    assert judged.read_bytes() == again_judged.read_bytes()


def test_going_on_after_a_loss_is_part_of_the_command() -> None:
    report = sottovoce.run(
        "noisy-marginals",
        rows=60,
        parties=5,
        ways=1,
        on_loss="continue",
        min_parties=4,
        judge=False,
    ).report
    assert "--on-loss continue --min-parties 4 " in report["command"]


def test_lists_are_said_in_python() -> None:
    report = sottovoce.run(
        "noisy-marginals", ["demo", "demo"], rows=60, epsilon=1.0, ways=[1, 2]
    ).report
    assert report["command"] == (
        "sottovoce.run('noisy-marginals', ['demo', 'demo'], epsilon=1.0, ways=[1, 2], rows=60)"
    )
