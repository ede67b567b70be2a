"""Joint tables of several attributes at one epsilon, by how users report: PrivIncr's figure 3, and what it leaves out.

    python benchmarks/joint.py [FILE] [schema=FILE] [users=50000] [attributes=marital-status,relationship,sex,income] [SEEDS]

voue, vrappor   one unary encoding of all cells together: optimised, and basic one-time RAPPOR
oue+em, ...     a unary encoding of each attribute at epsilon / |A|, and expectation and maximisation of the reports
grr             direct encoding of the cell; `best` is what this project chooses for so many cells (`privacy.local.choice`)

Prints the total variation distance from the users' true table, after the nearest distribution where a table is noisy; a mean
over seeds, of which those that count all cells have twenty times as many. At the end, where another is better than VOUE by more
than three deviations of the difference: the paper has it "better in all cases" (spec E5).
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from sottovoce.crypto import UserWords
from sottovoce.curator.expectation import most_likely
from sottovoce.curator.projections import norm_sub
from sottovoce.parties import DEMO_SCHEMA, Records, blocks, infer, load, merge, read_schema
from sottovoce.parties.demo import demo_table
from sottovoce.privacy.local import DirectEncoding, OptimisedUnary, Randomizer, SymmetricUnary, best
from sottovoce.privacy.local.several import SeveralUnary

WHOLE = {"voue": OptimisedUnary, "vrappor": SymmetricUnary, "grr": DirectEncoding, "best": best}
APART = {"oue+em": OptimisedUnary, "rappor+em": SymmetricUnary}
MORE = 20
EPSILONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


def whole(randomizer: Randomizer, cells: Any, generator: np.random.Generator) -> Any:
    """Estimate a table of all cells from simulated counts, which have the law of reports."""
    counts = np.bincount(cells, minlength=randomizer.cells)
    return norm_sub(randomizer.estimate(randomizer.simulate(counts, generator), users=len(cells)))


def apart(several: SeveralUnary, values: list[Any], key: int) -> Any:
    """Estimate it from reports of each attribute."""
    reports = several.report(values, users=np.arange(len(values[0])), words=UserWords(key.to_bytes(16, "little")))
    return most_likely(several.likelihoods(reports)).table.reshape(-1)


def main() -> None:
    words = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    plain = [word for word in sys.argv[1:] if "=" not in word]
    seeds = int(plain.pop()) if plain and plain[-1].isdigit() else 3
    if plain:
        records = load(plain[0], schema=read_schema(words["schema"]) if "schema" in words else merge([infer(blocks(plain[0]))]))
    else:
        records = Records(demo_table(), schema=DEMO_SCHEMA)
    names = words.get("attributes", "marital-status,relationship,sex,income").split(",")
    users = int(words.get("users", 50_000))
    worse = []
    for number in range(2, len(names) + 1):
        chosen = names[:number]
        sizes = records.domain.shape(chosen)
        size = int(np.prod(sizes))
        print(f"{' x '.join(chosen)}: {size} cells, {users:,} users")
        print("  epsilon  " + "".join(f"{name:>11}" for name in (*WHOLE, *APART)))
        for epsilon in EPSILONS:
            found: dict[str, list[float]] = {name: [] for name in (*WHOLE, *APART)}
            for seed in range(seeds * MORE):
                generator = np.random.default_rng(seed)
                rows = generator.integers(0, len(records), users)
                values = [np.asarray(records.codes(name)).astype(np.int64)[rows] for name in chosen]
                cells = np.asarray(records.cells(chosen, rows))
                truth = np.bincount(cells, minlength=size) / users
                tables = {name: whole(kind(size, epsilon=epsilon), cells, generator) for name, kind in WHOLE.items()}
                for name, kind in APART.items() if seed < seeds else ():
                    tables[name] = apart(SeveralUnary(sizes, kind=kind, epsilon=epsilon), values, seed)
                for name, table in tables.items():
                    found[name].append(float(np.abs(table - truth).sum()) / 2)
            means = {name: float(np.mean(own)) for name, own in found.items()}
            print(f"  {epsilon:7g}  " + "".join(f"{mean:11.4f}" for mean in means.values()), flush=True)
            errors = {name: float(np.var(own)) / len(own) for name, own in found.items()}
            better = [
                name
                for name in means
                if name != "best" and means["voue"] - means[name] > 3 * np.sqrt(errors["voue"] + errors[name])
            ]
            if better:
                worse.append(f"{number} attributes at epsilon {epsilon:g}: {', '.join(better)}")
    print("VOUE is not the best:" if worse else "VOUE is the best in all of these cases", *worse, sep="\n  ")


if __name__ == "__main__":
    main()
