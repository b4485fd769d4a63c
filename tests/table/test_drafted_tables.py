"""From a table without hierarchies to its classes, on any frame."""

import datetime
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from strategies import at_levels

from pymoo_anon.table import Hierarchy, Microdata, draft_hierarchy

N_ROWS = 400
QUASI = ["born", "seen", "zip", "icd", "age", "weight", "sex"]


def rows():
    """Return the table as Python values, None for missing ones."""
    rng = np.random.default_rng(3)
    born = [datetime.date(1930, 1, 1) + datetime.timedelta(int(day)) for day in rng.integers(0, 30_000, N_ROWS)]
    seen = [
        datetime.datetime(2020, 6, 1) + datetime.timedelta(minutes=int(m)) for m in rng.integers(0, 525_600, N_ROWS)
    ]
    gaps = rng.random((N_ROWS, 3)) < 0.05
    return {
        "patient": [f"p{i}" for i in rng.integers(0, 150, N_ROWS)],
        "born": [None if gap else day for day, gap in zip(born, gaps[:, 0], strict=True)],
        "seen": seen,
        "zip": [
            None if gap else f"{z:05}" for z, gap in zip(rng.integers(2100, 2190, N_ROWS), gaps[:, 1], strict=True)
        ],
        "icd": rng.choice(["E11.9", "E11.8", "E11", "I10", "J45.909", "J45.901"], N_ROWS).tolist(),
        "age": [None if gap else int(a) for a, gap in zip(rng.integers(18, 95, N_ROWS), gaps[:, 2], strict=True)],
        "weight": [round(float(w), 1) for w in rng.normal(75, 12, N_ROWS)],
        "sex": rng.choice(["F", "M"], N_ROWS).tolist(),
        "illness": rng.choice(["flu", "cold", "asthma"], N_ROWS).tolist(),
    }


ROWS = rows()
TEXT = {name: [None if v is None else str(v) for v in column] for name, column in ROWS.items()}
FRAMES = {
    "pandas": pd.DataFrame(ROWS).assign(born=pd.to_datetime(pd.Series(ROWS["born"]))),
    "pandas objects": pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in ROWS.items()}),
    "polars": pl.DataFrame(ROWS),
    "polars lazy": pl.LazyFrame(ROWS),
    "text": pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in TEXT.items()}),
    "polars text": pl.DataFrame(TEXT),
}


def columns(frame):
    return frame.collect() if isinstance(frame, pl.LazyFrame) else frame


def drafted(frame):
    return {name: draft_hierarchy(columns(frame)[name]).hierarchy for name in QUASI}


@pytest.fixture(scope="module")
def files():
    """Write the drafts of the text as files."""
    return {name: hierarchy.to_csv() for name, hierarchy in drafted(FRAMES["text"]).items()}


@pytest.mark.parametrize("kind", FRAMES)
def test_drafts_of_every_frame_are_those_of_the_text(kind, files):
    for name, hierarchy in drafted(FRAMES[kind]).items():
        assert hierarchy.to_csv() == files[name]


@pytest.mark.parametrize("source", ["its own", "files"])
@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_has_the_same_classes(kind, source, files):
    """Compare with pandas, which groups rows by the labels in the files."""
    frame = FRAMES[kind]
    own = drafted(frame) if source == "its own" else {n: Hierarchy.from_csv(io.StringIO(f)) for n, f in files.items()}
    table = Microdata.from_frame(frame, own, sensitive="illness", missing="keep", person="patient")
    assert (table.n_rows, len(table.domain_of("patient"))) == (N_ROWS, len(set(ROWS["patient"])))
    for node in ([1, 1, 1, 1, 1, 1, 1], [4, 3, 1, 2, 3, 2, 1], [5, 3, 2, 0, 4, 4, 0], [3, 2, 0, 3, 2, 3, 1]):
        levels = [min(level, own.length) for own, level in zip(table.quasi_identifiers.values(), node, strict=True)]
        generalization = at_levels(table.quasi_identifiers, levels)
        plain = {}
        for name, level in zip(QUASI, levels, strict=True):
            lines = [line.split(";") for line in files[name].splitlines()]
            label = {line[0]: line[level] for line in lines}
            # A moment's text begins with its day.
            texts = [("" if v is None else v)[: 10 if name == "seen" else None] for v in TEXT[name]]
            plain[name] = [label[text] for text in texts]
        plain = pd.DataFrame(plain).assign(patient=ROWS["patient"])
        sizes = sorted(plain.groupby(QUASI).size())
        assert sorted(table.equivalence_classes(generalization).sizes.tolist()) == sizes
