"""An invented census of any size, without a download."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon._messages import positive_whole, whole_from_0
from pymoo_anon.datasets.adult import QUASI_IDENTIFIERS, load_hierarchy
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Ints

_SENSITIVE = "occupation"

# Rows in one draw. The draws of a seed depend on it.
_CHUNK = 1 << 20


def make_census(n_rows: int = 30_162, seed: int = 0) -> Microdata:
    """Draw an invented table like Adult of any size.

    It has the nine columns of Adult in Dewri et al. 2010, and their domains: eight quasi-identifiers with the packaged
    hierarchies, and the sensitive column "occupation". Rows are drawn independently from a tree-shaped Bayesian network
    (Chow and Liu 1968), which joins each column to one other by the counts of Adult. So the table has Adult's marginals
    and the strongest of its two-way dependencies, and no person of Adult in it.

    Total variation between Adult and the 30,162 rows of seed 0: of the nine one-way marginals 0.005 on average and
    0.019 at most (age), of the 36 two-way marginals 0.046 on average and 0.161 at most (sex with occupation).
    `benchmarks/estimate_census.py` computes them.

    Raises:
        ValueError: `n_rows` is not a positive whole number, or `seed` not one from 0.

    >>> make_census(1000)
    Microdata(1000 rows, 867 distinct tuples of 8 quasi-identifiers, sensitive 'occupation')
    """
    columns = [*QUASI_IDENTIFIERS, _SENSITIVE]
    hierarchies = _hierarchies()
    domains = _domains(hierarchies)
    sizes = [len(domains[name]) for name in columns]
    drawn = [
        np.unique(np.ravel_multi_index([codes[name] for name in columns], sizes), return_counts=True)
        for codes in _chunks(n_rows, seed)
    ]
    codes = dict(zip(columns, np.unravel_index(np.concatenate([keys for keys, _ in drawn]), sizes), strict=True))
    return Microdata.from_codes(
        hierarchies,
        [codes[name] for name in QUASI_IDENTIFIERS],
        np.concatenate([counts for _, counts in drawn]),
        {_SENSITIVE: codes[_SENSITIVE]},
        {_SENSITIVE: domains[_SENSITIVE]},
        [_SENSITIVE],
    )


def census_rows(n_rows: int = 30_162, seed: int = 0) -> Iterator[pd.DataFrame]:
    """Draw the rows of `make_census` in frames of at most 1,048,576 rows.

    Raises:
        ValueError: As `make_census`.

    >>> (rows,) = census_rows(3)
    >>> list(rows)[:3], len(rows)
    (['age', 'workclass', 'education'], 3)
    """
    domains = {name: np.array(values, dtype=object) for name, values in _domains(_hierarchies()).items()}
    chunks = _chunks(n_rows, seed)
    return (
        pd.DataFrame({name: domains[name][codes[name]] for name in (*QUASI_IDENTIFIERS, _SENSITIVE)}).infer_objects()
        for codes in chunks
    )


def _chunks(n_rows: int, seed: int) -> Iterator[dict[str, Ints]]:
    n_rows, seed = positive_whole("n_rows", n_rows), whole_from_0("seed", seed)
    network, rng = _network(), np.random.default_rng(seed)
    return (_draw_rows(network["columns"], min(_CHUNK, n_rows - start), rng) for start in range(0, n_rows, _CHUNK))


def _network() -> dict[str, Any]:
    return json.loads((files("pymoo_anon.datasets") / "census.json").read_text(encoding="utf-8"))


def _hierarchies() -> dict[str, Hierarchy]:
    return {name: load_hierarchy(name).with_numbers(int) for name in QUASI_IDENTIFIERS}


def _domains(hierarchies: dict[str, Hierarchy]) -> dict[str, Sequence[Hashable]]:
    own: dict[str, Sequence[Hashable]] = {name: hierarchy.domain for name, hierarchy in hierarchies.items()}
    return {**own, _SENSITIVE: _network()["occupations"]}


def _draw_rows(network: dict[str, dict[str, Any]], n: int, rng: np.random.Generator) -> dict[str, Ints]:
    codes: dict[str, Ints] = {}
    for name, column in network.items():
        counts = np.array(column["counts"], dtype=np.int64)
        parent = codes[column["parent"]] if column["parent"] is not None else np.zeros(n, dtype=np.int64)
        totals = counts.sum(axis=1)
        # With counts laid end to end, a number below the parent's total, plus all counts before, falls into one cell.
        ends = np.cumsum(counts.ravel())
        within = np.minimum((rng.random(n) * totals[parent]).astype(np.int64), totals[parent] - 1)
        cells = np.searchsorted(ends, (np.cumsum(totals) - totals)[parent] + within, side="right")
        codes[name] = cells % counts.shape[1]
    return codes
