"""The panel on utility: distances beside baselines, the worst marginals, and classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...evaluation import Utility
from ...evaluation.classification import Misclassification
from ...evaluation.dependence import Dependence
from ...evaluation.distances import Distance
from ...evaluation.prediction import Accuracy
from ...evaluation.worst import MarginalComparison
from .bars import Bars, bars
from .document import figure, note, table, words

__all__ = ["utility_panel"]

MEASURED: Final = """What follows, and what the top of the page says of it, was measured on the
real table, without any noise. It is for whoever may see that table, and not to be published;
`sottovoce report DIR --public` writes this page without it."""
DISTANCES: Final = """The total variation distance of two tables is the largest difference that they
can have in the probability of anything: 0 is perfect. Beside the average over all tables of so many
attributes stands what the real tables of single attributes alone would give, which a table should
be better than, and what knowing nothing would."""
CLASSIFIED: Final = """Share of real people predicted wrong by a linear support vector machine that
learnt from the synthetic table, from the real one, and by always saying the most frequent
answer."""


def utility_panel(utility: Utility) -> list[str]:
    """Write the panel."""
    return [
        note(" ".join(MEASURED.split())),
        *([] if utility.accuracy is None else _accuracy(utility.accuracy)),
        *_published(utility),
        *_distances(utility.distances or (), utility.dependence),
        *_marginals(utility.marginals or ()),
        *_classifiers(utility.classification or ()),
        *(words(text, kind="quiet") for text in utility.notes or ()),
    ]


def _accuracy(accuracy: Accuracy) -> list[str]:
    drawn = bars(
        ["right"],
        [
            Bars(name="model", heights=[accuracy.model]),
            Bars(name="most frequent", heights=[accuracy.majority]),
        ],
        title=f"{accuracy.label} predicted right",
        width=420,
    )
    text = (
        f"{accuracy.label} is predicted right in {accuracy.model:.4f} of {accuracy.rows:,} real "
        "rows, its own; always saying the most frequent answer is right in "
        f"{accuracy.majority:.4f}."
    )
    return [words(text), figure(drawn, caption="", fits=True)]


def _published(utility: Utility) -> list[str]:
    """List the distances of published marginals, unless the only distances are a table's."""
    if utility.distances and utility.tvd_synthetic is None:
        return []
    rows = [(f"{ways}-way", distance) for ways, distance in utility.tvd.items()]
    return [table(("published tables", "average distance"), rows)]


def _distances(distances: Sequence[Distance], dependence: Dependence | None) -> list[str]:
    if not distances:
        return []
    names = [
        f"{distance.ways}-way{'' if distance.attributes == 'original' else ' of bits'}"
        for distance in distances
    ]
    drawn = bars(
        names,
        [
            Bars(name="synthetic table", heights=[distance.average for distance in distances]),
            Bars(name="single attributes", heights=[distance.one_way for distance in distances]),
            Bars(name="uniform", heights=[distance.uniform for distance in distances]),
        ],
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
    rows = [
        (
            name,
            distance.average,
            distance.one_way,
            distance.uniform,
            distance.worst,
            " x ".join(distance.worst_marginal),
            f"{distance.marginals:,} of {distance.of:,}",
        )
        for name, distance in zip(names, distances, strict=True)
    ]
    return [
        words(" ".join(DISTANCES.split())),
        figure(drawn, caption="", fits=True),
        table(head, rows),
        "" if dependence is None else _dependence(dependence),
    ]


def _dependence(dependence: Dependence) -> str:
    if not dependence.largest_pair:
        return ""
    return words(
        "The mutual information of two attributes differs by "
        f"{dependence.difference:.4f} bits on average, by {dependence.largest:.4f} at most "
        f"({' x '.join(dependence.largest_pair)})."
    )


def _marginals(marginals: Sequence[MarginalComparison]) -> list[str]:
    """Draw the worst marginals, real beside published."""
    if not marginals:
        return []
    parts = ["<h3>The marginals that came out worst</h3>"]
    for ways in sorted({len(marginal.attributes) for marginal in marginals}, reverse=True):
        pictures = [
            _marginal(marginal) for marginal in marginals if len(marginal.attributes) == ways
        ]
        parts += [
            words(f"Of {ways} attribute{'' if ways == 1 else 's'}:"),
            f'<div class="several">{"".join(pictures)}</div>',
        ]
    return parts


def _marginal(marginal: MarginalComparison) -> str:
    title = " x ".join(marginal.attributes)
    drawn = bars(
        marginal.cells,
        [
            Bars(name="real", heights=marginal.real),
            Bars(name="published", heights=marginal.published),
        ],
        title=title,
    )
    caption = f"{title}: distance {marginal.distance:.4f}"
    if marginal.rest is not None:
        cells, real, published = marginal.rest
        caption += (
            f". The other {cells:,} cells together: real {real:.3f}, published {published:.3f}"
        )
    return figure(drawn, caption=caption, fits=True)


def _classifiers(classified: Sequence[Misclassification]) -> list[str]:
    if not classified:
        return []
    drawn = bars(
        [result.target for result in classified],
        [
            Bars(
                name="from the synthetic table",
                heights=[result.synthetic for result in classified],
            ),
            Bars(name="from the real table", heights=[result.real for result in classified]),
            Bars(name="most frequent", heights=[result.majority for result in classified]),
        ],
        title="Predicted wrong",
        width=480,
    )
    rows = [
        (result.target, result.synthetic, result.real, result.majority, result.tested)
        for result in classified
    ]
    return [
        "<h3>Classifiers</h3>",
        words(" ".join(CLASSIFIED.split())),
        figure(drawn, caption="", fits=True),
        table(("target", "synthetic", "real", "majority", "tested"), rows),
    ]
