"""Equal columns and columns decided by another, against all pairs of rows."""

from random import Random

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from persons import FRAMES

from pymoo_anon.table import guesses
from pymoo_anon.table.guesses import decided_columns, equal_columns, profiles_of

KINDS = ("pandas", "polars lazy", "duckdb")


def made_of(frame, kind):
    return FRAMES[kind](pa.Table.from_pandas(frame, preserve_index=False))


def found_in(frame, asked=None, person=None, kind="pandas"):
    names, frame = list(frame), made_of(frame, kind)
    profiles = profiles_of(frame, names)
    own = [profile for profile in profiles if profile.name != person]
    return decided_columns(frame, own, asked or [one.name for one in own], person)


def plainly_decided(frame, a, b):
    values = {}
    for one, other in zip(frame[a], frame[b], strict=True):
        values.setdefault(one, set()).add(other)
    return all(len(held) == 1 for held in values.values())


columns = st.lists(st.sampled_from(["x", "y", "z", None]), min_size=12, max_size=12)


@given(st.lists(columns, min_size=2, max_size=4), st.sampled_from(sorted(KINDS)))
def test_equal_columns_are_those_whose_rows_are_equal(drawn, kind):
    frame = pd.DataFrame({f"c{i}": pd.Series(own, dtype=object) for i, own in enumerate([*drawn, drawn[0]])})
    expected = {}
    for j, name in enumerate(frame):
        held = frame[name].tolist()
        first = next((earlier for earlier in list(frame)[:j] if frame[earlier].tolist() == held), None)
        if first is not None and len({*held} - {None}) > 1:
            expected[name] = first
    made = made_of(frame, kind)
    assert equal_columns(made, profiles_of(made, list(frame))) == expected


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=9, max_size=9), min_size=3, max_size=4),
    st.sampled_from(sorted(KINDS)),
)
def test_what_decides_is_so_in_every_row(maps, kind):
    """Mix coarser columns of a code with unrelated columns."""
    code = [(i * i + i // 7) % 9 for i in range(400)]
    frame = pd.DataFrame({"code": code, **{f"m{j}": [own[one] for one in code] for j, own in enumerate(maps)}})
    frame = frame.assign(**{f"n{j}": [(i // (5 + j)) % 4 for i in range(400)] for j in range(len(maps) + 1)}).astype(
        str
    )
    found = found_in(frame, kind=kind)
    assert all(plainly_decided(frame, other, name) for name, other in found.items())
    # Chance would not let 391 rows agree, unless nearly all rows have one value.
    sure = {f"m{j}" for j in range(len(maps)) if frame[f"m{j}"].value_counts(normalize=True).iloc[0] < 0.9}
    assert {name for name in sure if len({*frame[name]}) > 1} <= {*found}


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_of_a_person_decides_nothing(kind):
    """Give each value to one person, with constant attributes over all rows."""
    rows = [(p, f"b{p}", "FM"[p % 2], p % 7, f"z{p % 5}", v) for p in range(60) for v in range(20)]
    frame = pd.DataFrame(rows, columns=["key", "born", "sex", "race", "zip", "visit"]).astype(str)
    assert found_in(frame.drop(columns="key"), kind=kind) == {}
    assert found_in(frame, person="key", kind=kind) == {}
    # As many columns that are not of persons do not make it one that decides.
    more = frame.assign(**{f"v{i}": [str((j * (i + 3)) % 11) for j in range(len(frame))] for i in range(6)})
    assert found_in(more, ["born", "sex", "race", "zip"], "key", kind) == {}


def test_rows_are_few_where_columns_are_many(monkeypatch):
    rng = Random(1)
    frame = pd.DataFrame({"a": [i % 50 for i in range(2000)], "b": [i % 50 // 5 for i in range(2000)]})
    for name in "cde":
        frame[name] = [rng.randrange(9) for _ in range(2000)]
    assert found_in(frame) == {"b": "a"}
    monkeypatch.setattr(guesses, "_COMPARED", 1)
    assert found_in(frame) == {"b": "a"}
    # A row of the sample agrees by chance, and all rows tell.
    frame.loc[1999, "b"] = 0
    assert found_in(frame) == {}


def test_near_unique_and_rare_values_are_no_evidence():
    n = 500
    frame = pd.DataFrame({"stamp": [*range(n - 5), *range(5)], "sex": [i % 2 for i in [*range(n - 5), *range(5)]]})
    frame["rare"] = [0] * (n - 1) + [1]
    frame["group"] = [i % 30 for i in range(n - 1)] + [30]
    assert found_in(frame) == {}
