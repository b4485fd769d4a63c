"""What leaves the building: the choice of a point, its release, the recount, the evidence, the report."""

from pymoo_anon.publishing.choosing import Choice, choose, risk_at_most
from pymoo_anon.publishing.explaining import Explanation, explain
from pymoo_anon.publishing.tradeoffs import Step

__all__ = [
    "Choice",
    "Explanation",
    "Step",
    "choose",
    "explain",
    "risk_at_most",
]
