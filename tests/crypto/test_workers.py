"""Threads for arithmetic: one unless more are asked for, and results in their order."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sottovoce.crypto.ciphertexts import Multiples
from sottovoce.crypto.identified_role import IdentifiedRole
from sottovoce.crypto.paillier import Encryptor, PrivateKey
from sottovoce.crypto.workers import map_in_threads


@pytest.mark.parametrize(
    "function", [IdentifiedRole.__init__, Encryptor.__init__, PrivateKey.decrypt, Multiples.of]
)
def test_one_thread_unless_more_are_asked_for(function: Callable[..., Any]) -> None:
    assert inspect.signature(function).parameters["workers"].default == 1


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("tasks", [0, 1, 3, 4, 6, 15, 16, 40])
def test_results_are_in_the_order_of_the_tasks(workers: int, tasks: int) -> None:
    """Threads begin where each of them has two tasks."""
    threads: set[int] = set()

    def compute(task: int) -> int:
        threads.add(threading.get_ident())
        return task * task

    assert map_in_threads(compute, range(tasks), workers=workers) == [n * n for n in range(tasks)]
    if workers == 1 or tasks < 2 * workers:
        assert threads <= {threading.get_ident()}
    else:
        assert threading.get_ident() not in threads
