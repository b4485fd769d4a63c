"""Other packages for Python, and published figures, beside local recodings of Adult.

    python -m benchmarks.local.peers FOLDER

Each package is installed from PyPI into an environment of its own below FOLDER, and runs there once for each k. All get
the same rows and, where they take them, the same hierarchies. Loss and k are counted here in the rows that they
release. Ten minutes of the processor, most of them of one package; needs Adult, and scikit-learn for the classifier.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import record
from benchmarks.local import peers_run
from pymoo_anon.datasets import fetch_adult, fetch_adult_frame
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import AnonymizationProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import release
from pymoo_anon.table import Hierarchy, Microdata

KS = 5, 10
# A run may take so many seconds.
MOST_SECONDS = 3_600

#: "NCP" of Adult at k = 10 as Basic_Mondrian's README has it, per cent of a cell, and its "trees" of two columns;
#: "accuracy" of a random forest on Adult in per cent, by k, from `paper_results/adult` of k-AnonML.
PUBLISHED = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def python_of(folder: Path, package: str) -> Path:
    """Return the Python of a package's environment, which is made if it is not there."""
    python = folder / package / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / package)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", package, "pandas"], check=True)
    return python


def versions_of(python: Path, package: str) -> dict[str, str]:
    """Return the versions of Python, a package, numpy and pandas in an environment."""
    listed = subprocess.run([python, "-m", "pip", "list", "--format", "json"], capture_output=True, check=True).stdout
    said = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout
    known = {one["name"]: one["version"] for one in json.loads(listed)}
    return {"python": said.split()[1], **{name: known[name] for name in (package, "numpy", "pandas")}}


def run_of(folder: Path, python: Path, package: str, k: int) -> dict[str, Any]:
    """Run a package in its environment, and count what it releases."""
    released = folder / f"{package}-{k}.csv"
    arguments = [package, str(k), str(folder / "rows.csv"), str(folder / "levels.json"), str(released)]
    try:
        done = subprocess.run(
            [python, "-W", "ignore", peers_run.__file__, *arguments],
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            env={},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"by": package, "k": k, "error": f"no end within {MOST_SECONDS:,} s"}
    if done.returncode:
        return {"by": package, "k": k, "error": done.stderr.strip().splitlines()[-1]}
    found = counted(pd.read_csv(released, dtype=str), fetch_adult().quasi_identifiers)
    return {"by": package, "k": k, **found, **json.loads(done.stdout.splitlines()[-1])}


def counted(released: pd.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Any]:
    """Count both losses of a cell, k and rows of released cells: labels, ranges of numbers, or lists of values."""
    n_rows = fetch_adult().n_rows
    lost = np.full(2, float(len(hierarchies) * (n_rows - len(released))))
    for name, own in hierarchies.items():
        cells = released[name].str.replace(r"^\['(.*)'\]$", r"\1", regex=True)
        sizes = {cell: sizes_of(cell, own) for cell in cells.unique()}
        lost += (np.array([*map(sizes.get, cells)]).sum(axis=0) - len(cells)) / (own.n_values - 1)
    by_values, by_nodes = (lost / n_rows / len(hierarchies)).tolist()
    k = int(released.groupby(list(hierarchies)).size().min())
    return {"values": by_values, "nodes": by_nodes, "recounted": k, "rows": len(released)}


