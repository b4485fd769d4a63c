"""Readings of awkward columns: time zones, merging floats, `*`, equal texts."""

import io
import re
import warnings
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.table import Hierarchy, Microdata, draft_hierarchy
from pymoo_anon.table.frames import coded

ZONES = ("America/New_York", "Asia/Tokyo")
#: Two days in any zone, three of their moments on another day in UTC.
HOURS = [(5, 23), (5, 1), (5, 1), (6, 2), (6, 23)]


def moments(zone, gap):
    own = [datetime(2021, 3, day, hour, 30, tzinfo=ZoneInfo(zone)) for day, hour in HOURS]
    return own + [None] * gap


def relation(values, zone):
    connection = duckdb.connect()
    connection.execute(f"SET TimeZone = '{zone}'")
    return connection.from_arrow(pa.table({"seen": pa.array(values, pa.timestamp("us", zone))}))


FRAMES = {
    "pandas": lambda values, zone: pd.DataFrame({"seen": pd.to_datetime(pd.Series(values))}),
    "pandas objects": lambda values, zone: pd.DataFrame({"seen": pd.Series(values, dtype=object)}),
    "polars": lambda values, zone: pl.DataFrame({"seen": values}, schema={"seen": pl.Datetime("us", zone)}),
    "polars lazy": lambda values, zone: pl.LazyFrame({"seen": values}, schema={"seen": pl.Datetime("ms", zone)}),
    "pyarrow": lambda values, zone: pa.table({"seen": pa.array(values, pa.timestamp("ns", zone))}),
    "duckdb": relation,
}


# DuckDB uses a pandas keyword that pandas gives up.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize("gap", [0, 2])
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", FRAMES)
def test_a_moment_is_on_the_day_of_its_own_zone(kind, zone, gap):
    frame = FRAMES[kind](moments(zone, gap), zone)
    days = Hierarchy.from_csv(io.StringIO("2021-03-05;2021-03;*\n2021-03-06;2021-03;*\n"))
    table = Microdata.from_frame(frame, {"seen": days}, missing="keep")
    domain = table.quasi_identifiers["seen"].domain
    counts = {domain[code]: n for (code,), n in zip(table.tuples.codes, table.tuples.counts, strict=True)}
    assert counts == {"2021-03-05": 3, "2021-03-06": 2, **({None: 2} if gap else {})}
    made = release(frame, LatticeProblem(table, [KAnonymity(), GeneralLossMetric()]), [0])
    released = nw.from_native(made.frame)
    texts = (released.collect() if isinstance(released, nw.LazyFrame) else released)["seen"].to_list()
    assert [sum(text == day for text in texts) for day in domain[:2]] == [3, 2]
    assert made.claims["holds"].tolist() == [True, True]


LARGE = [2**53, 2**53 + 1, 2**60, 2**60 + 1, 2**60 + 1]


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA])
@pytest.mark.parametrize("kind", ["objects", "nullable", "polars", "pyarrow", "duckdb"])
def test_large_whole_numbers_beside_a_gap_stay_apart(kind, gap):
    column = [*LARGE, gap]
    plain = pa.table({"q": [*LARGE, None]})
    frame = {
        "objects": lambda: pd.DataFrame({"q": pd.Series(column, dtype=object), "s": pd.Series(column, dtype=object)}),
        "nullable": lambda: pd.DataFrame({"q": pd.array([*LARGE, None], dtype="Int64")}),
        "polars": lambda: pl.from_arrow(plain),
        "pyarrow": lambda: plain,
        "duckdb": lambda: duckdb.from_arrow(plain),
    }[kind]()
    hierarchy = Hierarchy([sorted(set(LARGE)), ["*"] * 4])
    sensitive = ["s"] if kind == "objects" else []
    table = Microdata.from_frame(frame, {"q": hierarchy}, sensitive, missing="keep")
    assert table.n_distinct == 5
    assert sorted(table.tuples.counts.tolist()) == [1, 1, 1, 1, 2]
    if sensitive:
        assert table.domain_of("s") == (2**53, 2**53 + 1, 2**60, 2**60 + 1, None)
        made = release(
            frame, LatticeProblem(table, [KAnonymity(), GeneralLossMetric()]), [0], anyway="it is only a test"
        )
        assert set(made.frame["q"].dropna()) >= {str(2**53), str(2**53 + 1), str(2**60), str(2**60 + 1)}


