"""Messages, comparisons, random tables and problems of contracts."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling
from pymoo.operators.sampling.rnd import BinaryRandomSampling, FloatRandomSampling, IntegerRandomSampling

from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.loss import GeneralLossMetric
from pymoo_anon.objectives.privacy import DistinctLDiversity, KAnonymity
from pymoo_anon.operators.levels import LatticeSampling
from pymoo_anon.operators.strings import BitStringSampling
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.local_recoding import LocalRecodingProblem
from pymoo_anon.table.generalization import AtMost, Below, Constraint, LocalGeneralization, Suppression, Violating
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.taxonomy import Taxonomy
from pymoo_anon.typing import Array, Floats, Ints, T

# Relative tolerance for sums of floats in another order.
CLOSE = 1e-9


class ContractError(AssertionError):
    """A broken contract, in one sentence."""


def typed(values: Any) -> str:
    """Format up to eight values as typed in Python."""
    given = np.asarray(values)
    if given.ndim == 0:
        return repr(given.item())
    rows = ", ".join(typed(one) for one in given[:8])
    return f"[{rows}, ...]" if len(given) > 8 else f"[{rows}]"


def slack(values: ArrayLike) -> Floats:
    """Return the tolerance for rounding of values, 0 for infinite ones."""
    given = np.asarray(values, dtype=float)
    return np.where(np.isfinite(given), CLOSE * np.maximum(np.abs(given), 1.0), 0.0)


def at_point(X: Any, row: int) -> str:
    """Describe a point for an error message."""
    return f" for x = {typed(X[row])}"


def check_same(
    duty: str, expected: Any, found: Any, where: Callable[[int], str] = lambda _: "", exact: bool = True
) -> None:
    """Check that two arrays agree in every row. `where` describes a row."""
    a, b = np.asarray(expected), np.asarray(found)
    if a.shape != b.shape:
        ours, theirs = (f"{typed(own)} of shape {own.shape}" for own in (a, b))
        raise ContractError(f"{duty}, got {theirs} and not {ours}")
    same = a == b
    if same.all():
        return
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        same = same | (np.isnan(a) & np.isnan(b))
        if not exact:
            with np.errstate(invalid="ignore"):
                same = same | (np.abs(a - b) <= slack(a))
    for row in np.flatnonzero(~same.all(axis=tuple(range(1, same.ndim)))).tolist():
        raise ContractError(f"{duty}, got {typed(found[row])} and not {typed(expected[row])}{where(row)}")


def refuse(duty: str, wrong: ArrayLike, found: Array, where: Callable[[int], str] = lambda _: "") -> None:
    """Refuse the first wrong row of an array."""
    for row in np.flatnonzero(wrong).tolist():
        raise ContractError(f"{duty}, got {typed(found[row])}{where(row)}")


@contextmanager
def numpy_seeded(seed: int) -> Iterator[None]:
    """Seed numpy's own random state, and restore it."""
    own = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(seed)  # noqa: NPY002
        yield
    finally:
        np.random.set_state(own)  # noqa: NPY002


def pickled(one: T) -> T:
    """Pickle and unpickle an object."""
    return pickle.loads(pickle.dumps(one))


def called(duty: str, call: Callable[..., T], *given: Any) -> T:
    """Return the result of a call, or raise a ContractError."""
    try:
        return call(*given)
    except ContractError:
        raise
    except Exception as error:
        raise ContractError(f"{duty}, got {type(error).__name__}: {error}") from error


# Pairs of nodes are compared one by one: so many nodes of a lattice are looked at.
_NODES_COMPARED = 24

# A part of a user's own table has at most so many rows.
_ROWS_DRAWN = 24


def random_tables(column: Hashable | None, n: int, rng: np.random.Generator) -> Iterator[Microdata]:
    """Yield small random tables of one to three quasi-identifiers."""
    for number in range(n):
        n_rows = 1 if number == 0 else int(rng.integers(2, _ROWS_DRAWN))
        n_values = [1 if number == 1 else int(rng.integers(2, 6)) for _ in range(rng.integers(1, 4))]
        hierarchies = {f"q{j}": random_hierarchy(own, rng) for j, own in enumerate(n_values)}
        domains: dict[Hashable, Sequence[Hashable]] = {"label": [False, True], "s0": list("abcd")[: rng.integers(1, 5)]}
        if column not in (None, *domains, *hierarchies):
            domains[column] = list("abcd")[: rng.integers(1, 5)]
        drawn = {name: rng.integers(0, len(domain), n_rows) for name, domain in domains.items()}
        held = {name: np.unique(own, return_inverse=True) for name, own in drawn.items()}
        yield Microdata.from_codes(
            hierarchies,
            [rng.integers(0, own, n_rows) for own in n_values],
            np.ones(n_rows, dtype=np.int64),
            {name: codes for name, (_, codes) in held.items()},
            {name: [domains[name][value] for value in values] for name, (values, _) in held.items()},
            [name for name in domains if name != "label"],
            "label",
        )


