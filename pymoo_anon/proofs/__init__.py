"""Proofs that a front is complete: one for each kind of search space."""

from pymoo_anon.proofs.base import Proof
from pymoo_anon.proofs.boxes import BoxProof
from pymoo_anon.proofs.stored.proof import StoredLatticeProof
from pymoo_anon.proofs.strings.proof import StringProof

__all__ = ["BoxProof", "Proof", "StoredLatticeProof", "StringProof"]
