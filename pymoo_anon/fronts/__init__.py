"""Fronts: archives of the best that was found, and measures of a front against the true one."""

from pymoo_anon.fronts.archive import BoxArchive, ParetoArchive
from pymoo_anon.fronts.indicators import ConvergenceMetric, RepresentationRatio

__all__ = [
    "BoxArchive",
    "ConvergenceMetric",
    "ParetoArchive",
    "RepresentationRatio",
]
