"""A thousand parties in one process: seconds, CPU, memory, messages and bytes by parties.

    python benchmarks/thousand_parties.py [PROTOCOL[:NAME=VALUE,...] ...] [parties=10,100,300,1000]
                                          [data=FILE.csv]

The default are tables of single attributes (one-way) and of single attributes and pairs
(noisy-marginals), with masks. Every run is a process of its own, so that its peak of memory is its
own. A user could otherwise start a process for each party, of some 70 MB each. Messages stand
beside K log K, relative to the smallest run, and CPU time beside the number of parties.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from typing import Any

PROTOCOLS = ("one-way:aggregator=masks", "noisy-marginals:aggregator=masks")


def run_once(words: dict[str, Any]) -> dict[str, float]:
    """Run in this process, without a judge; called in a process of its own."""
    import sottovoce

    started, before = time.perf_counter(), time.process_time()
    done = sottovoce.run(
        words["protocol"], words["data"], parties=words["parties"], judge=False, **words["set"]
    )
    sent = done.report["communication"]
    lines = sent["predicted"] or []
    return {
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - before,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "messages": sent["messages"],
        "bytes": sent["frame_bytes"],
        "rounds": sent["rounds"],
        "right": all(
            (line["messages"], line["payload_bytes"])
            == (line["measured_messages"], line["measured_payload_bytes"])
            for line in lines
        ),
    }


def main() -> None:
    if sys.argv[1:2] == ["--once"]:
        print(json.dumps(run_once(json.loads(sys.argv[2]))))
        return
    options = dict(
        word.split("=", 1) for word in sys.argv[1:] if word.partition("=")[0] in ("parties", "data")
    )
    protocols = [
        word for word in sys.argv[1:] if word.partition("=")[0] not in ("parties", "data")
    ] or [*PROTOCOLS]
    counts = [int(count) for count in options.get("parties", "10,100,300,1000").split(",")]
    head = ("seconds", "CPU s", "MB", "messages", "of K log K", "rounds", "MB sent", "ms a party")
    for text in protocols:
        protocol, _, settings = text.partition(":")
        chosen = dict(word.split("=", 1) for word in settings.split(",") if word)
        print(f"{protocol} {settings}")
        print(f"{'K':>5}" + "".join(f"{name:>12}" for name in head), flush=True)
        first: tuple[int, dict[str, float]] | None = None
        for parties in counts:
            words = {
                "protocol": protocol,
                "data": options.get("data", "demo"),
                "parties": parties,
                "set": chosen,
            }
            answer = subprocess.run(
                [sys.executable, __file__, "--once", json.dumps(words)],
                check=True,
                capture_output=True,
                text=True,
                timeout=3600,
            )
            run = json.loads(answer.stdout)
            first = first or (parties, run)
            growth = parties * math.log2(parties) / (first[0] * math.log2(first[0]))
            print(
                f"{parties:>5}{run['seconds']:>12.1f}{run['cpu']:>12.1f}{run['memory']:>12,.0f}"
                f"{run['messages']:>12,}{run['messages'] / first[1]['messages'] / growth:>12.2f}"
                f"{run['rounds']:>12}{run['bytes'] / 1e6:>12.1f}"
                f"{1000 * run['cpu'] / parties:>12.1f}"
                f"{'' if run['right'] else '  NOT AS PREDICTED'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
