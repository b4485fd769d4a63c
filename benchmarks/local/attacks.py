"""Attacks on local recodings of Adult that use the known method: minimality and refinement.

    python -m benchmarks.local.attacks

Minimality (Wong et al. 2007): who knows all quasi-identifiers asks why a class was not divided, although its numbers of
rows allow it, and reckons with the arrangements of its sensitive values that explain it. Refinement (after Chhillar et
al. 2025): who knows nothing but the release asks which original values a cell can have had, by a linear program of what
holds for every recoding of this kind. A minute of a processor; needs Adult.
"""

import time
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

from benchmarks import record
from benchmarks.tables import cells
from pymoo_anon.datasets import fetch_adult, fetch_adult_frame
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LocalRecodingProblem
from pymoo_anon.recoding import Requirements, Trees
from pymoo_anon.recoding.bottom_up import bottom_up
from pymoo_anon.recoding.moves import repair
from pymoo_anon.recoding.trees import cells_of_classes
from pymoo_anon.table import LocalGeneralization, Microdata

Ints = NDArray[np.int64]
Masks = NDArray[np.bool_]

K, SAMPLED, SHUFFLES = 5, 200, 200
#: A class with more vectors of nodes below its own is left out, and told.
MOST_VECTORS = 3_000
#: Refinement: rows that are drawn of Adult, columns, and slack of the solver.
ROWS, COLUMNS, SLACK = 300, ("age", "race", "sex"), 1e-6


def cheaper_parts(table: Microdata, made: LocalGeneralization, members: Ints, k: int) -> Masks | None:
    """(n, n_members) Boolean array of members below each cheaper vector with k rows, or None."""
    nodes = [own.nodes for own in table.quasi_identifiers.values()]
    codes = table.tuples.codes[members]

    @cache
    def joined(j: int, node: int, code: int) -> int:
        place = nodes[j].order[code]
        while not nodes[j].first[node] <= place < nodes[j].stop[node]:
            node = int(nodes[j].parent[node])
        return node

    def cost(vector: tuple[int, ...]) -> float:
        return sum(float(own.losses[node]) for own, node in zip(nodes, vector, strict=True))

    limit = cost(tuple(made.nodes[made.class_of[members[0]]].tolist())) - 1e-9
    waiting = [tuple(int(own.ancestors[0, code]) for own, code in zip(nodes, row, strict=True)) for row in codes]
    known = set(waiting)
    while waiting and len(known) <= MOST_VECTORS:
        vector = waiting.pop()
        for row in codes.tolist():
            wider = tuple(joined(j, node, code) for j, (node, code) in enumerate(zip(vector, row, strict=True)))
            if wider not in known and cost(wider) < limit:
                known.add(wider)
                waiting.append(wider)
    if waiting:
        return None
    own = np.array([vector for vector in known if cost(vector) < limit], dtype=np.int64).reshape(-1, len(nodes))
    masks = np.ones((len(own), len(members)), dtype=bool)
    for j, node in enumerate(nodes):
        places = node.order[codes[:, j]]
        masks &= (node.first[own[:, [j]]] <= places) & (places < node.stop[own[:, [j]]])
    return masks[masks @ table.tuples.counts[members] >= k]


def reckoned(values: Ints, keep: Callable[[Ints], Masks], rng: np.random.Generator) -> pd.DataFrame | None:
    """Infer sensitive values from the random arrangements that `keep` selects, or return None if none fits.

    Values are (n_members, n_values), how often each tuple has each value. Every tuple is told its persons, the
    confidence in their likeliest value before and after, and how many of them are rightly guessed.
    """
    persons, totals = values.sum(axis=1), values.sum(axis=0)
    owners, each = np.repeat(np.arange(len(values)), persons), np.repeat(np.arange(len(totals)), totals)
    drawn = np.zeros((SHUFFLES, *values.shape), dtype=np.int64)
    for one in drawn:
        np.add.at(one, (owners, rng.permutation(each)), 1)
    explains = drawn[keep(drawn)]
    if len(explains) == 0:
        return None
    chances = explains.mean(axis=0) / persons[:, np.newaxis]
    return pd.DataFrame(
        {
            "persons": persons,
            "before": totals.max() / totals.sum(),
            "after": chances.max(axis=1),
            "right_before": values[:, totals.argmax()],
            "right_after": values[np.arange(len(values)), chances.argmax(axis=1)],
        }
    )


