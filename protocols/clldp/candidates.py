"""Candidate sets: which attribute a group reports next, in a round of CLLDP's decision tree.

A group is described by the attributes that its users have drawn so far, of which some may be alike
(SL in section 6.1 of Xue et al. 2024). A branch without a test yet has the attributes of its path,
including those that were tested twice (B). Some groups lack one attribute to cover a branch, and
have one of their own that can be its next test. Such a group draws the missing attribute. Other
groups draw from all attributes that they do not have.

As printed the *last* attribute of B is drawn. The group may have that one, and lack another. In the
fifth round up to a quarter of the users then cover no branch (spec C9).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

__all__ = ["candidates", "last_attribute", "missing_attribute"]

Names: TypeAlias = Sequence[str]


def missing_attribute(drawn: Names, branch: Names) -> str | None:
    """Find the one attribute that a group lacks to cover a branch; `None` if it lacks others."""
    missing = list((Counter(branch) - Counter(drawn)).elements())
    return missing[0] if len(missing) == 1 else None


def last_attribute(drawn: Names, branch: Names) -> str | None:  # noqa: ARG001 - as printed
    """Take the last attribute of a branch, as printed."""
    return branch[-1]


def candidates(
    drawn: Names,
    branches: Sequence[Names],
    attributes: Names,
    *,
    completion: Callable[[Names, Names], str | None] = missing_attribute,
) -> list[str]:
    """List the attributes that users may draw next, in the order of `attributes`.

    `completion` finds what completes a group's attributes to a branch.

    In the paper's example w was tested twice on the second branch. Group 4 drew z and lacks w;
    group 1 drew u and w.

    >>> candidates(["z"], [["w"]], "uwyz")
    ['w']
    >>> candidates(["u", "w"], [["w", "u"], ["w", "w"]], "uwyz")
    ['w']
    """
    chosen = set()
    for branch in branches:
        beyond = list((Counter(drawn) - Counter(branch)).elements())
        if len(beyond) == 1 and beyond[0] not in branch:
            name = completion(drawn, branch)
            if name is not None:
                chosen.add(name)
    if not chosen:
        chosen = {*attributes} - {*drawn} or {*attributes}
    return [name for name in attributes if name in chosen]
