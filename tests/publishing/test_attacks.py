"""Attacks with the original file.

None finds a person better than 1 / k.

A person in a class could be any of its k rows. So nothing of a release may change when two rows of a class change
places in the original: not its order, index, types, categories, signs or anything else that travels with it. Each
attack reads one such thing, and each finds a release that was broken on purpose.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pymoo_anon.objectives import DistinctLDiversity, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import release
from pymoo_anon.table import Hierarchy, Microdata

HIERARCHIES = {"age": Hierarchy.intervals(20, 100, [20, 40]), "town": Hierarchy.flat(["Bonn", "Köln", "Ulm"])}
ROLES = {"drop": ["name"], "keep": ["weight", "ward"]}
NODE = [2, 1]


def original(seed=0):
    rng = np.random.default_rng(seed)
    n = 60
    frame = pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": rng.integers(20, 100, n),
            "town": rng.choice(["Bonn", "Köln", "Ulm"], n),
            "diagnosis": rng.choice(["flu", "cold", "asthma"], n),
            "weight": rng.choice([0.0, 0.5, 70.25], n),
            "ward": rng.choice(["a", "b"], n),
        }
    )
    # Zeros of both signs, which are equal: half of them are held by one person each.
    zeros = np.flatnonzero(frame.weight == 0)
    frame.loc[zeros[::2], "weight"] = -0.0
    frame.attrs["source"] = "person 0 comes first"
    frame.index = [f"row of {name}" for name in frame.name]
    return frame.astype({"ward": pd.CategoricalDtype(["z", "b", "a"])})


def problem(frame):
    return LatticeProblem(
        Microdata.from_frame(frame, HIERARCHIES, "diagnosis"), [KAnonymity(), DistinctLDiversity("diagnosis")]
    )


def made(frame):
    return release(frame, problem(frame), NODE, **ROLES).frame


# An attacker reads these parts of a release, each as a comparable value.
ATTACKS = {
    "row order": lambda frame: [tuple(map(str, row)) for row in frame.itertuples(index=False)],
    "index": lambda frame: (type(frame.index), frame.index.tolist(), frame.index.name),
    "column types": lambda frame: frame.dtypes.astype(str).tolist(),
    "types of cells": lambda frame: [[type(cell) for cell in frame[name].tolist()] for name in frame],
    "categories": lambda frame: [list(own.cat.categories) for _, own in frame.items() if hasattr(own, "cat")],
    "signs of zeros": lambda frame: np.signbit(frame.select_dtypes("number").to_numpy()).tolist(),
    "how a file writes it": lambda frame: frame.to_csv(),
    "attributes": lambda frame: dict(frame.attrs),
}


def changed(frame):
    """Reorder the rows, and swap persons within their classes."""
    rng = np.random.default_rng(1)
    swapped = frame.copy()
    group = (frame.age - 20) // 40
    for own in np.unique(group):
        places = np.flatnonzero(group == own)
        others = rng.permutation(places)
        # Name, age and town identify a person. Diagnosis, weight and ward stay in place.
        for column in ("name", "age", "town"):
            swapped.iloc[places, frame.columns.get_loc(column)] = frame[column].iloc[others].tolist()
    # Zeros change signs, and everything that is not in the table changes.
    swapped["weight"] = np.where(swapped.weight == 0, -1 * swapped.weight, swapped.weight)
    swapped = swapped.iloc[rng.permutation(len(swapped))]
    swapped.index = [f"other {i}" for i in range(len(swapped))]
    swapped["ward"] = swapped.ward.cat.reorder_categories(["a", "b", "z"])
    swapped.attrs = {"source": "person 7 comes first"}
    return swapped


def found_by(publish):
    """Return the attacks that see through a release."""
    one, other = publish(original()), publish(changed(original()))
    return {name for name, read in ATTACKS.items() if read(one) != read(other)}


def test_no_attack_sees_through_a_release():
    assert found_by(made) == set()
    # All that the originals differ in is seen.
    assert ATTACKS.keys() - found_by(lambda frame: frame) == {"column types", "types of cells"}


@pytest.mark.parametrize("to", [pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=True)])
def test_other_kinds_of_frames_leave_nothing_behind_either(to):
    def publish(frame):
        roles = {**ROLES, "drop": ["name", *(["__index_level_0__"] if to is not pl.from_pandas else [])]}
        return release(to(frame), problem(frame), NODE, **roles).frame

    one, other = publish(original()), publish(changed(original()))
    assert one.equals(other)
    schemas = [getattr(frame, "schema", None) for frame in (one, other)]
    assert schemas[0] == schemas[1]
    if isinstance(one, pa.Table):
        assert one.schema.metadata == other.schema.metadata
        assert [column.num_chunks for column in one.columns] == [1] * one.num_columns
        assert not any(pa.types.is_dictionary(field.type) for field in one.schema)
    else:
        assert one.n_chunks() == 1
