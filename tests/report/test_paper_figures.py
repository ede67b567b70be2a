"""Figures for papers: what is drawn, that files are whole, and that wrong names are refused."""

from __future__ import annotations

import base64
import csv
import io
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from fontTools.ttLib import TTFont
from matplotlib.font_manager import findfont

import sottovoce
from sottovoce import UsageError
from sottovoce.report.comparison import compare
from sottovoce.report.figures import (
    FigureRequest,
    FigureTable,
    check_request,
    check_request_before,
    default_requests,
    paper_files,
    read_request,
    run_rows,
    write_figures,
)
from sottovoce.report.figures import writing as writing_module
from sottovoce.report.figures.drawing import draw_request
from sottovoce.report.figures.paper import HEIGHT, POINTS
from sottovoce.report.pages.canvas import default_settings
from sottovoce.report.pages.chart_look import PAPER, SHAPES, STROKES
from sottovoce.report.pages.chart_panel import Line, Panel
from sottovoce.report.pages.charts import draw
from sottovoce.report.reported import ReportedRun

GAP = 2
"""Points between a mark and a number."""
SVG = "{http://www.w3.org/2000/svg}"
SETTINGS = ("protocol", "parties", "epsilon", "network", "seed")


def seconds_of(protocol: str, parties: int, network: str, seed: int) -> float:
    """Make up seconds that differ between all lines."""
    factors = {"calm": 1.0, "dp-subn": 7.0, "jtree": 3.0, "one-way": 15.0, "lan": 1, "wan": 20}
    return factors[protocol] * factors[network] * math.sqrt(parties) * (1 + 0.02 * seed)


def made_up(
    protocols: Sequence[str] = ("calm", "dp-subn"),
    parties: Sequence[int] = (3, 10, 100),
    networks: Sequence[str] = ("lan",),
    seeds: Sequence[int] = (1, 2, 3),
) -> FigureTable:
    """Make up results of every combination."""
    rows: list[dict[str, Any]] = [
        {
            "protocol": protocol,
            "parties": number,
            "epsilon": 1.0,
            "network": network,
            "seed": seed,
            "seconds": seconds_of(protocol, number, network, seed),
            "payload_bytes": number * (100 if protocol == "calm" else 900),
            "tvd_2": 0.1 / number + 0.001 * seed,
            "floor_2": 0.2,
        }
        for protocol, number, network, seed in product(protocols, parties, networks, seeds)
    ]
    return FigureTable(rows=rows, setting_names=SETTINGS)


def drawing_of(table: FigureTable, text: str) -> Any:
    drawing = draw_request(table, read_request(text))
    assert drawing is not None
    return drawing


def files_of(table: FigureTable, text: str) -> dict[str, bytes]:
    drawing = drawing_of(table, text)
    return paper_files(drawing.panels, name="figure", title=drawing.title)


def texts(svg: bytes) -> list[str]:
    return [text.text or "" for text in ET.fromstring(svg).iter(f"{SVG}text")]


def data_lines(svg: bytes) -> list[str]:
    """List the paths of lines of data: those without a fill, of a line's colour."""
    styles = (path.get("style") or "" for path in ET.fromstring(svg).iter(f"{SVG}path"))
    widths = {f"stroke-width: {PAPER.line_width:g}"}
    return [
        style
        for style in styles
        if "fill: none" in style
        and any(colour in style for colour in PAPER.colours)
        and any(width in style for width in widths)
    ]


def test_a_figure_has_every_line_and_names_its_axes() -> None:
    svg = files_of(made_up(), "seconds:parties")["figure.svg"]
    shown = texts(svg)
    assert {"calm", "dp-subn", "time (s)", "number of parties", "3", "10", "100"} <= {*shown}
    assert len(data_lines(svg)) == 4  # two lines, each in the chart and in the legend
    assert b"<image" not in svg


def test_the_csv_has_means_and_spread() -> None:
    drawing = drawing_of(made_up(), "seconds:parties")
    rows = [*csv.DictReader(io.StringIO(drawing.csv.decode()))]
    assert len(rows) == 6
    for row in rows:
        values = [seconds_of(row["line"], int(row["parties"]), "lan", seed) for seed in (1, 2, 3)]
        assert float(row["seconds"]) == pytest.approx(mean(values))
        assert float(row["standard_deviation"]) == pytest.approx(stdev(values))
        assert float(row["two_standard_errors"]) == pytest.approx(2 * stdev(values) / math.sqrt(3))
        assert (float(row["least"]), float(row["largest"])) == pytest.approx(
            (min(values), max(values))
        )
        assert row["runs"] == "3"
    (panel,) = drawing.panels
    assert [line.spread for line in panel.lines] == [
        pytest.approx([float(row["two_standard_errors"]) for row in rows if row["line"] == name])
        for name in ("calm", "dp-subn")
    ]


