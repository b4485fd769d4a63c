"""Releases of local recodings, recounted from plain rows.

Every damage is found, and the order of rows does not reveal classes.
"""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import fewer, nodes, policies, promised, rule_of, tables

from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import RecountError, codebook, release, verify
from pymoo_anon.publishing.release import Asked, recode
from pymoo_anon.table import Hierarchy, LocalGeneralization, Microdata


class Given(LocalRecodingProblem):
    """A problem with one given recoding for every point."""

    def decode(self, x):
        return self.made


def measures_of(population):
    """Return one measure of each kind."""
    return [
        *(KAnonymity(), ProsecutorRisk(), MarketerRisk(), AverageClassSize(), Discernibility(), KMap(population)),
        *(GeneralLossMetric(), NormalizedWeightedPenalty(), Precision(), NonUniformEntropy(), KLDivergence()),
        *(DistinctLDiversity("s0"), EntropyLDiversity("s0"), AlphaDeassociation("s0"), TCloseness("s0")),
        BasicBetaLikeness("s0"),
    ]


def released(table, problem, x, **asked):
    roles = {*table.microdata.sensitive, table.microdata.label}
    keep = {name: "it is kept as drawn" for name in ("s0", "s1", "label") if name not in roles}
    return release(table.frame, problem, x, keep=keep, anyway="it is only a test", **asked)


def check_recount(made):
    """Check that a recount of the rows finds the engine's values, which have exact twins."""
    assert made.claims.holds.tolist() == [True] * len(made.claims)
    assert made.claims.recounted.tolist() == pytest.approx(made.claims.promised.tolist(), rel=1e-9, abs=1e-9)


@st.composite
def points(draw):
    """Draw a table, a problem that makes recodings, and a point."""
    table = draw(tables(rooted=True))
    problem = LocalRecodingProblem(
        table.microdata,
        measures_of(table.microdata),
        draw(st.sampled_from([(), (KAnonymity() >= 2,), (DistinctLDiversity("s0") >= 2,)])),
        method=draw(st.sampled_from(["bottom-up", "top-down", "mondrian", "mondrian-relaxed"])),
    )
    return table, problem, [draw(st.integers(0, int(most))) for most in problem.xu]


@promised(500, 0.5)
@given(points())
def test_what_a_search_makes_is_claimed_and_counted_again_from_hierarchies_alone(drawn):
    table, problem, x = drawn
    made = released(table, problem, x)
    check_recount(made)
    assert made.n_suppressed == 0
    hierarchies = problem.table.quasi_identifiers
    # Without the recoding, a row of stars alone is taken for a suppressed one.
    stars = (made.frame[list(hierarchies)] == "*").all(axis=1)
    if not stars.any():
        again = verify(made.frame, list(hierarchies), problem.objectives, original=table.frame, hierarchies=hierarchies)
        assert again.recounted.tolist() == made.claims.recounted[: len(problem.objectives)].tolist()


@fewer(3)
@given(points(), st.integers(0, 2**32))
def test_nothing_of_the_order_of_rows_shows(drawn, seed):
    table, problem, x = drawn
    made = released(table, problem, x).frame
    names = list(made)
    assert made.equals(made.sort_values(names, ignore_index=True))
    table.frame = table.frame.sample(frac=1, random_state=seed)
    assert released(table, problem, x).frame.equals(made)


AGES = Hierarchy.intervals(20, 52, [4, 8, 16])
WARD = pd.DataFrame(
    {
        "age": [20, 21, 22, 23, 24, 27, 29, 31, 33, 38, 41, 50],
        "sex": ["F", "M", "F", "F", "M", "M", "F", "M", "F", "M", "F", "M"],
        "diagnosis": ["flu", "cold", "asthma"] * 4,
    }
)


def ward():
    """Return twelve rows in classes of two or more, not yet recounted."""
    table = Microdata.from_frame(WARD, {"age": AGES, "sex": Hierarchy.flat(["F", "M"])}, "diagnosis")
    measures = [KAnonymity(), DistinctLDiversity("diagnosis"), GeneralLossMetric(), MarketerRisk()]
    problem = LocalRecodingProblem(table, measures)
    return recode(WARD, problem, problem.x_of(2), Asked())


def test_labels_of_other_values_are_never_released():
    """Check labels against hierarchies, as the recoding accepts any."""
    made = ward()
    known = made._recoding.generalization
    cells = np.roll(known.nodes[known.class_of], 1, axis=0)
    other = made._recoding._replace(generalization=LocalGeneralization(known.quasi_identifiers, cells))
    with pytest.raises(RecountError, match="labels of 'age' do not stand for the values that they came from"):
        replace(made, _recoding=other).counted_again(made.frame)


@fewer(3)
@given(tables(rooted=True), st.data(), st.sampled_from(["mark", "drop"]))
def test_a_point_of_the_lattice_is_refined_and_loses_no_more(table, data, suppressed):
    problem = LatticeProblem(table.microdata, measures_of(table.microdata), rule_of(data.draw(policies(table))))
    x = data.draw(nodes(table))
    before = problem.equivalence_classes(x)
    assume(suppressed == "mark" or before.kept.any())
    made = None
    # Marked rows are a class of their own. A release is refused if this class is worse than all others.
    with suppress(RecountError):
        made = released(table, problem, x, recoding="local", suppressed=suppressed)
    assert made is not None or (suppressed == "mark" and before.n_suppressed[0] > 0)
    assume(made is not None)
    claims = made.claims.set_index("measure")
    assert claims.holds.tolist() == [True] * len(claims)
    assert claims.recounted["k"] >= KAnonymity().evaluate(before)[0]
    assert claims.recounted["GLM"] <= GeneralLossMetric().evaluate(before)[0] + 1e-9
    book = codebook(problem, x, suppressed=suppressed, recoding="local")
    for name in table.levels:
        shares = book[book.column == name].set_index("label")["share of rows"]
        assert shares.to_dict() == pytest.approx(made.frame[name].value_counts(normalize=True).to_dict())


@given(tables(rooted=True, max_rows=14), st.data(), st.sampled_from(["mark", "drop"]))
def test_no_released_cell_is_coarser_than_at_the_point(table, data, suppressed):
    problem = LatticeProblem(table.microdata, [KAnonymity(), GeneralLossMetric()], rule_of(data.draw(policies(table))))
    x, names = data.draw(nodes(table)), list(table.levels)
    frame = table.frame.assign(row=range(len(table.frame)))
    keep = dict.fromkeys([*{"s0", "s1", "label"} - {*problem.table.tuples.domains}, "row"], "it tells the rows apart")
    asked = {"keep": keep, "suppressed": suppressed, "anyway": "it is only a test"}
    try:
        made = [release(frame, problem, x, recoding=how, **asked).frame for how in (None, "local")]
    except ValueError:
        # Refused are a release without rows, and one with marked rows that are worse off than all others.
        assume(False)
    whole, local = (one.set_index("row") for one in made)
    assert {*whole.index} <= {*local.index}
    for name in names:
        under = {}
        for own in table.levels[name]:
            for value, label in own.items():
                under.setdefault(str(label), set()).add(value)
        under["*"] = {*table.levels[name][0]}
        for row, label in whole[name].items():
            assert under[local[name][row]] <= under[label]
            assert frame[name][row] in under[local[name][row]]
