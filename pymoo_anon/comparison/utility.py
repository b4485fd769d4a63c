"""Remaining use of a release: queries, distributions, means, classifiers.

A reader takes a release as blocks of values, with the rows of a block spread evenly over it. Somebody who reads "15–19"
knows nothing more of the age: a row is an equal part of a row at each value of its group, and one of `*` at each of the
domain. The domain is that of the hierarchies, for a table as for every release of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymoo_anon._messages import label_words, one_of, plain, positive_whole, whole_from_0
from pymoo_anon.comparison.properties import released
from pymoo_anon.engine.classes import Column, EquivalenceClasses, groups_of, row_ids
from pymoo_anon.engine.compiled import njit
from pymoo_anon.objectives.base import LossObjective
from pymoo_anon.objectives.recount import Recount
from pymoo_anon.table.domain_values import Name, day_of, is_day, is_number, read_numbers
from pymoo_anon.table.generalization import HOW_RELEASED
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata, check_table
from pymoo_anon.typing import Bools, Floats, Ints


class Blocks(NamedTuple):
    """The rows of each block, (n_blocks,), and its cells by quasi-identifier."""

    rows: Ints
    columns: tuple[Column, ...]


def of_table(table: Microdata) -> Blocks:
    """Return a table with every distinct tuple as a block."""
    check_table(table)
    tuples = table.tuples
    each = [np.arange(n) for n in tuples.domain_sizes]
    # Side by side in memory, they are read several times as fast.
    codes = np.ascontiguousarray(tuples.codes.T)
    columns = (Column(own, own, own + 1, cells) for own, cells in zip(each, codes, strict=True))
    return Blocks(tuples.counts, tuple(columns))


def of_release(table: Microdata, classes: EquivalenceClasses, suppressed: str) -> Blocks:
    """Return a release as blocks: kept classes, then marked suppressed rows."""
    one_of("suppressed", suppressed, HOW_RELEASED)
    if not isinstance(classes, EquivalenceClasses):
        raise TypeError(f"classes must be what problem.equivalence_classes(x) gives, got {classes!r:.80}")
    own = classes.tuples
    if len(classes) != 1 or own.n_rows != table.n_rows or own.domain_sizes != table.tuples.domain_sizes:
        raise ValueError(f"classes must be of one generalization of the table, got {len(classes)} of {own.n_rows} rows")
    kept = classes.kept
    marked = classes.n_suppressed if suppressed == "mark" and not kept.all() else np.empty(0, dtype=np.int64)
    columns = []
    for j, n_values in enumerate(own.domain_sizes):
        places, first, stop, cells = groups_of(classes, j)
        # The last group is the whole domain.
        first, stop = np.append(first, 0), np.append(stop, n_values)
        columns.append(Column(places, first, stop, np.append(cells[kept], np.full(len(marked), len(first) - 1))))
    return Blocks(np.append(classes.sizes[kept], marked), tuple(columns))


def domain_numbers(hierarchy: Hierarchy) -> Floats | None:
    """Return a domain of numbers or days as numbers, or None. (n_values,) float array.

    A bin has its middle, and a missing value NaN. A text with a zero in front is a code, such as a postal one. Decimal
    commas and thousands are read as drafts of hierarchies read them.
    """
    domain, bins = [value for value in hierarchy.domain if value is not None], hierarchy.bins
    if bins is not None:
        # Whole numbers reach from one edge to the one before the other.
        edges, less = np.array(bins.edges, dtype=float), (1 if bins.closed == "left" else -1) * bins.whole
        found = ((edges[:-1] + edges[1:] - less) / 2).tolist()
    elif all(map(is_day, domain)):
        found = [day.toordinal() for day in map(day_of, domain) if day is not None]
    else:
        found = _floats(domain)
    if not found or np.isnan(found).any():
        return None
    values = np.full(hierarchy.n_values, np.nan)
    values[[value is not None for value in hierarchy.domain]] = found
    return values


def _floats(domain: Sequence[Any]) -> list[float]:
    """Return values as floats, or nothing where one is none or a code."""
    numbers: Sequence[Any] = domain
    # The first value tells most categories from numbers.
    for some in () if all(map(is_number, domain)) else (domain[:1], domain):
        numbers = read_numbers(some, [1] * len(some))[0]
        if None in numbers or any(re.match(r"0\d", str(value)) for value in some):
            return []
    return list(map(float, numbers))


# --- count queries ---------------------------------------------------------------------------------------------------

# A query asks for at most so many attributes. Errors are relative to at least such a share of the rows.
_ATTRIBUTES, _SANITY = 3, 0.001

# The columns of the summary, and the share of the queries with no greater error.
_SHARE_OF_QUERIES = {"median": 0.5, "90 %": 0.9}


@dataclass(frozen=True)
class CountQueries:
    """Random queries for counts, asked of a table and its releases.

    An example is "how many have an age of 31 to 47, and are female?". A query asks for one to three quasi-identifiers,
    each number of them as likely. Of each it wants a random number of values: a range, where the values are numbers or
    days, else any of them. It is drawn from the domains of the hierarchies alone, so that the same queries are asked of
    every release. A release answers as if its rows were spread evenly over the values of their groups, and rows of `*`
    over the domain. The error is relative to the true count, as Xiao and Tao 2006 have it, or to 0.1 % of the rows
    where that is larger: of nothing every error would be infinite. Answers need the table, so they are for those who
    may see it.

    Args:
        table: The table.
        n: Number of queries.
        seed: Seed of the draws, a whole number from 0.

    Raises:
        ValueError: `n` is no positive whole number, or `seed` none from 0.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> from pymoo_anon.problems import LatticeProblem
    >>> problem = LatticeProblem(make_census(500), [GeneralLossMetric()])
    >>> queries = CountQueries(problem.table)
    >>> queries.words(0), int(queries.true[0])
    ('age 21 to 84 and sex Female', 151)
    >>> coarser = problem.equivalence_classes([1, 1, 0, 0, 0, 0, 1, 0])
    >>> queries.summary({"coarser": coarser}).round(2).to_numpy().tolist()
    [[0.0, 0.67]]
    """

    table: Microdata
    n: int = 1000
    seed: int = 1

    def __post_init__(self) -> None:
        check_table(self.table)
        positive_whole("n", self.n)
        whole_from_0("seed", self.seed)

    @cached_property
    def asked(self) -> tuple[dict[int, Ints], ...]:
        """The wanted domain values, by place of the quasi-identifier."""
        rng, sizes = np.random.default_rng(self.seed), self.table.tuples.domain_sizes
        queries = []
        for _ in range(self.n):
            n_asked, wanted = int(rng.integers(1, min(_ATTRIBUTES, len(sizes)) + 1)), {}
            for j in sorted(rng.permutation(len(sizes))[:n_asked].tolist()):
                order, n_wanted = self._orders[j], int(rng.integers(1, max(sizes[j], 2)))
                if order is None:
                    wanted[j] = np.sort(rng.choice(sizes[j], n_wanted, replace=False))
                else:
                    first = int(rng.integers(0, sizes[j] - n_wanted + 1))
                    wanted[j] = order[first : first + n_wanted]
            queries.append(wanted)
        return tuple(queries)

    @cached_property
    def true(self) -> Floats:
        """The answers of the table. (n,) float array of whole numbers."""
        return self._counted(of_table(self.table))

    def answers(self, classes: EquivalenceClasses, suppressed: str = "mark") -> Floats:
        """Return the answers of a release in rows. (n,) float array.

        Args:
            classes: The equivalence classes of the release, `problem.equivalence_classes(x)`.
            suppressed: The fate of suppressed rows: "mark" releases them as `*`, "drop" leaves them out.

        Raises:
            TypeError: `classes` is no EquivalenceClasses.
            ValueError: The classes are not of one generalization of the table, or `suppressed` is something else.
        """
        return self._counted(of_release(self.table, classes, suppressed))

    def errors(self, classes: EquivalenceClasses, suppressed: str = "mark") -> Floats:
        """Return the relative error of each of the `answers`. (n,) float array.

        Errors go from 0, and lower is better.
        """
        return np.abs(self.answers(classes, suppressed) - self.true) / self._least

    def summary(self, releases: Mapping[Hashable, EquivalenceClasses], suppressed: str = "mark") -> pd.DataFrame:
        """Return the relative errors of named releases, a row each.

        Columns: "median" and "90 %", the errors that half and nine in ten of the queries do not exceed; shares from 0,
        lower is better.
        """
        errors = [self.errors(classes, suppressed) for classes in releases.values()]
        found = [np.quantile(own, [*_SHARE_OF_QUERIES.values()], method="inverted_cdf") for own in errors]
        index = pd.Index(list(releases), name="release", tupleize_cols=False)
        return pd.DataFrame(np.reshape(found, (-1, len(_SHARE_OF_QUERIES))), index, [*_SHARE_OF_QUERIES])

    def bounds(self, classes: EquivalenceClasses) -> Floats:
        """Return the least and greatest answers that are possible. (n, 2) float array.

        Rows whose cells lie wholly within a query are certain, rows whose cells touch it are possible. Suppressed rows
        may be anything.
        """
        blocks = of_release(self.table, classes, "mark")
        return np.column_stack([self._counted(blocks, np.floor), self._counted(blocks, np.ceil)])

    def words(self, i: int) -> str:
        """Return query `i` in words, with values of the domains."""
        parts, columns = [], list(self.table.quasi_identifiers.items())
        for j, wanted in self.asked[i].items():
            name, hierarchy = columns[j]
            values, is_range, missing = [hierarchy.domain[place] for place in wanted], self._orders[j] is not None, ""
            if is_range and len(values) > 1 and values[-1] is None:
                # Rows without a value may have been left out.
                missing = f" or {label_words(values.pop())}" * bool(self.table.tuples.totals(name)[wanted[-1]])
            first, last = label_words(values[0]), label_words(values[-1])
            others = f"{first} to {last}" if is_range else f"one of {len(wanted)} values such as {first}"
            parts.append(f"{name} {first if len(values) == 1 else others}{missing}")
        return plain(" and ".join(parts))

    @property
    def _least(self) -> Floats:
        """The counts that errors are relative to."""
        return np.maximum(self.true, _SANITY * self.table.n_rows)

    @cached_property
    def _orders(self) -> list[Ints | None]:
        """The order of each quasi-identifier of numbers or days."""
        numbers = map(domain_numbers, self.table.quasi_identifiers.values())
        return [None if own is None else np.argsort(own, kind="stable") for own in numbers]

    @cached_property
    def _wanted(self) -> tuple[list[Bools], Ints]:
        """The wanted values by quasi-identifier, and their places.

        Of each query the quasi-identifiers and the rows there: (n, 2, 3) int64 array, else -1.
        """
        sizes, places = self.table.tuples.domain_sizes, np.full((self.n, 2, _ATTRIBUTES), -1)
        found: list[list[Bools]] = [[] for _ in sizes]
        for i, query in enumerate(self.asked):
            for t, (j, values) in enumerate(query.items()):
                places[i, :, t] = j, len(found[j])
                found[j].append(np.bincount(values, minlength=sizes[j]) > 0)
        return [np.reshape(own, (len(own), n)) for own, n in zip(found, sizes, strict=True)], places

    def _counted(self, blocks: Blocks, rounded: Callable[[Floats], Floats] = np.asarray) -> Floats:
        """Count each query's rows by rounded shares of cells."""
        wanted, asked = self._wanted
        shares = [rounded(column.shares(own)) for column, own in zip(blocks.columns, wanted, strict=True)]
        widths = np.array([own.shape[1] for own in shares])
        # The shares of all queries side by side, and where those of each one begin.
        starts = np.cumsum([0, *(own.size for own in shares)])
        attributes, places = asked[:, 0], asked[:, 1]
        begins = starts[attributes] + places * widths[attributes]
        cells = np.array([own.cells for own in blocks.columns], dtype=np.int32)
        whole = np.concatenate([own.ravel() for own in shares])
        counts = np.zeros(self.n)
        _add_answers(counts, blocks.rows.astype(float), cells, attributes, begins, whole)
        return counts


