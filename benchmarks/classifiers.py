"""Classifiers learnt from published rows, beside those of AIM's rows and of real rows.

    python benchmarks/classifiers.py FILE... [seeds=1] [epsilon=0.4,1.6] [parties=1,3] [bins=16]
                                     [protocol=adaptive-pairs]

A fifth of the records is set apart. The protocols publish rows from the rest. For each attribute a
linear support vector machine learns from at most 8,000 of these rows whether the attribute has its
most frequent label, and is tested on the records that were set apart. The script prints the share
of wrong answers as a mean over attributes and seeds, and how much worse the worst attribute is than
with AIM of one trusted holder. Numbers with more values than bins are cut at quantiles, which are
taken as public here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from best_table import binned
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

import sottovoce

TRAINING_ROWS: Final = 8000
BASELINE: Final = "aim, 1"


def error_of(rows: pd.DataFrame, test: pd.DataFrame, *, attribute: str, label: str) -> float:
    """Learn from rows whether an attribute has the label; compute the share of wrong answers."""
    features = [name for name in test.columns if name != attribute]
    sample = rows.sample(min(len(rows), TRAINING_ROWS), random_state=0)
    wanted = (sample[attribute] == label).to_numpy()
    truth = (test[attribute] == label).to_numpy()
    if wanted.all() or not wanted.any():  # the rows have one class alone
        return float((truth != wanted[0]).mean())
    encoder = OneHotEncoder(handle_unknown="ignore").fit(sample[features])
    machine = LinearSVC(dual=False, max_iter=300).fit(encoder.transform(sample[features]), wanted)
    return float((machine.predict(encoder.transform(test[features])) != truth).mean())


def errors_of(rows: pd.DataFrame, train: pd.DataFrame, test: pd.DataFrame) -> list[float]:
    """Compute the error for each attribute, by its most frequent label among real records."""
    return [
        error_of(rows, test, attribute=name, label=train[name].mode()[0]) for name in train.columns
    ]


def published(protocol: str, train: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Run a protocol, and return the labels of its rows."""
    run = sottovoce.run(protocol, train, judge=False, aggregator="masks", labels=True, **options)
    assert run.synthetic is not None
    return run.synthetic.astype(str)


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    if not files:
        sys.exit("expected the path of a table, found none: name one or more CSV files")
    seeds, bins = int(settings.pop("seeds", 1)), int(settings.pop("bins", 16))
    epsilons = [float(text) for text in settings.pop("epsilon", "0.4,1.6").split(",")]
    parties = [int(text) for text in settings.pop("parties", "1,3").split(",")]
    protocol = settings.pop("protocol", "adaptive-pairs")
    if settings:
        sys.exit(f"expected settings of this script, found {', '.join(settings)}")
    runs = [("aim", 1), *((protocol, count) for count in parties)]
    for file in files:
        table = binned(pd.read_csv(file), bins=bins)
        is_test = np.random.default_rng(0).random(len(table)) < 0.2
        train, test = table[~is_test].reset_index(drop=True), table[is_test]
        real = np.array(errors_of(train, train, test))
        print(f"{Path(file).name}: real rows {real.mean():.4f}", flush=True)
        for epsilon in epsilons:
            errors = {
                f"{name}, {count}": np.mean(
                    [
                        errors_of(
                            published(name, train, parties=count, epsilon=epsilon, seed=seed),
                            train,
                            test,
                        )
                        for seed in range(seeds)
                    ],
                    axis=0,
                )
                for name, count in runs
            }
            for title, values in errors.items():
                worst = float((values - errors[BASELINE]).max())
                print(
                    f"  epsilon {epsilon:<4} {title:<20} {values.mean():.4f}"
                    + (f"  worst attribute {worst:+.3f}" if title != BASELINE else ""),
                    flush=True,
                )


if __name__ == "__main__":
    main()
