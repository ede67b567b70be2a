"""DP-SUBN and its baselines by number of parties and aggregator: bytes, rounds, seconds, error.

    python benchmarks/family.py [FILE] [schema=FILE] [parties=2,3,5,10] [epsilon=0.8]
                                [attributes=original|binary] [protocols=dp-subn,dp-ccbn-oneshot,...]
                                [aggregators=paillier,masks,clear] [delta=0]

The default is the demo table. All roles are threads of this process. Keys have 3072 bits, and there
is one seed. Bytes are payload of each party, by phase. The ratios at the end are to dp-subn with
the same number of parties and the same aggregator.
"""

from __future__ import annotations

import sys
from typing import Any

import sottovoce

FAMILY: dict[str, tuple[str, dict[str, Any]]] = {
    "dp-subn": ("dp-subn", {}),
    "dp-subn-printed": ("dp-subn", {"mode": "paper"}),
    "dp-ccbn": ("dp-ccbn", {}),
    "dp-ccbn-oneshot": ("dp-ccbn", {"search": "oneshot"}),
    "independent": ("independent", {}),
    "one-way": ("one-way", {}),
    "dist-diff-gen": ("dist-diff-gen", {}),  # two parties
}
ATTRIBUTES = ("dp-subn", "dp-ccbn", "independent")


def main() -> None:
    words = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    data = next((word for word in sys.argv[1:] if "=" not in word), "demo")
    schema = {"schema": words["schema"]} if "schema" in words else {}
    titles = words.get(
        "protocols", "dp-subn,dp-subn-printed,dp-ccbn-oneshot,dp-ccbn,independent,one-way"
    ).split(",")
    aggregators = words.get("aggregators", "paillier,masks,clear").split(",")
    sent: dict[tuple[str, int, str], tuple[int, int, float, float]] = {}
    for parties in map(int, words.get("parties", "2,3,5,10").split(",")):
        for title in titles:
            protocol, settings = FAMILY[title]
            # Pure epsilon, unless delta= says more.
            parameters: dict[str, Any] = {"delta": float(words.get("delta", 0)), **settings}
            if protocol in ATTRIBUTES and "attributes" in words:
                parameters["attributes"] = words["attributes"]
            for aggregator in aggregators:
                if protocol == "independent" and aggregator != aggregators[0]:
                    continue  # it sends nothing that must be hidden
                if parameters.get("mode") == "paper" and aggregator != "paillier":
                    continue  # noise replacement is under encryption
                if protocol != "independent":
                    parameters["aggregator"] = aggregator
                run = sottovoce.run(
                    protocol,
                    data,
                    parties=parties,
                    epsilon=float(words.get("epsilon", 0.8)),
                    seed=1,
                    **schema,
                    **parameters,
                )
                report = run.report
                exchanged, tvd, privacy = (
                    report["communication"],
                    run.judgement["utility"]["tvd"],
                    report["privacy"]["epsilon"],
                )
                figures = (
                    exchanged["payload_bytes"],
                    exchanged["rounds"],
                    report["seconds"],
                    tvd["2"],
                )
                sent[title, parties, aggregator] = figures
                by_phase = " ".join(
                    f"{name} {sums['payload_bytes'] / parties:,.0f}"
                    for name, sums in exchanged["by_phase"].items()
                )
                print(
                    f"K={parties:<2} {title:<16} {aggregator:<8} "
                    f"{figures[0]:13,} bytes {figures[1]:4} rounds {figures[2]:8.1f} s  "
                    f"2-way {tvd['2']:.4f} 3-way {tvd['3']:.4f}  "
                    f"epsilon for the curator {float(privacy['curator']):.3g}, "
                    f"for a party {float(privacy['other_party']):.3g}\n"
                    f"     bytes a party: {by_phase}",
                    flush=True,
                )
    print("\ntimes dp-subn's bytes, rounds, seconds, 2-way distance")
    for (title, parties, aggregator), figures in sent.items():
        ours = sent.get(("dp-subn", parties, aggregator))
        if title != "dp-subn" and ours is not None:
            ratios = "  ".join(
                f"{figure / dp_subn_figure:8.2f}"
                for figure, dp_subn_figure in zip(figures, ours, strict=True)
            )
            print(f"K={parties:<2} {title:<16} {aggregator:<8} {ratios}")


if __name__ == "__main__":
    main()
