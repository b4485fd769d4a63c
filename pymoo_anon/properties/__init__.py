"""Properties: what an anonymization is worth to every single tuple, as property vectors (Dewri et al. 2009, section 3).

A property of one's own is a subclass of `Property` with a `name`, a direction, and one method, `values`.
"""

from pymoo_anon.properties.base import ColumnProperty, Property, released
from pymoo_anon.properties.measures import (
    BreachProbability,
    ClassSize,
    DistinctValues,
    SensitiveCount,
    TupleLoss,
    TupleUtility,
)
from pymoo_anon.properties.vectors import PropertyVector

__all__ = [
    "BreachProbability",
    "ClassSize",
    "ColumnProperty",
    "DistinctValues",
    "Property",
    "PropertyVector",
    "SensitiveCount",
    "TupleLoss",
    "TupleUtility",
    "released",
]
