"""Fronts: archives, and indicators against the true front."""

from pymoo_anon.fronts.archive import BoxArchive, ConvergenceMetric, ParetoArchive, RepresentationRatio

__all__ = ["BoxArchive", "ConvergenceMetric", "ParetoArchive", "RepresentationRatio"]
