"""Experiments: measurements that are no protocol's runs, by a name; what a sweep may ask for
instead of a protocol.

Each is a function of keyword arguments, `seed` among them, that gives figures by name. Its
parameters are checked by their types before anything starts.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_type_hints

import msgspec

from ..evaluation.experiments import (
    attack_labels,
    count_cells,
    estimate_joint,
    estimate_labels,
    find_belief,
)
from ..messages import UsageError
from .views_experiments import count_messages, measure_priview, measure_views

__all__ = ["EXPERIMENTS", "Asked", "Experiment"]

Experiment = Callable[..., Mapping[str, float]]

EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    "label-belief": find_belief,
    "label-estimate": estimate_labels,
    "label-attack": attack_labels,
    "joint-table": estimate_joint,
    "cells": count_cells,
    "views": measure_views,
    "priview": measure_priview,
    "messages": count_messages,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """An experiment with its parameters, which have been checked."""

    name: str
    parameters: dict[str, Any]

    @classmethod
    def of(cls, name: object, given: Mapping[str, Any]) -> Asked:
        """Check what is given; what is wrong is a `UsageError` that names it."""
        if not isinstance(name, str) or name not in EXPERIMENTS:
            near = difflib.get_close_matches(str(name), EXPERIMENTS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(EXPERIMENTS)}"
            raise UsageError(f"expected an experiment, found {name!r}: {hint}")
        types = get_type_hints(EXPERIMENTS[name])
        wanted = {
            own: how
            for own, how in inspect.signature(EXPERIMENTS[name]).parameters.items()
            if own != "seed"
        }
        for own in given:
            if own not in wanted:
                raise UsageError(
                    f"expected a parameter of {name} ({', '.join(wanted)}), found {own!r}"
                )
        if missing := [
            own
            for own, how in wanted.items()
            if how.default is inspect.Parameter.empty and own not in given
        ]:
            raise UsageError(f"expected {missing[0]} for {name}, found none")
        checked = {}
        for own, value in given.items():
            try:
                checked[own] = msgspec.convert(value, types[own], strict=False)
            except msgspec.ValidationError as error:
                raise UsageError(
                    f"{str(error)[0].lower()}{str(error)[1:]} for parameter {own}, found {value!r}"
                ) from None
        return cls(name, checked)

    def measure(self, *, seed: int) -> Mapping[str, float]:
        """Make it."""
        return EXPERIMENTS[self.name](**self.parameters, seed=seed)
