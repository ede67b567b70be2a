"""The live view: a page on this machine, with a token, that shows what the terminal shows."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browser import CHROMIUM, browse

from sottovoce.messages import Position
from sottovoce.report.live import LiveView
from sottovoce.report.pages.live_page import live_page
from sottovoce.report.progress import progress_rows

WORKING = Position("count", 2, "waits for Sum from party 2", 1200, 34, 0.0, 0.0)
SLOW = Position("<b>count</b>\x1b[2J", 1, "computes", 5, 7, 1.0, 4.0)


@pytest.fixture
def view() -> Iterator[LiveView]:
    made = LiveView("a run of <i>head-count</i>")
    yield made
    if made._ended_after is None:
        made.close()


def get(address: str, *, path: str | None = None, host: str | None = None) -> tuple[int, str]:
    """Fetch a page from where the address says, with another path or host if they are given."""
    parts = urlsplit(address)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    try:
        named = {"Host": parts.netloc if host is None else host}
        connection.request("GET", parts.path if path is None else path, headers=named)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def texts(html: str) -> str:
    """Leave out tags."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)).replace("\xa0", " "))


def test_it_shows_every_role(view: LiveView) -> None:
    status, page = get(view.address)
    assert status == 200
    assert "The roles are starting" in page
    view.show({0: WORKING, 1: SLOW})
    text = texts(get(view.address)[1])
    assert "the curator count 2 waits for Sum from party 2 1,200 34" in text
    assert "party 1" in text
    assert "sent 1,205 B" in text
    assert re.search(r"\d+ s \(25%\)", text)  # the time left
    assert 'http-equiv="refresh"' in page


def test_names_of_a_plug_in_are_text(view: LiveView) -> None:
    view.show({1: SLOW})
    page = get(view.address)[1]
    assert "<b>count" not in page
    assert "<i>head-count" not in page
    assert "\x1b" not in page
    assert "\\x1b[2J" in page


def test_only_whoever_has_the_token_reads_it(view: LiveView) -> None:
    token = urlsplit(view.address).path.strip("/")
    assert len(token) >= 43  # 256 bits
    wrong = f"{'A' if token[0] != 'A' else 'B'}{token[1:]}"
    for path in (
        "/",
        f"/{wrong}/",
        f"/{token}",
        f"/{token}/x",
        "/..",
        "/%C3%B6",
    ):
        assert get(view.address, path=path) == (404, ""), path
    for host in ("localhost", "evil.example", f"evil.example:{urlsplit(view.address).port}"):
        assert get(view.address, host=host) == (404, ""), host
    assert get(view.address)[0] == 200
    assert token not in repr(view)


def test_it_listens_on_this_machine_alone(view: LiveView) -> None:
    assert view._server.server_address[0] == "127.0.0.1"
    port = urlsplit(view.address).port
    assert port is not None
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=5):
        pass


def test_it_shows_no_more_than_the_terminal() -> None:
    """Every word of the page is the program's, or one that the terminal shows."""
    positions = {0: WORKING, 1: WORKING._replace(sent_bytes=987654)}
    rows = progress_rows(positions, elapsed=3.0)
    page = live_page("T", rows, phases={"count": 1.0}, elapsed=3.0, has_ended=False)
    empty = live_page("T", [], phases={}, elapsed=0.0, has_ended=False)
    shown = [f"{value:,}" if isinstance(value, int) else value for row in rows for value in row]
    program = """role phase step doing, or waiting for sent received left Where every role is
        Phases so far begun at seconds by all roles"""
    known = {word for text in (*shown, texts(empty), program) for word in text.split()}
    figures = {"3", "1", "2", "988,854", "68"}  # seconds, and sums over the roles
    assert {*texts(page).split()} - known <= figures


def test_it_ends_with_the_run(view: LiveView) -> None:
    view.show({0: WORKING})
    begun = get(view.address)[1]
    assert "The roles are at work" in begun
    closing = threading.Thread(target=view.close)
    closing.start()
    while view._ended_after is None:
        time.sleep(0.01)
    page = get(view.address)[1]  # an open page sees the end
    closing.join(timeout=60)
    assert "has ended" in page
    assert 'http-equiv="refresh"' not in page
    with pytest.raises(OSError):
        get(view.address)


def test_a_browser_that_leaves_is_no_error(
    view: LiveView, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    has_asked, has_left, is_over = (threading.Event() for _ in range(3))
    page, shutdown = view.page, view._server.shutdown_request

    def page_once_it_has_left() -> bytes:
        has_asked.set()
        assert has_left.wait(30)
        return page() * 1000

    def shutdown_and_tell(request: socket.socket | tuple[bytes, socket.socket]) -> None:
        shutdown(request)
        is_over.set()

    monkeypatch.setattr(view, "page", page_once_it_has_left)
    monkeypatch.setattr(view._server, "shutdown_request", shutdown_and_tell)
    split = urlsplit(view.address)
    with socket.create_connection((split.hostname, split.port), timeout=30) as connection:
        connection.sendall(f"GET {split.path} HTTP/1.1\r\nHost: {split.netloc}\r\n\r\n".encode())
        # With no time to linger, closing resets the connection.
        linger = (1).to_bytes(4, sys.byteorder) + (0).to_bytes(4, sys.byteorder)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        assert has_asked.wait(30)
    has_left.set()
    assert is_over.wait(30)
    monkeypatch.setattr(view, "page", page)
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_browser_follows_it_to_the_end(view: LiveView, tmp_path: Path) -> None:
    view.show({0: WORKING})

    def go_on() -> None:
        while not view._was_fetched:
            time.sleep(0.05)
        view.show({0: WORKING._replace(step=77)})
        view.close()

    other = threading.Thread(target=go_on)
    other.start()
    document, log = browse(view.address, tmp_path / "profile", "--dump-dom")
    other.join(timeout=60)
    assert "has ended" in document
    assert "77" in texts(document)
    assert "CONSOLE" not in log


def test_a_run_serves_it(tmp_path: Path) -> None:
    """The address is on standard error at once; the page has the roles of the run."""
    command = [sys.executable, "-m", "sottovoce", "run", "head-count", "--rows", "300"]
    options = ["--transport", "threads", "--live", "--out", str(tmp_path / "out")]
    pause = ["--fault", "party 1 pauses 3 s in count"]
    process = subprocess.Popen(
        [*command, *options, *pause], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        address = line.strip().removeprefix("sottovoce: live view at ")
        seen: list[str] = []
        while "waits for" not in "".join(seen[-1:]):
            seen.append(texts(get(address)[1]))
            time.sleep(0.05)
        assert "waits for" in seen[-1]
        output, errors = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, errors
    assert "written" in output
    assert address not in (tmp_path / "out" / "report.json").read_text()
