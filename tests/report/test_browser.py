"""The pages in a real browser.

Nothing is logged on its console, nothing is fetched, nothing is wider than a phone, in both themes.
Where there is no Chromium these are skipped; CI installs one.
"""

from __future__ import annotations

import http.server
import json
import re
import struct
import threading
import zlib
from collections.abc import Iterator
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import pytest
from browser import CHROMIUM, browse
from typer.testing import CliRunner

import sottovoce
from sottovoce.launch.commands import app
from sottovoce.parties.demo import demo_table
from sottovoce.report.comparison import compare
from sottovoce.report.pages import comparison_page, run_page
from sottovoce.report.pages.document import document
from sottovoce.report.pages.models.networks import network, networks
from sottovoce.report.reported import ReportedRun
from sottovoce.runs.record import Unaccounted

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

MEASURE = """<!doctype html><title>?</title>
<iframe id="f" style="border:0;width:{width}px;height:900px"></iframe><script>
const f = document.getElementById("f");
f.onload = () => {{
  const d = f.contentDocument, inner = d.documentElement;
  const beyond = e => !e.closest(".wide, pre") && !e.closest("svg *") &&
    e.getBoundingClientRect().right > {width} + 1;
  const small = e => parseFloat(getComputedStyle(e).fontSize) < 12;
  const texts = [...d.querySelectorAll("p, td, th, dd, figcaption")];
  document.title = JSON.stringify({{
    width: inner.scrollWidth,
    wide: [...d.querySelectorAll("body *")].filter(beyond).map(e => e.tagName + "." + e.className),
    small: texts.filter(small).length,
    unreadable: [...d.querySelectorAll("svg text")].filter(e => e.getClientRects().length &&
      parseFloat(getComputedStyle(e).fontSize) *
      Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) < 9.5)
      .map(e => e.textContent),
    height: inner.scrollHeight,
    banner: [...d.querySelectorAll(".banner")].map(e => {{
      const box = e.getBoundingClientRect(), style = getComputedStyle(e);
      return [box.top, box.height, style.backgroundColor, style.color];
    }}),
    paper: getComputedStyle(d.body).backgroundColor,
    ink: getComputedStyle(d.body).color,
    links: d.links.length,
    scrolled: [...d.querySelectorAll(".wide")].filter(e => e.scrollWidth > e.clientWidth + 1)
      .map(e => e.getAttribute("aria-label")),
    outside: [...d.querySelectorAll("svg[viewBox]")].filter(e => {{
      const box = e.getBBox(), view = e.viewBox.baseVal;
      return e.getClientRects().length && (box.x < view.x - 1 || box.y < view.y - 1 ||
        box.x + box.width > view.x + view.width + 1 ||
        box.y + box.height > view.y + view.height + 1);
    }}).map(e => [e.querySelector("title").textContent, e.getBBox().x, e.getBBox().y,
      e.getBBox().width, e.getBBox().height, e.getAttribute("viewBox")].join(" ")),
    roles: [...d.querySelectorAll('[aria-label^="Sequence"] text')].filter(e =>
      e.getClientRects().length && /^(curator|part(y|ies) [0-9 to]+)$/.test(e.textContent))
      .map(e => e.textContent),
    order: [...d.querySelectorAll("section > h2")].map(e => e.id),
    first: [...d.querySelectorAll(".wide tbody th")].map(e => {{
      const wide = e.closest(".wide"), before = e.getBoundingClientRect().left;
      wide.scrollLeft = 50;
      const after = e.getBoundingClientRect().left;
      wide.scrollLeft = 0;
      return Math.abs(after - before);
    }}),
  }});
}};
f.src = "{name}";
</script>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Serve pages of several runs from this machine."""
    folder = tmp_path_factory.mktemp("site")
    few = demo_table(900)[["sex", "race", "income", "relationship"]]
    keys: dict[str, Any] = {"key_bits": 256, "insecure_test_keys": True}
    runs = {
        "paper": sottovoce.run(
            "dp-subn", few, mode="paper", seed=1, epsilon=8.0, classify=["income"], **keys
        ),
        "users": sottovoce.run("privincr", rows=2000, seed=4, epsilon=4.0),
        "label": sottovoce.run("clldp-decision-tree", rows=3000, seed=5, epsilon=6.0),
        "many": sottovoce.run(
            "one-way", rows=900, parties=9, seed=3, epsilon=2.0, aggregator="masks"
        ),
    }
    pages = {name: run.page() for name, run in runs.items()}
    pages["pictures"] = document("pictures", networks_with_long_names())
    pages["unaccounted"] = unaccounted_page(runs["many"].reported)
    plans = ["plan", "head-count", "--rows", "100", "--page", str(folder / "plan.html")]
    assert CliRunner().invoke(app, plans).exit_code == 0
    pages["plan"] = (folder / "plan.html").read_text()
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page)
        for width in (360, 1100):
            (folder / f"measure-{name}-{width}.html").write_text(
                MEASURE.format(width=width, name=f"{name}.html")
            )
    (folder / "comparison.html").write_text(
        comparison_page(compare({name: run.reported for name, run in runs.items()}))
    )
    for width in (360, 1200):
        (folder / f"measure-comparison-{width}.html").write_text(
            MEASURE.format(width=width, name="comparison.html")
        )
    (folder / "wrong.html").write_text(
        "<!doctype html><title>x</title><p style='width: 700px'>a</p><img src='missing.png'>"
        "<script>console.error('broken')</script>"
    )
    (folder / "measure-wrong-360.html").write_text(MEASURE.format(width=360, name="wrong.html"))

    class Silent(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Silent, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(timeout=10)
    server.server_close()


def measured(base: str, name: str, profile: Path, *options: str) -> dict[str, Any]:
    document, _ = browse(f"{base}/measure-{name}.html", profile, "--dump-dom", *options)
    title = re.search("<title>(.*?)</title>", document)
    assert title is not None
    return dict(json.loads(title.group(1).replace("&quot;", '"').replace("&amp;", "&")))


def networks_with_long_names() -> str:
    """Draw networks whose frontier and names reach far."""
    names = [f"a long name of an attribute {letter}" for letter in "abcdefghij"]
    parents: dict[str, list[str]] = {name: [] for name in names}
    parents |= {f"child {number}": names[:2] for number in range(3)}
    frontier = [tuple(names[:2]), ("child 0", "child 1"), ("child 1", names[0])]
    chain = {f"n{number}": [f"n{place}" for place in range(number)] for number in range(8)}
    return "".join(
        [network(parents, frontier), network(chain, [("n0", "n7")]), networks([parents] * 5)]
    )


def unaccounted_page(run: ReportedRun) -> str:
    """Write the page of a run with long names of messages that no release covers."""
    messages = [
        Unaccounted(party=party, kind=f"{'VeryLong' * 9}{kind}", messages=1000, reason="x" * 90)
        for party in range(1, 10)
        for kind in range(9)
    ]
    seen = dict.fromkeys(run.report.privacy.coalitions, inf)
    privacy = msgspec.structs.replace(
        run.report.privacy,
        not_accounted=messages,
        epsilon=dict.fromkeys(run.report.privacy.epsilon, inf),
        coalitions=seen,
    )
    return run_page(ReportedRun(report=msgspec.structs.replace(run.report, privacy=privacy)))


NAMES = ("paper", "users", "label", "many", "unaccounted", "comparison", "plan")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_said_on_the_console_and_nothing_is_fetched(
    site: tuple[Path, str], name: str, tmp_path: Path
) -> None:
    net = tmp_path / "net.json"
    document, log = browse(
        f"{site[1]}/{name}.html", tmp_path / "p", "--dump-dom", f"--log-net-log={net}"
    )
    assert "</main>" in document
    assert "CONSOLE" not in log
    assert asked(net) == [f"{site[1]}/{name}.html"]


def test_the_browser_tells_of_what_is_wrong(site: tuple[Path, str], tmp_path: Path) -> None:
    net = tmp_path / "net.json"
    _, log = browse(f"{site[1]}/wrong.html", tmp_path / "p", "--dump-dom", f"--log-net-log={net}")
    assert "CONSOLE" in log
    assert f"{site[1]}/missing.png" in asked(net)
    measures = measured(site[1], "wrong-360", tmp_path / "q")
    assert measures["width"] > 360
    assert measures["wide"] == ["P."]


def asked(net: Path) -> list[str]:
    """List what pages made the browser ask for."""
    events = json.loads(net.read_text())["events"]
    # Requests have a method; what else names an address are connections, and the browser's own
    # errands.
    urls = [
        event["params"]["url"]
        for event in events
        if {"url", "method"} <= event.get("params", {}).keys()
    ]
    return list(
        dict.fromkeys(url for url in urls if not re.search(r"//[^/]*(google|gvt1)[^/]*/", url))
    )


@pytest.mark.parametrize("name", NAMES)
def test_it_fits_a_phone(site: tuple[Path, str], name: str, tmp_path: Path) -> None:
    measures = measured(site[1], f"{name}-360", tmp_path / "p")
    assert measures["width"] == 360
    assert measures["wide"] == []
    assert measures["small"] == 0


@pytest.mark.parametrize("name", ["paper", "users", "label", "many", "pictures"])
def test_pictures_stay_in_their_frames(site: tuple[Path, str], name: str, tmp_path: Path) -> None:
    assert measured(site[1], f"{name}-1100", tmp_path / "p")["outside"] == []


def test_quality_comes_before_cost_and_cost_before_messages(
    site: tuple[Path, str], tmp_path: Path
) -> None:
    order = measured(site[1], "paper-1100", tmp_path / "p")["order"]
    assert order[:4] == ["privacy", "utility", "cost", "conversation"]
    assert measured(site[1], "comparison-1200", tmp_path / "q")["order"][:2] == ["utility", "cost"]


def test_the_table_of_a_comparison_fits_a_screen(site: tuple[Path, str], tmp_path: Path) -> None:
    measures = measured(site[1], "comparison-1200", tmp_path / "p")
    assert measures["width"] == 1200
    assert measures["scrolled"] == []


@pytest.mark.parametrize("name", ["paper", "users", "many", "comparison", "pictures", "plan"])
def test_pictures_are_readable_on_a_phone(
    site: tuple[Path, str], name: str, tmp_path: Path
) -> None:
    """Charts are scrolled and not made small, and the diagram of messages fits."""
    measures = measured(site[1], f"{name}-360", tmp_path / "p")
    assert measures["unreadable"] == []
    assert "Sequence diagram of the messages" not in measures["scrolled"]


def test_the_diagram_of_a_screen_has_a_column_for_each_party(
    site: tuple[Path, str], tmp_path: Path
) -> None:
    shown = {}
    for width in (360, 1100):
        shown[width] = measured(site[1], f"paper-{width}", tmp_path / f"q{width}")["roles"]
    assert shown == {
        360: ["curator", "parties 1 to 3"],
        1100: ["curator", "party 1", "party 2", "party 3"],
    }


def test_names_of_rows_stay_where_tables_are_scrolled(
    site: tuple[Path, str], tmp_path: Path
) -> None:
    measures = measured(site[1], "comparison-360", tmp_path / "p")
    assert measures["scrolled"]
    assert max(measures["first"]) < 1


def test_it_is_light_and_dark(site: tuple[Path, str], tmp_path: Path) -> None:
    light = measured(
        site[1], "paper-1100", tmp_path / "p", "--blink-settings=preferredColorScheme=1"
    )
    dark = measured(
        site[1], "paper-1100", tmp_path / "q", "--blink-settings=preferredColorScheme=0"
    )
    assert (light["paper"], dark["paper"]) == ("rgb(255, 255, 255)", "rgb(21, 24, 27)")
    assert (light["ink"], dark["ink"]) == ("rgb(26, 28, 30)", "rgb(230, 232, 234)")
    assert light["width"] == 1100


def test_the_banner_is_seen_without_scrolling(site: tuple[Path, str], tmp_path: Path) -> None:
    colours = set()
    for theme in (0, 1):
        options = f"--blink-settings=preferredColorScheme={theme}"
        measures = measured(site[1], "unaccounted-360", tmp_path / f"p{theme}", options)
        ((top, height, background, ink),) = measures["banner"]
        assert top < 300  # of a phone's 640
        assert height > 100
        colours.add((background, ink))
    assert colours == {
        ("rgb(154, 27, 18)", "rgb(255, 255, 255)"),
        ("rgb(255, 157, 148)", "rgb(21, 24, 27)"),
    }
    assert measured(site[1], "many-360", tmp_path / "q")["banner"] == []


def test_something_is_drawn_and_printed(site: tuple[Path, str], tmp_path: Path) -> None:
    """Pixels in more than a few colours; and on paper what is folded on the screen."""
    browse(
        f"{site[1]}/paper.html",
        tmp_path / "p",
        "--window-size=1000,3000",
        f"--screenshot={tmp_path / 'shot.png'}",
    )
    assert len({*pixels(tmp_path / "shot.png")}) > 50
    pdf = tmp_path / "page.pdf"
    browse(f"{site[1]}/paper.html", tmp_path / "q", f"--print-to-pdf={pdf}")
    assert pdf.read_bytes().count(b"/Type /Page\n") >= 4


def pixels(path: Path) -> Iterator[bytes]:
    """Read a PNG of 8 bits a channel, as far as rows can be told apart without undoing their
    filters.
    """
    data, offset, packed = path.read_bytes(), 8, b""
    width, _, _, colours = struct.unpack(">IIBB", data[16:26])
    while offset < len(data):
        (size,) = struct.unpack(">I", data[offset : offset + 4])
        packed += (
            data[offset + 8 : offset + 8 + size]
            if data[offset + 4 : offset + 8] == b"IDAT"
            else b""
        )
        offset += 12 + size
    rows = zlib.decompress(packed)
    deep = {2: 3, 6: 4}[colours]
    for start in range(0, len(rows), 1 + width * deep):
        row = rows[start + 1 : start + 1 + width * deep]
        yield from (row[start : start + deep] for start in range(0, len(row), deep * 7))
