"""The choice of a point and its consequences: levels, suppression, utility, next steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymoo_anon._messages import label_words, listed, number, percent, plain, share, unit_of_rows
from pymoo_anon.comparison.comparing import gains, worst_off
from pymoo_anon.comparison.properties import ClassSize, PropertyVector, TupleUtility
from pymoo_anon.comparison.utility import CountQueries
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.loss.cells import GeneralLossMetric, NormalizedWeightedPenalty
from pymoo_anon.objectives.privacy import KAnonymity, MarketerRisk
from pymoo_anon.problems.arguments import column_name
from pymoo_anon.problems.base import AnonymizationProblem, check_kind
from pymoo_anon.problems.front import Choice
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.local_recoding import LocalRecodingProblem, LowerBound
from pymoo_anon.problems.tradeoffs import Step
from pymoo_anon.publishing.codebook import rows_by_label
from pymoo_anon.table.domain_values import ROOT, Name
from pymoo_anon.table.generalization import AtMost, Constraint, Decoded, LocalGeneralization, Suppression, Violating
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Array, Floats

# So many labels are examples enough.
_LABELS = 3

# Most groups of an attribute by which gains are told, the least share of the rows in a group, and the least difference
# between the gains of two groups.
_GROUPS = 12
_SHARE = 0.02
_DIFFERENCE = 0.05

_SIZE, _UTILITY = ClassSize(), TupleUtility()


@dataclass(frozen=True)
class Explanation:
    """Consequences of a choice in words.

    Attributes:
        levels: A line for each quasi-identifier.
        suppressed: How many rows are suppressed.
        utility: How far off count queries are, with the choice and with the next better points.
        steps: What the next better points of the front cost, at most one for each objective.
        people: Who is worst off, and for each step a line or two on who would gain and who would lose.
        local: Of a local recoding, what levels of whole columns lose and risk beside it, and what to ask for beside k;
            nothing of others.
        wishes: A line for each wish by attribute, as `wishes` has them.
    """

    levels: tuple[str, ...]
    suppressed: str
    utility: tuple[str, ...]
    steps: tuple[Step, ...]
    people: tuple[str, ...]
    local: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = {
            "Levels": self.levels,
            "Suppressed": (self.suppressed,),
            "Still good for": self.utility,
            "The next better ones": tuple(map(str, self.steps)) or ("No point is better in anything.",),
            "The people": self.people,
            **({"Local and full-domain recoding": self.local} if self.local else {}),
            **({"Asked of columns": self.wishes} if self.wishes else {}),
        }
        return "\n".join(
            line for title, lines in parts.items() for line in (f"{title}:", *(f"  {each}" for each in lines))
        )


def explain(problem: AnonymizationProblem, res: Any, choice: Choice, *, suppressed: str = "mark") -> Explanation:
    """Explain a choice.

    Args:
        problem: The problem.
        res: What `minimize` returned, or an (n, n_var) array of points; what the choice was made from, or a Front.
        choice: Chosen point, from `Front.choose`.
        suppressed: What becomes of suppressed rows, "mark" or "drop", as `release` takes it.

    Raises:
        ValueError: The choice is none of the points, or `suppressed` is neither.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
    >>> problem = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()], suppression=0.05)
    >>> front = problem.pareto_set()
    >>> explanation = explain(problem, front, problem.front(front).choose(require=[KAnonymity() >= 5]))
    >>> explanation.levels[5], str(explanation.steps[0])
    ('sex: level 0 of 1, 2 values such as Male and Female', 'k = 6 costs 6.425 of GLM (0.4 %)')
    """
    check_kind(problem)
    front = problem.front(res)
    steps, made = front.steps(front.place_of(choice)), problem.decode(np.array(choice.x))
    rows = dict.fromkeys([choice.row, *(step.row for step in steps)])
    classes = {row: problem.equivalence_classes(front.X[front.place_of(row)]) for row in rows}
    own, local = classes[choice.row], []
    if isinstance(made, LocalGeneralization):
        said, _ = alternatives(problem, np.array(choice.x), own)
        local = [said, *advice(problem, choice.requirements)]
    return Explanation(
        tuple(_level_lines(problem, choice, made, own)),
        share(choice.n_suppressed, problem.table.n_rows, unit_of_rows(problem.table.person)),
        tuple(_utility(problem.table, classes, steps, suppressed)),
        tuple(steps),
        tuple(_people(problem, classes, choice, steps, suppressed)),
        tuple(local),
        tuple(wishes(problem)),
    )


def wishes(problem: AnonymizationProblem) -> list[str]:
    """Return a line for each wish by attribute: its levels and its weight.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> wishes(LatticeProblem(make_census(200), [GeneralLossMetric(weights={"sex": 2})], levels={"age": (1, 3)}))
    ['age: from level 1 to 3, of 0 to 6', 'GLM: sex counts 2, others 1']
    """
    said, lengths = [], {name: hierarchy.length for name, hierarchy in problem.table.quasi_identifiers.items()}
    if isinstance(problem, LatticeProblem):
        asked = problem.levels.items()
        said = [f"{name}: from level {least} to {most}, of 0 to {lengths[name]}" for name, (least, most) in asked]
    for measure in problem.measured:
        if isinstance(measure, GeneralLossMetric | NormalizedWeightedPenalty) and measure.weights is not None:
            own = zip(lengths, measure.weights_of(list(lengths)).tolist(), strict=True)
            counts = [f"{name} counts {number(weight)}" for name, weight in own if weight != 1]
            others = ", others 1" if len(counts) < len(lengths) else ""
            said.append(f"{problem.names[measure]}: {listed(counts)}{others}")
    return [plain(one) for one in said]


def _level_lines(
    problem: AnonymizationProblem, choice: Choice, made: Decoded, classes: EquivalenceClasses
) -> list[str]:
    """Return a line for each quasi-identifier: its levels and its most frequent labels."""
    by_level = shares_by_level(made, classes) if isinstance(made, LocalGeneralization) else {}
    lines, by_label = [], rows_by_label(made, classes)
    for j, (name, hierarchy) in enumerate(problem.table.quasi_identifiers.items()):
        rows = by_label[name]
        held = int(np.count_nonzero(rows))
        # Equals stand in the order of the hierarchy.
        first = np.argsort(-rows, kind="stable")[: min(_LABELS, held)]
        shown = listed(label_words(made.labels[name][place]) for place in first) or ROOT
        if by_level:
            shares = listed(f"{percent(part)} at level {i}" for i, part in enumerate(by_level[name].tolist()) if part)
            level, kind = f"{shares} of {hierarchy.length}; ", "labels, most often"
        else:
            level = f"level {choice.x[j]} of {hierarchy.length}, " if isinstance(problem, LatticeProblem) else ""
            are_values = held == np.count_nonzero(problem.table.tuples.totals(name))
            kind = f"{'values' if are_values else 'groups'} such as"
        lines.append(plain(f"{name}: {level}{f'{held:,} {kind}' if held > 1 else 'everybody has'} {shown}"))
    return lines


def _utility(
    table: Microdata, classes: Mapping[Any, EquivalenceClasses], steps: Sequence[Step], suppressed: str
) -> list[str]:
    """Return the errors of counts at the choice and at the next steps."""
    queries = CountQueries(table)
    unit = unit_of_rows(table.person)
    asked = f"Of {queries.n:,} random counts, such as that of {unit} with {queries.words(0)},"
    lines: list[str] = []
    for row, *errors in queries.summary(classes, suppressed).itertuples():
        half, most = map(percent, errors)
        of_what = f"With {_better(steps, row)}," if lines else asked
        lines.append(f"{of_what} half are at most {half} off, and nine in ten at most {most}.")
    return lines


def _better(steps: Sequence[Step], row: int) -> str:
    return listed(f"{step.better_in} = {number(step.values[step.better_in])}" for step in steps if step.row == row)


def _people(
    problem: AnonymizationProblem,
    classes: Mapping[Any, EquivalenceClasses],
    choice: Choice,
    steps: Sequence[Step],
    suppressed: str,
) -> list[str]:
    """Name the people worst off, winners and losers."""
    table = problem.table
    worst = worst_off(table, problem.decode(np.array(choice.x)), _SIZE, problem.suppression, problem.constraints)
    lines = [_worst_off(table, worst, choice, suppressed)]
    (_, chosen), *others = ((row, [_SIZE.measure(own), _UTILITY.measure(own)]) for row, own in classes.items())
    for row, own in others:
        lines.append(_verdict(table, chosen, own, _better(steps, row)))
        lines += [*filter(None, [_who(table, chosen[0], own[0])])]
    return lines


def _worst_off(table: Microdata, worst: pd.DataFrame, choice: Choice, suppressed: str) -> str:
    n, classes, size = int(worst["tuples"].sum()), len(worst), int(worst["size"].iloc[0])
    told = share(n, table.n_rows, unit_of_rows(table.person))
    if n == choice.n_suppressed and all(label == ROOT for label in worst.index[0]):
        fate = "left out" if suppressed == "drop" else "a class of their own"
        return f"Worst off are the suppressed, {told}, {fate}."
    where = f"a class of {size:,}" if classes == 1 else f"{classes:,} classes of {size:,}"
    return f"Worst off are {told}, in {where}."


def _verdict(table: Microdata, chosen: list[PropertyVector], other: list[PropertyVector], better: str) -> str:
    """Count winners and losers in class size and in kept information."""
    size, kept = (after.values - before.values for before, after in zip(chosen, other, strict=True))
    (larger, smaller), (more, less) = (
        (int(table.tuples.counts[own > 0].sum()), int(table.tuples.counts[own < 0].sum())) for own in (size, kept)
    )
    mean = float(size @ table.tuples.counts) / table.n_rows
    those = share(larger, table.n_rows, unit_of_rows(table.person))
    return (
        f"With {better}, {those} would stand in a larger class and {smaller:,} in a smaller one, of "
        f"{number(np.round(abs(mean), 1))} {'more' if mean >= 0 else 'fewer'} on average; {more:,} would keep more of "
        f"their information and {less:,} less."
    )


def _who(table: Microdata, chosen: PropertyVector, other: PropertyVector) -> str:
    """Name the attribute that divides winners and losers most, if any."""
    best: tuple[float, str] = (_DIFFERENCE, "")
    for name, hierarchy in table.quasi_identifiers.items():
        few = [level for level in range(hierarchy.length + 1) if 2 <= hierarchy.n_groups[level] <= _GROUPS]
        if not few:
            continue
        people = gains(table, other, chosen, name, few[0])
        people = people[people["tuples"] >= _SHARE * table.n_rows]
        shares = people["better"] / people["tuples"]
        if len(shares) > 1 and shares.max() - shares.min() > best[0]:
            fewest, most = (
                f"{100 * shares.iloc[place]:.0f} % of {label_words(people.index[place])}"
                for place in (int(np.argmin(shares)), int(np.argmax(shares)))
            )
            text = plain(f"By {name}, from {fewest} to {most} would stand in a larger class.")
            best = (float(shares.max() - shares.min()), text)
    return best[1]


# --- facts of a local recoding ----------------------------------------------------------------------------------------

# A local recoding suppresses nothing. Levels of whole columns beside it may suppress this share of the rows.
_MOST_SUPPRESSED = 0.01
# Budget for the best of these levels, in nodes. On lattices of a few columns it is enough to prove them the best.
_MOST_NODES = 2000


def local_facts(
    problem: AnonymizationProblem,
    choice: Choice,
    made: LocalGeneralization,
    classes: EquivalenceClasses,
    bound: LowerBound | None,
) -> dict[str, Any]:
    """Return target, classes and levels of a local recoding."""
    told: dict[str, Any] = dict.fromkeys(("method", "structure", "target", "price")) | {"weights": []}
    if isinstance(problem, LocalRecodingProblem):
        target = problem.target(np.array(choice.x))
        told = {"method": problem.method, "structure": problem.structure, "target": target.k, "price": target.price}
        told["weights"] = [float(weight) for weight in target.weights]
    return {
        "refined": not isinstance(problem, LocalRecodingProblem),
        **told,
        "n_classes": int(classes.n_released[0]),
        "mean_risk": float(MarketerRisk().evaluate(classes)[0]),
        "cells": [
            {"name": column_name(name), "shares": own.tolist()} for name, own in shares_by_level(made, classes).items()
        ],
        "bound": None if bound is None else {"least": bound.value, "gap": bound.share, "passes": bound.n_passes},
    }


def bound_words(bound: Mapping[str, Any] | None) -> str:
    """State the certified gap of a local recoding."""
    if bound is None:
        return "The gap to the least loss of all local recodings was not computed."
    return (
        "No local recoding of this table that meets the same requirements and suppresses nothing loses less than this "
        f"by more than {percent(bound['gap'], is_limit=True)}, proven in {bound['passes']:,} passes."
    )


def shares_by_level(made: LocalGeneralization, classes: EquivalenceClasses) -> dict[Name, Floats]:
    """Return the share of each quasi-identifier's cells at each level."""
    shares = {}
    for name, rows in rows_by_label(made, classes).items():
        hierarchy = made.quasi_identifiers[name]
        shares[name] = np.bincount(hierarchy.nodes.level, rows, hierarchy.length + 1) / max(rows.sum(), 1)
    return shares


