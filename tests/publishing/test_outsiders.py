"""The external report: made of released rows alone, so attacks find nothing."""

import hashlib
from itertools import combinations

import numpy as np
import pandas as pd
from pymoo.optimize import minimize
from strategies import times

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import Kept, codebook, evidence, release, write_report
from pymoo_anon.table import Hierarchy, Microdata, Violating

N_TABLES = times(5)
TOWNS, AGES = [f"town {i}" for i in range(6)], [10, 20, 30, 40]
TOWN = Hierarchy([TOWNS, ["north"] * 3 + ["south"] * 3, ["*"] * 6])
HIERARCHIES = {"town": TOWN, "age": Hierarchy.flat(AGES)}
CELLS = [(town, age) for town in TOWNS for age in AGES]


def two_originals(seed):
    """Yield two tables that differ only in the persons of small classes."""
    rng = np.random.default_rng(seed)
    cells = rng.permutation(len(CELLS))
    kept = [CELLS[i] for i in cells[:3] for _ in range(rng.integers(6, 10))]
    illness = rng.choice(["flu", "cold", "asthma"], len(kept))
    for n in rng.permutation(5)[:2] + 1:
        others = [CELLS[i] for i in rng.choice(cells[3:], n)]
        frame = pd.DataFrame(kept + others, columns=["town", "age"])
        yield frame.assign(illness=[*illness, *rng.choice(["flu", "gout"], n)]), int(n)


def for_outsiders(frame, n, rng, folder):
    """Publish a table with many options and redrawn incomes and counties."""
    counties = Hierarchy([list("abcd"), list("xxyy")])
    raw = {"income": 1000 * (np.arange(len(frame)) % 7), "county": np.where(np.arange(len(frame)) % 3, 0, 2)}
    raw["income"] = raw["income"] + np.where(np.arange(len(frame)) < len(frame) - n, rng.integers(-499, 500), 10**6)
    frame = frame.assign(income=raw["income"], county=np.array(list("abcd"))[raw["county"] + rng.integers(2)])
    who = KAnonymity(known=[["town"], ["age"]])
    problem = LatticeProblem(
        Microdata.from_frame(frame, HIERARCHIES, "illness"),
        [who, GeneralLossMetric(weights={"age": 2})],
        Violating(5),
        [KAnonymity() >= 6, who >= 3],
        levels={"town": (0, 1)},
    )
    front = problem.front([[0, 0]])
    choice = front.choose(row=0)
    keep = {
        "income": Kept(round=1000, clip=(0, 5000), reason="the ministry has asked for it"),
        "county": Kept(hierarchy=counties, level=1, reason="the ministry has asked for it"),
    }
    made = release(frame, problem, choice, suppressed="drop", keep=keep)
    assert made.n_suppressed == n
    inside = evidence(problem, front, choice, made, checksums={}, search={"certified": True, "seed": n})
    about = {"evidence": inside, "data": f"{n}.csv", "population_size": 1000}
    write_report(folder / "report.html", front, choice, external=True, **about)
    book = codebook(problem, choice.x, suppressed="drop", keep=keep)
    return made.frame.to_csv(), (folder / "report.html").read_bytes(), book.to_csv()


def test_whatever_is_asked_for_outsiders_see_the_released_rows_alone(tmp_path):
    """Combine many options, and find no trace of suppressed or raw values."""
    for seed in range(N_TABLES):
        rng = np.random.default_rng(seed)
        one, other = (for_outsiders(frame, n, rng, tmp_path) for frame, n in two_originals(seed))
        assert one == other


# --- six persons --------------------------------------------------------------------------------------------------

ZIPS = ["q1", "q1", "q2", "q2", "q2", "q2"]


def least_loss(ill):
    """Return table, problem and proven front, given the two cancer patients."""
    illness = iter(["flu", "cold", "gout", "asthma"])
    frame = pd.DataFrame({"zip": ZIPS, "illness": ["cancer" if i in ill else next(illness) for i in range(6)]})
    table = Microdata.from_frame(frame, {"zip": Hierarchy.flat(["q1", "q2"])}, "illness")
    constraints = [KAnonymity() >= 2, DistinctLDiversity("illness") >= 2]
    problem = LatticeProblem(table, [GeneralLossMetric()], constraints=constraints)
    algorithm = BranchAndBound()
    res = minimize(problem, algorithm, seed=1)
    assert res.algorithm.certified
    return frame, problem, np.atleast_2d(res.X)


def test_a_proven_optimum_tells_nothing_to_outsiders(tmp_path):
    """Hide the optimality of `*`, which reveals both cancers in q1 (Wong et al. 2007)."""
    ways = list(combinations(range(6), 2))
    assert len(ways) == 15
    frame, problem, X = least_loss((0, 1))
    choice = problem.front(X).choose()
    made = release(frame, problem, choice)
    inside = evidence(problem, X, choice, made, checksums={}, search={"certified": True})
    assert made.frame.zip.tolist() == ["*"] * 6

    # The evidence says: proven, k >= 2, l >= 2, least loss, and the point.
    assert inside["search"]["certified"]
    assert [(one["measure"], one["bound"]) for one in inside["settings"]["constraints"]] == [("k", 2), ("l", 2)]
    point = inside["front"][inside["chosen"]["place"]]["x"]
    fitting = [ill for ill in ways if least_loss(ill)[2][0].tolist() == point]
    assert fitting == [(0, 1)]

    # The report for outsiders is the same in every way in which the released rows may have come about.
    told = set()
    for ill in ways:
        other, own, _ = least_loss(ill)
        again = release(other, own, [1], anyway="it is only a test")
        assert sorted(again.frame.illness) == sorted(made.frame.illness)
        front = own.front([[1]])
        checksums = {"input": {"raw.csv": hashlib.sha256(other.to_csv().encode()).hexdigest()}}
        searched = {"seed": 1, "certified": True}
        inside = evidence(own, front, front.choose(row=0), again, checksums=checksums, search=searched)
        write_report(tmp_path / "report.html", front, front.choose(row=0), external=True, evidence=inside)
        told.add((tmp_path / "report.html").read_bytes())
    assert len(told) == 1
