"""How good it is: distances beside their floors, the marginals that came out worst, and
classifiers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .bars import Bars, bars
from .document import figure, note, table, words

__all__ = ["utility_panel"]

MEASURED: Final = """What follows, and what the top of the page says of it, was measured on the real table, without any noise.
It is for whoever may see that table, and not to be published; `sottovoce report DIR --public` writes this page without it."""
DISTANCES: Final = """The total variation distance of two tables is the largest difference that they can have in the probability
of anything: 0 is perfect. Beside the average over all tables of so many attributes stands what the real tables of single
attributes alone would give, which a table should be better than, and what knowing nothing would."""
CLASSIFIED: Final = """Share of real people predicted wrong by a linear support vector machine that learnt from the
synthetic table, from the real one, and by always saying the most frequent answer."""


def utility_panel(utility: Mapping[str, Any]) -> list[str]:
    """Write the panel."""
    return [
        note(" ".join(MEASURED.split())),
        *_accuracy(utility.get("accuracy")),
        *_published(utility),
        *_distances(utility),
        *_marginals(utility.get("marginals", ())),
        *_classified(utility.get("classification", ())),
        *(words(text, kind="quiet") for text in utility.get("notes", ())),
    ]


def _accuracy(right: Mapping[str, Any] | None) -> list[str]:
    if right is None:
        return []
    drawn = bars(
        ["right"],
        [
            Bars(name=name, heights=[right[key]])
            for name, key in (("model", "model"), ("most frequent", "majority"))
        ],
        title=f"{right['label']} predicted right",
        width=420,
    )
    text = (
        f"{right['label']} is predicted right in {right['model']:.4f} of {right['rows']:,} real rows, its own; "
        f"always saying the most frequent answer is right in {right['majority']:.4f}."
    )
    return [words(text), figure(drawn, caption="", fits=True)]


def _published(utility: Mapping[str, Any]) -> list[str]:
    """Say how far the published marginals are, where a synthetic table stands beside them."""
    if utility.get("distances") and "tvd_synthetic" not in utility:
        return []
    rows = [(f"{ways}-way", value) for ways, value in utility["tvd"].items()]
    return [table(("published tables", "average distance"), rows)]


def _distances(utility: Mapping[str, Any]) -> list[str]:
    lines = utility.get("distances") or ()
    if not lines:
        return []
    names = [
        f"{own['ways']}-way{'' if own['attributes'] == 'original' else ' of bits'}" for own in lines
    ]
    rows = {"synthetic table": "average", "single attributes": "one_way", "uniform": "uniform"}
    drawn = bars(
        names,
        [Bars(name=name, heights=[own[key] for own in lines]) for name, key in rows.items()],
        title="Average distances beside their floors",
        width=420,
    )
    head = (
        "tables",
        "average",
        "single attributes",
        "uniform",
        "worst",
        "the worst one",
        "compared",
    )
    compared = [f"{own['marginals']:,} of {own['of']:,}" for own in lines]
    told = [
        (
            name,
            own["average"],
            own["one_way"],
            own["uniform"],
            own["worst"],
            " x ".join(own["worst_marginal"]),
            many,
        )
        for name, own, many in zip(names, lines, compared, strict=True)
    ]
    dependence = utility.get("dependence") or {}
    kept = ""
    if dependence.get("largest_pair"):
        kept = words(
            f"The mutual information of two attributes differs by {dependence['difference']:.4f} bits on average, by "
            f"{dependence['largest']:.4f} at most ({' x '.join(dependence['largest_pair'])})."
        )
    return [
        words(" ".join(DISTANCES.split())),
        figure(drawn, caption="", fits=True),
        table(head, told),
        kept,
    ]


def _marginals(shown: Sequence[Mapping[str, Any]]) -> list[str]:
    """Draw the worst marginals, real against published."""
    if not shown:
        return []
    parts = ["<h3>The marginals that came out worst</h3>"]
    for ways in sorted({len(own["attributes"]) for own in shown}, reverse=True):
        pictures = [_marginal(own) for own in shown if len(own["attributes"]) == ways]
        parts += [
            words(f"Of {ways} attribute{'' if ways == 1 else 's'}:"),
            f'<div class="several">{"".join(pictures)}</div>',
        ]
    return parts


def _marginal(own: Mapping[str, Any]) -> str:
    title = " x ".join(own["attributes"])
    drawn = bars(
        own["cells"],
        [Bars(name="real", heights=own["real"]), Bars(name="published", heights=own["published"])],
        title=title,
    )
    rest = ""
    if own["rest"]:
        many, real, published = own["rest"]
        rest = f". The other {many:,} cells together: real {real:.3f}, published {published:.3f}"
    return figure(drawn, caption=f"{title}: distance {own['distance']:.4f}{rest}", fits=True)


def _classified(classified: Sequence[Mapping[str, Any]]) -> list[str]:
    if not classified:
        return []
    rows = {
        "from the synthetic table": "synthetic",
        "from the real table": "real",
        "most frequent": "majority",
    }
    drawn = bars(
        [own["target"] for own in classified],
        [Bars(name=name, heights=[own[key] for own in classified]) for name, key in rows.items()],
        title="Predicted wrong",
        width=480,
    )
    head = ("target", "synthetic", "real", "majority", "tested")
    return [
        "<h3>Classifiers</h3>",
        words(" ".join(CLASSIFIED.split())),
        figure(drawn, caption="", fits=True),
        table(head, [[own[name] for name in head] for own in classified]),
    ]
