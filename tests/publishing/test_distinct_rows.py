"""Releases by distinct rows: the same bytes as row by row."""

import datetime
from decimal import Decimal
from importlib import import_module

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from persons import FRAMES, persons, rows_of
from persons import QUASI as OF_PERSONS
from strategies import fewer

from pymoo_anon.objectives import DistinctLDiversity, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing.release import Asked, recode
from pymoo_anon.study.engines import write_table
from pymoo_anon.table import Hierarchy, Microdata, frames

ODD = ["a", "", " lead", 'qu"ote', "com,ma", "line\nend", "re\r\nturn", "ä", '"', "\n"]
#: Values of kept columns, by their type in an engine.
KINDS = {
    pa.float64(): [0.1, -0.0, 0.0, 1e300, 2.5, None],
    pa.int64(): [2**53 + 1, 2**53, -1, None],
    pa.date32(): [datetime.date(1990, 1, 2), datetime.date(2001, 12, 31), None],
    pa.decimal128(9, 2): [Decimal("0.10"), Decimal("-3.25"), None],
    pa.bool_(): [True, False, None],
    pa.string(): [*ODD, None],
    pa.timestamp("us"): [datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.datetime(2020, 1, 2), None],
}
QUASI = {"q": Hierarchy.flat([17, 18, 19]), "town": Hierarchy.flat(["Bonn", 'K"öln', "a,b"])}
REASONS = {"kept": "it is kept as drawn", "number": "it is kept as drawn"}


@st.composite
def given_rows(draw):
    """Draw a table of repeated rows, one column kept, of any type."""
    kind = draw(st.sampled_from(list(KINDS)))
    one = st.tuples(
        st.sampled_from(KINDS[kind]),
        st.sampled_from(QUASI["q"].domain),
        st.sampled_from([*ODD, None]),
        st.sampled_from([*QUASI["town"].domain, None]),
    )
    rows = draw(st.lists(one, min_size=1, max_size=6))
    times = draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    drawn = draw(st.permutations(list(np.repeat(np.arange(len(rows)), times))))
    columns = [list(column) for column in zip(*(rows[i] for i in drawn), strict=True)]
    types = [kind, pa.int64(), pa.string(), pa.string()]
    arrays = [pa.array(column, own) for column, own in zip(columns, types, strict=True)]
    table = pa.table(arrays, names=["kept", "q", "s", "town"])
    if draw(st.booleans()):
        return table.append_column("number", pa.array(range(len(drawn))))
    return table


def made_both_ways(frame, problem, asked, x=(0, 0)):
    """Release every row, and distinct rows."""
    both = []
    for share in (-1.0, 1.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(import_module("pymoo_anon.publishing.release"), "_FEW", share)
            both.append(recode(frame, problem, x, asked))
    assert [own._are_few for own in both] == [False, True]
    return both


@fewer(4)
@given(table=given_rows(), suppressed=st.sampled_from(["mark", "drop"]), limit=st.integers(0, 4))
@pytest.mark.parametrize("engine", FRAMES)
def test_both_ways_write_the_same_bytes(engine, table, suppressed, limit, tmp_path_factory):
    frame, folder = FRAMES[engine](table), tmp_path_factory.mktemp("files")
    read = Microdata.from_frame(frame, QUASI, "s", missing="keep")
    problem = LatticeProblem(read, [KAnonymity(), DistinctLDiversity("s")], suppression=min(limit, table.num_rows - 1))
    keep = {name: reason for name, reason in REASONS.items() if name in table.column_names}
    asked = Asked(keep=keep, suppressed=suppressed, anyway="it is only a test")
    assume(suppressed == "mark" or problem.equivalence_classes([0, 0]).kept.any())
    rows, distinct = made_both_ways(frame, problem, asked)
    assert type(distinct.frame) is type(frame)
    assert rows_of(distinct.frame) == rows_of(rows.frame)
    for ending in ("csv", "parquet") if engine == "duckdb" else ():
        paths = [folder / f"{name}.{ending}" for name in ("rows", "distinct")]
        for made, path in zip((rows, distinct), paths, strict=True):
            write_table(made.frame, path, made.counted)
        assert sorted(path.name for path in folder.glob(f"*.{ending}*")) == [f"distinct.{ending}", f"rows.{ending}"]
        if ending == "csv":
            assert paths[1].read_bytes() == paths[0].read_bytes()
        else:
            one, other = map(pq.read_table, paths)
            assert one.to_pydict() == other.to_pydict()
            types = [[str(field.type).removeprefix("large_") for field in table.schema] for table in (one, other)]
            assert types[0] == types[1]


# PySpark calls pandas in ways that pandas 3 warns of.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_spark_writes_the_same_files_as_pandas_from_all_rows_and_from_distinct_ones(spark, tmp_path):
    frame = pd.concat([persons(diagnosis=["flu", None, "=1", 'a"b', "x\ny", " lead"])] * 3, ignore_index=True)
    given, made = spark.createDataFrame(rows_of(frame)[1], list(frame)), {}
    for name, own in (("pandas", frame), ("spark", given)):
        table = Microdata.from_frame(own, OF_PERSONS, "diagnosis", missing="keep")
        problem = LatticeProblem(table, [KAnonymity(), DistinctLDiversity("diagnosis")], 6)
        asked = Asked("name", "salary", "drop", anyway="it is only a test")
        made |= dict(zip((f"{name} rows", name), made_both_ways(own, problem, asked, [0, 1]), strict=True))
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        written = {}
        for name, own in made.items():
            path = tmp_path / f"{name}.{ending}"
            write_table(own.frame, path)
            written[name] = read(path)
            pd.testing.assert_frame_equal(written[name], written["pandas rows"], check_dtype=False)
        assert len(list(tmp_path.glob(f"*.{ending}*"))) == len(made)
    assert (tmp_path / "spark.csv").read_bytes() == (tmp_path / "spark rows.csv").read_bytes()


def test_objects_that_are_equal_and_written_in_two_ways_stay_two(monkeypatch):
    # Two rows a block.
    monkeypatch.setattr(frames, "_FEW_CELLS", 6)
    values = [1, 1.0, True, Decimal("1.0"), Decimal("1.00"), 1] * 3
    frame = pd.DataFrame({"q": 17, "town": "Bonn", "kept": pd.Series(values, dtype=object)})
    problem = LatticeProblem(Microdata.from_frame(frame, QUASI), [KAnonymity()])
    made = recode(frame, problem, [0, 0], Asked(keep={"kept": "it is kept as drawn"}))
    assert len(made._rows) == 5
    assert sorted(map(str, made.frame.kept)) == sorted(map(str, values))


def test_a_release_of_pandas_takes_no_memory_that_it_can_do_without():
    frame = pd.DataFrame({"q": [17, 17, 18, 18] * 3, "town": "Bonn", "s": [*"abab"] * 3})
    plain = frames.renamed(frame).frame.to_native()
    assert np.shares_memory(plain["column 0"], frame["q"])
    assert frames.rows_of(frames.renamed(frame).frame)[1].strides == (0,)
    problem = LatticeProblem(Microdata.from_frame(frame, QUASI, "s"), [KAnonymity()])
    problem.evaluate(np.array([[0, 0]]))
    assert "grouper" in vars(problem.table)
    made = recode(frame, problem, [0, 0], Asked())
    assert "grouper" not in vars(problem.table)
    assert isinstance(made.frame.index, pd.RangeIndex)
