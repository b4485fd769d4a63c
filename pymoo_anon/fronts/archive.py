"""Archives of minimal generalizations, for any number of objectives and any algorithm of pymoo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from moocore import is_nondominated
from numpy.typing import ArrayLike, NDArray
from pymoo.core.individual import Individual
from pymoo.core.population import Population

from pymoo_anon.fronts.dominance import boxes_of, update_boxes

Matrix = NDArray[np.float64]
Archive = TypeVar("Archive", bound="ParetoArchive")


class ParetoArchive:
    """The non-dominated individuals among all that were seen; of equal F the first.

    It serves as `archive=` of any pymoo algorithm: `add` takes a population and returns the archive itself. It has a
    length, is indexed and sliced as a population is, and gives values of its members by `get`. Individuals that break a
    constraint are passed over, whatever a search tolerates for the time being (see `satisfies_constraints`).

    >>> from pymoo.core.population import Population
    >>> archive = ParetoArchive().add(Population.new(X=np.array([[0], [1], [2]]), F=[[-3, 40], [-4, 40], [-5, 80]]))
    >>> archive, archive.get("X").tolist()
    (ParetoArchive(2 members), [[1], [2]])
    """

    def __init__(self) -> None:
        self._members: list[Individual] = []
        self._F: Matrix = np.empty((0, 0))

    def add(self: Archive, pop: Population) -> Archive:
        """Offer evaluated individuals in their order; returns the archive itself.

        Args:
            pop: Individuals with F, and with G and H, or CV, where there are constraints.

        Raises:
            ValueError: An individual is not evaluated, its F holds NaN or has another number of objectives than the
                members, or `epsilon` or `maximize` of a `BoxArchive` has another number.
        """
        candidates = list(np.atleast_1d(np.asarray(pop, dtype=object)))
        if not candidates:
            return self
        F = _values_of([*self._members[:1], *candidates])[len(self._members[:1]) :]
        feasible = [i for i, one in enumerate(candidates) if satisfies_constraints(one)]
        if not feasible:
            return self
        candidates, F = [candidates[i] for i in feasible], F[feasible]
        if np.isnan(F).any():
            raise ValueError("pop must have numbers in F, got nan")
        members = [*self._members, *candidates]
        together = np.concatenate([self._F.reshape(-1, F.shape[1]), F])
        kept = self._kept(together)
        self._members = [members[i] for i in kept]
        self._F = together[kept]
        return self

    def _kept(self, F: Matrix) -> NDArray[np.int64]:
        """Which rows are members: those of the members so far, and then the candidates'."""
        return np.flatnonzero(first_non_dominated(F))

    @property
    def pop(self) -> Population:
        """The members as a pymoo population, in the order in which they came."""
        return Population(self._members)

    @property
    def F(self) -> Matrix:
        """(n, n_obj) float array, a copy of the members' objective values."""
        return self._F.copy()

    def get(self, *names: str) -> Any:
        """Attributes of the members, as pymoo's `Population.get`."""
        return self.pop.get(*names)

    def __getitem__(self, index: Any) -> Any:
        """One member, or a population of those that a slice or an array selects."""
        return self.pop[index]

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Individual]:
        return iter(self._members)

    def __repr__(self) -> str:
        return f"ParetoArchive({len(self)} members)"