def test_a_text_that_stands_for_what_is_suppressed_is_refused():
    frame = pd.DataFrame({"q": ["a", "*", "a"], "s": ["*", "x", "y"]})
    message = (
        r"^column 'q' must not hold the text '\*', which marks suppressed values in a release; write another "
        r"text in its place, or nothing where no value is known \(in a project file: empty = \[\"\*\"\]\)$"
    )
    with pytest.raises(ValueError, match=message):
        Microdata.from_frame(frame, {"q": Hierarchy.flat(["a", "*"])})
    # Other columns may hold it, and so may a hierarchy.
    table = Microdata.from_frame(frame[frame.q == "a"], {"q": Hierarchy.flat(["a", "*"])}, sensitive="s")
    assert table.domain_of("s") == ("*", "y")


def test_two_forms_of_one_text_are_said():
    frame = pd.DataFrame({"q": ["Zoë", "Zoe\u0308", "Ann"], "s": ["ü", "u\u0308", "u"]})
    domain = Hierarchy.flat(frame["q"])
    message = (
        r"^column 'q' holds texts that look the same and count as two: 'Zoe\\u0308' and 'Zo\\xeb'; "
        r"unicodedata.normalize\('NFC', text\) makes them one$"
    )
    with pytest.warns(UserWarning, match=message):
        assert Microdata.from_frame(frame, {"q": domain}).n_distinct == 3
    with pytest.warns(UserWarning, match="^column 's' holds texts"):
        Microdata.from_frame(frame[["s"]].assign(q=1), {"q": Hierarchy.flat([1])}, sensitive="s")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Microdata.from_frame(frame.drop(index=1), {"q": domain}, sensitive="s")


@pytest.mark.parametrize(
    ("truth", "number"), [(True, 1), (False, 0), (np.True_, 1.0), (False, np.int64(0)), (True, Decimal(1))]
)
def test_a_truth_value_beside_its_number_is_refused(truth, number):
    """Reject values that the search separates and a recount counts as one."""
    column = pd.Series([truth, number, "x", truth, 2], dtype=object)
    message = (
        rf"^column 's' must not hold both {bool(truth)} and {re.escape(repr(number))}, which are two values here and "
        "equal in Python, so that a recount of the release counts one; write one of them in place of the other, or "
        "both as text$"
    )
    one = Hierarchy.flat([1])
    for role in ("sensitive", "label", "person"):
        with pytest.raises(ValueError, match=message):
            Microdata.from_frame(pd.DataFrame({"q": 1, "s": column}), {"q": one}, **{role: "s"})
    with pytest.raises(ValueError, match=message):
        Microdata.from_frame(pd.DataFrame({"s": column}), {"s": Hierarchy.flat([truth, 2, "x"])})
    # As text they differ everywhere, and the same number is one value everywhere.
    for own in (column.astype(str), pd.Series([1, 1.0, "x", Decimal(1), 2], dtype=object)):
        table = Microdata.from_frame(pd.DataFrame({"q": 1, "s": own}), {"q": one}, "s")
        problem = LatticeProblem(table, [KAnonymity(), DistinctLDiversity("s")])
        made = release(pd.DataFrame({"q": 1, "s": own}), problem, [0])
        assert len(table.domain_of("s")) == made.claims.set_index("measure").loc["l of s", "recounted"]


@given(st.permutations([True, 1.5, "1", "True", 0, None]))
def test_truth_values_are_no_numbers(column):
    frame = pd.DataFrame({"q": pd.Series(column, dtype=object), "s": pd.Series(column, dtype=object)})
    draft = draft_hierarchy(frame["q"]).hierarchy
    assert draft.n_values == 6
    table = Microdata.from_frame(frame, {"q": draft}, "s", missing="keep")
    assert (table.n_distinct, len(table.domain_of("s"))) == (6, 6)
    assert sorted(map(repr, table.domain_of("s"))) == sorted(map(repr, column))


@given(st.permutations([np.True_, 1, np.False_, 0, 2]))
def test_truth_values_of_numpy_are_none_either(column):
    codes, values = coded(pd.Series(column, dtype=object))
    assert [repr(values[code]) for code in codes] == [repr(value) for value in column]
    assert values == [0, False, 1, True, 2]
