"""What a release tells of the sensitive value of somebody whose class is known."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd

from pymoo_anon._messages import examples
from pymoo_anon.table.frames import combinations_of


def inference(frame: Any, quasi_identifiers: Sequence[Hashable], sensitive: Hashable) -> pd.DataFrame:
    """What can be inferred of a sensitive column, class by class, against the whole release.

    Somebody who knows the class of a person guesses its likeliest value. Without the class the guess would be the
    likeliest value of all rows, and right as often as that occurs. Where a class has one value, nothing is left to
    guess: `found.loc[found["share"] == 1, "size"].sum()` rows.

    Args:
        frame: A released table: pandas, or what narwhals reads. Rows of `*` are a class as any other.
        quasi_identifiers: The columns that an attacker knows.
        sensitive: The column that is inferred; a missing value counts as a value.

    Returns:
        One row for each class, the worst off first, with its values as index. Columns: size, the number of its rows;
        likeliest, its most frequent value, of several the first by its text; share, that of its rows which have it;
        overall, that of all rows which have it; distance, the total variation between the values of the class and those
        of all rows, half the sum of the differences of shares. Shares and distance go from 0 to 1, lower is better.

    Raises:
        KeyError: The frame lacks a column.
        ValueError: No quasi-identifier is named, the sensitive column is one, or the frame is empty.

    >>> frame = pd.DataFrame({"zip": ["1*", "1*", "2*", "2*"], "ill": ["flu", "flu", "flu", "cold"]})
    >>> inference(frame, ["zip"], "ill").reset_index().to_numpy().tolist()
    [['1*', 2, 'flu', 1.0, 0.75, 0.25], ['2*', 2, 'cold', 0.5, 0.25, 0.25]]
    """
    names = list(quasi_identifiers)
    if not names or sensitive in names:
        raise ValueError(
            f"quasi_identifiers must name columns other than the sensitive one, got {examples(names) or 'none'}"
        )
    found = combinations_of(frame, [*names, sensitive])
    n_rows = int(found.weights.sum())
    if n_rows == 0:
        raise ValueError("frame must have at least one row, got none")
    keys = list(range(len(names)))
    rows = pd.DataFrame({number: found.columns[name] for number, name in enumerate(names)})
    pairs = pd.DataFrame({"class": rows.groupby(keys, dropna=False, sort=False).ngroup(), "n": found.weights})
    pairs["value"] = found.columns[sensitive]
    told = by_class(pairs)
    firsts = rows.groupby(keys, dropna=False, sort=False).head(1)
    told.index = pd.MultiIndex.from_frame(firsts.iloc[told.index], names=names)
    return told


def by_class(pairs: pd.DataFrame) -> pd.DataFrame:
    """What `inference` tells of classes that are numbered.

    Args:
        pairs: Columns class, the number of a class; value, a value that it holds, once; and n, how many of
            its rows do.

    Returns:
        As `inference`, with the numbers of the classes as index.
    """
    pairs = pairs.copy()
    pairs["text"] = pairs["value"].astype(str)
    pairs["size"] = pairs.groupby("class")["n"].transform("sum")
    pairs["share"] = pairs["n"] / pairs["size"]
    pairs["overall"] = pairs.groupby("value", dropna=False)["n"].transform("sum") / pairs["n"].sum()
    # Half the sum of all differences is the sum of those above 0; values that a class lacks are below.
    pairs["above"] = (pairs["share"] - pairs["overall"]).clip(lower=0)
    pairs["distance"] = pairs.groupby("class")["above"].transform("sum")
    likeliest = pairs.sort_values(["n", "text"], ascending=[False, True], kind="stable").drop_duplicates("class")
    worst = likeliest.sort_values(["share", "distance", "size"], ascending=[False, False, True], kind="stable")
    told = worst.set_index("class")[["size", "value", "share", "overall", "distance"]]
    return told.rename(columns={"value": "likeliest"})
