"""Privacy objectives.

Suppressed tuples form one class of their own, wholly generalized. It counts in sums over tuples, and never as the worst
class. Where every tuple is suppressed the table is that one class.
"""

from pymoo_anon.objectives.privacy.closeness import BasicBetaLikeness, DeltaDisclosure, EnhancedBetaLikeness, TCloseness
from pymoo_anon.objectives.privacy.diversity import (
    AlphaDeassociation,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveCLDiversity,
    SquaredValueCounts,
)
from pymoo_anon.objectives.privacy.identity import (
    HouseholdRisk,
    KAnonymity,
    ProsecutorRisk,
    RecordsAtRisk,
    SquaredClassSizes,
)
from pymoo_anon.objectives.privacy.register import (
    DeltaPresence,
    KMap,
    LeastPayout,
    LeastPresence,
    MarketerRisk,
    PublisherPayout,
)

__all__ = [
    "AlphaDeassociation",
    "BasicBetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "HouseholdRisk",
    "KAnonymity",
    "KMap",
    "LeastPayout",
    "LeastPresence",
    "MarketerRisk",
    "ProsecutorRisk",
    "PublisherPayout",
    "RecordsAtRisk",
    "RecursiveCLDiversity",
    "SquaredClassSizes",
    "SquaredValueCounts",
    "TCloseness",
]
