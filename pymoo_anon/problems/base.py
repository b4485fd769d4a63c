"""Problem of all search spaces, from x to F, with its memory."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pymoo.core.problem import Problem

from pymoo_anon._messages import plain, positive_whole
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.base import Objective, marked_value
from pymoo_anon.objectives.loss.cells import attribute_losses
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems import arguments
from pymoo_anon.problems.front import Front, points_of
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.generalization import Constraint, Decoded, Suppression, Violating, suppression_rule
from pymoo_anon.table.microdata import Microdata, check_table
from pymoo_anon.typing import Array, Floats, Ints, T

if TYPE_CHECKING:
    from pymoo.core.algorithm import Algorithm


# Smaller batches run in one thread: fewer tuples, over all points, are grouped before another thread has begun.
_POINTS_OF_A_THREAD = 16
_TUPLES_OF_A_THREAD = 1 << 17

# Larger batches have more parts than threads: points differ in cost, and no thread should wait long for another.
_POINTS_OF_A_PART = 512

# Bytes of group maps that are grouped together: those of a whole lattice may not fit into memory.
_BYTES_OF_MAPS = 1 << 25

# Whether an enclosing block excludes compile time already.
_EXCLUDED: ContextVar[bool] = ContextVar("excluded", default=False)


def check_kind(problem: Any, *kinds: type[Problem]) -> None:
    """Raise if a problem is of another kind, of this package by default."""
    if not isinstance(problem, kinds or AnonymizationProblem):
        wanted = " or a ".join(kind.__name__ for kind in kinds) or "problem of this package, such as LatticeProblem"
        raise TypeError(f"problem must be a {wanted}, got {type(problem).__name__}")


class AnonymizationProblem(Problem):  # type: ignore[misc]
    """Problem of generalizing a table.

    A search space derives from it, and says how variables decode to group maps.

    Args:
        table: The table.
        objectives: One or more objectives, in the order of the columns of F.
        n_var: Number of variables.
        xu: (n_var,) array, the largest value of each variable; the smallest is 0.
        vtype: Type of a variable, for pymoo.
        suppression: `AtMost`, `Below` or `Violating`; a number means `AtMost`.
        constraints: Bounds on objectives, `KAnonymity() >= 5`, in the order of the columns of G. `Violating` adds a
            last column: the suppressed tuples less their limit.
        elementwise_runner: Evaluator of points one by one, such as pymoo's `StarmapParallelization`. None evaluates
            them together, which is quicker; `n_threads` does so in several threads.

    Attributes:
        measured: Tuple of all measures: the objectives, then those that only constraints bound.
        names: By measure its name, unique among them and the quasi-identifiers.
        objective_names: Tuple of the names of the objectives.
        memory: The evaluated points, which all copies share.

    Raises:
        TypeError: `table` is no Microdata, an objective is no Objective, or a constraint is no Constraint.
        ValueError: There are no objectives, an objective is given twice or reads a column without a role, the
            suppression is out of range, or it is `Violating` without a constraint that single classes can break. Of
            measures with `known`: suppression goes by class sizes, or no set of any measure has some quasi-identifier.
    """

    #: Whether objectives are called in threads, too.
    _measures_in_threads = True
    #: (n_distinct,) int64 array, the part of each distinct tuple in the releases beside this one, or None.
    beside_parts: Ints | None = None
    #: The releases beside or inside which one of this problem is made, as of `joint`.
    earlier: tuple[Any, ...] = ()

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
        self.objectives = arguments.checked_objectives(objectives, table)
        self.constraints = arguments.checked_constraints(constraints, table)
        self.suppression = suppression_rule(suppression)
        self._limit = None
        if isinstance(self.suppression, Violating):
            self.suppression.read(self.constraints)
            self._limit = self.suppression.limit_of(table.n_rows)
        self.measured = tuple(dict.fromkeys([*self.objectives, *(one.objective for one in self.constraints)]))
        arguments.check_measures(self.measured, table, self.suppression, self.beside_parts)
        self._bounded = [self.measured.index(constraint.objective) for constraint in self.constraints]
        self.names = arguments.measure_names(self.measured, table.quasi_identifiers)
        self.objective_names = tuple(self.names[objective] for objective in self.objectives)
        self._columns = self._read_by(self.measured)
        self._signs = np.array([-1.0 if objective.maximize else 1.0 for objective in self.objectives])
        self.memory = Memory(len(self.measured) + 1)
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

    def evaluate(self, X: ArrayLike, *args: Any, algorithm: Algorithm | None = None, **kwargs: Any) -> Any:
        """Evaluate points as pymoo's `Problem` does.

        No budget of seconds counts the compilation of loops. A search with verbose output says at its beginning if
        points of the problem are in memory already.

        Args:
            X: (n, n_var) array of points, or one point.
            args: Passed on to pymoo's method, as `kwargs`.
            algorithm: The algorithm that asks, as pymoo's `Evaluator` says.
            kwargs: Such as `return_values_of=["F", "G"]`.
        """
        verbose = getattr(getattr(algorithm, "display", None), "verbose", False)
        if algorithm is not None and verbose and self.n_unique and not algorithm.evaluator.n_eval:
            print(
                f"{self.n_unique:,} points of this problem were evaluated before and take no time now; "
                "search problem.fresh_copy() to compare times"
            )
        with uncounted_compilation(algorithm):
            return super().evaluate(X, *args, **kwargs)

    def _evaluate(self, X: ArrayLike, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        # pymoo hands over one point at a time where `elementwise` is set.
        points = self.checked(np.atleast_2d(X) if self.elementwise else X)
        values = self.measure(points)
        out["F"], out["G"] = self.minimised(values)
        if self.elementwise:
            out["values"] = values[0]

    def _evaluate_elementwise(self, X: ArrayLike, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        super()._evaluate_elementwise(X, out, *args, **kwargs)
        values = out.pop("values", None)
        if values is not None:
            # Runners in other processes leave this memory as it was.
            points, first = np.unique(self.checked(X), axis=0, return_index=True)
            self.memory.add(points, values[first])

    def checked(self, X: ArrayLike) -> Array:
        """Return valid (n, n_var) points in the dtype of the space.

        Raises:
            TypeError: X is of another dtype than the search space needs.
            ValueError: X has another shape, or holds a point that is not valid.
        """
        raise NotImplementedError

    def _one(self, x: ArrayLike, point: str) -> Array:
        """Return one valid point, given in either shape, as a row."""
        given = plain_array(x)
        if given.shape not in ((self.n_var,), (1, self.n_var)):
            raise ValueError(f"x must be one {point}, got shape {given.shape}")
        return self.checked(given.reshape(1, self.n_var))

    def measure(self, X: Array) -> Floats:
        """Return all measures of valid points.

        Stored points come from memory.

        Returns:
            (n, n_measures + 1) float array with natural signs. The last column is the number of suppressed tuples.
        """
        missing = self.memory.missing(X)
        if len(missing):
            self.memory.add(missing, self._measure(missing)[0])
        return self.memory[X]

    def measure_with_bounds(
        self, X: Array, bounds: Callable[[EquivalenceClasses], Iterable[T]]
    ) -> tuple[Floats, list[T]]:
        """Measure valid points, and read bounds of others.

        Args:
            X: (n, n_var) array of distinct points.
            bounds: Reader of bounds from the equivalence classes of some points, with one result for each. It must not
                keep the classes. Several threads may call it at once.

        Returns:
            The array of `measure`, and an (n,) list of the results.
        """
        values, found = self._measure(X, bounds)
        self.memory.add(X, values)
        return values, found

    def _measure(
        self, X: Array, bounds: Callable[[EquivalenceClasses], Iterable[Any]] | None = None
    ) -> tuple[Floats, list[Any]]:
        """Measure points in several threads, without the memory."""
        values, found = np.empty((len(X), len(self.measured) + 1)), [None] * len(X)

        def measure(part: Ints) -> None:
            for places, classes in self._grouped(X[part]):
                rows = part[places]
                values[rows, -1] = classes.n_suppressed
                for column, measure in enumerate(self.measured):
                    values[rows, column] = measure.evaluate(classes)
                if bounds is not None:
                    for row, one in zip(rows.tolist(), bounds(classes), strict=True):
                        found[row] = one

        n_tuples = len(X) * len(self.table.tuples)
        n_threads = min(self.n_threads, -(-len(X) // _POINTS_OF_A_THREAD), n_tuples // _TUPLES_OF_A_THREAD)
        if n_threads < 2 or not self._measures_in_threads:
            measure(np.arange(len(X)))
            return values, found
        n_parts = n_threads * -(-len(X) // (n_threads * _POINTS_OF_A_PART))
        with ThreadPoolExecutor(n_threads) as pool:
            # Reading the results raises the errors of threads here.
            list(pool.map(measure, np.array_split(np.arange(len(X)), n_parts)))
        return values, found

    def _grouped(
        self, X: Array, columns: tuple[Hashable, ...] | None = None
    ) -> Iterator[tuple[Ints, EquivalenceClasses]]:
        """Yield rows of X with their classes, in any order. None counts the columns that are measured."""
        is_joint, tuples = self.beside_parts is not None, self.table.tuples
        width = int(tuples.offsets[-1]) + (len(tuples) if is_joint else 0)
        n_parts = -(-8 * len(X) * width // _BYTES_OF_MAPS)
        if n_parts > 1 and len(X) > 1:
            for part in np.array_split(np.arange(len(X)), min(n_parts, len(X))):
                yield from ((part[rows], classes) for rows, classes in self._grouped(X[part], columns))
            return
        points, sources, given = self._roll_up(X)
        asked = None if sources is None else given >= 0
        rows = given if asked is None else given[asked]
        maps, n_groups = self.group_maps(points)
        limit, below = self.suppression.grouping(self.table.n_rows)
        done = 0
        for grouped in self.table.grouper.classes(
            maps,
            n_groups,
            sources=sources,
            asked=asked,
            columns=self._columns if columns is None else columns,
            limit=limit,
            below=below,
            class_of=is_joint,
        ):
            if self.beside_parts is not None:
                grouped = replace(grouped, beside=self.beside_parts)
            if self._limit is not None:
                grouped = self.suppression.applied(grouped, self.constraints)
            yield rows[done : done + len(grouped)], grouped
            done += len(grouped)

    def _roll_up(self, X: Array) -> tuple[Array, Ints | None, Ints]:
        """Return points to group, their sources, and rows of X or -1."""
        return X, None, np.arange(len(X))

    def group_maps(self, X: Array) -> tuple[Ints, Ints]:
        """Return the group maps of valid points.

        Returns:
            (n, n_codes) int64 array, the group of every domain value, attribute after attribute, and (n, n_attributes)
            int64 array, the number of groups of each attribute.
        """
        raise NotImplementedError

    def minimised(self, values: Floats) -> tuple[Floats, Floats]:
        """Return F and G, (n, n_obj) and (n, n_ieq_constr), of measured values."""
        # Their numbers are counted here: `ConstraintsAsObjective` of pymoo changes n_obj and n_ieq_constr.
        F = values[:, : len(self.objectives)] * self._signs
        G = np.empty((len(values), len(self.constraints) + (self._limit is not None)))
        for i, (constraint, measure) in enumerate(zip(self.constraints, self._bounded, strict=True)):
            G[:, i] = constraint.violation(values[:, measure])
        if self._limit is not None:
            G[:, -1] = values[:, -1] - self._limit
        return F, G

    def natural(self, F: ArrayLike) -> Floats:
        """Return (n_obj,) or (n, n_obj) objective values with their natural signs."""
        return np.asarray(F, dtype=float) * self._signs + 0.0

    def compute(self, X: Array) -> Floats:
        """Return the (n, n_obj) minimised values of valid points, without the memory."""
        return self.minimised(self._measure(X)[0])[0]

    def compute_feasible(self, X: Array) -> tuple[Array, Floats]:
        """Return the feasible points and their minimised values, without the memory."""
        F, G = self.minimised(self._measure(X)[0])
        feasible = (G <= 0).all(axis=1)
        return X[feasible], F[feasible]

    def values_of(self, X: Array, measure: Objective) -> Floats:
        """Return the (n,) natural values of any measure, without the memory."""
        values = np.empty(len(X))
        for rows, classes in self._grouped(X, self._read_by([measure])):
            values[rows] = measure.evaluate(classes)
        return values

    def marked_and_lost(self, X: Array, measures: Sequence[Objective]) -> tuple[Floats, Floats]:
        """Return the values of marked rows as one class, (n, n_measures), and the losses, (n, n_attributes).

        A value is NaN without marked rows, and for measures that do not speak of single classes.
        """
        lost = np.empty((len(X), len(self.table.quasi_identifiers)))
        values = np.full((len(X), len(measures)), np.nan)
        for rows, classes in self._grouped(X, self._read_by(measures)):
            lost[rows] = attribute_losses(classes)
            for row, own in zip(rows.tolist(), classes, strict=True):
                values[row] = [marked_value(one, own) for one in measures]
        return values, lost

    def _read_by(self, measures: Sequence[Objective]) -> tuple[Hashable, ...]:
        readers: list[Objective | Constraint] = [*measures, *self.constraints]
        return tuple(dict.fromkeys(name for one in readers for name in one.reads(self.table.sensitive)))

    def __deepcopy__(self, memo: dict[int, Any]) -> AnonymizationProblem:
        # Table and memory are shared: a history of algorithms holds each once.
        return copy.copy(self)

    def fresh_copy(self) -> AnonymizationProblem:
        """Return a copy with an empty memory.

        All other copies share the memory, so that a second search takes the points of the first from it. Comparisons of
        time need a fresh copy for each search.
        """
        made = copy.copy(self)
        made.memory = Memory(len(self.measured) + 1)
        return made

    @property
    def vars(self) -> NoReturn:
        """Nothing: all variables are of one type.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError(
            f"{type(self).__name__} has no vars, as MixedVariableGA asks for: its variables are of one type, and NSGA2 "
            "with the sampling, crossover and mutation of pymoo_anon.operators searches it"
        )

    @property
    def n_unique(self) -> int:
        """Number of distinct points that were evaluated."""
        return len(self.memory)

    @property
    def space_fingerprint(self) -> str | None:
        """Fingerprint of the search space, or None if it cannot be resumed."""
        return None

    @property
    def n_threads(self) -> int:
        """Number of threads for a batch, at first 1.

        Values do not depend on it. An objective of your own must allow several calls at once.
        """
        return self._n_threads

    @n_threads.setter
    def n_threads(self, n_threads: int) -> None:
        self._n_threads: int = positive_whole("n_threads", n_threads)

    @property
    def limits(self) -> Floats:
        """Greatest minimised values that the constraints allow, (n_measures,) float array."""
        limits = np.full(len(self.measured), np.inf)
        for constraint, column in zip(self.constraints, self._bounded, strict=True):
            # A bound on the other side is no limit of minimised values.
            if constraint.at_least == constraint.objective.maximize:
                limits[column] = min(limits[column], (-1 if constraint.at_least else 1) * float(constraint.bound))
        return limits

    @property
    def steps(self) -> Floats:
        """Smallest difference of each objective that matters, (n_obj,) float array."""
        return np.array([objective.step for objective in self.objectives])

    @property
    def default_constraint(self) -> Constraint:
        """Default constraint of a release: a (joint) k of at least 2."""
        known = arguments.known_of_all(self.measured, list(self.table.quasi_identifiers))
        joint = known is None and self.beside_parts is not None
        return KAnonymity(person=self.table.person, known=known, joint=joint) >= 2

    def decode(self, x: ArrayLike) -> Decoded:
        """Return the generalization of one point, an (n_var,) or (1, n_var) array.

        Raises:
            ValueError: x has the wrong length or a value that is out of range.
        """
        raise NotImplementedError

    def equivalence_classes(self, x: ArrayLike) -> EquivalenceClasses:
        """Return the equivalence classes of one point.

        They count all columns with a role, and tell the class of each distinct tuple. For x and errors see `decode`.
        """
        return self.table.equivalence_classes(self.decode(x), self.suppression, self.constraints, self.beside_parts)

    def front(self, res: Any) -> Front:
        """Return the feasible front of a search.

        Args:
            res: The result of `minimize`, an (n, n_var) array of points, a population or an archive, or a Front.

        Raises:
            TypeError: `res` is none of these.
            ValueError: A point is not valid.
        """
        if isinstance(res, Front):
            # Copies of a problem share its names.
            return res if res.problem.names is self.names else Front(self, res.X)
        points, algorithm = points_of(self, res), getattr(res, "algorithm", None)
        gap = getattr(algorithm, "gap", None)
        return Front(
            self,
            points,
            certified=getattr(algorithm, "certified", None),
            gap=gap if gap is not None and len(gap) == len(points) else None,
            open_bounds=getattr(algorithm, "open_bounds", None),
        )

    def points_for(self, requirements: Sequence[Constraint]) -> Array:
        """Return the points made for requirements, an (n, n_var) array. Only local recodings make any."""
        return np.empty((0, self.n_var), dtype=self.vtype)

    def makes(self, x: Sequence[int]) -> bool:
        """Return whether `points_for` may give a point."""
        return False

    def to_frame(self, res: Any) -> pd.DataFrame:
        """Return the points of a search as a table.

        Args:
            res: As of `front`.

        Returns:
            One row per point: quasi-identifiers with their levels or numbers of groups, measures with natural
            signs, `suppressed` tuples, and with constraints `feasible`, which rows of pymoo's RVEA may not be.
        """
        X = points_of(self, res)
        columns = self.described(X)
        if self.constraints:
            columns[arguments.free_name("feasible", columns)] = self.minimised(self.measure(X))[1].max(axis=1) <= 0
        return arguments.framed(columns)

    def described(self, X: Array) -> dict[Name, Array]:
        """Return the columns of a table of valid points, without `feasible`."""
        columns, values = self._variables(X), self.measure(X)
        for measure, own in zip(self.measured, values.T[:-1], strict=True):
            columns[self.names[measure]] = own.astype(np.int64) if measure.whole else own
        columns[arguments.free_name("suppressed", columns)] = values[:, -1].astype(np.int64)
        return columns

    def words(self, X: Array) -> list[str]:
        """Return each point in words, such as "age 2, sex 0"."""
        columns = self._variables(X)
        names = [plain(str(name)) for name in columns]
        return [", ".join(map("{} {}".format, names, row)) for row in np.column_stack([*columns.values()]).tolist()]

    def _variables(self, X: Array) -> dict[Name, Array]:
        raise NotImplementedError


