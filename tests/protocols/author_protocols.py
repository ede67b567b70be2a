"""Protocols that release every mechanism for authors, for the conformance suite."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - messages are read at run time

from sottovoce import (
    CURATOR,
    Budget,
    Curator,
    Epsilon,
    Options,
    Outcome,
    Party,
    Protocol,
    above_threshold,
    choose,
    gaussian,
    laplace,
    median,
    message,
    quantile,
    quantiles,
    real_mean,
    real_sum,
    report_noisy_max,
    secret_histogram,
    sparse_vector,
)
from sottovoce.privacy import Neighbours

EDUCATIONS = 16


class AllParameters(Options):
    epsilon: Epsilon = 2.0


class EveryMechanism(Protocol[AllParameters]):
    """Every release has a tenth or a twentieth of the budget, in rho."""

    name = "every-mechanism"
    summary = "figures by every mechanism for authors"
    trust = "no one: each party adds its own noise"
    neighbours: ClassVar[Neighbours] = "replace-one"

    @message
    class Figures:
        whole: NDArray[np.int64]
        real: NDArray[np.float64]

    @message
    class Labels:
        counts: NDArray[np.int64]
        letters: NDArray[np.int64]

    @property
    def part(self) -> Budget:
        return Budget.of(self.parameters.epsilon / 2, delta=self.parameters.delta / 2).share(1 / 14)

    def party(self, me: Party) -> None:
        ages = me.records.column("age").astype(float)
        hours = me.records.column("hours-per-week").astype(float)
        decades = np.bincount(np.clip(ages // 10, 0, 9).astype(int), minlength=10)
        part, relation = self.part, self.neighbours
        with me.phase("whole"):
            tables = [
                me.release(laplace(decades, sensitivity=2, budget=part), to=CURATOR),
                me.release(gaussian(decades, sensitivity=2**0.5, budget=part), to=CURATOR),
                [
                    me.release(choose(decades, sensitivity=1, budget=part), to=CURATOR),
                    me.release(report_noisy_max(decades, sensitivity=1, budget=part), to=CURATOR),
                ],
                me.release(
                    sparse_vector(decades, 4, sensitivity=1, budget=part, cutoff=2), to=CURATOR
                ),
            ]
        rows = np.stack([ages, hours], axis=1)
        with me.phase("real"):
            reals = [
                me.release(mechanism, to=CURATOR)
                for mechanism in (
                    real_sum(ages, bounds=(0, 100), neighbours=relation, budget=part),
                    real_sum(
                        rows,
                        bound=100,
                        groups=(ages > 40).astype(int),
                        number_of_groups=2,
                        neighbours=relation,
                        budget=part,
                    ),
                    real_mean(hours, bounds=(0, 99), neighbours=relation, budget=part),
                    median(ages, bounds=(0, 100), neighbours=relation, budget=part),
                    quantile(hours, 0.9, bounds=(0, 99), neighbours=relation, budget=part),
                    quantiles(
                        ages,
                        [i / 8 for i in range(1, 8)],
                        bounds=(0, 100),
                        resolution=1,
                        neighbours=relation,
                        budget=part,
                    ),
                )
            ]
            steps = np.concatenate([np.asarray(table).reshape(-1) for table in tables])
            me.send(
                self.Figures(steps, np.concatenate([np.atleast_1d(r).reshape(-1) for r in reals])),
                to=CURATOR,
            )
        with me.phase("labels"):
            labels = me.records.column("education")
            histogram = secret_histogram(
                labels, neighbours=relation, budget=part, delta=self.parameters.delta / 2
            )
            named = me.release(histogram, to=CURATOR)
            questions = above_threshold(30, sensitivity=1, budget=part)
            answers = []
            for count in decades.tolist():
                answers.append(me.release(questions.question(count), to=CURATOR))
                if answers[-1]:
                    break
            letters = [ord(letter) for label in named for letter in label]
            me.send(
                self.Labels(np.array([*named.values(), len(answers)]), np.array(letters, np.int64)),
                to=CURATOR,
            )

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("real"):
            figures = desk.gather(self.Figures)
        with desk.phase("labels"):
            desk.gather(self.Labels)
        return Outcome(summary={"figures": sum(len(answer.real) for answer in figures)})


class EveryMechanismApart(EveryMechanism):
    """The same where a record is added or removed, which some mechanisms treat otherwise."""

    name = "every-mechanism-apart"
    neighbours = "add-or-remove-one"
