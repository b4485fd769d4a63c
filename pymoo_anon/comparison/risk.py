"""Risks of persons: found, guessed at, or unique in a population."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from math import exp, expm1, lgamma, log
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pymoo_anon._messages import examples, positive_whole
from pymoo_anon.engine.classes import EquivalenceClasses, ValueCounts
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.table.domain_values import Name, is_number
from pymoo_anon.table.microdata import Microdata, names_of
from pymoo_anon.typing import Floats, Ints


def individual_risk(frame: Any, quasi_identifiers: Name | Sequence[Name], weight: Hashable) -> pd.DataFrame:
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
    if wrong := [value for value in pairs["value"] if not (is_number(value) and 1 <= value < np.inf)]:
        raise ValueError(f"column {weight!r} must hold weights, which are numbers from 1 on, got {examples(wrong)}")
    pairs["population"] = pairs["value"].astype(float) * pairs["n"]
    classes = pairs.groupby("class")[["n", "population"]].sum().set_axis(["size", "population"], axis="columns")
    classes.index = index
    classes["risk"] = _mean_share(classes["size"].to_numpy(), classes["population"].to_numpy())
    return classes.sort_values(["risk", "size"], ascending=[False, True], kind="stable")


def _pairs(
    frame: Any, quasi_identifiers: Name | Sequence[Name], other: Hashable, words: str
) -> tuple[pd.DataFrame, pd.MultiIndex]:
    names = list(names_of(quasi_identifiers))
    if not names or other in names:
        raise ValueError(f"quasi_identifiers must name columns other than {words}, got {examples(names) or 'none'}")
    # A choice reads no frame.
    from pymoo_anon.table.frames import combinations_of

    found = combinations_of(frame, [*names, other])
    if len(found.weights) == 0:
        raise ValueError("frame must have at least one row, got none")
    rows = pd.DataFrame({number: found.columns[name] for number, name in enumerate(names)})
    classes = rows.groupby(list(rows), dropna=False, sort=False, observed=True)
    pairs = pd.DataFrame({"class": classes.ngroup(), "value": found.columns[other], "n": found.weights})
    return pairs, pd.MultiIndex.from_frame(classes.head(1), names=names)


def _mean_share(sizes: Ints, population: Floats) -> Floats:
    """Return the mean of 1 / persons. (n_classes,) float array."""
    from scipy.special import hyp2f1

    f, p = sizes.astype(float), sizes / population
    # 2F1(1, 1; f + 1; 1 - p): each term is the last one, times (i + 1) / (f + i + 1) (1 - p).
    term, total = np.ones(len(f)), np.ones(len(f))
    for i in range(_TERMS):
        term = term * (i + 1) / (f + i + 1) * (1 - p)
        total += term
    few, alone = (f < _MANY) & (p < 0.5), (f == 1) & (p < 0.5)
    total[few] = hyp2f1(1, 1, f[few] + 1, 1 - p[few])
    # Of one row it is simpler, and loses no digits of a small share.
    total[alone] = np.log(p[alone]) / (p[alone] - 1)
    return p / f * total


def inference(frame: Any, quasi_identifiers: Name | Sequence[Name], sensitive: Hashable) -> pd.DataFrame:
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
    from pymoo_anon.table.frames import coded

    pairs, classes = _pairs(frame, quasi_identifiers, sensitive, "the sensitive one")
    codes, values = coded(pairs["value"])
    order = np.argsort([str(value) for value in values], kind="stable")
    pairs = pairs.assign(value=np.argsort(order)[codes]).sort_values("class", kind="stable")
    starts = np.searchsorted(pairs["class"], np.arange(len(classes) + 1))
    counted = ValueCounts(starts, pairs["value"].to_numpy(), pairs["n"].to_numpy(), len(order))
    told = worst_first(by_class(counted))
    told["likeliest"] = [values[order[place]] for place in told["likeliest"]]
    told.index = classes[told.index]
    return told


def by_class(counted: ValueCounts) -> pd.DataFrame:
    """Return the result of `inference` for each class. Values are numbered in the order of their texts."""
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


def worst_first(found: pd.DataFrame) -> pd.DataFrame:
    """Return the result of `by_class`, the worst classes first."""
    # Sums of equal distances differ in their last bits.
    keys = found["likeliest"], found["size"], -found["distance"].round(12), -found["share"]
    return found.iloc[np.lexsort(keys)]


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
    k = positive_whole("k", k)
    if not is_number(share) or not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, rows over persons, got {share!r}")
    if not is_number(significance) or not 0 < significance < 1:
        raise ValueError(f"significance must be between 0 and 1, a chance, got {significance!r}")
    mean, rows, shown = float(share) * k, 0, 0.0
    # The invariant: with the chance `shown` a class that is seen shows at most `rows` rows.
    while shown < 1 - significance and rows < k:
        rows += 1
        shown += exp(rows * log(mean) - mean - lgamma(rows + 1)) / -expm1(-mean)
    return min(rows + 1, k)


# From so many rows on, or where half of the persons are in the sample, so many terms of the series are enough.
_MANY, _TERMS = 50, 60

# More persons than ever lived, and few enough for exact shares.
_MOST_PERSONS = 10**12

# A model fits where its equations hold to this share of their sides.
_FITS = 1e-6


@dataclass(frozen=True)
class PopulationUniques:
    """Estimates of the persons unique in a population.

    Attributes:
        n_population: Number of persons in the population.
        estimates: The numbers of persons. None is no estimate, which differs from 0.
        missing: The reasons for no estimate.
    """

    n_population: int
    estimates: dict[str, float | None]
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def range(self) -> tuple[float, float] | None:
        """The lowest and the highest estimate, in persons, or None."""
        known = [estimate for estimate in self.estimates.values() if estimate is not None]
        return (min(known), max(known)) if known else None

    def __str__(self) -> str:
        ends, n = self.range, self.n_population
        head = f"No estimate of how many of {n:,} persons are unique in the population."
        if ends is not None:
            low, high = ends
            head = (
                f"Between {low:,.0f} and {high:,.0f} of {n:,} persons ({low / n:.2%} to {high / n:.2%}) are unique in "
                "the population, as estimated."
            )
        lines = [
            f"{name}: no estimate, {self.missing[name]}" if value is None else f"{name}: {value:,.0f}"
            for name, value in self.estimates.items()
        ]
        return "\n".join([head, *lines])


class _Sample(NamedTuple):
    """The different class sizes of a table and their frequencies."""

    sizes: Floats
    counts: Floats
    n_population: int

    @classmethod
    def of(cls, classes: EquivalenceClasses | ArrayLike, n_population: int) -> _Sample:
        if isinstance(classes, EquivalenceClasses):
            if len(classes) != 1:
                raise ValueError(f"classes must be of one generalization, got {len(classes)}; take classes[i]")
            classes = classes.sizes[classes.kept]
        sizes = np.asarray(classes)
        if sizes.ndim != 1 or len(sizes) == 0:
            raise ValueError(f"classes must hold the size of at least one class, got an array of shape {sizes.shape}")
        wrong = sizes[sizes < 1] if sizes.dtype.kind in "iu" else sizes
        if len(wrong):
            shown = examples(wrong.tolist())
            raise ValueError(f"classes must hold sizes, which are whole numbers from 1 on, got {shown}")
        n_rows, n_population = int(sizes.sum()), positive_whole("n_population", n_population)
        if n_population < n_rows:
            raise ValueError(
                f"n_population must be at least the {n_rows:,} rows that were drawn from it, got {n_population:,}"
            )
        if n_population > _MOST_PERSONS:
            raise ValueError(f"n_population must be at most {_MOST_PERSONS:,} persons, got {n_population:,}")
        different, counts = np.unique(sizes, return_counts=True)
        return cls(different.astype(float), counts.astype(float), n_population)

    @property
    def n_rows(self) -> int:
        return int(self.sizes @ self.counts)

    @property
    def n_classes(self) -> int:
        return int(self.counts.sum())

    @property
    def share(self) -> float:
        return self.n_rows / self.n_population

    def of_size(self, size: int) -> float:
        return float(self.counts[self.sizes == size].sum())


class _NoEstimateError(Exception):
    """The reason why an estimator has no estimate."""


def population_uniques(classes: EquivalenceClasses | ArrayLike, n_population: int) -> PopulationUniques:
    """Estimate the number of persons that are unique in a population.

    A row that is alone in a table need not be alone in the population. Three estimators use the class sizes: that of
    Zayatz (1991); that of Pitman's sampling formula (Hoshino 2001), whose expectation is taken exactly and not by its
    limit for large populations; and the slide negative binomial one (Chen and Keller-McNulty 1998), with the number of
    classes by the modified Shlosser estimator (Haas and Stokes 1998). None is best everywhere, so the answer is a
    range.

    It is meant for the chosen release alone. An estimate is never a bound: merging classes can raise it. So no proof
    uses it; `PopulationUniqueness` limits it. The table must be a simple random sample of the population, with one row
    a person. Where it is the whole population, its own unique rows are the answer.

    Args:
        classes: The classes of one generalization, of which the kept ones count; or (n_classes,) array of sizes.
        n_population: Number of persons in the population, at least the number of rows.

    Returns:
        The estimates in persons; lower is better.

    Raises:
        ValueError: `n_population` is no whole number or less than the rows, or there is no class, several
            generalizations, or sizes that are none.

    >>> print(population_uniques([1] * 40 + [2] * 12 + [3] * 6 + [5] * 3 + [8], 1000))
    Between 65 and 171 of 1,000 persons (6.55% to 17.06%) are unique in the population, as estimated.
    Zayatz: 171
    Pitman: 65
    slide negative binomial: 111
    """
    sample = _Sample.of(classes, n_population)
    n, missing = sample.n_population, {}
    if sample.n_rows == n:
        return PopulationUniques(n, {"the table itself": sample.of_size(1)})
    estimates: dict[str, float | None] = dict.fromkeys(_ESTIMATORS)
    for name, estimator in _ESTIMATORS.items():
        try:
            estimate = estimator(sample)
        except _NoEstimateError as error:
            missing[name] = str(error)
            continue
        if 0 <= estimate <= n * (1 + 1e-9):
            estimates[name] = estimate
        else:
            missing[name] = f"as it came to {estimate:,.0f} of {n:,} persons"
    return PopulationUniques(n, estimates, missing)


class PopulationUniqueness(Objective):
    """Population uniqueness: largest estimate of the share of a population that is unique.

    The upper end of the range of `population_uniques`, over the persons; 1 where no estimator has an estimate.
    Suppressed rows are no part of the sample. From 0 to 1; lower is better. It serves as a constraint or as a
    requirement of a choice, and a release beyond its limit is refused. It is counted again from the release, and proves
    nothing: an estimate may be wrong, and merging classes can raise it.

    Formula:
        max of the estimates of Zayatz, Pitman and the slide negative binomial, over the persons of the population

    Args:
        n_population: Number of persons in the population, of which the table is a simple random sample.

    Raises:
        ValueError: `n_population` is no positive whole number.

    >>> PopulationUniqueness(1_000_000) <= 0.001
    PopulationUniqueness(1000000) <= 0.001
    """

    name = "population uniqueness"
    short = "population-uniqueness"
    numbered = True
    words = "estimated share of unique people"
    maximize = False
    step = 0.0001
    shown = ("number",)
    limits = (0, 1)

    def __init__(self, n_population: int) -> None:
        self.number: int = positive_whole("n_population", n_population)

    def check(self, table: Microdata) -> None:
        if table.person is not None:
            raise ValueError(f"{self!r} needs one row a person, got the person column {table.person!r}")
        if self.number < table.n_rows:
            raise ValueError(f"n_population must be at least the {table.n_rows:,} rows, got {self.number:,}")

    def evaluate_one(self, classes: EquivalenceClasses) -> float:
        return self._largest(classes.sizes[classes.kept])

    def recount(self, recount: Recount) -> Recounted:
        return self._largest(recount.kept.to_numpy())

    def _largest(self, sizes: ArrayLike) -> float:
        if np.size(sizes) == 0:
            return 0.0
        ends = population_uniques(sizes, self.number).range
        return 1.0 if ends is None else min(ends[1] / self.number, 1.0)

    def _arguments(self) -> list[str]:
        return [repr(self.number)]


def _zayatz(sample: _Sample) -> float:
    """Estimate uniques by Zayatz.

    They are the unique rows, times the chance that such a class is one of one person, over the sampled share.

    A class of j persons is seen as one row with the hypergeometric chance h(j) = j C(N - j, n - 1) / C(N, n). By Bayes,
    with the sizes in the table standing for those in the population, f_1 h(1) / sum of f_j h(j) of the unique rows are
    unique there; and h(1) is the sampled share. Only the ratio of h(j) to h(1) is used.
    """
    n, N, unique = sample.n_rows, sample.n_population, sample.of_size(1)
    if unique == 0:
        return 0.0
    # h(j) / h(1) is j times the product of 1 - (n - 1) / (N - i) over i from 1 to before j. It is 0 for classes so
    # large that they are seen as more than one row, and less than any float where j - 1 factors are.
    most = N - n + 1
    if n > 1:
        most = min(most, int(-750 / np.log1p(-(n - 1) / N)) + 1)
    seen = sample.sizes <= most
    j, counts = sample.sizes[seen], sample.counts[seen]
    logs = np.append(0, np.cumsum(np.log1p(-(n - 1) / (N - np.arange(1, j.max())))))
    return float(unique**2 / (counts @ (j * np.exp(logs[j.astype(np.int64) - 1]))) / sample.share)


def _pitman(sample: _Sample) -> float:
    """Estimate uniques by Pitman's formula for N draws."""
    from scipy.special import betaln

    theta, alpha = _pitman_parameters(sample)
    # N G(t + 1) G(t + a + N - 1) / (G(t + a) G(t + N)), as two beta functions, which lose no digits for large N.
    N = sample.n_population
    return float(N * np.exp(betaln(theta + alpha + N - 1, 1 - alpha) - betaln(theta + alpha, 1 - alpha)))


