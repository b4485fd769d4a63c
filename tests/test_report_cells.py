"""The cells of a report: small counts hidden together, numbers as a person writes them, long texts cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.publishing.report.cells import merged, shown, text

ROWS = st.lists(st.integers(1, 30), max_size=8).map(lambda counts: [(str(i), n) for i, n in enumerate(counts)])


@given(ROWS, st.integers(0, 20))
def test_merged_rows_hide_small_ones_and_what_subtraction_would_find(rows, floor):
    found = merged(rows, floor, 1, "other")
    assert all(n >= floor for _, n in found)
    total = sum(n for _, n in rows)
    kept = [row for row in found if row[0] != "other"]
    assert kept == [row for row in rows if row in kept]
    if all(n >= floor for _, n in rows):
        assert found == rows
    elif total >= floor and len(rows) > 1:
        assert sum(n for _, n in found) == total
        # At least two rows are together, so that none of them is the total less the others.
        assert len(rows) - len(kept) >= 2
    else:
        assert found == []


@pytest.mark.parametrize(
    ("cell", "kind", "expected"),
    [
        (None, "number", "–"),
        ("∞", "number", "∞"),
        (1, "share", "100 %"),
        (0, "share", "0 %"),
        (0.0912, "share", "9.1 %"),
        (0.00123, "share", "0.12 %"),
        (0.1225, "share", "12.3 %"),
        (0.0115, "share", "1.2 %"),
        (1e-7, "share", "< 0.01 %"),
        (1234567, "whole", "1,234,567"),
        (-1234.5, "number", "-1,235"),
        (0.000123456, "number", "0.0001235"),
        (12.5, "number", "12.5"),
        (100.0, "number", "100"),
    ],
)
def test_numbers_as_a_person_writes_them(cell, kind, expected):
    assert shown(cell, kind).replace("\N{NO-BREAK SPACE}", " ") == expected


def test_long_texts_keep_their_ends():
    assert text("v" * 200) == "v" * 200
    ends = {text("v" * 5000 + str(i)) for i in range(100)}
    assert len(ends) == 100
    assert max(map(len, ends)) == 200
