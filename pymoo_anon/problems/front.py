"""Front of a search: its points, their values, and choices.

A choice can ask for any measure, also for one that is no objective of the problem. Among equal points it takes the best
in the objectives, in their order, and then the first.

The *knee* is the point with the highest trade-off (Rachmawati and Srinivasan 2009): the step to the next better point,
in any objective, costs most per gain. *Weights* choose the point with the least of the greatest weighted shortfalls.
This achievement function (Wierzbicki 1980) reaches all points of a front. Both count shortfalls from 0 for the best of
the remaining points to 1 for the worst, in logarithms if values span more than two decades.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd
from pymoo.core.individual import Individual
from pymoo.core.result import Result

from pymoo_anon._messages import counted, html_table, listed, number, one_of, percent, plain
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.loss.cells import attribute_losses
from pymoo_anon.objectives.privacy.identity import KAnonymity, smallest_k
from pymoo_anon.problems.arguments import bound, checked_constraints, framed, lost, measure_names, texts_of
from pymoo_anon.problems.tradeoffs import ReadOnly, Step, first_of, knee_of, next_steps, shortfalls, with_share
from pymoo_anon.table.domain_values import is_number, is_whole
from pymoo_anon.table.generalization import HOW_RELEASED, Constraint
from pymoo_anon.table.microdata import Microdata, check_table
from pymoo_anon.typing import Array, Floats, Ints

# Greatest number of points that are printed. The frame has all.
_PRINTED_POINTS = 40


@dataclass(frozen=True)
class Choice(ReadOnly):
    """One chosen point of a front."""

    row: int  # Its row of `res.X`, from 0
    x: tuple[int, ...]  # The point, as Python numbers
    # Natural values by name: the objectives, and the measures of the constraints and of the choice.
    values: Mapping[str, float]
    n_suppressed: int  # Number of suppressed tuples
    reason: str  # Reason of the choice, in words
    # Constraints beyond those of the problem: `require`, and `risk` as a bound on k. A release promises both.
    requirements: tuple[Constraint, ...] = ()
    # By name of a loss among the values, the least and the greatest possible value.
    losses: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    problem: Any = field(default=None, repr=False, compare=False)  # Problem of the front

    @property
    def said(self) -> str:
        """Values in words."""
        return _in_words(self.values, self.losses)

    def __str__(self) -> str:
        return f"{self.said}: {self.reason}"


@dataclass(frozen=True)
class Requirement:
    """Requirement on a point, and the value of the point."""

    constraint: Constraint
    name: str  # Name of the bounded measure
    value: float  # Value of the point, natural sign
    met: bool  # Whether the bound holds

    def __str__(self) -> str:
        return f"{bound(self.constraint, self.name)}: {number(self.value)}, {'met' if self.met else 'not met'}"


class Front:
    """Points of a front that satisfy all constraints.

    `problem.front(res)` makes one. Places count these points from 0, and rows count those of `res`. It prints as a
    table, and as HTML in a notebook.

    Args:
        problem: The problem, an `AnonymizationProblem`.
        X: (n, n_var) array, the points.
        certified: Whether the front is proven to be complete, or None without a proof.
        gap: (n, n_obj) array, by how much each objective of each point could still be lower, or None.
        open_bounds: (l, n_obj) array of minimised lower bounds of open points, or None.

    Attributes:
        X: (m, n_var) array, the points that satisfy all constraints.
        rows: (m,) int64 array, their rows in `X` as given.
        F: (m, n_obj) float array, minimised.
        natural: (m, n_obj) float array, the same with natural signs.
        n_suppressed: (m,) int64 array, the number of suppressed tuples.
        gap: (m, n_obj) float array, or None.
        names: By measure of the problem the name of its column.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> from pymoo_anon.problems import LatticeProblem
    >>> problem = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()], suppression=0.05)
    >>> front = problem.front(problem.pareto_set())
    >>> len(front), float(front.values(KAnonymity()).max())
    (15, 200.0)
    >>> print(front.choose(require=[KAnonymity() >= 5]))
    k = 5 and GLM = 957.417 (59.8 %): the least GLM of the 11 points with k >= 5, of 15
    """

    def __init__(
        self,
        problem: Any,
        X: Array,
        *,
        certified: bool | None = None,
        gap: Floats | None = None,
        open_bounds: Floats | None = None,
    ) -> None:
        points = problem.checked(X)
        values = problem.measure(points)
        F, G = problem.minimised(values)
        self.problem = problem
        self.table: Microdata = problem.table
        self.objectives: tuple[Objective, ...] = problem.objectives
        self.rows: Ints = np.flatnonzero((G <= 0).all(axis=1))
        self.X, self.F = points[self.rows], F[self.rows]
        self.natural: Floats = problem.natural(self.F)
        self.n_suppressed: Ints = values[self.rows, -1].astype(np.int64)
        self.certified, self.open_bounds = certified, open_bounds
        self.gap = None if gap is None else np.asarray(gap, dtype=float)[self.rows]
        self.names: Mapping[Objective, str] = problem.names
        # Words behind a number of points that say which these are.
        self._which = ""
        # Rows of the result, and of points made on demand after them.
        self._n_found = self._n_given = len(points)
        self._values: dict[Objective, Floats] = dict(zip(problem.measured, values[self.rows, :-1].T, strict=True))
        self._marked: dict[Objective, Floats] = {}
        self._lost: Floats | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def maximize(self) -> list[bool]:
        """Whether higher is better, by objective."""
        return [objective.maximize for objective in self.objectives]

    def values(self, measure: Objective) -> Floats:
        """Return the (m,) values of any measure, natural signs.

        Raises:
            TypeError: It is no Objective.
            ValueError: It reads a column that has no role in the table.
        """
        if not isinstance(measure, Objective):
            raise TypeError(f"measure must be an Objective such as KAnonymity(), got {measure!r:.80}")
        if measure not in self._values:
            measure.check(self.table)
            self._values[measure] = self.problem.values_of(self.X, measure)
        return self._values[measure]

    def marked(self, measure: Objective) -> Floats:
        """Return the (m,) values of the class of marked rows.

        A value is NaN if no row is suppressed, or if the measure does not speak of single classes.
        """
        if measure not in self._marked:
            missing = [one for one in dict.fromkeys([*self.problem.measured, measure]) if one not in self._marked]
            marked, self._lost = self.problem.marked_and_lost(self.X, missing)
            self._marked.update(zip(missing, marked.T, strict=True))
        return self._marked[measure]

    def lost(self, place: int) -> Floats:
        """Return the (n_attributes,) general loss of each quasi-identifier at a point."""
        if self._lost is not None:
            return self._lost[place]
        return attribute_losses(self.problem.equivalence_classes(self.X[place]))[0]

    def recall(
        self, values: Mapping[Objective, Floats], marked: Mapping[Objective, Floats], lost: Floats | None
    ) -> None:
        """Store earlier results of `values` and `marked`, by measure, and of `lost`."""
        self._values.update(values)
        self._marked.update(marked)
        self._lost = lost

    def place_of(self, chosen: int | Choice) -> int:
        """Return the place of a row or a choice.

        Raises:
            ValueError: There is no such point, or it does not satisfy the constraints of the problem.
        """
        row = chosen.row if isinstance(chosen, Choice) else chosen
        if isinstance(chosen, Choice) and row >= self._n_found and self.problem.makes(chosen.x):
            self._give_row(chosen)
        (places,) = np.nonzero(self.rows == row)
        if isinstance(chosen, Choice) and (not len(places) or tuple(self.X[places[0]].tolist()) != chosen.x):
            raise ValueError(f"choice must be one of the points of res, got row {row}, which is another point")
        if not 0 <= row < self._n_given:
            raise ValueError(f"row must be from 0 to {self._n_given - 1}, a row of the front, got {row}")
        if not len(places):
            raise ValueError(f"row must be a point that satisfies the constraints of its problem, got {row}")
        return int(places[0])

    def _give_row(self, choice: Choice) -> None:
        """Give a point made on demand the row of its choice."""
        if not len(self._made_at(choice.x)):
            self._add(Front(self.problem, np.array([choice.x])))
        # It is not there if it breaks a constraint. Another point that has this row here takes the other one.
        for place in self._made_at(choice.x)[:1]:
            self.rows[self.rows == choice.row] = self.rows[place]
            self.rows[place] = choice.row
        self._n_given = max(self._n_given, choice.row + 1)

    def _made_at(self, x: Sequence[int] | Ints) -> Ints:
        return np.flatnonzero((self.rows >= self._n_found) & (x == self.X).all(axis=1))

    def shortfalls(self) -> Floats:
        """Return the (m, n_obj) shortfalls: 0 for the best, 1 for the worst."""
        return shortfalls(self.natural, self.maximize)

    def losses(self, names: Mapping[Objective, str] | None = None) -> dict[str, tuple[float, float]]:
        """Return the least and the greatest possible value of each named loss."""
        found = {name: lost(measure, self.table) for measure, name in (names or self.names).items()}
        return {name: loss for name, loss in found.items() if loss is not None}

    @property
    def knee(self) -> int | None:
        """Place of the knee, or None without inner points."""
        return knee_of(self.natural, self.maximize)

    def steps(self, place: int) -> list[Step]:
        """Return the steps to the next better points, at most one per objective."""
        names = measure_names(self.objectives)
        found = next_steps(list(names.values()), self.natural, self.maximize, place, self.losses(names))
        return [replace(step, row=int(self.rows[step.row])) for step in found]

    def requirements(self, place: int, also: Iterable[Constraint] = ()) -> list[Requirement]:
        """Return the requirements on a point, those of the problem and others."""
        asked = dict.fromkeys([*self.problem.constraints, *checked_constraints(also, self.table)])
        names = measure_names([*self.problem.measured, *(one.objective for one in asked)])
        return [
            Requirement(one, names[one.objective], float(value[0]), bool(one.keeps(value)[0]))
            for one in asked
            for value in [self.values(one.objective)[[place]]]
        ]

    def refusal(self, place: int, suppressed: str = "mark", also: Iterable[Constraint] = ()) -> str | None:
        """Return the reason against releasing a point, or None.

        A release needs rows, nobody alone in a class, and a class of marked rows that keeps the promises.

        Args:
            place: The place of the point.
            suppressed: Treatment of suppressed rows, "mark" or "drop".
            also: Further constraints. A release promises those that the point keeps.
        """
        one_of("suppressed", suppressed, HOW_RELEASED)
        also = checked_constraints(also, self.table)
        n_suppressed, person = int(self.n_suppressed[place]), self.table.person
        if suppressed == "drop" and n_suppressed == self.table.n_rows:
            return f"all {n_suppressed:,} rows are suppressed, and nothing is left to release"
        alone = self.problem.default_constraint
        if not alone.keeps(self.values(alone.objective)[[place]])[0]:
            who = "row" if person is None else "person"
            return f"{'joint ' * alone.objective.joint}k is 1: some {who} stands alone in a class"
        if suppressed == "drop" or not n_suppressed:
            return None
        if n_suppressed == 1:
            return 'its single suppressed row would stand alone; suppressed = "drop" leaves it out'
        if person is not None and self.marked(KAnonymity(person))[place] < 2:
            return f'its {n_suppressed:,} suppressed rows are of one person; suppressed = "drop" leaves them out'
        promised = [(one, float(self.values(one)[place])) for one in self.problem.measured]
        asked = [one for one in dict.fromkeys([*self.problem.constraints, *also]) if one.speaks_of_classes]
        promised += [(one.objective, one.bound) for one in asked if one.keeps(self.values(one.objective)[[place]])[0]]
        for measure, least in promised:
            own = float(self.marked(measure)[place])
            if own < least if measure.maximize else own > least:
                name = measure_names(one for one, _ in promised)[measure]
                value = f"with {name} = {number(own)}, not {number(least)}"
                broken = "smaller than k" if isinstance(measure, KAnonymity) else value
                together = f"its {n_suppressed:,} suppressed rows would be a class {broken}"
                return f'{together}; suppressed = "drop" leaves them out'
        return None

    def meet(self, requirements: Sequence[Constraint]) -> None:
        """Add the points that the problem makes for requirements.

        A point is not added if it breaks a constraint of the problem, or if a point of the front meets them and is as
        good in all objectives. Rows of points that are added come after those of `res`.
        """
        points = [x for x in self.problem.points_for(requirements) if not len(self._made_at(x))]
        if not points or not len(self):
            return
        new = Front(self.problem, np.array(points))
        met = np.all([one.keeps(self.values(one.objective)) for one in requirements], axis=0)
        new = new.only([place for place, f in enumerate(new.F) if not (self.F[met] <= f).all(axis=1).any()])
        if len(new):
            self._add(new)

    def _add(self, new: Front) -> None:
        self._values = {one: np.append(values, new.values(one)) for one, values in self._values.items()}
        self._marked = {one: np.append(values, new.marked(one)) for one, values in self._marked.items()}
        if self._lost is not None:
            self._lost = np.concatenate([self._lost, [new.lost(place) for place in range(len(new))]])
        self.rows = np.append(self.rows, self._n_given + np.arange(len(new)))
        for name in ("X", "F", "natural", "n_suppressed"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(new, name)]))
        self._n_given += len(new)

    def only(self, places: Sequence[int] | Ints) -> Front:
        """Return the front with some points, by their places in this order or by a mask."""
        made, picked = copy.copy(self), np.arange(len(self))[list(places)]
        for name in ("X", "rows", "F", "natural", "n_suppressed"):
            setattr(made, name, getattr(self, name)[picked])
        made.gap = None if self.gap is None else self.gap[picked]
        made._values = {measure: values[picked] for measure, values in self._values.items()}
        made._marked = {measure: values[picked] for measure, values in self._marked.items()}
        made._lost = None if self._lost is None else self._lost[picked]
        return made

    def offered(self, refusals: Sequence[str | None]) -> Front:
        """Return the points without a refusal, as of `refusal`."""
        made = self.only([place for place, why in enumerate(refusals) if why is None])
        made._which = " that can be released" * (len(made) < len(refusals))
        return made

    def sorted(self) -> Front:
        """Return the points from private to useful, in lexicographic order."""
        ascending = self.F * [-1.0 if objective.is_loss else 1.0 for objective in self.objectives]
        return self.only(np.lexsort(ascending.T[::-1]))

    def choose(
        self,
        *,
        require: Sequence[Constraint] = (),
        risk: float | None = None,
        best: Objective | None = None,
        row: int | None = None,
        knee: bool = False,
        weights: Mapping[Objective, float] | None = None,
    ) -> Choice:
        """Choose one point.

        `require` and `risk` limit the points, and one of the other arguments chooses among them. Without it, the choice
        is the best of the first objective from `objectives.loss`. A local recoding is made for a k that they name.

        Args:
            require: Constraints on the point, such as `[KAnonymity() >= 5]`.
            risk: Greatest risk of a person to be found, 1 / k, as in `risk_at_most`.
            best: Choose the best of this measure: the least if lower is better, else the greatest.
            row: Choose this row of `res`, from 0, if it satisfies the constraints.
            knee: Choose the knee of the remaining points.
            weights: Weights by measure: choose the least weighted shortfall.

        Raises:
            TypeError: An argument is of another kind.
            ValueError: An argument is out of range, several choose the point, or no point is left.
        """
        _check_ways(best=best, row=row, knee=knee or None, weights=weights)
        at_risk = [] if risk is None else [risk_at_most(self.table, risk)]
        bounds = [*checked_constraints(require, self.table), *at_risk]
        named = [*self.problem.measured, *(one.objective for one in bounds), *filter(None, [best]), *(weights or [])]
        self.meet(bounds if row is None else ())
        asked = _Asked(self, bounds, measure_names(named))
        left = asked.left()
        if row is not None:
            place = self.place_of(row)
            if place not in left:
                raise ValueError(f"row must be a point with {asked}, got one with {asked.has(place)}")
            return asked.choice(place, "chosen by its row")
        among = asked.among(len(left))
        if knee:
            nearest = self.only(left).knee
            if nearest is None:
                raise ValueError(
                    f"the front must have a knee, and each of its {len(left)} points is the worst in one of the "
                    "objectives; choose by the loss or by weights"
                )
            return asked.choice(int(left[nearest]), f"the knee of {among}")
        keys, said = asked.weighted(left, weights) if weights else asked.best(left, best)
        return asked.choice(int(left[first_of(*keys, self.F[left])]), f"the {said} of {among}")

    def to_frame(self) -> pd.DataFrame:
        """Return the front as a table as of `problem.to_frame`, indexed by row, without `feasible`."""
        return framed(self.problem.described(self.X)).set_axis(pd.Index(self.rows, name="row"))

    def cells(self) -> list[tuple[str, list[str]]]:
        """Return headings and texts of the columns.

        Those of quasi-identifiers come first. A loss has a second column with its share of the possible loss.
        """
        losses, columns = self.losses(), []
        for name, values in self.problem.described(self.X).items():
            columns.append((plain(str(name)), texts_of(values)))
            if name in losses and name not in self.table.quasi_identifiers:
                low, high = losses[name]
                columns.append((f"{plain(str(name))} lost", [percent((v - low) / (high - low)) for v in values]))
        return columns

    def _printed(self) -> list[list[str]]:
        shown = self.sorted().only(np.arange(min(len(self), _PRINTED_POINTS)))
        columns = [("row", [f"{row:,}" for row in shown.rows]), *shown.cells()]
        return [list(line) for line in zip(*([heading, *cells] for heading, cells in columns), strict=True)]

    @property
    def _heading(self) -> str:
        proof = {True: ", proven to be complete", False: ", not proven to be complete", None: ""}[self.certified]
        more = f"; the first {_PRINTED_POINTS}, to_frame() has all" if len(self) > _PRINTED_POINTS else ""
        return f"Front of {counted(len(self), 'point', 'points')}{proof}{more}"

    def __repr__(self) -> str:
        lines = self._printed()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        cells = ("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
        return "\n".join([self._heading, *cells])

    def _repr_html_(self) -> str:
        headings, *rows = self._printed()
        return html_table(self._heading, headings, rows)


def axes_of(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    """Return a loss for x, a privacy for y, and all others."""
    goals = list(dict.fromkeys(objectives))
    x = next((goal for goal in goals if goal.is_loss), next((goal for goal in goals if not goal.maximize), goals[0]))
    others = [goal for goal in goals if goal != x]
    privacy = [goal for goal in others if not goal.is_loss]
    y = [goal for goal in privacy if goal.maximize] or privacy or others
    return tuple(dict.fromkeys([x, *y[:1], *goals]))


def points_of(problem: Any, res: Any) -> Array:
    """Return the (n, n_var) points of a result, individuals, or an array."""
    X = res.X if isinstance(res, Result | Front) else res
    if np.shape(X) == (0,) or (isinstance(res, Result) and X is None):
        X = np.empty((0, problem.n_var), dtype=problem.vtype)
    if np.ndim(X) and isinstance(next(iter(X), None), Individual):
        X = [one.X for one in X]
    if np.ndim(X) == 0:
        raise TypeError(f"res must be what minimize returned or an array of points, got {type(res).__name__}")
    return problem.checked(np.atleast_2d(X))


def risk_at_most(table: Microdata, risk: float) -> Constraint:
    """Return the constraint on k that limits the risk.

    The risk to be found is 1 / k. The EMA and Health Canada ask for 0.09, which needs a k of 12. If the table has a
    person column, k counts persons.

    >>> from pymoo_anon.datasets import make_census
    >>> risk_at_most(make_census(50), 0.09)
    KAnonymity() >= 12
    """
    check_table(table)
    return KAnonymity(person=table.person) >= smallest_k(risk)


def _check_ways(**given: Any) -> None:
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) > 1:
        raise ValueError(f"one of best, row, knee and weights must say which point to take, got {listed(asked)}")
    best, row, weights = given["best"], given["row"], given["weights"]
    if best is not None and not isinstance(best, Objective):
        raise TypeError(f"best must be an Objective such as GeneralLossMetric(), got {best!r}")
    if row is not None and not is_whole(row):
        raise TypeError(f"row must be a whole number, got {row!r}")
    if weights is None:
        return
    if not isinstance(weights, Mapping) or not all(isinstance(measure, Objective) for measure in weights):
        raise TypeError(f"weights must be a dict of Objective and number, got {weights!r}")
    if wrong := {repr(measure): weight for measure, weight in weights.items() if not is_number(weight)}:
        raise TypeError(f"weights must be numbers, got {wrong}")
    if not weights or not all(0 < weight <= 1e300 for weight in weights.values()):
        raise ValueError(f"weights must be positive numbers of at most 1e300, at least one, got {dict(weights)}")


@dataclass(frozen=True)
class _Asked:
    """Conditions of a choice, with names of their measures."""

    front: Front
    bounds: Sequence[Constraint]
    names: Mapping[Objective, str]

    def __str__(self) -> str:
        return listed(bound(one, self.names[one.objective]) for one in self.bounds)

    def left(self) -> Ints:
        front, bounds = self.front, self.bounds
        if len(front) == 0:
            if front._n_given == 0:
                raise ValueError("res must hold at least one point, got none")
            raise ValueError(
                f"res must hold a point that satisfies all constraints of its problem, got {front._n_given} points "
                "and none that does"
            )
        if not bounds:
            return np.arange(len(front))
        left = np.flatnonzero(np.all([one.keeps(front.values(one.objective)) for one in bounds], axis=0))
        if len(left):
            return left
        violations = np.column_stack([one.violation(front.values(one.objective)) for one in bounds])
        # The nearest misses the bounds by the least sum, each from 0 to 1 for the point that misses it by most.
        missed = np.maximum(violations, 0)
        finite = np.where(np.isfinite(missed), missed, 0).max(axis=0)
        relative = np.where(np.isfinite(missed), missed / np.where(finite > 0, finite, 1), 2)
        has = self.has(first_of(relative.sum(axis=1), front.F))
        raise ValueError(f"no point of the front's {len(front)}{front._which} has {self}; the nearest has {has}")

    def among(self, n_left: int) -> str:
        n, which = len(self.front), self.front._which
        if not self.bounds:
            return f"all {n} points{which}" if n > 1 else f"the front's only point{which}"
        return f"{f'the {n_left} points' if n_left > 1 else 'the only point'} with {self}, of {n}{which}"

    def best(self, left: Ints, measure: Objective | None) -> tuple[list[Floats], str]:
        if measure is None:
            # The best of a privacy such as t would generalize everything.
            measure = next((goal for goal in self.front.objectives if goal.is_loss), None)
        if measure is None:
            raise ValueError(
                "best, row, knee or weights must say which point to take, as no objective is one of objectives.loss, "
                f"got {listed(objective.name for objective in self.front.objectives)}"
            )
        costs = self.front.values(measure)[left] * (-1.0 if measure.maximize else 1.0)
        return [costs], f"{'greatest' if measure.maximize else 'least'} {self.names[measure]}"

    def weighted(self, left: Ints, weights: Mapping[Objective, float]) -> tuple[list[Floats], str]:
        values = np.column_stack([self.front.values(measure)[left] for measure in weights])
        short = shortfalls(values, [measure.maximize for measure in weights]) * list(map(float, weights.values()))
        said = listed(f"{self.names[measure]} = {number(float(weight))}" for measure, weight in weights.items())
        # Of equal greatest shortfalls the least sum decides.
        return [short.max(axis=1), short.sum(axis=1)], f"least weighted shortfall by {said}"

    def choice(self, place: int, reason: str) -> Choice:
        front, values = self.front, {}
        for measure, name in self.names.items():
            value = float(front.values(measure)[place])
            values[name] = int(value) if measure.whole and isfinite(value) else value
        return Choice(
            int(front.rows[place]),
            tuple(front.X[place].tolist()),
            values,
            int(front.n_suppressed[place]),
            reason,
            tuple(dict.fromkeys(self.bounds)),
            front.losses(self.names),
            front.problem,
        )

    def has(self, place: int) -> str:
        asked = dict.fromkeys([*(one.objective for one in self.bounds), *self.front.objectives])
        values = {self.names[one]: float(self.front.values(one)[place]) for one in asked}
        return _in_words(values, self.front.losses(self.names))


def _in_words(values: Mapping[str, float], losses: Mapping[str, tuple[float, float]]) -> str:
    return listed(with_share(f"{name} = {number(own)}", own, losses.get(name)) for name, own in values.items())
