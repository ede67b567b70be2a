"""How well a published network fits the real records: its entropy, and its distance from them.

A network N gives each attribute X its parents Pa(X). Filled with the real conditional tables it
describes a record in

    H(N) = sum over X of H(X | Pa(X)) = sum of H(X) - sum of I(X; Pa(X))

bits on average. The divergence of the records from it is KL = H(N) - H(all attributes), which is
the fitness of Su et al. 2016 (section III-B): the best network has the least entropy. Only the
structure is judged; the noise of its tables is not in these figures.

The bits of a code and the code tell the same of a record, so networks of bits and networks of
attributes are compared by the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from ..curator import BayesianNetwork
from ..messages import UsageError
from ..parties import Records

__all__ = ["NetworkFit", "network_fit"]

MAX_CODE: Final = 1 << 62
"""Combinations of labels are numbered below it, and numbered anew where they would exceed it."""


class NetworkFit(msgspec.Struct, frozen=True, kw_only=True):
    """The fit of a network, or the average over networks of several parties, in bits a record."""

    networks: int
    entropy: float
    """H(N) with the real conditional tables."""
    independent: float
    """The entropy of a network without edges: all attributes independent."""
    divergence: float
    """KL of the real records from the network: what its entropy is above that of the records."""


def network_fit(real: Records, model: object) -> NetworkFit | None:
    """Judge the networks of a published model; `None` where it has none.

    A model has the parents of each attribute, or of each bit, under `parents`: for one network, or
    in a list for the networks of several parties.
    """
    networks = _networks(real, model)
    if not networks or not len(real):
        return None
    records = networks[0][0]
    entropies = [_network_entropy(table, network) for table, network in networks]
    average = float(np.mean(entropies))
    return NetworkFit(
        networks=len(networks),
        entropy=average,
        independent=sum(_entropy(records, (name,)) for name in records.domain.attributes),
        divergence=average - _entropy(records, records.domain.attributes),
    )


def _networks(real: Records, model: object) -> list[tuple[Records, BayesianNetwork]]:
    """Read the networks of a model, each with the records over its attributes."""
    parents = model.get("parents") if isinstance(model, Mapping) else None
    entries = parents if isinstance(parents, list) else [parents]
    try:
        listed = msgspec.convert(entries, list[dict[str, list[str]]])
        records = {frozenset(real.domain.attributes): real}
        if any(frozenset(entry) not in records for entry in listed):
            bits = real.binary()
            records[frozenset(bits.domain.attributes)] = bits
        tables = [records[frozenset(entry)] for entry in listed]
        return [
            (table, BayesianNetwork(table.domain, entry))
            for table, entry in zip(tables, listed, strict=True)
        ]
    except (KeyError, ValueError, UsageError):  # a plug-in's model, of another meaning
        return []


def _network_entropy(records: Records, network: BayesianNetwork) -> float:
    return sum(
        _entropy(records, family) - _entropy(records, family[:-1]) for family in network.families
    )


def _entropy(records: Records, names: Sequence[str]) -> float:
    """Compute the entropy of some attributes together, in bits.

    Where there are more cells than records, only those that occur are counted. So any number of
    attributes will do.
    """
    codes, size = np.zeros(len(records), np.int64), 1
    for name, labels in zip(names, records.domain.shape(names), strict=True):
        if size * labels > MAX_CODE:
            values, codes = np.unique(codes, return_inverse=True)
            size = len(values)
        codes = codes * labels + records.codes(name)
        size *= labels
    counts = np.bincount(codes) if size <= len(records) else np.unique(codes, return_counts=True)[1]
    shares = counts[counts > 0] / len(records)
    return -float(np.sum(shares * np.log2(shares)))
