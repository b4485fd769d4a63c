"""Slow, obvious twins of the privacy and loss models, from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from plain import Levels, PlainTable


class PlainRelease:
    """A table as one node and one suppression policy release it.

    Args:
        table: The table.
        node: The level of every quasi-identifier.
        **policy: `limit` or `below`, as `PlainTable.measure` takes them.
    """

    def __init__(self, table: PlainTable, node: Sequence[int], **policy: int) -> None:
        self.frame, self.hierarchies = table.frame, table.hierarchies
        self.node = dict(zip(table.columns, map(int, node), strict=True))
        self.n_rows = len(table.frame)
        self.class_of = table.measure(node, **policy).released
        self.kept = self.class_of >= 0
        self.n_suppressed = int((~self.kept).sum())
        # Measures of the worst class ignore suppressed rows, unless all rows are suppressed.
        self.counted = self.class_of[self.kept] if self.kept.any() else self.class_of
        self._counts: dict[str, pd.DataFrame] = {}

    def sizes(self) -> pd.Series:
        """Count the rows in each class that counts."""
        return self.counted.value_counts()

    def counts(self, column: str) -> pd.DataFrame:
        """Count the values of the whole table in each class that counts."""
        if column not in self._counts:
            pairs = pd.crosstab(self.counted, self.frame[column])
            self._counts[column] = pairs.reindex(columns=self.whole(column).index, fill_value=0)
        return self._counts[column]

    def shares(self, column: str) -> pd.DataFrame:
        """Return the distribution p of each class that counts."""
        counts = self.counts(column)
        return counts.div(counts.sum(axis=1), axis=0)

    def whole(self, column: str) -> pd.Series:
        """Count each value in the table, suppressed rows included."""
        return self.frame[column].value_counts().sort_index()

    def table_shares(self, column: str) -> pd.Series:
        """Return the distribution q of the table, suppressed rows included."""
        return self.whole(column) / self.n_rows

    def label_of(self, column: str) -> dict[Any, Any]:
        """Map the values of a quasi-identifier's domain to their labels."""
        return self.hierarchies[column][self.node[column]]

    def of_rows(self, column: str, numbers: Mapping[Any, Any]) -> pd.Series:
        """Return the number of every row's value."""
        codes, values = pd.factorize(self.frame[column])
        return pd.Series(np.array([numbers[value] for value in values])[codes], index=self.frame.index)

    def values_in_group(self, column: str) -> dict[Any, int]:
        """Count the domain values in each value's group, itself included."""
        label_of = self.label_of(column)
        in_group = Counter(label_of.values())
        return {value: in_group[label] for value, label in label_of.items()}

    def labels(self, frame: pd.DataFrame) -> pd.Series:
        """Return the generalized quasi-identifiers of each row, as tuples."""
        chosen = [(column, self.label_of(column)) for column in self.node]
        recoded = [[label_of[value] for value in frame[column]] for column, label_of in chosen]
        return pd.Series(list(zip(*recoded, strict=True)), index=frame.index)


# Privacy


def entropy_l(release: PlainRelease, column: str) -> float:
    """Return exp of the lowest class entropy (Machanavajjhala et al. 2006)."""
    p = release.shares(column)
    entropy = -(p * np.log(p.where(p > 0, 1))).sum(axis=1)
    return float(np.exp(entropy.min()))


def recursive_l(release: PlainRelease, column: str, c: float) -> int:
    """Return the largest l of recursive diversity (Machanavajjhala et al. 2006).

    In every class r_1 < c (r_l + ... + r_m), with counts descending and c as an exact fraction: 11 is not less than
    1.1 times 10.
    """
    return min(_recursive_l_of_class(row, Fraction(str(c))) for row in release.counts(column).to_numpy().tolist())


def _recursive_l_of_class(counts: list[int], c: Fraction) -> int:
    r = sorted((count for count in counts if count > 0), reverse=True)
    return max([1, *(l for l in range(2, len(r) + 1) if r[0] < c * sum(r[l - 1 :]))])  # noqa: E741


