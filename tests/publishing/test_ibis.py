"""Releases from a database through Ibis, equal to those from pandas."""

import ibis
import pandas as pd
import pytest
from persons import QUASI, persons, rows_of
from servers import postgres_server

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import Kept, release, verify
from pymoo_anon.table import Microdata
from pymoo_anon.table.guesses import profiles_of

ODD = ["flu", None, "=1", 'a"b', "x\ny", " lead"]


@pytest.fixture(scope="module")
def postgres():
    with postgres_server() as folder:
        connection = ibis.postgres.connect(host=str(folder), user="tester", database="postgres")
        yield connection
        connection.disconnect()


@pytest.fixture(params=["duckdb", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def connection(request):
    if request.param == "postgres":
        return request.getfixturevalue("postgres")
    return getattr(ibis, request.param).connect()


def of_database(connection, frame):
    return connection.create_table("persons", frame, overwrite=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("suppressed", "x"), [("mark", [1, 1]), ("drop", [0, 1])])
@pytest.mark.parametrize("recoding", [None, "local"])
def test_the_same_release_as_from_pandas(connection, suppressed, x, recoding):
    frame = pd.concat([persons()] * 4 + [persons(diagnosis=ODD)], ignore_index=True)
    given = of_database(connection, frame)
    tables = [Microdata.from_frame(own, QUASI, "diagnosis", missing="keep") for own in (frame, given)]
    assert tables[0].tuples.codes.tolist() == tables[1].tuples.codes.tolist()
    measures = [KAnonymity(), DistinctLDiversity("diagnosis"), GeneralLossMetric()]
    keep = {"salary": Kept(reason="it is kept as drawn here", round=1)}
    one, other = (
        release(
            own,
            LatticeProblem(table, measures, 6),
            x,
            drop="name",
            keep=keep,
            suppressed=suppressed,
            recoding=recoding,
        )
        for own, table in zip((frame, given), tables, strict=True)
    )
    assert type(other.frame) is type(given)
    assert rows_of(other.frame) == rows_of(one.frame)
    assert other.claims.equals(one.claims)
    assert other.uniqueness.equals(one.uniqueness)
    assert verify(given, ["sex"], [KAnonymity() >= 2]).equals(verify(frame, ["sex"], [KAnonymity() >= 2]))


@pytest.mark.filterwarnings("ignore")
def test_a_table_of_different_rows(connection):
    frame = persons(salary=[float(i) for i in range(6)])
    given = of_database(connection, frame)
    problem = LatticeProblem(Microdata.from_frame(given, QUASI, "diagnosis"), [KAnonymity()])
    keep = {"salary": "it is kept as drawn here"}
    made = [release(own, problem, [1, 1], drop="name", keep=keep) for own in (frame, given)]
    assert rows_of(made[1].frame) == rows_of(made[0].frame)


@pytest.mark.filterwarnings("ignore")
def test_columns_are_looked_at(connection):
    frame = persons()
    one, other = (profiles_of(own, list(frame)) for own in (frame, of_database(connection, frame)))
    assert [own[:4] for own in other] == [own[:4] for own in one]
