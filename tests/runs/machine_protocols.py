"""Protocols that do something to their machine by their records, or alike; and odd statistics."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import numpy as np
from leaky_protocols import Leaky, ages

from sottovoce import Party, laplace

LOG = logging.getLogger(__name__)
POOL = ThreadPoolExecutor(2)


def old(me: Party) -> int:
    """Count the people over 40."""
    return int((ages(me) > 40).sum())


class Sleeps(Leaky):
    """It sleeps as long as a count says."""

    name = "sleeps"

    def figure(self, me: Party) -> float:
        sleep(old(me) / 1e5)
        return 0.0


class SleepsIfMany(Leaky):
    """It sleeps for a public time, if there are enough old people."""

    name = "sleeps-if-many"

    def figure(self, me: Party) -> float:
        if old(me) > 10:
            time.sleep(0.001)
        return 0.0


class WaitsForAnEvent(Leaky):
    """The same by an event that nobody sets."""

    name = "waits-for-an-event"

    def figure(self, me: Party) -> float:
        threading.Event().wait(timeout=old(me) / 1e5)
        return 0.0


class SleepsAlike(Leaky):
    """An honest protocol that sleeps for a public time, and for a random one."""

    name = "sleeps-alike"

    def figure(self, me: Party) -> float:
        time.sleep(0.001)
        sleep(random.random() / 1e3)
        return 0.0


class PrintsInAThread(Leaky):
    """An exact count, which a thread prints."""

    name = "prints-in-a-thread"

    def figure(self, me: Party) -> float:
        thread = threading.Thread(target=print, args=(old(me),))
        thread.start()
        thread.join()
        return 0.0


class WritesInAPool(Leaky):
    """An exact count, which a thread of a pool writes that was there before."""

    name = "writes-in-a-pool"

    def figure(self, me: Party) -> float:
        count = old(me)
        POOL.submit(lambda: Path(f"count-{me.number}").write_text(str(count))).result()
        return 0.0


class CountsInAPool(Leaky):
    """An honest protocol whose threads count, write what is public, and print in any order."""

    name = "counts-in-a-pool"

    def figure(self, me: Party) -> float:
        def work(number: int) -> int:
            Path(f"public-{me.number}-{number}").write_text("done")
            time.sleep(random.random() / 1e3)
            sys.stdout.write(f"part {number} is done\n")
            return int((ages(me) > number).sum())

        with ThreadPoolExecutor(4) as pool:
            assert len([*pool.map(work, range(20, 60, 10)), *POOL.map(work, range(2))]) == 6
        return 0.0


class Logs(Leaky):
    """An exact count in a log whose handler was there before."""

    name = "logs"

    def figure(self, me: Party) -> float:
        LOG.warning("%d people are old", old(me))
        return 0.0


class LogsAlike(Leaky):
    """An honest protocol that logs what is public, with the time of day."""

    name = "logs-alike"

    def figure(self, me: Party) -> float:
        LOG.warning("party %d counts", me.number)
        return 0.0


class PrintsTheTime(Leaky):
    """An honest protocol whose lines differ in each replay."""

    name = "prints-the-time"

    def figure(self, me: Party) -> float:
        sys.stdout.write(f"{time.perf_counter()}\n")
        return 0.0


class RunsAProgram(Leaky):
    """An exact count among the arguments of a program."""

    name = "runs-a-program"

    def figure(self, me: Party) -> float:
        subprocess.run(["echo", str(old(me))], check=True)
        return 0.0


class RunsTheShell(Leaky):
    """The same by the shell."""

    name = "runs-the-shell"

    def figure(self, me: Party) -> float:
        os.system(f"echo {old(me)}")
        return 0.0


class RunsAlike(Leaky):
    """A program that is the same on all records."""

    name = "runs-alike"

    def figure(self, me: Party) -> float:
        subprocess.run(["true"], check=True)
        return 0.0


class Links(Leaky):
    """A link whose target has a count."""

    name = "links"

    def figure(self, me: Party) -> float:
        link = Path(f"latest-{me.number}")
        link.unlink(missing_ok=True)
        link.symlink_to(f"run-{old(me)}")
        return 0.0


class RemovesAFlag(Leaky):
    """A file that it removes if there are old people."""

    name = "removes-a-flag"

    def figure(self, me: Party) -> float:
        if old(me):
            Path(f"flag-{me.number}").unlink(missing_ok=True)
        return 0.0


class MarksAFile(Leaky):
    """A file whose time is a count."""

    name = "marks-a-file"

    def figure(self, me: Party) -> float:
        path = Path(f"mark-{me.number}")
        path.write_text("")
        os.utime(path, (old(me), old(me)))
        return 0.0


class Moves(Leaky):
    """It works in a folder by its records."""

    name = "moves"

    def figure(self, me: Party) -> float:
        with contextlib.chdir("many" if old(me) > 10 else "few"):
            return 0.0


class MovesAlike(Leaky):
    """An honest protocol that writes in another folder for a while."""

    name = "moves-alike"

    def figure(self, me: Party) -> float:
        home = Path.cwd()
        with contextlib.chdir("many"):
            Path(f"public-{me.number}").write_text("1")
            assert Path.cwd() == home / "many"
            assert Path(f"public-{me.number}").exists()
            assert f"public-{me.number}" in [path.name for path in Path().iterdir()]
        assert Path.cwd() == home
        return float(Path(f"many/public-{me.number}").read_text())


class SendsADatagram(Leaky):
    """An exact count past all messages."""

    name = "sends-a-datagram"

    def figure(self, me: Party) -> float:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(str(old(me)).encode(), ("127.0.0.1", 9))
        return 0.0


class SavesAnArray(Leaky):
    """All ages in a file: NumPy asks the array of exact numbers how to save it."""

    name = "saves-an-array"

    def figure(self, me: Party) -> float:
        np.save(f"ages-{me.number}", me.records.column("age").astype(float))
        return 0.0


class Spills(Leaky):
    """An honest protocol that keeps its table in a folder that it removes."""

    name = "spills"

    def figure(self, me: Party) -> float:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ages.npy"
            np.save(path, me.records.column("age").astype(float))
            assert len(np.load(path)) == len(me.records)
        return 0.0


class CallsAtTheEnd(Leaky):
    """A count that is printed when the program ends."""

    name = "calls-at-the-end"

    def figure(self, me: Party) -> float:
        count = old(me)
        atexit.register(lambda: count)
        return 0.0


class EpsilonByRows(Leaky):
    """A party of few people has less epsilon."""

    name = "epsilon-by-rows"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            epsilon = min(1.0, len(me.records) / 40)
            count = me.release(laplace(len(me.records), sensitivity=1, epsilon=epsilon), to=0)
            me.send(self.Count(value=count), to=0)
            self.leak(me)


class MiddleHalf(Leaky):
    """The mean of the middle half, which one record of hundreds hardly changes."""

    name = "middle-half"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            middle = np.sort(ages(me))[len(me.records) // 4 : 3 * len(me.records) // 4]
            mean = int(middle.mean()) if len(middle) else 0
            count = me.release(laplace(mean, sensitivity=1, epsilon=1.0), to=0)
            me.send(self.Count(value=count), to=0)
            self.leak(me)


class NamesRarePeople(Leaky):
    """How many people there are of three rare labels at once, and of an age."""

    name = "names-rare-people"

    def figure(self, me: Party) -> float:
        column = me.records.column
        rare = (column("education") == "Preschool") & (column("race") == "Other")
        rare &= np.array([text.startswith("Never-m") for text in column("marital-status")])
        return float((rare & (ages(me) > 86)).sum())


class SumOfRarePeople(Leaky):
    """Such people with the sensitivity of one, each counted for three."""

    name = "sum-of-rare-people"

    def party(self, me: Party) -> None:
        column = me.records.column
        rare = (column("education") == "Doctorate") & (column("race") == "Black")
        rare &= (column("marital-status") == "Widowed") & (ages(me) > 87)
        with me.phase("count"):
            three = 3 * int(rare.sum())
            count = me.release(laplace(three, sensitivity=1, epsilon=1.0), to=0)
            me.send(self.Count(value=count), to=0)
            self.leak(me)
