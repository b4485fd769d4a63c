"""What leaves the building: the choice of a point, its release, the recount, the evidence, the report."""

from pymoo_anon.publishing.release import RecountError, Release, release
from pymoo_anon.publishing.verify import verify

__all__ = ["RecountError", "Release", "release", "verify"]
