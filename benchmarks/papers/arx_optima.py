"""Optima on ARX's hierarchies of Adult, checked by an exact plain program.

    python -m benchmarks.papers.arx_optima

The table is ARX's: Adult's 30,162 complete rows, nine columns, the hierarchies of `tests/data/arx`. The rule is ARX's,
too: `Violating`. The plain program groups the rows of every node with numpy, decides every limit in whole numbers, and
keeps the least value of the nodes that lose no more rows than the limit. Ten minutes; needs Adult.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pymoo.optimize import minimize

from benchmarks import record
from pymoo_anon import objectives
from pymoo_anon.algorithms import BranchAndBound, ExhaustiveSearch
from pymoo_anon.datasets import fetch_adult_frame
from pymoo_anon.objectives.bounds import RisingSum
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import AtMost, Hierarchy, Microdata, Violating

FOLDER = Path(__file__).parents[2] / "tests" / "data" / "arx"
#: ARX's columns in the order of its published nodes.
NINE = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)
COLUMN = "occupation"
EIGHT = tuple(name for name in NINE if name != COLUMN)
C = 4
AT_LEAST = ("k", "l", "entropy l", "recursive l")


class Case(NamedTuple):
    """One optimum to be found."""

    bounds: Mapping[str, float]  # Per measure its bound
    limit: float  # The share of rows that may be suppressed
    loss: str = "GLM"  # What is to be least
    names: tuple[str, ...] = EIGHT  # The quasi-identifiers; all but the sensitive column, or all nine
    # ARX's value and node, an infinite value where there is none, or None
    published: tuple[float, tuple[int, ...]] | None = None

    def __str__(self) -> str:
        return ", ".join(f"{name} {'≥' if name in AT_LEAST else '≤'} {bound}" for name, bound in self.bounds.items())


_KNOWN = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_LIMITS = [0, 0.01, 0.05]


def _published(bounds: dict[str, float], limit: float, loss: str, columns: int, value: float | None, node: Any) -> Case:
    """Return what the tests of ARX expect of Adult (TestAnonymizationKAnonymity, ...LDiversity, ...TCloseness, ...).

    Those where all rows may be suppressed are left out. "All kept", as if nothing were suppressed, are its monotonic
    variants.
    """
    own = (np.inf if value is None else value, tuple(node))
    return Case(bounds, limit, loss, NINE if columns == len(NINE) else EIGHT, own)


#: All optima: ARX's own, and the least general loss and others of each set of bounds and each limit.
CASES = [
    *(_published(**one) for one in _KNOWN["published"]),
    *(Case(bounds, limit) for bounds, limit in product(_KNOWN["bounds"], _LIMITS)),
    *(Case({"k": k}, limit, "GLM", NINE) for k, limit in product([2, 5, 10], _LIMITS)),
    *(Case({"k": 5, "l": 3}, limit, loss) for loss, limit in product(["DM", "NUE"], _LIMITS)),
]


class _AllKept(objectives.Objective):
    """Another objective, as if nothing were suppressed."""

    maximize = False
    bounding = RisingSum

    def __init__(self, of: objectives.Objective) -> None:
        self.of, self.name = of, f"{of.name}, all kept"

    def evaluate(self, classes):
        return self.of.evaluate(replace(classes, kept=np.ones(len(classes.kept), dtype=bool)))


class _EntropyOfArx(objectives.Objective):
    """ARX's non-uniform entropy, with the additional loss of suppressed rows."""

    name, maximize, bounding = "NUE of ARX", False, RisingSum

    def evaluate_one(self, classes):
        tuples, gone = classes.tuples, ~classes.kept
        value = float(_AllKept(objectives.NonUniformEntropy()).evaluate(classes)[0])
        for j, offset in enumerate(tuples.offsets[:-1]):
            held = np.bincount(
                classes.maps[0, offset + tuples.codes[classes.representatives[gone], j]], classes.sizes[gone]
            )
            held = held[held > 0]
            value -= (held * np.log2(held / max(held.sum(), 1))).sum()
        return value


