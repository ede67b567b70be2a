"""Chromium without a window, for tests of pages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

__all__ = ["CHROMIUM", "browse"]

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)

QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
)


def browse(url: str, profile: Path, *options: str) -> tuple[str, str]:
    """Open a page; its document as it is in the end, and what the browser logged."""
    command = [
        CHROMIUM or "chromium",
        *QUIET,
        f"--user-data-dir={profile}",
        "--enable-logging=stderr",
        "--virtual-time-budget=8000",
        *options,
    ]
    ran = subprocess.run([*command, url], capture_output=True, text=True, timeout=300, check=True)
    return ran.stdout, ran.stderr
