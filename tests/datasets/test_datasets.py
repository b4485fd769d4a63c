"""The tables that come with the package."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pandas as pd
import pooch
import pytest
from errors import refused
from refusals import check_refusals, refusals

from pymoo_anon.datasets import *
from pymoo_anon.datasets import adult
from pymoo_anon.datasets.adult import QUASI_IDENTIFIERS, TAXONOMIES
from pymoo_anon.objectives import KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Microdata

# Dewri et al. 2010, Table 1(a): number of values and length of the hierarchy.
TABLE_1A = {
    "age": (74, 6),
    "workclass": (7, 3),
    "education": (16, 3),
    "marital-status": (7, 3),
    "race": (5, 1),
    "sex": (2, 1),
    "native-country": (41, 4),
    "salary-class": (2, 1),
}


def marginals(table, *names):
    """Return the shares of a column's values or of value pairs."""
    last = table.tuples.columns[names[-1]]
    shares = np.zeros([table.tuples.columns[name].n_values for name in names])
    cells = [last.values]
    if len(names) == 2:
        rows = np.repeat(np.arange(table.n_distinct), np.diff(last.starts))
        cells.insert(0, table.tuples.columns[names[0]].values[rows])
    np.add.at(shares, tuple(cells), last.counts / table.n_rows)
    return shares


def test_the_census_has_adults_columns_and_domains():
    table = make_census()
    assert table.n_rows == 30_162
    assert tuple(TABLE_1A) == QUASI_IDENTIFIERS
    assert {n: (h.n_values, h.length) for n, h in table.quasi_identifiers.items()} == TABLE_1A
    assert table.sensitive == ("occupation",)
    assert len(table.domain_of("occupation")) == 14
    assert table.quasi_identifiers["age"].domain[0] == 17
    assert LatticeProblem(table, [KAnonymity()]).n_nodes == 17_920


def test_the_census_depends_on_its_seed_alone():
    one, same, other = make_census(500, seed=4), make_census(500, seed=4), make_census(500, seed=5)
    assert np.array_equal(one.tuples.codes, same.tuples.codes)
    assert np.array_equal(one.tuples.counts, same.tuples.counts)
    assert np.array_equal(one.tuples.columns["occupation"].counts, same.tuples.columns["occupation"].counts)
    assert not np.array_equal(one.tuples.codes[:300], other.tuples.codes[:300])


def test_a_census_of_any_size(monkeypatch):
    assert make_census(1).n_rows == 1
    usual = marginals(make_census(), "sex")
    # More than one chunk of draws.
    monkeypatch.setattr(adult, "_CHUNK", 16_384)
    large = make_census(60_000, seed=1)
    assert large.n_rows == 60_000
    assert np.abs(marginals(large, "sex") - usual).max() < 0.01


@refusals(__file__)
def test_what_is_refused(section):
    check_refusals(section, globals())


def test_the_network_is_small_and_holds_no_rows():
    assert (files("pymoo_anon.datasets") / "census.json").stat().st_size < 200_000


def test_the_census_is_as_near_to_adult_as_it_says(adult_rows):
    real, invented = fetch_adult(), make_census()
    columns = [*QUASI_IDENTIFIERS, "occupation"]
    text = " ".join(make_census.__doc__.split())
    for n in (1, 2):
        apart = [np.abs(marginals(real, *c) - marginals(invented, *c)).sum() / 2 for c in combinations(columns, n)]
        assert f"{np.mean(apart):.3f} on average and {max(apart):.3f} at most" in text


def test_adult(adult_rows):
    frame = fetch_adult_frame()
    assert frame.shape == (30_162, 15)
    assert frame.equals(adult_rows.reset_index(drop=True).astype(frame.dtypes))
    table = fetch_adult()
    assert (table.n_rows, table.n_distinct) == (30_162, 12_458)
    assert tuple(table.quasi_identifiers) == QUASI_IDENTIFIERS
    assert LatticeProblem(table, [KAnonymity()]).n_nodes == 17_920


def test_adult_with_a_class_label(adult_rows):
    table = fetch_adult(label="salary-class")
    assert "salary-class" not in table.quasi_identifiers
    assert table.domain_of("salary-class") == ("<=50K", ">50K")
    assert LatticeProblem(table, [KAnonymity()]).n_nodes == 8_960


def test_adult_with_a_sensitive_column_that_is_a_quasi_identifier_else(adult_rows):
    table = fetch_adult(sensitive=["sex", "occupation"])
    assert tuple(table.quasi_identifiers) == tuple(name for name in QUASI_IDENTIFIERS if name != "sex")
    assert table.domain_of("sex") == ("Female", "Male")


def test_taxonomies_are_packaged_for_the_columns_that_are_constrained():
    assert [load_taxonomy(name).n_bits + 1 for name in TAXONOMIES] == [8, 16, 7, 41]


def test_adult_with_quasi_identifiers_of_ones_choice(adult_rows):
    assert list(fetch_adult(["sex", "age"], None).quasi_identifiers) == ["sex", "age"]
    assert list(fetch_adult({"age": load_hierarchy("age")}).quasi_identifiers) == ["age"]


def test_without_a_network_it_says_what_to_do(tmp_path, monkeypatch):
    def fail(self, name):
        raise ConnectionError("no route")

    monkeypatch.setattr(pooch.Pooch, "fetch", fail)
    text = refused(OSError, fetch_adult_frame)
    assert re.search(r"could not be downloaded from https://archive\.ics\.uci\.edu/.*/adult\.data", text)
    assert "set the environment variable PYMOO_ANON_DATA" in text


def test_a_file_that_is_not_ucis_is_refused_and_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("PYMOO_ANON_DATA", str(tmp_path))
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult" / "adult.data").write_text("39, State-gov\n")
    with pytest.raises(ValueError, match=r"adult\.data"):
        fetch_adult_frame()
    assert (tmp_path / "adult" / "adult.data").read_text() == "39, State-gov\n"


@pytest.mark.parametrize("chunk", [800, 1_048_576])
def test_the_rows_of_the_census_are_those_that_it_counts(chunk, monkeypatch):
    assert adult._CHUNK == 1_048_576
    monkeypatch.setattr(adult, "_CHUNK", chunk)
    rows, table = list(census_rows(2000, seed=4)), make_census(2000, seed=4)
    assert [len(own) for own in rows] == ([800, 800, 400] if chunk == 800 else [2000])
    own = pd.concat(rows)
    again = Microdata.from_frame(own, table.quasi_identifiers, "occupation")
    totals = table.tuples.totals("occupation")
    assert again.tuples.totals("occupation").tolist() == totals[totals > 0].tolist()
    counted = [zip(map(tuple, one.tuples.codes.tolist()), one.tuples.counts, strict=True) for one in (again, table)]
    assert dict(counted[0]) == dict(counted[1])
    assert own.age.dtype.kind == "i"
