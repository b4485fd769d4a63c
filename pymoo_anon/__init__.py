"""Microdata anonymization as a multi-objective problem for pymoo."""

__version__ = "0.2.0"
