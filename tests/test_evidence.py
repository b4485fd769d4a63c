"""Evidence: what it says, that it holds no value of the data, and that a malformed file is one clear sentence."""

import copy
import json
import random

import numpy as np
import pandas as pd
import pytest
from pymoo.core.result import Result

from pymoo_anon.objectives import (
    DistinctLDiversity,
    EnhancedBetaLikeness,
    GeneralLossMetric,
    KAnonymity,
    KMap,
    NormalizedWeightedPenalty,
    Objective,
    RecursiveCLDiversity,
    TCloseness,
)
from pymoo_anon.problems import LatticeProblem, PartitionProblem
from pymoo_anon.publishing import choose, evidence, neighbours, read_evidence, write_evidence
from pymoo_anon.publishing.members import Members
from pymoo_anon.publishing.tradeoffs import next_steps
from pymoo_anon.table import AtMost, Hierarchy, Microdata, Suppression, Violating

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
    }
)
AGES = Hierarchy.flat([7_000_000_011 + i for i in range(5)])
TABLE = Microdata.from_frame(FRAME, {"zip": HIERARCHY, "age": AGES}, sensitive="grade", person="who")


class Own(Objective):
    """A measure of somebody's own, which holds values."""

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
    """A rule of somebody's own, which says more than it should."""

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


def claimed(problem, choice):
    """Claims as a release has them."""
    names = [each.name if each.column is None else f"{each.name} of {each.column}" for each in problem.measured]
    values = [Members(problem, np.array([choice.x])).values(each)[0] for each in problem.measured]
    rows = {
        "measure": names,
        "promised": values,
        "recounted": [*values[:-1], None],
        "holds": [True] * (len(values) - 1) + [None],
    }
    return pd.DataFrame({name: pd.Series(own, dtype=object) for name, own in rows.items()})


def told(problem=PROBLEM, X=None, claims=None, **given):
    X = problem.nodes(0, problem.n_nodes) if X is None else X
    choice = choose(problem, X)
    asked = {"suppressed": "mark", "checksums": CHECKSUMS, "search": SEARCH, "made": "2026-01-31T12:00:00Z", **given}
    return evidence(problem, X, choice, claims=claimed(problem, choice) if claims is None else claims, **asked)


def test_what_it_says():
    content = told()
    X = PROBLEM.nodes(0, PROBLEM.n_nodes)
    choice = choose(PROBLEM, X)
    assert content["table"] == {
        "n_rows": 40,
        "n_distinct": 40,
        "quasi_identifiers": [{"name": "zip", "n_groups": [8, 4, 1]}, {"name": "age", "n_groups": [5, 1]}],
        "sensitive": ["grade"],
        "label": None,
        "person": "who",
    }
    assert content["settings"] == {
        "space": "LatticeProblem",
        "measures": [
            {"name": "k", "short": "k", "repr": "KAnonymity()", "better": "higher", "objective": True},
            {
                "name": "l",
                "short": "l:grade",
                "repr": "DistinctLDiversity('grade')",
                "better": "higher",
                "objective": True,
            },
            {"name": "GLM", "short": "GLM", "repr": "GeneralLossMetric()", "better": "lower", "objective": True},
        ],
        "constraints": [{"measure": "k", "at": "least", "bound": 2}],
        "suppression": "Violating(limit=0.2)",
    }
    assert content["search"] == {**{key: SEARCH.get(key) for key in SEARCH if key != "commands"}, "stopped": None}
    assert content["reproduce"] == SEARCH["commands"]
    assert content["checksums"] == CHECKSUMS
    assert content["suppressed"] == {"rows": choice.n_suppressed, "of": 40, "how": "mark"}
    assert content["made"] == "2026-01-31T12:00:00Z"
    k = choice.values["k"]
    assert content["claims"][0] == {"measure": "k", "promised": k, "recounted": k, "holds": True}
    assert content["claims"][2]["holds"] is None
    assert content["claims"][2]["recounted"] is None
    assert [column["level"] for column in content["chosen"]["quasi_identifiers"]] == list(choice.x)
    assert [column["n_groups"] for column in content["chosen"]["quasi_identifiers"]] == list(
        PROBLEM.decode(choice.x).n_groups
    )
    assert content["software"]["packages"].keys() > {"pymoo_anon", "numpy", "pandas", "narwhals"}


def test_the_front_is_whole_and_leads_back_to_the_choice():
    content = told()
    X = PROBLEM.nodes(0, PROBLEM.n_nodes)
    members = Members(PROBLEM, X)
    choice = choose(PROBLEM, X)
    assert [point["x"] for point in content["front"]] == X[members.rows].tolist()
    assert len(members) < len(X)
    for point, row in zip(content["front"], range(len(members)), strict=True):
        assert point["values"] == [members.values(each)[row] for each in PROBLEM.measured]
        assert [type(value) for value in point["values"]] == [int, int, float]
        assert point["suppressed"] == members.n_suppressed[row]
    assert content["front"][content["chosen"]["place"]]["x"] == list(choice.x)
    chosen, steps = neighbours(content)
    assert chosen == dict(choice.values)
    assert steps == next_steps(["k", "l", "GLM"], members.objectives, [True, True, False], content["chosen"]["place"])
    assert len(steps) >= 2


