"""Archives of non-dominated points, and indicators against a true front."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from moocore import is_nondominated
from numpy.typing import ArrayLike
from pymoo.core.indicator import Indicator
from pymoo.core.individual import Individual
from pymoo.core.population import Population

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.table.domain_values import real_numbers
from pymoo_anon.typing import Array, Bools, Floats, Ints

Archive = TypeVar("Archive", bound="ParetoArchive")


class ParetoArchive:
    """The non-dominated individuals of all that were offered.

    Of individuals with equal F the first is kept. An individual that violates a constraint is never a member, even
    while a search tolerates it. It serves as `archive=` of any pymoo algorithm, and is indexed as a population.

    >>> from pymoo.core.population import Population
    >>> archive = ParetoArchive().add(Population.new(X=np.array([[0], [1], [2]]), F=[[-3, 40], [-4, 40], [-5, 80]]))
    >>> archive, archive.get("X").tolist()
    (ParetoArchive(2 members), [[1], [2]])
    """

    def __init__(self) -> None:
        self._members: list[Individual] = []
        self._F: Floats = np.empty((0, 0))

    def add(self: Archive, pop: Population) -> Archive:
        """Offer evaluated individuals in their order, and return the archive.

        Raises:
            ValueError: An individual is not evaluated, F holds NaN, or the number of objectives differs from that of
                the members, of `epsilon` or of `maximize`.
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

    def _kept(self, F: Floats) -> Ints:
        """Return the rows of members and candidates that stay."""
        return np.flatnonzero(first_non_dominated(F))

    @property
    def pop(self) -> Population:
        """Members as a population, in order of arrival."""
        return Population(self._members)

    @property
    def F(self) -> Floats:
        """Values of the members, a new (n, n_obj) float array."""
        return self._F.copy()

    def get(self, *names: str) -> Any:
        """Return attributes of the members, as pymoo's `Population.get`."""
        return self.pop.get(*names)

    def __getitem__(self, index: Any) -> Any:
        """Return members, as `Population` does."""
        return self.pop[index]

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Individual]:
        return iter(self._members)

    def __repr__(self) -> str:
        return f"ParetoArchive({len(self)} members)"


