"""Problem of bit strings (Iyengar 2002), and preferred points of loss and bias."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pymoo.core.decomposition import Decomposition

from pymoo_anon._messages import examples
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.loss import NormalizedClassDispersion, NormalizedWeightedPenalty
from pymoo_anon.problems.base import AnonymizationProblem, plain_array
from pymoo_anon.table.domain_values import Name, real_numbers
from pymoo_anon.table.generalization import Constraint, Generalization, Suppression
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata, check_table
from pymoo_anon.table.taxonomy import Taxonomy, closest_cuts, random_cuts, valid_cuts
from pymoo_anon.typing import Bools, Floats, Ints


class BitStringProblem(AnonymizationProblem):
    """Generalization by partitions of ordered domains (Iyengar 2002).

    A bit is 1 where two neighbours in a domain stay apart. The strings of all quasi-identifiers are laid end to end.
    Values have the order of the hierarchy's domain, of `orders`, or of a taxonomy's leaves. An attribute with a
    taxonomy takes only its cuts, the others every partition. Other strings are refused.

    Args:
        table: The table.
        objectives: One or more objectives, in the order of the columns of F.
        suppression: As of `LatticeProblem`.
        constraints: Bounds on objectives, such as `KAnonymity() >= 5`, in the order of the columns of G.
        orders: By quasi-identifier all its values in another order. The domain counts values that the table lacks.
        taxonomies: By quasi-identifier a taxonomy of its values. The domain counts leaves that the table lacks.
        elementwise_runner: As of `AnonymizationProblem`.

    Attributes:
        table: The table, with the domains in the order of the bits.
        taxonomies: The taxonomies, by quasi-identifier.
        bit_offsets: (n_quasi_identifiers + 1,) int64 array, the first bit of each.

    Raises:
        TypeError: As of `AnonymizationProblem`, or a taxonomy is no Taxonomy.
        KeyError: `orders` or `taxonomies` names no quasi-identifier.
        ValueError: As of `AnonymizationProblem`; or a quasi-identifier has both an order and a taxonomy, or one of them
            lacks a value.
    """

    def __init__(
        self,
        table: Microdata,
        objectives: Sequence[Objective],
        suppression: float | Suppression = 0,
        constraints: Sequence[Constraint] = (),
        *,
        orders: Mapping[str, Sequence[Hashable]] | None = None,
        taxonomies: Mapping[str, Taxonomy] | None = None,
        elementwise_runner: Callable[..., Any] | None = None,
    ) -> None:
        check_table(table)
        taxonomies = dict(taxonomies or {})
        table = _in_order_of_bits(table, dict(orders or {}), taxonomies)
        offsets = table.tuples.offsets
        self.bit_offsets = offsets - np.arange(len(offsets))
        n_bits = int(self.bit_offsets[-1])
        if n_bits == 0:
            raise ValueError("table must have a quasi-identifier with at least two values, got none")
        super().__init__(
            table,
            objectives,
            n_var=n_bits,
            xu=np.ones(n_bits),
            vtype=bool,
            suppression=suppression,
            constraints=constraints,
            elementwise_runner=elementwise_runner,
        )
        self.taxonomies = taxonomies
        self._spans, self._merge_shares = self._trees()
        # Places of bits among the codes: every value of an attribute but the first follows a bit.
        self._after_bit = np.setdiff1d(np.arange(offsets[-1]), offsets[:-1])

    @property
    def n_strings(self) -> int:
        """Number of valid strings, exact."""
        return prod(
            self.taxonomies[name].n_cuts if name in self.taxonomies else 2 ** (hierarchy.n_values - 1)
            for name, hierarchy in self.table.quasi_identifiers.items()
        )

    def bits_of(self, name: str) -> slice:
        """Return the place of a quasi-identifier's bits.

        Raises:
            KeyError: There is no such quasi-identifier.
        """
        names = list(self.table.quasi_identifiers)
        if name not in names:
            raise KeyError(f"name must be one of the quasi-identifiers {examples(names)}, got {name!r}")
        place = names.index(name)
        return slice(int(self.bit_offsets[place]), int(self.bit_offsets[place + 1]))

    def is_valid(self, X: ArrayLike) -> Bools:
        """Return which (n, n_var) Boolean strings are cuts of the taxonomies.

        Raises:
            TypeError: X is not Boolean.
            ValueError: X has another shape.
        """
        return valid_cuts(self._strings(X), self._spans)

    def closest(self, X: ArrayLike, random_state: np.random.Generator | None = None) -> Bools:
        """Return the nearest valid strings by Hamming distance.

        Args:
            X: (n, n_var) Boolean array.
            random_state: Decides between several nearest ones. None takes the most general of them.

        Raises:
            TypeError: X is not Boolean.
            ValueError: X has another shape.
        """
        strings = self._strings(X)
        shape = (len(strings), len(self._spans))
        draws = np.zeros(shape) if random_state is None else random_state.random(shape)
        return closest_cuts(strings, self._spans, draws)

    def sample(self, n: int, random_state: np.random.Generator) -> Bools:
        """Draw n valid strings, (n, n_var) Boolean, each with equal probability."""
        free = random_state.random((n, self.n_var)) < 0.5
        return random_cuts(free, self._spans, self._merge_shares, random_state.random((n, len(self._spans))))

    def decode(self, x: ArrayLike) -> Generalization:
        """Return the generalization of one string, an (n_var,) or (1, n_var) array.

        A group has the name of its node in the taxonomy, of the range of its numbers ("25–34"), or of its values
        ("Federal-gov | State-gov").

        Raises:
            TypeError: x is not Boolean.
            ValueError: x has another length, or is no cut where there is a taxonomy.
        """
        (maps,), _ = self.group_maps(self._one(x, f"string of {self.n_var} bits"))
        groups: dict[str, Ints] = {}
        labels: dict[str, tuple[Hashable, ...]] = {}
        parts = np.split(maps, self.table.tuples.offsets[1:-1])
        for (name, hierarchy), own in zip(self.table.quasi_identifiers.items(), parts, strict=True):
            groups[name] = own
            if name in self.taxonomies:
                labels[name] = self.taxonomies[name].labels(np.diff(own).astype(bool))
            else:
                begins = np.flatnonzero(np.diff(own, prepend=-1)).tolist()
                runs = pairwise([*begins, len(own)])
                labels[name] = tuple(hierarchy.run_label(first, end - 1) for first, end in runs)
        return Generalization(groups, labels)

    def _trees(self) -> tuple[Ints, Floats]:
        """Return spans and shares of all taxonomies, numbered over the whole string."""
        spans, shares = [np.empty((0, 3), dtype=np.int64)], [np.empty(0)]
        for name, taxonomy in self.taxonomies.items():
            start = self.bits_of(name).start
            spans.append(taxonomy.spans + np.array([start, start, sum(map(len, spans))]))
            shares.append(taxonomy.merge_shares)
        return np.concatenate(spans), np.concatenate(shares)

    def _strings(self, X: ArrayLike) -> Bools:
        given = plain_array(X)
        if given.dtype != bool:
            raise TypeError(
                f"X must be Boolean strings, got {given.dtype}; BitStringSampling and the operators of bit strings "
                "keep them Boolean in any algorithm"
            )
        if given.ndim != 2 or given.shape[1] != self.n_var:
            raise ValueError(f"X must be strings of {self.n_var} bits, an (n, {self.n_var}) array, got {given.shape}")
        # One layout, so that loops are compiled only once.
        return np.require(given, requirements=["C", "W"])

    def checked(self, X: ArrayLike) -> Bools:
        """Return strings as an (n, n_var) Boolean array.

        Raises:
            TypeError: X is not Boolean.
            ValueError: X has another shape, or a string is no cut of a taxonomy.
        """
        strings = self._strings(X)
        valid = valid_cuts(strings, self._spans)
        if not valid.all():
            for name, taxonomy in self.taxonomies.items():
                own = strings[:, self.bits_of(name)]
                wrong = own[~taxonomy.is_valid(own)]
                if len(wrong):
                    shown = ["".join("01"[bit] for bit in bits) for bits in wrong.astype(int)]
                    raise ValueError(
                        f"X must hold cuts of the taxonomy of {name!r}, got {examples(shown)}; ClosestValidRepair "
                        "makes cuts of strings, PartitionCrossover keeps them"
                    )
        return strings

    def group_maps(self, X: Bools) -> tuple[Ints, Ints]:
        offsets = self.table.tuples.offsets
        ones = np.zeros((len(X), offsets[-1]), dtype=np.int64)
        ones[:, self._after_bit] = X
        maps = np.cumsum(ones, axis=1)
        maps -= np.repeat(maps[:, offsets[:-1]], np.diff(offsets), axis=1)
        return maps, maps[:, offsets[1:] - 1] + 1

    def _variables(self, X: Bools) -> dict[Name, Ints]:
        return {name: X[:, self.bits_of(name)].sum(axis=1) + 1 for name in self.table.quasi_identifiers}


def _in_order_of_bits(
    table: Microdata, orders: Mapping[str, Sequence[Hashable]], taxonomies: Mapping[str, Taxonomy]
) -> Microdata:
    for name, taxonomy in taxonomies.items():
        if not isinstance(taxonomy, Taxonomy):
            raise TypeError(f"taxonomies[{name!r}] must be a Taxonomy, got {taxonomy!r}")
        if name in orders:
            raise ValueError(f"quasi-identifier {name!r} must not have both an order and a taxonomy")
    hierarchies = {name: Hierarchy(taxonomy.levels()) for name, taxonomy in taxonomies.items()}
    hierarchies.update((name, _ordered(name, order, table)) for name, order in orders.items())
    return table.recoded(hierarchies)


def _ordered(name: str, order: Sequence[Hashable], table: Microdata) -> Hierarchy:
    """Return a hierarchy in another order, or a flat one for other values."""
    try:
        flat = Hierarchy.flat(order)
    except ValueError as error:
        raise ValueError(f"orders[{name!r}]: {error}") from None
    own = table.quasi_identifiers.get(name, flat)
    if flat.domain == own.domain:
        return own
    if own.bins is not None and isinstance(own.domain[0], str):
        raise ValueError(f"orders[{name!r}] must leave bins of numbers as they are, got {examples(flat.domain)}")
    places = own.encode(flat.domain)
    if own.n_values != flat.n_values or (places < 0).any():
        return flat
    return Hierarchy(
        [[labels[group] for group in groups[places]] for groups, labels in zip(own.groups, own.labels, strict=True)]
    )


class Achievement(Decomposition):  # type: ignore[misc]
    """The achievement of a preferred point (Dewri et al. 2009, section 4).

    It is `max_i w_i (F_i - utopian_i)`, where lower is better. w_i is proportional to 1 / (preference_i - utopian_i),
    and the weights sum to 1. The utopian point is the ideal point, the origin by default, minus `eps`. As with pymoo's
    `ASF`, it is called with F and weights, which are the preferred points here.

    Args:
        eps: A very small positive number.

    >>> Achievement()(np.array([[0.2, 0.5], [0.4, 0.1]]), np.array([0.2, 1.0])).round(3)
    array([0.167, 0.333])
    """

    def __init__(self, eps: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(eps=eps, **kwargs)

    def _do(self, F: Floats, weights: Floats, **kwargs: Any) -> Floats:
        w = 1 / (weights - self.utopian_point)
        return (w / w.sum(axis=1, keepdims=True) * (F - self.utopian_point)).max(axis=1)


class PreferredPoint(Objective):
    """The achievement of preferred NWP and NECD, where lower is better.

    Args:
        preference: The preferred (NWP, NECD), each from 0 to 1.
        weights: Weights of the quasi-identifiers in NWP, as in `NormalizedWeightedPenalty`.

    Raises:
        ValueError: `preference` is not a point between 0 and 1, or `weights` do not sum to 1.

    >>> PreferredPoint((0.2, 1.0)).name
    'achievement of (0.2, 1)'
    """

    maximize = False
    step = 0.001

    def __init__(self, preference: ArrayLike, weights: Sequence[float] | Floats | None = None) -> None:
        point = real_numbers(preference)
        if point.shape != (2,) or not ((point >= 0) & (point <= 1)).all():
            raise ValueError(f"preference must be a point (NWP, NECD) between 0 and 1, got {preference!r}")
        self.name = f"achievement of ({point[0]:g}, {point[1]:g})"
        self.preference: Floats = point
        self.loss = NormalizedWeightedPenalty(weights)
        self.bias = NormalizedClassDispersion()

    def check(self, table: Microdata) -> None:
        """Raise unless there is a weight for every quasi-identifier."""
        self.loss.check(table)

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        """Return the (n,) achievements of n generalizations."""
        return self.achieved(np.column_stack([self.loss.evaluate(classes), self.bias.evaluate(classes)]))

    def achieved(self, points: Floats) -> Floats:
        """Return the (n,) achievements of (n, 2) points of NWP and NECD."""
        return Achievement().do(points, self.preference, _type="many_to_one")

    def deviation(self, points: Floats) -> Floats:
        """Return the preference deviations of points, NWP and NECD minus the preferred ones.

        They decide between equal achievements (Dewri et al. 2009, section 4).
        """
        return points.sum(axis=-1) - self.preference.sum()

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        """Return the achievements of the best and of the worst point."""
        best, worst = self.achieved(np.array([[0.0, 0.0], [1.0, 1.0]]))
        return float(best), float(worst)

    def _arguments(self) -> list[str]:
        return [repr(tuple(self.preference.tolist()))]