def test_neighbours_are_those_of_objectives_alone():
    """What only a constraint bounds is no reason to go on."""
    problem = LatticeProblem(TABLE, [GLM], 2, [K >= 2, TCloseness("grade") <= 1])
    content = told(problem)
    chosen, steps = neighbours(content)
    assert list(chosen) == ["GLM", "k", "t"]
    assert steps == []


@pytest.mark.parametrize("problem", [LEAKY, PROBLEM], ids=["telltale", "plain"])
def test_it_holds_no_value_of_the_data(problem, tmp_path):
    write_evidence(tmp_path / "evidence.json", told(problem))
    text = (tmp_path / "evidence.json").read_text(encoding="utf-8")
    for value in [*ZIPS, *GROUPS, *TOPS, *GRADES, *WHO, *map(str, range(7_000_000_011, 7_000_000_016))]:
        assert value not in text
    assert "zip" in text


def test_the_reprs_of_telltale_measures():
    measures = told(LEAKY)["settings"]["measures"]
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


def test_two_calls_give_the_same():
    assert json.dumps(told()) == json.dumps(told())


def test_infinite_values_are_told():
    problem = LatticeProblem(TABLE, [EnhancedBetaLikeness("grade"), GLM])
    content = told(problem)
    first = next(place for place, point in enumerate(content["front"]) if "infinity" in point["values"])
    content = changed(content, ("chosen", "place"), first)
    content["suppressed"]["rows"] = content["front"][first]["suppressed"]
    chosen, _ = neighbours(content)
    assert chosen["enhanced beta"] == np.inf


def test_bit_strings_have_no_levels():
    problem = PartitionProblem(TABLE, [K, GLM])
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
    assert sum(line.startswith('    {"x": ') for line in lines) == len(content["front"])


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "evidence.json"
    write_evidence(path, told())
    before = path.read_bytes()
    with pytest.raises(ValueError, match="content must have the parts of evidence, and lacks 'front'"):
        write_evidence(path, {key: value for key, value in told().items() if key != "front"})

    def full(*names):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_evidence(path, told(suppressed="drop"))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["evidence.json"]


def test_names_survive(tmp_path):
    frame = pd.DataFrame({'a "q";\n=é\udc80': [1, 2], ("x", 1): [1, 2]})
    names = list(frame)
    problem = LatticeProblem(Microdata.from_frame(frame, {name: Hierarchy.flat([1, 2]) for name in names}), [K, GLM])
    content = told(problem)
    write_evidence(tmp_path / "evidence.json", content)
    back = read_evidence(tmp_path / "evidence.json")
    assert back["table"]["quasi_identifiers"][0]["name"] == 'a "q";\\n=é\\udc80'
    assert back["table"]["quasi_identifiers"][1]["name"] == "('x', 1)"


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"suppressed": "hide"}, "evidence: suppressed.how must be 'mark' or 'drop', got 'hide'"),
        ({"search": {"seeds": 1}}, "search must have keys among algorithm, seed, .* got 'seeds'"),
        ({"search": {"seed": "one"}}, "evidence: search.seed must be a whole number from 0, got 'one'"),
        ({"search": {"commands": [1]}}, r"evidence: reproduce\[0\] must be text, got 1"),
        ({"checksums": {"inputs": {}}}, "checksums must have keys among input, hierarchies, output, got 'inputs'"),
        ({"checksums": {"input": {"a.csv": "abc"}}}, "evidence: checksums.input.a.csv must be a sha256 in hexadecimal"),
        (
            {"claims": pd.DataFrame({"measure": ["k"]})},
            "claims must be a pandas frame with the columns measure, prom",
        ),
        (
            {"claims": pd.DataFrame({"measure": [GRADES[0]], "promised": [1], "recounted": [1], "holds": [True]})},
            "claims must be of the problem's measures, 'k', 'l', 'GLM', each once",
        ),
        ({"made": 3}, "evidence: made must be text, got 3"),
    ],
)
def test_arguments_that_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        told(**given)


def test_a_claim_of_one_measure_twice_is_refused():
    choice = choose(PROBLEM, PROBLEM.nodes(0, PROBLEM.n_nodes))
    claims = claimed(PROBLEM, choice)
    with pytest.raises(ValueError, match="each once"):
        told(claims=pd.concat([claims, claims.iloc[:1]]))


