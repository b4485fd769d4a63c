"""The cells of a report: readable numbers, and long texts cut."""

import pytest

from pymoo_anon.publishing.report.cells import cell_text, one_line


@pytest.mark.parametrize(
    ("cell", "kind", "expected"),
    [
        (None, "number", "–"),
        ("∞", "number", "∞"),
        (1, "share", "100 %"),
        (13.071, "share", "1,307.1 %"),
        (0, "share", "0 %"),
        (0.0912, "share", "9.1 %"),
        (0.00123, "share", "0.12 %"),
        (0.1225, "share", "12.3 %"),
        (0.0115, "share", "1.2 %"),
        (1e-7, "share", "< 0.01 %"),
        (7212 / 7214, "share", "> 99.9 %"),
        (0.9994, "share", "99.9 %"),
        (1234567, "whole", "1,234,567"),
        (-1234.5, "number", "-1,235"),
        (0.000123456, "number", "0.0001235"),
        (12.5, "number", "12.5"),
        (100.0, "number", "100"),
    ],
)
def test_numbers_as_a_person_writes_them(cell, kind, expected):
    assert cell_text(cell, kind).replace("\N{NO-BREAK SPACE}", " ") == expected


def test_long_texts_keep_their_ends():
    assert one_line("v" * 200) == "v" * 200
    ends = {one_line("v" * 5000 + str(i)) for i in range(100)}
    assert len(ends) == 100
    assert max(map(len, ends)) == 200