def sizes_of(cell: str, own: Hierarchy) -> tuple[int, int]:
    """Return how many values a cell may stand for, and how many the smallest node has that holds them.

    >>> ages = Hierarchy.intervals(20, 40, widths=[5, 10])
    >>> sizes_of("20-22", ages), sizes_of("24-25", ages), sizes_of("25–29", ages)
    ((3, 5), (2, 10), (5, 5))
    """
    ends = re.fullmatch(r"(\d+)-(\d+)", cell)
    texts = [str(value) for value in own.domain]
    wanted = [*map(str, range(int(ends[1]), int(ends[2]) + 1))] if ends else cell.split(",")
    places = [texts.index(text) for text in wanted if text in texts]
    if not places:
        labels = (zip(level, range(len(level)), strict=True) for level in own.labels)
        found = [
            np.flatnonzero(groups == group)
            for groups, level in zip(own.groups, labels, strict=True)
            for label, group in level
            if str(label) == cell
        ]
        places = found[0].tolist()
    order = own.nodes.order[places]
    holds = (own.nodes.first <= order.min()) & (own.nodes.stop > order.max())
    return len(places), int((own.nodes.stop - own.nodes.first)[holds].min())


def labelled(frame: pd.DataFrame, problem: AnonymizationProblem, x: Any) -> pd.DataFrame:
    codes, quasi = problem.table.tuples.codes, problem.table.quasi_identifiers
    values = pd.DataFrame(
        {name: [own.domain[code] for code in codes[:, j]] for j, (name, own) in enumerate(quasi.items())}
    )
    labels = pd.DataFrame(problem.decode(x).labels_of(codes, np.arange(len(codes)))).astype(str)
    joined = frame[list(quasi)].merge(values.join(labels, rsuffix=" label"), how="left", on=list(quasi))
    return joined[[f"{name} label" for name in quasi]].set_axis(list(quasi), axis="columns")


def ours(k: int) -> list[dict[str, Any]]:
    """Count our recodings in their labels, too."""
    table, found = fetch_adult(), []
    frame = fetch_adult_frame()[[*table.quasi_identifiers]]
    measures = [KAnonymity(), GeneralLossMetric()]
    for method in ("bottom-up", "top-down", "mondrian"):
        problem = LocalRecodingProblem(table, measures, method=method)
        x = problem.x_of(k)
        # Compiled before.
        LocalRecodingProblem(table, measures, method=method).decode(x)
        _, seconds = record.timed(partial(problem.decode, x))
        own = counted(release(frame, problem, x).frame, table.quasi_identifiers)
        found.append({"by": f"pymoo_anon, {method}", "k": k, **own, "seconds": seconds})
    lattice = LatticeProblem(table, measures, suppression=peers_run.SUPPRESSED / 100)
    front, seconds = record.timed(lambda: lattice.front(lattice.pareto_set()))
    made = release(frame, lattice, front.choose(require=[KAnonymity() >= k]), suppressed="drop")
    own = counted(made.frame, table.quasi_identifiers)
    return [*found, {"by": "pymoo_anon, best whole columns", "k": k, **own, "seconds": seconds}]


def tree_of(name: str, values: list[str]) -> Hierarchy:
    above = [PUBLISHED["trees"][name].get(value, value) for value in values] if name in PUBLISHED["trees"] else []
    return Hierarchy([values, *([above] if above else []), ["*"] * len(values)])


def ncp(k: int) -> float:
    """Return our NCP in per cent, as Basic_Mondrian defines it, by its columns and trees.

    A cell of numbers costs its width over that of the column, a category the share of values below its node, a value
    nothing. Numbers have no trees there; ours are halved again and again.
    """
    frame = fetch_adult_frame()
    hierarchies = {
        "age": Hierarchy.intervals(17, 91, widths=[2, 4, 8, 16, 32]),
        "education-num": Hierarchy.intervals(1, 17, widths=[2, 4, 8]),
    }
    names = ["workclass", "marital-status", "occupation", "race", "sex", "native-country"]
    hierarchies |= {name: tree_of(name, sorted(frame[name].unique())) for name in names}
    table = Microdata.from_frame(frame, hierarchies)
    problem = LocalRecodingProblem(table, [KAnonymity(), GeneralLossMetric()])
    made = problem.decode(problem.x_of(k))
    rows, total = table.tuples.counts, 0.0
    for (name, own), cells in zip(table.quasi_identifiers.items(), made.cells.T, strict=True):
        n = (own.nodes.stop - own.nodes.first)[cells]
        costs = (n - 1) / (own.n_values - 1) if name in ("age", "education-num") else (n > 1) * n / own.n_values
        total += float(costs @ rows)
    return 100 * total / table.n_rows / len(hierarchies)


