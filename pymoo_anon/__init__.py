"""Microdata anonymization as a multi-objective problem for pymoo."""

__version__ = "0.1.0"