# So many blocks are asked all queries before the next ones are read: they fit the cache of a core.
_BLOCKS_AT_ONCE = 2048


@njit(allocates=False)
def _add_answers(counts, rows, cells, attributes, begins, shares):
    """Add the rows that each query counts, block by block."""
    for first in range(0, len(rows), _BLOCKS_AT_ONCE):
        last = min(first + _BLOCKS_AT_ONCE, len(rows))
        for i in range(len(counts)):
            a, b, c = attributes[i]
            p, q, r = begins[i]
            found = 0.0
            if b < 0:
                for block in range(first, last):
                    found += rows[block] * shares[p + cells[a, block]]
            elif c < 0:
                for block in range(first, last):
                    found += rows[block] * shares[p + cells[a, block]] * shares[q + cells[b, block]]
            else:
                for block in range(first, last):
                    held = rows[block] * shares[p + cells[a, block]]
                    found += held * shares[q + cells[b, block]] * shares[r + cells[c, block]]
            counts[i] += found


class CertainCounts(LossObjective):
    """The median width of certain intervals of count queries.

    It is the most minus the least rows that may meet the query, relative to the true count as the errors of
    `CountQueries` are. From 0; lower is better. Noise and synthesis give no such interval.

    Formula:
        median over the queries of (possible rows - certain rows) / max(true count, 0.1 % of the rows)

    Args:
        queries: The queries, of the table that is measured.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.problems import LatticeProblem
    >>> table = make_census(500)
    >>> problem = LatticeProblem(table, [CertainCounts(CountQueries(table))])
    >>> problem.evaluate([[0] * 8, [1, 1, 0, 0, 0, 0, 1, 0]], return_values_of=["F"]).round(2).ravel().tolist()
    [0.0, 0.03]
    """

    name = "certain counts"
    words = "width of guaranteed counts"
    step = 0.01
    limits = (0, np.inf)

    def __init__(self, queries: CountQueries) -> None:
        self.queries = queries

    def check(self, table: Microdata) -> None:
        if self.queries.table is not table:
            raise ValueError(f"queries must be of the table that is measured, got those of {self.queries.table!r}")

    def evaluate_one(self, classes: EquivalenceClasses) -> float:
        least, most = self.queries.bounds(classes).T
        return self._median(most - least)

    def _median(self, widths: Floats) -> float:
        return float(np.quantile(widths / self.queries._least, 0.5, method="inverted_cdf"))

    def recount(self, recount: Recount) -> float:
        kept = recount.cells[~recount.marked]
        of_row = [recount.labels[name].members(kept[f"column {j}"].tolist()) for j, name in enumerate(recount.names)]
        widths = []
        for query in self.queries.asked:
            hits = [(of_row[j][:, wanted].sum(axis=1), of_row[j].sum(axis=1)) for j, wanted in query.items()]
            possible = np.all([hit > 0 for hit, _ in hits], axis=0)
            certain = np.all([hit == n for hit, n in hits], axis=0)
            narrow = any(len(wanted) < recount.labels[recount.names[j]].n_values for j, wanted in query.items())
            widths.append(int(kept.n[possible & ~certain].sum()) + narrow * recount.n_suppressed)
        return self._median(np.array(widths, dtype=float))