class BoxArchive(ParetoArchive):
    """The best individuals seen so far, one per non-dominated box of objective space (Dewri et al. 2010, Algorithm 1).

    A grid of side `epsilon` divides objective space into boxes, as `boxes` says. Of two individuals in different boxes
    one box-dominates where its box dominates the other's; in the same box, where its F does. A candidate that is
    box-dominated by a member, or shares a box with one that it does not dominate, is refused; members that it dominates
    leave. So every member is minimal among all that was ever offered (Theorem 1), and the size is bounded by the number
    of boxes (Theorem 2). With whole-numbered objectives and an epsilon of 1, boxes are points.

    Args:
        epsilon: Side of the boxes, one positive number or one per objective: the difference that is worth telling
            apart. The paper's 1 suits k and GLM; an objective between 0 and 1 needs less, or all of it is one box.
        maximize: Whether an objective is maximised, so that F holds its negative: one truth value or one per objective.
            The grid then lies on the natural values, as the paper's does. None lays it on F. `PBGEA` knows it from the
            problem.

    Raises:
        ValueError: `epsilon` is not positive and finite, or `maximize` holds other things than truth values.

    >>> from pymoo.core.population import Population
    >>> seen = Population.new(X=np.array([[0], [1], [2], [3]]), F=[[-12, 30], [-14, 80], [-3, 40], [-31, 700]])
    >>> archive = BoxArchive(epsilon=[5, 100], maximize=[True, False])
    >>> archive.add(seen)  # 12 and 14 share a box and neither dominates; the third is dominated
    BoxArchive(2 members, epsilon [5.0, 100.0])
    >>> archive.F
    array([[-12.,  30.],
           [-31., 700.]])
    >>> archive[0].X, archive[1:].get("X")
    (array([0]), array([[3]]))
    """

    def __init__(
        self,
        epsilon: float | Sequence[float] | NDArray[np.float64] = 1.0,
        maximize: bool | Sequence[bool] | NDArray[np.bool_] | None = None,
    ) -> None:
        self.epsilon = checked_epsilon(epsilon)
        self.maximize = checked_maximize(maximize)
        super().__init__()

    def _kept(self, F: Matrix) -> NDArray[np.int64]:
        kept: NDArray[np.int64] = update_boxes(F, boxes(F, self.epsilon, self.maximize), len(self))
        return kept

    def __repr__(self) -> str:
        return f"BoxArchive({len(self)} members, epsilon {self.epsilon.tolist()})"


def _values_of(individuals: list[Individual]) -> Matrix:
    """(n, n_obj) float array, F of individuals."""
    try:
        F = np.array([one.F for one in individuals], dtype=float).reshape(len(individuals), -1)
        widths = {F.shape[1]}
    except ValueError:
        widths = {np.size(one.F) for one in individuals}
    if 0 in widths:
        raise ValueError("pop must be evaluated before it enters the archive, got individuals without F")
    if len(widths) > 1:
        raise ValueError(f"pop must have one number of objectives, the members' own, got {sorted(widths)}")
    return F


def satisfies_constraints(one: Individual) -> bool:
    """Whether an individual satisfies its constraints at the end, and not only for the time being.

    pymoo calls an individual feasible where its CV is at most the `cv_eps` of its config.
    `AdaptiveEpsilonConstraintHandling` raises `cv_eps` early in a search and lowers it to 0 later. Meanwhile G and H do
    not change, nor does the tolerance of each constraint: 0 for G and 1e-4 for H by default.
    """
    G = () if one.G is None else one.G
    H = () if one.H is None else one.H
    if not len(G) + len(H):
        return bool(one.cv <= 0)
    most, distance = one.config["cv_ieq"]["eps"], one.config["cv_eq"]["eps"]
    return bool(np.all(most >= G) and np.all(distance >= np.abs(H)))


