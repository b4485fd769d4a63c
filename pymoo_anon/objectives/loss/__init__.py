"""Loss objectives. A suppressed tuple loses all there is to lose."""

from pymoo_anon.objectives.loss.cells import (
    GeneralLossMetric,
    NonUniformEntropy,
    NormalizedWeightedPenalty,
    Precision,
    attribute_losses,
)
from pymoo_anon.objectives.loss.classes import (
    AverageClassSize,
    ClassificationMetric,
    Discernibility,
    KLDivergence,
    NormalizedClassDispersion,
)

__all__ = [
    "AverageClassSize",
    "ClassificationMetric",
    "Discernibility",
    "GeneralLossMetric",
    "KLDivergence",
    "NonUniformEntropy",
    "NormalizedClassDispersion",
    "NormalizedWeightedPenalty",
    "Precision",
    "attribute_losses",
]