class _GeometricLoss(objectives.Objective):
    """ARX's default loss, the geometric mean over the columns of 1 + loss, less 1."""

    name, maximize, bounding = "geometric loss", False, RisingSum

    def evaluate_one(self, classes):
        columns = np.eye(classes.tuples.codes.shape[1])
        of_columns = [float(objectives.GeneralLossMetric(weights).evaluate(classes)[0]) for weights in columns]
        return prod(1 + loss / classes.n_rows for loss in of_columns) ** (1 / len(of_columns)) - 1


LOSSES = {
    "GLM": objectives.GeneralLossMetric(),
    "NUE": objectives.NonUniformEntropy(),
    "DM": objectives.Discernibility(),
    "NUE, all kept": _AllKept(objectives.NonUniformEntropy()),
    "DM, all kept": _AllKept(objectives.Discernibility()),
    "NUE of ARX": _EntropyOfArx(),
    "geometric loss": _GeometricLoss(),
}


def hierarchies() -> dict[str, Hierarchy]:
    return {name: Hierarchy.from_csv(str(FOLDER / f"{name}.csv")) for name in NINE}


MEASURES = {
    "k": objectives.KAnonymity(),
    "l": objectives.DistinctLDiversity(COLUMN),
    "entropy l": objectives.EntropyLDiversity(COLUMN),
    "recursive l": objectives.RecursiveCLDiversity(COLUMN, C),
    "t": objectives.TCloseness(COLUMN),
    "t of groups": objectives.TCloseness(COLUMN, hierarchies()[COLUMN]),
    "alpha": objectives.AlphaDeassociation(COLUMN),
    "beta": objectives.BasicBetaLikeness(COLUMN),
    "enhanced beta": objectives.EnhancedBetaLikeness(COLUMN),
}


class Plain:
    """The rows, and every node of the lattice of some columns."""

    def __init__(self, frame: pd.DataFrame, names: tuple[str, ...]) -> None:
        own = hierarchies()
        self.names, self.n_rows = names, len(frame)
        self.hierarchies = {name: own[name] for name in names}
        self.codes = {name: own[name].encode(frame[name].astype(str).tolist()) for name in names}
        self.marginals = {name: np.unique(self.codes[name], return_counts=True)[1] for name in names}
        self.domain_sizes = [own[name].n_values for name in names]
        self.sensitive = own[COLUMN].encode(frame[COLUMN].tolist())
        self.totals = np.bincount(self.sensitive)
        joins = own[COLUMN].groups[1]
        self.joins = (joins[:, np.newaxis] == np.arange(joins.max() + 1)).astype(np.int64)

    def least(self, cases: list[Case]) -> list[Any]:
        """Return the least value of every case, or infinity."""
        best = [np.inf] * len(cases)
        for node in product(*(range(self.hierarchies[name].length + 1) for name in self.names)):
            classes = Node(self, node)
            said = {bound: classes.keeps(*bound) for case in cases for bound in case.bounds.items()}
            for i, case in enumerate(cases):
                kept = np.logical_and.reduce([said[bound] for bound in case.bounds.items()])
                if classes.sizes[~kept].sum() <= Fraction(str(case.limit)) * self.n_rows:
                    best[i] = min(best[i], classes.value(case.loss, kept))
        return best


