"""Evidence of a release with unique values, some held by measures."""

import copy
import random

import pandas as pd

from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import evidence, release
from pymoo_anon.table import AtMost, Hierarchy, Microdata, Violating

K, GLM = KAnonymity(), GeneralLossMetric()

HASH = "0123456789abcdef" * 4

CHECKSUMS = {"input": {"patients.csv": HASH}, "hierarchies": {"age": HASH, "zip": None}, "output": {"out.csv": HASH}}

SEARCH = {
    "algorithm": "bnb",
    "seed": 1,
    "certified": True,
    "gap": None,
    "n_undecided": 0,
    "commands": ["pymoo-anon search patients.toml", "pymoo-anon release patients.toml"],
}


def words(n, seed):
    """Words that stand nowhere else."""
    draw = random.Random(seed)
    return ["".join(draw.choices("bcdfghjklmnpqrstvwxyz", k=12)) for _ in range(n)]


ZIPS, GROUPS, TOPS, GRADES, WHO = words(8, 1), words(4, 2), words(1, 3), words(4, 4), words(30, 5)

HIERARCHY = Hierarchy([ZIPS, [GROUPS[i // 2] for i in range(8)], TOPS * 8])

FRAME = pd.DataFrame(
    {
        "zip": [ZIPS[i % 8] for i in range(40)],
        "age": [7_000_000_011 + i % 5 for i in range(40)],
        "grade": [GRADES[(i // 3) % 4] for i in range(40)],
        "who": [WHO[i % 30] for i in range(40)],
        "name": WHO[0],
        "height": range(40),
    }
)

AGES = Hierarchy.flat([7_000_000_011 + i for i in range(5)])

TABLE = Microdata.from_frame(FRAME, {"zip": HIERARCHY, "age": AGES}, sensitive="grade", person="who")


class Own(Objective):
    """A custom measure that holds values."""

    name = "own"
    maximize = True

    def __init__(self):
        self.values = GRADES
        self.favourite = GRADES[0]

    def evaluate_one(self, classes):
        return float(len(classes.sizes))

    def __repr__(self):
        return f"Own({self.favourite!r})"


class OwnRule(AtMost):
    """A custom rule that reveals more than it should."""

    def __repr__(self):
        return f"OwnRule({GRADES})"


#: Measures that hold values in one way or another, two of which differ by these values alone.
TELLTALE = [
    K,
    KAnonymity(person="who"),
    TCloseness("grade", GRADES),
    TCloseness("grade", GRADES[::-1]),
    TCloseness("grade", Hierarchy([GRADES, TOPS * 4])),
    KMap(TABLE),
    Own(),
    RecursiveCLDiversity("grade", 2),
    NormalizedWeightedPenalty([0.25, 0.75]),
    GLM,
]

LEAKY = LatticeProblem(TABLE, TELLTALE, OwnRule(2), [TCloseness("grade", GRADES) <= 0.9])

PROBLEM = LatticeProblem(TABLE, [K, DistinctLDiversity("grade"), GLM], Violating(0.2), [K >= 2])


#: What becomes of the other columns.
ROLES = {"drop": "name", "keep": {"height": "the study asks for it"}}


def told(problem=PROBLEM, X=None, released=None, frame=FRAME, roles=ROLES, **given):
    """Return the evidence of the choice that loses least, by default of its release."""
    X = problem.nodes(0, problem.n_nodes) if X is None else X
    choice = problem.front(X).choose()
    if released is None:
        released = release(frame, problem, choice, anyway="it is only a test", **roles)
    asked = {"checksums": CHECKSUMS, "search": SEARCH, "made": "2026-01-31T12:00:00Z", **given}
    return evidence(problem, X, choice, released, **asked)


def changed(content, place, value):
    """Set or remove the value at a place such as ("front", 0).

    A value of `...` removes it.
    """
    whole = copy.deepcopy(content)
    part = whole
    for step in place[:-1]:
        part = part[step]
    if value is ...:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return whole
