"""Make the suite's instances, their proofs, and the stored results.

    python -m benchmarks.suite.make [NAME ...]     the instances that are not there yet, or those that are named
    python -m benchmarks.suite.make --baselines [NAME ...]    the stored results, anew: all, or those of the named

An instance is never edited, only succeeded: the program refuses to write one that is there. Whoever wants it otherwise
adds one with the next version.
"""

import argparse
import hashlib
import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import pairwise
from math import lcm
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from moocore import is_nondominated
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.optimize import minimize
from scipy.optimize import linprog
from scipy.stats import spearmanr

from benchmarks.suite.package import in_whole_numbers, of_package
from benchmarks.suite.tables import TABLES, Table
from benchmarks.tables import operators_of
from pymoo_anon.algorithms import PBGEA, BranchAndBound
from pymoo_anon.fronts.archive import merge_front
from pymoo_anon.problems import AnonymizationProblem, BitStringProblem
from pymoo_anon.suite import Instance, load, names
from pymoo_anon.suite.problem import CONTRIBUTION, PATHS

DATA = Path(__file__).parents[2] / "pymoo_anon" / "suite" / "data"
ALGORITHMS = ("NSGA-II", "PBG-EA", "random search")
SEEDS = range(1, 8)

#: Table, space, objectives and options of each instance.
WANTED: dict[str, dict[str, Any]] = {}


def want(name: str, table: str, objectives: str, *, space: str = "levels", limit: int = 0, **others: Any) -> None:
    """Register an instance, with objectives such as "k l:diagnosis GLM"."""
    WANTED[name] = {"table": table, "objectives": objectives.split(), "space": space, "limit": limit, **others}


want("patients-k-GLM-v1", "patients", "k GLM")
want("patients-k-l-GLM-v1", "patients", "k l:diagnosis GLM")
want("patients-k-l-GLM-CM-s40-v1", "patients", "k l:diagnosis GLM CM:outcome", limit=40)
want("patients-k-l-GLM-CM-DM-v1", "patients", "k l:diagnosis GLM CM:outcome DM")
want("census-k-GLM-v1", "census", "k GLM")
want("census-k-GLM-s40-v1", "census", "k GLM", limit=40)
want("census-k-l-GLM-v1", "census", "k l:occupation GLM")
want("census-Sk-GLM-v1", "census", "S_k GLM")
want("census-Sk-Sl-GLM-v1", "census", "S_k S_l:occupation GLM")
want("census-l-GLM-DM-k5-s40-v1", "census", "l:occupation GLM DM", limit=40, constraints={"k": 5})
want("earners-k-GLM-CM-v1", "earners", "k GLM CM:salary-class")
want("earners-k-l-GLM-CM-s40-v1", "earners", "k l:occupation GLM CM:salary-class", limit=40)
want("noise-k-GLM-v1", "noise", "k GLM")
want("noise-k-DM-v1", "noise", "k DM")
want("noise-Sl-GLM-DM-v1", "noise", "S_l:secret GLM DM")
want("survey-k-GLM-s40-v1", "survey", "k GLM", limit=40)
want("survey-k-l-GLM-v1", "survey", "k l:vote GLM")
want("survey-k-l-GLM-DM-v1", "survey", "k l:vote GLM DM")
want("trips-k-GLM-s60-v1", "trips", "k GLM", limit=60)
want("trips-k-l-GLM-v1", "trips", "k l:purpose GLM")
want("trips-k-classes-v1", "trips", "k classes")
want("registry-k-GLM-v1", "registry", "k GLM")
want("registry-k-l-GLM-s60-v1", "registry", "k l:diagnosis GLM", limit=60)
want("registry-k-GLM-CM-v1", "registry", "k GLM CM:label")
want("claims-k-GLM-v1", "claims", "k GLM")
want("claims-k-l-GLM-s30-v1", "claims", "k l:diagnosis GLM", limit=30)
want("ledger-k-GLM-v1", "ledger", "k GLM")
want("clinic-bits-k-GLM-v1", "clinic", "k GLM", space="bits")
want("clinic-bits-k-GLM-s20-v1", "clinic", "k GLM", space="bits", limit=20)
want("clinic-bits-k-l-GLM-v1", "clinic", "k l:diagnosis GLM", space="bits")
want("clinic-bits-k-l-GLM-CM-s20-v1", "clinic", "k l:diagnosis GLM CM:outcome", space="bits", limit=20)
want("school-bits-k-GLM-CM-v1", "school", "k GLM CM:stays", space="bits")
want("school-bits-k-l-Sl-GLM-CM-v1", "school", "k l:grade S_l:grade GLM CM:stays", space="bits")
want("residents-bits-k-GLM-v1", "residents", "k GLM", space="bits")
want("pharmacy-trees-k-l-GLM-CM-s20-v1", "pharmacy", "k l:reason GLM CM:refill", space="bits", limit=20)
want("citizens-trees-k-GLM-s30-v1", "citizens", "k GLM", space="bits", limit=30)
# Here classes are suppressed that break these constraints.
violating = {"rule": "violating", "limit": 80, "constraints": {"k": 5, "l:diagnosis": 3}}
want("patients-k-GLM-CM-k5-l3-x80-v1", "patients", "k GLM CM:outcome", **violating)
violating = {"rule": "violating", "limit": 120, "constraints": {"k": 5, "l:purpose": 3}}
want("trips-k-l-GLM-k5-l3-x120-v1", "trips", "k l:purpose GLM", **violating)


