"""Frozen instances with proven fronts, as a benchmark for algorithms."""

from pymoo_anon.suite.problem import Instance, SuiteProblem, baselines, load, names, standings

__all__ = ["Instance", "SuiteProblem", "baselines", "load", "names", "standings"]