def test_a_choice_of_another_front_is_refused():
    X = PROBLEM.nodes(0, PROBLEM.n_nodes)
    choice = choose(PROBLEM, X)
    res = Result()
    res.X = X[::-1]
    with pytest.raises(ValueError, match="choice must be one of the points of res"):
        evidence(PROBLEM, res, choice, claims=claimed(PROBLEM, choice), suppressed="mark", checksums={}, search={})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "must be evidence, a JSON file, got Expecting value"),
        (b"{", "must be evidence, a JSON file, got Expecting property name"),
        (b"\xff\xfe{}", "must be evidence, a JSON file in UTF-8, got another encoding"),
        (b"[]", r"must be an object, got \[\]"),
        (b"{}", "must have the parts of evidence, and lacks 'format', 'version', 'made', 'table', 'settings' and"),
        (b'{"format": NaN}', "got NaN, which JSON has not"),
        (b"[" * 100_000, "must be evidence, a JSON file, got"),
        (b'{"format": "pymoo_anon evidence", "version": 2}', "must be evidence of version 1, got version 2"),
        (b"1" * 5000, "must be evidence, a JSON file, got"),
    ],
)
def test_files_that_are_no_evidence(text, message, tmp_path):
    path = tmp_path / "evidence.json"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_evidence(path)
    assert str(caught.value).startswith(str(path))


def changed(content, place, value):
    """Evidence with another value at a place such as ("front", 0, "x"); no value removes it."""
    whole = copy.deepcopy(content)
    part = whole
    for step in place[:-1]:
        part = part[step]
    if value is ...:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return whole


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("front",), ..., "must have the parts of evidence, and lacks 'front'"),
        (("more",), 1, "must have the parts of evidence, and has 'more', which is unknown"),
        (("front", 1, "x"), [0], r"front\[1\] must have 2 variables and 3 values, got 1 and 3"),
        (("front", 1, "values"), [0], r"front\[1\] must have 2 variables and 3 values, got 2 and 1"),
        (("front", 1, "values", 2), "much", r"front\[1\]\.values\[2\] must be a number, got 'much'"),
        (("front", 1, "values", 0), True, r"values\[0\] must be a number, got True"),
        pytest.param(("front", 1, "values", 0), 10**400, r"values\[0\] must be a number, got 1000", id="huge"),
        (("front", 0, "x", 0), -1, r"front\[0\]\.x\[0\] must be a whole number from 0, got -1"),
        (("front", 0, "x", 0), 1.0, r"must be a whole number from 0, got 1\.0"),
        (("front",), [], r"chosen\.place must be below 0, the points of front"),
        (("chosen", "place"), 99, r"chosen\.place must be below \d+, the points of front, got 99"),
        (("chosen", "quasi_identifiers"), [], "chosen.quasi_identifiers must be those of the table, 'zip', 'age'"),
        (("suppressed", "rows"), 39, "suppressed.rows must be those of the chosen point"),
        (("suppressed", "how"), "hide", "suppressed.how must be 'mark' or 'drop', got 'hide'"),
        (("claims", 0, "measure"), "m", "claims must be of the measures 'k', 'l', 'GLM', got 'm'"),
        (("settings", "constraints", 0, "measure"), "m", "constraints must be of the measures"),
        (("settings", "measures", 1, "name"), "k", "settings.measures must have different names, got 'k', 'k', 'GLM'"),
        (("settings", "measures", 0, "better"), "up", r"measures\[0\]\.better must be 'higher' or 'lower', got 'up'"),
        (("format",), "another", "format must be 'pymoo_anon evidence', got 'another'"),
        (("version",), True, "version must be 1, got True"),
        (("checksums", "output", "out.csv"), "0" * 63, "checksums.output.out.csv must be a sha256"),
        (("software", "packages", "numpy"), None, "software.packages.numpy must be text, got None"),
        (("search", "certified"), 1, "search.certified must be true or false, got 1"),
    ],
)
def test_evidence_that_is_not_whole(place, value, message):
    with pytest.raises(ValueError, match=message) as caught:
        neighbours(changed(told(), place, value))
    assert str(caught.value).startswith("content")


def test_the_place_after_the_last_point_is_none():
    content = told()
    with pytest.raises(ValueError, match=r"chosen\.place must be below"):
        neighbours(changed(content, ("chosen", "place"), len(content["front"])))


def test_measures_without_an_objective_are_refused():
    content = told()
    for measure in content["settings"]["measures"]:
        measure["objective"] = False
    with pytest.raises(ValueError, match=r"settings\.measures must have an objective, got none"):
        neighbours(content)


def places_of(part, before=()):
    """Every place of evidence."""
    keys = part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
    for key in keys:
        yield (*before, key)
        yield from places_of(part[key], (*before, key))


def refusal(content):
    """What is said of evidence that is refused, or nothing."""
    try:
        neighbours(content)
    except ValueError as error:
        return str(error)
    return ""


def test_any_damage_is_a_clear_sentence_or_harmless():
    """Whatever is taken away or replaced: ValueError in one line, or evidence that can be read."""
    content = told()
    values = (..., None, True, -1, 2.5, "x", [], {}, [None], {"x": 1}, "infinity")
    said = [refusal(changed(content, place, value)) for place in list(places_of(content)) for value in values]
    refused = [text for text in said if text]
    assert len(refused) > 1000
    assert all(text.isprintable() and len(text) < 400 for text in refused)


def test_rules_of_ones_own_are_named_by_their_class():
    assert isinstance(LEAKY.suppression, Suppression)
    assert told(LEAKY)["settings"]["suppression"] == "OwnRule"
