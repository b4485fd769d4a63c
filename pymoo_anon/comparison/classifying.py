"""Classifiers that are trained on a release: what is still to be learned from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon._messages import whole_from_0
from pymoo_anon.comparison.boxes import Boxes, Ints, Values, numbers_of, of_release, of_table
from pymoo_anon.comparison.properties import released
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.microdata import Microdata

# At most so many rows take part. One in so many of them is held out.
_ROWS, _HELD_OUT = 50_000, 3


def classification(
    table: Microdata, releases: Mapping[Any, EquivalenceClasses], target: Name, suppressed: str = "mark", seed: int = 1
) -> pd.DataFrame:
    """How well classifiers predict a column from the quasi-identifiers: trained on a release, and on the original.

    A third of the rows is held out. What became of the others in the release trains; the test is on those held out,
    recoded as the release recodes their values, whether they are suppressed or not. Numbers, bins and days are numbers,
    a group its midpoint; all other labels are categories. Of more than 50,000 rows so many are drawn. The learners are
    scikit-learn's boosted trees and logistic regression; the extra `pymoo_anon[utility]` installs it.

    Args:
        table: The table.
        releases: By name of a release, its equivalence classes, `problem.equivalence_classes(x)`.
        target: The column that is predicted: sensitive or the label, and no quasi-identifier.
        suppressed: What becomes of suppressed rows: "mark" releases them as `*`, "drop" leaves them out.
        seed: Seed of the draws and of the learners, a whole number from 0.

    Returns:
        A row for each release and learner, named by both. Columns: "release" and "original", the share of the rows held
        out that are predicted rightly by what was trained on each; "majority", that of the most frequent value. Higher
        is better; NaN where no row is released.

    Raises:
        ImportError: scikit-learn is not installed.
        ValueError: The target is no such column, `suppressed` or `seed` is something else, or classes are not of one
            generalization of the table.
    """
    table.tuples.check_role(target, "classification")
    if target in table.quasi_identifiers or target == table.person:
        raise ValueError(f"target must be a column that is released as it is, sensitive or the label, got {target!r}")
    tuples, values = _shuffled(table, target, whole_from_0("seed", seed))
    test, train = np.split(np.arange(len(values)), [max(len(values) // _HELD_OUT, 1)])
    numbers = [numbers_of(hierarchy) for hierarchy in table.quasi_identifiers.values()]
    learners = _learners([j for j, own in enumerate(numbers) if own is None], seed)
    X = _features(of_table(table), numbers)[tuples]
    original = {name: _accuracy(own, X, values, train, test) for name, own in learners.items()}
    majority = float((values[test] == np.bincount(values[train], minlength=1).argmax()).mean())
    found = []
    for classes in releases.values():
        given = _features(of_release(table, classes, suppressed), numbers)
        everybody = replace(classes, kept=np.ones_like(classes.kept))
        X = _features(of_release(table, everybody, suppressed), numbers)[released(everybody)[0][tuples]]
        boxes = released(classes)[0][tuples]
        there = train[boxes[train] < len(given)]
        X[there] = given[boxes[there]]
        found += [[_accuracy(own, X, values, there, test), original[name], majority] for name, own in learners.items()]
    index = pd.MultiIndex.from_product([list(releases), list(learners)], names=["release", "learner"])
    return pd.DataFrame(np.reshape(found, (-1, 3)), index, ["release", "original", "majority"])


def _shuffled(table: Microdata, target: Name, seed: int) -> tuple[Ints, Ints]:
    """(n,) int64 arrays: the distinct tuple and the target's value of some rows, in random order."""
    column, rng = table.tuples.columns[target], np.random.default_rng(seed)
    counts = column.counts
    if counts.sum() > _ROWS:
        counts = rng.multivariate_hypergeometric(counts, _ROWS, method="marginals")
    chosen = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return np.repeat(np.arange(len(table.tuples)), np.diff(column.starts))[chosen], column.values[chosen]


def _features(boxes: Boxes, numbers: list[Values | None]) -> Values:
    """(n_boxes, n_attributes) float array: midpoints of numbers and days, groups of all else."""
    columns = []
    for column, own in zip(boxes.columns, numbers, strict=True):
        # Whatever is the whole domain is one category.
        whole = (column.stop - column.first == len(column.places))[column.cells]
        columns.append(np.where(whole, -1.0, column.cells) if own is None else column.midpoints(own))
    return np.column_stack(columns)


def _learners(nominal: list[int], seed: int) -> dict[str, Any]:
    """The learners by name; columns of numbers may have gaps, `nominal` ones are categories."""
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


def _accuracy(learner: Any, X: Values, values: Ints, train: Ints, test: Ints) -> float:
    """The share of test rows that a learner predicts rightly after training; NaN where there is nothing to train on."""
    from threadpoolctl import threadpool_limits  # scikit-learn brings it

    if len(np.unique(values[train])) < 2:
        return float((values[test] == values[train[0]]).mean()) if len(train) else np.nan
    # Sums of several threads would be rounded in another order.
    with threadpool_limits(1):
        predicted = learner.fit(X[train], values[train]).predict(X[test])
    return float((predicted == values[test]).mean())
