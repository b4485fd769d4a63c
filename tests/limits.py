"""Proofs in small steps."""

from dataclasses import replace

from pymoo_anon.algorithms import BranchAndBound


def limited(search: BranchAndBound | None = None, **limits: int) -> BranchAndBound:
    """Return a search with other limits of its proof."""
    search = BranchAndBound() if search is None else search
    search.limits = replace(search.limits, **limits)
    return search
