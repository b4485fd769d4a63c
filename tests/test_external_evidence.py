"""Evidence for outsiders: made of released rows alone, so that an attack that reads internal evidence finds nothing."""

import hashlib
import json
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from pymoo.optimize import minimize
from strategies import times

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import (
    Kept,
    choose,
    codebook,
    evidence,
    external_evidence,
    read_evidence,
    release,
    write_evidence,
    write_report,
)
from pymoo_anon.table import Hierarchy, Microdata, Violating

N_TABLES = times(5)
TOWNS, AGES = [f"town {i}" for i in range(6)], [10, 20, 30, 40]
TOWN = Hierarchy([TOWNS, ["north"] * 3 + ["south"] * 3, ["*"] * 6])
HIERARCHIES = {"town": TOWN, "age": Hierarchy.flat(AGES)}
CELLS = [(town, age) for town in TOWNS for age in AGES]


def two_originals(seed):
    """Two tables with the same large classes, and other persons, one to five, in small ones."""
    rng = np.random.default_rng(seed)
    cells = rng.permutation(len(CELLS))
    kept = [CELLS[i] for i in cells[:3] for _ in range(rng.integers(6, 10))]
    illness = rng.choice(["flu", "cold", "asthma"], len(kept))
    for n in rng.permutation(5)[:2] + 1:
        others = [CELLS[i] for i in rng.choice(cells[3:], n)]
        frame = pd.DataFrame(kept + others, columns=["town", "age"])
        yield frame.assign(illness=[*illness, *rng.choice(["flu", "gout"], n)]), int(n)


def published(frame, folder):
    """The released rows, the evidence for outsiders as bytes, and the internal evidence."""
    problem = LatticeProblem(
        Microdata.from_frame(frame, HIERARCHIES, "illness"),
        [KAnonymity(), DistinctLDiversity("illness"), GeneralLossMetric()],
        suppression=5,
    )
    X = problem.nodes(0, problem.n_nodes)
    choice = choose(problem, X, row=0)
    made = release(frame, problem, choice, suppressed="drop")
    sha256 = hashlib.sha256(made.frame.to_csv(index=False).encode()).hexdigest()
    write_evidence(folder / "external.json", external_evidence(made.frame, made.columns, name="out.csv", sha256=sha256))
    inside = evidence(problem, X, choice, made, checksums={"output": {"out.csv": sha256}}, search={"certified": True})
    return made.frame, (folder / "external.json").read_bytes(), inside


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    return [[(n, *published(frame, folder)) for frame, n in two_originals(seed)] for seed in range(N_TABLES)]


def test_equal_released_rows_give_equal_evidence_for_outsiders(pairs):
    assert len(pairs) == N_TABLES
    for (n, one, told, inside), (m, other, told_too, inside_too) in pairs:
        assert n != m
        pd.testing.assert_frame_equal(one, other)
        assert told == told_too
        assert inside != inside_too


def for_outsiders(frame, n, rng, folder):
    """All that is published of a table of which much is asked; raw incomes and counties are drawn anew."""
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
    told = external_evidence(made.frame, made.columns, name="out.csv", sha256="0" * 64)
    book = codebook(problem, choice.x, suppressed="drop", keep=keep)
    return made.frame.to_csv(), json.dumps(told), (folder / "report.html").read_bytes(), book.to_csv()


def test_whatever_is_asked_for_outsiders_see_the_released_rows_alone(tmp_path):
    """Adversaries, levels, weights, coarse kept columns, a population: nothing tells of suppressed or raw values."""
    for seed in range(N_TABLES):
        rng = np.random.default_rng(seed)
        one, other = (for_outsiders(frame, n, rng, tmp_path) for frame, n in two_originals(seed))
        assert one == other


def numbers(part):
    """All numbers of a file, with the last key that leads to each."""
    stack = [("", part)]
    while stack:
        key, own = stack.pop()
        if isinstance(own, dict):
            stack += own.items()
        elif isinstance(own, list):
            stack += [(key, one) for one in own]
        elif isinstance(own, int | float) and not isinstance(own, bool):
            yield key, own


