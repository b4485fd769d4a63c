"""Local recodings as a search space of targets, prices and weights."""

from __future__ import annotations

import copy
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pymoo.core.termination import Termination
from pymoo.termination import get_termination
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.termination.max_time import TimeBasedTermination

from pymoo_anon._messages import listed, number, percent, plain, whole_from_0
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.loss import GeneralLossMetric, NormalizedWeightedPenalty
from pymoo_anon.objectives.privacy.register import check_local
from pymoo_anon.problems.arguments import checked_constraints
from pymoo_anon.problems.base import AnonymizationProblem, uncounted_compilation
from pymoo_anon.problems.lattice import whole_numbers
from pymoo_anon.problems.releases import fingerprint_of, parts_within
from pymoo_anon.problems.requirements import holds_by_construction, least_k, requirements_of, whole_classes
from pymoo_anon.recoding import FEW, Ascent, Requirements, Trees, check_ways, recode, recode_parts, recode_some
from pymoo_anon.table.domain_values import Name, is_number
from pymoo_anon.table.generalization import Constraint, LocalGeneralization, kept_by
from pymoo_anon.table.microdata import Microdata, check_table
from pymoo_anon.typing import Array, Floats, Ints

# Weight of an attribute that no objective counts, as a share of the greatest weight. Above zero its cells are
# generalized no further than they must be.
_LEAST_SHARE = 1e-3

# A weight of x = w is 2^w times that of x = 0.
_GREATEST_WEIGHT = 10

# Recodings of so many points are in the making at a time.
_AT_A_TIME = 8

# Recodings of so many bytes are kept. One that is gone is made again, and is the same.
_KEPT_BYTES = 1 << 28

# Greater whenever points get other recodings, so that no journal of other ones is taken up.
_RECODINGS = 4


@dataclass(frozen=True)
class LocalTarget:
    """Target of a local recoding."""

    k: int  # Least number of rows of a class
    price: float  # Cost of a class beside the loss of its cells, in cells. Larger prices make fewer and larger classes
    weights: tuple[float, ...]  # Weight of the loss of a cell by quasi-identifier, 1 on average


def targets_of(table: Microdata, least: int) -> tuple[int, ...]:
    """List the targets of k. They are the least, the numbers of two digits and zeros, and the number of rows."""
    low, digits = min(least, table.n_rows), np.arange(10, 100)
    scale = [np.arange(1, 10), *(digits * 10**power for power in range(len(str(table.n_rows)) - 1))]
    every = np.concatenate([[low, table.n_rows], *scale])
    return tuple(np.unique(every[(every >= low) & (every <= table.n_rows)]).tolist())


def prices_of(table: Microdata) -> tuple[float, ...]:
    """List the prices of a class, doubled at every second one."""
    scale = np.unique(np.rint(np.sqrt(2.0 ** np.arange(2 * table.n_rows.bit_length()))))
    return 0.0, *scale[scale <= table.n_rows].tolist()


def base_weights(objectives: Sequence[Objective], names: Sequence[Name]) -> Floats:
    """Return the (n,) mean weights of attributes in objectives with weights."""
    given = [
        objective.weights_of(names)
        for objective in objectives
        if isinstance(objective, GeneralLossMetric | NormalizedWeightedPenalty)
    ]
    total = sum((own / own.sum() for own in given), np.zeros(len(names))) if given else np.ones(len(names))
    total = np.maximum(total, _LEAST_SHARE * total.max())
    return total / total.mean()


@dataclass(frozen=True)
class LowerBound:
    """Lower bound of the loss of all local recodings.

    >>> bound = LowerBound(value=90.0, loss=100.0, n_passes=20)
    >>> bound.gap, bound.share
    (10.0, 0.1)
    >>> print(bound)
    a loss of 100 could be at most 10.0 % lower: none is below 90 (20 passes)
    """

    value: float  # The bound, in units of the objective
    loss: float  # Loss of the recoding of the point, in the same units
    n_passes: int  # Number of passes

    @property
    def gap(self) -> float:
        """Greatest possible improvement in units of the objective, 0 for a proven optimum."""
        return max(self.loss - self.value, 0.0)

    @property
    def share(self) -> float:
        """The gap as a share of the loss, from 0 to 1."""
        return self.gap / self.loss if self.gap > 0 else 0.0

    def __str__(self) -> str:
        lower, least = percent(self.share, is_limit=True), number(self.value, "ROUND_FLOOR")
        return f"a loss of {self.loss:g} could be at most {lower} lower: none is below {least} ({self.n_passes} passes)"


