"""Losses of MDAV on the three reference sets of microaggregation, beside the published ones.

    python -m benchmarks.papers.microaggregation FOLDER

The loss is 100 SSE / SST over standardized columns. The sets are those of the CASC project (Brand, Domingo-Ferrer and
Mateo-Sanz 2002), which sdcMicro has, too. FOLDER holds them as tarragona.csv, census.csv and eia.csv, with a header or
without: 13 columns, 13, and the 11 of numbers. A few seconds.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import record
from pymoo_anon.publishing import mdav

# Rows, columns and losses by k, as papers on microaggregation print them for MDAV.
PUBLISHED = {
    "tarragona": (834, 13, {3: 16.93, 5: 22.46, 10: 33.19}),
    "census": (1080, 13, {3: 5.69, 5: 9.09, 10: 14.16}),
    "eia": (4092, 11, {3: 0.48, 5: 1.67, 10: 3.84}),
}


def loss(rows: np.ndarray, k: int) -> float:
    """Return the share of the sum of squares that lies inside groups, in percent."""
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    means = pd.DataFrame(standard).groupby(mdav(standard, k)).transform("mean").to_numpy()
    return float(100 * ((standard - means) ** 2).sum() / (standard**2).sum())


def main(folder: Path) -> None:
    figures: list[dict[str, Any]] = []
    for name, (n_rows, n_columns, losses) in PUBLISHED.items():
        lines = (folder / f"{name}.csv").read_text(encoding="utf-8").split()
        rows = np.loadtxt(lines, delimiter=",", skiprows=int(lines[0][0].isalpha()))
        assert rows.shape == (n_rows, n_columns), (name, rows.shape)
        for k, published in losses.items():
            own = loss(rows, k)
            assert round(own, 2) == published, (name, k, own)
            figures.append({"set": name, "rows": n_rows, "k": k, "here": own, "published": published})
    columns = {"set": "{set}", "rows": "{rows:,}", "k": "{k}", "here": "{here:.6f}", "published": "{published:.2f}"}
    table = record.table(columns, figures)
    record.write("microaggregation", {"machine": record.machine(), "losses": figures}, table=table)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
