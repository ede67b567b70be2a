"""Times of day: read as their hours, proposed as such, and published with minutes."""

from __future__ import annotations

import datetime as dt
import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.messages import UsageError
from sottovoce.parties import load, read_schema, write_schema
from sottovoce.parties.clock_texts import HOURS, hour_name, read_clock, write_clock
from sottovoce.parties.inferred_doubts import inferred_doubts
from sottovoce.parties.profile import ColumnProfile
from sottovoce.parties.proposing import propose
from sottovoce.parties.raw import TextColumn

ROWS = 2000


def hours_of(values: list[Any], **entry: Any) -> list[str]:
    """Encode times by a rule that has travelled through a file, and give their labels."""
    schema = read_schema({"at": {"by": "hour", **entry}})
    assert read_schema(json.loads(write_schema(schema))) == schema
    records = load(pd.DataFrame({"at": pd.Series(values)}), schema=schema)
    return [str(label) for label in records.column("at")]


def profile_of(texts: list[str]) -> ColumnProfile:
    profile = ColumnProfile("at")
    places = np.repeat(np.arange(len(texts), dtype=np.int64), 20)
    profile.add(TextColumn(places, texts))
    return profile


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("00:00", "00:00"),
        ("0:59", "00:00"),
        ("09:05:59", "09:00"),
        ("23:59:59.999", "23:00"),
        ("24:00", "00:00"),
        ("12:10 am", "00:00"),
        ("12:10 PM", "12:00"),
        ("1:07 p.m.", "13:00"),
        ("2024-02-29 17:30:00", "17:00"),
        ("2024-02-29T17:30:00+02:00", "17:00"),
        ("29.02.2024 17:30", "17:00"),
        ("17:30Z", "17:00"),
        ("17:30:00+02:00", "17:00"),
        ("29 Feb 2024 17:30", "17:00"),
        ("14:00-15:00", ""),
        ("9:00-1700", ""),
        ("17:30:00-15:00", ""),
        ("A1 10:20", ""),
        ("John 1 3:16", ""),
        ("10.0.0.1 12:34", ""),
        ("1.5 10:00", ""),
        ("24:01", ""),
        ("13:10 pm", ""),
        ("0:10 am", ""),
        ("17:60", ""),
        ("17:30:61", ""),
        ("1730", ""),
        ("17.30", ""),
        ("at noon", ""),
        ("", ""),
        ("117:30", ""),
    ],
)
def test_times_as_people_write_them(text: str, hour: str) -> None:
    assert hour_name(read_clock(text)) == hour


