"""The command `count`: what a recipient reads from a release and its codebook."""

from pathlib import Path

import pandas as pd
import pytest
from command import run

BOOK = pd.DataFrame(
    {
        "column": ["age", "age", "age", "zip", "zip"],
        "label": ["20–39", "40–59", "*", "0213*", ""],
        "members": ["20–39", "40–59", "20–59 | any value: the row is suppressed", "02130 | 02131", "(missing)"],
    }
)
TABLE = pd.DataFrame(
    {"age": ["20–39", "20–39", "40–59", "*"], "zip": ["0213*", "", "0213*", "0213*"], "cost": ["1", "2.5", "", "4"]}
)


@pytest.fixture
def received(folder):
    """Write a release and its codebook, and nothing else."""
    TABLE.to_csv("out.csv", index=False)
    BOOK.to_csv("out.csv.codebook.csv", index=False)


def lines(*arguments):
    return [line.split() for line in run("count", *arguments).splitlines()]


def test_rows_are_counted_from_the_table_and_its_codebook(received):
    assert lines("out.csv") == [["least", "most", "estimate"], ["rows", "4", "4", "4"]]
    assert lines("out.csv", "--where", "age=20..29")[1] == ["rows", "0", "3", "1.25"]
    assert lines("out.csv", "--where", "age=20..39", "--where", "zip=02130|02131")[1] == ["rows", "1", "2", "1.5"]
    assert lines("out.csv", "--where", "zip=")[1] == ["rows", "1", "1", "1"]
    _, rows, total, mean = lines("out.csv", "--where", "age=20..39", "--of", "cost")
    assert rows[1:] == ["2", "3", "2.5"]
    assert total == ["sum", "of", "cost", "3.5", "7.5", "5.5"]
    assert mean == ["mean", "of", "cost", "1.75", "2.5", "2.2"]
    Path("out.csv.codebook.csv").rename("book.csv")
    assert lines("out.csv", "--codebook", "book.csv")[1:] == [["rows", "4", "4", "4"]]
