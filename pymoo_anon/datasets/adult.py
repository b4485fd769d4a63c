"""The Adult census table of UCI, and an invented census like it."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import pooch

from pymoo_anon._messages import positive_whole, whole_from_0
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata, check_size
from pymoo_anon.table.taxonomy import Taxonomy
from pymoo_anon.typing import Ints

#: The quasi-identifiers of Dewri et al. 2010, Table 1(a), in its order.
QUASI_IDENTIFIERS = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country", "salary-class")

_HEADER = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,"
    "capital-loss,hours-per-week,native-country,salary-class"
)

#: Columns with a packaged taxonomy: those that Lunacek et al. 2006 constrain.
TAXONOMIES = ("workclass", "education", "marital-status", "native-country")

_FILE = "adult/adult.data"


def fetch_adult(
    quasi_identifiers: Iterable[str] | Mapping[str, Hierarchy] | None = None,
    sensitive: str | Iterable[str] | None = "occupation",
    label: str | None = None,
) -> Microdata:
    """Load the Adult table of 30,162 rows, with hierarchies.

    The rows are those of `fetch_adult_frame`, and the hierarchies are as long as those of Dewri et al. 2010.

    Args:
        quasi_identifiers: Names of columns with a packaged hierarchy, or a hierarchy of one's own for each column.
            None takes the eight of the paper's Table 1(a), a lattice of 17,920 nodes, less those with another role.
        sensitive: Name or names of the sensitive columns.
        label: Column with the class labels. "salary-class" gives the paper's lattice of 8,960 nodes.

    Raises:
        KeyError: A column has no packaged hierarchy, or is none of Adult's.
        TypeError: A quasi-identifier has no `Hierarchy`.
        ValueError: There is no quasi-identifier, roles exclude each other, a hierarchy lacks a value, or the file found
            is not UCI's.
        OSError: There is no file, and it could not be downloaded.
    """
    sensitive = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive or ())
    if quasi_identifiers is None:
        quasi_identifiers = [name for name in QUASI_IDENTIFIERS if name != label and name not in sensitive]
    if not isinstance(quasi_identifiers, Mapping):
        quasi_identifiers = {name: load_hierarchy(name) for name in quasi_identifiers}
    return Microdata.from_frame(fetch_adult_frame(), quasi_identifiers, sensitive, label)


def fetch_adult_frame() -> pd.DataFrame:
    """Load the rows of Adult without missing values.

    The data are UCI's `adult.data` (CC BY 4.0, https://doi.org/10.24432/C5XW20). The file is `adult/adult.data` in the
    folder of the environment variable PYMOO_ANON_DATA, or in pooch's cache if the variable is not set. A missing file
    is downloaded from UCI's archive into that folder. Its sha256 is checked.

    Returns:
        A frame of 30,162 rows and 15 columns.

    Raises:
        ValueError: The file found is not UCI's.
        OSError: There is no file, and it could not be downloaded.
    """
    source = pooch.create(
        path=pooch.os_cache("pymoo_anon"),
        base_url="https://archive.ics.uci.edu/ml/machine-learning-databases/",
        registry={_FILE: "sha256:5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"},
        env="PYMOO_ANON_DATA",
        # Files of users are never overwritten.
        allow_updates=False,
    )
    try:
        path = source.fetch(_FILE)
    except OSError as error:
        raise OSError(
            f"Adult could not be downloaded from {source.get_url(_FILE)} ({type(error).__name__}); get it in another "
            f"way, save it as {_FILE} in some folder, and set the environment variable PYMOO_ANON_DATA to that folder"
        ) from error
    rows = pd.read_csv(path, names=_HEADER.split(","), skipinitialspace=True, na_values="?")
    return rows.dropna(ignore_index=True)


def load_hierarchy(name: str) -> Hierarchy:
    """Load the packaged hierarchy of a column of Adult.

    Raises:
        KeyError: The column is not one of `QUASI_IDENTIFIERS`.

    >>> load_hierarchy("native-country")
    Hierarchy(41 values, levels of 41, 12, 4, 2, 1 groups)
    """
    text = _packaged("quasi_identifiers", QUASI_IDENTIFIERS, name, f"hierarchies/{name}.csv")
    return Hierarchy.from_csv(StringIO(text))


def load_taxonomy(name: str) -> Taxonomy:
    """Load the packaged taxonomy of a column of Adult.

    Raises:
        KeyError: The column is not one of `TAXONOMIES`.

    >>> load_taxonomy("workclass")
    Taxonomy('Any work class', 8 leaves, 9 cuts)
    """
    return Taxonomy(json.loads(_packaged("taxonomies", TAXONOMIES, name, f"taxonomies/{name}.json")))


def _packaged(argument: str, names: Sequence[str], name: str, path: str) -> str:
    if name not in names:
        raise KeyError(f"{argument} must be among {', '.join(names)}, got {name!r}")
    return (files("pymoo_anon.datasets") / path).read_text(encoding="utf-8")


# --- an invented census -----------------------------------------------------------------------------------------------

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
        ValueError: `n_rows` is not a positive whole number of at most 3,037,000,499, or `seed` not one from 0.

    >>> make_census(1000)
    Microdata(1000 rows, 867 distinct tuples of 8 quasi-identifiers, sensitive 'occupation')
    """
    check_size(positive_whole("n_rows", n_rows))
    hierarchies = _hierarchies()
    domains = _domains(hierarchies)
    sizes = [len(domain) for domain in domains.values()]
    drawn = [
        np.unique(np.ravel_multi_index([codes[name] for name in domains], sizes), return_counts=True)
        for codes in _chunks(n_rows, seed)
    ]
    keys, counts = map(np.concatenate, zip(*drawn, strict=True))
    *codes, occupations = np.unravel_index(keys, sizes)
    own, values = {_SENSITIVE: occupations}, {_SENSITIVE: domains[_SENSITIVE]}
    return Microdata.from_codes(hierarchies, codes, counts, own, values, [_SENSITIVE])


def census_rows(n_rows: int = 30_162, seed: int = 0) -> Iterator[pd.DataFrame]:
    """Draw the rows of `make_census` in frames of at most 1,048,576 rows.

    Raises:
        ValueError: As `make_census`.

    >>> (rows,) = census_rows(3)
    >>> list(rows)[:3], len(rows)
    (['age', 'workclass', 'education'], 3)
    """
    domains = {name: np.array(values, dtype=object) for name, values in _domains(_hierarchies()).items()}
    return (
        pd.DataFrame({name: values[codes[name]] for name, values in domains.items()}).infer_objects()
        for codes in _chunks(n_rows, seed)
    )


def _chunks(n_rows: int, seed: int) -> Iterator[dict[str, Ints]]:
    n_rows, rng = positive_whole("n_rows", n_rows), np.random.default_rng(whole_from_0("seed", seed))
    columns = _network()["columns"]
    return (_draw_rows(columns, min(_CHUNK, n_rows - start), rng) for start in range(0, n_rows, _CHUNK))


def _network() -> dict[str, Any]:
    return json.loads((files("pymoo_anon.datasets") / "census.json").read_text(encoding="utf-8"))


def _hierarchies() -> dict[str, Hierarchy]:
    return {name: load_hierarchy(name).with_numbers(int) for name in QUASI_IDENTIFIERS}


def _domains(hierarchies: dict[str, Hierarchy]) -> dict[str, Sequence[Hashable]]:
    return {name: own.domain for name, own in hierarchies.items()} | {_SENSITIVE: _network()["occupations"]}


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
