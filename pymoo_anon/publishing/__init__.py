"""Choosing, releasing, recounting, evidence and reports."""

from typing import TYPE_CHECKING

from pymoo_anon._rooms import later
from pymoo_anon.publishing.codebook import Guarantee, codebook, guaranteed_counts, guaranteed_means, guaranteed_sums
from pymoo_anon.publishing.evidence import evidence, read_evidence, write_evidence
from pymoo_anon.publishing.keeping import Kept, mdav
from pymoo_anon.publishing.release import RecountError, Release, release
from pymoo_anon.publishing.verify import verify

if TYPE_CHECKING:
    from pymoo_anon.publishing.explaining import Explanation, explain
    from pymoo_anon.publishing.partitions import recode_partitions
    from pymoo_anon.publishing.report.page import write_report

__all__ = [
    "Explanation",
    "Guarantee",
    "Kept",
    "RecountError",
    "Release",
    "codebook",
    "evidence",
    "explain",
    "guaranteed_counts",
    "guaranteed_means",
    "guaranteed_sums",
    "mdav",
    "read_evidence",
    "recode_partitions",
    "release",
    "verify",
    "write_evidence",
    "write_report",
]

__getattr__ = later(__name__)
