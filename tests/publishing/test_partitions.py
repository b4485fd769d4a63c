"""Spark tables that are recoded partition by partition: claims as a recount in pandas has them."""

import numpy as np
import pandas as pd
import pytest
from persons import persons

from pymoo_anon.objectives import DistinctLDiversity, KAnonymity, TCloseness
from pymoo_anon.publishing import RecountError, recode_partitions
from pymoo_anon.publishing.partitions import _SMALLEST_PART, _number_of, _split_table, _Work
from pymoo_anon.table import Hierarchy, frames

# PySpark calls pandas in ways that pandas 3 warns of.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

ZIPS = [f"{a}{b}{c}" for a in "12" for b in "123" for c in "1234"]
HIERARCHIES = {
    "age": Hierarchy.intervals(0, 40, widths=[5, 10, 20]),
    "zip": Hierarchy([ZIPS, [zip_[:2] for zip_ in ZIPS], [zip_[:1] for zip_ in ZIPS], ["*"] * len(ZIPS)]),
    "sex": Hierarchy.flat(["F", "M"]),
}
VALUES = {
    "age": {"*": 40, **{f"{low}–{low + n - 1}": n for n in (5, 10, 20) for low in range(0, 40, n)}},
    "zip": {
        "*": len(ZIPS),
        **{zip_[:n]: len({own for own in ZIPS if own[:n] == zip_[:n]}) for zip_ in ZIPS for n in (1, 2)},
    },
    "sex": {"*": 2},
}


def random_rows(seed):
    """Draw 400 rows of 150 patients, each with a number of its own."""
    random = np.random.default_rng(seed)
    n = 400
    columns = {
        "age": random.integers(0, 40, n),
        "zip": random.choice(ZIPS, n),
        "sex": random.choice(["F", "F", "M"], n),
    }
    diagnosis = random.choice(["flu", "cold", "ulcer", "gout"], n, p=[0.4, 0.3, 0.2, 0.1])
    return pd.DataFrame({**columns, "diagnosis": diagnosis, "row": np.arange(n), "patient": random.integers(0, 150, n)})


def loss_of(released):
    """Return the general loss of released rows, from the number of values of each label."""
    return sum(
        (column.map(lambda label, own=VALUES[name]: own.get(label, 1)) - 1).sum() / (VALUES[name]["*"] - 1)
        for name, column in released[list(HIERARCHIES)].items()
    )


@pytest.mark.parametrize("seed", range(2))
def test_claims_are_those_of_a_recount_on_one_machine(seed, spark):
    rows = random_rows(seed)
    constraints = [KAnonymity() >= 4, KAnonymity(person="patient") >= 3, DistinctLDiversity("diagnosis") >= 2]
    made = recode_partitions(
        spark.createDataFrame(rows),
        HIERARCHIES,
        constraints,
        sensitive=["diagnosis", "row"],
        person="patient",
        max_rows=100,
    )
    assert type(made.frame) is type(spark.range(1))
    released = made.frame.toPandas()
    assert list(released) == ["age", "zip", "sex", "diagnosis", "row"]
    assert released.equals(released.sort_values(list(released), ignore_index=True))
    # Each row is an original one, and its labels hold its values.
    joined = released.merge(rows, on=["row", "diagnosis"], suffixes=("", " before"))
    assert len(joined) == len(rows) == joined.row.nunique()
    for name, own in HIERARCHIES.items():
        meant = {
            str(label): set(np.array(own.domain)[own.groups[level] == group].tolist())
            for level in range(own.length + 1)
            for group, label in enumerate(own.labels[level])
        }
        assert all(value in meant[label] for label, value in zip(joined[name], joined[f"{name} before"], strict=True))
    classes = joined.groupby(list(HIERARCHIES))
    expected = {
        "k": classes.size().min(),
        "GLM": pytest.approx(loss_of(released)),
        "k in persons of patient": classes.patient.nunique().min(),
        "l of diagnosis": classes.diagnosis.nunique().min(),
    }
    assert made.claims.measure[:4].tolist() == list(expected)
    assert made.claims.recounted[:4].tolist() == list(expected.values())
    assert made.claims.promised.tolist()[4:] == [4, 3, 2]
    assert made.claims.holds.all()


def test_partitions_are_small_and_hold_k(spark):
    source = frames.renamed(spark.createDataFrame(random_rows(0)))
    splits, n_rows = _split_table(source, HIERARCHIES, 100, 4)
    sizes = [row["count"] for row in source.frame.to_native().groupBy(_number_of(splits, 0)).count().collect()]
    assert n_rows == sum(sizes) == 400
    assert 4 <= min(sizes) < max(sizes) <= 100
    # None of these is larger than it must be.
    assert len(sizes) < 400 / (100 // _SMALLEST_PART)


def test_what_cannot_hold_is_refused_in_one_sentence(spark):
    rows = random_rows(0)
    frame = spark.createDataFrame(rows.drop(columns=["row", "patient"]))

    def recode(own=frame, constraints=None, **others):
        asked = [KAnonymity() >= 4] if constraints is None else constraints
        return recode_partitions(own, HIERARCHIES, asked, sensitive="diagnosis", **others)

    one = spark.createDataFrame(rows.assign(diagnosis=rows.sex).drop(columns=["row", "patient"]))
    gaps = spark.createDataFrame([(None, "111", "F", "flu")], "age int, zip string, sex string, diagnosis string")
    closeness, diversity = [TCloseness("diagnosis") <= 0.2], [DistinctLDiversity("diagnosis") >= 2]
    for error, words, own, asked in (
        (TypeError, "frame must be a Spark frame, got DataFrame; release takes frames of any kind", rows, {}),
        (ValueError, r"of its parts, got TCloseness.* <= 0.2", frame, {"constraints": closeness}),
        (ValueError, r"no columns without a role, got 'row', 'patient'; frame.drop", spark.createDataFrame(rows), {}),
        (KeyError, "frame must have the columns 'sex'", frame.drop("sex"), {}),
        (ValueError, "max_rows must be a positive whole number, got 0", frame, {"max_rows": 0}),
        (ValueError, "frame must have no missing quasi-identifiers, got some in 'age'", gaps, {}),
        (ValueError, "a greater max_rows than 30 makes", one, {"constraints": diversity, "max_rows": 30}),
    ):
        with pytest.raises(error, match=words):
            recode(own, **asked)


def test_a_recount_that_differs_refuses_the_release(spark, monkeypatch):
    counted = _Work.combined
    # The second call is of what was counted again.
    calls = []

    def combined(work, notes):
        calls.append(1)
        n_rows, found = counted(work, notes)
        return n_rows - len(calls) + 1, [found[0] - len(calls) + 1, *found[1:]]

    monkeypatch.setattr(_Work, "combined", combined)
    frame = spark.createDataFrame(persons()[["age", "sex", "diagnosis"]])
    flat = {"age": Hierarchy.flat([99, 41, 30, 17]), "sex": HIERARCHIES["sex"]}
    with pytest.raises(RecountError, match=r"counted again, k is . where . was promised, the release has 5 rows where"):
        recode_partitions(frame, flat, [KAnonymity() >= 2], sensitive="diagnosis")