def equal_t(release: PlainRelease, column: str) -> float:
    """Return half the sum of |p - q| (Li et al. 2007)."""
    return float(_extra(release, column).abs().sum(axis=1).max() / 2)


def ordered_t(release: PlainRelease, column: str, order: Sequence[Any]) -> float:
    """Return the ordered distance (Li et al. 2007, section 4.1).

    It is 1 / (m - 1) times the sum of the |sums of p - q up to i|.
    """
    if len(order) == 1:
        return 0.0
    extra = _extra(release, column).reindex(columns=list(order), fill_value=0.0)
    return float(extra.cumsum(axis=1).abs().sum(axis=1).max() / (len(order) - 1))


def hierarchical_t(release: PlainRelease, column: str, levels: Levels) -> float:
    """Sum the costs of the inner nodes (Li et al. 2007)."""
    extra = _extra(release, column).reindex(columns=list(levels[0]), fill_value=0.0)
    height = len(levels) - 1
    roots = set(levels[-1].values())
    assert len(roots) == 1
    _, costs = _extra_and_costs(extra, levels, height, roots.pop())
    return float((costs / max(height, 1)).max())


def _extra(release: PlainRelease, column: str) -> pd.DataFrame:
    return release.shares(column) - release.table_shares(column)


def _extra_and_costs(extra: pd.DataFrame, levels: Levels, level: int, label: Any) -> tuple[pd.Series, pd.Series]:
    """Return extra(N) and the summed costs of N's subtree.

    An inner node costs height(N) min(pos_extra(N), neg_extra(N)).
    """
    if level == 0:
        return extra[label], 0 * extra[label]
    below = {levels[level - 1][value] for value, own in levels[level].items() if own == label}
    extras, costs = zip(*(_extra_and_costs(extra, levels, level - 1, child) for child in below), strict=True)
    pos_extra = sum(child.clip(lower=0) for child in extras)
    neg_extra = sum((-child).clip(lower=0) for child in extras)
    return sum(extras), level * np.minimum(pos_extra, neg_extra) + sum(costs)


def alpha(release: PlainRelease, column: str) -> float:
    """Return the largest value share of a class (Wong et al. 2006)."""
    return float(release.shares(column).max(axis=None))


def basic_beta(release: PlainRelease, column: str) -> float:
    """Return the largest relative gain (Cao and Karras 2012).

    It is (p - q) / q where p > q.
    """
    p, q = release.shares(column), release.table_shares(column)
    return float(((p - q) / q).where(p > q, 0.0).max(axis=None))


def enhanced_beta(release: PlainRelease, column: str) -> float:
    """Return the smallest enhanced beta (Cao and Karras 2012).

    It satisfies (p - q) / q <= min(beta, -ln q) where p > q.
    """
    p, q = release.shares(column), release.table_shares(column)
    gains = ((p - q) / q).where(p > q, 0.0)
    return np.inf if (gains > -np.log(q)).any(axis=None) else float(gains.max(axis=None))


def delta(release: PlainRelease, column: str, strict: bool = False) -> float:
    """Return the largest |log2(p / q)| (Brickell and Shmatikov 2008).

    Values that a class lacks count only if `strict`.
    """
    p, q = release.shares(column), release.table_shares(column)
    if strict and (p == 0).any(axis=None):
        return np.inf
    return float(np.log2(p.div(q).where(p > 0, 1.0)).abs().max(axis=None))


def prosecutor_risk(release: PlainRelease) -> float:
    """Return 1 / k, the risk of the worst protected person."""
    return float((1 / release.sizes()).max())


def marketer_risk(release: PlainRelease) -> float:
    """Return the mean risk, with suppressed rows as one class.

    A row's risk is 1 / (rows of its class).
    """
    return float((1 / release.class_of.map(release.class_of.value_counts())).mean())


def records_at_risk(release: PlainRelease, threshold: float) -> float:
    """Return the share of rows at risk, suppressed ones as one class.

    A row is at risk where 1 / (rows of its class) is larger.
    """
    return float((1 / release.class_of.map(release.class_of.value_counts()) > threshold).mean())


