"""Experiments: measurements that no protocol's run makes; a sweep may ask for one by name.

Each is a function of keyword arguments, `seed` among them, that returns figures by name. Parameters
are checked against the function's types before anything starts.
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

__all__ = ["EXPERIMENTS", "FIGURES", "ExperimentCall", "Experiment"]

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


FIGURES: Final[Mapping[str, tuple[str, ...]]] = {
    "label-belief": ("omega",),
    "label-estimate": ("error", "heads", "omega", "expected"),
    "label-attack": (
        "majority",
        "known",
        "labeldp_attributes",
        "labeldp_whole",
        "clldp_attributes",
        "clldp_whole",
        "clldp_and_attributes",
        "epsilon_of_record",
        "chance",
    ),
    "joint-table": ("tvd", "cells"),
    "cells": ("rows", "attributes", "log2_cells", "bits"),
    "views": ("tvd_2", "views", "variance"),
    "priview": ("l2_{ways}",),
    "messages": ("payload_bytes", "rounds"),
}
"""What each experiment measures, so that wrong names of figures are refused before any begins.

Parameters stand in braces.
"""


@dataclass(frozen=True, slots=True)
class ExperimentCall:
    """An experiment with its checked parameters."""

    name: str
    parameters: dict[str, Any]

    @classmethod
    def of(cls, name: object, parameters: Mapping[str, Any]) -> ExperimentCall:
        """Check the parameters; a wrong one is a `UsageError` that names it."""
        if not isinstance(name, str) or name not in EXPERIMENTS:
            close = difflib.get_close_matches(str(name), EXPERIMENTS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(EXPERIMENTS)}"
            raise UsageError(f"expected an experiment, found {name!r}: {hint}")
        signature = dict(inspect.signature(EXPERIMENTS[name]).parameters)
        del signature["seed"]
        for key in parameters:
            if key not in signature:
                raise UsageError(
                    f"expected a parameter of {name} ({', '.join(signature)}), found {key!r}"
                )
        for key, parameter in signature.items():
            if parameter.default is parameter.empty and key not in parameters:
                raise UsageError(f"expected {key} for {name}, found none")
        types = get_type_hints(EXPERIMENTS[name])
        checked = {key: _checked(key, value, types[key]) for key, value in parameters.items()}
        return cls(name, checked)

    @property
    def figures(self) -> list[str]:
        """Names of what is measured at most."""
        return [name.format_map(self.parameters) for name in FIGURES[self.name]]

    def measure(self, *, seed: int) -> Mapping[str, float]:
        """Make the measurement."""
        return EXPERIMENTS[self.name](**self.parameters, seed=seed)


def _checked(key: str, value: object, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        what = str(error)
        raise UsageError(
            f"{what[0].lower()}{what[1:]} for parameter {key}, found {value!r}"
        ) from None