def limit_of(termination: Termination | tuple[Any, ...]) -> Termination:
    """Return an unused copy of a termination by passes or seconds."""
    made: Any = copy.deepcopy(termination)
    if isinstance(termination, tuple):
        # pymoo raises a bare Exception where it does not know a name.
        with suppress(Exception):
            made = get_termination(*termination)
    limit = getattr(made, "n_max_gen", None) or getattr(made, "max_time", None)
    if not isinstance(made, MaximumGenerationTermination | TimeBasedTermination) or limit is None or not limit > 0:
        raise ValueError(
            'termination must be a number of passes, such as ("n_iter", 20), or a time in seconds, such as '
            f'("time", 10), got {termination!r}'
        )
    return made


def ascend(trees: Trees, tests: Requirements, loss: float, limit: Termination) -> LowerBound:
    """Raise a lower bound of a loss until the termination. It is checked after the last pass."""
    state = SimpleNamespace(start_time=time.time(), n_gen=0, n_iter=0)
    with uncounted_compilation(state):
        ascent = Ascent.of(trees, tests)
        limit.update(state)
        while limit.do_continue() and ascent.paid < loss:
            ascent.advance()
            state.n_gen = state.n_iter = ascent.n_passes
            limit.update(state)
    return LowerBound(value=ascent.bound(), loss=loss, n_passes=ascent.n_passes)


