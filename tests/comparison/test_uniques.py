"""Unique rows by sets of columns, against a count by plain Python."""

from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.comparison import compare_sizes, individual_risk, inference, uniques
from pymoo_anon.comparison.uniques import SMALL_CLASSES, special_uniques, uniqueness
from pymoo_anon.table.frames import keyed

NAMES = ["a", "b", "c", "d"]


def minimal_sets(rows, i, most):
    """List the minimal unique sets of a row."""
    found = []
    for size in range(1, most + 1):
        for own in combinations(range(len(rows[0])), size):
            key = [rows[i][j] for j in own]
            if sum([row[j] for j in own] == key for row in rows) == 1 and not any({*part} < {*own} for part in found):
                found.append(own)
    return found


def plain(rows, names, most):
    """Count all by dictionaries of tuples."""

    def sizes(places):
        keys = [tuple(row[j] for j in places) for row in rows]
        counts = Counter(keys)
        return [counts[key] for key in keys]

    every = range(len(names))
    named = [own for size in (1, 2, len(names)) if size <= len(names) for own in combinations(every, size)]
    sets = {
        tuple(names[j] for j in own): [sum(n < least for n in sizes(own)) for least in SMALL_CLASSES] for own in named
    }
    minimal = [minimal_sets(rows, i, most) for i in range(len(rows))]
    counts = Counter(tuple(names[j] for j in own) for found in minimal for own in found)
    with_minimal = {
        size: sum(any(len(own) == size for own in found) for found in minimal) for size in range(1, most + 1)
    }
    n_alone = sizes(every).count(1)
    added = {names[j]: n_alone - sizes([i for i in every if i != j]).count(1) for j in every}
    return sets, dict(counts), with_minimal, added


def counted(frame, names):
    found = uniqueness(frame, names)
    sets = {row[0]: [*row[1:]] for row in found.sets.itertuples(index=False, name=None)}
    assert all([*found.below(own).values()] == n for own, n in sets.items())
    rows = found.minimal["rows"].tolist()
    assert rows == sorted(rows, reverse=True)
    minimal = dict(zip(found.minimal["columns"], rows, strict=True))
    return sets, minimal, found.with_minimal, found.added.to_dict()


@given(st.integers(1, 4), st.integers(1, 30), st.integers(1, 5), st.integers(0, 10**6))
def test_all_is_counted_as_by_plain_python(n_columns, n_rows, n_values, seed):
    rows = np.random.default_rng(seed).integers(0, n_values, (n_rows, n_columns))
    names = NAMES[:n_columns]
    frame = pd.DataFrame(rows, columns=names).astype(str).replace({"0": None})
    assert counted(frame, names) == plain(rows.tolist(), names, min(n_columns, 3))


@pytest.mark.parametrize("slots", [0, 8])
def test_large_domains_are_sorted(monkeypatch, slots):
    monkeypatch.setattr(uniques, "SLOTS_OF_A_ROW", slots)
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, n, 60) for n in (50, 3, 2, 40)])
    for factor in (1, 2**20):
        frame = pd.DataFrame(rows * factor, columns=NAMES)
        assert counted(frame, NAMES) == plain(rows.tolist(), NAMES, 3)


def test_keys_that_outgrow_64_bits_are_numbered_anew():
    rows = np.arange(40)[:, np.newaxis] // np.array([1, 2, 3, 4])
    wide = [np.unique(own, return_inverse=True)[1] * 2**28 for own in rows.T]
    found = uniques._uniqueness_of(tuple(NAMES), wide)
    assert found.added.to_dict() == plain(rows.tolist(), NAMES, 3)[3]
    assert found.with_minimal == plain(rows.tolist(), NAMES, 3)[2]
    # Numbers of rows may be as large as their products. Four times 2^62 is nothing in 64 bits.
    small, large = np.arange(8), np.array([2**62 - 2, *[0] * 7])
    assert len(np.unique(keyed([small, large]))) == 8


def test_sets_that_would_take_too_long_are_left_out(monkeypatch):
    frame = pd.DataFrame(np.arange(40).reshape(10, 4) % 3, columns=NAMES)
    for most, largest in ((10 * 4, 3), (10 * 4 - 1, 1), (10 * 6, 3)):
        monkeypatch.setattr(uniques, "_MOST_READ", most)
        assert uniqueness(frame, NAMES).largest == largest
        assert uniqueness(frame, NAMES).below(tuple(NAMES))


def test_scores_and_risks_are_those_of_the_published_example():
    """Statistical Disclosure Control for Microdata: A Practice Guide (World Bank 2019), table on SUDA."""
    rows = """Urban Female Secondary-incomplete Employed
Urban Female Secondary-incomplete Employed
Urban Female Primary-incomplete Non-LF
Urban Male Secondary-complete Employed
Rural Female Secondary-complete Unemployed
Urban Male Secondary-complete Employed
Urban Female Primary-complete Non-LF
Urban Male Post-secondary Unemployed
Urban Female Secondary-incomplete Non-LF
Urban Female Secondary-incomplete Non-LF"""
    frame = pd.DataFrame([row.split() for row in rows.splitlines()], columns=NAMES)
    found = special_uniques(frame, NAMES, fraction=0.01)
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert found.risks.round(4).tolist() == [0, 0, 0.0051, 0, 0.0107, 0, 0.0051, 0.0088, 0, 0]


@given(st.integers(1, 5), st.integers(1, 20), st.integers(1, 4), st.integers(0, 10**6))
def test_scores_are_sums_over_minimal_sets(n_columns, n_rows, n_values, seed):
    rows = np.random.default_rng(seed).integers(0, n_values, (n_rows, n_columns)).tolist()
    names = list("abcde"[:n_columns])
    found = special_uniques(pd.DataFrame(rows, columns=names), names, fraction=0.1)
    most = min(n_columns, 3)
    by_row = [minimal_sets(rows, i, most) for i in range(n_rows)]

    def score(own):
        return np.prod([n_columns - size for size in range(len(own), min(most, n_columns - 1) + 1)])

    scores = [sum(map(score, sets)) for sets in by_row]
    assert found.scores.tolist() == scores
    shares = {
        name: sum(score(own) for sets in by_row for own in sets if j in own) / max(sum(scores), 1)
        for j, name in enumerate(names)
    }
    assert found.contribution.to_dict() == pytest.approx(shares)
    assert ((found.risks > 0) <= (found.scores > 0)).all()
    assert (found.risks <= 1).all()


def test_the_worst_sets_are_said_in_a_table():
    found = uniqueness(pd.DataFrame({"zip": [1, 1, 2, 2], "sex": ["F", "M", "M", "M"]}), ["zip", "sex"])
    assert found.table(1) == [
        ["rows", "unique", "", "in classes below 5", "in classes below 12"],
        ["by all", "2", "50.0 %", "4", "4"],
        ["by sex", "1", "25.0 %", "4", "4"],
    ]
    assert found.fewer == ["sex (2)", "zip (1)"]


def test_a_single_name_is_that_of_a_column():
    frame = pd.DataFrame({"zip": [1, 1, 2], "ill": list("abb"), "weight": [2.0, 3.0, 4.0]})
    assert uniqueness(frame, "zip").columns == ("zip",)
    assert special_uniques(frame, "zip").scores.tolist() == [0, 0, 1]
    for found in (inference(frame, "zip", "ill"), individual_risk(frame, "zip", "weight")):
        assert found["size"].to_dict() == {(1,): 2, (2,): 1}
    assert compare_sizes({"a": frame}, "zip").equals(compare_sizes({"a": frame}, ["zip"]))