def random_hierarchy(n_values: int, rng: np.random.Generator) -> Hierarchy:
    """Return a hierarchy of up to four levels."""
    groups = list(range(n_values))
    levels: list[list[Hashable]] = [list(groups)]
    while len(set(groups)) > 1 and len(levels) < 3:
        merged = rng.integers(0, len(set(groups)), n_values)
        groups = [int(merged[group]) for group in groups]
        levels.append([f"{len(levels)}:{group}" for group in groups])
    return Hierarchy([*levels, ["*"] * n_values])


def random_recoding(table: Microdata, rng: np.random.Generator) -> LocalGeneralization | None:
    """Return a local recoding with random cells, or None without trees."""
    hierarchies = table.quasi_identifiers
    try:
        nodes = [own.nodes for own in hierarchies.values()]
    except ValueError:
        return None
    columns = zip(nodes, table.tuples.codes.T, strict=True)
    cells = [own.ancestors[rng.integers(0, len(own.ancestors), len(codes)), codes] for own, codes in columns]
    return LocalGeneralization(hierarchies, np.column_stack(cells))


def small_parts(table: Microdata, n: int, rng: np.random.Generator) -> Iterator[Microdata]:
    """Yield small tables with rows of a given table."""
    tuples = table.tuples
    others = [name for name in tuples.domains if name not in table.quasi_identifiers]
    tuple_of, of_rows = codes_of_rows(table, others)
    for number in range(n):
        n_rows = 1 if number == 0 else int(rng.integers(2, _ROWS_DRAWN))
        chosen = rng.choice(tuples.n_rows, n_rows)
        columns, domains = {}, {}
        for name, values in of_rows.items():
            held, columns[name] = np.unique(values[chosen], return_inverse=True)
            domains[name] = [tuples.domains[name][value] for value in held]
        yield Microdata.from_codes(
            table.quasi_identifiers,
            list(tuples.codes[tuple_of[chosen]].T),
            np.ones(n_rows, dtype=np.int64),
            columns,
            domains,
            table.sensitive,
            table.label,
            table.person,
        )


def codes_of_rows(table: Microdata, names: Sequence[Hashable]) -> tuple[Ints, dict[Hashable, Ints]]:
    """Return the tuple of each row, and its values by column."""
    tuples = table.tuples
    columns = {name: tuples.columns[name] for name in names}
    values = {name: np.repeat(own.values, own.counts) for name, own in columns.items()}
    return np.repeat(np.arange(len(tuples)), tuples.counts), values


def shuffled(table: Microdata, rng: np.random.Generator) -> Microdata:
    """Return the table with its distinct tuples in another order."""
    tuples, n = table.tuples, table.n_distinct
    order = rng.permutation(n)
    others = {name: column for name, column in tuples.columns.items() if name not in table.quasi_identifiers}
    return Microdata(
        table.quasi_identifiers,
        tuples.codes[order],
        tuples.counts[order],
        {name: column.merged(np.argsort(order), n) for name, column in others.items()},
        {name: tuples.domains[name] for name in others},
        table.sensitive,
        table.label,
        table.person,
    )


def some_nodes(problem: LatticeProblem, rng: np.random.Generator) -> Ints:
    """(n, n_var) int64 array of nodes at some levels of every attribute."""
    levels = [np.arange(least, most + 1) for least, most in zip(problem.lowest, problem.highest, strict=True)]
    while np.prod([float(len(own)) for own in levels]) > _NODES_COMPARED:
        j = int(np.argmax([len(own) for own in levels]))
        levels[j] = np.delete(levels[j], rng.integers(len(levels[j])))
    return np.stack(np.meshgrid(*levels, indexing="ij"), axis=-1).reshape(-1, problem.n_var)


def some_rules(objective: Objective, table: Microdata, rng: np.random.Generator) -> list[LatticeProblem]:
    """Lattices of one table, one for every rule of suppression."""
    n_rows = table.n_rows
    limits = rng.integers(0, n_rows, 3).tolist()
    constraints: list[Constraint] = [KAnonymity() >= int(rng.integers(1, 4))]
    if objective.worst_class:
        problem = quiet_lattice(table, [objective])
        values = problem.natural(problem.compute(some_nodes(problem, rng)))[:, 0]
        finite = values[np.isfinite(values)]
        bound = float(rng.choice(finite)) if len(finite) else 1.0
        constraints.append(objective >= bound if objective.maximize else objective <= bound)
    # Where adversaries know some columns alone, these two are refused.
    by_size = (AtMost(limits[0]), Below(limits[1] + 1)) if objective.known is None else ()
    return [
        *(quiet_lattice(table, [objective], rule) for rule in (AtMost(0), *by_size)),
        quiet_lattice(table, [objective], Violating(limits[2]), constraints),
    ]


