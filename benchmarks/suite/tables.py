"""Invented tables of the suite, shaped like real ones.

A table is drawn from a generator with a seed of its own. `census` counts the rows of `make_census`, which are invented,
too. Values are whole numbers from 0; columns depend on one another through a few hidden groups of persons.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pymoo_anon.datasets import census_rows, load_taxonomy, make_census


@dataclass
class Table:
    """Rows of whole numbers."""

    levels: dict[str, list[list[int]]]  # Per generalized attribute, the group of every value at every level
    rows: dict[str, np.ndarray]  # Per attribute and other column, the value of every person
    columns: tuple[str, ...]  # The other columns
    # Per attribute with a taxonomy the first and the last value of all nodes that are no leaves
    nodes: dict[str, list[list[int]]] = field(default_factory=dict)


def widths(n_values: int, *steps: int) -> list[list[int]]:
    """Return nested levels of bins, from the values to one bin."""
    return [[value // step for value in range(n_values)] for step in (1, *steps, n_values)]


def grouped(*levels: list[int]) -> list[list[int]]:
    """Return levels of named groups, between the values and one group."""
    return [list(range(len(levels[0]))), *levels, [0] * len(levels[0])]


def around(rng: np.random.Generator, center: np.ndarray, spread: float, n_values: int) -> np.ndarray:
    """Whole numbers around centers, cut off at the ends."""
    drawn = np.rint(rng.normal(center, spread)).astype(np.int64)
    return np.clip(drawn, 0, n_values - 1)


def skewed(rng: np.random.Generator, n_rows: int, n_values: int, power: float = 1.0) -> np.ndarray:
    """Draw values with falling frequencies."""
    shares = 1 / np.arange(1, n_values + 1) ** power
    return rng.choice(n_values, n_rows, p=shares / shares.sum())


def patients() -> Table:
    """Return hospital admissions, with the ward by age and the diagnosis by both."""
    rng, n = np.random.default_rng(101), 4000
    ward = skewed(rng, n, 8, 0.6)
    age = around(rng, 15 + 9.0 * ward, 14, 90)
    rows = {
        "age": age,
        "zip": (skewed(rng, n, 20, 0.8) * 10 + rng.integers(0, 10, n)),
        "sex": rng.integers(0, 2, n),
        "month": rng.integers(0, 12, n),
        "ward": ward,
        "diagnosis": (ward + skewed(rng, n, 10, 1.2)) % 10,
        "outcome": (rng.random(n) < 0.05 + 0.004 * age).astype(np.int64),
    }
    levels = {
        "age": widths(90, 5, 10, 20, 40),
        "zip": widths(200, 2, 10, 50),
        "sex": widths(2),
        "month": widths(12, 3, 6),
        "ward": widths(8, 2, 4),
    }
    return Table(levels, rows, ("diagnosis", "outcome"))


def census() -> Table:
    """Return 12,000 rows of the invented census with eight attributes."""
    (frame,), hierarchies = census_rows(12_000, seed=102), make_census(1000, seed=102).quasi_identifiers
    occupations = sorted(frame["occupation"].unique())
    rows = {name: hierarchy.encode(frame[name].tolist()) for name, hierarchy in hierarchies.items()}
    rows["occupation"] = np.array([occupations.index(value) for value in frame["occupation"]])
    levels = {name: hierarchy.groups.tolist() for name, hierarchy in hierarchies.items()}
    return Table(levels, rows, ("occupation",))


def earners() -> Table:
    """Return the same census with the salary class as the label."""
    table = census()
    del table.levels["salary-class"]
    return Table(table.levels, table.rows, ("occupation", "salary-class"))


def noise() -> Table:
    """Return six independent, uniform attributes of sixteen values."""
    rng, n = np.random.default_rng(103), 4000
    names = [f"attribute {i}" for i in range(1, 7)]
    rows = {name: rng.integers(0, 16, n) for name in names}
    rows["secret"] = rng.integers(0, 12, n)
    return Table({name: widths(16, 2, 4, 8) for name in names}, rows, ("secret",))


def survey() -> Table:
    """Return ten answers on a scale of five, driven by two hidden leanings."""
    rng, n = np.random.default_rng(104), 4000
    leanings = rng.normal(size=(n, 2))
    names = [f"answer {i}" for i in range(1, 11)]
    rows = {}
    for i, name in enumerate(names):
        rows[name] = around(rng, 2 + 0.9 * leanings[:, i % 2] * (1 if i % 3 else -1), 0.6, 5)
    rows["vote"] = around(rng, 3 + 1.2 * leanings[:, 0], 1.0, 7)
    return Table({name: grouped([0, 0, 1, 2, 2]) for name in names}, rows, ("vote",))


def trips() -> Table:
    """Return trips through a city of 64 cells, with their purposes."""
    rng, n = np.random.default_rng(105), 6000
    home = skewed(rng, n, 64, 0.7)
    commutes = rng.random(n) < 0.6
    minutes = around(rng, 4 + 0.35 * np.abs(home - 20), 4, 32)
    rows = {
        "from": home,
        "to": np.where(commutes, around(rng, np.full(n, 20.0), 5, 64), skewed(rng, n, 64, 0.5)),
        "hour": np.where(commutes, around(rng, np.full(n, 8.0), 1.5, 24), rng.integers(0, 24, n)),
        "day": rng.choice(7, n, p=[0.17, 0.17, 0.17, 0.17, 0.16, 0.1, 0.06]),
        "mode": skewed(rng, n, 6, 1.0),
        "minutes": minutes,
        "purpose": np.where(commutes, skewed(rng, n, 3, 1.0), 3 + skewed(rng, n, 6, 0.7)),
    }
    levels = {
        "from": widths(64, 2, 4, 8, 16, 32),
        "to": widths(64, 2, 4, 8, 16, 32),
        "hour": widths(24, 2, 4, 12),
        "day": grouped([0, 0, 0, 0, 0, 1, 1]),
        "mode": grouped([0, 0, 1, 1, 2, 2]),
        "minutes": widths(32, 2, 4, 8, 16),
    }
    return Table(levels, rows, ("purpose",))


def _records(seed: int, n_rows: int, heights: list[int]) -> Table:
    """Return persons of nine hidden groups, with a diagnosis and a label."""
    rng = np.random.default_rng(seed)
    group = skewed(rng, n_rows, 9, 0.8)
    rows, levels = {}, {}
    for i, height in enumerate(heights, start=1):
        n_values = max(2 ** (height - 1), 2)
        center = rng.integers(0, n_values, 9)[group]
        rows[f"field {i}"] = around(rng, center, 0.22 * n_values, n_values)
        levels[f"field {i}"] = widths(n_values, *[2**step for step in range(1, height - 1)])
    rows["diagnosis"] = (group + skewed(rng, n_rows, 12, 1.1)) % 12
    rows["label"] = (rng.random(n_rows) < 0.15 + 0.07 * group).astype(np.int64)
    return Table(levels, rows, ("diagnosis", "label"))


def registry() -> Table:
    """Return a registry of 6,000 persons with ten attributes."""
    return _records(106, 6000, [5, 5, 4, 4, 4, 3, 3, 3, 3, 2])


def claims() -> Table:
    """Insurance claims of 6,000 persons with thirteen attributes."""
    return _records(107, 6000, [6, 5, 5, 4, 4, 4, 3, 3, 3, 3, 3, 2, 2])


def ledger() -> Table:
    """Return a ledger of 5,000 persons with fourteen attributes."""
    return _records(108, 5000, [7, 6, 6, 5, 5, 4, 4, 4, 3, 3, 3, 3, 2, 2])


def clinic() -> Table:
    """Return a small clinic with few enough bit strings to visit."""
    rng, n = np.random.default_rng(109), 2000
    ward = skewed(rng, n, 5, 0.7)
    rows = {
        "age": around(rng, 2 + 1.2 * ward, 2.0, 10),
        "ward": ward,
        "sex": rng.integers(0, 2, n),
        "insurance": skewed(rng, n, 3, 1.0),
        "diagnosis": (ward + skewed(rng, n, 8, 1.0)) % 8,
        "outcome": (rng.random(n) < 0.2 + 0.1 * ward).astype(np.int64),
    }
    sizes = {"age": 10, "ward": 5, "sex": 2, "insurance": 3}
    return Table({name: widths(size) for name, size in sizes.items()}, rows, ("diagnosis", "outcome"))


def school() -> Table:
    """Return marks of pupils: five subjects, 19 bits, and a label."""
    rng, n = np.random.default_rng(110), 3000
    talent = rng.normal(size=n)
    sizes = {"reading": 6, "writing": 5, "arithmetic": 6, "music": 4, "sport": 3}
    rows = {name: around(rng, (size - 1) / 2 + talent, 0.9, size) for name, size in sizes.items()}
    rows["grade"] = around(rng, 3 + talent, 1.0, 7)
    rows["stays"] = (talent + rng.normal(size=n) > 0).astype(np.int64)
    return Table({name: widths(size) for name, size in sizes.items()}, rows, ("grade", "stays"))


def residents() -> Table:
    """Residents: age in years, district, schooling and household, 60 bits."""
    rng, n = np.random.default_rng(111), 8000
    age = around(rng, np.full(n, 22.0), 11, 40)
    sizes = {"age": 40, "district": 12, "schooling": 8, "household": 5}
    rows = {
        "age": age,
        "district": skewed(rng, n, 12, 0.9),
        "schooling": around(rng, 3 + 0.05 * (age - 20), 1.4, 8),
        "household": skewed(rng, n, 5, 0.8),
        "income": around(rng, 4 + 0.1 * (age - 20), 2.0, 10),
    }
    return Table({name: widths(size) for name, size in sizes.items()}, rows, ("income",))


def pharmacy() -> Table:
    """Return prescriptions, with taxonomies of drugs and regions."""
    rng, n = np.random.default_rng(112), 3000
    drug = skewed(rng, n, 9, 0.5)
    nodes = {
        "drug": [[0, 8], [0, 3], [0, 1], [4, 8], [4, 5], [6, 8]],
        "region": [[0, 9], [0, 4], [0, 1], [2, 4], [5, 9], [5, 6], [7, 9]],
    }
    rows = {
        "drug": drug,
        "region": (skewed(rng, n, 10, 0.7) + 3 * (drug // 4)) % 10,
        "age": around(rng, 1 + 0.4 * drug, 1.2, 6),
        "sex": rng.integers(0, 2, n),
        "reason": (drug // 2 + skewed(rng, n, 8, 1.0)) % 8,
        "refill": (rng.random(n) < 0.1 + 0.08 * drug).astype(np.int64),
    }
    sizes = {"drug": 9, "region": 10, "age": 6, "sex": 2}
    return Table({name: widths(size) for name, size in sizes.items()}, rows, ("reason", "refill"), nodes)


def citizens() -> Table:
    """Return 6,000 rows of the census, with four packaged taxonomies."""
    (frame,) = census_rows(6000, seed=113)
    rows, levels, nodes = {"age": frame["age"].to_numpy() // 10 - 1}, {"age": widths(9)}, {}
    for name in ("workclass", "education", "marital-status", "native-country"):
        taxonomy = load_taxonomy(name)
        places = {leaf: place for place, leaf in enumerate(taxonomy.leaves)}
        rows[name], levels[name] = frame[name].map(places).to_numpy(), widths(len(places))
        nodes[name] = [[first, last - 1] for first, last, _ in taxonomy.spans.tolist() if last - first > 1]
    for name in ("race", "sex"):
        rows[name] = np.unique(frame[name], return_inverse=True)[1]
        levels[name] = widths(int(rows[name].max()) + 1)
    return Table(levels, rows, (), nodes)


TABLES: dict[str, Callable[[], Table]] = {
    own.__name__: own
    for own in (
        patients, census, earners, noise, survey, trips, registry, claims, ledger, clinic, school, residents,
        pharmacy, citizens,
    )
}  # fmt: skip