class Node:
    """The classes of one node, grouped row by row with numpy."""

    def __init__(self, plain: Plain, node: tuple[int, ...]) -> None:
        self.plain = plain
        key = np.zeros(plain.n_rows, dtype=np.int64)
        for name, level in zip(plain.names, node, strict=True):
            groups = plain.hierarchies[name].groups[level]
            key = key * (groups.max() + 1) + groups[plain.codes[name]]
        _, first, of_row = np.unique(key, return_index=True, return_inverse=True)
        n_values = len(plain.totals)
        counts = np.bincount(of_row * n_values + plain.sensitive, minlength=len(first) * n_values)
        # (n_classes, n_values): how often each class holds each sensitive value.
        self.counts = counts.reshape(-1, n_values)
        self.sizes = self.counts.sum(axis=1)
        # Per column and class the group, and of each group the domain values less one and the rows of the table.
        self.columns = []
        for name, level in zip(plain.names, node, strict=True):
            groups = plain.hierarchies[name].groups[level]
            extents, held = np.bincount(groups) - 1, np.bincount(groups[plain.codes[name]], minlength=groups.max() + 1)
            self.columns.append((groups[plain.codes[name][first]], extents, held))

    def keeps(self, name: str, bound: float) -> np.ndarray:
        """(n_classes,) Boolean array: the classes that keep a bound, decided in whole numbers."""
        counts, sizes, totals, n = self.counts, self.sizes, self.plain.totals, self.plain.n_rows
        limit = Fraction(str(bound))
        a, b = limit.numerator, limit.denominator
        if name == "k":
            return sizes >= bound
        if name == "l":
            return (counts > 0).sum(axis=1) >= bound
        if name == "recursive l":
            descending = -np.sort(-counts, axis=1)
            return descending[:, 0] < C * descending[:, int(bound) - 1 :].sum(axis=1)
        if name == "alpha":
            return counts.max(axis=1) * b <= a * sizes
        if name == "t":
            return np.abs(counts * n - np.outer(sizes, totals)).sum(axis=1) * b <= 2 * a * sizes * n
        if name == "t of groups":
            extra = counts * n - np.outer(sizes, totals)
            moved = np.abs(extra).sum(axis=1) + np.abs(extra @ self.plain.joins).sum(axis=1)
            return moved * b <= 2 * 2 * a * sizes * n
        if name == "beta":
            return (counts * n * b <= (a + b) * np.outer(sizes, totals)).all(axis=1)
        if name == "enhanced beta":
            # The limit is a logarithm, which no gain attains.
            gains = counts * n / np.outer(sizes, totals) - 1
            limits = np.minimum(float(bound), -np.log(totals / n))
            assert np.abs(gains - limits).min() > 1e-9
            return (gains <= limits).all(axis=1)
        assert name == "entropy l"
        shares = counts / sizes[:, np.newaxis]
        value = np.exp(-(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1))
        keeps = value >= bound
        # exp(entropy) is the n-th root of n^n over the product of all c^c.
        for c in np.flatnonzero(np.abs(value - bound) < 1e-9):
            own = self.counts[c].tolist()
            keeps[c] = sum(own) ** sum(own) * b ** sum(own) >= a ** sum(own) * prod(count**count for count in own)
        return keeps

    def value(self, loss: str, kept: np.ndarray) -> Any:
        """Return the loss with these classes kept, as a fraction if possible."""
        n, rows = self.plain.n_rows, self.sizes * kept
        gone = n - int(rows.sum())
        if loss == "DM":
            return Fraction(int((rows**2).sum()) + n * gone)
        if loss == "DM, all kept":
            return Fraction(int((self.sizes**2).sum()))
        if loss.startswith("NUE"):
            return self._bits(loss, kept)
        own = [
            Fraction(int((rows * extents[groups]).sum()), size - 1) + gone
            for (groups, extents, _), size in zip(self.columns, self.plain.domain_sizes, strict=True)
        ]
        if loss == "GLM":
            return sum(own, Fraction(0))
        return prod(float(1 + loss / n) for loss in own) ** (1 / len(own)) - 1

    def _bits(self, loss: str, kept: np.ndarray) -> float:
        total, all_kept = 0.0, loss != "NUE"
        n = self.plain.n_rows
        for (groups, _, held), name in zip(self.columns, self.plain.names, strict=True):
            rows = self.sizes * (kept | all_kept)
            own = self.plain.marginals[name]
            total += (rows * np.log2(held[groups])).sum() + (n - rows.sum()) * np.log2(n)
            total -= (own * np.log2(own)).sum()
            if loss == "NUE of ARX":
                apart = np.bincount(groups, self.sizes * ~kept)
                apart = apart[apart > 0]
                total -= (apart * np.log2(apart / max(apart.sum(), 1))).sum()
        return float(total)


