"""Privacy loss of labels under CLLDP and LabelDP: how often three adversaries guess them.

    attributes      the paper's adversary (section 7.4). Naive Bayes is learnt from the reports and
                    predicts the labels of the same users: from the true attributes (LabelDP), or
                    from the one noisy value that a report names (CLLDP). It ignores the reported
                    label.
    whole report    the best guess from the whole report, by an adversary who knows the joint
                    distribution of attributes and label
    and attributes  the same by an adversary who also knows the user's true attributes

LabelDP's reports contain the true attributes, so its second and third adversaries are one. Compared
at equal knowledge like this, CLLDP is not stronger than LabelDP. Whoever knows the attributes
learns ln theta about the label from a CLLDP report, which is more than epsilon (spec A7).

This is part of the judge: it sees records, and makes their reports as users would. CLLDP uses kHR
with k = 1 and the true omega.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from ..crypto import UserWords
from ..curator.marginal import Numbers
from ..curator.naive_bayes import LabelTable, NaiveBayes, naive_bayes
from ..messages import UsageError
from ..parties import Records
from ..privacy.local import report
from ..privacy.local.belief import beliefs, capped_belief
from ..privacy.local.clear import ClearAttributes
from ..privacy.local.heads import HeadsResponse
from ..privacy.local.packing import read_integers

__all__ = ["EPSILONS", "AttackResult", "label_attacks"]

EPSILONS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)

Integers: TypeAlias = npt.NDArray[np.int64]


class AttackResult(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of users whose label is guessed right."""

    epsilon: float
    majority: float
    """By always guessing the most frequent label."""
    known: float
    """By naive Bayes from the true distribution and the true attributes, without any report."""
    labeldp_attributes: float
    labeldp_whole: float
    clldp_attributes: float
    clldp_whole: float
    clldp_and_attributes: float
    omega: tuple[float, float]
    """CLLDP's least and largest omega of all attributes."""
    epsilon_of_record: float
    """Largest privacy loss of the whole record by a CLLDP report."""


@dataclass(frozen=True, slots=True)
class _Population:
    """The users' true data, and what an adversary with full knowledge of its distribution has."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    """Number of values of each attribute."""
    columns: dict[str, Integers]
    labels: int
    """Number of labels."""
    label_codes: Integers
    joints: dict[str, Numbers]
    """Pr[l, a] of each attribute, a row for each label."""
    prior: Numbers
    model: NaiveBayes
    scores: Numbers
    """The model's scores from the true attributes."""

    @property
    def users(self) -> int:
        return len(self.label_codes)

    def accuracy(self, scores: Numbers, users: Integers | None = None) -> float:
        """Compute the share of users whose label has the highest score."""
        labels = self.label_codes if users is None else self.label_codes[users]
        return float(np.mean(np.argmax(scores, axis=1) == labels))


@dataclass(frozen=True, slots=True)
class _HeadsReports:
    """CLLDP's reports about one attribute."""

    users: Integers
    """Users who are asked for it."""
    labels: Integers
    """Reported labels."""
    values: Integers
    """Reported values."""
    table: LabelTable
    """The estimate from these reports."""
    omega: float
    theta: float
    """Largest ratio of the probabilities of a report."""


def label_attacks(
    records: Records, *, label: str, epsilon: float, record_cap: float | None = None, seed: int = 0
) -> AttackResult:
    """Make all users' reports with this epsilon, and let the adversaries guess."""
    people = _population(records, label)
    rng = np.random.Generator(np.random.Philox(seed))
    labeldp_attributes, labeldp_whole = _attack_labeldp(people, epsilon, rng)
    reports = _heads_reports(people, epsilon, record_cap, rng)
    clldp_attributes, clldp_whole, clldp_and_attributes = _attack_clldp(people, reports)
    omegas = [answers.omega for answers in reports]
    return AttackResult(
        epsilon=epsilon,
        majority=float(people.prior.max()),
        known=people.accuracy(people.scores),
        labeldp_attributes=labeldp_attributes,
        labeldp_whole=labeldp_whole,
        clldp_attributes=clldp_attributes,
        clldp_whole=clldp_whole,
        clldp_and_attributes=clldp_and_attributes,
        omega=(min(omegas), max(omegas)),
        epsilon_of_record=float(np.log(max(answers.theta for answers in reports))),
    )


