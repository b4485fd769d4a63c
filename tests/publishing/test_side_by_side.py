"""Points of a front side by side, against the measures themselves."""

import numpy as np
import pytest

from pymoo_anon.comparison import CertainCounts, CountQueries
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing.report.subject import checked_subject
from pymoo_anon.publishing.report.values import side_by_side


def test_every_number_is_that_of_its_measure():
    problem = LatticeProblem(make_census(300), [KAnonymity(), GeneralLossMetric()], suppression=20)
    front = problem.front(np.array([[0] * 8, [1, 1, 1, 0, 1, 0, 1, 0], [2, 1, 1, 1, 1, 1, 2, 1]]))
    about = {"evidence": None, "suppressed": "mark", "threshold": 0.09, "population": None}
    subject = checked_subject(front, front.choose(row=0), **about, external=False, about={})
    table = side_by_side(subject, [0, 2])
    assert [column.title for column in table.columns] == ["", "point 1", "point 3"]
    found = {row[0]: row[1:] for row in table.rows}
    classes = [problem.equivalence_classes(front.X[place]) for place in (0, 2)]
    assert found["k"] == tuple(f"{int(KAnonymity().evaluate(own).item()):,}" for own in classes)
    queries = CountQueries(problem.table)
    widths = [CertainCounts(queries).evaluate_one(own) for own in classes]
    assert [shared(text) for text in found["certain counts: median width"]] == pytest.approx(widths, abs=1e-3)
    for j, name in enumerate(problem.table.quasi_identifiers):
        lost = [front.lost(place)[j] / 300 for place in (0, 2)]
        assert [shared(text) for text in found[f"loss of {name}"]] == pytest.approx(lost, abs=1e-3)
    sizes = [own.sizes[own.kept] for own in classes]
    n_suppressed = [int(own.n_suppressed[0]) for own in classes]
    for least in (2, 5, 12):
        small = [int(own[own < least].sum()) + n * (0 < n < least) for own, n in zip(sizes, n_suppressed, strict=True)]
        assert found[f"rows in classes below {least}"] == tuple(f"{n:,}" for n in small)


def shared(text):
    """Return the share that a text spells in percent."""
    return float(text.replace("\N{NO-BREAK SPACE}", "").strip("%<>").replace(",", "")) / 100
