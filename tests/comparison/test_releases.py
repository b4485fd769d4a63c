"""Two releases side by side, against a count of every row by plain Python."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from pymoo_anon.comparison import CountQueries
from pymoo_anon.comparison.comparing import better_off, compare_sizes, compare_uses
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem


@pytest.fixture(scope="module")
def problem():
    return LatticeProblem(make_census(300), [KAnonymity(), GeneralLossMetric()], suppression=20)


def plain_rows(table, classes):
    """Return the size and the utility of every distinct tuple, and its rows."""
    (class_of,), released = classes.class_of, Counter()
    keys = [int(own) if classes.kept[own] else None for own in class_of]
    for key, n in zip(keys, table.tuples.counts.tolist(), strict=True):
        released[key] += n
    return [released[key] for key in keys], table.tuples.counts.tolist()


@pytest.mark.parametrize("levels", [([1, 1, 0, 0, 0, 0, 1, 0], [2, 1, 1, 1, 0, 1, 0, 1]), ([0] * 8, [0] * 8)])
def test_who_is_better_off_is_counted_row_by_row(problem, levels):
    first, second = map(problem.equivalence_classes, levels)
    sizes, utilities = better_off(first, second)
    (ones, counts), (others, _) = (plain_rows(problem.table, own) for own in (first, second))
    both = list(zip(ones, others, counts, strict=True))
    assert sizes.first == sum(n for a, b, n in both if a > b)
    assert sizes.second == sum(n for a, b, n in both if a < b)
    for own in (sizes, utilities):
        assert own.first + own.second + own.equal == 300
        assert (
            own.verdicts["dominance"]
            == {
                (False, False): "equal",
                (True, False): "better",
                (False, True): "worse",
                (True, True): "incomparable",
            }[own.first > 0, own.second > 0]
        )
    assert sizes.verdicts["min"] == ["equal", "better", "worse"][np.sign(min(ones) - min(others))]


def test_loss_and_errors_are_those_of_the_measures(problem):
    classes = {"a": problem.equivalence_classes([1, 1, 0, 0, 0, 0, 1, 0]), "b": problem.equivalence_classes([0] * 8)}
    found = compare_uses(CountQueries(problem.table, 50), classes)
    sums = [GeneralLossMetric().evaluate(own).item() for own in classes.values()]
    assert found["loss"].tolist() == pytest.approx([own / (300 * 8) for own in sums])
    assert list(found) == ["loss", "median", "90 %"]
    assert found.loc["b", "median"] < found.loc["a", "median"]


def test_classes_of_any_table_are_counted():
    frame = pd.DataFrame({"zip": ["1*", "1*", None, None, None, "2*"], "age": [1, 1, 2, 2, 2, 2]})
    other = pd.DataFrame({"zip": ["*"] * 12, "age": [1] * 12})
    found = compare_sizes({"a": frame, "b": other}, ["zip", "age"])
    assert found.loc["a"].tolist() == [6, 3, 1, 0.5, 1, 6, 6]
    assert found.loc["b"].tolist() == [12, 1, 12, 1 / 12, 0, 0, 0]
    with pytest.raises(ValueError, match="c must have at least one row"):
        compare_sizes({"c": frame[:0]}, ["zip", "age"])


def test_releases_of_two_tables_are_refused(problem):
    other = LatticeProblem(make_census(300), [KAnonymity()])
    with pytest.raises(ValueError, match="releases of one table"):
        better_off(problem.equivalence_classes([0] * 8), other.equivalence_classes([0] * 8))
