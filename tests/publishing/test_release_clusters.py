"""Spark: the same release and file as from pandas, cell for cell."""

import pandas as pd
import pyarrow as pa
import pytest
from persons import QUASI, persons, rows_of
from test_distinct_rows import made_both_ways

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, MarketerRisk
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import release, verify
from pymoo_anon.publishing.release import Asked
from pymoo_anon.study.engines import write_table
from pymoo_anon.table import Microdata


def of_spark(frame, spark):
    rows = [tuple(None if pd.isna(cell) else cell for cell in row) for row in frame.itertuples(index=False)]
    return spark.createDataFrame(rows, list(frame))


# PySpark calls pandas in ways that pandas 3 warns of.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suppressed", ["drop", "mark"])
@pytest.mark.slow
def test_the_same_release_from_spark(suppressed, spark, tmp_path):
    frame = pd.concat([persons(), persons(diagnosis=["flu", None, "=1", 'a"b', "x\ny", " lead"])], ignore_index=True)
    given = of_spark(frame, spark)
    tables = [Microdata.from_frame(own, QUASI, "diagnosis", missing="keep") for own in (frame, given)]
    assert tables[0].tuples.codes.tolist() == tables[1].tuples.codes.tolist()
    measures = [KAnonymity(), DistinctLDiversity("diagnosis"), GeneralLossMetric()]
    one, other = (
        release(own, LatticeProblem(table, measures, 6), [0, 1], drop="name", keep="salary", suppressed=suppressed)
        for own, table in zip((frame, given), tables, strict=True)
    )
    assert type(other.frame) is type(given)
    assert rows_of(other.frame) == rows_of(one.frame)
    assert other.claims.equals(one.claims)
    assert verify(given, ["sex"], [KAnonymity() >= 2]).equals(verify(frame, ["sex"], [KAnonymity() >= 2]))
    for ending in ("csv", "parquet"):
        paths = [tmp_path / f"{name}.{ending}" for name in ("pandas", "spark")]
        write_table(one.frame, paths[0])
        write_table(other.frame, paths[1])
        read = pd.read_csv if ending == "csv" else pd.read_parquet
        pd.testing.assert_frame_equal(read(paths[0]), read(paths[1]), check_dtype=False)
        assert sorted(tmp_path.iterdir()) == sorted({*tmp_path.glob("*.csv"), *tmp_path.glob("*.parquet")})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_local_recoding_is_the_same_release_from_spark(spark):
    frame = pd.concat([persons(), persons(age=[30, 17, 41, 99, 17, 17])], ignore_index=True)
    given = of_spark(frame, spark)
    made = []
    for own in (frame, given):
        table = Microdata.from_frame(own, QUASI, "diagnosis")
        problem = LocalRecodingProblem(
            table,
            [KAnonymity(), GeneralLossMetric(), MarketerRisk()],
            [DistinctLDiversity("diagnosis") >= 2],
        )
        made.append(release(own, problem, problem.x_of(2), drop="name", keep="salary"))
    one, other = made
    assert type(other.frame) is type(given)
    assert rows_of(other.frame) == rows_of(one.frame)
    assert other.claims.equals(one.claims)
    assert one.claims.holds.all()
    assert one.frame.groupby(["age", "sex"]).ngroups > 1
    lattice = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()])
    refined = release(given, lattice, [1, 1], drop="name", keep="salary", recoding="local")
    assert len(rows_of(refined.frame)[1]) == 12
    assert refined.claims.holds.all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_distinct_rows_and_all_rows_make_the_same_file(spark, tmp_path):
    frame = pd.concat([persons(diagnosis=["flu", None, "=1", 'a"b', "x\ny", " lead"])] * 3, ignore_index=True)
    given = of_spark(frame, spark)
    table = Microdata.from_frame(given, QUASI, "diagnosis", missing="keep")
    problem = LatticeProblem(table, [KAnonymity(), DistinctLDiversity("diagnosis")], 6)
    rows, distinct = made_both_ways(given, problem, Asked("name", "salary", "drop", anyway="it is only a test"), [0, 1])
    assert rows_of(distinct.frame) == rows_of(rows.frame)
    for ending in ("csv", "parquet"):
        paths = [tmp_path / f"{name}.{ending}" for name in ("rows", "distinct")]
        for made, path in zip((rows, distinct), paths, strict=True):
            write_table(made.frame, path)
    assert (tmp_path / "distinct.csv").read_bytes() == (tmp_path / "rows.csv").read_bytes()
    read = [pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("rows", "distinct")]
    pd.testing.assert_frame_equal(*read)


def test_a_release_needs_no_package_of_another_engine():
    """Join a frame with its own kind, and load no other engine."""
    frame = pa.Table.from_pandas(persons())
    table = Microdata.from_frame(frame, QUASI, "diagnosis")
    made = release(frame, LatticeProblem(table, [KAnonymity()]), [1, 1], drop=["name", "salary"])
    assert isinstance(made.frame, pa.Table)
