"""Random hierarchies, tables, lattice nodes, trees, partitions and suppression policies, for hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from plain import Levels, PlainTable

from pymoo_anon.engine import EquivalenceClasses
from pymoo_anon.table import AtMost, Below, Generalization, Hierarchy, Microdata, Taxonomy


def more(times: int) -> settings:
    """Multiply the profile's number of examples, for many cases."""
    return settings(max_examples=times * settings.default.max_examples)


def fewer(parts: int) -> settings:
    """Divide the profile's number of examples, for slow tests."""
    return settings(max_examples=settings.default.max_examples // parts)


def times(n: int) -> int:
    """Scale `n` with the profile's number of examples."""
    return n * settings.default.max_examples // 20


def a_third_at_once(seeds: Iterable[int]) -> list[Any]:
    """Mark two of three seeds as slow."""
    return [pytest.param(seed, marks=[pytest.mark.slow] if seed % 3 else []) for seed in seeds]


def promised(n: int, quick: float = 1) -> settings:
    """Draw at least `n` examples if the profile exceeds the default.

    Else multiply the profile's number.
    """
    drawn = settings.default.max_examples
    return settings(max_examples=max(n, drawn) if drawn > 20 else int(quick * drawn))


@contextmanager
def unchanged(*arrays: np.ndarray) -> Iterator[None]:
    """Check that arrays do not change.

    Freezing them would make loops compile once more.
    """
    before = [array.copy() for array in arrays]
    yield
    for array, earlier in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, earlier)


def at_levels(hierarchies: Mapping[Any, Hierarchy], node: Sequence[int]) -> Generalization:
    """Generalize each quasi-identifier to a level of its hierarchy."""
    chosen = list(zip(hierarchies.items(), node, strict=True))
    return Generalization(
        {name: h.groups[level] for (name, h), level in chosen}, {name: h.labels[level] for (name, h), level in chosen}
    )