def definition(name: str) -> str:
    wanted = WANTED[name]
    table: Table = TABLES[wanted["table"]]()
    objectives = [_named(word) for word in wanted["objectives"]]
    constraints = [{**_named(word), "at least": bound} for word, bound in wanted.get("constraints", {}).items()]
    columns = sorted({own["column"] for own in (*objectives, *constraints) if "column" in own})
    names = [*table.levels, *columns]
    rows, counts = np.unique(np.column_stack([table.rows[own] for own in names]), axis=0, return_counts=True)
    sizes = {own: len(levels[0]) for own, levels in table.levels.items()}
    own_rows = dict(zip(names, rows.T.tolist(), strict=True))
    bits = wanted["space"] == "bits"

    def attribute(own: str) -> dict[str, Any]:
        told = {"name": own, "values": sizes[own]}
        if not bits:
            return {**told, "levels": table.levels[own]}
        return {**told, "nodes": table.nodes[own]} if own in table.nodes else told

    parts: dict[str, Any] = {
        "name": name,
        "about": " ".join((TABLES[wanted["table"]].__doc__ or "").split()),
        "space": wanted["space"],
        "attributes": [attribute(own) for own in table.levels],
        "objectives": objectives,
        "constraints": constraints,
        "suppression": {"rule": wanted.get("rule", "at most"), "limit": wanted["limit"]},
        "unit": lcm(*[max(size - 1, 1) for size in sizes.values()]),
        "budgets": [],
        "rows": {own: own_rows[own] for own in table.levels},
        "columns": {own: own_rows[own] for own in columns},
        "counts": counts.tolist(),
    }
    short = int(np.clip(round(4 * float(Instance(parts).n_points) ** 0.5, -1), 120, 4000))
    parts["budgets"] = [short, 4 * short]
    return _lines(parts)


def _named(word: str) -> dict[str, str]:
    measure, _, column = word.partition(":")
    return {"measure": measure, "column": column} if column else {"measure": measure}


def _lines(parts: dict[str, Any]) -> str:
    """Write JSON with a line for every entry of the first two levels."""
    texts = []
    for key, value in parts.items():
        own = json.dumps(value)
        if isinstance(value, dict) and len(own) > 100:
            inner = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in value.items())
            own = f"{{\n{inner}\n }}"
        elif isinstance(value, list) and value and isinstance(value[0], dict) and len(own) > 100:
            inner = ",\n".join(f"  {json.dumps(v, separators=(',', ':'))}" for v in value)
            own = f"[\n{inner}\n ]"
        texts.append(f" {json.dumps(key)}: {own}")
    return "{\n" + ",\n".join(texts) + "\n}\n"


def prove(problem: AnonymizationProblem) -> tuple[np.ndarray, int, str]:
    """Return the front, the number of evaluated points, and the kind of proof.

    Bit strings of more than two objectives are all visited, of those with taxonomies all cuts; everything else is
    proven by branch and bound.
    """
    if isinstance(problem, BitStringProblem) and problem.n_obj > 2:
        X, F = np.empty((0, problem.n_var), dtype=bool), np.empty((0, problem.n_obj))
        for numbers in np.split(np.arange(2**problem.n_var), range(4096, 2**problem.n_var, 4096)):
            batch = (numbers[:, np.newaxis] >> np.arange(problem.n_var)) & 1 == 1
            X, F = merge_front(X, F, *problem.compute_feasible(batch[problem.is_valid(batch)]))
        return X, problem.n_strings, "exhaustive"
    res = minimize(problem, BranchAndBound(), seed=1)
    assert res.algorithm.certified
    return np.atleast_2d(res.X), res.algorithm.n_evaluated, "branch and bound"


