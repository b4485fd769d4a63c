"""Variation operators that keep lattice levels whole, usable in any pymoo algorithm."""