def _pitman_parameters(sample: _Sample) -> tuple[float, float]:
    from scipy.special import digamma

    n, u, unique = sample.n_rows, sample.n_classes, sample.of_size(1)
    if unique == 0:
        raise _NoEstimateError("as no row is unique in the table")
    if unique == n or u == 1:
        raise _NoEstimateError("as all rows are unique in the table" if unique == n else "as the table is one class")

    def sides(theta: float, alpha: float) -> list[tuple[float, float]]:
        # 1 / (t + i a), summed over i from 1 to before u, and 1 / (t + i) to before n.
        by_class = (digamma(theta / alpha + u) - digamma(theta / alpha + 1)) / alpha
        by_row = digamma(theta + n) - digamma(theta + 1)
        # i / (t + i a) follows from the first; 1 / (i - a) is summed to before the size of each class.
        weighed = (u - 1 - theta * by_class) / alpha
        within = sample.counts @ (digamma(sample.sizes - alpha) - digamma(1 - alpha))
        return [(by_class, by_row), (weighed, within)]

    c = unique * (unique - 1) / (sample.of_size(2) or 1)
    with np.errstate(all="ignore"):
        theta = np.float64(n * u * c - unique * (n - 1) * (2 * u + c)) / (2 * unique * u + unique * c - n * c)
        alpha = (theta * (unique - n) + (n - 1) * unique) / (n * u)
    # Hoshino's start, where it is one.
    first = (theta, alpha) if 0 < theta < np.inf and 0 < alpha < 1 else (float(u), 0.5)
    return _solved(sides, first, "as the likelihood of the class sizes has no greatest value with 0 < alpha < 1")