def quiet_lattice(
    table: Microdata,
    objectives: list[Objective],
    suppression: float | Suppression = 0,
    constraints: list[Constraint] | None = None,
) -> LatticeProblem:
    """Return a `LatticeProblem` without warnings of hierarchies without a root."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return LatticeProblem(table, objectives, suppression, constraints or [])


def small_problems(space: type[AnonymizationProblem] = LatticeProblem) -> dict[str, AnonymizationProblem]:
    """Return small problems of one search space, by name.

    With two objectives, with one and with four; with constraints, with such that no point satisfies, and with
    suppression of what breaks them; with one variable.

    Args:
        space: `LatticeProblem`, `BitStringProblem` or `LocalRecodingProblem`, which suppresses nothing.

    Returns:
        The problems by name, new ones at every call.

    Raises:
        ValueError: `space` is another class.

    >>> list(small_problems())[:3]
    ['two objectives', 'one objective', 'four objectives']
    """
    if space not in (LatticeProblem, BitStringProblem, LocalRecodingProblem):
        raise ValueError(f"space must be LatticeProblem, BitStringProblem or LocalRecodingProblem, got {space!r}")
    table, k, loss = _invented("a", "b", "c"), KAnonymity(), GeneralLossMetric()
    two, diverse = [k, loss], DistinctLDiversity("s")
    single: Any = space
    if space is LocalRecodingProblem:
        # Local recodings suppress nothing.
        single = lambda table, goals, _=0, constraints=(): LocalRecodingProblem(table, goals, constraints)  # noqa: E731
    make: Any = partial(BitStringProblem, taxonomies={"c": _SMALL_TREE}) if space is BitStringProblem else single
    return {
        "two objectives": make(table, two, 0.05),
        "one objective": make(table, [loss], Below(3)),
        "four objectives": make(table, [*two, diverse, DistinctLDiversity("t")]),
        "constraints": make(table, two, 0.05, [k >= 3, diverse >= 2]),
        "one objective, constraints": make(table, [loss], 0, [k >= 3]),
        "nothing feasible": make(table, two, 0, [k >= table.n_rows + 1]),
        "violating": make(table, two, Violating(0.1), [k >= 2]),
        "one variable": single(_invented("d"), two),
    }


_SMALL_TREE = Taxonomy(
    {"name": "*", "children": [{"name": "v-w", "children": [{"name": "v"}, {"name": "w"}]}, {"name": "x"}]}
)


@cache
def _invented(*names: str) -> Microdata:
    rng = np.random.default_rng(5)
    eight = Hierarchy.intervals(0, 8, widths=[2, 4])
    hierarchies = {"a": eight, "b": eight, "c": Hierarchy(_SMALL_TREE.levels()), "d": Hierarchy.flat([0, 1])}
    columns = {name: rng.choice(np.array(own.domain), 40) for name, own in hierarchies.items()}
    columns["s"], columns["t"] = rng.choice(list("pqrs"), 40, p=[0.4, 0.3, 0.2, 0.1]), rng.integers(0, 2, 40)
    frame = pd.DataFrame({name: columns[name] for name in (*names, "s", "t")})
    return Microdata.from_frame(frame, {name: hierarchies[name] for name in names}, sensitive=["s", "t"])


def valid_points(problem: Problem, n: int, sampling: Sampling | None = None, seed: int = 0) -> Array:
    """(n, n_var) array of valid points."""
    chosen = sampling_of(problem) if sampling is None else sampling
    pop: Population = chosen(problem, n, random_state=np.random.default_rng(seed))
    return pop.get("X")


def output_names(problem: Problem) -> list[str]:
    """Return F, and G and H where there are constraints."""
    return ["F", *["G"] * (problem.n_ieq_constr > 0), *["H"] * (problem.n_eq_constr > 0)]


def outputs_of(problem: Problem, X: Array) -> dict[str, Floats]:
    """Evaluate points."""
    names = output_names(problem)
    return problem.evaluate(X, return_values_of=names, return_as_dictionary=True)


def sampling_of(problem: Problem) -> Sampling:
    """Return a sampling for the variables of a problem."""
    if isinstance(problem, BitStringProblem):
        return BitStringSampling()
    if problem.vtype is bool:
        return BinaryRandomSampling()
    if problem.vtype is int:
        return LatticeSampling() if problem.has_bounds() else IntegerRandomSampling()
    return FloatRandomSampling()


def check_points(duty: str, problem: Problem, X: Array) -> None:
    """Check type and bounds of points."""
    if X.ndim != 2 or X.shape[1] != problem.n_var:
        raise ContractError(f"{duty} points of {problem.n_var} variables, got shape {X.shape}")
    if X.dtype.kind not in "biuf":
        raise ContractError(f"{duty} points of numbers or truth values, got {X.dtype}")
    if problem.vtype is bool and X.dtype != bool:
        raise ContractError(f"{duty} Boolean points, got {X.dtype} such as {typed(X[0])}")
    if problem.vtype is int and X.dtype.kind not in "iu":
        raise ContractError(f"{duty} points of integers, got {X.dtype} such as {typed(X[0])}")
    if problem.has_bounds():
        low, high = problem.bounds()
        duty_here = f"{duty} points between the bounds {typed(low)} and {typed(high)}"
        refuse(duty_here, ((low > X) | (high < X)).any(axis=1), X)
    called(f"{duty} points that {type(problem).__name__} takes", problem.evaluate, X)
