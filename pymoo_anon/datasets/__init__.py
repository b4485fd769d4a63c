"""Tables for examples: the real Adult, and an invented census like it."""

from pymoo_anon.datasets.adult import (
    census_rows,
    fetch_adult,
    fetch_adult_frame,
    load_hierarchy,
    load_taxonomy,
    make_census,
)

__all__ = ["census_rows", "fetch_adult", "fetch_adult_frame", "load_hierarchy", "load_taxonomy", "make_census"]
