"""A second opinion: SimGrid's model of a network, and ours, beside runs between namespaces.

    python benchmarks/second_opinion.py export FOLDER TRACES    # of the runs of validation.py
    /usr/bin/python3 benchmarks/second_opinion.py simulate TRACES    # with SimGrid

The first command writes the happens-before graph of each run: what every role computed, sent and
received, in its order, and what our replay predicts. The second one follows it in SimGrid, with its
flow model of TCP (LV08, the default), and prints how far both network parts are from the measured
one. Beside it stands what SimGrid says without its corrections of latency and bandwidth (CM02).

Debian's `python3-simgrid` is one that works, also unpacked beside the system (`dpkg-deb -x`) with
its libraries on LD_LIBRARY_PATH. The source distribution on the package index needs boost and takes
minutes to compile.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

UNLIMITED: Final = 4e9
"""Bits a second where bandwidth is not limited: what the relay passes on."""
MODELS: Final = ("LV08", "CM02")
END_BYTES: Final = 64
EVERYBODY_IS_THERE: Final = 1.0
"""Seconds after which all mailboxes have their receivers."""


def export(folder: Path, traces: Path) -> None:
    """Write a trace of each run, with what was measured and what our replay says."""
    from namespaces import network
    from validation import CASES, MAX_REPEATS, NETWORKS_OF, Cell

    from sottovoce.network import NETWORKS, parts_of
    from sottovoce.report.folder import read_ledger
    from sottovoce.report.replaying import replay_run, seconds_after
    from sottovoce.report.report import read_report

    traces.mkdir(parents=True, exist_ok=True)
    for parties, networks in NETWORKS_OF.items():
        for case in CASES:
            for delay, rate in networks:
                cell = Cell(case, parties, delay, rate)
                for repeat in range(1, MAX_REPEATS + 1):
                    run = folder / cell.name(repeat)
                    if not run.exists():
                        continue
                    report = read_report(run)
                    entries = read_ledger((run / "ledger.csv").read_bytes())
                    replayed, _ = replay_run(run, network(delay / 1e3, rate * 1e6))
                    computed = replay_run(run, NETWORKS["none"])[0].seconds
                    trace = {
                        "case": case,
                        "parties": parties,
                        "delay": delay / 1e3,
                        "rate": rate * 1e6,
                        "measured": report.seconds,
                        "computed": computed,
                        "replay": replayed.seconds,
                        "last": seconds_after(
                            entries, until=report.seconds - report.closing_seconds
                        ),
                        "parts": [
                            [
                                [step.computed, step.sent, step.peer, step.size, step.read]
                                for step in part
                            ]
                            for part in parts_of(entries, parties=parties)
                        ],
                    }
                    (traces / f"{cell.name(repeat)}.json").write_text(json.dumps(trace))


def follow(path: Path, model: str) -> float:
    """Give the seconds of a trace in SimGrid; it simulates once in a process."""
    import simgrid

    trace = json.loads(path.read_text())
    parts = [with_end(trace, rank) for rank in range(len(trace["parts"]))]
    engine = simgrid.Engine(["simgrid", f"--cfg=network/model:{model}", "--log=root.thres:error"])
    zone = simgrid.NetZone.create_full_zone("net")
    rate = trace["rate"] or UNLIMITED
    hosts = [zone.create_host(f"host{rank}", 1.0) for rank in range(len(parts))]
    uplinks = [zone.create_link(f"uplink{rank}", rate / 8).seal() for rank in range(len(parts))]
    for source, target in itertools.permutations(range(len(parts)), 2):
        across = zone.create_link(f"{source}-{target}", UNLIMITED / 8)
        across = across.set_latency(trace["delay"]).seal()
        links = [simgrid.LinkInRoute(uplinks[source]), simgrid.LinkInRoute(across)]
        ends = hosts[source].netpoint, hosts[target].netpoint
        zone.add_route(*ends, None, None, links, False)  # noqa: FBT003 - in one direction
    zone.seal()
    ended: dict[int, float] = {}

    def play(rank: int) -> None:
        # With a receiver of its own, a mailbox lets frames leave before they are asked for.
        for peer in range(len(parts)):
            mailbox(peer, rank).set_receiver(simgrid.Actor.self())
        simgrid.this_actor.sleep_for(EVERYBODY_IS_THERE)
        for computed, sent, peer, size, read in parts[rank]:
            if computed:
                simgrid.this_actor.sleep_for(computed)
            if sent:
                mailbox(rank, peer).put_init("frame", max(1, size)).detach()
            else:
                mailbox(peer, rank).get()
            if read:
                simgrid.this_actor.sleep_for(read)
        ended[rank] = engine.clock

    def mailbox(sender: int, receiver: int) -> Any:
        return simgrid.Mailbox.by_name(f"{sender}>{receiver}")

    for rank, host in enumerate(hosts):
        simgrid.Actor.create(f"role{rank}", host, play, rank)
    engine.run()
    return ended[0] - EVERYBODY_IS_THERE


def with_end(trace: dict[str, Any], rank: int) -> list[list[Any]]:
    """Add the frames that end a role's part, as `network.replay` does."""
    part, parties = [*trace["parts"][rank]], range(1, len(trace["parts"]))
    if rank:
        return [*part, [0.0, True, 0, END_BYTES, 0.0]]
    ends = [[trace["last"] if party == 1 else 0, True, party, END_BYTES, 0] for party in parties]
    return [*part, *ends, *([0.0, False, party, END_BYTES, 0.0] for party in parties)]


def simulate(traces: Path) -> None:
    """Print the errors of the network parts, by case and in all, as Markdown."""
    errors: dict[str, list[list[float]]] = {}
    for path in sorted(traces.glob("*.json")):
        trace = json.loads(path.read_text())
        measured = trace["measured"] - trace["computed"]
        if measured <= 0:
            continue
        predicted = [trace["replay"]]
        for model in MODELS:
            command = [sys.executable, __file__, "follow", str(path), model]
            answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
            predicted.append(float(answer.stdout.split()[-1]))
        ours = [(seconds - trace["computed"]) / measured - 1 for seconds in predicted]
        delay = "10 ms" if trace["delay"] < 0.05 else "50 and 100 ms"
        errors.setdefault(f"{trace['case']}, {delay}", []).append(ours)
        print(path.stem, *(f"{error:+.1%}" for error in ours), file=sys.stderr)
    errors["all"] = [each for rows in errors.values() for each in rows]
    print("| runs | number | our replay | SimGrid | SimGrid, no corrections |")
    print("|" + " --- |" * 5)
    for name, rows in errors.items():
        sizes = [[*map(abs, column)] for column in zip(*rows, strict=True)]
        texts = [
            f"{100 * statistics.median(each):.1f} %, {100 * max(each):.0f} %" for each in sizes
        ]
        print(f"| {name} | {len(rows)} | {' | '.join(texts)} |")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["export", folder, traces]:
            export(Path(folder), Path(traces))
        case ["simulate", traces]:
            simulate(Path(traces))
        case ["follow", path, model]:
            print(follow(Path(path), model))
        case _:
            sys.exit(__doc__)