class Memory:
    """Measured values of points, found by the bytes of x.

    Several threads may share a memory, and all copies of a problem do.
    """

    def __init__(self, n_measures: int, rows: Iterable[tuple[bytes, bytes]] = ()) -> None:
        # A file to which new points are written first.
        self.journal: Any = None
        self._n_measures = n_measures
        # The bytes of the values, by those of x.
        self._rows: dict[bytes, bytes] = dict(rows)
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def __reduce__(self) -> tuple[Any, ...]:
        # Locks and journals belong to their process.
        return Memory, (self._n_measures, [*self._rows.items()])

    def missing(self, X: Array) -> Array:
        """Return the points that are not stored, each once."""
        first: dict[bytes, int] = {}
        for i, key in enumerate(keys_of(X)):
            if key not in self._rows:
                first.setdefault(key, i)
        return X[list(first.values())]

    def add(self, X: Array, values: Floats) -> None:
        """Store the (n, n_measures) values of distinct points that are not stored yet."""
        keys = keys_of(X)
        with self._lock:
            new = [i for i, key in enumerate(keys) if key not in self._rows]
            if new and self.journal is not None:
                self.journal.remember([keys[i] for i in new], values[new])
            # In one step, so that an interruption leaves no part of them.
            rows = keys_of(values[new].astype(float))
            self._rows.update(zip([keys[i] for i in new], rows, strict=True))

    def __getitem__(self, X: Array) -> Floats:
        """Return the (n, n_measures) values of stored points."""
        rows = bytearray().join([self._rows[key] for key in keys_of(X)])
        return np.frombuffer(rows, dtype=float).reshape(len(X), self._n_measures)


