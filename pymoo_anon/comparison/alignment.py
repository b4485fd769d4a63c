"""Bringing vectors, and sets of vectors, into line before they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon.comparison.vectors import Ints, PropertyVector, Values, finite_values

Vector = PropertyVector | ArrayLike


@dataclass(frozen=True, eq=False)
class Aligned:
    """Vectors that can be compared.

    Attributes:
        values: (n, m) float array, one vector a row, such that higher is better.
        counts: (m,) int64 array, how many tuples each column stands for.
        vectors: The vectors as they were given.
    """

    values: Values
    counts: Ints
    vectors: Sequence[Vector]

    @property
    def known(self) -> PropertyVector | None:
        """The first vector, which knows the property of all; None where they are plain arrays."""
        return self.vectors[0] if isinstance(self.vectors[0], PropertyVector) else None


def align(vectors: Sequence[Vector], where: str = "") -> Aligned:
    """Bring vectors of one property into line."""
    if len(vectors) == 0:
        raise ValueError("vectors must hold at least one vector, got none")
    first = vectors[0]
    rows = []
    for number, vector in enumerate(vectors, start=1):
        name = f"d{number}{where}"
        if isinstance(vector, PropertyVector) != isinstance(first, PropertyVector):
            raise ValueError(
                f"d1{where} and {name} must both be a PropertyVector or both plain arrays, got {_kind(first)} and "
                f"{_kind(vector)}; PropertyVector.expand() makes an array of all tuples"
            )
        if isinstance(vector, PropertyVector) and isinstance(first, PropertyVector):
            _check_same_property(first, vector, f"d1{where}", name)
            rows.append(vector.oriented)
        else:
            rows.append(finite_values(vector, name))  # type: ignore[arg-type]
            if len(rows[-1]) != len(rows[0]):
                raise ValueError(
                    f"{name} must be as long as d1{where}, which has {len(rows[0])} values, got {len(rows[-1])}"
                )
    counts = first.counts if isinstance(first, PropertyVector) else np.ones(len(rows[0]))
    # A table's arrays are read-only. Numba would compile every loop once more for those, so the loops get copies.
    return Aligned(np.stack(rows), counts.astype(np.int64), vectors)


def align_sets(sets: Sequence[Sequence[Vector]], n: int | None = None) -> list[Aligned]:
    """Bring sets of vectors into line, property by property.

    Returns:
        For each property the vectors of all sets.
    """
    if len(sets) == 0:
        raise ValueError("sets must hold at least one set of vectors, got none")
    for number, one in enumerate(sets, start=1):
        if not is_set(one):
            raise ValueError(
                f"set {number} must be a sequence of vectors, one for each property, got {_kind(one)}"  # type: ignore[arg-type]
            )
        n = n or len(one)
        if len(one) != n:
            raise ValueError(f"set {number} must hold {n} vectors, one for each property, got {len(one)}")
    return [align(vectors, f" of property {p}") for p, vectors in enumerate(zip(*sets, strict=True), start=1)]


def is_set(given: Any) -> bool:
    """Whether something is a set of at least one vector, and not a vector itself."""
    if isinstance(given, PropertyVector) or not isinstance(given, list | tuple | np.ndarray):
        return False
    return len(given) > 0 and all(isinstance(one, PropertyVector) or np.ndim(one) > 0 for one in given)


def _check_same_property(first: PropertyVector, other: PropertyVector, first_name: str, name: str) -> None:
    """Refuse a vector of another table or property than the first."""
    if other.tuples is not first.tuples:
        raise ValueError(f"{first_name} and {name} must be of one table, got vectors of two Microdata objects")
    mine, theirs = (first.name, first.unit, first.maximize), (other.name, other.unit, other.maximize)
    if mine != theirs:
        raise ValueError(f"{first_name} and {name} must be of one property, got {first!r} and {other!r}")


def _kind(vector: Vector) -> str:
    """What an error says of something that was given as a vector."""
    return repr(vector) if isinstance(vector, PropertyVector) else f"an array of shape {np.shape(vector)}"
