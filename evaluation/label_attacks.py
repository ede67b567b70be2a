"""What reports tell of labels, to three adversaries: for CLLDP and LabelDP, side by side (spec A7).

    attributes      the paper's (section 7.4): naive Bayes learnt from the reports predicts the labels of the same users, from
                    true attributes (LabelDP) or from the one noisy value that a report names (CLLDP). What it says of the label
                    is ignored
    whole report    the best guess from all that a user said, by whoever knows how attributes go with labels
    and attributes  the same by whoever knows the user's true attributes, too

LabelDP's reports have the true attributes, so its second and third are one. Compared like this, at
equal knowledge, CLLDP is not stronger than LabelDP: whoever knows the attributes learns ln theta of
the label from its reports, which is more than epsilon.

Stands outside: it sees records, and makes their reports as users would, with kHR at k = 1 and the
true omega.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..crypto import UserWords
from ..curator.naive_bayes import LabelTable, naive_bayes
from ..messages import UsageError
from ..parties import Records
from ..privacy.local import report
from ..privacy.local.belief import beliefs, capped
from ..privacy.local.clear import ClearAttributes
from ..privacy.local.heads import HeadsResponse
from ..privacy.local.packing import read_integers

__all__ = ["Attacked", "label_attacks"]

EPSILONS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)


class Attacked(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of users whose label is guessed right."""

    epsilon: float
    majority: float
    """By whoever says the most frequent label of all."""
    known: float
    """By naive Bayes of the truth and true attributes, without any report."""
    labeldp_attributes: float
    labeldp_whole: float
    clldp_attributes: float
    clldp_whole: float
    clldp_and_attributes: float
    omega: tuple[float, float]
    """CLLDP's, from the least to the largest of all attributes."""
    epsilon_of_record: float
    """What CLLDP's reports tell of the whole record, at most."""


def label_attacks(
    records: Records, *, label: str, epsilon: float, record_cap: float | None = None, seed: int = 0
) -> Attacked:
    """Make all users' reports at this epsilon, and let the adversaries guess."""
    names = [
        name
        for name in records.domain.attributes
        if name != label and records.domain.cells((name,)) > 1
    ]
    if label not in records.domain.labels or records.domain.cells((label,)) < 2 or not names:
        raise UsageError(
            f"expected a label of two classes or more and attributes beside it, found {label!r}"
        )
    sizes, labels = records.domain.shape(names), records.domain.cells((label,))
    columns = {name: np.asarray(records.codes(name)).astype(np.int64) for name in names}
    true = np.asarray(records.codes(label)).astype(np.int64)
    rows = len(true)
    joints = {
        name: np.bincount(true * size + columns[name], minlength=labels * size).reshape(
            labels, size
        )
        / rows
        for name, size in zip(names, sizes, strict=True)
    }
    truth = naive_bayes([LabelTable(name, own, 1.0, rows) for name, own in joints.items()])
    prior = np.bincount(true, minlength=labels) / rows
    knowing = truth.scores(columns)
    rng = np.random.Generator(np.random.Philox(seed))
    users = np.arange(rows)

    def right(scores: npt.NDArray[np.float64], at: npt.NDArray[np.int64] = users) -> float:
        return float(np.mean(np.argmax(scores, axis=1) == true[at]))

    # LabelDP.
    how = ClearAttributes(sizes, labels=labels, epsilon=epsilon)
    words = UserWords(rng.bytes(16))
    reports = how.report([columns[name] for name in names], true, users=users, words=words)
    counts = how.counts(reports)
    learnt = naive_bayes(
        [
            LabelTable(name, how.joint(own), 1.0, rows)
            for name, own in zip(names, counts, strict=True)
        ]
    )
    # Of the label that was said: as the last bits of a report have it.
    bits = np.unpackbits(reports, axis=1, count=how.bits, bitorder="little")[
        :, -how.label.bits :
    ].astype(np.int64)
    said = (bits << np.arange(how.label.bits)).sum(axis=1)
    p, q = float(how.label.p), float(how.label.q)
    told = np.log(np.where(said[:, None] == np.arange(labels), p, q))

    # CLLDP: each user is asked for one attribute.
    asked = rng.permutation(rows) % len(names)
    words = UserWords(rng.bytes(16))
    cells = np.empty(rows, np.int64)
    omegas, thetas, tables = [], [], []
    for at, (name, size) in enumerate(zip(names, sizes, strict=True)):
        own = users[asked == at]
        omega = capped(
            float(beliefs(joints[name] / np.maximum(prior, 1e-300)[:, None])[0]),
            epsilon=epsilon,
            cap=record_cap,
        )
        randomizer = HeadsResponse(labels * size, epsilon=epsilon, belief=omega, chosen=1)
        values = true[own] * size + columns[name][own]
        made = report(randomizer, values, users=own, words=words)
        cells[own] = read_integers(made, bits=randomizer.bits)[:, 0]
        joint = randomizer.estimate(randomizer.support(made), users=len(own)).reshape(labels, size)
        tables.append(LabelTable(name, joint, randomizer.variance() * size, len(own)))
        omegas.append(omega)
        thetas.append(float(randomizer.ratio))
    model = naive_bayes(tables)
    guessed: dict[str, list[float]] = {"attributes": [], "whole": [], "both": []}
    for at, (name, size) in enumerate(zip(names, sizes, strict=True)):
        own = users[asked == at]
        said_label, said_value = cells[own] // size, cells[own] % size
        named = said_label[:, None] == np.arange(labels)
        # Of a label, a report is 1 + (theta - 1) Pr[value | label] as likely as one that names
        # another label.
        whole = prior * (1 + (thetas[at] - 1) * named * truth.likelihoods[name].T[said_value])
        hers = named & (said_value == columns[name][own])[:, None]
        scores = (
            model.scores_from(name, said_value),
            whole,
            knowing[own] + np.where(hers, np.log(thetas[at]), 0.0),
        )
        for key, one in zip(guessed, scores, strict=True):
            guessed[key].append(right(one, own) * len(own))
    return Attacked(
        epsilon=epsilon,
        majority=float(prior.max()),
        known=right(knowing),
        labeldp_attributes=right(learnt.scores(columns)),
        labeldp_whole=right(knowing + told),
        clldp_attributes=sum(guessed["attributes"]) / rows,
        clldp_whole=sum(guessed["whole"]) / rows,
        clldp_and_attributes=sum(guessed["both"]) / rows,
        omega=(min(omegas), max(omegas)),
        epsilon_of_record=float(np.log(max(thetas))),
    )