def plain_array(X: ArrayLike) -> Array:
    """Return points as an array of numbers or truth values, also from objects."""
    given = np.asarray(X)
    if given.dtype == object:
        try:
            return np.array(given.tolist())
        except ValueError:  # The check of the shape refuses rows of several lengths.
            return given
    return given


def keys_of(X: Array) -> list[bytes]:
    """Return the bytes of every row."""
    X = np.ascontiguousarray(X)
    return X.view(np.dtype((np.void, X.itemsize * X.shape[1]))).ravel().tolist()  # type: ignore[return-value]


@contextmanager
def uncounted_compilation(algorithm: Any) -> Iterator[None]:
    """Move the start of an algorithm by the compile time of the block."""
    if algorithm is None or _EXCLUDED.get():
        yield
        return

    # Loaded late: choosing a point of a front that is read needs no loops.
    from numba.core.event import TimingListener, install_listener

    class Clock(TimingListener):
        def on_end(self, event: Any) -> None:
            """Move the start at once, since a termination may ask before the block ends."""
            before = self.duration if self.done else 0.0
            super().on_end(event)  # type: ignore[no-untyped-call]
            if self.done and algorithm.start_time is not None:
                algorithm.start_time += self.duration - before

    token = _EXCLUDED.set(True)
    try:
        with install_listener("numba:compiler_lock", Clock()):  # type: ignore[no-untyped-call]
            yield
    finally:
        _EXCLUDED.reset(token)
