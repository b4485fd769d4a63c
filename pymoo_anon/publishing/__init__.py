"""What leaves the building: the choice of a point, its release, the recount, the evidence, the report."""

from pymoo_anon.publishing.report.subject import Findings
from pymoo_anon.publishing.report.writing import write_report

__all__ = ["Findings", "write_report"]
