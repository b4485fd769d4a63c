"""Taxonomies: trees of values with cuts as generalizations.

The functions at the end take bit strings and trees over them as spans: an (n_nodes, 3) int64 array in preorder with the
first leaf of a node, the leaf after its last, and the place after the last node below it. Bit i lies between leaves i
and i + 1. Several trees follow one another, and bits that no tree covers are free.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from reprlib import repr as shortened
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon._files import content_of
from pymoo_anon._messages import examples, repeated
from pymoo_anon.engine.compiled import njit
from pymoo_anon.typing import Bools, Floats, Ints


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Taxonomy:
    """A labelled tree over the ordered domain of an attribute (Iyengar 2002).

    Its leaves in preorder are the domain.

    A generalization is a cut: a set of nodes with exactly one on each path from the root to a leaf. As a bit string,
    bit i is 1 if leaves i and i + 1 stay apart (Lunacek et al. 2006, section 3.2). Instances are immutable. `from_json`
    reads a file.

    Args:
        tree: A node `{"name": "...", "children": [node, ...]}`, where a leaf has no children. Other keys are ignored,
            and hold neither lists nor mappings.

    Attributes:
        leaves: Tuple of the names of the leaves.
        n_bits: Number of bits of a string, one less than leaves.
        spans: (n_nodes, 3) int64 array, the spans of the nodes in preorder.

    Raises:
        TypeError: A node is not such a mapping, or a name is not a text.
        ValueError: A node is named twice, is below itself or in two places, an inner node has one child, or a key
            other than "children" holds a list or a mapping.

    >>> tree = {"name": "Work", "children": [{"name": "Public"}, {"name": "Private"}, {"name": "Unpaid"}]}
    >>> taxonomy = Taxonomy(tree)
    >>> taxonomy
    Taxonomy('Work', 3 leaves, 2 cuts)
    >>> taxonomy.is_valid([[False, False], [False, True], [True, True]]).tolist()
    [True, False, True]
    >>> taxonomy.labels([True, True])
    ('Public', 'Private', 'Unpaid')
    """

    leaves: tuple[str, ...]
    n_bits: int
    spans: Ints
    _names: list[str]
    _depths: list[int]

    def __init__(self, tree: Mapping[str, Any]) -> None:
        names, depths = _names_and_depths(tree)
        spans = _spans_of(depths)
        ends = spans[:, 2].tolist()
        leaves = tuple(name for place, (name, end) in enumerate(zip(names, ends, strict=True), start=1) if end == place)
        # Two groups with one name would be one in a released table.
        for what, own in (("leaf", leaves), ("node", names)):
            if twice := repeated(own):
                raise ValueError(f"taxonomy must name each {what} once, given more than once: {examples(twice)}")
        vars(self).update(leaves=leaves, n_bits=len(leaves) - 1, spans=spans, _names=names, _depths=depths)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Taxonomy:
        """Read a taxonomy from a JSON file.

        Raises:
            TypeError: As the class.
            ValueError: The file is not JSON, is nested too deeply for Python's reader (about a thousand levels), names
                a key of a node twice, or as the class.
            OSError: The file cannot be read.
        """
        name, data = os.fspath(path), content_of(path)
        try:
            tree = json.loads(data, object_pairs_hook=_mapping)
        except RecursionError:
            raise ValueError(f"{name} must be nested less deeply; Taxonomy(tree) takes trees of any depth") from None
        except ValueError as error:
            raise ValueError(f"{name} must be a JSON file: {error}") from None
        try:
            return cls(tree)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None

    @property
    def name(self) -> str:
        """Name of the root."""
        return self._names[0]

    @cached_property
    def n_cuts(self) -> int:
        """Exact number of cuts."""
        return self._n_cuts_below[0]

    def is_valid(self, bits: ArrayLike) -> Any:
        """Tell whether strings, (n_bits,) or (n, n_bits), are cuts.

        Raises:
            TypeError: They are not Boolean.
            ValueError: They have another length.
        """
        strings = self._strings(bits)
        valid = valid_cuts(strings, self.spans)
        return bool(valid[0]) if np.ndim(bits) == 1 else valid

    def closest(self, bits: ArrayLike, random_state: np.random.Generator | None = None) -> Bools:
        """Find the nearest cuts by Hamming distance.

        The result is exact, by a dynamic program from the leaves to the root. A valid string is its own nearest cut.
        Several nearest cuts have equal probability.

        Args:
            bits: One string (n_bits,) or many (n, n_bits), Boolean, and so is the result.
            random_state: Source of the draws between several nearest cuts. None takes the most general of them.

        Raises:
            TypeError: They are not Boolean.
            ValueError: They have another length.
        """
        strings = self._strings(bits)
        shape = (len(strings), len(self._names))
        draws = np.zeros(shape) if random_state is None else random_state.random(shape)
        cuts: Bools = closest_cuts(strings, self.spans, draws)
        return cuts[0] if np.ndim(bits) == 1 else cuts

    def sample(self, n: int, random_state: np.random.Generator) -> Bools:
        """Draw n random cuts, all with equal probability: (n, n_bits) Boolean."""
        draws = random_state.random((n, len(self._names)))
        return random_cuts(np.zeros((n, self.n_bits), dtype=bool), self.spans, self.merge_shares, draws)

    def labels(self, bits: ArrayLike) -> tuple[str, ...]:
        """Return the names of the groups of one cut.

        Raises:
            TypeError, ValueError: `bits` is not a Boolean string of the right length, or not a cut.
        """
        valid = self.is_valid(bits)
        if np.ndim(bits) != 1:
            raise ValueError(f"bits must be one string of {self.n_bits} bits, got shape {np.shape(bits)}")
        if not valid:
            raise ValueError(f"bits must be a cut of {self.name!r}, got {np.asarray(bits).astype(int).tolist()}")
        edges = [0, *(np.flatnonzero(np.asarray(bits)) + 1).tolist(), len(self.leaves)]
        spans = dict(zip(map(tuple, self.spans[:, :2].tolist()), self._names, strict=True))
        return tuple(spans[span] for span in pairwise(edges))

    def levels(self) -> list[list[str]]:
        """Return the columns of a hierarchy, leaves first.

        Each column has the nodes of one depth. A leaf that is nearer to the root stays itself until its depth is
        reached.
        """
        column, columns, depth = [self.name] * len(self.leaves), [], self._depths.__getitem__
        # From the root down, each node is replaced by its children, and a leaf by itself.
        for _, places in groupby(sorted(range(len(self._names)), key=depth), key=depth):
            column = column.copy()
            for place in places:
                first, last, _ = self.spans[place]
                column[first:last] = [self._names[place]] * (last - first)
            columns.append(column)
        return columns[::-1]

    @cached_property
    def _n_cuts_below(self) -> list[int]:
        # A leaf has one cut, an inner node one more than the product over its children, which follow it.
        counts, products = [1] * len(self._names), [1] * (max(self._depths) + 2)
        for place, end in reversed(list(enumerate(self.spans[:, 2]))):
            depth = self._depths[place]
            if end > place + 1:
                counts[place], products[depth + 1] = 1 + products[depth + 1], 1
            products[depth] *= counts[place]
        return counts

    @cached_property
    def merge_shares(self) -> Floats:
        """(n_nodes,) float array, the share of cuts that merge each node."""
        return np.array([1 / count for count in self._n_cuts_below])

    def _strings(self, bits: ArrayLike) -> Bools:
        given = np.asarray(bits)
        if given.dtype != bool:
            raise TypeError(f"bits must be Boolean, got {given.dtype}")
        if given.ndim not in (1, 2) or given.shape[-1] != self.n_bits:
            raise ValueError(
                f"bits must be one string of {self.n_bits} bits or an (n, {self.n_bits}) array, got shape {given.shape}"
            )
        # One layout saves compiling the loops for others.
        return np.require(np.atleast_2d(given), requirements=["C", "W"])

    def __repr__(self) -> str:
        cuts = str(self.n_cuts) if self.n_cuts < 10**15 else f"about 2^{self.n_cuts.bit_length() - 1}"
        return f"Taxonomy({self.name!r}, {len(self.leaves)} leaves, {cuts} cuts)"


def _names_and_depths(tree: Any) -> tuple[list[str], list[int]]:
    # Nodes are in preorder.
    names, depths = [], []
    # Placed mappings by identity. They are kept, so that no other object gets the identity of one.
    placed: dict[int, Any] = {}
    # Mappings to place with their depths, the next in preorder last.
    waiting: list[tuple[Any, int]] = [(tree, 0)]
    while waiting:
        given, depth = waiting.pop()
        name, children = _name_and_children(given)
        if id(given) in placed:
            raise ValueError(f"taxonomy must be a tree, got the node {name!r} below itself or in two places")
        placed[id(given)] = given
        names.append(name)
        depths.append(depth)
        waiting += [(child, depth + 1) for child in reversed(children)]
    return names, depths


def _spans_of(depths: Sequence[int]) -> Ints:
    ends = np.full(len(depths), len(depths))
    path: list[int] = []
    for place, depth in enumerate(depths):
        ends[path[depth:]] = place
        path[depth:] = [place]
    n_leaves = np.append(0, np.cumsum(ends == np.arange(1, len(depths) + 1)))
    return np.column_stack([n_leaves[:-1], n_leaves[ends], ends])


def _name_and_children(given: Any) -> tuple[str, list[Any] | tuple[Any, ...]]:
    name = given.get("name") if isinstance(given, Mapping) else None
    children = given.get("children") if isinstance(given, Mapping) else None
    children = [] if children is None else children
    if not isinstance(name, str) or not isinstance(children, list | tuple):
        raise TypeError(f"taxonomy must be of nodes {{'name': text, 'children': [...]}}, got {shortened(given)}")
    for key, value in given.items():
        if key != "children" and isinstance(value, Mapping | list | tuple):
            raise ValueError(f"taxonomy must have nodes below {name!r} under 'children' alone, got {key!r}")
    if len(children) == 1:
        raise ValueError(f"taxonomy must have no inner node with one child, got {name!r}")
    return name, children


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if twice := repeated(key for key, _ in pairs):
        raise ValueError(f"an object must name each key once, got more than once: {examples(twice)}")
    return dict(pairs)


@njit()
def closest_cuts(strings, spans, draws):
    """Find the nearest cuts of all trees, (n, n_bits) Boolean."""
    n_nodes = len(spans)
    cuts = strings.copy()
    merge_cost = np.empty(n_nodes, dtype=np.int64)
    split_cost = np.empty(n_nodes, dtype=np.int64)
    # Logarithms of the number of nearest cuts, and of those that split the node.
    ways = np.empty(n_nodes, dtype=np.float64)
    split_ways = np.empty(n_nodes, dtype=np.float64)
    shares = np.empty(n_nodes, dtype=np.float64)
    for s in range(len(strings)):
        bits = strings[s]
        # Backwards in preorder the costs of all children are known before their parent's.
        for node in range(n_nodes - 1, -1, -1):
            first, last, end = spans[node, 0], spans[node, 1], spans[node, 2]
            merge_cost[node] = bits[first : last - 1].sum()
            split_cost[node] = 0
            split_ways[node] = 0.0
            child = node + 1
            while child < end:
                if child > node + 1:
                    # The bit between two children is 1 if the node is split.
                    split_cost[node] += not bits[spans[child, 0] - 1]
                split_cost[node] += min(merge_cost[child], split_cost[child])
                split_ways[node] += ways[child]
                child = spans[child, 2]
            if end == node + 1 or merge_cost[node] < split_cost[node]:
                ways[node], shares[node] = 0.0, 1.0
            elif merge_cost[node] > split_cost[node]:
                ways[node], shares[node] = split_ways[node], -1.0
            else:
                ways[node] = np.logaddexp(0.0, split_ways[node])
                shares[node] = np.exp(-ways[node])
        _cut(cuts[s], spans, shares, draws[s])
    return cuts


@njit()
def random_cuts(strings, spans, shares, draws):
    """Draw random cuts of all trees, (n, n_bits) Boolean. Bits that no tree covers stay as they are."""
    cuts = strings.copy()
    for s in range(len(strings)):
        _cut(cuts[s], spans, shares, draws[s])
    return cuts


@njit(inline="always")
def _cut(bits, spans, shares, draws):
    """Merge nodes with probability, from the roots down. Below one group nothing is left to decide."""
    node = 0
    while node < len(spans):
        first, last, end = spans[node, 0], spans[node, 1], spans[node, 2]
        # A draw of 0 merges even if the share is too small for a float.
        if draws[node] <= shares[node]:
            bits[first : last - 1] = False
            node = end
            continue
        child = spans[node + 1, 2] if end > node + 1 else end
        while child < end:
            bits[spans[child, 0] - 1] = True
            child = spans[child, 2]
        node += 1


def valid_cuts(strings: Bools, spans: Ints) -> Bools:
    """Tell whether strings are cuts of all trees, (n,) Boolean."""
    # A cut alone is its own nearest cut.
    return (closest_cuts(strings, spans, np.zeros((len(strings), len(spans)))) == strings).all(axis=1)
