"""What the search spaces share: objectives in pymoo's direction, suppression, and a memory of what was evaluated."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pymoo.core.problem import Problem

from pymoo_anon._messages import positive_whole
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.problems.arguments import (
    check_table,
    checked_constraints,
    checked_objectives,
    free_name,
    measure_names,
)
from pymoo_anon.problems.front import Front, front_of, points_of
from pymoo_anon.problems.journal import Journal
from pymoo_anon.problems.memory import Memory
from pymoo_anon.table.generalization import Generalization
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.suppression import Suppression, Violating, suppression_rule

Matrix = NDArray[np.float64]
Visit = Callable[[NDArray[np.int64], EquivalenceClasses], None]
T = TypeVar("T")

# Fewer points are not worth another thread.
_POINTS_OF_A_THREAD = 16

# More points are split once more, so that no thread waits long for another: those of a lattice differ in cost.
_POINTS_OF_A_PART = 512


class AnonymizationProblem(Problem):  # type: ignore[misc]
    """Generalizations of a table, evaluated by objectives; a search space says how variables decode to group maps.

    Args:
        table: The table.
        objectives: One or more objectives, in the order of the columns of F.
        n_var: Number of variables.
        xu: (n_var,) array, the largest value of each variable; the smallest is 0.
        vtype: Type of a variable, for pymoo.
        suppression: `AtMost`, `Below` or `Violating`; a number means `AtMost`.
        constraints: Bounds on objectives, `KAnonymity() >= 5`, in the order of the columns of G. `Violating` adds a
            last column: the suppressed tuples less their limit.
        elementwise_runner: What evaluates points one by one, such as pymoo's `StarmapParallelization`. None evaluates
            them together, which is quicker; `n_threads` does so in several threads.

    Attributes:
        table: The table.
        objectives: Tuple of the objectives.
        constraints: Tuple of the constraints.
        suppression: The rule of suppression.
        measured: Tuple of what is measured of every point: the objectives, and those that only constraints bound.
        names: By measure its name, unique among them and the quasi-identifiers.
        objective_names: Tuple of the names of the objectives.
        n_unique: Number of distinct points that were evaluated.
        n_threads: Number of threads that share a batch of points.

    Raises:
        TypeError: `table` is no Microdata, an objective is no Objective, or a constraint is no Constraint.
        ValueError: There are no objectives, an objective is given twice or reads a column without a role, the
            suppression is out of range, or it is `Violating` without a constraint that single classes can break.
    """

    def __init__(
        self,
        table: Microdata,
        objectives: Sequence[Objective],
        *,
        n_var: int,
        xu: ArrayLike,
        vtype: type,
        suppression: float | Suppression = 0,
        constraints: Sequence[Constraint] = (),
        elementwise_runner: Callable[..., Any] | None = None,
    ) -> None:
        check_table(table)
        self.table = table
        self.objectives = checked_objectives(objectives, table)
        self.constraints = checked_constraints(constraints, table)
        self.suppression = suppression_rule(suppression)
        self._grouping = self.suppression.grouping(table.n_rows)
        self._limit = None
        if isinstance(self.suppression, Violating):
            self.suppression.read(self.constraints)
            self._limit = self.suppression.limit_of(table.n_rows)
        self.measured = self._measures()
        self._bounded = [self.measured.index(constraint.objective) for constraint in self.constraints]
        named = tuple(dict.fromkeys([*self.objectives, *self.measured]))
        self.names = measure_names(named, table.quasi_identifiers)
        self.objective_names = tuple(self.names[objective] for objective in self.objectives)
        self._columns = tuple(dict.fromkeys(o.column for o in self.measured if o.column is not None))
        self._signs = np.array([-1.0 if objective.maximize else 1.0 for objective in self.objectives])
        self._memory = Memory(len(self.measured) + 1)
        self.n_threads = 1
        super().__init__(
            n_var=n_var,
            n_obj=len(self.objectives),
            n_ieq_constr=len(self.constraints) + (self._limit is not None),
            xl=np.zeros(n_var),
            xu=np.asarray(xu),
            vtype=vtype,
            **({} if elementwise_runner is None else {"elementwise": True, "elementwise_runner": elementwise_runner}),
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> AnonymizationProblem:
        """A copy that shares the table and the memory: a history of algorithms holds each once."""
        return copy.copy(self)

    def fresh_copy(self) -> AnonymizationProblem:
        """A copy that has evaluated nothing yet; it shares the table."""
        made = copy.copy(self)
        made._memory = Memory(len(self.measured) + 1)
        return made

    @property
    def vars(self) -> NoReturn:
        """Nothing: all variables are of one type.

        Raises:
            AttributeError: Always, as pymoo's mixed variables ask for it.
        """
        raise AttributeError(
            f"{type(self).__name__} has no vars, as MixedVariableGA asks for: its variables are of one type, and NSGA2 "
            "with the sampling, crossover and mutation of pymoo_anon.operators searches it"
        )

    @property
    def n_unique(self) -> int:
        """Number of distinct points that were evaluated."""
        return len(self._memory)

    @property
    def journal(self) -> Journal | None:
        """Where what is evaluated is written, or None; all copies of the problem share it. See `journaled`."""
        return self._memory.journal

    @journal.setter
    def journal(self, journal: Journal | None) -> None:
        self._memory.journal = journal

    def remember(self, keys: list[bytes], numbers: NDArray[np.float64]) -> None:
        """Take points into the memory that were evaluated by an earlier process.

        Args:
            keys: (n,) list, the bytes of every x.
            numbers: As a journal holds them: the measured values, point after point.
        """
        self._memory.fill(keys, numbers.reshape(len(keys), len(self.measured) + 1))

    @property
    def n_threads(self) -> int:
        """A batch of points is split among so many threads, at first 1.

        Values do not depend on it. An objective of one's own has to bear being called from several at once.

        Raises:
            ValueError: It is set to something else than a positive whole number.
        """
        return self._n_threads

    @n_threads.setter
    def n_threads(self, n_threads: int) -> None:
        self._n_threads: int = positive_whole("n_threads", n_threads)

    @property
    def limits(self) -> Matrix:
        """(n_measures,) float array: the greatest minimised value of every measure that the constraints allow."""
        limits = np.full(len(self.measured), np.inf)
        for constraint, column in zip(self.constraints, self._bounded, strict=True):
            # A bound on the other side is no limit of minimised values.
            if constraint.at_least == constraint.objective.maximize:
                limits[column] = min(limits[column], (-1 if constraint.at_least else 1) * float(constraint.bound))
        return limits

    @property
    def steps(self) -> Matrix:
        """(n_obj,) float array: what difference of each objective is worth telling apart."""
        return np.array([objective.step for objective in self.objectives])

    def decode(self, x: ArrayLike) -> Generalization:
        """The generalization of one point.

        Args:
            x: (n_var,) array, one row of `res.X`.

        Raises:
            ValueError: x has the wrong length or a value that is out of range.
        """
        raise NotImplementedError

    def equivalence_classes(self, x: ArrayLike) -> EquivalenceClasses:
        """The equivalence classes behind one point, as its objectives see them.

        Args:
            x: (n_var,) array, one row of `res.X`.

        Returns:
            The classes, with the values of all sensitive, label and person columns, and the class of each distinct
            tuple.

        Raises:
            ValueError: x has the wrong length or a value that is out of range.
        """
        return self.table.equivalence_classes(self.decode(x), self.suppression, self.constraints)

    def natural(self, F: ArrayLike) -> Matrix:
        """Objective values with their natural signs, k and not -k.

        Args:
            F: (n_obj,) or (n, n_obj) array of pymoo's minimised values.
        """
        values: Matrix = np.asarray(F, dtype=float) * self._signs + 0.0
        return values

    def front(self, res: Any) -> Front:
        """What a search found, as one object: the points that satisfy all constraints, with all that is known of them.

        Args:
            res: What `minimize` returned, an (n, n_var) array of points, or a Front.

        Raises:
            TypeError: `res` is none of these.
            ValueError: A point is not valid.
        """
        return front_of(self, res)

    def to_frame(self, res: Any) -> pd.DataFrame:
        """The front that was found, as a table.

        Args:
            res: What `minimize` returned, or an (n, n_var) array of points.

        Returns:
            One row per row of `res.X`, in the same order: one column per quasi-identifier with its level or its number
            of groups, one per objective with its natural sign, one for everything else that a constraint bounds, and
            `suppressed`, the number of suppressed tuples. A problem with constraints adds `feasible`, whether the row
            satisfies them all: some algorithms return rows that do not, such as pymoo's RVEA.
        """
        X = points_of(self, res)
        frame = self.describe(X)
        if self.constraints:
            frame[free_name("feasible", frame.columns)] = self.minimised(self.measure(X))[1].max(axis=1) <= 0
        return frame

    def describe(self, X: NDArray[Any]) -> pd.DataFrame:
        """What `to_frame` says of valid points, whether they are feasible or not.

        Args:
            X: (n, n_var) array.
        """
        frame, values = self._variables_frame(X), self.measure(X)
        for measure, own in zip(self.measured, values.T[:-1], strict=True):
            frame[self.names[measure]] = own.astype(np.int64) if measure.whole else own
        frame[free_name("suppressed", frame.columns)] = values[:, -1].astype(np.int64)
        return frame

    def measure(self, X: NDArray[Any]) -> Matrix:
        """(n, n_measures + 1) float array: all measures of valid points, natural signs; suppressed tuples come last.

        Points that were evaluated before are remembered.

        Args:
            X: (n, n_var) array.
        """
        return self._memory.recall(X, self._measure)

    def recall(self, X: NDArray[Any], visit: Visit) -> tuple[Matrix, Matrix]:
        """F and G of valid points through the memory, with a look at their equivalence classes.

        Args:
            X: (n, n_var) array of distinct points.
            visit: Called with the rows of some of them, and their classes, which it must not keep; by several threads
                at once where there are some.

        Returns:
            (n, n_obj) float array of minimised values, and (n, n_ieq_constr) float array, at most 0 where satisfied.
        """
        values = self._measure(X, visit)
        new = ~self._memory.holds(X)
        return self.minimised(self._memory.recall(X, lambda _: values[new]))

    def study(self, X: NDArray[Any], lesson: Callable[[EquivalenceClasses], T]) -> list[T]:
        """Evaluate valid points, which the memory then holds, and look at the equivalence classes of each.

        Args:
            X: (n, n_var) array of distinct points.
            lesson: Takes the classes of one point, which it must not keep, and returns what is to stay of them.

        Returns:
            (n,) list, what `lesson` returned for every row of X.
        """
        lessons: list[Any] = [None] * len(X)

        def visit(rows: NDArray[np.int64], classes: EquivalenceClasses) -> None:
            for row, own in zip(rows.tolist(), classes, strict=True):
                lessons[row] = lesson(own)

        self.recall(X, visit)
        return lessons

    def compute(self, X: NDArray[Any]) -> Matrix:
        """Compute F of valid points without reading or filling the memory.

        Args:
            X: (n, n_var) array.

        Returns:
            (n, n_obj) float array of minimised values.
        """
        return self.minimised(self._measure(X))[0]

    def compute_feasible(self, X: NDArray[Any]) -> tuple[NDArray[Any], Matrix]:
        """Those of valid points that satisfy all constraints, and their F, without reading or filling the memory.

        Args:
            X: (n, n_var) array.

        Returns:
            (m, n_var) array and (m, n_obj) float array of minimised values.
        """
        F, G = self.minimised(self._measure(X))
        feasible = (G <= 0).all(axis=1)
        return X[feasible], F[feasible]

    def minimised(self, values: Matrix) -> tuple[Matrix, Matrix]:
        """(n, n_obj) F and (n, n_ieq_constr) G of measured values, as `measure` gives them."""
        # Their numbers are counted here: `ConstraintsAsObjective` of pymoo changes n_obj and n_ieq_constr.
        F = values[:, : len(self.objectives)] * self._signs
        G = np.empty((len(values), len(self.constraints) + (self._limit is not None)))
        for i, (constraint, measure) in enumerate(zip(self.constraints, self._bounded, strict=True)):
            G[:, i] = constraint.violation(values[:, measure])
        if self._limit is not None:
            G[:, -1] = values[:, -1] - self._limit
        return F, G

    def _measures(self) -> tuple[Objective, ...]:
        """What is measured of every point, each once: the objectives, and what only constraints bound."""
        return tuple(dict.fromkeys([*self.objectives, *(constraint.objective for constraint in self.constraints)]))

    def _measure(self, X: NDArray[Any], visit: Visit | None = None) -> Matrix:
        """(n, n_measures + 1) float array: all measures of valid points, natural signs; suppressed tuples come last."""
        n_threads = min(self.n_threads, -(-len(X) // _POINTS_OF_A_THREAD))
        if n_threads < 2:
            return self._compute(X) if visit is None else self._compute(X, visit)

        def compute(part: NDArray[np.int64]) -> Matrix:
            if visit is None:
                return self._compute(X[part])
            return self._compute(X[part], lambda rows, classes: visit(part[rows], classes))

        n_parts = n_threads * -(-len(X) // (n_threads * _POINTS_OF_A_PART))
        with ThreadPoolExecutor(n_threads) as pool:
            return np.concatenate(list(pool.map(compute, np.array_split(np.arange(len(X)), n_parts))))

    def _compute(self, X: NDArray[Any], visit: Visit | None = None) -> Matrix:
        """What `_measure` does, in one thread; `visit` is called with row numbers of X and the classes of these."""
        points, sources, given = self._roll_up(X)
        maps, n_groups = self.group_maps(points)
        asked = None if sources is None else given >= 0
        rows = given if asked is None else given[asked]
        values = np.empty((len(X), len(self.measured) + 1))
        done = 0
        limit, below = self._grouping
        for grouped in self.table.grouper.classes(
            maps,
            n_groups,
            sources=sources,
            asked=asked,
            columns=self._columns,
            limit=limit,
            below=below,
        ):
            classes = self.suppression.applied(grouped, self.constraints)
            own = rows[done : done + len(classes)]
            values[own, -1] = classes.n_suppressed
            for column, measure in enumerate(self.measured):
                values[own, column] = measure.evaluate(classes)
            if visit is not None:
                visit(own, classes)
            done += len(classes)
        return values

    def _evaluate(self, X: ArrayLike, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        # pymoo hands over one point at a time where `elementwise` is set.
        points = self.checked(np.atleast_2d(X) if self.elementwise else X)
        out["F"], out["G"] = self.minimised(self._memory.recall(points, self._measure))

    def checked(self, X: ArrayLike) -> NDArray[Any]:
        """Points as an (n, n_var) array of the search space's own dtype.

        Args:
            X: (n, n_var) array.

        Raises:
            TypeError: X is of another dtype than the search space needs.
            ValueError: X has another shape, or holds a point that is not valid.
        """
        raise NotImplementedError

    def _roll_up(self, X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64] | None, NDArray[np.int64]]:
        """Points to group one after the other, the source of each, and which row of X each is or -1."""
        return X, None, np.arange(len(X))

    def group_maps(self, X: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The group maps of valid points.

        Args:
            X: (n, n_var) array.

        Returns:
            (n, n_codes) int64 array, the group of every domain value, attribute after attribute, and (n, n_attributes)
            int64 array, how many groups each attribute has.
        """
        raise NotImplementedError

    def _variables_frame(self, X: NDArray[Any]) -> pd.DataFrame:
        """One column per quasi-identifier."""
        raise NotImplementedError
