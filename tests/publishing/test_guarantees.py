"""Counts, sums and means that a release guarantees hold the true answer."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from pymoo_anon.comparison import CertainCounts, CountQueries
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import codebook, guaranteed_counts, guaranteed_means, guaranteed_sums, release
from pymoo_anon.table import Hierarchy, Microdata

QUASI_IDENTIFIERS = {
    "age": Hierarchy.intervals(0, 60, widths=[5, 20]),
    "height": Hierarchy.intervals(1.0, 2.0, widths=[0.25, 0.5], step=0.125),
    # Values that a codebook has to quote, a missing one, and numbers that are codes.
    "city": Hierarchy([["a | b", "a", "b", "17–59", None, "(missing)", "", "007"], ["A"] * 3 + ["B"] * 5, ["*"] * 8]),
    "children": Hierarchy([list(range(-2, 6)), ["few"] * 4 + ["many"] * 4, ["*"] * 8]),
    "born": Hierarchy([["2001-02-03", "2001-05-01", "2003-01-01"], ["2001", "2001", "2003"], ["*"] * 3]),
}


def drawn(seed: int, n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(0, 60, n).tolist(),
        "height": (1 + rng.integers(0, 999, n) / 1000).tolist(),
        **{
            name: [QUASI_IDENTIFIERS[name].domain[i] for i in rng.integers(0, QUASI_IDENTIFIERS[name].n_values, n)]
            for name in ("city", "children", "born")
        },
        "income": rng.integers(-50, 50, n).tolist(),
    }
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def released(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a random release that marks suppressed rows, and its codebook."""
    table, rng = (
        Microdata.from_frame(frame, QUASI_IDENTIFIERS, sensitive="income", missing="keep"),
        np.random.default_rng(seed),
    )
    measures = [KAnonymity(), GeneralLossMetric(), CertainCounts(CountQueries(table, n=20))]
    if seed % 2:
        problem = LocalRecodingProblem(table, measures)
        x = problem.x_of(int(rng.integers(2, 9)))
    else:
        problem = LatticeProblem(table, measures, suppression=int(rng.integers(0, 15)))
        x = rng.integers(0, problem.lengths, endpoint=False)
    made = release(frame, problem, x, anyway="These rows are invented for a test.")
    (claim,) = made.claims[made.claims.measure == "certain counts"].to_dict("records")
    assert claim["recounted"] == pytest.approx(claim["promised"])
    assert claim["holds"]
    return made.frame, codebook(problem, x)


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame as its CSV file is read."""
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)), dtype=str, keep_default_na=False)


def condition(name: str, frame: pd.DataFrame, rng: np.random.Generator):
    """Return a random condition, and the rows that meet it."""
    values = frame[name]
    if name == "born":
        low, high = sorted(rng.choice(["2001-01-01", "2001-02-03", "2001-05-01", "2002-01-01", "2003-02-01"], 2))
        return pd.Interval(pd.Timestamp(low), pd.Timestamp(high), closed="both"), (values >= low) & (values <= high)
    if name in ("city", "children") and rng.random() < 0.6:
        domain = QUASI_IDENTIFIERS[name].domain
        wanted = [domain[i] for i in rng.choice(len(domain), rng.integers(1, len(domain)), replace=False)]
        return wanted, values.isin([one for one in wanted if one is not None]) | (values.isna() & (None in wanted))
    if name == "city":
        return "17–59", values == "17–59"
    whole = name in ("age", "children", "income")
    low, high = np.sort(rng.integers(-3, 60, 2)) if whole else np.sort(rng.integers(8, 17, 2)) / 8
    closed = str(rng.choice(["left", "right", "both", "neither"])) if low < high else "both"
    numbers = values.astype(float)
    above = numbers >= low if closed in ("left", "both") else numbers > low
    return pd.Interval(low, high, closed=closed), above & (
        numbers <= high if closed in ("right", "both") else numbers < high
    )


def inside(guarantee, true: float) -> bool:
    slack = 1e-9 * max(abs(true), 1)
    return guarantee.least - slack <= true <= guarantee.most + slack


@pytest.mark.parametrize(
    ("seed", "n_queries"),
    [*((seed, 20) for seed in range(4)), *(pytest.param(seed, 200, marks=pytest.mark.slow) for seed in range(4, 54))],
)
def test_the_true_answer_lies_between_least_and_most(seed, n_queries):
    frame = drawn(seed)
    made, book = released(frame, seed)
    rng = np.random.default_rng(seed)
    for _ in range(n_queries):
        names = rng.choice(list(frame.columns), rng.integers(1, 4), replace=False).tolist()
        drawn_conditions = {name: condition(name, frame, rng) for name in names}
        where = {name: own for name, (own, _) in drawn_conditions.items()}
        rows = np.logical_and.reduce([met for _, met in drawn_conditions.values()])
        column = str(rng.choice(["age", "children", "income", "height"]))
        numbers = frame[column][rows].astype(float)
        # In CSV a missing value and an empty text are one.
        ways = [(made, QUASI_IDENTIFIERS), (made, book), (as_text(made), as_text(book))]
        shown, meanings = ways[rng.integers(3)]
        count = guaranteed_counts(shown, meanings, where)
        assert inside(count, rows.sum()), (where, count, rows.sum())
        assert count.least <= count.estimate <= count.most
        if rng.random() < 0.7:
            continue
        total = guaranteed_sums(shown, meanings, column, where)
        assert inside(total, numbers.sum()), (where, column, total, numbers.sum())
        if len(numbers):
            mean = guaranteed_means(shown, meanings, column, where)
            assert inside(mean, numbers.mean()), (where, column, mean, numbers.mean())


MEANINGS = {"age": Hierarchy.intervals(0, 40, widths=[10, 20]), "sex": Hierarchy.flat(["Female", "Male"])}
TOLD = pd.DataFrame(
    {"age": ["0–9", "10–19", "10–19", "*"], "sex": ["Female", "Female", "*", "*"], "cost": [10.0, None, -4.0, 8.0]}
)


def test_answers_of_four_rows():
    young = pd.Interval(0, 15, closed="left")
    assert guaranteed_counts(TOLD, MEANINGS) == (4, 4, 4)
    assert guaranteed_counts(TOLD, MEANINGS, {"age": young}) == (1, 4, 1 + 0.5 + 0.5 + 15 / 40)
    assert guaranteed_counts(TOLD, MEANINGS, {"age": young, "sex": "Female"}) == (1, 4, 1 + 0.5 + 0.25 + 15 / 80)
    assert guaranteed_sums(TOLD, MEANINGS, "cost", {"sex": "Female"}) == (10 - 4, 10 + 8, 10 - 2 + 4)
    assert guaranteed_means(TOLD, MEANINGS, "cost", {"sex": "Female"}) == ((10 - 4) / 2, 10, 12 / 2)
    assert guaranteed_sums(TOLD, MEANINGS, "age", {"sex": "Male"}) == (0, 19 + 39, 14.5 / 2 + 19.5 / 2)
    # A column without any value has no texts either.
    assert guaranteed_sums(TOLD.assign(cost=None), MEANINGS, "cost") == (0, 0, 0)
    none = guaranteed_means(TOLD, MEANINGS, "age", {"cost": 99})
    assert np.isnan(none).all()


def test_conditions_that_no_row_is_sure_to_meet():
    assert guaranteed_counts(TOLD, MEANINGS, {"sex": pd.Interval(0, 1)})[:2] == (0, 0)
    assert guaranteed_counts(TOLD, MEANINGS, {"age": 7})[:2] == (0, 2)


@pytest.mark.parametrize(("name", "values"), [("cost", ["02139", "1000"]), ("zip", [8, 9]), ("sex", ["1", "2"])])
def test_the_sum_of_codes_gives_a_warning(name, values):
    frame = pd.DataFrame({name: values})
    with pytest.warns(UserWarning, match=f"^column '{name}' looks like a code: its sum and its mean tell nothing$"):
        assert guaranteed_sums(frame, {}, name).least == sum(map(int, values))
    guaranteed_counts(frame, {}, {name: pd.Interval(0, 9)})


def test_a_number_is_found_in_another_spelling_unless_its_own_is_there():
    frame = pd.DataFrame({"n": ["170.0", "1.50", "1.5", "0170", "2"], "age": ["0–9", "10–19", "10–19", "*", "*"]})
    for asked, n in ((170, 1), (170.0, 1), ("170", 1), ("0170", 1), ("1.5", 1), ("1.50", 1), ("2.0", 1), ("02", 0)):
        assert guaranteed_counts(frame, {}, {"n": asked})[:2] == (n, n), asked
    assert guaranteed_counts(frame, MEANINGS, {"age": "12.0"})[:2] == (0, 4)


def test_a_label_is_no_value():
    """Refuse the label of several values, which no row has as its value."""
    towns = Hierarchy([["Bonn", "Köln", "Ulm"], ["Bonn", "Rhein", "Ulm"], ["*"] * 3])
    frame = pd.DataFrame({"town": ["Bonn", "Rhein", "*"]})
    with pytest.raises(ValueError, match="where must ask 'town' for values, got labels of several: 'Rhein'"):
        guaranteed_counts(frame, {"town": towns}, {"town": ["Ulm", "Rhein"]})
    assert guaranteed_counts(frame, {"town": towns}, {"town": ["Bonn", "Essen"]})[:2] == (1, 2)


@pytest.mark.parametrize("kind", [list, set, np.array, pd.Series, dict.fromkeys, iter])
def test_any_collection_of_values_is_one(kind):
    hierarchies = {"age": Hierarchy.flat([1, 2, 3])}
    rows = pd.DataFrame({"age": ["1", "2", "3", "*"]})
    assert guaranteed_counts(rows, hierarchies, {"age": kind([1, 3])}) == guaranteed_counts(
        rows, hierarchies, {"age": (1, 3)}
    )