def test_every_second_is_read_as_it_is_written() -> None:
    for seconds in range(0, 86_400, 61):
        text = write_clock(seconds, ["%H:%M:%S"])
        assert read_clock(text) == seconds
        assert read_clock(write_clock(seconds, ["%I:%M:%S %p"])) == seconds
        assert HOURS[seconds // 3600] == hour_name(read_clock(write_clock(seconds)))


def test_a_rule_reads_times_of_several_kinds() -> None:
    times = [dt.time(7, 15), "07:59", "2024-01-01 18:00:00", "6:00 pm"]
    assert hours_of(times) == ["07:00", "07:00", "18:00", "18:00"]
    assert hours_of(["17h30", "18h05"], formats=["%Hh%M"]) == ["17:00", "18:00"]
    stamps = [*pd.to_datetime(["2024-01-01 05:30", "2024-01-02 23:00"])]
    assert hours_of(stamps) == ["05:00", "23:00"]
    assert hours_of(["12:00", "?"], missing="category") == ["12:00", "?"]


def test_what_is_no_time_is_refused_by_its_row() -> None:
    with pytest.raises(UsageError, match=r"expected a time of day such as 14:05 for at, .*row 2"):
        hours_of(["12:00", "noon"])


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ({"by": "hour", "range": ["00:00", "12:00"]}, "no range beside by: hour"),
        ({"by": "hours"}, "expected one of 'weekday', .*'hour', .*'decade' for by, found 'hours'"),
        ({"by": "hour", "formats": ["HH:MM"]}, "formats of times of day, such as %H:%M or .*HH:MM"),
        ({"by": "hour", "formats": ["%H:%M", "%M"]}, "found '%M'"),
        ({"by": "hour", "formats": ["%I:%M"]}, "found '%I:%M'"),
        ({"by": "hour", "formats": ["%Y-%m-%d %H:%M"]}, "found '%Y-%m-%d %H:%M'"),
        ({"categories": ["00:00"], "kind": "hours"}, "leave out the categories"),
    ],
)
def test_wrong_entries_are_refused(entry: Any, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        read_schema({"at": entry})


def test_hours_are_proposed_for_times() -> None:
    minutes = [f"{hour:02}:{minute:02}" for hour in range(6, 22) for minute in (0, 17, 43)]
    proposal = propose(profile_of([*minutes, "unknown"]))
    assert proposal.rule is not None
    assert proposal.rule.labels == (*HOURS, "?")
    assert sum(proposal.counts) == 20 * 49
    assert proposal.counts[-1] == 20
    seconds = propose(profile_of([f"{text}:31" for text in minutes])).rule
    assert getattr(seconds, "formats", None) == ("%H:%M:%S",)


@pytest.mark.parametrize(
    "texts",
    [
        ["06:00", "14:00", "22:00"],
        [f"{minute}:{second:02}" for minute in range(60) for second in (1, 30)],
        [f"{number}:{number}" for number in range(60, 99)],
        [f"aa:{number}" for number in range(10, 60)],
        [f"{hour:02}:00-{hour + 1:02}:30" for hour in range(4, 22)],
        [*(f"{hour:02}:10" for hour in range(24)), *(f"ask {name}" for name in "abcd")],
    ],
    ids=["three shifts", "minutes and seconds", "ratios", "codes", "opening hours", "remarks"],
)
def test_other_texts_with_colons_are_no_times(texts: list[str]) -> None:
    rule = propose(profile_of(texts)).rule
    assert getattr(rule, "kind", None) != "hours"


def test_dates_with_times_say_how_to_keep_the_hour() -> None:
    stamps = [f"2024-01-{day:02} {hour:02}:10:00" for day in range(1, 29) for hour in (3, 15)]
    remarks = propose(profile_of(stamps)).remarks
    assert 'times are left out; by hour of the day instead: {"by": "hour"}' in remarks
    midnights = [f"2024-01-{day:02} 00:00:00" for day in range(1, 29)]
    assert not any("hour" in remark for remark in propose(profile_of(midnights)).remarks)


def test_a_run_without_a_schema_says_that_times_are_many_categories() -> None:
    from sottovoce.parties import blocks, infer, merge

    generator = np.random.default_rng(1)
    seconds = generator.integers(0, 86_400, ROWS)
    table = pd.DataFrame({"at": [write_clock(int(second)) for second in seconds]})
    (text,) = inferred_doubts(merge([infer(blocks(table))]))
    assert "times, and would have the 24 hours of a day" in text


@pytest.mark.parametrize("formats", [[], ["%H:%M:%S"], ["%I:%M %p"]])
def test_published_times_lie_within_their_hours(formats: list[str]) -> None:
    """Minutes are spread evenly: each third of an hour has a third of the rows, within 5 sigma."""
    generator = np.random.default_rng(2)
    seconds = generator.integers(6 * 3600, 9 * 3600, ROWS)
    table = pd.DataFrame({"at": [write_clock(int(second)) for second in seconds]})
    schema = {"at": {"by": "hour", **({"formats": formats} if formats else {})}}
    run = sottovoce.run("one-way", table, schema=schema, parties=2, seed=1, aggregator="masks")
    assert run.synthetic is not None
    assert run.labels is not None
    texts, labels = [*run.synthetic["at"]], [*run.labels["at"]]
    assert [hour_name(read_clock(text, formats)) for text in texts] == labels
    assert {"06:00", "07:00", "08:00"} <= {*labels}
    read = np.array([read_clock(text, formats) for text in texts])
    thirds = np.bincount((read % 3600 // 1200).astype(int), minlength=3)
    assert np.abs(thirds - len(texts) / 3).max() < 5 * np.sqrt(len(texts) * 2 / 9)
    written = pd.read_csv(io.BytesIO(run.files["synthetic.csv"]), dtype=str)["at"]
    assert [*written] == texts


def test_the_middle_of_an_hour_is_its_half() -> None:
    table = pd.DataFrame({"at": ["06:10", "07:20"] * 200})
    run = sottovoce.run(
        "one-way", table, schema={"at": {"by": "hour"}}, parties=2, seed=1, midpoints=True
    )
    assert run.synthetic is not None
    assert {text[2:] for text in run.synthetic["at"]} == {":30"}
