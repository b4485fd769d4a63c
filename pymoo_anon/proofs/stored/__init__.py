"""Proofs over stored lattices."""
