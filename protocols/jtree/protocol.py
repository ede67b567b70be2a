"""JTree: a synthetic table along a junction tree, of one trusted holder or of many parties.

    trust       one party: it holds all records, and the curator sees only what it releases;
                several: no one sees a record, and the curator sees sums with full noise
    who learns  everybody: noisy tables of single attributes, the graph, noisy tables of clusters
    messages    keys; a batch of secure sums for single attributes; the graph; a batch for clusters
    privacy     epsilon for each record, neighbours replace one; single attributes, the graph and
                the clusters each spend a part of it
    error       that of the noise, and of the model: attributes that share no clique are taken to
                be independent given those between them

Chen, Xiao, Zhang, Xu, "Differentially private high-dimensional data publication via sampling-based
inference" (KDD 2015):

    4.1   the dependency graph: Algorithm 1
    4.2   its junction tree, and cliques merged into clusters, which get more of the budget each
    4.3   the clusters' tables with noise, made to agree
    4.4   rows drawn along the tree

There are three variants, each a class with both sides:

    `printed`    mode=paper: the algorithm of one holder as printed, for which no epsilon holds
    `corrected`  structure=top, svt, laplace or gauss: the same with what is wrong corrected
    `tree`       the default, structure=tree, which is ours
"""

from __future__ import annotations

from ...messages import UsageError
from ..options import Mode
from .corrected import CorrectedJTree
from .parameters import JTreeParameters
from .printed import PrintedJTree
from .tree import TreeJTree
from .variant import JTreeVariant

__all__ = ["JTree"]


class JTree(TreeJTree):
    """The default variant; mode and structure may pick another one."""

    @classmethod
    def variant(cls, parameters: JTreeParameters, *, mode: Mode) -> type[JTreeVariant]:
        printed, structure = mode == "paper", parameters.structure
        if printed and structure not in (None, "threshold"):
            raise UsageError(
                "expected structure=threshold in mode paper, "
                f"found {structure}, which the paper does not have"
            )
        if structure == "threshold" and not printed:
            raise UsageError(
                "expected structure=threshold in mode paper, "
                "found mode rigorous: no epsilon holds for it"
            )
        if printed:
            return PrintedJTree
        return cls if structure in (None, "tree") else CorrectedJTree
