"""Risks of persons of a known class: to be found, or guessed at."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import exp, expm1, lgamma, log
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon._messages import examples
from pymoo_anon.engine.tuples import ValueCounts
from pymoo_anon.table.domain_values import is_number, is_whole
from pymoo_anon.table.frames import combinations_of
from pymoo_anon.typing import Floats, Ints

# From so many rows on, or where half of the persons are in the sample, so many terms of the series are enough.
_MANY, _TERMS = 50, 60

# Of classes that are as badly off, the smaller and the one with the first value comes first.
_TIES = ("size", "likeliest")


def individual_risk(frame: Any, quasi_identifiers: Sequence[Hashable], weight: Hashable) -> pd.DataFrame:
    """Return the risk of each class of a weighted sample.

    A class of f rows, whose weights add up to F, stands for about F persons. Of its true persons, f and a negative
    binomial number more with the success chance p = f / F, an attacker has to guess the right one. The risk is the mean
    of 1 / persons: (p / f) 2F1(1, 1; f + 1; 1 - p), exactly and for every f (Benedetti and Franconi 1998; Franconi and
    Polettini 2004). It is meant for a chosen release, which keeps the weights; it has no bounds for a search.

    The expected number of persons that are found is the sum of size times risk. Somebody of a household is found with
    the chance 1 less the product of (1 - risk) over its members. Rows of `*` are a class as any other.

    Args:
        frame: A released table: pandas, or a frame that narwhals reads.
        quasi_identifiers: The columns that an attacker knows.
        weight: The column of sampling weights: numbers from 1 on, the persons that a row stands for.

    Returns:
        One row for each class, the greatest risk first, with its values as index. Columns: size, the number of its
        rows; population, the sum of their weights; risk, from 0 to 1, lower is better.

    Raises:
        KeyError: The frame lacks a column.
        ValueError: No quasi-identifier is named, the weights' column is one, the frame is empty, or a weight is missing
            or less than 1.

    >>> frame = pd.DataFrame({"zip": ["100**", "100**", "10009"], "weight": [40.0, 60.0, 17.0]})
    >>> individual_risk(frame, ["zip"], "weight").round(6).reset_index().to_numpy().tolist()
    [['10009', 1, 17.0, 0.177076], ['100**', 2, 100.0, 0.018779]]
    """
    pairs, index = _pairs(frame, quasi_identifiers, weight, "the weights")
    wrong = [value for value in pairs["value"] if not (is_number(value) and 1 <= value < np.inf)]
    if wrong:
        raise ValueError(f"column {weight!r} must hold weights, which are numbers from 1 on, got {examples(wrong)}")
    pairs["population"] = pairs["value"].astype(float) * pairs["n"]
    classes = pairs.groupby("class")[["n", "population"]].sum().set_axis(["size", "population"], axis="columns")
    classes.index = index
    classes["risk"] = _mean_share(classes["size"].to_numpy(), classes["population"].to_numpy())
    return classes.sort_values(["risk", "size"], ascending=[False, True], kind="stable")


def _pairs(
    frame: Any, quasi_identifiers: Sequence[Hashable], other: Hashable, words: str
) -> tuple[pd.DataFrame, pd.MultiIndex]:
    """Count each value of another column in each class, and return the classes' values."""
    names = list(quasi_identifiers)
    if not names or other in names:
        raise ValueError(f"quasi_identifiers must name columns other than {words}, got {examples(names) or 'none'}")
    found = combinations_of(frame, [*names, other])
    if len(found.weights) == 0:
        raise ValueError("frame must have at least one row, got none")
    rows = pd.DataFrame({number: found.columns[name] for number, name in enumerate(names)})
    classes = rows.groupby(list(rows), dropna=False, sort=False)
    pairs = pd.DataFrame({"class": classes.ngroup(), "value": found.columns[other], "n": found.weights})
    return pairs, pd.MultiIndex.from_frame(classes.head(1), names=names)


def _mean_share(sizes: Ints, population: Floats) -> Floats:
    """Return the mean of 1 / persons. (n_classes,) float array.

    It is p times the integral of s^(f - 1) / (p + (1 - p) s) from 0 to 1.
    """
    f, p = sizes.astype(float), sizes / population
    # 2F1(1, 1; f + 1; 1 - p): each term is the last one, times (i + 1) / (f + i + 1) (1 - p).
    term, total = np.ones(len(f)), np.ones(len(f))
    for i in range(_TERMS):
        term = term * (i + 1) / (f + i + 1) * (1 - p)
        total += term
    risks: Floats = p / f * total
    few = np.flatnonzero((f < _MANY) & (p < 0.5))
    if len(few):
        p, f = p[few], f[few]
        # The invariant: `integral` is that of s^(i - 1) / (p + (1 - p) s). By parts, the next one is (1 / i - p times
        # it) / (1 - p), which makes an error smaller as p is below a half.
        integral = -np.log(p) / (1 - p)
        for i in range(1, _MANY):
            here = f == i
            risks[few[here]] = (p * integral)[here]
            integral = (1 / i - p * integral) / (1 - p)
    return risks