def members_of(class_of: Ints) -> list[Ints]:
    return np.split(np.argsort(class_of, kind="stable"), np.cumsum(np.bincount(class_of))[:-1])


def asked_why_undivided(table: Microdata, made: LocalGeneralization) -> tuple[list[Masks], list[Ints], int]:
    """Return the cheaper parts of classes by rows, and the number of skipped classes."""
    parts, opened, too_many = [], [], 0
    for members in members_of(made.class_of):
        own = cheaper_parts(table, made, members, K) if len(members) > 1 else np.empty((0, 1), dtype=bool)
        if own is None:
            too_many += 1
        elif len(own):
            parts.append(own)
            opened.append(members)
    return parts, opened, too_many


def studied(
    opened: list[Ints], values: Ints, keeps: list[Callable[[Ints], Masks]], rng: np.random.Generator
) -> dict[str, float]:
    """Attack at most `SAMPLED` of some classes, and return the findings."""
    chosen = rng.permutation(len(opened))[:SAMPLED]
    found = [reckoned(values[opened[c]], keeps[c], rng) for c in chosen]
    known = pd.concat(found)
    persons, before, after = (known[name].to_numpy() for name in ("persons", "before", "after"))
    unexplained, rise = sum(one is None for one in found), after - before
    return {
        "classes": len(opened),
        "persons": int(sum(values[own].sum() for own in opened)),
        "studied": len(found) - unexplained,
        "unexplained": unexplained,
        "before": float(np.average(before, weights=persons)),
        "after": float(np.average(after, weights=persons)),
        "rise 0.1": float(np.average(rise > 0.1, weights=persons)),
        "rise 0.25": float(np.average(rise > 0.25, weights=persons)),
        "sure": int(persons[(before <= 0.6) & (after >= 0.9)].sum()),
        "right before": float(known["right_before"].sum() / persons.sum()),
        "right after": float(known["right_after"].sum() / persons.sum()),
    }


def minimality(table: Microdata, n_values: int) -> list[dict[str, object]]:
    """Attack both structures at one l, and return loss and findings."""
    goals, asked = [KAnonymity(), GeneralLossMetric()], [DistinctLDiversity("occupation") >= n_values]
    values, rng = table.tuples.columns["occupation"].histogram(), np.random.default_rng(0)
    direct = LocalRecodingProblem(table, goals, asked, structure="direct")
    sizes, plain = LocalRecodingProblem(table, goals, asked), LocalRecodingProblem(table, goals)

    def few(parts: Ints, over: Callable[..., Any] = np.all) -> Callable[[Ints], Masks]:
        """Return a function that tells the arrangements in which all, or any, parts have too few values."""
        return lambda drawn: over(((parts @ drawn) > 0).sum(axis=2) < n_values, axis=1)

    parts, opened, too_many = asked_why_undivided(table, direct.decode(direct.x_of(K)))
    keeps = [few(own.astype(np.int64)) for own in parts]
    attacked = [("direct", direct, too_many, studied(opened, values, keeps, rng))]

    before = plain.decode(plain.x_of(K)).class_of
    merged = [own for own in members_of(sizes.decode(sizes.x_of(K)).class_of) if len(set(before[own])) > 1]
    whole = [np.equal.outer(np.unique(before[own]), before[own]).astype(np.int64) for own in merged]
    failed = [own[((own @ values[rows]) > 0).sum(axis=1) < n_values] for own, rows in zip(whole, merged, strict=True)]
    ways = {"sizes": [few(own, np.any) for own in whole], "sizes, parts known": [few(own) for own in failed]}
    attacked += [(name, sizes, 0, studied(merged, values, keeps, rng)) for name, keeps in ways.items()]

    def loss(problem: LocalRecodingProblem) -> float:
        return float(GeneralLossMetric().evaluate(problem.equivalence_classes(problem.x_of(K)))[0]) / cells(table)

    return [
        {"structure": name, "l": n_values, "loss": loss(problem), "too many": skipped, **told}
        for name, problem, skipped, told in attacked
    ]


