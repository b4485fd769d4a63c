"""Comparison of anonymizations for the people in the table (Dewri et al. 2009).

A property gives every tuple a value. A comparator finds the better of two such vectors, and `compare` applies them to
many generalizations. `distribution`, `gains` and `worst_off` show whom an anonymization favours, `population_uniques`
and `individual_risk` the persons of a population that can be found, `inference` the guesses that a release allows.
`uniqueness` counts the rows that columns single out and `special_uniques` scores them. `better_off` counts the people
whom one of two releases favours.
`CountQueries`, `CertainCounts`, `total_variation`, `means` and `classification` measure the remaining use. A property
or a comparator of your own derives from `Property`, `Comparator` or `SetComparator`.
"""

from typing import TYPE_CHECKING

from pymoo_anon._rooms import later

if TYPE_CHECKING:
    from pymoo_anon.comparison.comparators import (
        Comparator,
        Coverage,
        Dominance,
        Goal,
        Hypervolume,
        Lexicographic,
        Minimum,
        Rank,
        SetComparator,
        Spread,
        Tournament,
        Weighted,
    )
    from pymoo_anon.comparison.comparing import (
        BetterOff,
        Comparison,
        better_off,
        compare,
        compare_sizes,
        compare_uses,
        distribution,
        gains,
        gini,
        lorenz_curve,
        worst_off,
    )
    from pymoo_anon.comparison.properties import (
        BreachProbability,
        ClassSize,
        DistinctValues,
        Property,
        PropertyVector,
        SensitiveCount,
        TupleLoss,
        TupleUtility,
        released,
    )
    from pymoo_anon.comparison.risk import (
        PopulationUniqueness,
        PopulationUniques,
        individual_risk,
        inference,
        k_for_k_map,
        population_uniques,
    )
    from pymoo_anon.comparison.uniques import SpecialUniques, Uniqueness, special_uniques, uniqueness
    from pymoo_anon.comparison.utility import CertainCounts, CountQueries, classification, means, total_variation

__all__ = [
    "BetterOff",
    "BreachProbability",
    "CertainCounts",
    "ClassSize",
    "Comparator",
    "Comparison",
    "CountQueries",
    "Coverage",
    "DistinctValues",
    "Dominance",
    "Goal",
    "Hypervolume",
    "Lexicographic",
    "Minimum",
    "PopulationUniqueness",
    "PopulationUniques",
    "Property",
    "PropertyVector",
    "Rank",
    "SensitiveCount",
    "SetComparator",
    "SpecialUniques",
    "Spread",
    "Tournament",
    "TupleLoss",
    "TupleUtility",
    "Uniqueness",
    "Weighted",
    "better_off",
    "classification",
    "compare",
    "compare_sizes",
    "compare_uses",
    "distribution",
    "gains",
    "gini",
    "individual_risk",
    "inference",
    "k_for_k_map",
    "lorenz_curve",
    "means",
    "population_uniques",
    "released",
    "special_uniques",
    "total_variation",
    "uniqueness",
    "worst_off",
]

__getattr__ = later(__name__)
