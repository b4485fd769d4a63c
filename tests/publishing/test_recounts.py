"""Recounts at their edges: tight bounds, single values, star-only releases."""

import tracemalloc
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pymoo_anon.objectives import AverageClassSize, KMap, MarketerRisk, SquaredClassSizes, TCloseness
from pymoo_anon.publishing import verify
from pymoo_anon.publishing.verify import kept
from pymoo_anon.table import Generalization, Hierarchy, Microdata


def counted(frame, *measures, **given):
    return verify(frame, ["q"], measures, **given).recounted.tolist()


@pytest.mark.parametrize(
    ("value", "bound", "higher", "holds"),
    [
        (5, 5, True, True),
        (4, 5, True, False),
        # Floats are compared up to their last digits, exact numbers fully.
        (0.3, 0.1 + 0.2, False, True),
        (0.1 + 0.2, 0.3, False, True),
        (Fraction(3, 10), 0.1 + 0.2, True, False),
        (Fraction(1, 39_999), 1 / 40_000, False, False),
        (Fraction(1, 40_000), 1 / 40_000, False, True),
        (Decimal(2).ln() / Decimal(2).ln(), 1, True, True),
        (0.995, 1.0, True, False),
        (1.005, 1.0, False, False),
        # Nothing is a share of 0.
        (1e-17, 0.0, False, False),
        (1e-3, 0.0, False, False),
        (1e9 - 0.5, 1e9, True, False),
        (np.inf, np.inf, True, True),
        (np.inf, np.inf, False, True),
        (1.0, np.inf, True, False),
        (np.inf, 1.0, False, False),
    ],
)
def test_a_bound_is_kept_but_for_rounding(value, bound, higher, holds):
    assert kept(value, bound, higher) is holds


@pytest.mark.parametrize("distance", ["equal", "ordered", Hierarchy.intervals(0, 700, widths=[10, 100])])
def test_thousands_of_classes_and_values_are_not_laid_out_at_once(distance, monkeypatch):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"q": rng.integers(0, 150, 1500).astype(str), "s": rng.integers(0, 700, 1500)})
    measure = TCloseness("s", distance)
    at_once = counted(frame, measure)
    monkeypatch.setattr("pymoo_anon.objectives.privacy.closeness._MOST_COUNTS", 1 << 14)
    tracemalloc.start()
    assert counted(frame, measure) == at_once
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 105,000 counts take .8 MB, and would stand there five times.
    assert peak < 3.5e6


def test_suppressed_rows_are_one_class_marked_or_dropped():
    original = pd.DataFrame({"q": [1, 1, 2, 2, 2, 3, 4], "s": [*"abcabca"]})
    marked = original.assign(q=["1", "1", "2", "2", "2", "*", "*"])
    for released in (marked, marked[:5]):
        found = counted(released, MarketerRisk(), AverageClassSize(), SquaredClassSizes(), original=original)
        assert found == [3 / 7, 7 / 3, 4 + 9 + 4]


def test_in_a_release_of_stars_alone_all_of_the_population_is_meant():
    domain = {"q": Hierarchy.flat(["1", "2"])}
    population = Microdata.from_frame(pd.DataFrame({"q": ["1", "2", "2"]}), domain)
    known = Generalization({"q": [0, 1]}, {"q": ["1", "2"]})
    assert counted(pd.DataFrame({"q": ["*", "*"]}), KMap(population), generalization=known) == [3]
    assert counted(pd.DataFrame({"q": ["1", "2"]}), KMap(population), generalization=known) == [1]
    nobody = Microdata.from_frame(pd.DataFrame({"q": ["2", "2"]}), domain)
    assert counted(pd.DataFrame({"q": ["1", "2"]}), KMap(nobody), generalization=known) == [0]