def inference(frame: Any, quasi_identifiers: Sequence[Hashable], sensitive: Hashable) -> pd.DataFrame:
    """Return the best guess of a sensitive column, class by class.

    With the class of a person, an attacker guesses its likeliest value. Without it, the guess is the likeliest value of
    all rows, and right as often as that occurs. Where a class has one value, nothing is left to guess:
    `found.loc[found["share"] == 1, "size"].sum()` rows.

    Args:
        frame: A released table: pandas, or a frame that narwhals reads. Rows of `*` are a class as any other.
        quasi_identifiers: The columns that an attacker knows.
        sensitive: The column that is inferred. A missing value counts as a value.

    Returns:
        One row for each class, the worst off first, with its values as index. Columns: size, the number of its rows;
        likeliest, its most frequent value, of several the first by its text; share, the share of its rows with this
        value; overall, the share of all rows with it; distance, the total variation between the values of the class and
        those of all rows, half the sum of the differences of shares. Shares and distance go from 0 to 1, lower is
        better.

    Raises:
        KeyError: The frame lacks a column.
        ValueError: No quasi-identifier is named, the sensitive column is one, or the frame is empty.

    >>> frame = pd.DataFrame({"zip": ["1*", "1*", "2*", "2*"], "ill": ["flu", "flu", "flu", "cold"]})
    >>> inference(frame, ["zip"], "ill").reset_index().to_numpy().tolist()
    [['1*', 2, 'flu', 1.0, 0.75, 0.25], ['2*', 2, 'cold', 0.5, 0.25, 0.25]]
    """
    pairs, classes = _pairs(frame, quasi_identifiers, sensitive, "the sensitive one")
    pairs = pairs.sort_values("class", kind="stable")
    codes, values = pd.factorize(pairs["value"], use_na_sentinel=False)
    order = np.argsort([str(value) for value in values], kind="stable")
    in_order = np.empty(len(order), dtype=np.int64)
    in_order[order] = np.arange(len(order))
    starts = np.searchsorted(pairs["class"], np.arange(len(classes) + 1))
    counted = ValueCounts(starts, in_order[codes], pairs["n"].to_numpy(), len(order))
    told = worst_first(by_class(counted))
    told["likeliest"] = values[order[told["likeliest"].to_numpy()]].to_numpy()
    told.index = classes[told.index]
    return told


def by_class(counted: ValueCounts) -> pd.DataFrame:
    """Return the result of `inference` by number of a class, with numbers of values.

    Values are numbered in the order of their texts.
    """
    first, n_pairs, values, counts = counted.starts[:-1], np.diff(counted.starts), counted.values, counted.counts
    sizes = np.add.reduceat(counts, first)
    shares = counts / np.repeat(sizes, n_pairs)
    overall = np.bincount(values, counts, counted.n_values) / max(counts.sum(), 1)
    # Half the sum of all differences is the sum of those above 0; values that a class lacks are below.
    distances = np.add.reduceat(np.maximum(shares - overall[values], 0), first)
    # The most frequent value, of several the first, has the greatest key.
    keys = counts * counted.n_values - values
    greatest = np.maximum.reduceat(keys, first)
    likeliest = -greatest % max(counted.n_values, 1)
    share = (greatest + likeliest) // max(counted.n_values, 1) / sizes
    columns = {"size": sizes, "likeliest": likeliest, "share": share, "overall": overall[likeliest]}
    return pd.DataFrame({**columns, "distance": distances})


def worst_first(found: pd.DataFrame, most: int | None = None) -> pd.DataFrame:
    """Sort the classes of `by_class`, the worst off first, and return at most so many."""
    # Sums of equal distances differ in their last bits.
    keys = [-found["share"].to_numpy(), -found["distance"].to_numpy().round(12)]
    keys += [found[name].to_numpy() for name in _TIES]
    places = np.arange(len(found))
    for key in keys:
        if most is None or len(places) <= most:
            break
        last = np.partition(key[places], most - 1)[most - 1]
        chosen = places[key[places] <= last]
        places, tied = chosen, len(chosen) > most and (key[chosen] == last).all()
        if not tied:
            break
    return found.iloc[places[np.lexsort([key[places] for key in reversed(keys)])][:most]]


def k_for_k_map(k: int, share: float, significance: float = 0.01) -> int:
    """Return the k of a sample that implies a k-map.

    A class of k - 1 or fewer persons of the population shows more rows than this only by chance. The rows of a class of
    k persons that is seen at all are taken as a Poisson number that is not 0, with the mean share * k; the answer is
    the least number of rows that such a class exceeds with at most the chance `significance` (El Emam and Dankar 2008).
    So `KAnonymity() >= k_for_k_map(12, 0.1)` is a constraint like any other, with its proofs. It takes every class for
    one of k persons, and the table for a simple random sample.

    Args:
        k: The required k-map, from 1 on.
        share: Rows of the table over persons of the population, above 0, at most 1.
        significance: The accepted chance of an error, between 0 and 1.

    Returns:
        The k of the table, at most the k that was given.

    Raises:
        ValueError: An argument is out of its range.

    >>> [k_for_k_map(k, share) for k, share in ((5, 0.01), (12, 0.1), (20, 0.25))]
    [3, 6, 12]
    """
    if not is_whole(k) or k < 1:
        raise ValueError(f"k must be a whole number from 1 on, got {k!r}")
    if not is_number(share) or not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, rows over persons, got {share!r}")
    if not is_number(significance) or not 0 < significance < 1:
        raise ValueError(f"significance must be between 0 and 1, a chance, got {significance!r}")
    mean, rows, shown = share * k, 0, 0.0
    # The invariant: with the chance `shown` a class that is seen shows at most `rows` rows.
    while shown < 1 - significance and rows < k:
        rows += 1
        shown += exp(rows * log(mean) - mean - lgamma(rows + 1)) / -expm1(-mean)
    return min(rows + 1, int(k))
