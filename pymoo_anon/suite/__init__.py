"""Frozen instances with proven fronts, which other people's algorithms are measured on."""

from pymoo_anon.suite.instance import Instance
from pymoo_anon.suite.problem import SuiteProblem, baselines, load, names, standings

__all__ = ["Instance", "SuiteProblem", "baselines", "load", "names", "standings"]