def _population(records: Records, label: str) -> _Population:
    domain = records.domain
    names = tuple(n for n in domain.attributes if n != label and domain.cells((n,)) > 1)
    if label not in domain.labels or domain.cells((label,)) < 2 or not names:
        raise UsageError(
            f"expected a label of two classes or more and attributes beside it, found {label!r}"
        )
    sizes, labels = domain.shape(names), domain.cells((label,))
    columns = {name: np.asarray(records.codes(name)).astype(np.int64) for name in names}
    codes = np.asarray(records.codes(label)).astype(np.int64)
    rows = len(codes)
    joints = {}
    for name, size in zip(names, sizes, strict=True):
        counts = np.bincount(codes * size + columns[name], minlength=labels * size)
        joints[name] = counts.reshape(labels, size) / rows
    model = naive_bayes([LabelTable(name, joint, 1.0, rows) for name, joint in joints.items()])
    return _Population(
        names=names,
        sizes=sizes,
        columns=columns,
        labels=labels,
        label_codes=codes,
        joints=joints,
        prior=np.bincount(codes, minlength=labels) / rows,
        model=model,
        scores=model.scores(columns),
    )


def _attack_labeldp(
    people: _Population, epsilon: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Compute the accuracies of the first adversary and of the other two."""
    randomizer = ClearAttributes(people.sizes, labels=people.labels, epsilon=epsilon)
    reports = randomizer.report(
        [people.columns[name] for name in people.names],
        people.label_codes,
        users=np.arange(people.users),
        words=UserWords(rng.bytes(16)),
    )
    tables = [
        LabelTable(name, randomizer.joint(counts), 1.0, people.users)
        for name, counts in zip(people.names, randomizer.counts(reports), strict=True)
    ]
    # The last bits of a report are the label.
    width = randomizer.label.bits
    bits = np.unpackbits(reports, axis=1, count=randomizer.bits, bitorder="little")
    reported = (bits[:, -width:].astype(np.int64) << np.arange(width)).sum(axis=1)
    p, q = float(randomizer.label.p), float(randomizer.label.q)
    evidence = np.log(np.where(reported[:, None] == np.arange(people.labels), p, q))
    return (
        people.accuracy(naive_bayes(tables).scores(people.columns)),
        people.accuracy(people.scores + evidence),
    )


def _heads_reports(
    people: _Population, epsilon: float, record_cap: float | None, rng: np.random.Generator
) -> list[_HeadsReports]:
    """Make CLLDP's reports. Each user is asked for one attribute."""
    questions = rng.permutation(people.users) % len(people.names)
    words = UserWords(rng.bytes(16))
    all_reports = []
    for question, (name, size) in enumerate(zip(people.names, people.sizes, strict=True)):
        users = np.flatnonzero(questions == question)
        conditional = people.joints[name] / np.maximum(people.prior, 1e-300)[:, None]
        omega = capped_belief(float(beliefs(conditional)[0]), epsilon=epsilon, cap=record_cap)
        randomizer = HeadsResponse(people.labels * size, epsilon=epsilon, belief=omega, chosen=1)
        values = people.label_codes[users] * size + people.columns[name][users]
        reports = report(randomizer, values, users=users, words=words)
        cells = read_integers(reports, bits=randomizer.bits)[:, 0]
        shares = randomizer.estimate(randomizer.support(reports), users=len(users))
        joint = shares.reshape(people.labels, size)
        table = LabelTable(name, joint, randomizer.variance() * size, len(users))
        theta = float(randomizer.ratio)
        all_reports.append(_HeadsReports(users, cells // size, cells % size, table, omega, theta))
    return all_reports


def _attack_clldp(
    people: _Population, all_reports: list[_HeadsReports]
) -> tuple[float, float, float]:
    """Compute the accuracies of the three adversaries."""
    learnt = naive_bayes([reports.table for reports in all_reports])
    right = np.zeros(3)
    for name, reports in zip(people.names, all_reports, strict=True):
        users = reports.users
        names_label = reports.labels[:, None] == np.arange(people.labels)
        # The likelihood ratio of a label that the report names to another one is
        # 1 + (theta - 1) Pr[value | label].
        probabilities = people.model.likelihoods[name].T[reports.values]
        whole = people.prior * (1 + (reports.theta - 1) * names_label * probabilities)
        names_cell = names_label & (reports.values == people.columns[name][users])[:, None]
        guesses = (
            learnt.scores_from(name, reports.values),
            whole,
            people.scores[users] + np.where(names_cell, np.log(reports.theta), 0.0),
        )
        right += [people.accuracy(scores, users) * len(users) for scores in guesses]
    from_attributes, from_report, from_both = (right / people.users).tolist()
    return from_attributes, from_report, from_both
