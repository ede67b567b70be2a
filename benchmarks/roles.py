"""Start-up and time of a message with 4 to 32 roles on one machine, relative to their number.

    python benchmarks/roles.py

Each size is run three times, and the median is taken. All ranks share the cores.
"""

import statistics
import sys
import time

import sottovoce

SIZES = (4, 8, 16, 32)


def main() -> None:
    first: tuple[float, float] | None = None
    print(
        f"{'roles':>6} {'whole run':>10} {'start-up':>10} {'a message':>12}   "
        "relative to 4 roles, per role"
    )
    for roles in SIZES:
        wholes, messages = [], []
        for _ in range(3):
            started = time.perf_counter()
            run = sottovoce.run(
                "chatter:Chatter", parties=roles - 1, rows=roles * 4, transport="mpi", seed=1
            )
            wholes.append(time.perf_counter() - started - run.report["phases"][0]["seconds"])
            messages.append(
                run.report["phases"][0]["seconds"] / run.report["communication"]["messages"]
            )
        startup, message = statistics.median(wholes), statistics.median(messages)
        first = first or (startup, message)
        growth = roles / SIZES[0]
        print(
            f"{roles:>6} {startup + message:>8.2f} s {startup:>8.2f} s {message * 1e6:>9.0f} us   "
            f"start-up {startup / first[0] / growth:.2f}, message {message / first[1] / growth:.2f}"
        )


if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0])
    import os

    os.chdir(__file__.rpartition("/")[0] or ".")  # ranks find chatter.py in the current folder
    main()
