"""Pictures of published models: Bayesian networks, dependency graphs, junction trees, classifiers.

They are drawn from the model alone, as SVG in the colour of the text around it. Each has a title
and a description for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .classifiers import decision_tree, evidence, value_sets
from .cliques import graphs, junction_tree
from .networks import network, networks

__all__ = ["FILES", "pictures"]

FILES: Final = ("decisions.svg", "evidence.svg", "graph.svg", "network.svg", "sets.svg", "tree.svg")
"""The files that a run's pictures may have."""


def pictures(model: Any) -> dict[str, str]:
    """Draw the parts of a model that are known: SVG by the name of the file.

    They are parents, of all records or of each party's; edges by round or at once, with a tree of
    cliques; a decision tree; a naive Bayes classifier; sets of values.

    A plug-in's model may have the same keys and another structure. It is not drawn, since an error
    must not lose a run that was paid for.
    """
    try:
        return _pictures(model)
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


def _pictures(model: Any) -> dict[str, str]:
    drawn: dict[str, str] = {}
    if model is None:
        return drawn
    parents, tree, sets = model.get("parents"), model.get("tree"), model.get("sets")
    if isinstance(parents, Mapping) and any(parents.values()):
        drawn["network.svg"] = network(parents, (model.get("frontiers") or [[]])[-1])
    elif isinstance(parents, list | tuple) and any(any(party.values()) for party in parents):
        drawn["network.svg"] = networks(parents)
    elif model.get("kind") == "naive-bayes":
        drawn["evidence.svg"] = evidence(model)
    elif model.get("kind") == "decision-tree":
        drawn["decisions.svg"] = decision_tree(model["tree"], str(model["label"]))
    elif isinstance(tree, Mapping):
        drawn |= _graph_and_tree(model, tree)
    elif isinstance(sets, Mapping) and sets:
        drawn["sets.svg"] = value_sets(sets)
    return drawn


def _graph_and_tree(model: Any, tree: Mapping[str, Any]) -> dict[str, str]:
    names = list(dict.fromkeys(name for clique in tree["cliques"] for name in clique))
    rounds = [
        (f"round {number}", graph["edges"])
        for number, graph in enumerate(model.get("rounds", ()), start=1)
    ]
    return {
        "graph.svg": graphs(names, rounds or [("", model.get("edges", ()))]),
        "tree.svg": junction_tree(tree["cliques"], tree["edges"]),
    }