def attack(content, released):
    """How many persons are suppressed, from a file of evidence and the released rows; None where nothing tells it.

    Any count above the released rows counts more than these: the rows of the table, and k of the point that generalizes
    all. A loss of all rows is that of the released ones and all of every suppressed row.
    """
    known = list(numbers(content))
    found = Counter(value - len(released) for _, value in known if isinstance(value, int) and value > len(released))
    # The released rows are as they were: they lose nothing, and a suppressed row loses both of its cells.
    found.update(int(value // 2) for key, value in known if key == "promised" and isinstance(value, float))
    found.update(value for key, value in known if key == "rows" and isinstance(value, int) and value < 6)
    return found.most_common(1)[0][0] if found else None


def test_an_attack_on_the_internal_evidence_finds_nothing_in_that_for_outsiders(pairs):
    inside = outside = 0
    for pair in pairs:
        for n, released, told, internal in pair:
            inside += attack(internal, released) == n
            outside += attack(json.loads(told), released) is not None
    assert inside > 1.8 * N_TABLES
    assert outside == 0


def test_what_it_says():
    frame = next(two_originals(1))[0].assign(height=range(150, 150 + len(next(two_originals(1))[0])))
    problem = LatticeProblem(Microdata.from_frame(frame, HIERARCHIES, "illness"), [GeneralLossMetric()], suppression=5)
    made = release(frame, problem, [0, 0], suppressed="drop", keep={"height": "because it was asked for"})
    content = external_evidence(made.frame, made.columns, name="out.csv", sha256="0" * 64)
    n = len(made.frame)
    assert next(iter(content)) == "audience"
    assert content["audience"] == "anybody: all of it can be counted in the released table"
    assert content["file"] == {"name": "out.csv", "sha256": "0" * 64, "rows": n}
    assert content["columns"][-1] == {"column": "height", "role": "keep", "reason": "because it was asked for"}
    unique = {one["columns"]: one["unique"] for one in content["uniqueness"]}
    assert [unique[by] for by in ("all released columns", "kept columns", "quasi-identifiers and kept columns")] == [
        n
    ] * 3
    measures = {one["measure"]: one["value"] for one in content["measures"]}
    sizes = made.frame.value_counts(["town", "age"])
    assert measures["k in rows"] == sizes.min()
    assert measures["l of illness"] == made.frame.groupby(["town", "age"]).illness.nunique().min()
    assert list(measures) == ["k in rows", "l of illness", "entropy l of illness", "t of illness"]
    assert set(content) == {"audience", "format", "version", "software", "file", "columns", "uniqueness", "measures"}


def test_each_kind_of_evidence_is_read_as_what_it_is(pairs, tmp_path):
    _, _, told, internal = pairs[0][0]
    (tmp_path / "external.json").write_bytes(told)
    write_evidence(tmp_path / "internal.json", internal)
    assert read_evidence(tmp_path / "external.json", external=True) == json.loads(told)
    with pytest.raises(ValueError, match=r"external\.json must have the parts of evidence, and lacks"):
        read_evidence(tmp_path / "external.json")
    with pytest.raises(ValueError, match=r"internal\.json must have the parts of evidence, and lacks"):
        read_evidence(tmp_path / "internal.json", external=True)


# --- six persons --------------------------------------------------------------------------------------------------

ZIPS = ["q1", "q1", "q2", "q2", "q2", "q2"]


def least_loss(ill):
    """The table in which these two of six persons have cancer, its problem, and the proven front of least loss."""
    illness = iter(["flu", "cold", "gout", "asthma"])
    frame = pd.DataFrame({"zip": ZIPS, "illness": ["cancer" if i in ill else next(illness) for i in range(6)]})
    table = Microdata.from_frame(frame, {"zip": Hierarchy.flat(["q1", "q2"])}, "illness")
    constraints = [KAnonymity() >= 2, DistinctLDiversity("illness") >= 2]
    problem = LatticeProblem(table, [GeneralLossMetric()], constraints=constraints)
    algorithm = BranchAndBound()
    res = minimize(problem, algorithm, seed=1)
    assert res.algorithm.certified
    return frame, problem, np.atleast_2d(res.X)


def test_a_proven_optimum_tells_nothing_to_outsiders():
    """Wong et al. 2007: who reads that `*` is the least loss of l >= 2 knows that both persons of q1 have cancer."""
    ways = list(combinations(range(6), 2))
    assert len(ways) == 15
    frame, problem, X = least_loss((0, 1))
    choice = choose(problem, X)
    made = release(frame, problem, choice)
    inside = evidence(problem, X, choice, made, checksums={}, search={"certified": True})
    outside = external_evidence(made.frame, made.columns, name="out.csv", sha256="0" * 64)
    assert made.frame.zip.tolist() == ["*"] * 6

    # What the internal evidence says: proven, k >= 2, l >= 2, least loss, and the point.
    assert inside["search"]["certified"]
    assert [(one["measure"], one["bound"]) for one in inside["settings"]["constraints"]] == [("k", 2), ("l", 2)]
    point = inside["front"][inside["chosen"]["place"]]["x"]
    fitting = [ill for ill in ways if least_loss(ill)[2][0].tolist() == point]
    assert fitting == [(0, 1)]

    # What outsiders read is the same in every way in which the released rows may have come about.
    told = set()
    for ill in ways:
        other, table, _ = least_loss(ill)
        again = release(other, table, [1], below_requirements=True)
        assert sorted(again.frame.illness) == sorted(made.frame.illness)
        told.add(json.dumps(external_evidence(again.frame, again.columns, name="out.csv", sha256="0" * 64)))
    assert told == {json.dumps(outside)}
    for word in ("certified", "constraint", ">=", "seed", "front", "GLM"):
        assert word not in json.dumps(outside)
