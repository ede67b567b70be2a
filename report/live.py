"""A live view of a run: a page on this machine, for whoever knows its address.

The server listens on 127.0.0.1 alone. Every address but one, which has a random token of 256 bits,
is unknown to it, so that other users of the machine cannot read the page. A request that names
another host is refused, so no page of another site can read it by a name that it points to this
machine. It has the positions of the roles, which the launcher has for the terminal's progress.
"""

from __future__ import annotations

import contextlib
import hmac
import http.server
import secrets
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from .pages.live_page import live_page
from .progress import Progress, progress_rows

if TYPE_CHECKING:
    from ..messages import Position

__all__ = ["LiveProgress", "LiveView"]

LAST_LOOK: Final = 2.5
"""Seconds that a view waits for an open page to fetch its last state."""
HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class LiveView:
    """Serves the page of one run until it is closed."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._token = secrets.token_urlsafe(32)
        self._start = time.monotonic()
        self._positions: dict[int, Position] = {}
        self._phases: dict[str, float] = {}
        self._ended_after: float | None = None
        self._was_fetched = False
        self._last_fetched = threading.Event()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="live view", daemon=True
        )
        self._thread.start()

    @property
    def host(self) -> str:
        """The host and port that a request must name."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def address(self) -> str:
        """The page's address, which is a secret."""
        return f"http://{self.host}/{self._token}/"

    def show(self, positions: Mapping[int, Position]) -> None:
        """Take the positions by rank."""
        elapsed = self._elapsed
        self._positions = dict(positions)
        for _, position in sorted(self._positions.items()):
            if position.phase:
                self._phases.setdefault(position.phase, elapsed)

    def close(self) -> None:
        """Show that the run has ended, to a page that is open, and stop serving."""
        self._ended_after = self._elapsed
        if self._was_fetched:
            self._last_fetched.wait(LAST_LOOK)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def page(self) -> bytes:
        """Write the page as it is now."""
        has_ended, elapsed = self._ended_after is not None, self._elapsed
        text = live_page(
            self._title,
            progress_rows(self._positions, elapsed=elapsed),
            phases=dict(self._phases),
            elapsed=elapsed,
            has_ended=has_ended,
        )
        self._was_fetched = True
        if has_ended:
            self._last_fetched.set()
        return text.encode()

    def knows(self, path: str) -> bool:
        """Tell whether a request's path is that of the page, in the same time for every path."""
        return hmac.compare_digest(path.encode(), f"/{self._token}/".encode())

    @property
    def _elapsed(self) -> float:
        if self._ended_after is not None:
            return self._ended_after
        return time.monotonic() - self._start


def _handler(view: LiveView) -> type[http.server.BaseHTTPRequestHandler]:
    """Make the class that answers requests to a view."""

    class Handler(http.server.BaseHTTPRequestHandler):
        server_version, sys_version = "sottovoce", ""

        def handle(self) -> None:
            """Answer requests until the browser leaves, which it may do at any time."""
            with contextlib.suppress(ConnectionError):
                super().handle()

        def do_GET(self) -> None:
            """Answer with the page, or with nothing."""
            is_known = self.headers.get("Host") == view.host and view.knows(self.path)
            body = view.page() if is_known else b""
            self.send_response(200 if is_known else 404)
            for name, value in HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Write nothing on the terminal."""

    return Handler


class LiveProgress(Progress):
    """Shows the positions of every role on the terminal, and on a page."""

    def __init__(self, *, shown: bool, view: LiveView) -> None:
        super().__init__(shown=shown)
        self._view = view

    def show(self, positions: Mapping[int, Position]) -> None:
        """Draw the positions by rank."""
        self._view.show(positions)
        super().show(positions)

    def close(self) -> None:
        """Leave the terminal as it was, and end the view."""
        super().close()
        self._view.close()
