"""Proofs that a front is complete, one for each kind of search space."""

from pymoo_anon.proofs.base import Limits, Proof
from pymoo_anon.proofs.intervals import IntervalProof
from pymoo_anon.proofs.stored import StoredLatticeProof
from pymoo_anon.proofs.strings import StringProof

__all__ = ["IntervalProof", "Limits", "Proof", "StoredLatticeProof", "StringProof"]