# --- distributions and means ------------------------------------------------------------------------------------------

# So many cells of a table of two columns are held at once.
_CELLS_AT_ONCE = 1 << 22


def total_variation(table: Microdata, classes: EquivalenceClasses, suppressed: str = "mark") -> pd.DataFrame:
    """Return the distances of columns and pairs.

    The distance is the total variation, half the sum of all differences of shares: the greatest difference in the share
    of any set of values. Rows of a release are spread evenly over the values of their groups, rows of `*` over the
    domain. Shares are of the rows that are released. Arguments and errors are those of `CountQueries.answers`.

    Returns:
        A row and a column for each quasi-identifier: the distance of the pair or, in the diagonal, of the one, from 0
        to 1; lower is better. Where no row is released all are 1.
    """
    before, after = of_table(table), of_release(table, classes, suppressed)
    names = list(table.quasi_identifiers)
    found = np.zeros((len(names), len(names)))
    for i, j in combinations_with_replacement(range(len(names)), 2):
        found[i, j] = found[j, i] = distance(before, after, i, j)
    index = pd.Index(names, tupleize_cols=False)
    return pd.DataFrame(found, index, index)


def means(table: Microdata, classes: EquivalenceClasses, suppressed: str = "mark") -> pd.DataFrame:
    """Return the means of the columns of numbers, before and after.

    Arguments and errors are those of `total_variation`. A group counts as its midpoint, the middle between its least
    and its greatest number: a reader of "15–19" has nothing else. So does a bin of the domain, before as after, and `*`
    as the midpoint of the domain.

    Returns:
        One row for each quasi-identifier whose domain is numbers, be they text or bins. The columns "before" and
        "after" are means of the rows that have a number; NaN where none has.
    """
    before, after = of_table(table), of_release(table, classes, suppressed)
    found = {}
    for j, (name, hierarchy) in enumerate(table.quasi_identifiers.items()):
        numbers = domain_numbers(hierarchy)
        if numbers is not None and not any(map(is_day, hierarchy.domain)):
            found[name] = [_mean_of_rows(own.rows, own.columns[j].midpoints(numbers)) for own in (before, after)]
    index = pd.Index(list(found), tupleize_cols=False)
    return pd.DataFrame(np.reshape([*found.values()], (-1, 2)), index, ["before", "after"])


