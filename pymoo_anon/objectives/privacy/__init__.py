"""Privacy objectives.

Suppressed tuples form one class of their own, wholly generalized. It counts in sums over tuples, and never as the worst
class. Where every tuple is suppressed the table is that one class.
"""

from pymoo_anon.objectives.privacy.closeness import BasicBetaLikeness, DeltaDisclosure, EnhancedBetaLikeness, TCloseness
from pymoo_anon.objectives.privacy.diversity import (
    AlphaKAnonymity,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveCLDiversity,
    SensitiveCountSum,
)
from pymoo_anon.objectives.privacy.identity import AverageRisk, ClassSizeSum, KAnonymity, KMap, MaximumRisk

__all__ = [
    "AlphaKAnonymity",
    "AverageRisk",
    "BasicBetaLikeness",
    "ClassSizeSum",
    "DeltaDisclosure",
    "DistinctLDiversity",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "KAnonymity",
    "KMap",
    "MaximumRisk",
    "RecursiveCLDiversity",
    "SensitiveCountSum",
    "TCloseness",
]
