"""Proofs over bit strings."""
