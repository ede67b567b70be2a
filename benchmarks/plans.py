"""Plans of a thousand parties, beside a run of twenty on a virtual network.

    python benchmarks/plans.py [CASE ...] [parties=1000] [run=20] [repeats=3] [limit=60]

Whoever wants to know what a protocol costs with many parties can also play few of them under the
clock of a simulated network (`sottovoce run --transport virtual`), and extrapolate by hand.
So the least processor time of some plans stands beside that of one such run, each as a whole
command, and the ratio of the two. A plan is made without a calibration and, where this machine has
one (`sottovoce calibrate`), with it. A run that takes longer than the limit, in seconds, is ended:
its ratio is a lower bound. A case is a protocol with its options, separated by semicolons:
`dp-subn:aggregator=masks;theta=3`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

from sottovoce.runs.calibration import read_calibration

CASES = (
    "head-count",
    "one-way:aggregator=masks",
    "one-way",
    "noisy-marginals:aggregator=masks",
    "noisy-marginals",
    "calm:columns=sex,income,race,age,education",
    "jtree",
    "mst:aggregator=masks",
    "dp-subn:aggregator=masks",
    "dp-subn",
    "dp-ccbn:aggregator=masks",
    "adaptive-pairs:aggregator=masks",
    "flaim",
    "independent",
    "privincr:columns=sex,income,race,age,education",
    "clldp-joint:columns=sex,income,race,age,education",
)
Options = Mapping[str, str]


def words_of(case: str) -> list[str]:
    """Give a case's protocol and options as words of a command."""
    protocol, _, options = case.partition(":")
    words = [protocol]
    for option in filter(None, options.split(";")):
        name, _, value = option.partition("=")
        words += ["--columns", value] if name == "columns" else ["--set", option]
    return words


def processor_seconds(
    words: Sequence[str], *, variables: Options, limit: float
) -> tuple[float, str]:
    """Give the processor time of a command and all its processes, and why it failed if it did."""
    before, reason = resource.getrusage(resource.RUSAGE_CHILDREN), ""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "sottovoce", *words]
        try:
            done = subprocess.run(
                command,
                check=False,
                capture_output=True,
                text=True,
                cwd=folder,
                env={**os.environ, **variables},
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            reason = "ended"
        else:
            if done.returncode:
                reason = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, reason


def main() -> None:
    options = dict(
        word.split("=", 1)
        for word in sys.argv[1:]
        if "=" in word and ":" not in word.partition("=")[0]
    )
    if unknown := options.keys() - {"parties", "run", "repeats", "limit"}:
        sys.exit(f"expected parties, run, repeats or limit, found {', '.join(sorted(unknown))}")
    cases = [word for word in sys.argv[1:] if word.partition("=")[0] not in options] or [*CASES]
    many, few = options.get("parties", "1000"), options.get("run", "20")
    repeats, limit = int(options.get("repeats", "3")), float(options.get("limit", "60"))
    head = ("plan s", "calibrated s", f"run of {few} s", "times")
    print(f"{'':<52}" + "".join(f"{name:>14}" for name in head), flush=True)
    for case in cases:
        words = [*words_of(case), "--network", "wan", "--seed", "1"]
        plan = ["plan", *words, "--parties", many, "--no-alternatives"]
        run = ["run", *words, "--parties", few, "--transport", "virtual", "--no-judge", "--quiet"]
        with tempfile.TemporaryDirectory() as empty:
            figures = [
                min(
                    (
                        processor_seconds(plan, variables=variables, limit=600)
                        for _ in range(repeats)
                    ),
                    key=lambda figure: (figure[1] != "", figure[0]),
                )
                for variables in ({"SOTTOVOCE_STATE": empty}, {})
                if "SOTTOVOCE_STATE" in variables or read_calibration() is not None
            ]
        played, reason = processor_seconds([*run, "--out", "out"], variables={}, limit=limit)
        seconds = figures[0][0]
        refusal = next((reason for _, reason in figures if reason), "")
        is_bound = reason == "ended"
        calibrated = f"{figures[1][0]:.2f}" if len(figures) > 1 else "-"
        print(
            f"{case:<52}{seconds:>14.2f}{calibrated:>14}"
            f"{('>' if is_bound else '') + format(played, '.1f'):>14}"
            f"{('>' if is_bound else '') + format(played / seconds, '.1f'):>14}"
            f"{'' if is_bound or not reason else '  run: ' + reason}"
            f"{'  plan: ' + refusal if refusal else ''}",
            flush=True,
        )


if __name__ == "__main__":
    main()
