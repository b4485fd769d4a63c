"""Proofs over lattices that are too large to store."""
