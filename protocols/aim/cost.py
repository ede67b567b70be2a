"""What the rounds cost, from what was published."""

from __future__ import annotations

from ...privacy import Domain
from ..cost import Cost, Public, add_up
from ..secure_sum import NoiseKind
from .messages import Messages
from .parameters import AIMParameters, Published
from .plan import table_of
from .reading import places

__all__ = ["predict_rounds"]


def predict_rounds(
    parameters: AIMParameters,
    public: Public,
    published: Published,
    *,
    domain: Domain,
    noise: NoiseKind,
) -> list[Cost]:
    """Predict the messages of all rounds, without those to and from the party on turn."""
    parties, phase = public.parties, "rounds"
    turns = parties * (len(published.rounds) + 1)
    lines = [Cost.of(Messages.Turn(0, 0.0), phase=phase, messages=turns)]
    for entry in published.rounds:
        measured = Messages.Measured(places(domain, entry.attributes))
        lines.append(Cost.of(measured, phase=phase, messages=parties))
        table = table_of(domain, entry.attributes, rho=entry.rho)
        lines += table.predict(parameters, public, noise=noise, phase=phase)
    return add_up(lines)
