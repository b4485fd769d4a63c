"""Proofs that a front is complete: one for each kind of search space."""
