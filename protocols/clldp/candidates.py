"""Who reports what in a round of CLLDP's decision tree: candidate sets (Xue et al. 2024, section
6.1).

A group is known by the attributes that its users drew so far, one after another, of which some may
be alike (SL). A branch that waits for a test has the attributes of its path, with those that were
tested twice (B). A group that lacks one attribute to cover a branch, with one of its own as a
candidate for the next test, draws that one; others draw from all that they have not.

As printed the *last* attribute of B is drawn, which the group may have, while the one it lacks is
another: in the fifth round up to a quarter of the users cover no branch that waits (spec C9). Here
it is the one that is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

__all__ = ["candidates"]


def candidates(
    drawn: Sequence[str],
    branches: Sequence[Sequence[str]],
    attributes: Sequence[str],
    *,
    as_printed: bool = False,
) -> list[str]:
    """List what users who have drawn these may draw next, in the order of the attributes.

    The paper's example: w was tested twice on the second branch. Group 4 drew z, and w is missing;
    group 1 drew w twice.

    >>> candidates(["z"], [["w"]], "uwyz")
    ['w']
    >>> candidates(["u", "w"], [["w", "u"], ["w", "w"]], "uwyz")
    ['w']
    """
    own = Counter(drawn)
    found = set()
    for branch in branches:
        beyond = list((own - Counter(branch)).elements())
        if len(beyond) == 1 and beyond[0] not in branch:
            missing = list((Counter(branch) - own).elements())
            if as_printed:
                found.add(branch[-1])
            elif len(missing) == 1:
                found.add(missing[0])
    if not found:
        found = {*attributes} - {*drawn} or {*attributes}
    return [name for name in attributes if name in found]