def exact_front(instance: Instance, X: np.ndarray) -> np.ndarray:
    """Return the front as whole numbers, sorted by the minimised values.

    Two points whose general loss is equal may differ in the last bit of the floats that a proof compares. So a proven
    front may hold too much, but it lacks nothing: what it leaves out is no better in exact numbers either.
    """
    values, excess = instance.evaluate(X)
    assert (excess <= 0).all()
    F = values * instance.signs
    best = is_nondominated(F.astype(float), keep_weakly=False)
    X, F, values = X[best], F[best], values[best]
    order = np.lexsort(F.T[::-1])
    assert (np.ptp(values, axis=0) > 0).all(), "an objective does not differ over the front"
    return np.column_stack([X.astype(np.int64), values])[order]


def support(F: np.ndarray) -> list[str]:
    """Return the type of every member, as MOrepo defines them.

    "se" where a weighted sum has it as its only minimum, "sne" where one has it as one of several, all weights being
    positive, else "us". Two objectives are settled in whole numbers, more by linear programs.
    """
    if F.shape[1] == 2:
        return _support_of_two(F.astype(int).tolist())
    scaled = (F - F.min(axis=0)) / np.ptp(F, axis=0)
    types = []
    for i, point in enumerate(scaled):
        others = np.delete(scaled, i, axis=0) - point
        if _largest(others, margin=True) > 1e-9:
            types.append("se")
        else:
            types.append("sne" if _largest(others, margin=False) > 1e-9 else "us")
    return types


def _largest(others: np.ndarray, margin: bool) -> float:
    """Return the largest margin by which weights prefer a point, from its differences.

    Without a margin: the largest that the least weight can be while they prefer none of the others.
    """
    n, m = others.shape
    slack = np.full(n, float(margin))
    constraints = np.column_stack([-others, slack])
    if not margin:
        constraints = np.vstack([constraints, np.column_stack([-np.eye(m), np.ones(m)])])
    found = linprog(
        np.r_[np.zeros(m), -1],
        A_ub=constraints,
        b_ub=np.zeros(len(constraints)),
        A_eq=[np.r_[np.ones(m), 0]],
        b_eq=[1],
        bounds=[(0, None)] * m + [(None, None)],
    )
    return -found.fun if found.success else -np.inf


def _support_of_two(points: list[list[int]]) -> list[str]:
    """Return the lower hull of a front, corners only."""
    hull: list[int] = []

    def turn(a: int, b: int, c: int) -> int:
        (ax, ay), (bx, by), (cx, cy) = points[a], points[b], points[c]
        return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)

    for i in range(len(points)):
        while len(hull) > 1 and turn(hull[-2], hull[-1], i) <= 0:
            hull.pop()
        hull.append(i)
    types = ["se" if i in hull else "us" for i in range(len(points))]
    for a, c in pairwise(hull):
        for b in range(a + 1, c):
            types[b] = "sne" if turn(a, b, c) == 0 else "us"
    return types


def features(instance: Instance, types: Sequence[str]) -> dict[str, Any]:
    """Measure the difficulty over 500 random points and a neighbour of each."""
    rng = np.random.default_rng(0)
    upper = instance.upper
    X = rng.integers(0, upper + 1, (500, len(upper)))
    neighbours = X.copy()
    rows, places = np.arange(len(X)), rng.integers(0, len(upper), len(X))
    up = np.where(X[rows, places] == 0, 1, np.where(X[rows, places] == upper[places], -1, rng.choice([-1, 1], len(X))))
    neighbours[rows, places] += up
    F, G = (instance.evaluate(own)[0] * instance.signs for own in (X, neighbours))
    correlation = [
        [1.0 if i == j else _rank_correlation(F[:, i], F[:, j]) for j in range(F.shape[1])] for i in range(F.shape[1])
    ]
    return {
        "unsupported": round(types.count("us") / len(types), 4),
        "plateaus": np.round((F == G).mean(axis=0), 4).tolist(),
        "correlation": correlation,
    }


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    """Return the correlation, or None for a constant objective."""
    return None if np.ptp(a) == 0 or np.ptp(b) == 0 else round(float(spearmanr(a, b).statistic), 4)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def files_of(name: str) -> Iterator[tuple[str, str]]:
    """Return the texts of all files of an instance by path."""
    text = definition(name)
    instance = Instance(json.loads(text))
    assert max(instance.told["unit"], 1) * len(instance.sizes) * int(instance.counts.sum()) < 2**52
    X, n_evaluated, proof = prove(of_package(instance))
    front = exact_front(instance, X)
    n_var = len(instance.upper)
    F = front[:, n_var:] * instance.signs
    types = support(F)
    variables = list(instance.attributes) if not instance.bits else [f"bit {i}" for i in range(1, n_var + 1)]
    rows = [",".join([*variables, *instance.labels]), *(",".join(map(str, row)) for row in front.tolist())]
    front_text = "\n".join(rows) + "\n"
    certificate = {
        "name": name,
        "instance sha256": digest(text),
        "front sha256": digest(front_text),
        "points": instance.n_points,
        "evaluated": n_evaluated,
        "proof": proof,
        "members": len(front),
        "program": f"pymoo_anon {version('pymoo_anon')}",
        "features": features(instance, types),
    }
    yield PATHS["instance"].format(name), text
    yield PATHS["front"].format(name), front_text
    yield (
        PATHS["result"].format(name),
        json.dumps(_morepo(instance, front[:, n_var:].tolist(), types, proof), indent=1) + "\n",
    )
    yield PATHS["certificate"].format(name), json.dumps(certificate, indent=1) + "\n"


