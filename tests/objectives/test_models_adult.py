"""Privacy and loss models on Adult's lattice against plain twins.

The nodes are random.
"""

from functools import partial
from pathlib import Path

import numpy as np
import plain_models as plain
import pytest
from plain import PlainTable, read_levels
from plain_models import PlainRelease
from strategies import times

import pymoo_anon
from pymoo_anon.datasets import fetch_adult, fetch_adult_frame
from pymoo_anon.datasets.adult import QUASI_IDENTIFIERS
from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata

HIERARCHIES = Path(pymoo_anon.__file__).parent / "datasets" / "hierarchies"
N_NODES = times(4)
COLLARS = {
    "Adm-clerical": "office",
    "Armed-Forces": "uniform",
    "Craft-repair": "manual",
    "Exec-managerial": "office",
    "Farming-fishing": "outdoors",
    "Handlers-cleaners": "manual",
    "Machine-op-inspct": "manual",
    "Other-service": "service",
    "Priv-house-serv": "service",
    "Prof-specialty": "office",
    "Protective-serv": "uniform",
    "Sales": "office",
    "Tech-support": "office",
    "Transport-moving": "outdoors",
}
OCCUPATIONS = [list(COLLARS), list(COLLARS.values()), ["*"] * len(COLLARS)]
WEIGHTS = [1, 0.5, 2, 0, 1, 3, 0.25, 1]
OF_OCCUPATION = {
    EntropyLDiversity: plain.entropy_l,
    AlphaDeassociation: plain.alpha,
    TCloseness: plain.equal_t,
    BasicBetaLikeness: plain.basic_beta,
    EnhancedBetaLikeness: plain.enhanced_beta,
    DeltaDisclosure: plain.delta,
}
MODELS = [
    *((kind("occupation"), partial(twin, column="occupation")) for kind, twin in OF_OCCUPATION.items()),
    (DeltaDisclosure("occupation", strict=True), partial(plain.delta, column="occupation", strict=True)),
    *((RecursiveCLDiversity("occupation", c), partial(plain.recursive_l, column="occupation", c=c)) for c in (0.5, 3)),
    (
        TCloseness("education-num", "ordered"),
        partial(plain.ordered_t, column="education-num", order=range(1, 17)),
    ),
    (
        TCloseness("occupation", Hierarchy(OCCUPATIONS)),
        partial(
            plain.hierarchical_t,
            column="occupation",
            levels=[dict(zip(COLLARS, labels, strict=True)) for labels in OCCUPATIONS],
        ),
    ),
    (ProsecutorRisk(), plain.prosecutor_risk),
    (MarketerRisk(), plain.marketer_risk),
    (Discernibility(), plain.discernibility),
    (AverageClassSize(), plain.average_class_size),
    (NonUniformEntropy(), plain.non_uniform_entropy),
    (Precision(), plain.precision),
    (KLDivergence(), plain.kl_divergence),
    (GeneralLossMetric(WEIGHTS), partial(plain.weighted_loss, weights=WEIGHTS)),
]


def by_rows(frame):
    """Return Adult's rows with the packaged hierarchies, read by pandas."""
    kinds = {"age": int}
    levels = {name: read_levels(HIERARCHIES / f"{name}.csv", kinds.get(name, str)) for name in QUASI_IDENTIFIERS}
    return PlainTable(frame, levels)


def random_nodes(problem, n=N_NODES):
    """Return distinct nodes, including the most general and the most specific."""
    some = np.random.default_rng(0).integers(0, problem.lengths + 1, size=(2 * n, problem.n_var))
    others = np.random.default_rng(1).permutation(np.unique(some, axis=0))[: n - 2]
    return np.concatenate([[problem.lengths, 0 * problem.lengths], others])


def assert_agree(problem, twins, frame, limit, n=N_NODES):
    table = by_rows(frame)
    X = random_nodes(problem, n)
    assert len(X) == n
    found = problem.natural(problem.compute(X))
    releases = [PlainRelease(table, node, limit=limit) for node in X]
    for objective, twin, values in zip(problem.objectives, twins, found.T, strict=True):
        expected = [twin(release) for release in releases]
        if objective.whole:
            assert values.tolist() == expected, repr(objective)
        else:
            np.testing.assert_allclose(values, expected, rtol=1e-11, atol=1e-12, err_msg=repr(objective))


@pytest.mark.parametrize("limit", [0, 301])
def test_models_are_what_the_rows_of_adult_say(adult_rows, limit):
    objectives, twins = zip(*MODELS, strict=True)
    table = fetch_adult(sensitive=["occupation", "education-num"])
    assert_agree(LatticeProblem(table, objectives, suppression=limit), twins, adult_rows, limit)


def test_k_map_is_what_the_rows_of_adult_say(adult_rows):
    """Take all of Adult as the population of a 2,000-row sample."""
    population = fetch_adult(sensitive=None)
    sample = fetch_adult_frame().sample(2000, random_state=1)
    table = Microdata.from_frame(sample, population.quasi_identifiers)
    twin = partial(plain.k_map, population=adult_rows)
    for limit in (0, 20):
        problem = LatticeProblem(table, [KMap(population)], suppression=limit)
        assert_agree(problem, [twin], sample, limit)