class BoxArchive(ParetoArchive):
    """Archive of one individual per box (Dewri et al. 2010, Algorithm 1).

    A grid of side `epsilon` divides objective space into boxes. In one box, an individual box-dominates another if its
    F does. In different boxes, it does if its box dominates the other box. A candidate is refused if a member
    box-dominates it, or if it shares a box with a member that it does not dominate. Members that it box-dominates
    leave. So every member is minimal among all individuals that were ever offered (Theorem 1).

    Args:
        epsilon: Side of the boxes, one positive number or one per objective. The paper's 1 suits k and GLM. An
            objective between 0 and 1 needs less, or all its values share one box.
        maximize: Whether an objective is maximised, so that F holds its negative: one truth value or one per objective.
            The grid then lies on the natural values, as in the paper. None lays it on F.

    Raises:
        ValueError: `epsilon` is not positive and finite, or `maximize` holds anything but truth values.

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
        epsilon: float | Sequence[float] | Floats = 1.0,
        maximize: bool | Sequence[bool] | Bools | None = None,
    ) -> None:
        self.epsilon = checked_epsilon(epsilon)
        self.maximize = checked_maximize(maximize)
        super().__init__()

    def _kept(self, F: Floats) -> Ints:
        return update_boxes(F, boxes(F, self.epsilon, self.maximize), len(self))

    def __repr__(self) -> str:
        return f"BoxArchive({len(self)} members, epsilon {self.epsilon.tolist()})"


def _values_of(individuals: list[Individual]) -> Floats:
    widths = {np.size(one.F) for one in individuals}
    if 0 in widths:
        raise ValueError("pop must be evaluated before it enters the archive, got individuals without F")
    if len(widths) > 1:
        raise ValueError(f"pop must have one number of objectives, the members' own, got {sorted(widths)}")
    return np.array([one.F for one in individuals], dtype=float).reshape(len(individuals), -1)


def satisfies_constraints(one: Individual) -> bool:
    """Return whether an individual satisfies its constraints.

    A tolerance of the running search does not count: `AdaptiveEpsilonConstraintHandling` changes `cv_eps`. G, H and the
    tolerance of each constraint (0 for G, 1e-4 for H by default) stay the same.
    """
    G = () if one.G is None else one.G
    H = () if one.H is None else one.H
    if not len(G) + len(H):
        return bool(one.cv <= 0)
    most, distance = one.config["cv_ieq"]["eps"], one.config["cv_eq"]["eps"]
    return bool(np.all(most >= G) and np.all(distance >= np.abs(H)))


def boxes(F: ArrayLike, epsilon: ArrayLike, maximize: ArrayLike | None = None) -> Floats:
    """Return the boxes of points (Dewri et al. 2010, section 5).

    The lines of the grid are the multiples of epsilon. It lies on the natural values, and a value on a line belongs to
    the box above it. A value that differs from a line by rounding alone lies on it, since 0.3 / 0.1 is a little less
    than 3 in floats. The box of a minimised objective is `floor(F / epsilon)`. That of a maximised one is
    `ceil(F / epsilon)`, the negative of its natural box. So lower is better.

    >>> boxes([[-7, 120]], epsilon=[5, 100], maximize=[True, False])  # k = 7 lies between 5 and 10
    array([[-1.,  1.]])
    >>> boxes([[-7, 120]], epsilon=[5, 100])
    array([[-2.,  1.]])
    """
    values, maximised = np.asarray(F, dtype=float), checked_maximize(maximize)
    sides = checked_epsilon(epsilon, values.shape[-1])
    if maximised.size not in (1, values.shape[-1]):
        raise ValueError(f"maximize must be one value or one per objective: {values.shape[-1]}, got {maximised.size}")
    places = values / sides
    lines = np.rint(places)
    with np.errstate(invalid="ignore"):
        # Infinite values compare as False and keep their line.
        between = np.abs(places - lines) > 2.0**-45 * np.abs(lines)
    # Adding 0 turns the -0 that ceil returns for -0.5 into 0.
    return np.where(between, np.where(maximised, np.ceil(places), np.floor(places)), lines) + 0.0


def checked_epsilon(epsilon: ArrayLike, n_obj: int | None = None) -> Floats:
    """Return positive and finite sides of boxes, or raise."""
    sides = real_numbers(epsilon)
    if sides.ndim > 1 or sides.size == 0 or not np.isfinite(sides).all() or (sides <= 0).any():
        raise ValueError(f"epsilon must be a positive number, or one per objective, got {epsilon!r}")
    # Values up to 10^18 stay finite.
    if (sides < 1e-290).any():
        raise ValueError(f"epsilon must be at least 1e-290, as values are divided by it, got {epsilon!r}")
    if n_obj is not None and sides.size not in (1, n_obj):
        raise ValueError(f"epsilon must be one number or one per objective: {n_obj}, got {sides.size}")
    return sides


def checked_maximize(maximize: ArrayLike | None) -> Bools:
    """Return directions as Booleans, or raise. None is False."""
    given = np.array(False if maximize is None else maximize)
    if given.ndim > 1 or given.size == 0 or given.dtype != bool:
        raise ValueError(f"maximize must be True or False, or one of these per objective, got {maximize!r}")
    return given


def evaluated(X: Array, F: Floats, G: Floats | None = None) -> Population:
    """Return a population of points with known values."""
    known = {"F": F} if G is None else {"F": F, "G": G}
    pop = Population.new(X=X, **known)
    # An evaluator skips individuals that have all three.
    pop.apply(lambda one: one.evaluated.update("FGH"))
    return pop


def front_order(F: Floats) -> Ints:
    """Return the lexicographic order of a front, stable for equal points."""
    return np.lexsort(np.asarray(F).T[::-1])


def in_order(pop: Population) -> Population:
    """Return a front in the order of `front_order`."""
    return pop[front_order(np.array([one.F for one in pop]))] if len(pop) > 1 else pop


def merge_front(X: Array, F: Floats, more_X: Array, more_F: Floats) -> tuple[Array, Floats]:
    """Return X and F of a front with further points, each F once."""
    X, F = np.concatenate([X, more_X]), np.concatenate([F, more_F])
    best = first_non_dominated(F)
    return X[best], F[best]


def first_non_dominated(F: Floats) -> Bools:
    """Return a mask of the non-dominated points, without duplicates."""
    ranks = F
    if not np.isfinite(F).all():
        # moocore loses points beside infinite ones. Ranks have the same order and are finite.
        ranks = np.column_stack([np.unique(values, return_inverse=True)[1] for values in F.T]).astype(float)
    return is_nondominated(ranks, keep_weakly=False)


@kernel
def _dominates(a, b):
    better = False
    for o in range(len(a)):
        if a[o] > b[o]:
            return False
        better |= a[o] < b[o]
    return better


@kernel
def _equal_points(a, b):
    for o in range(len(a)):  # noqa: SIM110
        if a[o] != b[o]:
            return False
    return True


@njit()
def update_boxes(F, boxes, n_members):
    """Offer points to a box archive (Dewri et al. 2010, Algorithm 1).

    F and boxes are (n, n_obj), of the members so far and then of the candidates. Returns the rows that are members
    afterwards, in their order. The comments number the steps as the paper does.
    """
    members = np.empty(len(F), dtype=np.int64)
    for m in range(n_members):
        members[m] = m
    n = n_members
    # Invariant: members[:n] is the archive after the candidates so far, in their order. Step 1, the first candidate, is
    # step 6 with an empty archive.
    for candidate in range(n_members, len(F)):
        refused = False
        kept = 0
        # Invariant: members[:kept] are the rows of members[:m] that stay. As kept <= m, each is read before it is
        # overwritten.
        for m in range(n):
            member = members[m]
            same_box = _equal_points(boxes[candidate], boxes[member])
            # Box-dominance compares the values of points in one box, and otherwise their boxes.
            values = F if same_box else boxes
            # Steps 2 and 3: a member that the candidate box-dominates leaves.
            if not _dominates(values[candidate], values[member]):
                members[kept] = member
                kept += 1
                # Steps 4 and 5: a member that stays, in the same box or box-dominating, refuses the candidate.
                refused |= same_box or _dominates(boxes[member], boxes[candidate])
        n = kept
        # Step 6.
        if not refused:
            members[n] = candidate
            n += 1
    # Step 7.
    return members[:n].copy()


def dominance_fitness(F: Floats) -> Ints:
    """Return the (n,) int64 dominance-count fitness of points, lower is better.

    dom_P is the number of points that P dominates. The fitness of P is the sum of dom_P' over all P' that dominate P
    (Dewri et al. 2010, step 5 of Algorithm 2, after SPEA2).
    """
    no_worse = np.ones((len(F), len(F)), dtype=bool)
    for own in F.T:
        no_worse &= own[:, np.newaxis] <= own
    # Equal points are no worse either way.
    dominates = no_worse & ~no_worse.T
    return dominates.sum(axis=1) @ dominates


# --- indicators (Dewri et al. 2010, section 7) ------------------------------------------------------------------------


class _TrueFrontIndicator(Indicator):  # type: ignore[misc]
    """Base of the indicators, with checks of both fronts."""

    def __init__(
        self, pf: ArrayLike, zero_to_one: bool = False, ideal: ArrayLike | None = None, nadir: ArrayLike | None = None
    ) -> None:
        truth = np.array(pf, dtype=float)
        if truth.ndim != 2 or truth.size == 0 or not np.isfinite(truth).all():
            raise ValueError(f"pf must be a front of finite values, an (n, n_obj) array, got shape {truth.shape}")
        low = truth.min(axis=0) if ideal is None else np.array(ideal, dtype=float)
        high = truth.max(axis=0) if nadir is None else np.array(nadir, dtype=float)
        super().__init__(zero_to_one=zero_to_one, ideal=low, nadir=high)
        self.pf: Floats = self.normalization.forward(truth)

    def do(self, F: ArrayLike | None, *args: Any, **kwargs: Any) -> float:
        """Return the value of a front."""
        n_obj = self.pf.shape[1]
        given = np.empty((0, n_obj)) if F is None else np.asarray(F, dtype=float)
        members = np.atleast_2d(given) if given.size else np.empty((0, n_obj))
        if members.ndim != 2 or members.shape[1] != n_obj:
            raise ValueError(f"F must have {n_obj} objectives, as pf does, got shape {given.shape}")
        if np.isnan(members).any():
            raise ValueError("F must hold numbers, got nan")
        return super().do(members, *args, **kwargs)


class ConvergenceMetric(_TrueFrontIndicator):
    """CE, the mean distance to the true front.

    Lower is better, 0 is best. Every objective is divided by its largest absolute value in the true front, if that is
    not 0, and the distance to the nearest point is euclidean. The paper's formula prints the sum over the members, but
    its tables fit the mean.

    Args:
        pf: (n, n_obj) array, the true front, minimised values.
        total: Whether to give the sum over the members instead of their mean.
        zero_to_one: Whether every objective is scaled to 0 to 1 by `ideal` and `nadir`, as in pymoo's indicators,
            instead of being divided by its largest value.
        ideal: (n_obj,) array. None takes the least values of the true front.
        nadir: (n_obj,) array. None takes the largest values of the true front.

    >>> pf = [[-10, 40], [-2, 0]]
    >>> ConvergenceMetric(pf)([[-10, 40], [-2, 4]])  # the second is 4 of 40 away
    0.05
    >>> ConvergenceMetric(pf, total=True)([[-10, 40], [-2, 4]])
    0.1
    """

    def __init__(
        self,
        pf: ArrayLike,
        total: bool = False,
        *,
        zero_to_one: bool = False,
        ideal: ArrayLike | None = None,
        nadir: ArrayLike | None = None,
    ) -> None:
        super().__init__(pf, zero_to_one, ideal, nadir)
        self.total = total
        largest = np.abs(self.pf).max(axis=0)
        # An objective that is 0 all over the true front has no scale, and after zero_to_one all have the scale 1.
        self.scale = np.where((largest > 0) & (not zero_to_one), largest, 1.0)

    def do(self, F: ArrayLike | None, *args: Any, **kwargs: Any) -> float:
        """Return the value of a front.

        Raises:
            ValueError: F has no row, another number of objectives than the true front, or holds NaN.
        """
        if F is None or np.size(F) == 0:
            raise ValueError("F must have at least one row, got none")
        return super().do(F, *args, **kwargs)

    def _do(self, F: Floats, *args: Any, **kwargs: Any) -> float:
        members, truth = F / self.scale, self.pf / self.scale
        nearest = [np.sqrt(((truth - member) ** 2).sum(axis=1)).min() for member in members]
        return float(np.sum(nearest) if self.total else np.mean(nearest))


class RepresentationRatio(_TrueFrontIndicator):
    """RR, the occupied share of the true front's boxes.

    Only non-dominated boxes of the true front count. Higher is better, 1 is best. A front without a row occupies no
    box. The boxes have to be small beside the true front: where its values lie between 0 and 1, a box of side 1 holds
    all of it.

    Args:
        pf: (n, n_obj) array, the true front, minimised values.
        epsilon: Side of the boxes, one positive number or one per objective.
        maximize: Whether an objective is maximised, one truth value or one per objective, as in `BoxArchive`. The
            boxes then lie on the natural values, as in the paper. None lays them on F.

    >>> pf = [[-10, 40], [-7, 30], [-2, 0]]
    >>> RepresentationRatio(pf)([[-10, 40], [-2, 4]])  # one of three points
    0.3333333333333333
    >>> RepresentationRatio(pf, epsilon=[5, 10], maximize=[True, False])([[-11, 42], [-2, 4]])
    0.6666666666666666
    """

    def __init__(
        self, pf: ArrayLike, epsilon: float | Sequence[float] = 1.0, maximize: bool | Sequence[bool] | None = None
    ) -> None:
        super().__init__(pf)
        self.epsilon = checked_epsilon(epsilon)
        self.maximize = checked_maximize(maximize)
        distinct = np.unique(boxes(self.pf, self.epsilon, self.maximize), axis=0)
        self.boxes = {tuple(box) for box in distinct[is_nondominated(distinct)]}

    def _do(self, F: Floats, *args: Any, **kwargs: Any) -> float:
        occupied = {tuple(box) for box in boxes(F, self.epsilon, self.maximize)}
        return len(self.boxes & occupied) / len(self.boxes)
