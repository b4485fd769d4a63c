"""Refusals of the room of tables, with their sentences."""

import io
import json
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from errors import refused
from persons import AGES, QUASI, persons
from refusals import check_refusals, refusals
from strategies import at_levels, renamed
from test_taxonomy import PAIRS, WORKCLASS

from pymoo_anon.engine import DistinctTuples
from pymoo_anon.table import *
from pymoo_anon.table.delimited import decoded
from pymoo_anon.table.domain_values import Bins
from pymoo_anon.table.generalization import suppression_rule
from pymoo_anon.table.hierarchy_edits import merged, moved, split, with_widths

NAN = float("nan")
CITIES = Hierarchy([["Bonn", "Paris", "Rome"], ["DE", "FR", "IT"], ["*"] * 3])
AB = Hierarchy.flat("ab")
TWO_BINS = Bins((0, 5, 10), "left", True)


def from_frame(**changes):
    return Microdata.from_frame(**{"frame": persons(), "quasi_identifiers": QUASI, **changes})


def of_ab(hierarchy=AB):
    return Microdata.from_frame(pd.DataFrame({"p": ["a", "b"]}), {"p": hierarchy})


def by_age(groups):
    return Generalization({"age": groups}, {"age": ["young", "old"]})


def csv(text):
    """Read a hierarchy from text, where a file of it is refused in the same words."""
    Path("h.csv").write_text(text, encoding="utf-8")
    told = refused(ValueError, lambda: Hierarchy.from_csv("h.csv"))
    assert told == refused(ValueError, lambda: Hierarchy.from_csv(io.StringIO(text))).replace("the file", "h.csv", 1)
    Hierarchy.from_csv("h.csv")


def written(levels):
    """Write a hierarchy, where nothing is written."""
    try:
        Hierarchy(levels).to_csv("w.csv")
    finally:
        assert not Path("w.csv").exists()


def tree(given):
    """Build a taxonomy, where a file of it is refused in the same words."""
    Path("t.json").write_text(json.dumps(given), encoding="utf-8")
    told = refused((TypeError, ValueError), lambda: Taxonomy.from_json("t.json"))
    assert told == f"t.json: {refused((TypeError, ValueError), lambda: Taxonomy(given))}"
    Taxonomy(given)


def json_file(content):
    Path("t.json").write_bytes(content)
    Taxonomy.from_json("t.json")


def below(*children):
    return {"name": "root", "children": [*children]}


@refusals(__file__)
def test_what_is_refused(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_refusals(section, globals())
