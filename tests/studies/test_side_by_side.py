"""Processes that compute cells side by side end without a word, at any moment."""

from __future__ import annotations

import subprocess
import sys

import pytest

ENDING = """
import os, signal, sys
from pathlib import Path

from sottovoce.studies import side_by_side


class Closed:
    send = None

    def recv(self):
        sys.settrace(signalled)
        raise EOFError


def signalled(frame, event, argument):
    if frame.f_code.co_name == "__exit__":
        sys.settrace(None)
        os.kill(os.getpid(), signal.{name})


side_by_side._work(Closed(), None, Path())
"""
"""A worker whose connection is closed, and which gets a signal while it handles that."""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_worker_ends_without_a_word_for_two_reasons_at_once(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING.replace("{name}", name)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
