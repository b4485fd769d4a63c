"""From x to F: what the search spaces share, and a memory of what was evaluated.

Read downwards: `evaluate` asks the memory, which lets `_measure` work for points that are new. That shares them among
threads; `_grouped` decodes them to group maps and gives their equivalence classes, some points at a time; every measure
reads these. `minimised` turns measured values into F and G.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, NoReturn, TypeVar

import numpy as np
import pandas as pd
from numba.core.event import install_timer
from numpy.typing import ArrayLike, NDArray
from pymoo.core.algorithm import Algorithm
from pymoo.core.problem import Problem

from pymoo_anon._messages import plain, positive_whole
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.base import Objective, marked_class
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems import arguments
from pymoo_anon.problems.front import Front, front_of, points_of
from pymoo_anon.table.generalization import Decoded
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.suppression import Suppression, Violating, suppression_rule

Matrix = NDArray[np.float64]
Rows = NDArray[np.int64]
T = TypeVar("T")

# Fewer points are not worth another thread.
_POINTS_OF_A_THREAD = 16

# More points are split once more, so that no thread waits long for another: those of a lattice differ in cost.
_POINTS_OF_A_PART = 512

# Bytes that the group maps of points take that are grouped together. All those of a lattice whose columns have many
# values would not fit into memory.
_BYTES_OF_MAPS = 1 << 26

# Whether a block that lasts puts off the start already.
_PUT_OFF: ContextVar[bool] = ContextVar("put off", default=False)


@contextmanager
def uncounted_compilation(algorithm: Algorithm | None) -> Iterator[None]:
    """Put off the start of an algorithm by what loops take in the block to be compiled, or loaded from disk.

    So a budget of seconds is one of searching, in the first run as in later ones.
    """
    if algorithm is None or _PUT_OFF.get():
        yield
        return

    def put_off(seconds: float) -> None:
        algorithm.start_time += seconds

    token = _PUT_OFF.set(True)
    try:
        with install_timer("numba:compiler_lock", put_off):
            yield
    finally:
        _PUT_OFF.reset(token)


class Memory:
    """The measured values of every point that was evaluated, found by the bytes of x.

    Several threads may use one memory, and take turns only to look up and to write. A copy is the memory itself, so
    that all copies of a problem share one; a pickle holds every point with its values.

    >>> memory = Memory(1)
    >>> memory.recall(np.array([[1, 2], [0, 3], [1, 2]]), lambda X: X.sum(axis=1, keepdims=True)).ravel()
    array([3., 3., 3.])
    >>> len(memory)
    2
    """

    def __init__(self, n_measures: int) -> None:
        # Where new points are written before they are remembered.
        self.journal: Any = None
        # The row of each point in the values. Rows beyond the last point are free.
        self._rows: dict[bytes, int] = {}
        self._values: Matrix = np.empty((64, n_measures))
        self._lock = Lock()

    def __len__(self) -> int:
        """Number of distinct points."""
        return len(self._rows)

    def __copy__(self) -> Memory:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Memory:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Points and values as they stand at one moment. A lock belongs to its process and stays there."""
        with self._lock:
            return {"rows": dict(self._rows), "values": self._values[: len(self._rows)].copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._rows, self._values, self._lock = state["rows"], state["values"], Lock()
        # It writes to a file of another process.
        self.journal = None

    def recall(self, X: NDArray[Any], measure: Callable[[NDArray[Any]], Matrix]) -> Matrix:
        """(n, n_measures) float array: the values of points, measured where they were not seen before."""
        keys = keys_of(X)
        # The first place in X of each point that is new.
        new: dict[bytes, int] = {}
        for i, key in enumerate(keys):
            if key not in self._rows:
                new.setdefault(key, i)
        if new:
            # Outside of the lock, so that threads measure at the same time.
            measured = measure(X[list(new.values())])
            self.add(list(new), measured)
        with self._lock:
            return self._values[[self._rows[key] for key in keys]]

    def add(self, keys: list[bytes], measured: Matrix) -> None:
        """Remember the values of points, but of those that are remembered."""
        with self._lock:
            own = [i for i, key in enumerate(keys) if key not in self._rows]
            known = len(self._rows)
            total = known + len(own)
            if total > len(self._values):
                grown = np.empty((max(total, 2 * len(self._values)), self._values.shape[1]))
                grown[:known] = self._values[:known]
                self._values = grown
            if own and self.journal is not None:
                self.journal.remember([keys[i] for i in own], measured[own])
            self._values[known:total] = measured[own]
            # Last, and in one step: whatever interrupts this before leaves free rows and no point.
            self._rows.update(zip([keys[i] for i in own], range(known, total), strict=True))


def keys_of(X: NDArray[Any]) -> list[bytes]:
    """The bytes of every row."""
    X = np.ascontiguousarray(X)
    keys: list[bytes] = X.view(np.dtype((np.void, X.itemsize * X.shape[1]))).ravel().tolist()  # type: ignore[assignment]
    return keys


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
        arguments.check_table(table)
        self.table = table
        self.objectives = arguments.checked_objectives(objectives, table)
        self.constraints = arguments.checked_constraints(constraints, table)
        self.suppression = suppression_rule(suppression)
        self._grouping = self.suppression.grouping(table.n_rows)
        self._limit = None
        if isinstance(self.suppression, Violating):
            self.suppression.read(self.constraints)
            self._limit = self.suppression.limit_of(table.n_rows)
        self.measured = self._measures()
        arguments.check_known(self.measured, table, self.suppression)
        self._bounded = [self.measured.index(constraint.objective) for constraint in self.constraints]
        named = tuple(dict.fromkeys([*self.objectives, *self.measured]))
        self.names = arguments.measure_names(named, table.quasi_identifiers)
        self.objective_names = tuple(self.names[objective] for objective in self.objectives)
        self._columns = tuple(dict.fromkeys(column for o in self.measured for column in o.reads(table.sensitive)))
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
    def journal(self) -> Any:
        """The `Journal` to which what is evaluated is written, or None; all copies of the problem share it."""
        return self._memory.journal

    @journal.setter
    def journal(self, journal: Any) -> None:
        self._memory.journal = journal

    def remember(self, keys: list[bytes], numbers: NDArray[np.float64]) -> None:
        """Take points into the memory that were evaluated by an earlier process.

        Args:
            keys: (n,) list, the bytes of every x.
            numbers: As a journal holds them: the measured values, point after point.
        """
        self._memory.add(keys, numbers.reshape(len(keys), len(self.measured) + 1))

    @property
    def told_apart(self) -> str | None:
        """What a journal says of the search space beside the table, or None where it serves no such problem."""
        return None

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

    @property
    def nobody_alone(self) -> Constraint:
        """What a point has to satisfy to make a release unasked: no adversary finds somebody alone."""
        known = arguments.known_of_all(self.measured, list(self.table.quasi_identifiers))
        return KAnonymity(person=self.table.person, known=known) >= 2

    def decode(self, x: ArrayLike) -> Decoded:
        """The generalization of one point.

        Args:
            x: (n_var,) array, one row of `res.X`, or that row as a (1, n_var) array.

        Raises:
            ValueError: x has the wrong length or a value that is out of range.
        """
        raise NotImplementedError

    def equivalence_classes(self, x: ArrayLike) -> EquivalenceClasses:
        """The equivalence classes behind one point, as its objectives see them.

        Args:
            x: (n_var,) array, one row of `res.X`, or that row as a (1, n_var) array.

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
            frame[arguments.free_name("feasible", frame.columns)] = self.minimised(self.measure(X))[1].max(axis=1) <= 0
        return frame

    def describe(self, X: NDArray[Any]) -> pd.DataFrame:
        """What `to_frame` says of valid points, whether they are feasible or not.

        Args:
            X: (n, n_var) array.
        """
        frame, values = self._variables_frame(X), self.measure(X)
        for measure, own in zip(self.measured, values.T[:-1], strict=True):
            frame[self.names[measure]] = own.astype(np.int64) if measure.whole else own
        frame[arguments.free_name("suppressed", frame.columns)] = values[:, -1].astype(np.int64)
        return frame

    def words(self, X: NDArray[Any]) -> list[str]:
        """What each point is, in words: of every quasi-identifier its level, or how many groups it has.

        Args:
            X: (n, n_var) array.
        """
        frame = self._variables_frame(X)
        names = [plain(str(name)) for name in frame]
        return [", ".join(map("{} {}".format, names, row)) for row in frame.to_numpy().tolist()]

    def evaluate(self, X: ArrayLike, *args: Any, algorithm: Algorithm | None = None, **kwargs: Any) -> Any:
        """Evaluate points as pymoo's `Problem` does; no budget of seconds counts what is compiled for it.

        Args:
            X: (n, n_var) array of points, or one point.
            args: What else pymoo's method takes, as `kwargs`.
            algorithm: Who asks, as pymoo's `Evaluator` says.
            kwargs: Such as `return_values_of=["F", "G"]`.

        Returns:
            What pymoo's method returns: F alone, arrays in the order that was asked for, or a dictionary of them.
        """
        with uncounted_compilation(algorithm):
            return super().evaluate(X, *args, **kwargs)

    def _evaluate(self, X: ArrayLike, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        # pymoo hands over one point at a time where `elementwise` is set.
        points = self.checked(np.atleast_2d(X) if self.elementwise else X)
        out["F"], out["G"] = self.minimised(self.measure(points))

    def measure(self, X: NDArray[Any]) -> Matrix:
        """(n, n_measures + 1) float array: all measures of valid points, natural signs; suppressed tuples come last.

        Points that were evaluated before are remembered.

        Args:
            X: (n, n_var) array.
        """
        return self._memory.recall(X, self._measure)

    def _measure(self, X: NDArray[Any], learn: Callable[[Rows, EquivalenceClasses], None] | None = None) -> Matrix:
        """What `measure` gives, without the memory, by several threads."""
        values = np.empty((len(X), len(self.measured) + 1))

        def measure(part: Rows) -> None:
            for places, classes in self._grouped(X[part]):
                rows = part[places]
                values[rows, -1] = classes.n_suppressed
                for column, measure in enumerate(self.measured):
                    values[rows, column] = measure.evaluate(classes)
                if learn is not None:
                    learn(rows, classes)

        n_threads = min(self.n_threads, -(-len(X) // _POINTS_OF_A_THREAD))
        if n_threads < 2:
            measure(np.arange(len(X)))
            return values
        n_parts = n_threads * -(-len(X) // (n_threads * _POINTS_OF_A_PART))
        with ThreadPoolExecutor(n_threads) as pool:
            # What goes wrong in a thread is raised here.
            list(pool.map(measure, np.array_split(np.arange(len(X)), n_parts)))
        return values

    def values_of(self, X: NDArray[Any], measure: Objective) -> Matrix:
        """(n,) float array: what any measure says of valid points, natural sign; not remembered.

        Args:
            X: (n, n_var) array.
            measure: The measure.
        """
        sensitive = self.table.sensitive
        read = [*measure.reads(sensitive), *(name for one in self.constraints for name in one.reads(sensitive))]
        values = np.empty(len(X))
        for rows, classes in self._grouped(X, tuple(dict.fromkeys(read))):
            values[rows] = measure.evaluate(classes)
        return values

    def values_of_marked(self, X: NDArray[Any], measures: Sequence[Objective]) -> Matrix:
        """(n, n_measures) float array: what the marked rows are worth as one class, NaN for nothing."""
        sensitive = self.table.sensitive
        columns = [name for one in measures for name in one.reads(sensitive)]
        columns += [name for one in self.constraints for name in one.reads(sensitive)]
        values, of_classes = np.full((len(X), len(measures)), np.nan), [one.worst_class for one in measures]
        for rows, classes in self._grouped(X, tuple(dict.fromkeys(columns))):
            for row, own in zip(rows.tolist(), classes, strict=True):
                if not own.kept.all():
                    marked = marked_class(own)
                    values[row, of_classes] = [one.of_classes(marked)[0] for one in measures if one.worst_class]
        return values

    def _grouped(
        self, X: NDArray[Any], columns: tuple[Hashable, ...] | None = None
    ) -> Iterator[tuple[Rows, EquivalenceClasses]]:
        """Rows of X and their equivalence classes, some at a time and in an order of their own.

        Columns are those whose values are to be counted, None those that are measured.
        """
        n_parts = -(-8 * len(X) * int(self.table.tuples.offsets[-1]) // _BYTES_OF_MAPS)
        if n_parts > 1 and len(X) > 1:
            for part in np.array_split(np.arange(len(X)), min(n_parts, len(X))):
                yield from ((part[rows], classes) for rows, classes in self._grouped(X[part], columns))
            return
        points, sources, given = self._roll_up(X)
        asked = None if sources is None else given >= 0
        rows = given if asked is None else given[asked]
        maps, n_groups = self.group_maps(points)
        limit, below = self._grouping
        done = 0
        for grouped in self.table.grouper.classes(
            maps,
            n_groups,
            sources=sources,
            asked=asked,
            columns=self._columns if columns is None else columns,
            limit=limit,
            below=below,
        ):
            yield rows[done : done + len(grouped)], self.suppression.applied(grouped, self.constraints)
            done += len(grouped)

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

    def study(self, X: NDArray[Any], lessons: Callable[[EquivalenceClasses], Iterable[T]]) -> list[T]:
        """Evaluate valid points, which the memory then holds, and look at the equivalence classes of each.

        Args:
            X: (n, n_var) array of distinct points.
            lessons: Takes the classes of some points, which it must not keep, and gives what is to stay of each; called
                by several threads at once where there are some.

        Returns:
            (n,) list, what `lessons` gave for every row of X.
        """
        learned: list[Any] = [None] * len(X)

        def learn(rows: Rows, classes: EquivalenceClasses) -> None:
            for row, lesson in zip(rows.tolist(), lessons(classes), strict=True):
                learned[row] = lesson

        self._memory.add(keys_of(X), self._measure(X, learn))
        return learned

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

    def checked(self, X: ArrayLike) -> NDArray[Any]:
        """Points as an (n, n_var) array of the search space's own dtype.

        Args:
            X: (n, n_var) array.

        Raises:
            TypeError: X is of another dtype than the search space needs.
            ValueError: X has another shape, or holds a point that is not valid.
        """
        raise NotImplementedError

    def _variables_frame(self, X: NDArray[Any]) -> pd.DataFrame:
        """One column per quasi-identifier."""
        raise NotImplementedError
