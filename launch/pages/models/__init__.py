"""Pictures of what was learned: Bayesian networks, a dependency graph, round by round, a junction tree, a classifier.

Drawn from the published model alone, as SVG without scripts or fonts of its own, in the colour of the text around it; each has
a title and a description for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .classifiers import decisions
from .cliques import graphs, junction_tree
from .networks import network

__all__ = ["FILES", "pictures"]

FILES: Final = ("decisions.svg", "graph.svg", "network.svg", "tree.svg")
"""What there may be."""


def pictures(model: Mapping[str, Any] | None) -> dict[str, str]:
    """Draw what a model has of these: parents; edges by rounds or at once, and a tree of cliques; a tree of decisions.

    A model of somebody's own that is called alike and made otherwise is not drawn: its run has been paid for.
    """
    try:
        return _drawn(model)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError):
        return {}


def _drawn(model: Mapping[str, Any] | None) -> dict[str, str]:
    if model is None:
        return {}
    tree = model.get("tree")
    if isinstance(model.get("parents"), Mapping) and any(model["parents"].values()):
        return {"network.svg": network(model["parents"], (model.get("frontiers") or [[]])[-1])}
    if not isinstance(tree, Mapping):
        return {}
    if model.get("kind") == "decision-tree":
        return {"decisions.svg": decisions(tree, str(model["label"]))}
    names = list(dict.fromkeys(name for clique in tree["cliques"] for name in clique))
    if "rounds" in model:
        panels = [(f"round {at}", own["edges"]) for at, own in enumerate(model["rounds"], start=1)]
    else:
        panels = [("", model.get("edges", ()))]
    return {"graph.svg": graphs(names, panels), "tree.svg": junction_tree(tree["cliques"], tree["edges"])}
