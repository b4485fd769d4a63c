"""PBG-EA beside a plain Algorithm 2."""

from types import SimpleNamespace

import numpy as np
import pytest
from pymoo.core.population import Population
from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, NormalizedWeightedPenalty
from pymoo_anon.operators import DominanceCountTournament
from pymoo_anon.problems import LatticeProblem

CENSUS = make_census(300, seed=5)


def dominates(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True)) and a != b


def updated(archive, node, F, box):
    """Update the archive by Algorithm 1 as printed."""

    def box_dominates(a, b):
        return dominates(F(a), F(b)) if box(a) == box(b) else dominates(box(a), box(b))

    archive = [member for member in archive if not box_dominates(node, member)]
    if not any(box_dominates(member, node) or box(member) == box(node) for member in archive):
        archive.append(node)
    return archive


def tournament_fitness(nodes, F):
    """Compute section 6: the summed dominance counts of dominating nodes."""
    counts = [sum(dominates(F(a), F(b)) for b in nodes) for a in nodes]
    return [sum(counts[i] for i, a in enumerate(nodes) if dominates(F(a), F(b))) for b in nodes]


def algorithm_2(F, box, lengths, n_pop, n_iterations, seed):
    """Run Algorithm 2 of Dewri et al. (2010) on lists of nodes."""
    rng, n_var = np.random.default_rng(seed), len(lengths)
    # Steps 1 to 4. The wholly generalized and the wholly specialized node are always there.
    population = [tuple(x) for x in rng.integers(0, np.array(lengths) + 1, size=(n_pop, n_var)).tolist()]
    population[:2] = [tuple(lengths), (0,) * n_var][:n_pop]
    archive = []
    for node in population:
        archive = updated(archive, node, F, box)
    path = [(population, archive)]
    while len(path) < n_iterations:
        # Step 5: fitness in the union, a set.
        union = list(dict.fromkeys([*archive, *population]))
        fitness = tournament_fitness(union, F)
        # Step 6: one tournament for each place of the pool.
        n_pairs = -(-n_pop // 2)
        left, right = rng.integers(len(union), size=(2, n_pairs, 2)).tolist()
        pool = [
            [union[b if fitness[b] < fitness[a] else a] for a, b in zip(row, other, strict=True)]
            for row, other in zip(left, right, strict=True)
        ]
        # Step 7: crossover with probability 0.8, then single steps with probability 1 / attributes.
        crossed = rng.random(n_pairs) < 0.8
        points = rng.integers(1, n_var, size=(n_pairs, 1))[:, 0] if crossed.any() else None
        for i in range(n_pairs):
            if crossed[i]:
                a, b = pool[i]
                pool[i] = [a[: points[i]] + b[points[i] :], b[: points[i]] + a[points[i] :]]
        children = [one for one, _ in pool] + [other for _, other in pool]
        steps_at = rng.random((2 * n_pairs, n_var)) < 1 / n_var
        steps = rng.choice([-1, 1], size=(2 * n_pairs, n_var))
        # pymoo draws whether to mutate a child. Here it always does.
        rng.random(2 * n_pairs)
        population = [
            tuple(
                min(max(level + int(step), 0), length) if stepping else level
                for level, stepping, step, length in zip(child, at, up, lengths, strict=True)
            )
            for child, at, up in zip(children, steps_at, steps, strict=True)
        ][:n_pop]
        # Step 8.
        for node in population:
            archive = updated(archive, node, F, box)
        path.append((population, archive))
    return path


@pytest.mark.parametrize("n_pop", [1, 2, 3, 10, 25])
@pytest.mark.parametrize(
    ("objectives", "epsilon"),
    [
        ([KAnonymity(), GeneralLossMetric()], None),
        ([KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()], (2, 2, 50)),
        ([KAnonymity(), NormalizedWeightedPenalty()], None),
    ],
    ids=["k, GLM", "k, l, GLM in boxes", "k, NWP"],
)
def test_every_generation_is_that_of_the_twin(n_pop, objectives, epsilon):
    problem = LatticeProblem(CENSUS, objectives, suppression=0.02)
    known = {}

    def values(node):
        if node not in known:
            known[node] = tuple(problem.compute(np.array([node]))[0].tolist())
        return known[node]

    def box(node):
        sides = [objective.step for objective in objectives] if epsilon is None else epsilon
        columns = zip(values(node), sides, objectives, strict=True)
        # On the natural values, and turned so that lower is better.
        return tuple(-(-f // side) if objective.maximize else f // side for f, side, objective in columns)

    for seed in range(3):
        algorithm = PBGEA(n_pop, epsilon=epsilon)
        res = minimize(problem, algorithm, ("n_gen", 12), seed=seed, save_history=True)
        path = algorithm_2(values, box, problem.lengths.tolist(), n_pop, 12, seed)
        for entry, (population, archive) in zip(res.history, path, strict=True):
            assert entry.pop.get("X").tolist() == [list(node) for node in population]
            assert entry.box_archive.get("X").tolist() == [list(node) for node in archive]
        front = sorted(path[-1][1], key=values)
        assert res.X.tolist() == [list(node) for node in front]
        assert res.F.tolist() == [list(values(node)) for node in front]


def tournament(pop, first, second):
    script = SimpleNamespace(integers=lambda n, size: np.reshape([first, second], size))
    return DominanceCountTournament()._do(None, pop, len(first), 1, random_state=script)[:, 0].tolist()


@pytest.mark.parametrize(
    ("F", "violations", "first", "second", "winners"),
    [
        # The smaller violation wins, and among equal ones the first.
        ([[0, 0], [5, 5], [1, 1]], {"G": [[3], [2], [3]]}, [0, 1, 2, 0], [1, 0, 0, 2], [1, 1, 2, 0]),
        # Infeasible points count for nobody's fitness: the third dominates the first in vain.
        ([[1, 1], [0, 3], [1, 0]], {"G": [[0], [-1], [1]]}, [0, 1, 2, 0, 2], [1, 0, 0, 2, 2], [0, 1, 0, 0, 2]),
        # Violations may come without their constraints.
        ([[0, 0], [5, 5]], {"CV": [[1], [0]]}, [0, 1], [1, 0], [1, 1]),
    ],
)
def test_tournaments(F, violations, first, second, winners):
    pop = Population.new(F=np.array(F, dtype=float), **{name: np.array(own, float) for name, own in violations.items()})
    assert tournament(pop, first, second) == winners


def test_a_violation_that_is_tolerated_is_none():
    """Decide by fitness while the search tolerates a violation."""
    pop = Population.new(F=np.array([[0.0, 0], [5, 5]]), G=np.array([[3.0], [0.0]]))
    assert tournament(pop, [1], [0]) == [1]
    for one in pop:
        one.config["cv_eps"] = 3.0
    assert tournament(pop, [1], [0]) == [0]
