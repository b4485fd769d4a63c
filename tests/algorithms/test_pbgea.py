"""PBG-EA beside a plain Algorithm 2 and a path computed by hand."""

import numpy as np
import pytest
from pymoo.core.population import Population
from pymoo.core.problem import Problem
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


class Grid(Problem):
    """Two levels from 0 to 2. F is the pair -ab, a + b."""

    def __init__(self):
        super().__init__(n_var=2, n_obj=2, xl=0, xu=2, vtype=int)

    def _evaluate(self, X, out, *args, **kwargs):
        out["F"] = np.column_stack([-X[:, 0] * X[:, 1], X[:, 0] + X[:, 1]])


class Script:
    """Scripted draws that must be requested in their own shape."""

    def __init__(self, *draws):
        self.draws = [np.array(draw) for draw in draws]

    def _next(self, size):
        draw = self.draws.pop(0)
        assert draw.shape == (size if isinstance(size, tuple) else (size,))
        return draw

    def integers(self, *bounds, size):
        return self._next(size)

    def random(self, size):
        return self._next(size)

    def choice(self, values, size):
        return self._next(size)


def test_a_path_by_hand():
    """Follow a path over nine nodes.

    Values (-ab, a + b): 00 (0, 0), 10 (0, 1), 02 (0, 2), 11 (-1, 2), 21 and 12 (-2, 3), 22 (-4, 4).
    """
    none = np.full((4, 2), 0.9)
    script = Script(
        # Two nodes are replaced by the ends: 22, 00, 10, 02. Of these 00 dominates 10 and 02: the archive is 22, 00.
        [[1, 1], [1, 1], [1, 0], [0, 2]],
        # The union is 22, 00, 10, 02. 00 dominates two and 10 one, so the fitness is 0, 0, 2, 2 + 1.
        # Tournaments: 22 against 00 is a tie, the first wins. 02 against 10: 10. 10 against 02: 10. 00 against 00.
        [[[0, 3], [2, 1]], [[1, 2], [3, 1]]],
        # The pairs are (22, 10) and (10, 00). The first is crossed, to 20 and 12; the second passes on.
        [0.79, 0.8],
        [[1], [1]],
        # The first children of all pairs and then the second: 20, 10, 12, 00. Mutation is below a half.
        # 20 goes up to 21, 10 down to 00; 12 is at its end and stays; 00 is not mutated.
        [[0.5, 0.1], [0.2, 0.5], [0.9, 0.4], [0.6, 0.7]],
        [[1, 1], [-1, 1], [1, 1], [1, 1]],
        [0.0, 0.5, 0.9, 0.99],
        # 21 enters. 00 is there. 12 has the values of 21, and the older member stays: the archive is 22, 00, 21.
        # The union is 22, 00, 21, 12, without a second 00. None is dominated, so the first of each tournament wins.
        [[[2, 3], [0, 0]], [[0, 0], [1, 1]]],
        # The pairs are (21, 12) and (22, 22). Crossed, the first is 22 and 11.
        [0.1, 0.1],
        [[1], [1]],
        none,
        np.ones((4, 2), dtype=int),
        [0.5] * 4,
    )
    algorithm = PBGEA(pop_size=4)
    algorithm.setup(Grid(), termination=("n_gen", 3), seed=0)
    algorithm.random_state = script
    populations, archives = [], []
    while algorithm.has_next():
        algorithm.next()
        populations.append(["".join(map(str, x)) for x in algorithm.pop.get("X")])
        archives.append(["".join(map(str, x)) for x in algorithm.box_archive.get("X")])
    assert populations == [["22", "00", "10", "02"], ["21", "00", "12", "00"], ["22", "22", "11", "22"]]
    assert archives == [["22", "00"], ["22", "00", "21"], ["22", "00", "21", "11"]]
    assert algorithm.result().F.tolist() == [[-4, 4], [-2, 3], [-1, 2], [0, 0]]
    assert script.draws == []


def test_a_node_counts_once_in_the_mating_pool():
    """Merge three copies of a node into one, taken from the archive."""
    pools = []

    class Seeing(DominanceCountTournament):
        def _do(self, problem, pop, *args, **kwargs):
            pools.append(pop.get("X").tolist())
            return super()._do(problem, pop, *args, **kwargs)

    algorithm = PBGEA(5, sampling=np.array([[2, 2], [0, 1], [0, 1], [0, 0], [2, 2]]), selection=Seeing())
    algorithm.setup(Grid(), seed=0)
    algorithm.next()
    algorithm.next()
    assert pools == [[[2, 2], [0, 0], [0, 1]]]


def winners(pop, first, second):
    script = Script([np.array(first)[:, None], np.array(second)[:, None]])
    return DominanceCountTournament()._do(None, pop, len(first), 1, random_state=script)[:, 0].tolist()


def test_infeasible_points_count_for_nobodys_fitness():
    """Let an infeasible third point dominate the first in vain."""
    pop = Population.new(
        X=np.arange(3)[:, None], F=np.array([[1.0, 1], [0, 3], [1, 0]]), G=np.array([[0.0], [-1], [1]])
    )
    assert winners(pop, [0, 1, 2, 0, 2], [1, 0, 0, 2, 2]) == [0, 1, 0, 0, 2]


def test_the_smaller_violation_wins_and_among_equal_ones_the_first():
    F = np.array([[0.0, 0], [5, 5], [1, 1]])
    pop = Population.new(X=np.arange(3)[:, None], F=F, G=np.array([[3.0], [2.0], [3.0]]))
    assert winners(pop, [0, 1, 2, 0], [1, 0, 0, 2]) == [1, 1, 2, 0]


def test_a_violation_that_is_tolerated_is_none():
    """Decide by fitness while the search tolerates a violation."""
    F = np.array([[0.0, 0], [5, 5]])
    pop = Population.new(X=np.arange(2)[:, None], F=F, G=np.array([[3.0], [0.0]]))
    assert winners(pop, [1], [0]) == [1]
    for one in pop:
        one.config["cv_eps"] = 3.0
    assert winners(pop, [1], [0]) == [0]


def test_violations_may_come_without_their_constraints():
    pop = Population.new(X=np.arange(2)[:, None], F=np.array([[0.0, 0], [5, 5]]), CV=np.array([[1.0], [0.0]]))
    assert winners(pop, [0, 1], [1, 0]) == [1, 1]