def test_many_lines_have_panels_by_network_with_the_same_limits() -> None:
    protocols = ("calm", "dp-subn", "jtree", "one-way")
    table = made_up(protocols, networks=("lan", "wan"))
    drawing = drawing_of(table, "seconds:parties")
    assert [panel.title for panel in drawing.panels] == ["lan", "wan"]
    assert [[line.name for line in panel.lines] for panel in drawing.panels] == [[*protocols]] * 2
    assert drawing.name == "seconds-over-parties-by-network"
    with default_settings():
        figure = draw(drawing.panels, PAPER, width=504, height=HEIGHT, across=2)
        limits = {axes.get_ylim() for axes in figure.axes}
    assert len(limits) == 1
    assert all(panel.log_y for panel in drawing.panels)  # from 2 to 3,000 seconds


def test_panels_that_share_their_limits_are_marked_alike() -> None:
    """One panel's values span decades, and those of the other one do not."""
    charts = [
        Panel(
            lines=[Line(name="a", points=[(1, low), (2, 20.0)])],
            title=str(low),
            x="x",
            log_y=True,
            shares_limits=True,
        )
        for low in (0.01, 2.0)
    ]
    marks = []
    with default_settings():
        figure = draw(charts, PAPER, width=504, height=HEIGHT, across=2)
        figure.canvas.draw()
        for axes in figure.axes:
            low, high = axes.get_ylim()
            marks.append(
                {
                    text.get_text()
                    for text in axes.get_yticklabels(which="both")
                    if low <= text.get_position()[1] <= high
                }
                - {""}
            )
    assert marks[0] == marks[1]
    assert {"0.01", "0.1", "1", "10"} <= marks[0]
    assert "2" not in marks[0]


def test_numbers_of_bars_stand_beside_the_papers_marks() -> None:
    """A paper's number at the end of a bar would lie upon the bar's own."""
    lines = [
        Line(name="a", points=[("x", 0.5), ("y", 0.9)]),
        Line(name="p", points=[("x", 0.5), ("y", 0.2)], kind="printed", of="a"),
    ]
    with default_settings():
        figure = draw([Panel(lines=lines, x="x")], PAPER, width=240, height=HEIGHT, across=1)
        figure.canvas.draw()
        (axes,) = figure.axes
        mark = next(line for line in axes.lines if line.get_label() == "p")
        size = (mark.get_markersize() + 2 * GAP) * figure.dpi / 72
        places = axes.transData.transform(mark.get_xydata())
        for text in axes.texts:
            box = text.get_window_extent()
            for x, y in places:
                is_beside = x + size / 2 < box.x0 or x - size / 2 > box.x1
                assert is_beside or not box.y0 - size / 2 < y < box.y1 + size / 2


def test_bytes_are_the_same_on_all_networks_and_are_drawn_once() -> None:
    drawing = drawing_of(made_up(networks=("lan", "wan")), "bytes:parties")
    (panel,) = drawing.panels
    assert [line.name for line in panel.lines] == ["calm", "dp-subn"]
    shown = texts(paper_files(drawing.panels, name="f", title="t")["f.svg"])
    assert "10 kB" in shown


def test_axes_are_logarithmic_where_values_span_decades() -> None:
    (panel,) = drawing_of(made_up(), "error:parties").panels
    assert (panel.log_x, panel.log_y) == (True, False)
    (panel,) = drawing_of(made_up(parties=(3, 4, 5)), "bytes:parties").panels
    assert (panel.log_x, panel.log_y) == (False, False)
    assert [line.name for line in panel.lines if line.kind == "baseline"] == []
    (panel,) = drawing_of(made_up(), "error:parties").panels
    assert [line.points for line in panel.lines if line.kind == "baseline"] == [[(0, 0.2)]]


def test_a_single_value_is_drawn_as_bars() -> None:
    svg = files_of(made_up(), "seconds:epsilon")["figure.svg"]
    (panel,) = drawing_of(made_up(parties=(3,)), "seconds:epsilon").panels
    assert panel.is_bars
    files = files_of(made_up(parties=(3,)), "seconds:epsilon")
    shown = texts(files["figure.svg"])
    assert {"calm", "dp-subn", "claimed epsilon: 1", "time (s)"} <= {*shown}
    assert data_lines(files["figure.svg"]) == []
    heights = [line.points[0][1] for line in panel.lines]
    assert {f"{height:.4g}" for height in heights} <= {*shown}
    assert {"calm, 3 parties", "dp-subn, 100 parties"} <= {*texts(svg)}


