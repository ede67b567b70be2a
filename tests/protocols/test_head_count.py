"""Head count: the laws of every protocol, its counts, and its report."""

import pandas as pd
import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce


class TestConformance(SampledSuite):
    protocol = "head-count"


class TestConformanceOfOneValue(VariantSuite):
    protocol = "head-count"
    parameters = {"attribute": "sex", "value": "Female", "epsilon": 0.5}  # noqa: RUF012
    parties = 5


def test_rows_and_values_are_counted() -> None:
    table = pd.DataFrame({"colour": ["red"] * 30 + ["blue"] * 12})
    run = sottovoce.run(
        "head-count", table, parties=3, seed=5, epsilon=40, attribute="colour", value="blue"
    )
    # At epsilon 40 a party's noise is not zero with probability 2 exp(-40).
    assert run.report["outcome"] == {"count": 12}
    assert run.marginals is not None
    assert run.marginals.to_dict("records") == [
        {"attribute_1": "colour", "value_1": "blue", "count": 12}
    ]
    assert list(run.ledger["kind"]) == ["NoisyCount"] * 3


@pytest.mark.parametrize("epsilon", [0.05, 0.5])
def test_the_noise_is_that_of_one_record(epsilon: float) -> None:
    """Another record changes a count by 1, so more noise than of scale 1 / epsilon is waste."""
    table = pd.DataFrame({"x": ["same"] * 100})
    run = sottovoce.run("head-count", table, parties=3, seed=5, epsilon=epsilon, judge=False)
    releases = run.record.releases
    assert [release.loss.epsilon for release in releases] == [epsilon] * 3
    assert [release.scale for release in releases] == [1 / epsilon] * 3


def test_each_party_may_have_its_own_table() -> None:
    tables = [pd.DataFrame({"x": range(size)}) for size in (3, 10, 20)]
    run = sottovoce.run("head-count", tables, parties=3, seed=5, epsilon=40)
    assert run.report["outcome"] == {"count": 33}
    assert run.report["rows"] is None  # secret, where neighbours differ by a record
    assert run.judgement["rows"] == 33


def test_the_report_has_the_keys_of_the_contract() -> None:
    report = sottovoce.run("head-count", rows=90, seed=5).report
    contract = {
        "protocol",
        "parameters",
        "parties",
        "rows",
        "mode",
        "seed",
        "transport",
        "mpi",
        "seconds",
        "phases",
        "communication",
        "privacy",
        "warnings",
    }
    assert contract <= report.keys()
    assert report["communication"].keys() >= {
        "messages",
        "rounds",
        "payload_bytes",
        "frame_bytes",
        "ciphertext_bytes",
        "by_phase",
        "by_edge",
        "predicted",
    }
    assert report["privacy"].keys() >= {"claimed_epsilon", "epsilon", "by_party", "releases"}
    assert report["privacy"]["epsilon"] == {"public": 1.0, "curator": 1.0, "other_party": 1.0}
    assert report["communication"]["rounds"] == 1
    assert report["phases"][0].keys() == {"name", "seconds", "bytes"}


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"epsilon": 0}, "parameter epsilon"),
        ({"epsilon": "many"}, "^epsilon: expected `float`, got `str`, found 'many'$"),
        ({"epsilom": 1}, "found 'epsilom'"),
        ({"attribute": "sex"}, "attribute and value together"),
        ({"attribute": "hair", "value": "red"}, "expected an attribute of the data"),
        ({"mode": "paper"}, "expected --mode rigorous"),
        ({"rows": 2}, "at least one row for each of 3 parties, found --rows 2"),
        ({"data": "/no/such.csv"}, "found none at /no/such.csv"),
        ({"parties": 3, "data": ["demo", "demo"]}, "one for each of 3 parties, found 2"),
    ],
)
def test_bad_input_is_refused_in_one_line(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(sottovoce.UsageError, match=complaint) as caught:
        sottovoce.run("head-count", **{"rows": 60, **given})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
