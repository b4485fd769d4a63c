"""ARX's rule: only the classes that break a constraint are suppressed."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import nodes, tables, times
from tasks import KINDS, Task, found, invented, values_of

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import (
    AlphaDeassociation,
    BasicBetaLikeness,
    ClassificationMetric,
    DeltaDisclosure,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    GeneralLossMetric,
    KAnonymity,
    NormalizedWeightedPenalty,
    ProsecutorRisk,
    RecursiveCLDiversity,
    TCloseness,
)
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.table import Below, Hierarchy, Microdata, Violating

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

#: A constraint of every kind that speaks of single classes, at a bound that some classes of random tables miss.
KINDS_OF_CLASSES = (
    (KAnonymity(), 3),
    (DistinctLDiversity("s0"), 2),
    (EntropyLDiversity("s0"), 1.9),
    (RecursiveCLDiversity("s0", 2), 2),
    (ProsecutorRisk(), 0.4),
    (AlphaDeassociation("s0"), 0.6),
    (TCloseness("s0"), 0.3),
    (BasicBetaLikeness("s0"), 0.7),
    (EnhancedBetaLikeness("s0"), 0.7),
    (DeltaDisclosure("s0"), 0.8),
    (KAnonymity(person="s1"), 2),
)


def constraint_of(measure, bound):
    return measure >= bound if measure.maximize else measure <= bound


@pytest.mark.parametrize(("measure", "bound"), KINDS_OF_CLASSES, ids=str)
@given(data=st.data(), table=tables())
def test_every_kind_of_constraint_is_kept_by_what_is_left(measure, bound, data, table):
    """Suppress exactly the classes that break the constraint as a table."""
    node = data.draw(nodes(table))
    constraint = constraint_of(measure, bound)
    classes = table.microdata.equivalence_classes(table.generalization(node), Violating(0.5), [constraint])
    worth = measure.of_classes(classes)
    for i, one_worth in enumerate(worth.tolist()):
        assert classes.kept[i] == (one_worth >= bound if measure.maximize else one_worth <= bound)
    if classes.kept.any():
        kept = worth[classes.kept]
        assert measure.evaluate(classes) == [kept.min() if measure.maximize else kept.max()]


@pytest.mark.parametrize(("measure", "bound"), KINDS_OF_CLASSES, ids=str)
def test_the_certified_front_is_exact_for_every_kind_of_constraint(measure, bound):
    pruned = 0
    for seed in range(times(4)):
        task = Task(
            invented(seed),
            [GeneralLossMetric(), *([DistinctLDiversity("s0")] if seed % 2 else [ClassificationMetric("s1")])],
            [(measure, measure.maximize, bound)],
            [0, 3, 12][seed % 3],
            violating=True,
        )
        res = minimize(task.problem, BranchAndBound(), seed=seed)
        np.testing.assert_array_equal(found(res, task.problem), task.front)
        pruned += res.algorithm.n_pruned
    # Where nothing is bounded, members prune projections, which come first.
    assert pruned > 0 or measure.bounding is None


SURE = [(measure, bound) for measure, bound in KINDS_OF_CLASSES if measure.bounding is not None]


@pytest.mark.parametrize(
    ("measure", "bound"),
    [pytest.param(*one, marks=[pytest.mark.slow] if "BetaLikeness" in repr(one[0]) else []) for one in SURE],
    ids=str,
)
def test_a_wrong_count_of_sure_suppression_is_found_out(monkeypatch, measure, bound):
    """Overcount by one tuple, and expect that some front is not exact."""
    family = measure.bounding

    def broken(self, classes, constraint):
        sure = family.surely_suppressed(self, classes, constraint)
        return sure + (sure > 0)

    def is_exact(seed):
        task = Task(
            invented(seed), [GeneralLossMetric()], [(measure, measure.maximize, bound)], [3, 6, 12, 25][seed % 4], True
        )
        problem = task.problem
        with monkeypatch.context() as patch:
            patch.setattr(type(measure), "bounding", type("Broken", (family,), {"surely_suppressed": broken}))
            res = minimize(problem, BranchAndBound(), seed=seed)
        return np.array_equal(found(res, problem), task.front)

    assert not all(map(is_exact, range(80)))


@given(data=st.data(), table=tables())
def test_suppression_only_grows_where_parts_of_a_class_are_no_better(data, table):
    """Require exact sure suppression for k and l, at least for others."""
    top = data.draw(nodes(table))
    below = tuple(data.draw(st.integers(0, level)) for level in top)
    measure, bound = data.draw(st.sampled_from(SURE))
    constraint = constraint_of(measure, bound)
    general, special = (
        table.microdata.equivalence_classes(table.generalization(node), Violating(0.5), [constraint])
        for node in (top, below)
    )
    sure = measure.bounding(measure).surely_suppressed(general, constraint)
    lost = np.zeros(len(general.sizes), dtype=np.int64)
    np.add.at(lost, general.class_of[0], np.where(special.kept[special.class_of[0]], 0, table.microdata.tuples.counts))
    assert (lost >= sure).all()
    if measure.name in ("k", "l", "k in persons", "prosecutor risk"):
        assert (sure == np.where(general.kept, 0, general.sizes)).all()
        assert special.n_suppressed[0] >= general.n_suppressed[0]


def test_without_a_constraint_of_classes_it_is_refused():
    table = make_census(60)
    generalization = LatticeProblem(table, [KAnonymity()]).decode([0] * 8)
    message = "Violating needs a constraint that single classes can break, such as KAnonymity() >= 5, got {}"
    for constraints, shown in (
        ([], "none"),
        ([GeneralLossMetric() <= 100], "[GeneralLossMetric() <= 100]"),
        ([KAnonymity() <= 100], "[KAnonymity() <= 100]"),
    ):
        with pytest.raises(ValueError) as caught:
            LatticeProblem(table, [GeneralLossMetric()], Violating(0.01), constraints)
        assert str(caught.value) == message.format(shown)
        with pytest.raises(ValueError) as caught:
            table.equivalence_classes(generalization, Violating(0.01), constraints)
        assert str(caught.value) == message.format(shown)


def test_bit_strings_and_lattices_agree():
    census = make_census(500, seed=3)
    constraints = [KAnonymity() >= 4, DistinctLDiversity("occupation") >= 3]
    goals = [GeneralLossMetric(), NormalizedWeightedPenalty()]
    bits = BitStringProblem(census, goals, Violating(0.2), constraints)
    levels = LatticeProblem(census, goals, Violating(0.2), constraints)
    for x, node in ((np.ones(bits.n_var, bool), levels.xl), (np.zeros(bits.n_var, bool), levels.xu)):
        for name in ("F", "G"):
            np.testing.assert_array_equal(
                bits.evaluate(x[np.newaxis], return_values_of=[name]),
                levels.evaluate(node[np.newaxis], return_values_of=[name]),
            )
    X = bits.sample(30, np.random.default_rng(0))
    G = bits.evaluate(X, return_values_of=["G"])
    assert (G[:, -1] + 100 == [bits.equivalence_classes(x).n_suppressed[0] for x in X]).all()


def test_a_class_too_uniform_is_removed_whatever_its_size():
    """Remove the class of 7 with one value, unlike smallest first."""
    frame = pd.DataFrame({"q": [0] * 7 + [1] * 5 + [2] * 8, "s": ["a"] * 7 + list("abcde") + list("abcdefgh")})
    table = Microdata.from_frame(frame, {"q": Hierarchy.flat([0, 1, 2])}, sensitive="s")
    constraints = [DistinctLDiversity("s") >= 3]
    ours = LatticeProblem(table, [GeneralLossMetric()], Violating(7), constraints)
    res = minimize(ours, BranchAndBound())
    assert res.algorithm.certified
    assert (res.X.tolist(), res.F.tolist()) == ([0], [7.0])
    assert minimize(LatticeProblem(table, [GeneralLossMetric()], Violating(6), constraints), BranchAndBound()).X == [1]
    assert minimize(LatticeProblem(table, [GeneralLossMetric()], 7, constraints), BranchAndBound()).X == [1]


def test_values_depend_on_what_the_rule_suppresses_alone():
    """Evaluate the remaining rows even if a node exceeds the limit."""
    task = Task(invented(1), list(KINDS), [(KAnonymity(), True, 4)], 0, violating=True)
    problem = task.problem
    nodes_ = problem.nodes(0, 40)
    F, G = problem.evaluate(nodes_, return_values_of=["F", "G"])
    assert (G[:, -1] >= 0).all()
    below = values_of(task.table, list(KINDS), suppression=Below(4))
    np.testing.assert_allclose(problem.natural(F), below[:40], rtol=1e-12)
