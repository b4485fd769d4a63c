"""What leaves the building: the choice of a point, its release, the recount, the evidence, the report."""

from pymoo_anon.publishing.choosing import Choice, choose, risk_at_most

__all__ = [
    "Choice",
    "choose",
    "risk_at_most",
]
