"""A small table of persons, in every kind of frame."""

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa

from pymoo_anon.table import Hierarchy

NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.string(): pd.StringDtype()}
FRAMES = {
    "pandas": lambda table: table.to_pandas(),
    "pandas nullable": lambda table: table.to_pandas(types_mapper=NULLABLE.get),
    "polars": pl.from_arrow,
    "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "pyarrow": lambda table: table,
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
}
AGES, SEXES = Hierarchy.flat([99, 41, 30, 17]), Hierarchy.flat(["F", "M"])
QUASI = {"age": AGES, "sex": SEXES}
PERSONS = {
    "age": [30, 41, 30, 30, 41, 99],
    "sex": ["F", "M", "F", "F", "F", "M"],
    "diagnosis": ["flu", "ulcer", "flu", "cold", "ulcer", "flu"],
    "salary": [1.5, 2.0, 2.0, 1.5, 2.0, 1.5],
    "name": ["Ann", "Bob", "Cleo", "Dora", "Eve", "Fred"],
}


def persons(**columns):
    return pd.DataFrame({**PERSONS, **columns})


def contents(table):
    """Return all contents of a table as plain Python."""
    return {
        "hierarchies": list(table.quasi_identifiers.items()),
        "tuples": table.tuples.codes.tolist(),
        "counts": table.tuples.counts.tolist(),
        "values": {name: table.domain_of(name) for name in table.tuples.columns},
        "histograms": {name: counts.histogram().tolist() for name, counts in table.tuples.columns.items()},
        "roles": (table.sensitive, table.label),
    }


def cells(frame):
    """Return the rows of any frame with the types of Arrow, with None for missing values."""
    table = nw.from_native(frame)
    table = table.collect("pyarrow") if isinstance(table, nw.LazyFrame) else table
    return [tuple(None if pd.isna(cell) else cell for cell in row) for row in table.rows()]


def rows_of(frame):
    """Return the rows of any frame, with None for missing values."""
    table = nw.from_native(frame)
    table = table.collect("pandas") if isinstance(table, nw.LazyFrame) else table
    columns = [[None if pd.isna(value) else value for value in table[name].to_list()] for name in table.columns]
    return table.columns, list(zip(*columns, strict=True))
