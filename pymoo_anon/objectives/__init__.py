"""Objectives: what a generalization is worth, as reductions over its equivalence classes."""
