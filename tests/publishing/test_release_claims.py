"""Claims of releases: one per measure, equal to recounts, sensitive to damage."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import fewer, nodes, partitions, policies, rule_of, tables
from test_release import HIERARCHIES, HOSPITAL, KEPT, all_measures

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, KMap
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import RecountError, release
from pymoo_anon.publishing.release import Asked, recode
from pymoo_anon.publishing.verify import check_rows
from pymoo_anon.table import Microdata, frames


@st.composite
def points(draw):
    """Draw a problem of either space with all measures, its table, a point, and the labels of values there."""
    in_lattice = draw(st.booleans())
    partition = None if in_lattice else draw(partitions(rooted=True))
    table = draw(tables(rooted=True)) if in_lattice else partition.table
    measures, rule = all_measures(draw(st.data()), table), rule_of(draw(policies(table)))
    if in_lattice:
        node = draw(nodes(table))
        levels = zip(table.levels.items(), node, strict=True)
        labels = {name: {value: str(label) for value, label in own[level].items()} for (name, own), level in levels}
        return table, LatticeProblem(table.microdata, measures, rule), node, labels
    # A population has the domains of the table, and not those of orders and taxonomies.
    measures = [one for one in measures if not isinstance(one, KMap)]
    problem = BitStringProblem(table.microdata, measures, rule, **partition.arguments)
    x = problem.sample(1, np.random.default_rng(draw(st.integers(0, 2**32))))[0]
    made, hierarchies = problem.decode(x), problem.table.quasi_identifiers
    labels = {
        name: {value: str(made.labels[name][group]) for value, group in zip(own.domain, made.groups[name], strict=True)}
        for name, own in hierarchies.items()
    }
    return table, problem, x, labels


def kept_of(problem):
    roles = (*problem.table.sensitive, problem.table.label)
    return {name: "it is kept as it was drawn" for name in ("s0", "s1", "label") if name not in roles}


@fewer(2)
@given(point=points(), suppressed=st.sampled_from(["mark", "drop"]))
def test_a_release_is_what_a_loop_over_the_rows_makes_and_each_measure_is_claimed_and_counted_again(point, suppressed):
    table, problem, x, labels = point
    classes = problem.equivalence_classes(x)
    kept = classes.kept[classes.class_of[0][table.tuple_of_row]]

    def make(how):
        keep = kept_of(problem)
        return release(table.frame, problem, x, keep=keep, suppressed=how, anyway="it is only a test")

    if suppressed == "drop" and not kept.any():
        with pytest.raises(ValueError, match="x must leave a row to release"):
            make(suppressed)
        return
    try:
        made = make(suppressed)
    except RecountError:
        # Marked rows are a class of their own, which may be worse than all others.
        assert suppressed == "mark"
        assert 0 < (~kept).sum() < len(kept)
        suppressed = "drop"
        made = make(suppressed)
    others = ["s0", "s1", "label"]
    rows = [
        (*(labels[name][row[name]] if own else "*" for name in labels), *(row[name] for name in others))
        for row, own in zip(table.frame.to_dict("records"), kept, strict=True)
        if own or suppressed == "mark"
    ]
    assert list(made.frame) == [*labels, *others]
    assert list(made.frame.itertuples(index=False, name=None)) == sorted(rows)
    assert made.n_suppressed == (~kept).sum()
    assert len(made.claims) == len(problem.measured)
    whole = suppressed == "drop" or kept.all() or not kept.any()
    for row, measure in zip(made.claims.itertuples(), problem.measured, strict=True):
        assert row.measure == (measure.name if measure.column is None else f"{measure.name} of {measure.column}")
        assert math.isclose(row.promised, measure.evaluate(classes)[0], rel_tol=1e-12)
        assert row.holds is (None if measure.column in problem.table.quasi_identifiers else True)
        if row.holds and (whole or row.measure in OF_ALL_ROWS):
            assert math.isclose(row.promised, row.recounted, rel_tol=1e-9, abs_tol=1e-9), row
            # Recounted values have the type of the promise. k is a whole number.
            assert type(row.promised) is type(row.recounted)


#: Measures whose values are the same whether suppressed rows are marked or dropped.
OF_ALL_ROWS = ("S_k", "GLM", "KL", "NUE", "DM", "precision", "marketer risk")


def with_cell(frame, row, column, value):
    made = frame.copy()
    made[column] = made[column].astype(object)
    made.loc[row, column] = value
    return made


def swapped(frame, one, other, columns):
    made = frame.copy()
    made.loc[[one, other], columns] = frame.loc[[other, one], columns].to_numpy()
    return made


def first(frame):
    """Return the first kept row of another class than that of the last row."""
    return frame.index[(frame.age != "*") & (frame.age != frame.age.iloc[-1])][0]


def shown_again(frame):
    """Move one suppressed row into the last class."""
    row = frame[-1:].assign(born=HOSPITAL.born[0])
    return pd.concat([frame[(frame.age == "*").cumsum() != 1], row])


QUASI = ["age", "sex"]
#: Damages of a released table.
DAMAGES = {
    "a row is lost": lambda own: own[:-1],
    "a row stands for another": lambda own: pd.concat([own[:-1], own[:1]]),
    "no row is left": lambda own: own[:0],
    "a label of another class": lambda own: with_cell(own, own.index[-1], "age", own.age[first(own)]),
    "a more specific label": lambda own: with_cell(own, own.index[-1], "age", "43"),
    "a coarser label": lambda own: with_cell(own, own.index[-1], "age", "*"),
    "all labels are as coarse as can be": lambda own: own.assign(age="*", sex="*"),
    "no label": lambda own: with_cell(own, own.index[-1], "age", None),
    "labels of two rows are swapped": lambda own: swapped(own, first(own), own.index[-1], QUASI),
    "a suppressed row is no longer suppressed": shown_again,
    "a row more is marked": lambda own: with_cell(with_cell(own, own.index[-1], "age", "*"), own.index[-1], "sex", "*"),
    "a sensitive value of another": lambda own: with_cell(own, own.index[-1], "diagnosis", own.diagnosis[first(own)]),
    "one sensitive value throughout": lambda own: own.assign(diagnosis="flu"),
    "a sensitive value that nobody had": lambda own: with_cell(own, own.index[-1], "diagnosis", "gout"),
    "a quasi-identifier is lost": lambda own: own.drop(columns="sex"),
    "a sensitive column is lost": lambda own: own.drop(columns="diagnosis"),
    "a column more": lambda own: own.assign(name="Ms 1"),
    "a column of another name": lambda own: own.rename(columns={"weight": "name"}),
}


def by_hand(frame, extents):
    """Compute k, l and GLM of twelve rows from released rows alone."""
    classes = {}
    for age, sex, diagnosis in frame[["age", "sex", "diagnosis"]].itertuples(index=False):
        classes.setdefault((age, sex), []).append(diagnosis)
    loss = 2 * (12 - len(frame))
    for labels, own in classes.items():
        costs = [1 if labels == ("*", "*") else extent[label] for extent, label in zip(extents, labels, strict=True)]
        loss += len(own) * sum(costs)
    return min(map(len, classes.values())), min(len(set(own)) for own in classes.values()), loss


def released(space, suppressed):
    """Return an uncounted release with leading suppressed rows, and label costs."""
    table = Microdata.from_frame(HOSPITAL, HIERARCHIES, "diagnosis")
    measures = [KAnonymity(), DistinctLDiversity("diagnosis"), GeneralLossMetric()]
    problem, x, recoding = LatticeProblem(table, measures, 5), [1, 1], "local" if space == "refined" else None
    if space == "local":
        problem = LocalRecodingProblem(table, measures)
        x = problem.x_of(2)
    if space == "bit strings":
        problem = BitStringProblem(table, measures, 5)
        x = np.zeros(problem.n_var, dtype=bool)
        x[[9, 19, 29]] = True
    if space in ("local", "refined"):
        trees = ((own.nodes, own.n_values) for own in HIERARCHIES.values())
        sizes = [(nodes.labels, nodes.stop - nodes.first, n) for nodes, n in trees]
    else:
        found = problem.decode(x)
        sizes = [(found.labels[name], np.bincount(own), len(own)) for name, own in found.groups.items()]
    extents = [dict(zip(map(str, labels), (own - 1) / (n - 1), strict=True)) for labels, own, n in sizes]
    roles = {"drop": ["name", "patient"], "keep": KEPT}
    asked = Asked(suppressed=suppressed, recoding=recoding, anyway="it is only a test", **roles)
    return recode(HOSPITAL, problem, x, asked), extents


@pytest.mark.parametrize(
    ("space", "suppressed"),
    [*product(["lattice", "bit strings"], ["mark", "drop"]), ("local", "mark"), ("refined", "mark")],
)
def test_a_damaged_release_is_refused(space, suppressed):
    made, extents = released(space, suppressed)
    whole = made.counted_again(made.frame)
    assert whole.claims.recounted.tolist() == pytest.approx(by_hand(made.frame, extents))
    assert (made.n_suppressed > 0) == (space in ("lattice", "bit strings"))
    for name, damage in DAMAGES.items():
        if not made.n_suppressed and "suppressed row" in name:
            continue
        own = damage(made.frame).reset_index(drop=True)
        assert not own.equals(made.frame), name
        with pytest.raises((ValueError, KeyError)):
            made.counted_again(own)


@given(point=points(), suppressed=st.sampled_from(["mark", "drop"]), data=st.data())
def test_a_table_is_taken_where_a_loop_over_its_rows_finds_those_of_the_release(point, suppressed, data):
    table, problem, x, _ = point
    assume(problem.equivalence_classes(x).kept.any())
    asked = Asked(keep=kept_of(problem), suppressed=suppressed, anyway="it is only a test")
    made = recode(table.frame, problem, x, asked)
    whole = made.frame
    rows, names = st.integers(0, len(whole) - 1), st.sampled_from([*whole])
    columns = data.draw(st.lists(names, min_size=1, max_size=2, unique=True))
    damaged = swapped(whole, data.draw(rows), data.draw(rows), columns)

    def check(own):
        check_rows(made._recoding, [*whole], frames.renamed(own))

    check(whole)
    if Counter(damaged.itertuples(index=False, name=None)) == Counter(whole.itertuples(index=False, name=None)):
        check(damaged)
    else:
        with pytest.raises(ValueError, match="rows are other than the recoding makes them"):
            check(damaged)


@pytest.mark.parametrize("lazy", [False, True])
def test_columns_of_lists_are_held_against_the_original(lazy):
    frame = pl.from_pandas(HOSPITAL).with_columns(doses=pl.Series([[i % 3, None] for i in range(len(HOSPITAL))]))
    frame = frame.lazy() if lazy else frame
    problem = LatticeProblem(Microdata.from_frame(HOSPITAL, HIERARCHIES, "diagnosis"), [KAnonymity()])
    asked = Asked(["name", "patient"], {**KEPT, "doses": "the studies go by them"}, anyway="it is only a test")
    made = recode(frame, problem, [2, 1], asked)
    assert made.counted_again(made.frame).claims.holds.tolist() == [True]
    own = made.frame.lazy().collect()
    damaged = own.with_columns(doses=own["doses"].reverse())
    with pytest.raises(RecountError, match="rows are other than the recoding makes them"):
        made.counted_again(damaged.lazy() if lazy else damaged)
