"""Distances of marginals and means, against rows spread value by value."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from releases import releases
from strategies import one_class_each

from pymoo_anon.comparison import means, total_variation, utility
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Generalization, Hierarchy, LocalGeneralization, Microdata


def shares(cells):
    """Return the share of each combination, with rows spread over their cells."""
    found = Counter()
    for row in cells:
        for combination in product(*row):
            found[combination] += Fraction(1, int(np.prod([len(values) for values in row]))) / len(cells)
    return found


@given(releases())
def test_distances_and_means_are_those_of_the_rows(made):
    table, names = made.table, list(made.table.levels)
    found = total_variation(table.microdata, made.classes, made.suppressed)
    assert found.index.tolist() == found.columns.tolist() == names
    raw = [[[value] for value in row] for row in table.frame[names].itertuples(index=False)]
    for i, j in product(range(len(names)), repeat=2):
        chosen = [i] if i == j else [i, j]
        before, after = (shares([[row[place] for place in chosen] for row in rows]) for rows in (raw, made.rows))
        apart = sum(abs(before[key] - after[key]) for key in {*before, *after}) / 2 if made.rows else 1
        assert found.iloc[i, j] == pytest.approx(float(apart))
    # The columns at even places are numbers.
    averages = means(table.microdata, made.classes, made.suppressed)
    assert averages.index.tolist() == names[::2]
    for j in range(0, len(names), 2):
        middles = [(min(row[j]) + max(row[j])) / 2 for row in made.rows] or [np.nan]
        one = averages.loc[names[j]]
        assert one["before"] == pytest.approx(table.frame[names[j]].mean())
        assert one["after"] == pytest.approx(np.mean(middles), nan_ok=True)


@given(releases(untouched=True))
def test_the_untouched_table_is_as_it_was(made):
    assert (total_variation(made.table.microdata, made.classes, made.suppressed) == 0).all(axis=None)
    averages = means(made.table.microdata, made.classes, made.suppressed)
    assert (averages["before"] == averages["after"]).all()


def test_the_fully_generalized_table_is_as_far_as_the_table_is_from_even_shares():
    table = make_census(300)
    problem = LatticeProblem(table, [KAnonymity()])
    found = total_variation(table, problem.equivalence_classes(problem.lengths))
    for j, (name, hierarchy) in enumerate(table.quasi_identifiers.items()):
        own = np.bincount(table.tuples.codes[:, j], table.tuples.counts, hierarchy.n_values) / 300
        assert found.loc[name, name] == pytest.approx(np.abs(own - 1 / hierarchy.n_values).sum() / 2)


def test_large_tables_of_two_columns_are_made_in_parts(monkeypatch):
    problem = LatticeProblem(make_census(300), [KAnonymity()])
    classes = problem.equivalence_classes([2, 1, 1, 1, 1, 0, 1, 1])
    whole = total_variation(problem.table, classes)
    for cells in (1, 50, 200):
        monkeypatch.setattr(utility, "_CELLS_AT_ONCE", cells)
        pd.testing.assert_frame_equal(total_variation(problem.table, classes), whole)


def test_what_has_numbers():
    """Count bins and groups as midpoints, and give text no mean.

    Days, postal codes and words have no mean, and neither have missing values.
    """
    frame = pd.DataFrame(
        {
            "year": [1, 17, None],
            "bin": [0.2, 0.9, 0.9],
            "text": ["3", "10", "10"],
            "day": ["2021-03-05"] * 3,
            "zip": ["02139", "10001", "10001"],
        }
    )
    numbers = {
        "year": Hierarchy.intervals(0, 20, widths=[10], step=5, closed="right"),
        "bin": Hierarchy.intervals(0.0, 1.0, widths=[], step=0.5),
        "text": Hierarchy([["3", "4", "10"], ["a", "a", "b"], ["*"] * 3]),
        "day": Hierarchy.flat(["2021-03-05", "2021-03-06"]),
        "zip": Hierarchy.flat(["02139", "10001"]),
    }
    table = Microdata.from_frame(frame, numbers, missing="keep")
    problem = LatticeProblem(table, [KAnonymity()])
    found = means(table, problem.equivalence_classes([1, 0, 1, 0, 0]))
    assert found.index.tolist() == ["year", "bin", "text"]
    # Years are 1 to 5 and 16 to 20 before, and 1 to 10 and 11 to 20 after. The row without a year does not count.
    assert found.loc["year"].tolist() == [(3 + 18) / 2, (5.5 + 15.5) / 2]
    assert found.loc["bin"].tolist() == pytest.approx([(0.25 + 0.75 + 0.75) / 3] * 2)
    assert found.loc["text"].tolist() == pytest.approx([(3 + 10 + 10) / 3, (3.5 + 10 + 10) / 3])
    assert utility.domain_numbers(table.quasi_identifiers["day"]).tolist() == [737854, 737855]
    assert utility.domain_numbers(Hierarchy.flat([None])) is None
    none = Generalization({"q": [0, 0]}, {"q": ["*"]})
    words = one_class_each([[1], [2]])
    assert means(words, words.equivalence_classes(none)).index.tolist() == ["q"]


def test_where_no_row_is_released_all_is_lost():
    table = one_class_each([[1, 1], [2]])
    classes = table.equivalence_classes(LocalGeneralization(table.quasi_identifiers, [[0], [0]], suppressed=True))
    assert total_variation(table, classes, "drop").to_numpy().tolist() == [[1.0]]
    assert means(table, classes, "drop")["after"].isna().all()
    assert means(table, classes, "mark")["after"].tolist() == [0.5]
    with pytest.raises(ValueError, match=r"^suppressed must be 'mark' or 'drop', got None"):
        total_variation(table, classes, None)