def test_a_single_line_over_names_is_drawn_as_bars() -> None:
    (panel,) = drawing_of(made_up(parties=(3,)), "seconds:protocol").panels
    assert [bar.name for bar in panel.bars] == ["calm", "dp-subn"]


def widths_of(lines: Sequence[Line]) -> dict[str, float]:
    panel = Panel(lines=lines, x="x", y="y")
    with default_settings():
        figure = draw([panel], PAPER, width=241, height=HEIGHT, across=1)
        return {
            str(line.get_label()): line.get_linewidth()
            for line in figure.axes[0].lines
            if not str(line.get_label()).startswith("_")
        }


def test_lines_that_coincide_show_beside_one_another() -> None:
    """The first line is the widest, and lies below the others."""
    points = [(1, 1.0), (2, 2.0), (3, 1.5)]
    near = [(x, y * 1.002) for x, y in points]
    apart = [(x, y + 0.3) for x, y in points]
    crossing = [(1, 1.8), (2, 2.0), (3, 0.2)]
    widths = widths_of(
        [
            Line(name="first", points=points),
            Line(name="second", points=near),
            Line(name="third", points=points),
            Line(name="apart", points=apart),
            Line(name="crossing", points=crossing),
        ]
    )
    assert widths["first"] > widths["second"] > widths["third"] == PAPER.line_width
    assert widths["apart"] == widths["crossing"] == PAPER.line_width


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_lines_differ_in_shape_and_stroke_without_colour() -> None:
    styles = [(SHAPES[n % len(SHAPES)], STROKES[n % len(STROKES)]) for n in range(24)]
    assert len({*styles}) == 24
    assert len({*SHAPES}) == len(SHAPES) >= len(PAPER.colours)
    for one, other in combinations(styles[:7], 2):  # few lines differ in both
        assert one[0] != other[0]
        assert one[1] != other[1]
    assert all(luminance(colour) < 0.5 for colour in PAPER.colours)  # on white paper


LONG = [
    Line(
        name=f"adaptive-pairs of line {number}, noise=gaussian, aggregator=paillier",
        points=[(1, 1e6 * number), (2, 3e6 * number), (900, 4e6 * number)],
        spread=(1e5, 1e5, 1e5),
    )
    for number in range(1, 5)
]


def boxes(svg: bytes) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Give each text's corners, by the widths of the letters in its font."""
    font = TTFont(findfont("DejaVu Sans"))
    letters, widths, units = font.getBestCmap(), font["hmtx"].metrics, font["head"].unitsPerEm
    for element in ET.fromstring(svg).iter(f"{SVG}text"):
        text, style = element.text or "", element.get("style") or ""
        size = float(re.search(r"font-size: ([0-9.]+)px", style)[1])  # type: ignore[index]
        wide = sum(widths[letters[ord(letter)]][0] for letter in text) / units * size
        anchor = re.search(r"text-anchor: (\w+)", style)
        left = {"middle": -wide / 2, "end": -wide}.get(anchor[1] if anchor else "", 0.0)
        transform = element.get("transform") or ""
        turned = re.search(r"rotate\((\S+?)[ )]", transform)
        angle = math.radians(float(turned[1])) if turned else 0.0
        moved = re.match(r"translate\((\S+) (\S+)\)", transform)
        x, y = (float(moved[1]), float(moved[2])) if moved else (0.0, 0.0)
        if not moved:
            x, y = float(element.get("x") or "nan"), float(element.get("y") or "nan")
        yield (
            text,
            [
                (
                    x + along * math.cos(angle) - above * math.sin(angle),
                    y + along * math.sin(angle) + above * math.cos(angle),
                )
                for along in (left, left + wide)
                for above in (-0.75 * size, 0.2 * size)
            ],
        )
    font.close()


@pytest.mark.parametrize("width", ["one", "two"])
@pytest.mark.parametrize("shape", ["lines", "bars", "names", "panels"])
def test_no_text_leaves_the_frame(width: Any, shape: str) -> None:
    lines = LONG
    if shape == "bars":
        lines = [Line(name=line.name, points=line.points[:1]) for line in LONG]
    elif shape == "names":
        lines = [
            Line(name=line.name, points=[(f"network number {x}", y) for x, y in line.points])
            for line in LONG
        ]
    panel = Panel(lines=lines, x="claimed epsilon of a record", y="payload (bytes)", unit="B")
    charts = [panel] * (3 if shape == "panels" else 1)
    svg = paper_files(charts, name="f", title="t", width=width)["f.svg"]
    root = ET.fromstring(svg)
    wide, high = (float((root.get(name) or "").removesuffix("pt")) for name in ("width", "height"))
    assert wide == POINTS[width]
    shown = dict(boxes(svg))
    assert len(shown) > 8
    for text, corners in shown.items():
        for x, y in corners:
            assert -1 <= x <= wide + 1, (text, corners)
            assert -1 <= y <= high + 1, (text, corners)


