"""4 to 32 roles on one machine: does start-up, or the time of a message, grow faster than the
number of roles?

Run as `python benchmarks/roles.py`. Each size is run three times and the middle value taken; 32
ranks share the cores.
"""

import statistics
import sys
import time

import sottovoce

SIZES = (4, 8, 16, 32)


def main() -> None:
    base: tuple[float, float] | None = None
    print(
        f"{'roles':>6} {'whole run':>10} {'start-up':>10} {'a message':>12}   relative to 4 roles, per role"
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
        startup, one = statistics.median(wholes), statistics.median(messages)
        base = base or (startup, one)
        growth = roles / SIZES[0]
        print(
            f"{roles:>6} {startup + one:>8.2f} s {startup:>8.2f} s {one * 1e6:>9.0f} us   "
            f"start-up {startup / base[0] / growth:.2f}, message {one / base[1] / growth:.2f}"
        )


if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0])
    import os

    os.chdir(__file__.rpartition("/")[0] or ".")  # ranks find chatter.py in the current folder
    main()
