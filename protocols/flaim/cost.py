"""What the rounds cost, from what was published."""

from __future__ import annotations

import numpy as np

from ..aim.reading import places
from ..cost import Cost, Public, add_up
from ..secure_sum import Family, NoiseKind, predict_sum
from .messages import Messages, write_measured
from .parameters import FLAIMParameters, Published
from .plan import RoundPlan

__all__ = ["predict_rounds"]


def predict_rounds(
    parameters: FLAIMParameters,
    public: Public,
    published: Published,
    *,
    plan: RoundPlan,
    noise: NoiseKind,
) -> list[Cost]:
    """Predict the messages of all rounds. A model has a parameter for each cell measured so far."""
    domain, parties, phase = plan.domain, public.parties, "rounds"
    sets: list[Family] = [*plan.single_families]
    shares = np.zeros(sum(map(domain.cells, sets)) if plan.remeasures else 0)
    lines = []
    for number, entry in enumerate(published.rounds, 1):
        model = Messages.Model(
            tuple(places(domain, family) for family in sets),
            np.zeros(sum(map(domain.cells, sets))),
            shares,
        )
        lines.append(Cost.of(model, phase=phase, messages=parties))
        # Where fewer parties chose, as in a play for a forecast, more of them choose the same.
        each, rest = divmod(parties, len(entry.choices))
        for place, choice in enumerate(entry.choices):
            chosen = Messages.Chosen(places(domain, choice.attributes))
            lines.append(Cost.of(chosen, phase=phase, messages=each + (place < rest)))
        measured = write_measured(domain, entry.measured)
        lines.append(Cost.of(measured, phase=phase, messages=parties))
        batch = plan.batch(number, entry.measured)
        lines += predict_sum(parameters, public, batch, noise=noise, phase=phase)
        sets += [family for family in entry.measured if family not in sets]
    return add_up(lines)