def pdf_parts(data: bytes) -> tuple[str, str]:
    """Give the dictionaries of a PDF, and its streams uncompressed."""
    streams = []
    for match in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL):
        try:
            streams.append(zlib.decompress(match[1]).decode("latin-1"))
        except zlib.error:
            streams.append(match[1].decode("latin-1"))
    bare = re.sub(rb"stream\r?\n.*?\r?\nendstream", b"", data, flags=re.DOTALL)
    return bare.decode("latin-1"), "\n".join(streams)


def test_the_pdf_has_its_fonts_and_text_as_text() -> None:
    drawing = drawing_of(made_up(networks=("lan", "wan")), "seconds:parties:network")
    pdf = paper_files(drawing.panels, name="f", title="Seconds", width="one")["f.pdf"]
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    bare, streams = pdf_parts(pdf)
    assert "/FontFile2" in bare  # TrueType within the file
    assert "/Type3" not in bare
    assert "/Subtype /Image" not in bare
    assert "/ToUnicode" in bare
    assert re.search(r"/MediaBox \[ 0 0 241(\.0*)? ", bare)
    assert streams.count(" Tj") + streams.count(" TJ") >= len(
        {"lan", "wan", "calm", "dp-subn", "time (s)"}
    )
    again = paper_files(drawing.panels, name="f", title="Seconds", width="one")["f.pdf"]
    assert again == pdf  # the same figure is the same file


def test_the_svg_has_the_letters_of_its_texts() -> None:
    svg = files_of(made_up(), "seconds:parties")["figure.svg"]
    match = re.search(rb"data:font/woff;base64,([^)]+)\)", svg)
    assert match is not None
    letters = TTFont(io.BytesIO(base64.b64decode(match[1]))).getBestCmap()
    assert {ord(letter) for letter in "".join(texts(svg))} <= {*letters}
    assert b"font-family: 'DejaVu Sans'" in svg
    assert len(svg) < 60_000
    assert svg.count(b"http") == svg.count(b"http://www.w3.org/")  # nothing is fetched


