"""Algorithms and operators at equal budgets, with statistics."""