def _mean_of_rows(rows: Ints, numbers: Floats) -> float:
    there = ~np.isnan(numbers)
    return float(rows[there] @ numbers[there] / rows[there].sum()) if rows[there].any() else np.nan


def _narrowed(codes: Ints, after: Column) -> Column:
    held, places = np.unique(after.places[codes], return_inverse=True)
    return Column(places, np.searchsorted(held, after.first), np.searchsorted(held, after.stop), after.cells)


def distance(before: Blocks, after: Blocks, i: int, j: int) -> float:
    """Return the total variation of one or two columns.

    Both distributions sum up to 1, so half the sum of all differences is the sum of those where the table has more.
    Hence only cells count that hold rows of the table.
    """
    x, y = after.columns[i], after.columns[j]
    density = after.rows / (x.stop - x.first)[x.cells]
    pairs = np.column_stack([before.columns[i].cells, before.columns[j].cells])
    if i == j:
        # Beside a column of one value it is alone.
        pairs[:, 1], y = 0, Column(np.array([0]), np.array([0]), np.array([1]), np.zeros_like(x.cells))
    density /= (y.stop - y.first)[y.cells]
    ids, some = row_ids(pairs, (len(x.places), len(y.places)))
    missing = np.bincount(ids, before.rows) / before.rows.sum()
    x, y = _narrowed(pairs[some, 0], x), _narrowed(pairs[some, 1], y)
    n, width = int(x.places.max()) + 1, int(y.places.max()) + 1
    height = min(max(_CELLS_AT_ONCE // (width + 1), 1), n)
    # Some values of the first column at a time.
    for low in range(0, n, height):
        # Each block adds its density from its corner on, and takes it away again beyond its edges.
        spread = np.zeros((height + 1, width + 1))
        for ends, sign in ((x.first, density), (x.stop, -density)):
            rows = np.clip(ends - low, 0, height)[x.cells]
            np.add.at(spread, (rows, y.first[y.cells]), sign)
            np.add.at(spread, (rows, y.stop[y.cells]), -sign)
        spread = spread.cumsum(axis=0).cumsum(axis=1)
        here = (x.places >= low) & (x.places < low + height)
        missing[here] -= spread[x.places[here] - low, y.places[here]] / max(int(after.rows.sum()), 1)
    return float(np.maximum(missing, 0).sum())


# --- classifiers ------------------------------------------------------------------------------------------------------

# At most so many rows take part. One in so many of them is held out.
_ROWS, _HELD_OUT = 50_000, 3


def classification(
    table: Microdata, releases: Mapping[Any, EquivalenceClasses], target: Name, suppressed: str = "mark", seed: int = 1
) -> pd.DataFrame:
    """Compare classifiers trained on a release and on the original.

    They predict a column from the quasi-identifiers. A third of the rows is held out. The other rows, as released,
    train; the test is on those held out, recoded as the release recodes their values, whether they are suppressed or
    not. Numbers, bins and days are numbers, a group its midpoint; all other labels are categories. Of more than 50,000
    rows so many are drawn. The learners are scikit-learn's boosted trees and logistic regression; the extra
    `pymoo_anon[utility]` installs it.

    Args:
        table: The table.
        releases: By name of a release, its equivalence classes, `problem.equivalence_classes(x)`.
        target: The column that is predicted: sensitive or the label, and no quasi-identifier.
        suppressed: The fate of suppressed rows: "mark" releases them as `*`, "drop" leaves them out.
        seed: Seed of the draws and of the learners, a whole number from 0.

    Returns:
        A row for each release and learner, named by both. Columns: "release" and "original", the share of the rows held
        out that are predicted rightly after training on each; "majority", that of the most frequent value. Higher is
        better; NaN where no row is released.

    Raises:
        ImportError: scikit-learn is not installed.
        ValueError: The target is no such column, `suppressed` or `seed` is something else, or classes are not of one
            generalization of the table.
    """
    check_table(table)
    table.tuples.check_role(target, "classification")
    if target in table.quasi_identifiers or target == table.person:
        raise ValueError(f"target must be a column that is released as it is, sensitive or the label, got {target!r}")
    tuples, values = _shuffled(table, target, whole_from_0("seed", seed))
    test, train = np.split(np.arange(len(values)), [max(len(values) // _HELD_OUT, 1)])
    numbers = [domain_numbers(hierarchy) for hierarchy in table.quasi_identifiers.values()]
    learners = _learners([j for j, own in enumerate(numbers) if own is None], seed)
    X = _features(of_table(table), numbers)[tuples]
    original = {name: _accuracy(own, X, values, train, test) for name, own in learners.items()}
    majority = float((values[test] == np.bincount(values[train], minlength=1).argmax()).mean())
    found = []
    for classes in releases.values():
        given = _features(of_release(table, classes, suppressed), numbers)
        everybody = replace(classes, kept=np.ones_like(classes.kept))
        X = _features(of_release(table, everybody, suppressed), numbers)[released(everybody)[0][tuples]]
        blocks = released(classes)[0][tuples]
        there = train[blocks[train] < len(given)]
        X[there] = given[blocks[there]]
        found += [[_accuracy(own, X, values, there, test), original[name], majority] for name, own in learners.items()]
    index = pd.MultiIndex.from_product([list(releases), list(learners)], names=["release", "learner"])
    return pd.DataFrame(np.reshape(found, (-1, 3)), index, ["release", "original", "majority"])


def _shuffled(table: Microdata, target: Name, seed: int) -> tuple[Ints, Ints]:
    """Return distinct tuples and targets of some rows in random order."""
    column, rng = table.tuples.columns[target], np.random.default_rng(seed)
    counts = column.counts
    if counts.sum() > _ROWS:
        counts = rng.multivariate_hypergeometric(counts, _ROWS, method="marginals")
    chosen = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return np.repeat(np.arange(len(table.tuples)), np.diff(column.starts))[chosen], column.values[chosen]


def _features(blocks: Blocks, numbers: list[Floats | None]) -> Floats:
    """Return midpoints of numbers and days, and groups of all else. (n_blocks, n_attributes) float array."""
    columns = []
    for column, own in zip(blocks.columns, numbers, strict=True):
        # The whole domain is one category.
        whole = (column.stop - column.first == len(column.places))[column.cells]
        columns.append(np.where(whole, -1.0, column.cells) if own is None else column.midpoints(own))
    return np.column_stack(columns)


def _learners(nominal: list[int], seed: int) -> dict[str, Any]:
    try:
        from sklearn.compose import make_column_transformer
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
    except ImportError:
        raise ImportError('classification needs scikit-learn: pip install "pymoo_anon[utility]"') from None
    # Trees take at most 255 categories, of which the rarest are one; those that were not seen are missing.
    codes = OrdinalEncoder(max_categories=255, handle_unknown="use_encoded_value", unknown_value=np.nan)
    trees = HistGradientBoostingClassifier(categorical_features=[*range(len(nominal))], random_state=seed)
    scaled = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    dummies = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), nominal), remainder=scaled)
    return {
        "boosted trees": make_pipeline(make_column_transformer((codes, nominal), remainder="passthrough"), trees),
        "logistic regression": make_pipeline(dummies, LogisticRegression(max_iter=1000)),
    }


def _accuracy(learner: Any, X: Floats, values: Ints, train: Ints, test: Ints) -> float:
    from threadpoolctl import threadpool_limits  # scikit-learn brings it

    if len(np.unique(values[train])) < 2:
        return float((values[test] == values[train[0]]).mean()) if len(train) else np.nan
    # Sums of several threads would be rounded in another order.
    with threadpool_limits(1):
        predicted = learner.fit(X[train], values[train]).predict(X[test])
    return float((predicted == values[test]).mean())
