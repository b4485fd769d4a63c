"""Evidence: its content, without values of the data although measures hold some, and refusals of damage."""

import copy
import random

import numpy as np
import pandas as pd
import pytest
from raw_tables import raw_problem

from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.publishing import evidence, read_evidence, release, write_evidence
from pymoo_anon.publishing.evidence import check_content
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


def test_what_it_says():
    content = told()
    X = PROBLEM.nodes(0, PROBLEM.n_nodes)
    choice = PROBLEM.front(X).choose()
    assert content["table"] == {
        "n_rows": 40,
        "n_distinct": 40,
        "quasi_identifiers": [{"name": "zip", "n_groups": [8, 4, 1]}, {"name": "age", "n_groups": [5, 1]}],
        "sensitive": ["grade"],
        "label": None,
        "person": "who",
    }
    measures = [
        ("k", "k", "KAnonymity()", "higher", True),
        ("l", "l:grade", "DistinctLDiversity('grade')", "higher", True),
        ("GLM", "GLM", "GeneralLossMetric()", "lower", True),
    ]
    keys = ("name", "short", "repr", "better", "objective")
    assert content["settings"] == {
        "space": "LatticeProblem",
        "measures": [dict(zip(keys, own, strict=True)) for own in measures],
        "constraints": [{"measure": "k", "at": "least", "bound": 2}],
        "suppression": "Violating(limit=0.2)",
        "adversaries": [],
        "levels": {},
    }
    assert content["search"] == {**{key: SEARCH.get(key) for key in SEARCH if key != "commands"}, "stopped": None}
    assert content["reproduce"] == SEARCH["commands"]
    assert content["checksums"] == CHECKSUMS
    assert content["suppressed"] == {"rows": choice.n_suppressed, "of": 40, "how": "mark"}
    assert content["made"] == "2026-01-31T12:00:00Z"
    k = choice.values["k"]
    assert content["claims"][0] == {"measure": "k", "promised": k, "recounted": k, "holds": True}
    assert [column["level"] for column in content["chosen"]["quasi_identifiers"]] == list(choice.x)
    assert [column["n_groups"] for column in content["chosen"]["quasi_identifiers"]] == list(
        PROBLEM.decode(choice.x).n_groups
    )
    assert (content["anyway"], content["exceptions"]) == (None, [])
    assert content["columns"][-1] == {"column": "height", "role": "keep", "reason": "the study asks for it"}
    assert content["uniqueness"][1] == {"columns": "sensitive columns", "unique": 0, "rows": 40}
    assert content["dropped"] == ["who", "name"]
    assert content["software"]["packages"].keys() > {"pymoo_anon", "numpy", "pandas", "narwhals"}


def test_the_front_is_whole_and_leads_back_to_the_choice():
    content = told()
    X = PROBLEM.nodes(0, PROBLEM.n_nodes)
    front = PROBLEM.front(X)
    choice = PROBLEM.front(X).choose()
    assert [point["x"] for point in content["front"]] == front.X.tolist()
    assert len(front) < len(X)
    for point, row in zip(content["front"], range(len(front)), strict=True):
        assert point["values"] == [front.values(each)[row] for each in PROBLEM.measured]
        assert [type(value) for value in point["values"]] == [int, int, float]
        assert point["suppressed"] == front.n_suppressed[row]
    assert content["front"][content["chosen"]["place"]]["x"] == list(choice.x)
    assert content["front"][content["chosen"]["place"]]["values"] == list(choice.values.values())


@pytest.mark.parametrize("problem", [LEAKY, PROBLEM], ids=["telltale", "plain"])
def test_it_holds_no_value_of_the_data(problem, tmp_path):
    write_evidence(tmp_path / "evidence.json", told(problem))
    text = (tmp_path / "evidence.json").read_text(encoding="utf-8")
    for value in [*ZIPS, *GROUPS, *TOPS, *GRADES, *WHO, *map(str, range(7_000_000_011, 7_000_000_016))]:
        assert value not in text
    assert "zip" in text


