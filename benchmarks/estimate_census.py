"""Estimate the network of `make_census` from Adult, and measure its closeness.

    python -m benchmarks.estimate_census [--write]

Chow and Liu 1968: of all tree-shaped networks, the one whose edges have the greatest sum of mutual informations is
nearest to the data. `--write` replaces `pymoo_anon/datasets/census.json`. Needs Adult and scikit-learn.
"""

import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
from sklearn.metrics import mutual_info_score

from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.datasets.adult import QUASI_IDENTIFIERS
from pymoo_anon.table import Microdata

COLUMNS = (*QUASI_IDENTIFIERS, "occupation")
TARGET = Path(__file__).parents[1] / "pymoo_anon" / "datasets" / "census.json"


def joint(table: Microdata, a: str, b: str) -> np.ndarray:
    """Count the value pairs of two columns."""
    first, second = (table.tuples.columns[name] for name in (a, b))
    counts = np.zeros((first.n_values, second.n_values), dtype=np.int64)
    # The sensitive column is the only one with several values in a tuple, and it stands second.
    rows = np.repeat(np.arange(table.n_distinct), np.diff(second.starts))
    np.add.at(counts, (first.values[rows], second.values), second.counts)
    return counts


def estimate(table: Microdata) -> dict:
    """Return the maximum spanning tree with the counts of each column given its parent."""
    information = {
        pair: mutual_info_score(None, None, contingency=joint(table, *pair)) for pair in combinations(COLUMNS, 2)
    }
    root = joint(table, COLUMNS[0], COLUMNS[1]).sum(axis=1)
    columns = {COLUMNS[0]: {"parent": None, "counts": [root.tolist()]}}
    while len(columns) < len(COLUMNS):
        inside, outside = max(
            ((a, b) if a in columns else (b, a) for a, b in information if (a in columns) != (b in columns)),
            key=lambda edge: information.get(edge, information.get(edge[::-1])),
        )
        in_order = COLUMNS.index(inside) < COLUMNS.index(outside)
        counts = joint(table, inside, outside) if in_order else joint(table, outside, inside).T
        columns[outside] = {"parent": inside, "counts": counts.tolist()}
    return {"columns": columns, "occupations": list(table.domain_of("occupation"))}


def distances(a: Microdata, b: Microdata) -> dict[str, dict]:
    """Total variation of every one-way and two-way marginal of two tables."""
    one, two = {}, {}
    for pair in combinations(COLUMNS, 2):
        apart = joint(a, *pair) / a.n_rows - joint(b, *pair) / b.n_rows
        two[pair] = np.abs(apart).sum() / 2
        one |= {name: np.abs(apart.sum(axis=1 - axis)).sum() / 2 for axis, name in enumerate(pair)}
    return {"one-way": one, "two-way": two}


def main() -> None:
    adult = fetch_adult()
    network = estimate(adult)
    if "--write" in sys.argv:
        TARGET.write_text(json.dumps(network, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
    for name, column in network["columns"].items():
        print(f"  {column['parent'] or '-':>16} -> {name}")
    for title, found in distances(adult, make_census()).items():
        values = np.array(list(found.values()))
        worst = max(found, key=found.get)
        print(f"{title}: mean {values.mean():.3f}, largest {values.max():.3f} ({worst})")


if __name__ == "__main__":
    main()
