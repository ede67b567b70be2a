"""Millions of users over MPI with 1, 2 and 4 cohorts, and a billion users by drawn counts.

    python benchmarks/users.py [USERS] [PROTOCOL] [EPSILON] [FILE] [schema=FILE]

The script prints users a second in the phases in which reports are made, sent and counted (with
PrivIncr's planning), and in the whole run. It compares bytes on the wire with the users' bits and
the ledger with the formula. It also prints the memory of the largest rank so far.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import sottovoce


def main() -> None:
    options: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    users, protocol = (
        int(float(words[0])) if words else 2_000_000,
        words[1] if len(words) > 1 else "calm",
    )
    epsilon, data = (
        float(words[2]) if len(words) > 2 else 1.0,
        words[3] if len(words) > 3 else "demo",
    )
    options |= {} if protocol == "fourier" else {"rows": None}
    print(f"{protocol}, epsilon {epsilon:g}, {users:,} users drawn from {data}")
    first_speed = 0.0
    for cohorts in (1, 2, 4):
        run = sottovoce.run(
            protocol,
            data,
            parties=cohorts,
            epsilon=epsilon,
            users=users,
            seed=1,
            transport="mpi",
            judge=False,
            **options,
        )
        exchanged, phases = (
            run.report["communication"],
            {phase["name"]: phase["seconds"] for phase in run.report["phases"]},
        )
        is_equal = exchanged["users"]["measured_bits"] == exchanged["users"]["bits"]
        speed = users / (
            phases.get("reports")
            or sum(seconds for name, seconds in phases.items() if name.startswith("round "))
        )
        first_speed = first_speed or speed
        print(
            f"{cohorts} cohorts: {speed:12,.0f} users/s in reports "
            f"({speed / first_speed:.2f} times one), "
            f"{users / run.report['seconds']:10,.0f} in all ({run.report['seconds']:.1f} s); "
            f"{exchanged['per_user_bits']:.2f} bits a user, "
            f"{8 * exchanged['by_kind']['Reports']['payload_bytes'] / users:.2f} on the wire; "
            f"at most {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MiB a rank; "
            f"ledger {'equals' if is_equal else 'IS NOT'} formula",
            flush=True,
        )
    for count in (users, 1_000_000_000):
        started = time.perf_counter()
        run = sottovoce.run(
            protocol,
            data,
            epsilon=epsilon,
            users=count,
            simulate="counts",
            seed=1,
            judge=False,
            parties=1,
            **options,
        )
        elapsed = time.perf_counter() - started
        print(
            f"counts: {count:,} users in {run.report['seconds']:.2f} s "
            f"({elapsed:.2f} with start-up)"
        )


if __name__ == "__main__":
    main()
