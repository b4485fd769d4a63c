"""Every measure that needs no table, for tests of all of them."""

from pymoo_anon.objectives import *


def measures_of(column: str, person: str, label: str) -> list[Objective]:
    """Return them for a sensitive column, a column of persons and a label."""
    return [
        AlphaDeassociation(column),
        AverageClassSize(),
        BasicBetaLikeness(column),
        ClassificationMetric(label),
        DeltaDisclosure(column),
        DeltaDisclosure(column, strict=True),
        Discernibility(),
        DistinctLDiversity(column),
        EnhancedBetaLikeness(column),
        EntropyLDiversity(column),
        GeneralLossMetric(),
        HouseholdRisk(person),
        KAnonymity(),
        KAnonymity(person=person),
        KLDivergence(),
        LeastPayout(30, 100),
        MarketerRisk(),
        NonUniformEntropy(),
        NormalizedClassDispersion(),
        NormalizedWeightedPenalty(),
        Precision(),
        ProsecutorRisk(),
        PublisherPayout(30, 100),
        SquaredClassSizes(),
        SquaredValueCounts(column),
        TCloseness(column),
    ]