class Way(NamedTuple):
    """A way to recode a table, in figures."""

    how: str  # In words
    k: int  # The smallest class
    mean_risk: float  # The marketer's risk, from 0 to 1
    loss: float  # Loss as a share, from 0 to 1
    classes: EquivalenceClasses  # Classes of the table


def _told(own: Way, columns: Way, proven: bool, equal_risk: Way | None) -> str:
    least = "" if proven else ", the best that were found,"
    times = round(own.mean_risk / columns.mean_risk, 1)
    said = (
        f"At k = {own.k:,} levels of whole columns{least} lose {percent(columns.loss)}, at a mean risk of "
        f"{percent(columns.mean_risk)}. This local recoding loses {percent(own.loss)}, at a mean risk of "
        f"{percent(own.mean_risk)}: {f'{number(times)} times ' * (times != 1)}as much."
    )
    if equal_risk is None:
        return said
    return (
        f"{said} At a mean risk of {percent(equal_risk.mean_risk)} a local recoding loses {percent(equal_risk.loss)}, "
        f"with k = {equal_risk.k:,}."
    )


def alternatives(problem: AnonymizationProblem, x: Array, classes: EquivalenceClasses) -> tuple[str, list[Way]]:
    """Compare a local recoding with full-domain ones, in words and figures.

    First comes the recoding, then the best levels of whole columns at equal k, and a local recoding of at most their
    mean risk, where there are such. All keep the constraints. Levels may suppress what the problem may, or 1 %.
    """
    # No other explanation needs a search.
    from pymoo.optimize import minimize

    from pymoo_anon.algorithms.branch_and_bound import BranchAndBound

    loss = next((one for one in problem.objectives if isinstance(one, GeneralLossMetric)), GeneralLossMetric())
    most = loss.value_range(problem.table.tuples)[1]

    def way(how: str, found: EquivalenceClasses) -> Way:
        k, risk, lost = (float(one.evaluate(found)[0]) for one in (KAnonymity(), MarketerRisk(), loss))
        return Way(how, int(k), risk, lost / most, found)

    own = way("this release, each class with levels of its own", classes)
    required = [KAnonymity() >= own.k, *problem.constraints]
    rule: Suppression = AtMost(_MOST_SUPPRESSED)
    if isinstance(problem, LatticeProblem):
        rule = problem.suppression
    elif any(one.depends_on_kept for one in required):
        rule = Violating(_MOST_SUPPRESSED)
    whole = LatticeProblem(problem.table, [loss], rule, required)
    res = None
    # A constraint of somebody's own states no bounds.
    with suppress(ValueError):
        res = minimize(whole, BranchAndBound(), ("n_eval", _MOST_NODES), seed=1)
    if res is None or res.X is None:
        return f"No levels of whole columns were found that meet the same requirements with k = {own.k:,}.", [own]
    limit = rule.limit_of(problem.table.n_rows) or 0
    columns = way(f"levels of whole columns, at most {limit:,} rows suppressed", whole.equivalence_classes(res.X))
    if not isinstance(problem, LocalRecodingProblem):
        problem = LocalRecodingProblem(problem.table, [KAnonymity(), loss], problem.constraints)
        x = problem.x_of(own.k)
    equal = _of_mean_risk(problem, x, columns.mean_risk) if own.mean_risk > columns.mean_risk else None
    last = None if equal is None else way("a local recoding of at most the same mean risk", equal)
    said = _told(own, columns, bool(res.algorithm.certified), last)
    return said, [own, columns, *([] if last is None else [last])]