def _slide_negative_binomial(sample: _Sample) -> float:
    """Estimate uniques as K beta^alpha, where K classes have 1 + NB(alpha, beta) persons."""
    share, once, twice = sample.share, sample.of_size(1), sample.of_size(2)
    if once == 0 or twice == 0:
        raise _NoEstimateError(f"as no class has {'one row' if once == 0 else 'two rows'}")
    n_classes = _shlosser(sample)

    def sides(alpha: float, beta: float) -> list[tuple[float, float]]:
        d = (1 - share) * (1 - beta)
        seen_once = n_classes * share * (beta / (1 - d)) ** alpha * (alpha * d / (1 - d) + 1)
        seen_twice = n_classes * alpha * beta**alpha * share**2 * (1 - beta) / 2 * (2 - (1 - alpha) * d)
        return [(seen_once, once), (seen_twice / (1 - d) ** (alpha + 2), twice)]

    why = "as no negative binomial sizes give as many classes of one and of two rows"
    alpha, beta = _solved(sides, (0.3, 0.1), why)
    return float(n_classes * beta**alpha)


def _shlosser(sample: _Sample) -> float:
    """Estimate the classes of the population (Haas and Stokes 1998)."""
    p, j, f = sample.share, sample.sizes, sample.counts
    unseen = (1 - p) ** j
    # (1 - p)^j ((1 + p)^j - 1), where the second power may be too large for a float.
    first = (j * p**2 * (1 - p**2) ** (j - 1) @ f) / (((1 - p**2) ** j - unseen) @ f)
    second = (unseen @ f) / (j * p * (1 - p) ** (j - 1) @ f)
    return float(sample.n_classes + sample.of_size(1) * first * second**2)


