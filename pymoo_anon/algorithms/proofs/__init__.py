"""Proofs: what branch and bound knows of a search space, one file or family of files for each kind of space."""