def problem_of(frame: pd.DataFrame, case: Case, rule: Any = Violating) -> LatticeProblem:
    own = hierarchies()
    sensitive = () if COLUMN in case.names else (COLUMN,)
    table = Microdata.from_frame(frame, {name: own[name] for name in case.names}, sensitive)
    constraints = [MEASURES[n] >= b if n in AT_LEAST else MEASURES[n] <= b for n, b in case.bounds.items()]
    return LatticeProblem(table, [LOSSES[case.loss]], rule(case.limit), constraints)


def found(problem: LatticeProblem, algorithm: Any) -> tuple[float, Any]:
    """Return the optimum of an algorithm, or infinity, and the result."""
    res = minimize(problem, algorithm, seed=1)
    assert res.algorithm.certified
    return (np.inf if res.F is None else res.F.item()), res


def same(value: float, exact: Any) -> bool:
    """Return whether a value is exact, up to rounding of logarithms and roots."""
    if isinstance(exact, Fraction):
        return value == exact.numerator / exact.denominator
    return value == exact or bool(np.isclose(value, exact, rtol=1e-12, atol=0))


def main() -> None:
    frame = fetch_adult_frame()
    plain = {}
    for names in (EIGHT, NINE):
        own = [i for i, case in enumerate(CASES) if case.names == names]
        plain |= dict(zip(own, Plain(frame, names).least([CASES[i] for i in own]), strict=True))
    figures = []
    for i, case in enumerate(CASES):
        problem = problem_of(frame, case)
        (whole, _), (proven, res) = (found(problem, one()) for one in (ExhaustiveSearch, BranchAndBound))
        node = () if res.X is None else tuple(np.atleast_2d(res.X)[0].tolist())
        gone = 0 if res.X is None else int(problem.equivalence_classes(res.X).n_suppressed[0])
        smallest_first = found(problem_of(frame, case, AtMost), BranchAndBound())[0] if case.loss == "GLM" else None
        agree = same(whole, plain[i]) and whole == proven
        of_arx = case.published is None or bool(np.isclose(case.published[0], float(plain[i]), rtol=1e-9, atol=0))
        figures.append(
            {
                "columns": len(case.names),
                "constraints": str(case),
                "limit": case.limit,
                "loss": case.loss,
                "plain": str(plain[i]),
                "exhaustive": whole,
                "certified": proven,
                "node": node,
                "suppressed": gone,
                "evaluated": res.algorithm.n_evaluated,
                "smallest_first": smallest_first,
                "published": case.published,
                "agree": agree,
                "as_published": of_arx,
            }
        )
        print(figures[-1], flush=True)
    _write(figures)


def shown(figure: dict[str, Any], value: Any) -> str:
    """Write a value, the general loss by row."""
    if value is None:
        return "–"
    number = np.inf if value == "inf" else float(Fraction(value))
    return f"{number / (30162 if figure['loss'] == 'GLM' else 1):.9g}" if np.isfinite(number) else "none"


def as_published(figure: dict[str, Any]) -> str:
    if figure["published"] is None:
        return ""
    return "yes" if figure["as_published"] else shown(figure, figure["published"][0])


COLUMNS = {
    **{name: f"{{{name}}}" for name in ("columns", "constraints")},
    "limit": "{limit:.0%}",
    "loss": "{loss}",
    "least": lambda figure: shown(figure, figure["plain"]),
    "agree": lambda figure: "both" if figure["agree"] else "no",
    "as ARX's tests": as_published,
    "suppressed": "{suppressed:,}",
    "nodes to the proof": "{evaluated:,}",
    "smallest first": lambda figure: shown(figure, figure["smallest_first"]),
}


def _write(figures: list[dict[str, Any]]) -> None:
    published = [figure["as_published"] for figure in figures if figure["published"]]
    record.write(
        "arx_optima",
        {"machine": record.machine(), "cases": figures},
        n_agree=sum(figure["agree"] for figure in figures),
        n_cases=len(figures),
        n_published=sum(published),
        n_arx=len(published),
        cases=record.table(COLUMNS, figures),
    )


if __name__ == "__main__":
    main()