def _solved(
    sides: Callable[[float, float], list[tuple[float, float]]], first: tuple[float, float], why: str
) -> tuple[np.float64, np.float64]:
    from scipy.optimize import least_squares

    def inside(point: Floats) -> tuple[np.float64, np.float64]:
        # Of numpy, as Python's floats raise an error where they divide by 0.
        return np.exp(point[0]), 1 / (1 + np.exp(-point[1]))

    def off(point: Floats) -> list[float]:
        shares = [left / right - 1 for left, right in sides(*inside(point))]
        return shares if np.isfinite(shares).all() else [1e6, 1e6]

    best: Any = None
    for start in (first, (1.0, 0.5), (0.1, 0.1), (10.0, 0.9)):
        with np.errstate(all="ignore"):
            point = [np.log(start[0]), np.log(start[1] / (1 - start[1]))]
            found = least_squares(off, point, bounds=([-30, -30], [30, 30]), xtol=1e-15, ftol=1e-15, gtol=1e-15)
        best = found if best is None or found.cost < best.cost else best
        if np.abs(best.fun).max() < _FITS:
            return inside(best.x)
    raise _NoEstimateError(why)


_ESTIMATORS: dict[str, Callable[[_Sample], float]] = {
    "Zayatz": _zayatz,
    "Pitman": _pitman,
    "slide negative binomial": _slide_negative_binomial,
}