def test_names_of_others_are_text() -> None:
    rows = [{"protocol": '<b>&"$x_1$', "parties": n, "seconds": n, "seed": 1} for n in (1, 2)]
    rows += [{"protocol": "b", "parties": n, "seconds": n + 1, "seed": 1} for n in (1, 2)]
    files = files_of(FigureTable(rows=rows, setting_names=SETTINGS), "seconds:parties")
    assert '<b>&"$x_1$' in texts(files["figure.svg"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bytes", r"expected --figure Y:X, such as bytes:parties, found 'bytes'"),
        ("bytes:", r"expected --figure Y:X"),
        ("a:b:c:d", r"expected --figure Y:X"),
        ("byte:parties", r"found 'byte' in byte:parties"),
        ("rounds:parties", r"found 'rounds' in rounds:parties"),
        ("bytes:party", r"found 'party' in bytes:party"),
        ("bytes:parties:net", r"found 'net' in bytes:parties:net"),
    ],
)
def test_a_wrong_name_is_refused_with_what_can_be_drawn(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_request(read_request(text), made_up())
    check_request(read_request("bytes:parties:network"), made_up())


def test_the_list_names_what_the_results_have() -> None:
    with pytest.raises(UsageError) as refusal:
        check_request(read_request("byte:parties"), made_up())
    assert str(refusal.value) == (
        "expected --figure Y:X with Y one of bytes, seconds, error, error-2 and X one of epsilon, "
        "parties, protocol, network, found 'byte' in byte:parties"
    )


def test_before_runs_names_of_what_may_be_measured_are_taken() -> None:
    table = FigureTable(rows=[{"protocol": "calm", "parties": 3}], setting_names=SETTINGS)
    for text in ("error:parties", "wrong_income:parties", "epsilon_coalition:parties"):
        check_request_before(read_request(text), table, measured=[], of_runs=True)
    for text in ("eroor:parties", "error:epsilom"):
        with pytest.raises(UsageError, match="expected --figure"):
            check_request_before(read_request(text), table, measured=[], of_runs=True)


def test_before_experiments_only_what_they_measure_is_taken() -> None:
    rows = [{"protocol": "views", "epsilon": 1.0, "design": "nocd"}]
    table = FigureTable(rows=rows, setting_names=[*rows[0]])
    measured = ["tvd_2", "views", "payload_bytes"]
    for text in ("error:epsilon", "error-2:epsilon", "views:design", "bytes:epsilon"):
        check_request_before(read_request(text), table, measured=measured, of_runs=False)
    for text in ("seconds:epsilon", "tvd_3:epsilon", "omega:epsilon", "views:designs"):
        with pytest.raises(UsageError, match="Y one of tvd_2, views, payload_bytes and X one of"):
            check_request_before(read_request(text), table, measured=measured, of_runs=False)


def test_files_are_written_all_or_none_and_replace_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "figures"
    requests = [FigureRequest("error", "parties"), FigureRequest("bytes", "parties")]
    lines = write_figures(made_up(), requests, folder=folder)
    assert [line.split(" ")[0] for line in lines] == ["figure", "figure"]
    names = {
        f"{name}-over-parties.{ending}"
        for name in ("error", "bytes")
        for ending in ("svg", "pdf", "csv")
    }
    assert {path.name for path in folder.iterdir()} == names
    (folder / "mine.pdf").write_bytes(b"")

    def fails(*_: object, **__: object) -> dict[str, bytes]:
        raise OSError("no space")

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(writing_module, "paper_files", fails)
        with pytest.raises(OSError, match="no space"):
            write_figures(made_up(), requests[:1], folder=folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    # Without errors, as with --public, no earlier figure of them stays.
    rows = [{k: v for k, v in row.items() if k != "tvd_2"} for row in made_up().rows]
    (not_drawn, drawn) = write_figures(
        FigureTable(rows=rows, setting_names=SETTINGS), requests, folder=folder
    )
    assert not_drawn.startswith("not drawn: error:parties; these runs have Y:X with Y one of bytes")
    assert "bytes-over-parties" in drawn
    left = {path.name for path in folder.iterdir()}
    assert left == {"mine.pdf", *(name for name in names if name.startswith("bytes"))}


def test_usual_figures_are_drawn_over_what_varies() -> None:
    assert [request.text for request in default_requests(made_up())] == [
        "error:parties",
        "bytes:parties",
        "seconds:parties",
    ]
    rows = [{**row, "epsilon": row["parties"] / 2, "parties": 3} for row in made_up().rows]
    table = FigureTable(rows=rows, setting_names=SETTINGS)
    assert {request.x for request in default_requests(table)} == {"epsilon"}


def test_infinity_is_left_out_and_said() -> None:
    rows = [{**row, "epsilon": math.inf} if row["parties"] == 3 else row for row in made_up().rows]
    drawing = drawing_of(FigureTable(rows=rows, setting_names=SETTINGS), "seconds:epsilon")
    assert drawing.remarks == ["6 runs without a finite claimed epsilon not drawn"]


def test_forecasts_without_computation_are_lines_of_their_own() -> None:
    rows = [
        {**row, "computation": "measured" if row["parties"] < 50 else "left out"}
        for row in made_up().rows
    ]
    drawing = drawing_of(FigureTable(rows=rows, setting_names=SETTINGS), "seconds:parties")
    (panel,) = drawing.panels
    assert [line.name for line in panel.lines] == [
        "calm",
        "calm, without computation",
        "dp-subn",
        "dp-subn, without computation",
    ]


def test_compared_runs_are_rows() -> None:
    runs: dict[str, ReportedRun] = {
        f"{parties}-{seed}": sottovoce.run(
            "one-way", rows=300, parties=parties, seed=seed, aggregator="masks"
        ).reported
        for parties in (2, 4)
        for seed in (1, 2)
    }
    comparison = compare(runs)
    table = run_rows(comparison, runs)
    (panel,) = drawing_of(table, "bytes:parties").panels
    (line,) = panel.lines
    assert line.points == [
        (parties, runs[f"{parties}-1"].report.communication.payload_bytes) for parties in (2, 4)
    ]
    (panel,) = drawing_of(table, "error:parties").panels
    errors = [run.errors["2-way"] for run in comparison.runs]
    assert [y for _, y in panel.lines[0].points] == pytest.approx(
        [mean(errors[:2]), mean(errors[2:])]
    )
    public = {name: ReportedRun(report=run.report) for name, run in runs.items()}
    assert draw_request(run_rows(compare(public), public), read_request("error:parties")) is None