def _of_mean_risk(problem: LocalRecodingProblem, x: Array, risk: float) -> EquivalenceClasses | None:
    """Return the classes at the least price within a mean risk, or None."""
    prices, low, high, found = np.array(problem.prices), -1, len(problem.prices), None
    # Classes have about as many rows as a price has cells: merging two of them costs a row about one cell.
    price = 1 / risk
    # The price at `low` is too low, and `found` is of that at `high`.
    while low + 1 < high:
        point = np.array(x)
        point[1] = place = min(max(int(np.searchsorted(prices, price)), low + 1), high - 1)
        classes = problem.equivalence_classes(point)
        reached = MarketerRisk().evaluate(classes)[0]
        if reached <= risk:
            high, found = place, classes
        else:
            low = place
        # A mean class grows about as its price does.
        price = prices[place] * reached / risk
    return found


def advice(problem: AnonymizationProblem, asked: Sequence[Constraint] = ()) -> list[str]:
    """Advise constraints beside k, since small classes agree more often."""
    sensitive = problem.table.sensitive
    if not sensitive:
        return [
            "No column is sensitive, so nothing but identity is protected. Name the sensitive ones, and require l or t."
        ]
    bound = {column for one in (*problem.constraints, *asked) for column in one.reads(sensitive)}
    open_ = [plain(str(name)) for name in sensitive if name not in bound]
    if not open_:
        return []
    return [
        f"k does not protect {listed(open_)}, and small classes share one value of it more often: require l or t of "
        f"{'it' if len(open_) == 1 else 'them'}, too."
    ]
