"""Protocols with mistakes that show only on values that no record has: a newcomer's, each."""

from __future__ import annotations

import numpy as np
from leaky_protocols import Leaky, Median, Numbers, ages

from sottovoce import Party, laplace


class CountOfARareCountry(Leaky):
    """The exact count of a country that none of the people is from."""

    name = "count-of-a-rare-country"

    def figure(self, me: Party) -> float:
        return me.records.count("native-country", "Holand-Netherlands")


class CodedRareCountry(CountOfARareCountry):
    """The same with a schema."""

    name = "coded-rare-country"
    needs_schema = True


class CountOfTheOldest(Leaky):
    """The exact number of people above all ages of the table."""

    name = "count-of-the-oldest"

    def figure(self, me: Party) -> float:
        return int((ages(me) >= 90).sum())


class RefusesTheOldest(Leaky):
    """A check that ends the part, and so tells that somebody is old."""

    name = "refuses-the-oldest"

    def figure(self, me: Party) -> float:
        if ages(me).max() >= 90:
            raise ValueError("expected an age below 90")
        return 0.0


class UnknownCountry(Leaky):
    """A dictionary of the countries that the author has seen."""

    name = "unknown-country"

    def figure(self, me: Party) -> float:
        continents = {"Holand-Netherlands": ""}
        if any(continents.get(country) == "" for country in me.records.column("native-country")):
            raise KeyError("Holand-Netherlands")
        return 0.0


class SumOfUnclippedAges(Median):
    """A sum with the sensitivity of the table's own range."""

    name = "sum-of-unclipped-ages"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            exact = int(self.statistic(ages(me)))
            noisy = me.release(laplace(exact, sensitivity=100, epsilon=1.0), to=0)
            me.send(self.Count(value=noisy), to=0)
            me.send(self.Figure(value=0.0), to=0)

    def statistic(self, numbers: Numbers) -> float:
        return float(numbers.sum())


class SumOfClippedAges(SumOfUnclippedAges):
    """The same, done right: it finds nothing."""

    name = "sum-of-clipped-ages"

    def statistic(self, numbers: Numbers) -> float:
        return float(np.clip(numbers, 0, 100).sum())
