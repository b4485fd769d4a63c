"""Safety of reports: data never runs, and outsiders see only the release."""

import base64
import hashlib
import re

import numpy as np
import pandas as pd
import pytest
from persons_of_a_report import BRACES, DOTTED, HOSTILE, SCRIPT, X, frame, payload, problem, read, report, subject_of
from strategies import times

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, TCloseness
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import Kept, codebook, evidence, release
from pymoo_anon.publishing.report.charts import charts
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Violating


@pytest.fixture(scope="module", params=[False, True], ids=["internal", "external"])
def made(request, tmp_path_factory):
    return report(tmp_path_factory.mktemp("report") / "report.html", external=request.param)


# ---------------------------------------------------------------- nothing in the data is run


def test_names_and_values_are_text(made):
    page = read(made)
    assert page.tags.count("script") == 3
    assert not {"img", "b", "i", "iframe", "object", "link", "base", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert all(value.startswith("#") for name, value in page.attributes if name in ("href", "src"))
    assert "{{7*7}}" in "".join(page.texts)
    assert SCRIPT in "".join(page.texts)


def test_values_stand_in_the_page_as_they_are(tmp_path):
    page = read(report(tmp_path / "r.html"))
    shown = [row[0] for row in page.tables["before0"]]
    assert set(shown) == {value.replace("\n", "\\n") or "(empty)" for value in HOSTILE}


def test_embedded_data_cannot_end_their_element(made):
    (inside,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', made, re.DOTALL)
    assert not re.search(r"[<>&]", inside)
    assert inside.isascii()


def test_only_the_scripts_of_the_file_may_run(made):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', made)
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    scripts = re.findall(r"<script>(.*?)</script>", made, re.DOTALL)
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts]
    assert rules["script-src"].split() == hashes
    assert "unsafe" not in rules["script-src"]


def test_expressions_hold_no_name_of_the_data():
    """Find differences only in the titles if names are code."""
    plain = frame().rename(columns={SCRIPT: "a", BRACES: "b", DOTTED: "c"})
    own = problem().table.quasi_identifiers
    other = Microdata.from_frame(plain, dict(zip("abc", own.values(), strict=True)), sensitive="illness")
    hostile_goals = [KAnonymity(), GeneralLossMetric(), DistinctLDiversity(SCRIPT)]
    plain_goals = [KAnonymity(), GeneralLossMetric(), DistinctLDiversity("a")]
    both = []
    for table, goals in ((problem().table, hostile_goals), (other, plain_goals)):
        front = LatticeProblem(table, goals).front(X)
        both.append(charts(subject_of(front, row=0), ["front", "risks", "bars"]))
    assert without_titles(both[0]) == without_titles(both[1])
    assert "expr" not in both[0]["bars"]


def without_titles(found):
    if isinstance(found, dict):
        return {key: without_titles(value) for key, value in found.items() if key != "title"}
    return [without_titles(value) for value in found] if isinstance(found, list) else found


# ---------------------------------------------------------------- outside the building

NAMED = {
    "town": Hierarchy([[f"raw town {i}" for i in range(12)], [f"region {i // 4}" for i in range(12)], ["*"] * 12]),
    "age": Hierarchy.intervals(0, 100, widths=[10, 50]),
}


def people():
    """Draw towns and ages."""
    rng = np.random.default_rng(0)
    towns = [f"raw town {i}" for i in rng.choice(12, 500, p=[0.3, *[0.05] * 10, 0.2])]
    return pd.DataFrame({"town": towns, "age": rng.integers(0, 30, 500)})


def of_people(rows, suppression=Below(5), constraints=()):  # noqa: B008
    made = Microdata.from_frame(rows, NAMED)
    return LatticeProblem(made, [KAnonymity(), GeneralLossMetric()], suppression, constraints)


POINTS = np.array([[0, 0], [0, 1], [1, 1], [1, 2], [2, 2]])


def outside(path, own, points=POINTS, chosen=2, **options):
    options.setdefault("evidence", None)
    return report(path, own, points, chosen, external=True, **options)


COUNTIES = Hierarchy([list("abcd"), list("xxyy")])
SMALL = {
    "town": Hierarchy([[f"t{i}" for i in range(6)], ["a", "a", "b", "b", "c", "c"], ["*"] * 6]),
    "age": Hierarchy.intervals(0, 40, widths=[10, 20]),
}


def pair_of_tables(rng, n_suppressed, how):
    """Yield two tables with one release at levels 1 and 1.

    In the second one all raw values are others, and those of the suppressed persons, who stand alone in cells that
    nobody else has. Where they are dropped there is another number of them, with other illnesses and incomes.
    """
    cells = rng.permutation([(town, age) for town in range(3) for age in range(4)])
    n_kept = int(rng.integers(2, 6))
    kept = np.repeat(cells[:n_kept], [2, *rng.integers(2, 7, n_kept - 1)], axis=0)
    illness = rng.choice(["flu", "cold", "ulcer"], len(kept))
    others = (n_suppressed + int(rng.integers(1, 6))) % 6
    ill = rng.choice(["flu", "cold", "ulcer", "rare"], 6)
    for number in (n_suppressed, n_suppressed if how == "mark" else others):
        every = np.concatenate([kept, rng.permutation(cells[n_kept:])[:number]])
        rows = {
            "town": [f"t{2 * town + rng.integers(2)}" for town, _ in every],
            "age": [int(10 * age + rng.integers(10)) for _, age in every],
            "illness": [*illness, *(ill[:number] if how == "mark" else rng.permutation(ill)[:number])],
            # Both are made coarser.
            "income": [1000 * (i % 7) + int(rng.integers(-499, 500)) for i in range(len(every))],
            "county": ["abcd"[2 * (i % 3 > 0) + rng.integers(2)] for i in range(len(every))],
        }
        yield pd.DataFrame(rows).sample(frac=1, random_state=int(rng.integers(2**31)))


# One marked row is a class below k: such a release is refused.
@pytest.mark.parametrize(
    ("n_suppressed", "how"), [*((n, "drop") for n in range(1, 6)), *((n, "mark") for n in range(2, 6))]
)
def test_nobody_outside_learns_who_was_suppressed_or_what_was_generalized(tmp_path, n_suppressed, how):
    """Compare what leaves of small tables with equal releases byte for byte, whatever was asked for."""
    goals, limits = [KAnonymity(), GeneralLossMetric(weights={"age": 2})], [KAnonymity() >= 2]
    if how == "drop":
        # Marked rows may break what these promise.
        goals += [KAnonymity(known=[["town"], ["age"]]), DistinctLDiversity("illness"), TCloseness("illness")]
        limits += [DistinctLDiversity("illness") >= 1]
    keep = {
        "income": Kept(round=1000, clip=(0, 5000), reason="the ministry has asked for it"),
        "county": Kept(hierarchy=COUNTIES, level=1, reason="the ministry has asked for it"),
    }
    for seed in range(times(1)):
        files, released, books = set(), set(), set()
        for rows in pair_of_tables(np.random.default_rng([seed, n_suppressed]), n_suppressed, how):
            table = Microdata.from_frame(rows, SMALL, sensitive="illness")
            own, points = LatticeProblem(table, goals, Violating(6), limits, levels={"town": (0, 1)}), [[0, 1], [1, 1]]
            front = own.front(points)
            choice = front.choose(row=1)
            made = release(rows, own, choice, suppressed=how, keep=keep, anyway="it is only a test")
            released.add(made.frame.to_csv())
            books.add(codebook(own, choice, suppressed=how, keep=keep).to_csv())
            search = {"seed": len(rows), "certified": True}
            inside = evidence(own, front, choice, made, checksums={}, search=search)
            about = {"evidence": inside, "data": f"{len(rows)}.csv", "population_size": 900}
            files.add(outside(tmp_path / "r.html", own, points, 1, certified=True, **about))
        assert len(released) == len(books) == 1
        assert "illness: knowing the class" in min(files)
        assert len(files) == 1


def test_rows_that_have_a_star_in_every_label_are_told_like_marked_ones(tmp_path):
    """Hide whether a row with * was generalized or suppressed."""
    towns = Hierarchy([["x", "y", "z"], ["*", "west", "east"], ["*"] * 3])
    files = set()
    # Eight rows are "*": all x in the first table, and four x and four z, all suppressed, in the second one.
    for counts, n_suppressed in (({"x": 8, "y": 6}, 0), ({"x": 4, "y": 6, "z": 4}, 8)):
        rows = pd.DataFrame({"town": [town for town, n in counts.items() for _ in range(n)]})
        own = LatticeProblem(Microdata.from_frame(rows, {"town": towns}), [KAnonymity(), GeneralLossMetric()], Below(5))
        assert own.equivalence_classes([1]).n_suppressed == [n_suppressed]
        files.add(outside(tmp_path / "r.html", own, [[0], [1]], 1))
    assert len(files) == 1


@pytest.mark.parametrize("chosen", [1, 2])
def test_nothing_of_the_search_leaves_the_building(tmp_path, chosen):
    """Hide requirements and optimality, which together reveal rows (Wong et al. 2007)."""
    made = []
    for constraints, certified, row in (((), None, chosen), ((KAnonymity() >= 2,), True, chosen), ((), False, chosen)):
        own = of_people(people(), AtMost(0), constraints)
        points = POINTS if certified is None else POINTS[chosen : chosen + 1]
        require = [KAnonymity() >= 2] if certified else ()
        row = chosen if certified is None else 0
        made.append(outside(tmp_path / "r.html", own, points, row, certified=certified, require=require))
    assert made[0] == made[1] == made[2]
    for word in ("proven", "required is", "seed", "constraint", "optim"):
        assert word not in "\n".join(read(made[0]).texts).lower()


def test_the_file_says_what_was_left_out(tmp_path):
    said = {"owner": "the <b>clinic", "data": "raw.csv", "release": "out.csv", "recipients": "all", "purpose": "study"}
    for external in (False, True):
        made = report(tmp_path / "r.html", external=external, **said)
        page = read(made)
        # What is said of the release stands outside, but for the raw file.
        assert all((words in page.texts) == (not external or words != "raw.csv") for words in said.values())
        assert ("What was left out" in made) == external
        assert ("Internal: holds values" in made) != external
        assert {"evidence", "worst0", "left"} & set(page.tables) == (
            set() if external else {"evidence", "worst0", "left"}
        )
        assert "inferred" in page.tables
        # Outsiders choose no point.
        assert bool({"input", "button", "select"} & set(page.tags)) != external


def test_the_data_of_outsiders_hold_nothing_else(tmp_path):
    data = payload(outside(tmp_path / "r.html", of_people(people())))
    assert set(data) == {"charts", "kinds", "fixed", "members", "chosen", "pool"}
    assert data["fixed"] == {}
    (member,) = data["members"]
    assert set(member) == {"point", "verdict", "words", "tables"}
    assert (member["point"], member["verdict"], data["chosen"]) == (1, "", 1)
    assert set(member["words"]) == {"decision", "sizes", "inference", "changes"}
    assert set(member["tables"]) == {"risks", "at_risk", "sizes", "after0", "after1"}
    assert len(data["pool"]) <= len(member["tables"])