def accuracy(k: int) -> float:
    """Return the accuracy in per cent of a random forest, trained and tested as k-AnonML does."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import MinMaxScaler

    frame = fetch_adult_frame()
    hierarchies = {name: own for name, own in fetch_adult().quasi_identifiers.items() if name != "salary-class"}
    hierarchies["occupation"] = Hierarchy.flat(sorted(frame["occupation"].unique()))
    problem = LocalRecodingProblem(Microdata.from_frame(frame, hierarchies), [KAnonymity(), GeneralLossMetric()])
    rows = labelled(frame, problem, problem.x_of(k))
    ends = rows.pop("age").str.extract(r"(\d+)(?:–(\d+))?").astype(float)
    # The middle of a range, and 50.5 for a label that has none.
    ages = ends.mean(axis=1).fillna(50.5)
    X = MinMaxScaler().fit_transform(pd.get_dummies(rows, drop_first=True).assign(age=ages))
    parts = train_test_split(X, frame["salary-class"], test_size=0.3, random_state=42)
    return 100 * float(RandomForestClassifier(random_state=42).fit(parts[0], parts[2]).score(parts[1], parts[3]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the environments and the released rows go")
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    table, frame = fetch_adult(), fetch_adult_frame()
    frame[[*table.quasi_identifiers, "occupation"]].to_csv(folder / "rows.csv", index=False)
    levels = {
        name: [[str(own.labels[level][group]) for group in own.groups[level]] for level in range(own.length + 1)]
        for name, own in table.quasi_identifiers.items()
    }
    (folder / "levels.json").write_text(json.dumps(levels), encoding="utf-8")
    pythons = {package: python_of(folder, package) for package in peers_run.RUNS}
    versions = {package: versions_of(python, package) for package, python in pythons.items()}
    found = [one for k in KS for one in ours(k)]
    found += [run_of(folder, python, package, k) for k in KS for package, python in pythons.items()]
    write(found, versions, ncp(10), {k: accuracy(k) for k in map(int, PUBLISHED["accuracy"]["Mondrian"])})


def write(
    found: list[dict[str, Any]], versions: dict[str, dict[str, str]], own_ncp: float, accuracies: dict[int, float]
) -> None:
    rows = []
    for one in sorted(found, key=lambda one: one["k"]):
        shown = "{by}|{k}|{values:.4f}|{nodes:.4f}|{recounted:,}|{rows:,}|{seconds:.1f}"
        failed = [one["by"], str(one["k"]), *[""] * 4, one.get("error", "")]
        rows.append(failed if "error" in one else shown.format_map(one).split("|"))
    ncps = PUBLISHED["NCP"] | {"pymoo_anon, bottom-up": own_ncp}
    forests = PUBLISHED["accuracy"] | {"pymoo_anon, bottom-up": accuracies}
    record.write(
        "peers",
        {"machine": record.machine(), "found": found, "versions": versions, "ncp": own_ncp, "accuracy": accuracies},
        found=record.markdown(["by", "k", "loss by values", "loss by nodes", "k counted", "rows", "s"], rows),
        suppressed=peers_run.SUPPRESSED,
        versions=record.markdown(
            ["package", "Python", "version", "numpy", "pandas"], [[name, *of.values()] for name, of in versions.items()]
        ),
        ncps=record.markdown(["by", "NCP"], [[name, f"{value:.2f}"] for name, value in ncps.items()]),
        forests=record.markdown(
            ["by", *map(str, accuracies)],
            [[name, *(f"{value:.2f}" for value in of.values())] for name, of in forests.items()],
        ),
    )


if __name__ == "__main__":
    main()