class Program(NamedTuple):
    """Rows of each class by combination of values, as a linear program."""

    class_of: Ints  # (n_variables,) class of each variable
    codes: Ints  # (n_variables, n_attributes) its values
    known: Ints  # (n_variables,) how many there are in truth
    totals: csr_array  # (n_classes, n_variables) the rows of each class
    rows: Ints  # (n_classes,) how many these are
    extents: Ints  # (n_classes, n_attributes) how many values the label of each cell stands for
    rules: csr_array  # (n_rules, n_variables) what is bounded
    most: NDArray[np.float64]  # (n_rules,) the bounds

    @property
    def n_broken(self) -> int:
        """How many of the rules the original table breaks."""
        return int((self.rules @ self.known > self.most).sum())

    def greatest(self, wanted: Masks) -> float | None:
        """Return the greatest number of rows of some variables, or None if infeasible."""
        found = linprog(
            -wanted.astype(float), A_ub=self.rules, b_ub=self.most, A_eq=self.totals, b_eq=self.rows, method="highs"
        )
        return None if found.status == 2 else -float(found.fun)


def program(table: Microdata, made: LocalGeneralization, k: int, greedy: bool) -> Program:
    """Build the program of a release.

    Always true: a class has so many rows, it is as fine as what it holds allows, and combinations that stand as they
    are in a release are in no other class, since equal tuples have equal cells. Where the recoding is greedy, too: of
    the classes that cost more than some cells, fewer than k rows lie below these.
    """
    nodes = [own.nodes for own in table.quasi_identifiers.values()]
    below = [
        [np.flatnonzero((a <= own.order) & (own.order < b)).tolist() for a, b in zip(own.first, own.stop, strict=True)]
        for own in nodes
    ]
    costs = np.sum([own.losses[column] for own, column in zip(nodes, made.nodes.T, strict=True)], axis=0)
    boxes = [[below[j][n] for j, n in enumerate(row)] for row in made.nodes.tolist()]
    plain = {tuple(own[0] for own in box): c for c, box in enumerate(boxes) if all(len(own) == 1 for own in box)}
    variables = [(c, *own) for c, box in enumerate(boxes) for own in product(*box) if plain.get(own, c) == c]
    where = {one: place for place, one in enumerate(variables)}
    owner, values = np.array(variables)[:, 0], np.array(variables)[:, 1:]
    known = np.zeros(len(owner), dtype=np.int64)
    for c, codes, n in zip(made.class_of.tolist(), table.tuples.codes.tolist(), table.tuples.counts, strict=True):
        known[where[(c, *codes)]] += n
    rows = np.bincount(owner, known, len(made.nodes)).astype(np.int64)
    rules, most = [], []
    for c, row in enumerate(made.nodes.tolist()):
        for j, n in enumerate(row):
            for child in np.flatnonzero(nodes[j].parent == n).tolist():
                rules.append((owner == c) & np.isin(values[:, j], below[j][child]))
                most.append(rows[c] - 1)
    inside = [np.array([np.isin(values[:, j], own) for own in column]) for j, column in enumerate(below)]
    for vector in product(*(range(len(own)) for own in nodes)) if greedy else ():
        dear = costs > sum(own.losses[n] for own, n in zip(nodes, vector, strict=True)) + 1e-9
        mask = dear[owner]
        for j, n in enumerate(vector):
            mask = mask & inside[j][n]
        if rows[np.unique(owner[mask])].sum() >= k:
            rules.append(mask)
            most.append(k - 1)
    totals = csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(len(rows), len(owner)))
    bounded = csr_array(np.array(rules, dtype=float))
    extents = np.array([[len(own) for own in box] for box in boxes])
    return Program(owner, values, known, totals, rows, extents, bounded, np.array(most, dtype=float))


