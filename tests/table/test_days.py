"""Days: dates, moments and ISO text match one hierarchy in every frame."""

import io
from datetime import date, datetime, time, timedelta, timezone

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.table import Hierarchy, Microdata

DAYS = [date(2021, 3, 5), date(2021, 3, 6), date(1969, 12, 31)]
MONTHS = ["2021-03", "2021-03", "1969-12"]
EAST = timezone(timedelta(hours=9))

DOMAINS = {
    "dates": DAYS,
    "text": [str(day) for day in DAYS],
    "midnights": [datetime.combine(day, time()) for day in DAYS],
    "pandas": [pd.Timestamp(day) for day in DAYS],
    "mixed": [DAYS[0], str(DAYS[1]), pd.Timestamp(DAYS[2])],
}
SPELLINGS = {
    "date": lambda day: day,
    "text": str,
    "midnight": lambda day: datetime.combine(day, time()),
    "evening": lambda day: datetime.combine(day, time(23, 59, 59, 999_999)),
    "Timestamp": lambda day: pd.Timestamp(day) + pd.Timedelta(hours=23),
    "numpy day": np.datetime64,
    "numpy moment": lambda day: np.datetime64(f"{day}T23:59:59.999999999"),
    "elsewhere": lambda day: datetime.combine(day, time(1), tzinfo=EAST),
    "ISO": lambda day: f"{day}T10:00",
    "ISO hour": lambda day: f"{day}T10",
    "ISO Z": lambda day: f"{day}T23:30:00Z",
    "ISO offset": lambda day: f"{day}T23:30:00.5+0200",
    "ISO comma": lambda day: f"{day}T23:30:00,5-02",
    "Python": lambda day: str(datetime.combine(day, time(10, 0, 1), tzinfo=EAST)),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_spelling_matches_its_day(domain, spelling):
    hierarchy = Hierarchy([DOMAINS[domain], MONTHS]).with_missing()
    values = [*map(SPELLINGS[spelling], [*DAYS, date(2021, 3, 7)]), None]
    assert hierarchy.encode(values).tolist() == [0, 1, 2, -1, 3]


@pytest.mark.parametrize(
    "value",
    [
        "05.03.2021",
        "2021-3-5",
        " 2021-03-05",
        "2021-03-05 ",
        "2021-03-05T",
        "2021-03-05T1",
        "2021-03-05Z",
        "2021-03-05x10:00",
        "2021-02-30",
        "20210305",
        20210305,
        2021.0305,
        pd.NaT,
        float("nan"),
        True,
        "",
        "２０２１-03-05",
    ],
)
def test_nothing_else_does(value):
    assert Hierarchy.flat(DAYS).encode([value]).tolist() == [-1]


def test_values_that_stand_in_the_domain_come_first():
    """Match moments to days only if the whole domain is distinct days."""
    for domain in (
        ["2021-03-05", "2021-03-05T10:00"],
        ["2021-03-05", "unknown"],
        ["2021-03-05", date(2021, 3, 5)],
        ["2021-03-05", 7],
        [datetime(2021, 3, 5, 1), "2021-03-05"],
        [datetime(2021, 3, 5, tzinfo=EAST), "2021-03-05"],
    ):
        hierarchy = Hierarchy.flat(domain)
        assert hierarchy.encode(domain).tolist() == [0, 1]
        assert hierarchy.encode(["2021-03-05T11:00", datetime(2021, 3, 5, 11)]).tolist() == [-1, -1]
    for other in ("2021-03-05T10:00", datetime(2021, 3, 5, 10), datetime(2021, 3, 5, tzinfo=EAST)):
        assert (
            Hierarchy.flat(["2021-03-06", other]).encode(["2021-03-05T11:00", "2021-03-06T11:00"]).tolist() == [-1] * 2
        )


def test_an_empty_text_is_missing_where_no_value_is_empty():
    assert Hierarchy.flat(["a", None]).encode(["", None]).tolist() == [1, 1]
    assert Hierarchy.flat(["", None]).encode(["", None]).tolist() == [0, 1]
    assert Hierarchy.flat(["", "a"]).encode(["", None]).tolist() == [0, -1]
    bins = Hierarchy.intervals(0, 4, widths=[2])
    assert bins.with_missing().encode(["", None, 3, "3"]).tolist() == [4, 4, 3, -1]
    assert bins.encode(["", None, 3]).tolist() == [-1, -1, 3]


@given(st.datetimes(timezones=st.none() | st.timezones()))
def test_any_moment_matches_its_own_day(moment):
    """Compare with Python's own calendar."""
    hierarchy = Hierarchy.flat([moment.date() - timedelta(1), moment.date()]) if moment.date() > date.min else None
    if hierarchy is not None:
        assert hierarchy.encode([moment, moment.isoformat(), str(moment)]).tolist() == [1, 1, 1]


MOMENTS = [datetime(2021, 3, 5, 10), datetime(2021, 3, 5), datetime(2021, 3, 6, 23, 59), None]
FRAMES = {
    "pandas": lambda values: pd.DataFrame({"seen": pd.to_datetime(pd.Series(values))}),
    "pandas with a zone": lambda values: pd.DataFrame({"seen": pd.to_datetime(pd.Series(values)).dt.tz_localize(EAST)}),
    "pandas text": lambda values: pd.DataFrame({"seen": [v and v.isoformat() for v in values]}),
    "polars": lambda values: pl.DataFrame({"seen": values}),
    "polars lazy": lambda values: pl.LazyFrame({"seen": values}),
    "polars with a zone": lambda values: pl.DataFrame({"seen": pl.Series(values).dt.replace_time_zone("Asia/Tokyo")}),
    "polars dates": lambda values: pl.DataFrame({"seen": [v and v.date() for v in values]}),
    "polars text": lambda values: pl.DataFrame({"seen": [v and str(v) for v in values]}),
    "pyarrow": lambda values: pa.table({"seen": pa.array(values, pa.timestamp("us"))}),
    "pyarrow dates": lambda values: pa.table({"seen": pa.array([v and v.date() for v in values], pa.date32())}),
    "duckdb": lambda values: duckdb.from_arrow(pa.table({"seen": pa.array(values, pa.timestamp("us"))})),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("missing", ["drop", "keep"])
def test_every_frame_gives_the_same_days(frame, missing):
    text = "2021-03-05;2021-03;*\n2021-03-06;2021-03;*\n;;*\n"
    for hierarchy in (Hierarchy.from_csv(io.StringIO(text)), Hierarchy.flat([*DAYS[:2], None])):
        made = FRAMES[frame](MOMENTS)
        table = Microdata.from_frame(made, {"seen": hierarchy}, missing=missing)
        counts = dict(zip(table.tuples.codes[:, 0].tolist(), table.tuples.counts.tolist(), strict=True))
        assert counts == {0: 2, 1: 1, **({2: 1} if missing == "keep" else {})}
