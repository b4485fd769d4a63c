"""What leaves the building: the choice of a point, its release, the recount, the evidence, the report."""

__all__: list[str] = []