def refined(own: Program) -> dict[str, float]:
    """Return the remaining values of each generalized cell, classes counted by rows."""
    found: dict[str, float] = {"rules": len(own.most), "broken": own.n_broken}
    if own.greatest(np.zeros(len(own.known), dtype=bool)) is None:
        return {**found, "feasible": False}
    cells = []
    for c, j in np.argwhere(own.extents > 1).tolist():
        mine, left, wrong = own.class_of == c, 0, 0
        for value in np.unique(own.codes[mine, j]):
            chosen = mine & (own.codes[:, j] == value)
            possible = (own.greatest(chosen) or 0.0) >= 1 - SLACK
            left += possible
            wrong += not possible and own.known[chosen].sum() > 0
        cells.append((own.rows[c], own.extents[c, j], left, wrong))
    rows, before, after, wrong = np.array(cells).T
    told = {"before": before, "after": after, "narrowed": after < before, "one value": after == 1, "wrong": wrong > 0}
    means = {name: float(np.average(value, weights=rows)) for name, value in told.items()}
    return {**found, "feasible": True, "cells": int(rows.sum()), **means}


def cube_alone(table: Microdata, k: int) -> LocalGeneralization:
    """Recode by the cube alone, without the moves that follow."""
    trees = Trees.of(table.tuples, [own.nodes for own in table.quasi_identifiers.values()])
    made, _ = bottom_up(trees, k)
    class_of = repair(trees, Requirements.of(table.tuples, trees, k), made)
    cells = trees.released(cells_of_classes(trees, class_of, int(class_of.max()) + 1)[class_of])
    return LocalGeneralization(table.quasi_identifiers, cells)


def refinement(table: Microdata, k: int) -> list[dict[str, object]]:
    """Attack releases of a small table, by method and background knowledge."""
    ways = {"cube alone": cube_alone(table, k)}
    for method in ("bottom-up", "top-down"):
        problem = LocalRecodingProblem(table, [KAnonymity(), GeneralLossMetric()], method=method)
        ways[method] = problem.decode(problem.x_of(k))
    known = {"always true": False, "and greedy": True}
    return [
        {"release": way, "k": k, "known": rules, **refined(program(table, made, k, greedy))}
        for way, made in ways.items()
        for rules, greedy in known.items()
        if not (greedy and way == "top-down")
    ]


def drawn_table(n_rows: int) -> Microdata:
    """Draw rows of Adult with the columns of the refinement."""
    frame: pd.DataFrame = fetch_adult_frame().sample(n_rows, random_state=1)
    hierarchies = fetch_adult().quasi_identifiers
    return Microdata.from_frame(frame, {name: hierarchies[name] for name in COLUMNS})


MINIMALITY = {
    "k >= 5": "l >= {l}, {structure}",
    "loss": "{loss:.4f}",
    "classes": "{classes:,}",
    "persons": "{persons:,}",
    "studied": "{studied:,}",
    "unexplained": "{unexplained:,}",
    "confidence": "{before:.3f} → {after:.3f}",
    "rise > 0.1": lambda one: f"{one['rise 0.1']:.1%}",
    "> 0.25": lambda one: f"{one['rise 0.25']:.1%}",
    "sure": "{sure:,}",
    "guessed right": "{right before:.1%} → {right after:.1%}",
}


def if_feasible(form: str, otherwise: str = "") -> Callable[[dict[str, object]], str]:
    return lambda one: form.format_map(one) if one["feasible"] else otherwise


REFINEMENT = {
    "release": "{release}, k = {k}",
    "known": "{known}",
    "rules": "{rules:,}",
    "broken": "{broken:,}",
    "values a cell": if_feasible("{before:.1f} → {after:.1f}", "no solution"),
    "cells narrowed": if_feasible("{narrowed:.1%}"),
    "to one value": if_feasible("{one value:.1%}"),
    "wrongly": if_feasible("{wrong:.1%}"),
}


def main() -> None:
    began = time.process_time()
    table = fetch_adult(sensitive="occupation")
    least = [one for n_values in (3, 5) for one in minimality(table, n_values)]
    small = drawn_table(ROWS)
    narrow = [one for k in (2, 5) for one in refinement(small, k)]
    too_many = sum(int(one["too many"]) for one in least)  # type: ignore[call-overload]
    figures = {"machine": record.machine(), "seconds": time.process_time() - began}
    record.write(
        "local_attacks",
        {**figures, "minimality": least, "refinement": narrow},
        SAMPLED=SAMPLED,
        SHUFFLES=SHUFFLES,
        too_many=too_many,
        minimality=record.table(MINIMALITY, least),
        ROWS=ROWS,
        columns=", ".join(COLUMNS),
        refinement=record.table(REFINEMENT, narrow),
    )


if __name__ == "__main__":
    main()
