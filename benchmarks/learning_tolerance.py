"""Support vector machines that end learning sooner or later: seconds and errors.

    python benchmarks/learning_tolerance.py FILE [labels=ATTRIBUTE,...] [drop=ATTRIBUTE,...]

Four fifths of the records are learnt from, and one fifth is tested. For each label and tolerance
the script prints processor seconds, the share of wrong predictions, and how many predictions differ
from those with a tolerance of .0001. Numbers are cut at 16 quantiles. Columns in `drop` are left
out, such as those that determine a label.
"""

from __future__ import annotations

import sys
import time
from unittest.mock import patch

import numpy as np
import pandas as pd
from best_table import binned

from sottovoce.evaluation import classification
from sottovoce.evaluation.classification import learn, one_hot_codes

TOLERANCES = (1e-4, 1e-3, 1e-2)
TRAINING_SHARE = 0.8


def main() -> None:
    settings = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    labels, drop = (settings.pop(name, "").split(",") for name in ("labels", "drop"))
    if settings or len(files) != 1:
        sys.exit("expected a file, labels and drop: see the first lines of this script")
    frame = binned(pd.read_csv(files[0]), bins=16).drop(columns=[name for name in drop if name])
    codes = {name: pd.factorize(frame[name], sort=True)[0] for name in frame.columns}
    order = np.random.default_rng(0).permutation(len(frame))
    training, tested = np.split(order, [int(TRAINING_SHARE * len(frame))])
    for label in [name for name in labels if name] or list(codes)[-1:]:
        names = [name for name in codes if name != label]
        rows = one_hot_codes(
            [codes[name] for name in names], [int(codes[name].max()) + 1 for name in names]
        )
        reference = None
        for tolerance in TOLERANCES:
            with patch.object(classification, "TOLERANCE", tolerance):
                start = time.process_time()
                predictor = learn(rows[training], codes[label][training], seed=0)
                seconds = time.process_time() - start
            predicted = predictor.predict(rows[tested])
            reference = predicted if reference is None else reference
            print(
                f"{label}, tolerance {tolerance:g}: {seconds:.2f} s, "
                f"{np.mean(predicted != codes[label][tested]):.4f} wrong, "
                f"{np.mean(predicted != reference):.4f} predicted otherwise",
                flush=True,
            )


if __name__ == "__main__":
    main()