@dataclass
class Table:
    """A random table, as rows and as a Microdata.

    Attributes:
        frame: The rows.
        levels: Per quasi-identifier its levels, each a dict from value to label.
        microdata: The same table; its sensitive columns are "s0" and "s1", its label is "label" or "q0".
    """

    frame: pd.DataFrame
    levels: dict[str, Levels]
    microdata: Microdata

    @cached_property
    def plain(self) -> PlainTable:
        return PlainTable(self.frame, self.levels)

    @property
    def top(self) -> tuple[int, ...]:
        """The most general node."""
        return tuple(len(levels) - 1 for levels in self.levels.values())

    @cached_property
    def tuple_of_row(self) -> np.ndarray:
        """The distinct tuple that each row is."""
        place = {tuple(codes): i for i, codes in enumerate(self.microdata.tuples.codes.tolist())}
        domains = [list(levels[0]) for levels in self.levels.values()]
        rows = self.frame[list(self.levels)].itertuples(index=False)
        return np.array([place[tuple(d.index(v) for d, v in zip(domains, row, strict=True))] for row in rows])

    def group_maps(self, nodes: Iterable[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        """Return the group maps and group counts of some nodes."""
        hierarchies = self.microdata.quasi_identifiers.values()
        chosen = [list(zip(hierarchies, node, strict=True)) for node in nodes]
        maps = np.array([np.concatenate([h.groups[level] for h, level in one]) for one in chosen])
        return maps, np.array([[h.n_groups[level] for h, level in one] for one in chosen])

    def generalization(self, node: Sequence[int]) -> Generalization:
        return at_levels(self.microdata.quasi_identifiers, node)


@st.composite
def level_columns(draw: st.DrawFn, domain: Sequence[Any], rooted: bool | None = None) -> list[list[Any]]:
    """Draw columns of a `Hierarchy`: random coarsenings of a domain.

    `rooted` tells whether the last one is a root; None draws it.
    """
    groups = list(range(len(domain)))
    columns = [list(domain)]
    for level in range(1, draw(st.integers(0, 3)) + 1):
        n = len(set(groups))
        parents = draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
        number = {group: i for i, group in enumerate(dict.fromkeys(groups))}
        groups = [parents[number[group]] for group in groups]
        columns.append([f"{level}:{group}" for group in groups])
    if draw(st.booleans()) if rooted is None else rooted:
        columns.append(["*"] * len(domain))
    return columns


@st.composite
def hierarchies(draw: st.DrawFn, max_values: int = 6, rooted: bool | None = None) -> Hierarchy:
    """Draw a hierarchy over a small domain in any order."""
    of = draw(st.sampled_from([st.text(max_size=3), st.integers(-9, 9)]))
    domain = draw(st.lists(of, min_size=1, max_size=max_values, unique=True))
    return Hierarchy(draw(level_columns(domain, rooted)))


@st.composite
def tables(draw: st.DrawFn, max_attributes: int = 4, max_rows: int = 30, rooted: bool | None = None) -> Table:
    """Draw a small table with domains that may exceed its rows."""
    columns, levels = {}, {}
    n_rows = draw(st.integers(1, max_rows))
    # Rows that hypothesis draws one by one are mostly equal.
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    for j in range(draw(st.integers(1, max_attributes))):
        n_values = draw(st.integers(1, 6))
        domain = list(range(n_values)) if j % 2 == 0 else [f"v{i}" for i in range(n_values)]
        given_levels = draw(level_columns(domain, rooted))
        levels[f"q{j}"] = [dict(zip(domain, column, strict=True)) for column in given_levels]
        columns[f"q{j}"] = rng.choice(domain, n_rows).tolist()
    for name, values in (("s0", "abcd"), ("s1", [1, 2, 3]), ("label", [False, True])):
        columns[name] = rng.choice([*values], n_rows).tolist()
    trees = {name: Hierarchy([list(level.values()) for level in own]) for name, own in levels.items()}
    microdata = microdata_of(columns, trees, ("s0", "s1"), draw(st.sampled_from(["label", "q0"])))
    return Table(pd.DataFrame(columns), levels, microdata)


def microdata_of(columns, trees, sensitive=(), label=None, person=None):
    """Build a table from lists of values. Reading a frame takes ten times as long."""
    codes = [own.encode(columns[name]) for name, own in trees.items()]
    roles = dict.fromkeys(name for name in (*sensitive, label, person) if name is not None and name not in trees)
    others = {name: np.unique(columns[name], return_inverse=True) for name in roles}
    domains, places = ({name: pair[i].tolist() for name, pair in others.items()} for i in (0, 1))
    weights = np.ones(len(codes[0]), dtype=np.int64)
    return Microdata.from_codes(trees, codes, weights, places, domains, sensitive, label, person)


def nodes(table: Table) -> st.SearchStrategy[tuple[int, ...]]:
    """Draw a lattice node of a table."""
    return st.tuples(*(st.integers(0, level) for level in table.top))


def policies(table: Table) -> st.SearchStrategy[dict[str, int]]:
    """Draw a suppression policy, as `limit` or `below`."""
    n_rows = len(table.frame)
    limits = st.integers(0, n_rows - 1).map(lambda limit: {"limit": limit})
    return limits | st.integers(1, n_rows).map(lambda below: {"below": below})


def one_class_each(values_of_class: Sequence[Iterable[Any]]) -> Microdata:
    """Build a table with one class per value of its quasi-identifier."""
    rows = [(i, value) for i, values in enumerate(values_of_class) for value in values]
    frame = pd.DataFrame(rows, columns=["q", "s"])
    hierarchy = Hierarchy.flat(range(len(values_of_class)))
    return Microdata.from_frame(frame, {"q": hierarchy}, sensitive="s")


def raw(table: Microdata, limit: int = 0, below: int = 0) -> EquivalenceClasses:
    """Return the classes of a table without generalization."""
    domains = table.tuples.domain_sizes
    maps = np.concatenate([np.arange(n) for n in domains])[np.newaxis]
    (classes,) = table.grouper.classes(
        maps, np.array([domains]), columns=tuple(table.tuples.columns), limit=limit, below=below
    )
    return classes.copy()


@st.composite
def populations(draw: st.DrawFn, table: Table, max_rows: int = 40) -> Microdata:
    """Draw a table with the same quasi-identifiers, with or without these rows."""
    trees = table.microdata.quasi_identifiers
    own = st.tuples(*(st.sampled_from(tree.domain) for tree in trees.values()))
    rows = draw(st.lists(own, min_size=1, max_size=max_rows))
    rows += table.frame[list(trees)].itertuples(index=False) if draw(st.booleans()) else []
    return microdata_of(dict(zip(trees, map(list, zip(*rows, strict=True)), strict=True)), trees)


def grown(pick: Callable[[int, int], int], n_leaves: int, first: int = 0) -> dict[str, Any]:
    """Grow a nested tree with leaves "v<n>", numbered from `first`.

    `pick(low, high)` decides, both ends included.
    """
    if n_leaves == 1:
        return {"name": f"v{first}"}
    n_children, left, children = pick(2, n_leaves), n_leaves, []
    for others in range(n_children - 1, -1, -1):
        size = pick(1, left - others) if others else left
        children.append(grown(pick, size, first + n_leaves - left))
        left -= size
    return {"name": f"n{first}-{first + n_leaves - 1}", "children": children}


def trees(min_leaves: int = 1, max_leaves: int = 12) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a nested tree without inner nodes of one child."""

    @st.composite
    def tree(draw: st.DrawFn) -> dict[str, Any]:
        return grown(lambda low, high: draw(st.integers(low, high)), draw(st.integers(min_leaves, max_leaves)))

    return tree()


def taxonomies(min_leaves: int = 1, max_leaves: int = 12) -> st.SearchStrategy[Taxonomy]:
    """Draw a taxonomy of such a tree."""
    return trees(min_leaves, max_leaves).map(Taxonomy)


def cuts(tree: dict[str, Any]) -> list[tuple[bool, ...]]:
    """Return every cut of a nested tree as a string, by definition."""
    children = tree.get("children") or []
    if not children:
        return [()]
    found = [tuple(bit for cut in chosen for bit in (True, *cut))[1:] for chosen in product(*map(cuts, children))]
    return [(False,) * len(found[0]), *found]


def every_string(n_bits: int) -> np.ndarray:
    """Return all strings as a (2 ** n_bits, n_bits) Boolean array."""
    return np.arange(2**n_bits)[:, None] >> np.arange(n_bits) & 1 == 1


@dataclass
class Partition:
    """Arguments of a `BitStringProblem`, and domains in the order of its bits."""

    table: Table
    orders: dict[str, list[Any]]
    trees: dict[str, dict[str, Any]]
    domains: dict[str, list[Any]]

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "orders": self.orders,
            "taxonomies": {name: Taxonomy(tree) for name, tree in self.trees.items()},
        }

    def labels_of(self, x: Sequence[bool]) -> dict[str, Levels]:
        """Count the bits before each value, which number its group."""
        levels, bits = {}, list(x)
        for name, domain in self.domains.items():
            own, bits = bits[: len(domain) - 1], bits[len(domain) - 1 :]
            levels[name] = [{value: sum(own[:i]) for i, value in enumerate(domain)}]
        return levels


@st.composite
def partitions(draw: st.DrawFn, **kwargs: Any) -> Partition:
    """Draw a small table with orders or taxonomies that may exceed it."""
    table = draw(tables(**kwargs).filter(lambda table: any(len(levels[0]) > 1 for levels in table.levels.values())))
    orders, nested, domains = {}, {}, {}
    for name, levels in table.levels.items():
        domains[name] = list(levels[0])
        kind = draw(st.sampled_from(["own", "order", "taxonomy"]))
        if kind != "own":
            more = [100, 101] if isinstance(domains[name][0], int) else ["more", "most"]
            domains[name] = draw(st.permutations(domains[name] + more[: draw(st.integers(0, 2))]))
        if kind == "order":
            orders[name] = domains[name]
        if kind == "taxonomy":
            nested[name] = renamed(draw(trees(len(domains[name]), len(domains[name]))), map(str, domains[name]))
    return Partition(table, orders, nested, domains)


def renamed(tree: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Rename the leaves of a tree."""
    left = iter(names)
    if not tree.get("children"):
        return {"name": next(left)}
    return {"name": tree["name"], "children": [renamed(child, left) for child in tree["children"]]}


def rule_of(policy):
    """Return the rule of suppression for the engine's policy."""
    return Below(policy["below"]) if policy.get("below") else AtMost(policy.get("limit", 0))


def nested(n_values: int) -> Hierarchy:
    """Build a hierarchy of n values by pairs, fours and so on."""
    columns, width = [[f"v{i}" for i in range(n_values)]], 2
    while width < n_values:
        columns.append([f"{width}:{i // width}" for i in range(n_values)])
        width *= 2
    return Hierarchy([*columns, ["*"] * n_values])


def invented_frame(seed: int) -> pd.DataFrame:
    """Build 60 rows with four columns and two sensitive ones, all correlated."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, 60)
    frame = pd.DataFrame({f"q{j}": (group * 4 + rng.integers(0, 8, 60)) % 16 for j in range(4)})
    frame["s0"] = np.array(list("abcd"))[(group + rng.choice(4, 60, p=[0.4, 0.3, 0.2, 0.1])) % 4]
    frame["s1"] = group + rng.integers(0, 2, 60)
    return frame
