"""Fronts: archives, and indicators against the true front."""

from typing import TYPE_CHECKING

from pymoo_anon._rooms import later
from pymoo_anon.fronts.archive import BoxArchive, ParetoArchive

if TYPE_CHECKING:
    from pymoo_anon.fronts.indicators import ConvergenceMetric, RepresentationRatio

__all__ = ["BoxArchive", "ConvergenceMetric", "ParetoArchive", "RepresentationRatio"]

__getattr__ = later(__name__)
