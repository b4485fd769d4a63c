"""Labels of drafts, by value and in a table."""

import pandas as pd

from pymoo_anon.table import Microdata


def partition(hierarchy, values):
    """Return the text of the label of every value, level by level."""
    places = hierarchy.encode(values)
    assert (places >= 0).all(), [value for value, place in zip(values, places, strict=True) if place < 0]
    return [
        [str(labels[group]) if labels[group] is not None else "" for group in groups[places]]
        for groups, labels in zip(hierarchy.groups, hierarchy.labels, strict=True)
    ]


def as_table(column, hierarchy):
    """Return the hierarchy as a table of the column has it."""
    frame = pd.DataFrame({"q": pd.Series(column, dtype=object)})
    return Microdata.from_frame(frame, {"q": hierarchy}, missing="keep").quasi_identifiers["q"]