class LocalRecodingProblem(AnonymizationProblem):
    """Local recoding: every class of tuples has levels of its own.

    A point is the target of a recoding, and a deterministic method makes it: multidimensional recoding (LeFevre et al.
    2006) with hierarchies, which loses a fraction of full-domain generalization. Nothing is suppressed. Variables are
    whole numbers from 0:

    - the first is the place of k in `targets`, from the least allowed k to the number of rows. Operators stay among
      these; `x_of` names every other k by its sum with their number;
    - the second is the place of a class's price in `prices`, from none on a log scale. A price makes classes fewer, and
      so rules the mean risk;
    - each other is the weight of a quasi-identifier's loss as a power of 2. Only ratios count: all equal weigh as the
      objectives do. Weights are worth a search where objectives tell quasi-identifiers apart.

    `LatticeSampling`, `LevelCrossover` and `SingleStepMutation` fit. `TargetSweep` needs no operators.

    k, in rows or persons, distinct, entropy and recursive l, alpha, t and beta as constraints are held by construction,
    wherever the whole table holds them, also for adversaries who know some columns alone. All constraints are in G.

    At equal k a local recoding has far more classes than a full-domain generalization, and so a greater mean risk:
    measure `MarketerRisk` beside k, and ask for l or t.

    Args:
        table: The table. Every hierarchy has to end in one group, and no label may stand for two sets of values.
        objectives: One or more objectives, in the order of the columns of F.
        constraints: Bounds on objectives, such as `KAnonymity() >= 5`, in the order of the columns of G.
        method: "bottom-up" releases the cheapest cells that enough tuples share, again and again. "top-down" splits
            classes, each time where most loss is saved for the bits that it tells: it loses more and takes a fraction
            of the time. As baselines "mondrian" and "mondrian-relaxed" are the strict and the relaxed algorithm of
            LeFevre et al. 2006, which split the column of the widest cells. Where the paper cuts at a median, they
            split a node into its children. Strict, all children that hold a tuple have k rows, or another column is
            split. Relaxed, those of fewer rows stay together, so that classes overlap, and equal tuples stay in one.
        structure: What decides which tuples are one class. "sizes": numbers of rows and persons; classes that break
            another constraint are merged afterwards. "direct": all constraints, which may lose less. But then a class
            that sizes would have split tells that its parts break a constraint, and so of their sensitive values
            (minimality, Wong et al. 2007).
        n_improvements: So many times a few classes near each other are freed and built anew, and kept where they lose
            less (large neighbourhood search). 0 is quickest. On Adult at k = 5, 6,000 take 1 % off the loss and three
            seconds a recoding; with l = 3 they take 5 % off.
        within: A coarser release of the table, of any kind, as of `joint`. Its classes are divided one by one, so
            that whoever has both releases sees no smaller classes. Targets above the size of a class leave it whole.
        elementwise_runner: As of `AnonymizationProblem`.

    Attributes:
        targets: Tuple of the targets of k, ascending.
        prices: Tuple of the prices of a class in cells, ascending from 0.
        held: Tuple of the constraints that are held by construction.
        n_threads: Number of threads that make recodings, at first one for each processor.

    Raises:
        TypeError: As of `AnonymizationProblem`; or a measure has no value for local recodings, as presence.
        ValueError: As of `AnonymizationProblem`; or a hierarchy does not end in one group, or has a label for two sets
            of values; or `method` or `structure` is none of these, or `n_improvements` is negative; or a class of
            `within` breaks a constraint.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
    >>> problem = LocalRecodingProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
    >>> x = np.array([problem.targets.index(10), 0] + [0] * 8)  # k of 10, no price, equal weights
    >>> problem.target(x).k, bool(problem.equivalence_classes(x).sizes.min() >= 10)
    (10, True)
    """

    # Recodings take the time, and these are made in threads.
    _measures_in_threads = False

    def __init__(
        self,
        table: Microdata,
        objectives: Sequence[Objective],
        constraints: Sequence[Constraint] = (),
        *,
        method: str = "bottom-up",
        structure: str = "sizes",
        n_improvements: int = 0,
        within: Any = None,
        elementwise_runner: Callable[..., Any] | None = None,
    ) -> None:
        check_table(table)
        check_ways(method=method, structure=structure)
        # Refuses hierarchies that are no trees.
        _ = table.forest
        constraints = checked_constraints(constraints, table)
        n = len(table.quasi_identifiers)
        self.method, self.structure = method, structure
        self.n_improvements = whole_from_0("n_improvements", n_improvements)
        self.earlier = () if within is None else (within,)
        #: (n_distinct,) int64 array of `kept_whole`, or None. Set before the first point is decoded.
        self.units: Ints | None = None
        self.targets = targets_of(table, least_k(constraints))
        self.prices = prices_of(table)
        super().__init__(
            table,
            objectives,
            n_var=2 + n,
            xu=[len(self.targets) - 1, len(self.prices) - 1, *[_GREATEST_WEIGHT] * n],
            vtype=int,
            constraints=constraints,
            elementwise_runner=elementwise_runner,
        )
        check_local(self.measured)
        self.held = tuple(one for one in self.constraints if holds_by_construction(one, table.tuples))
        self.within_parts = parts_within(within, table, self.held)
        self._base = base_weights(self.objectives, self.table.tuples.names)
        self._requirements = requirements_of(self.held, table.tuples)
        self._recodings, self._few = _Recodings(), _Recodings()
        self.n_threads = os.cpu_count() or 1

    def kept_whole(self, x: ArrayLike, share: float) -> Ints:
        """Return numbers of the classes that lose least at a point.

        Args:
            x: (n_var,) array, the point.
            share: The greatest share of the rows in these classes.

        Returns:
            (n_distinct,) int64 array, from 0.
        """
        made = self.decode(x)
        costs, rows = self._costs(made, self._base), np.bincount(made.class_of, self.table.tuples.counts)
        order = np.argsort(costs, kind="stable")
        whole = np.zeros(len(rows), dtype=np.bool_)
        whole[order] = np.cumsum(rows[order]) <= share * self.table.n_rows
        numbers = np.where(whole[made.class_of], made.class_of, len(rows) + np.arange(len(made.class_of)))
        return np.unique(numbers, return_inverse=True)[1]

    def fresh_copy(self) -> AnonymizationProblem:
        made: Any = super().fresh_copy()
        made._recodings, made._few = _Recodings(), _Recodings()
        return made

    @property
    def space_fingerprint(self) -> str:
        beside = fingerprint_of("within", self.within_parts) + fingerprint_of("units", self.units)
        return f"local {_RECODINGS} {self.method} {self.structure} {self.n_improvements}{beside}"

    def target(self, x: ArrayLike) -> LocalTarget:
        """Return the target of one point, an (n_var,) or (1, n_var) array.

        Raises:
            ValueError: x has the wrong length or a value that is out of range.
        """
        (point,) = self._one(x, f"point of {self.n_var} whole numbers")
        # The least weight is that of x = 0, so that points which differ by the same in all ask for the same.
        powers = point[2:] - point[2:].min()
        weights = self._base * np.exp2(powers)
        among = point[0] < len(self.targets)
        return LocalTarget(
            k=self.targets[point[0]] if among else int(point[0]) - len(self.targets),
            price=self.prices[point[1]],
            weights=tuple((weights / weights.mean()).tolist()),
        )

    def words(self, X: Array) -> list[str]:
        """Describe the target of each point in words.

        >>> from pymoo_anon.datasets import make_census
        >>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
        >>> problem = LocalRecodingProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
        >>> problem.words(np.array([problem.x_of(10), problem.x_of(5, price=16.0)]))
        ['k from 10, no price, equal weights', 'k from 5, a price of 16 cells for a class, equal weights']
        """
        said = []
        for target in map(self.target, X):
            price = f"a price of {number(target.price)} cells for a class" if target.price else "no price"
            named = zip(self.table.quasi_identifiers, target.weights, strict=True)
            own = listed(plain(f"{name} {number(float(f'{weight:.3g}'))}") for name, weight in named)
            equal = max(target.weights) - min(target.weights) < 1e-9
            said.append(f"k from {target.k:,}, {price}, {'equal weights' if equal else f'weights {own}'}")
        return said

    def x_of(self, k: int, price: float = 0.0) -> Ints:
        """Return the point of a target and a price, with equal weights.

        Args:
            k: The least number of rows of a class.
            price: What a class costs, in cells. It becomes the next larger one of `prices`.

        Raises:
            ValueError: k is below 0 or above the number of rows, or the price below 0 or above the greatest.
        """
        x = np.zeros(self.n_var, dtype=np.int64)
        # A price between two of them is the larger one, and so is a k below the least.
        for place, (name, value, scale) in enumerate((("k", k, self.targets), ("price", price, self.prices))):
            if not is_number(value) or not 0 <= value <= scale[-1]:
                raise ValueError(f"{name} must be from 0 to {scale[-1]}, got {value!r}")
            x[place] = np.searchsorted(scale, value)
        if self.targets[0] < ceil(k) != self.targets[x[0]]:
            x[0] = len(self.targets) + ceil(k)
        return x

    def points_for(self, requirements: Sequence[Constraint]) -> Ints:
        """Return the point made for the k of requirements, if any."""
        k = least_k(requirements)
        points = [self.x_of(k)] if 1 < k <= self.table.n_rows else []
        return np.array(points, dtype=np.int64).reshape(-1, self.n_var)

    def makes(self, x: Sequence[int]) -> bool:
        """Return whether a point has no price and equal weights."""
        return len(x) == self.n_var and not any(x[1:])

    def decode(self, x: ArrayLike) -> LocalGeneralization:
        """Return the local recoding of one point, as `target`."""
        target = self.target(x)
        return self._recodings.of(target, partial(self._recode, target))

    def remember_recodings(self, X: ArrayLike, made: Sequence[Callable[[], LocalGeneralization]]) -> None:
        """Register recodings of an earlier process, made by functions at first use."""
        self._recodings.stored.update(zip(map(self.target, self.checked(X)), made, strict=True))

    def _recode(self, target: LocalTarget) -> LocalGeneralization:
        """Make the recoding of a target.

        Where there are few classes, a target has the best recoding with its k among those of certain targets: then a
        larger k never loses less.
        """
        few = target.k * FEW > self.table.tuples.n_rows and self.within_parts is None
        if self.method != "bottom-up" or not few:
            return self._made(target)
        scale = targets_of(self.table, self.table.n_rows // FEW + 1)
        every = [replace(target, k=k) for k in scale[bisect_right(scale, target.k) - 1 :]]
        with ThreadPoolExecutor(self.n_threads) as pool:
            made = list(pool.map(lambda one: self._few.of(one, partial(self._made, one)), every))
        counts = self.table.tuples.counts
        kept = [one for one in made if np.bincount(one.class_of, counts).min() >= target.k]
        return min(kept, key=partial(self._loss, target))

    def _loss(self, target: LocalTarget, made: LocalGeneralization) -> float:
        """Return the loss of a recoding, weighed and priced as its target asks."""
        rows = np.bincount(made.class_of, self.table.tuples.counts)
        return float(rows @ self._costs(made, target.weights) + target.price * len(rows))

    def _costs(self, made: LocalGeneralization, weights: ArrayLike) -> Floats:
        """Return the weighed loss of a row of each class."""
        given = zip(np.asarray(weights), self._nodes, made.nodes.T, strict=True)
        return np.sum([weight * own.losses[cells] for weight, own, cells in given], axis=0)

    def _made(self, target: LocalTarget) -> LocalGeneralization:
        tests = self._tests._replace(k=target.k)
        ways = self.method, self.structure, self.n_threads, self.n_improvements
        if self.within_parts is None:
            trees = self._trees.weighted(target.weights)
            cells = recode(trees, tests, target.price, *ways, None if self.units is None else self.units[trees.places])
        else:
            trees = Trees.of(self.table.tuples, self._nodes, target.weights, self.within_parts)
            cells = recode_parts(trees, tests, target.price, *ways)[:, :-1]
        made = LocalGeneralization(self.table.quasi_identifiers, cells)
        partial = [one for one in self.held if one.depends_on_kept]
        return self._rebuilt(made, partial, target, trees) if partial else made

    def _rebuilt(
        self, made: LocalGeneralization, partial: Sequence[Constraint], target: LocalTarget, trees: Trees
    ) -> LocalGeneralization:
        """Rebuild the classes that break a constraint on adversaries.

        The classes that hold it among themselves stay. All other tuples are recoded anew, in classes that each hold it
        alone: so do any rows of them that agree. Where these tuples are too few or too uniform for one such class, the
        smallest of the others join them.
        """
        read = dict.fromkeys(column for one in partial for column in one.reads(self.table.sensitive))
        classes = self.table.local_classes(made, tuple(read))
        alone = [whole_classes(one) for one in partial]
        others = [*self._requirements, *requirements_of(alone, self.table.tuples)]
        tests = Requirements.of(self.table.tuples, trees, max(target.k, least_k(alone)), others)
        smallest = np.argsort(classes.sizes, kind="stable")
        stay, n_joined = kept_by(partial, classes), 0
        while True:
            chosen = np.flatnonzero(~stay[made.class_of[trees.places]])
            if len(chosen) == 0:
                return made
            if not stay.any() or tests.subset(chosen).keeps_whole(trees.rows[chosen]):
                break
            # Twice as many each time, so that it takes few steps however many are needed.
            n_joined = max(2 * n_joined, 1)
            among = stay.copy()
            among[smallest[stay[smallest]][:n_joined]] = False
            stay = kept_by(partial, classes, among)
        cells = recode_some(trees, tests, chosen, made.cells, target.price, self.method, self.structure)
        return LocalGeneralization(self.table.quasi_identifiers, cells)

    def lower_bound(self, x: ArrayLike, termination: Termination | tuple[Any, ...]) -> LowerBound:
        """Return a lower bound of the loss with a point's k.

        The loss is the first `GeneralLossMetric` of the objectives. The bound speaks of all recodings under the same
        hierarchies that suppress nothing, whatever method makes them. Constraints enter by the rows and the distinct
        values that they make necessary.

        Args:
            x: (n_var,) array, one row of `res.X`.
            termination: When to end, as pymoo has it: `("n_iter", 20)` is passes of a dual ascent, with the same bound
                on every machine; `("time", 10)` is seconds, of which compiling takes none.

        Raises:
            ValueError: x is no point, no objective is a `GeneralLossMetric`, or `termination` is something else.

        >>> from pymoo_anon.datasets import make_census
        >>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
        >>> problem = LocalRecodingProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
        >>> bound = problem.lower_bound(problem.x_of(5), ("n_iter", 10))
        >>> 0 < bound.value <= bound.loss, bound.n_passes
        (True, 10)
        """
        limit, target = limit_of(termination), self.target(x)
        objective = next((one for one in self.objectives if isinstance(one, GeneralLossMetric)), None)
        if objective is None:
            raise ValueError(
                "a lower bound needs a GeneralLossMetric among the objectives, got none: add GeneralLossMetric() to "
                "objectives"
            )
        trees = self._trees.weighted(objective.weights_of(self.table.tuples.names))
        classes = self.equivalence_classes(x)
        # Small classes of a coarser release stay whole.
        k = min(target.k, int(classes.sizes.min()))
        return ascend(trees, self._tests._replace(k=k), float(objective.evaluate(classes)[0]), limit)

    @property
    def _nodes(self) -> list[Any]:
        return [hierarchy.nodes for hierarchy in self.table.quasi_identifiers.values()]

    @cached_property
    def _tests(self) -> Requirements:
        return Requirements.of(self.table.tuples, self._trees, 1, self._requirements)

    @cached_property
    def _trees(self) -> Trees:
        """Trees of all attributes, each with a weight of 1."""
        return Trees.of(self.table.tuples, self._nodes)

    def _grouped(self, X: Array, columns: tuple[Any, ...] | None = None) -> Iterator[tuple[Ints, EquivalenceClasses]]:
        read = self._columns if columns is None else columns
        # A few ahead, so that no more than these are held at once.
        with ThreadPoolExecutor(self.n_threads) as pool:
            for start in range(0, len(X), _AT_A_TIME):
                made = pool.map(self.decode, X[start : start + _AT_A_TIME])
                for row, one in enumerate(made, start):
                    yield np.array([row]), self.table.local_classes(one, read)

    def checked(self, X: ArrayLike) -> Ints:
        """Return points as an (n, n_var) int64 array.

        Raises:
            ValueError: X has another shape, or a value that is not whole or out of range.
        """
        highest = self.xu.astype(np.int64)
        highest[0] = len(self.targets) + self.table.tuples.n_rows
        points, numbers = f"points of {self.n_var} whole numbers", "whole numbers"
        return whole_numbers(X, points, numbers, numbers, np.zeros_like(highest), highest)

    def _variables(self, X: Ints) -> dict[Name, Ints]:
        n_labels = np.array([self.decode(x).n_groups for x in X], dtype=np.int64)
        names = self.table.quasi_identifiers
        return dict(zip(names, n_labels.reshape(len(X), len(names)).T, strict=True))


class _Recodings:
    """Latest recodings, shared by copies and threads, never pickled."""

    def __init__(self) -> None:
        # Source of the recodings of an earlier process.
        self.stored: dict[LocalTarget, Callable[[], LocalGeneralization]] = {}
        self._known: dict[LocalTarget, LocalGeneralization] = {}
        self._n_bytes = 0
        self._lock = Lock()
        self._turns: dict[LocalTarget, Lock] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _Recodings, ()

    def of(self, target: LocalTarget, make: Callable[[], LocalGeneralization]) -> LocalGeneralization:
        """Return a recoding, made once if it is not kept, as the latest."""
        with self._lock:
            turn = self._turns.setdefault(target, Lock())
        with turn:
            known = self._known.get(target)
            made = self.stored.get(target, make)() if known is None else known
            self._keep(target, made)
        return made

    def _keep(self, target: LocalTarget, made: LocalGeneralization) -> None:
        with self._lock:
            self._n_bytes += 0 if target in self._known else made.nbytes
            self._known.pop(target, None)
            self._known[target] = made
            while self._n_bytes > _KEPT_BYTES and len(self._known) > 1:
                self._n_bytes -= self._known.pop(next(iter(self._known))).nbytes