def _morepo(instance: Instance, values: list[list[int]], types: Sequence[str], proof: str) -> dict[str, Any]:
    labels = [f"z{j}" for j in range(1, len(instance.signs) + 1)]
    points = [{**dict(zip(labels, row, strict=True)), "type": own} for row, own in zip(values, types, strict=True)]
    return {
        "version": "1.0",
        "instanceName": f"{CONTRIBUTION}_{instance.told['name']}",
        "contributionName": CONTRIBUTION,
        "objectives": len(labels),
        "objectiveType": ["int"] * len(labels),
        "direction": ["max" if sign < 0 else "min" for sign in instance.signs],
        "comments": f"Objectives: {', '.join(instance.labels)}. Proven, {proof}.",
        "optimal": True,
        "suppCard": len(types) - types.count("us"),
        "extCard": types.count("se"),
        "card": len(values),
        "valid": True,
        "points": points,
    }


def write(name: str) -> None:
    """Make one instance, all its files or none.

    Raises:
        FileExistsError: One of them is there.
    """
    there = [DATA / place for place in places(name) if (DATA / place).exists()]
    if there:
        raise FileExistsError(f"{there[0]} exists: an instance is never edited, only succeeded by a next version")
    # All texts are made before the first is written.
    for place, text in list(files_of(name)):
        path = DATA / place
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)


def places(name: str) -> list[str]:
    return [file.format(name) for file in PATHS.values()]


def random_search(problem: AnonymizationProblem, budget: int, seed: int) -> np.ndarray:
    """Return the best of uniformly drawn random points."""
    rng = np.random.default_rng(seed)
    if isinstance(problem, BitStringProblem):
        X = problem.sample(budget, rng)
    else:
        X = rng.integers(0, problem.lengths + 1, (budget, problem.n_var))
    F = problem.compute_feasible(X)[1]
    return F[is_nondominated(F, keep_weakly=False)] if len(F) else F


def search(algorithm: str, problem: AnonymizationProblem, budget: int, seed: int) -> np.ndarray | None:
    if algorithm == "random search":
        return random_search(problem, budget, seed)
    operators = operators_of(problem)
    kind = NSGA2(pop_size=40, **operators) if algorithm == "NSGA-II" else PBGEA(pop_size=25, **operators)
    return minimize(problem, kind, ("n_eval", budget), seed=seed).F


def run_baselines(wanted: Sequence[str]) -> None:
    """Run every algorithm on the instances, once per seed, with the short budget.

    The stored rows of all other instances stay as they are.
    """
    path = DATA / "baselines.csv"
    header, *stored = path.read_text(encoding="utf-8").splitlines()
    rows = [row for row in stored if row.partition(",")[0] not in wanted]
    for name in wanted:
        suite_problem = load(name)
        problem = of_package(suite_problem.instance)
        budget = suite_problem.budgets[0]
        began = process_time()
        for algorithm in ALGORITHMS:
            for seed in SEEDS:
                found = search(algorithm, problem, budget, seed)
                F = in_whole_numbers(suite_problem.instance, problem, found)
                shares = f"{suite_problem.hypervolume_share(F):.6f},{suite_problem.found_share(F):.6f}"
                rows.append(f"{name},{algorithm},{budget},{seed},{shares}")
        print(f"{name}: {process_time() - began:.1f} s", flush=True)
    # Sorting keeps the order of equal names: that of algorithms and seeds.
    rows.sort(key=lambda row: row.partition(",")[0])
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8", newline="\n")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--baselines", action="store_true", help="run the algorithms whose results are stored")
    given = parser.parse_args(arguments)
    missing = [name for name in WANTED if not (DATA / PATHS["front"].format(name)).exists()]
    for name in [] if given.baselines else given.names or missing:
        began = process_time()
        write(name)
        certificate = json.loads((DATA / PATHS["certificate"].format(name)).read_text(encoding="utf-8"))
        told = ", ".join(f"{key} {certificate[key]}" for key in ("points", "evaluated", "proof", "members"))
        print(f"{name}: {told}, {process_time() - began:.1f} s", flush=True)
    if given.baselines:
        run_baselines(given.names or names())


if __name__ == "__main__":
    main()
