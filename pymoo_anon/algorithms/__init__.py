"""Algorithms, through pymoo's own loop."""
