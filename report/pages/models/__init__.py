"""Pictures of what was learned: Bayesian networks, a dependency graph, round by round, a junction
tree, a classifier.

Drawn from the published model alone, as SVG without scripts or fonts of its own, in the colour of
the text around it; each has a title and a description for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .classifiers import decisions, evidence, sets_of_values
from .cliques import graphs, junction_tree
from .networks import network, networks

__all__ = ["FILES", "pictures"]

FILES: Final = ("decisions.svg", "evidence.svg", "graph.svg", "network.svg", "sets.svg", "tree.svg")
"""What there may be."""


def pictures(model: Any) -> dict[str, str]:
    """Draw what a model has of these.

    Parents, of all or of each party; edges by rounds or at once, and a tree of cliques; a tree of
    decisions; what values say of labels; sets of values.

    A model of somebody's own that is called alike and made otherwise is not drawn: its run has been
    paid for.
    """
    try:
        return _drawn(model)
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ):
        return {}


def _drawn(model: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    if model is None:
        return found
    parents, tree, sets = model.get("parents"), model.get("tree"), model.get("sets")
    if isinstance(parents, Mapping) and any(parents.values()):
        found["network.svg"] = network(parents, (model.get("frontiers") or [[]])[-1])
    elif isinstance(parents, list | tuple) and any(any(own.values()) for own in parents):
        found["network.svg"] = networks(parents)
    elif model.get("kind") == "naive-bayes":
        found["evidence.svg"] = evidence(model)
    elif model.get("kind") == "decision-tree":
        found["decisions.svg"] = decisions(model["tree"], str(model["label"]))
    elif isinstance(tree, Mapping):
        names = list(dict.fromkeys(name for clique in tree["cliques"] for name in clique))
        rounds = [
            (f"round {at}", own["edges"]) for at, own in enumerate(model.get("rounds", ()), start=1)
        ]
        found["graph.svg"] = graphs(names, rounds or [("", model.get("edges", ()))])
        found["tree.svg"] = junction_tree(tree["cliques"], tree["edges"])
    elif isinstance(sets, Mapping) and sets:
        found["sets.svg"] = sets_of_values(sets)
    return found