def test_telltale_measures_and_rules():
    content = told(LEAKY)
    alone = ["k in persons of who is 1 where at least 2 is required"]
    assert (content["anyway"], content["exceptions"]) == ("it is only a test", alone)
    assert content["claims"][6] == {"measure": "own", "promised": 40, "recounted": None, "holds": None}
    settings = content["settings"]
    measures = settings["measures"]
    assert [measure["repr"] for measure in measures] == [
        "KAnonymity()",
        "KAnonymity('who')",
        "TCloseness('grade', distance=order of 4 values)",
        "TCloseness('grade', distance=order of 4 values)",
        "TCloseness('grade', distance=Hierarchy(4 values, levels of 4, 1 groups))",
        "KMap(population=Microdata(40 rows, 40 distinct tuples of 2 quasi-identifiers, sensitive 'grade'))",
        "Own()",
        "RecursiveCLDiversity('grade', c=2)",
        "NormalizedWeightedPenalty(weights=[0.25, 0.75])",
        "GeneralLossMetric()",
    ]
    assert len({measure["name"] for measure in measures}) == len(measures)
    assert settings["suppression"] == "OwnRule"


def test_infinite_values_are_told():
    problem = LatticeProblem(TABLE, [EnhancedBetaLikeness("grade"), GLM])
    content = told(problem)
    told_at = [place for place, point in enumerate(content["front"]) if point["values"][0] == "infinity"]
    infinite = np.isinf(problem.front(problem.nodes(0, problem.n_nodes)).values(problem.measured[0]))
    assert told_at == np.flatnonzero(infinite).tolist()
    assert told_at


def test_bit_strings_have_no_levels():
    problem = BitStringProblem(TABLE, [K, GLM])
    X = np.zeros((2, problem.n_var), dtype=bool)
    X[1] = True
    content = told(problem, X)
    assert content["front"][1]["x"] == [1] * problem.n_var
    assert [column["level"] for column in content["chosen"]["quasi_identifiers"]] == [None, None]


def test_it_is_read_as_it_was_written(tmp_path):
    content = told()
    write_evidence(tmp_path / "evidence.json", content)
    assert read_evidence(tmp_path / "evidence.json") == content
    assert [path.name for path in tmp_path.iterdir()] == ["evidence.json"]
    lines = (tmp_path / "evidence.json").read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith('  "audience": "internal: it tells more than the released table')
    assert sum(line.startswith('    {"x": ') for line in lines) == len(content["front"])


def test_names_survive(tmp_path):
    frame = pd.DataFrame({'a "q";\n=é\udc80': [1, 2], ("x", 1): [1, 2]})
    content = told(raw_problem(frame), frame=frame, roles={})
    write_evidence(tmp_path / "evidence.json", content)
    back = read_evidence(tmp_path / "evidence.json")
    assert back["table"]["quasi_identifiers"][0]["name"] == 'a "q";\\n=é\\udc80'
    assert back["table"]["quasi_identifiers"][1]["name"] == "('x', 1)"
    assert "=é" in (tmp_path / "evidence.json").read_text(encoding="utf-8")


def places_of(part, before=()):
    """Yield every place of evidence."""
    keys = part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
    for key in keys:
        yield (*before, key)
        yield from places_of(part[key], (*before, key))


def refusal(content):
    """Return the error message of refused evidence, or an empty text."""
    try:
        check_content(content, "content")
    except ValueError as error:
        return str(error)
    return ""


def test_any_damage_is_a_clear_sentence_or_harmless():
    """Raise ValueError in one line for damaged evidence, or read it.

    Every part is taken away or replaced in turn.
    """
    content = told()
    values = (..., None, True, -1, 2.5, "x", [], {}, [None], {"x": 1}, "infinity")
    said = [refusal(changed(content, place, value)) for place in list(places_of(content)) for value in values]
    refused = [text for text in said if text]
    assert len(refused) > 1000
    assert all(text.isprintable() and len(text) < 400 for text in refused)
    assert "must be a whole number from 0, got True" in refusal(changed(content, ("table", "n_rows"), True))