def k_map(release: PlainRelease, population: pd.DataFrame) -> int:
    """Return the fewest population rows in a class's cell (Sweeney 2002)."""
    if not release.kept.any():
        return len(population)
    cells = release.labels(release.frame)[release.kept].unique()
    return int(release.labels(population).value_counts().reindex(cells, fill_value=0).min())


# Loss


def discernibility(release: PlainRelease) -> int:
    """Charge every row its class's size (Bayardo and Agrawal 2005).

    A suppressed row costs the size of the table.
    """
    own = release.class_of.map(release.class_of.value_counts())
    return int(own.where(release.kept, release.n_rows).sum())


def average_class_size(release: PlainRelease) -> float:
    """Divide rows by classes, with suppressed rows as one class."""
    return release.n_rows / release.class_of.nunique()


def non_uniform_entropy(release: PlainRelease) -> float:
    """Sum -log2 Pr(value | label) over cells (de Waal and Willenborg 1999)."""
    total = 0.0
    for column in release.node:
        of_value = release.frame[column].value_counts().to_dict()
        of_label: Counter[Any] = Counter()
        for value, count in of_value.items():
            of_label[release.label_of(column)[value]] += count
        in_group = {value: of_label[label] for value, label in release.label_of(column).items()}
        became = release.of_rows(column, in_group).where(release.kept, release.n_rows)
        total += float(np.log2(became / release.of_rows(column, of_value)).sum())
    return total


def precision(release: PlainRelease, hierarchies: dict[str, Levels] | None = None) -> float:
    """Return 1 - the mean of level / height (Sweeney 2002).

    A suppressed cell costs 1.

    The level is the lowest one whose groups hold those of the release.

    Args:
        release: The release.
        hierarchies: The hierarchies, if they differ from those of the node's levels.
    """
    costs = []
    for column, levels in (hierarchies or release.hierarchies).items():
        height = len(levels) - 1
        level = _lowest_level(release.label_of(column), levels)
        costs.append(np.where(release.kept, level / max(height, 1), 1.0).mean())
    return float(1 - np.mean(costs))


def _lowest_level(label_of: dict[Any, Any], levels: Levels) -> int:
    """Return the lowest level with one label for each group."""
    groups = pd.Series(list(label_of), dtype=object).groupby(list(label_of.values())).agg(list)
    fits = [all(len({labels[value] for value in group}) == 1 for group in groups) for labels in levels]
    return fits.index(True)


def weighted_loss(release: PlainRelease, weights: Sequence[float]) -> float:
    """Sum the weighted losses of all cells, suppressed ones at full weight.

    A cell costs weight * (values in the group - 1) / (values in the domain - 1).
    """
    total = 0.0
    for column, weight in zip(release.node, weights, strict=True):
        in_group = release.values_in_group(column)
        cost = (release.of_rows(column, in_group) - 1) / max(len(in_group) - 1, 1)
        total += weight * float(cost.where(release.kept, 1.0).sum())
    return total


def kl_divergence(release: PlainRelease) -> float:
    """Sum p log2(p / released) over tuples, each row spread evenly.

    Kifer and Gehrke 2006: a row may be every tuple of the domain that its generalized values stand for, a suppressed
    one every tuple there is.
    """
    columns = list(release.node)
    all_cells, cells = 1, pd.Series(1, index=release.frame.index)
    for column in columns:
        in_group = release.values_in_group(column)
        all_cells *= len(in_group)
        cells *= release.of_rows(column, in_group)
    spread = release.n_suppressed / release.n_rows / all_cells
    size_of = release.class_of.map(release.class_of.value_counts())
    released = (size_of / release.n_rows / cells).where(release.kept, 0.0) + spread
    p = release.frame.groupby(columns)[columns[0]].transform("size") / release.n_rows
    # The mean over rows is the sum over tuples, each with its share p of the rows.
    return float(np.log2(p / released).mean())
