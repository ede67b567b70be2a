"""The panel on utility: distances beside baselines, the worst marginals, and classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...evaluation import Utility
from ...evaluation.classification import Misclassification
from ...evaluation.dependence import Dependence
from ...evaluation.distances import Distance
from ...evaluation.marginal_classification import MarginalMisclassification
from ...evaluation.network_fit import NetworkFit
from ...evaluation.prediction import Accuracy
from ...evaluation.worst import MarginalComparison
from .bars import Bars, bars
from .document import figure, note, paragraph, table

__all__ = ["utility_panel"]

MEASURED: Final = """The figures of utility, here and at the top of the page, were measured on the
real table without noise. They are not private, and not to be published. The command
`sottovoce report DIR --public` writes this page without them."""
DISTANCES: Final = """The total variation distance of two tables is the largest difference between
the probabilities that they give to an event; 0 is perfect. The average is over all marginals of the
same number of attributes. There are two baselines: the exact real tables of single attributes, and
the uniform distribution, which knows nothing. A useful synthetic table is better than both."""
CLASSIFIED: Final = """Share of real people whose label is predicted wrong. A linear support vector
machine learns from the synthetic table, or from the real one; the baseline always answers the most
frequent label."""

FROM_MARGINALS: Final = """Share of real people whose label is predicted wrong by a linear support
vector machine that learns from one marginal of the label and other attributes, on average over all
published marginals that have the label."""


def utility_panel(utility: Utility) -> list[str]:
    """Write the panel."""
    return [
        note(" ".join(MEASURED.split())),
        *([] if utility.accuracy is None else _accuracy(utility.accuracy)),
        *_published(utility),
        *_distances(utility.distances or (), utility.dependence),
        *_marginals(utility.marginals or ()),
        *_classifiers(utility.classification or ()),
        *_marginal_classifiers(utility.marginal_classification or ()),
        *([] if utility.network is None else _network(utility.network)),
        *(paragraph(text, kind="quiet") for text in utility.notes or ()),
    ]


def _accuracy(accuracy: Accuracy) -> list[str]:
    drawn = bars(
        ["right"],
        [
            Bars(name="model", heights=[accuracy.model]),
            Bars(name="most frequent label", heights=[accuracy.majority]),
        ],
        title=f"{accuracy.label} predicted right",
        width=420,
    )
    text = (
        f"The model predicts {accuracy.label} right in {accuracy.model:.4f} of "
        f"{accuracy.rows:,} real rows: those that it learnt from, unless a test table was given. "
        f"Always answering the most frequent label is right in {accuracy.majority:.4f}."
    )
    return [paragraph(text), figure(drawn, caption="", fits=True)]


def _marginal_classifiers(results: Sequence[MarginalMisclassification]) -> list[str]:
    if not results:
        return []
    head = ("label", "published marginals", "exact marginals", "most frequent label", "marginals")
    rows = [
        (result.target, result.published, result.exact, result.majority, result.marginals)
        for result in results
    ]
    return [paragraph(FROM_MARGINALS), table(head, rows)]


def _network(fit: NetworkFit) -> list[str]:
    whose = "The network" if fit.networks == 1 else f"The {fit.networks} networks, on average,"
    return [
        paragraph(
            f"{whose} would describe a real record in {fit.entropy:.4g} bits with the real "
            f"conditional tables; the records themselves have {fit.entropy - fit.divergence:.4g} "
            f"bits, and independent attributes {fit.independent:.4g}. This judges which attributes "
            "were joined, without the noise of their tables."
        )
    ]


def _published(utility: Utility) -> list[str]:
    """List the distances of published marginals, unless the only distances are a table's."""
    if utility.distances and utility.tvd_synthetic is None:
        return []
    rows = [(f"{ways}-way", distance) for ways, distance in utility.tvd.items()]
    return [table(("published marginals", "average distance"), rows)]


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
        title="Average distances beside their baselines",
        width=420,
    )
    head = (
        "marginals",
        "average",
        "single attributes",
        "uniform",
        "worst",
        "worst marginal",
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
        paragraph(" ".join(DISTANCES.split())),
        figure(drawn, caption="", fits=True),
        table(head, rows),
        "" if dependence is None else _dependence(dependence),
    ]


def _dependence(dependence: Dependence) -> str:
    if not dependence.largest_pair:
        return ""
    return paragraph(
        "The mutual information of two attributes differs by "
        f"{dependence.difference:.4f} bits on average and {dependence.largest:.4f} at most "
        f"({' x '.join(dependence.largest_pair)})."
    )


def _marginals(marginals: Sequence[MarginalComparison]) -> list[str]:
    """Draw the worst marginals, real beside published."""
    if not marginals:
        return []
    parts = ["<h3>The worst marginals</h3>"]
    for ways in sorted({len(marginal.attributes) for marginal in marginals}, reverse=True):
        pictures = [
            _marginal(marginal) for marginal in marginals if len(marginal.attributes) == ways
        ]
        parts += [
            paragraph(f"Of {ways} attribute{'' if ways == 1 else 's'}:"),
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
            Bars(name="most frequent label", heights=[result.majority for result in classified]),
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
        paragraph(" ".join(CLASSIFIED.split())),
        figure(drawn, caption="", fits=True),
        table(("target", "synthetic table", "real table", "most frequent label", "tested"), rows),
    ]
