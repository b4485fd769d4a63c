"""Run of one package in its own environment, which holds no more than the package and pandas.

    python peers_run.py PACKAGE K ROWS HIERARCHIES RELEASED

ROWS is a CSV file of quasi-identifiers with a last column that is sensitive, HIERARCHIES a JSON file with the levels of
each quasi-identifier. The released rows go to RELEASED, the seconds to the standard output.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import pandas as pd

Levels = dict[str, list[list[str]]]

# Share of rows in per cent that a package may leave out, where it can leave out any.
SUPPRESSED = 1


def by_anonypy(rows: pd.DataFrame, quasi: list[str], k: int, levels: Levels) -> pd.DataFrame:
    import anonypy

    own = rows.astype({name: "category" for name in quasi if rows[name].dtype.kind not in "iu"})
    found = anonypy.Preserver(own, quasi, rows.columns[-1]).anonymize_k_anonymity(k=k)
    made = pd.DataFrame(found)
    return made.loc[made.index.repeat(made["count"]), list(rows)]


def by_anonypyx(rows: pd.DataFrame, quasi: list[str], k: int, levels: Levels) -> pd.DataFrame:
    import anonypyx

    own = rows.astype({name: "category" for name in quasi if rows[name].dtype.kind not in "iu"})
    asked = {"k": k, "algorithm": "Mondrian", "feature_columns": quasi, "generalisation_strategy": "human-readable"}
    made = anonypyx.Anonymiser(own, sensitive_column=rows.columns[-1], **asked).anonymise()
    return made.loc[made.index.repeat(made["count"])] if "count" in made else made


def by_umbra(rows: pd.DataFrame, quasi: list[str], k: int, levels: Levels) -> pd.DataFrame:
    from umbra_k.anonymizer import MondrianAnonymizer

    found: pd.DataFrame = MondrianAnonymizer(k=k, quasi_id=quasi).fit_transform(rows)
    return found


def by_anjana(rows: pd.DataFrame, quasi: list[str], k: int, levels: Levels) -> pd.DataFrame:
    from anjana.anonymity import k_anonymity

    own = rows.astype(dict.fromkeys(quasi, str))
    hierarchies = {}
    for name in quasi:
        place = {value: i for i, value in enumerate(levels[name][0])}
        places = own[name].map(place).to_numpy()
        hierarchies[name] = {level: pd.Series(texts)[places].to_numpy() for level, texts in enumerate(levels[name])}
    found: pd.DataFrame = k_anonymity(own, [], quasi, k, SUPPRESSED, hierarchies)
    return found


RUNS: dict[str, Callable[..., pd.DataFrame]] = {
    "anonypy": by_anonypy,
    "anonypyx": by_anonypyx,
    "umbra-k": by_umbra,
    "anjana": by_anjana,
}


def main(package: str, k: str, rows: str, hierarchies: str, released: str) -> None:
    frame = pd.read_csv(rows)
    with open(hierarchies, encoding="utf-8") as file:
        levels: Any = json.load(file)
    began = time.process_time()
    made = RUNS[package](frame, list(frame)[:-1], int(k), levels)
    print(json.dumps({"seconds": time.process_time() - began}))
    made[list(frame)[:-1]].to_csv(released, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