def boxes(F: ArrayLike, epsilon: ArrayLike, maximize: ArrayLike | None = None) -> Matrix:
    """The box of every point on the grid of Dewri et al. 2010, section 5, whose lines are the multiples of epsilon.

    The grid lies on the natural values, so that a value on a line belongs to the box above it; so does one that only
    rounding tells from the line, as 0.3 / 0.1 is a little less than 3 in floats. The box of a minimised
    objective is `floor(F / epsilon)`. A maximised one has the value v = -F and the box floor(v / epsilon), which is
    `-ceil(F / epsilon)`; it is given as `ceil(F / epsilon)`, so that boxes are minimised as F is.

    Returns:
        (n, n_obj) float array of whole numbers; lower is better.

    >>> boxes([[-7, 120]], epsilon=[5, 100], maximize=[True, False])  # k = 7 lies between 5 and 10
    array([[-1.,  1.]])
    >>> boxes([[-7, 120]], epsilon=[5, 100])
    array([[-2.,  1.]])
    """
    values, sides, maximised = np.asarray(F, dtype=float), checked_epsilon(epsilon), checked_maximize(maximize)
    fit_epsilon(sides, values.shape[-1])
    if maximised.size not in (1, values.shape[-1]):
        raise ValueError(f"maximize must be one value or one per objective: {values.shape[-1]}, got {maximised.size}")
    grid = [np.broadcast_to(own, values.shape[-1]).copy() for own in (sides, maximised)]
    found: Matrix = boxes_of(np.ascontiguousarray(np.atleast_2d(values)), *grid)
    return found.reshape(values.shape)


def checked_epsilon(epsilon: ArrayLike) -> Matrix:
    """Sides of boxes as an array of one number or one per objective."""
    try:
        sides = np.array(epsilon, dtype=float)
    except (TypeError, ValueError):
        sides = np.empty(0)
    if sides.ndim > 1 or sides.size == 0 or not np.isfinite(sides).all() or (sides <= 0).any():
        raise ValueError(f"epsilon must be a positive number, or one per objective, got {epsilon!r}")
    return sides


def checked_maximize(maximize: ArrayLike | None) -> NDArray[np.bool_]:
    """Directions as a Boolean array of one truth value or one per objective; None is False."""
    given = np.array(False if maximize is None else maximize)
    if given.ndim > 1 or given.size == 0 or given.dtype != bool:
        raise ValueError(f"maximize must be True or False, or one of these per objective, got {maximize!r}")
    return given


def fit_epsilon(epsilon: Matrix, n_obj: int) -> None:
    """Refuse sides of boxes that are neither one number nor one per objective."""
    if epsilon.size not in (1, n_obj):
        raise ValueError(f"epsilon must be one number or one per objective: {n_obj}, got {epsilon.size}")


def evaluated(X: NDArray[Any], F: Matrix, G: Matrix | None = None) -> Population:
    """A pymoo population of points whose values are known, so that no evaluator computes them again."""
    known = {"F": F} if G is None else {"F": F, "G": G}
    pop = Population.new(X=X, **known)
    # An evaluator passes over individuals that have all three.
    pop.apply(lambda one: one.evaluated.update("FGH"))
    return pop


def front_order(F: Matrix) -> NDArray[np.int64]:
    """The one order of a front: by the first objective, then by the next; what is equal in all stays as it came.

    >>> front_order(np.array([[-3.0, 40.0], [-5.0, 80.0], [-3.0, 20.0]]))
    array([1, 2, 0])
    """
    return np.lexsort(np.asarray(F).T[::-1])


def in_order(pop: Population) -> Population:
    """A front as a population, in the order of `front_order`."""
    return pop[front_order(np.array([one.F for one in pop]))] if len(pop) > 1 else pop


def merge_front(X: NDArray[Any], F: Matrix, more_X: NDArray[Any], more_F: Matrix) -> tuple[NDArray[Any], Matrix]:
    """X and F of the non-dominated points of a front and of further points; of equal ones the first."""
    X, F = np.concatenate([X, more_X]), np.concatenate([F, more_F])
    best = first_non_dominated(F)
    return X[best], F[best]


def first_non_dominated(F: Matrix) -> NDArray[np.bool_]:
    """(n,) Boolean array: the points that no other dominates; of equal ones the first."""
    ranks = F
    if not np.isfinite(F).all():
        # moocore loses points beside infinite ones; ranks have the same order and are finite.
        ranks = np.column_stack([np.unique(values, return_inverse=True)[1] for values in F.T]).astype(float)
    best: NDArray[np.bool_] = is_nondominated(ranks, keep_weakly=False)
    return best
