"""Proofs: what settles the points of a search space without visiting them, one for each kind of space."""
