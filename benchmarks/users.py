"""Users by the million: from their values over MPI to the estimate, with 1, 2, 4 cohorts; and a
billion by counts.

    python benchmarks/users.py [USERS] [PROTOCOL] [EPSILON] [FILE] [schema=FILE]

Prints users a second of the phases in which reports are made, sent and counted (of PrivIncr's
rounds the planning too), of the whole conversation, bytes on the wire beside the users' bits,
whether the ledger's bits are the formula's, and the largest rank's memory so far.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import sottovoce


def main() -> None:
    more: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    users, protocol = (
        int(float(words[0])) if words else 2_000_000,
        words[1] if len(words) > 1 else "calm",
    )
    epsilon, data = (
        float(words[2]) if len(words) > 2 else 1.0,
        words[3] if len(words) > 3 else "demo",
    )
    more |= {} if protocol == "fourier" else {"rows": None}
    print(f"{protocol}, epsilon {epsilon:g}, {users:,} users drawn from {data}")
    first = 0.0
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
            **more,
        )
        exchanged, phases = (
            run.report["communication"],
            {own["name"]: own["seconds"] for own in run.report["phases"]},
        )
        said, wire = exchanged["users"], exchanged["by_kind"]["Reports"]["payload_bytes"]
        speed = users / (
            phases.get("reports")
            or sum(own for name, own in phases.items() if name.startswith("round "))
        )
        first = first or speed
        print(
            f"{cohorts} cohorts: {speed:12,.0f} users/s in reports ({speed / first:.2f} times one), "
            f"{users / run.report['seconds']:10,.0f} in all ({run.report['seconds']:.1f} s); "
            f"{exchanged['per_user_bits']:.2f} bits a user, {8 * wire / users:.2f} on the wire; "
            f"at most {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MiB a rank; "
            f"ledger {'equals' if said['measured_bits'] == said['bits'] else 'IS NOT'} formula",
            flush=True,
        )
    for many in (users, 1_000_000_000):
        started = time.perf_counter()
        run = sottovoce.run(
            protocol,
            data,
            epsilon=epsilon,
            users=many,
            simulate="counts",
            seed=1,
            judge=False,
            parties=1,
            **more,
        )
        print(
            f"counts: {many:,} users in {run.report['seconds']:.2f} s ({time.perf_counter() - started:.2f} with start-up)"
        )


if __name__ == "__main__":
    main()
