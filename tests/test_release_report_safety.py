"""What a report must not do: run what stands in the data, or tell outsiders more than the release does."""

import base64
import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest
from persons_of_a_report import BRACES, DOTTED, HOSTILE, SCRIPT, X, frame, payload, problem, read, report

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import Findings
from pymoo_anon.publishing.report.charts import charts
from pymoo_anon.publishing.report.subject import checked_subject
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata


@pytest.fixture(scope="module", params=[False, True], ids=["internal", "external"])
def made(request, tmp_path_factory):
    return report(tmp_path_factory.mktemp("report") / "report.html", external=request.param)


def strings(found):
    """All texts of nested lists and dicts."""
    if isinstance(found, dict):
        return [*found, *(text for value in found.values() for text in strings(value))]
    if isinstance(found, list):
        return [text for value in found for text in strings(value)]
    return [found] if isinstance(found, str) else []


def told(made):
    """All texts that a file holds: those of the page, of its attributes, and of the embedded data."""
    page = read(made)
    return [*page.texts, *(value for _, value in page.attributes if value), *strings(payload(made))]


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
    """The charts of a table whose names are code differ in titles alone from those of any other table."""
    plain = frame().rename(columns={SCRIPT: "a", BRACES: "b", DOTTED: "c"})
    own = problem().table.quasi_identifiers
    other = Microdata.from_frame(plain, dict(zip("abc", own.values(), strict=True)), sensitive="illness")
    hostile_goals = [KAnonymity(), GeneralLossMetric(), DistinctLDiversity(SCRIPT)]
    plain_goals = [KAnonymity(), GeneralLossMetric(), DistinctLDiversity("a")]
    both = [
        charts(checked_subject(LatticeProblem(table, goals), X, 0, None, 0.09, None, False))
        for table, goals in ((problem().table, hostile_goals), (other, plain_goals))
    ]
    assert without_titles(both[0]) == without_titles(both[1])
    assert "expr" not in both[0]["bars"]


def without_titles(found):
    if isinstance(found, dict):
        return {key: without_titles(value) for key, value in found.items() if key != "title"}
    return [without_titles(value) for value in found] if isinstance(found, list) else found


# ---------------------------------------------------------------- outside the building

NAMED = {
    "town": Hierarchy.from_levels(
        [[f"raw town {i}" for i in range(12)], [f"region {i // 4}" for i in range(12)], ["*"] * 12]
    ),
    "age": Hierarchy.intervals(0, 100, widths=[10, 50]),
}


def people(seed=0, rows=None):
    """A table of towns and ages; with `rows`, one that has the same release as these at level 1."""
    rng = np.random.default_rng(seed)
    if rows is None:
        return pd.DataFrame(
            {"town": rng.choice(12, 500, p=[0.3, *[0.05] * 10, 0.2]), "age": rng.integers(0, 30, 500)}
        ).assign(town=lambda made: [f"raw town {i}" for i in made["town"]])
    region = [int(town.split()[-1]) // 4 for town in rows["town"]]
    towns = [f"raw town {4 * one + rng.integers(4)}" for one in region]
    return pd.DataFrame({"town": towns, "age": rows["age"] // 10 * 10 + rng.integers(0, 10, len(rows))})


def of_people(rows, suppression=Below(5), constraints=()):  # noqa: B008
    made = Microdata.from_frame(rows, NAMED)
    return LatticeProblem(made, [KAnonymity(), GeneralLossMetric()], suppression, constraints)


POINTS = np.array([[0, 0], [0, 1], [1, 1], [1, 2], [2, 2]])


def outside(path, own, points=POINTS, chosen=2, **options):
    return report(path, own, points, chosen, external=True, **options)


def test_the_report_for_outsiders_depends_on_the_release_alone(tmp_path):
    """Tables that have the same release have the same report, but for the risk of the raw table."""
    rows = people()
    made = []
    for seed in (1, 2, 3):
        data = payload(outside(tmp_path / "r.html", of_people(people(seed, rows)), POINTS[2:], 0))
        risks = data["pool"][data["members"][0]["tables"]["risks"]]
        for row in risks:
            assert 0 <= row.pop(1) <= 1
        made.append((data, len(risks)))
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("suppressed", ["mark", "drop"])
def test_suppressed_people_are_known_to_outsiders_by_their_number_alone(tmp_path, suppressed):
    made = []
    for seed in (1, 2, 3):
        rng = np.random.default_rng(seed)
        cells = rng.choice([(region, decade) for region in range(3) for decade in range(3, 10)], 10, replace=False)
        odd = [(f"raw town {4 * region + i}", 10 * decade + i) for region, decade in cells for i in range(4)]
        rows = pd.concat([people(), pd.DataFrame(odd, columns=["town", "age"])], ignore_index=True)
        own = of_people(rows)
        assert own.equivalence_classes(POINTS[2]).n_suppressed == [40]
        data = payload(outside(tmp_path / "r.html", own, POINTS[2:3], 0, findings=Findings(suppressed=suppressed)))
        for row in data["pool"][data["members"][0]["tables"]["risks"]]:
            row.pop(1)
        made.append(data)
        # Rows of the release or its marks, none of which is told by its group.
        after = dict(map(tuple, data["pool"][data["members"][0]["tables"]["after0"]]))
        assert sum(after.values()) == (540 if suppressed == "mark" else 500)
    assert made[0] == made[1] == made[2]


def test_outsiders_see_no_raw_value(tmp_path):
    made = outside(tmp_path / "r.html", of_people(people()))
    found = "\n".join(told(made))
    assert "raw town" not in found
    assert "region 1" in found
    internal = "\n".join(told(report(tmp_path / "i.html", of_people(people()), POINTS, 2)))
    assert "raw town 3" in internal


def counts(made):
    """The numbers of people in a file, of its tables and of its sentences."""
    data, page = payload(made), read(made)
    found = []
    for name, rows in page.tables.items():
        places = [i for i, kind in enumerate(data["kinds"][name]) if kind == "people"]
        found += [cells[i] for cells in rows for i in places]
    for member in data["members"]:
        for name, place in member["tables"].items():
            for cells in data["pool"][place]:
                found += [cells[i] for i, kind in enumerate(data["kinds"][name]) if kind == "people"]
    for rows in (page.tables["front"], data["fixed"]["front"]):
        found += [cells[-3] for cells in rows]
    sentences = [text for view in page.sentences.values() for text in view]
    found += [f"{n} people" for text in sentences for n in re.findall(r"(?<!than )([\d,]+) (?:people|person)", text)]
    return found


def numbers(found):
    """Those of counts that are numbers, without the words that withhold one."""
    words = {"nobody", "–", None}
    kept = [one for one in found if one not in words and "fewer than" not in str(one)]
    return [int(str(one).replace(",", "").split()[0]) for one in kept]


@pytest.mark.parametrize("suppressed", ["mark", "drop"])
@pytest.mark.parametrize("chosen", [1, 2, 3])
def test_outsiders_see_no_small_count(tmp_path, chosen, suppressed):
    own = of_people(people())
    k = int(KAnonymity().evaluate(own.equivalence_classes(POINTS[chosen]))[0])
    made = outside(tmp_path / "r.html", own, chosen=chosen, findings=Findings(suppressed=suppressed))
    assert f"No number of people below {k}".lower() in made.lower()
    found = numbers(counts(made))
    assert found
    assert min(one for one in found if one) >= min(k, 12)
    assert min(one for one in numbers(tables_alone(made)) if one) >= k
    assert len(payload(made)["members"]) == 1


def tables_alone(made):
    data = payload(made)
    (member,) = data["members"]
    return [
        cells[i]
        for name, place in member["tables"].items()
        for cells in data["pool"][place]
        for i, kind in enumerate(data["kinds"][name])
        if kind == "people"
    ]


def test_counts_below_the_requirement_are_merged(tmp_path):
    """A release that misses what is required tells nobody of the classes that do."""
    required = (KAnonymity() >= 80,)
    own = of_people(people(), AtMost(0), required)
    made = outside(tmp_path / "r.html", own)
    (k,) = KAnonymity().evaluate(own.equivalence_classes(POINTS[2]))
    assert k < 80
    assert min(one for one in numbers(tables_alone(made)) if one) >= 80
    assert "fewer than 80 people" in read(made).sentences["sizes"][1]
    data = payload(made)
    ages = dict(map(tuple, data["pool"][data["members"][0]["tables"]["after1"]]))
    assert sum(ages.values()) == 500


def few_suppressed():
    """500 people and three more who are suppressed: fewer than k, so that they are dropped."""
    rows = people()
    odd = pd.DataFrame({"town": ["raw town 5"] * 3, "age": [90, 91, 92]})
    return pd.concat([rows, odd], ignore_index=True)


def test_a_small_number_of_suppressed_people_is_not_found_by_subtraction(tmp_path):
    own = of_people(few_suppressed())
    assert own.equivalence_classes(POINTS[2]).n_suppressed == [3]
    evidence = {
        "promised": {"suppressed": 3, "GLM": 123.4567},
        "settings": {"rows": 503, "share": 3},
        "suppressed": {"rows": 3, "of": 503, "how": "drop"},
        "rows of the input": 503,
        "neighbours": [{"suppressed": 4}],
    }
    columns = {"measure": ["k", "suppressed", "GLM"], "promised": [12, 3, 1234.5], "recounted": [12, 3, 1234.5]}
    claims = pd.DataFrame({**columns, "holds": [True] * 3})
    findings = Findings(claims=claims, evidence=evidence, suppressed="drop")
    made = outside(tmp_path / "r.html", own, findings=findings)
    page, found = read(made), told(made)
    assert not [text for text in found if re.search(r"\b503\b", text)]
    assert not [text for text in found if re.search(r"\b3 (people|rows)", text)]
    assert page.sentences["sizes"][0].startswith("Fewer than")
    assert page.tables["claims"][1][:3] == ["suppressed", *[page.tables["front"][0][-3]] * 2]
    assert page.tables["claims"][2][1] == "1,230"
    assert dict(map(tuple, page.tables["evidence"])) == {
        "promised › suppressed": page.tables["claims"][1][1],
        "promised › GLM": "123",
        "settings › rows": "withheld",
        "settings › share": "3",
        "suppressed › rows": page.tables["claims"][1][1],
        "suppressed › of": "withheld",
        "suppressed › how": "drop",
    }
    assert sum(int(row[1].replace(",", "")) for row in page.tables["after1"]) == 500


def test_members_of_small_classes_are_not_listed(tmp_path):
    own = of_people(people(), AtMost(0))
    ks = [int(KAnonymity().evaluate(own.equivalence_classes(x))[0]) for x in POINTS]
    made = outside(tmp_path / "r.html", own)
    listed = [int(row[0]) - 1 for row in read(made).tables["front"]]
    assert listed == [row for row, k in enumerate(ks) if k >= ks[2]]
    assert len(listed) < len(POINTS)
    assert f"{len(listed)} of the {len(POINTS)} members" in read(made).sentences["front"][1]
    for row in payload(made)["fixed"]["front"]:
        assert (row[-3] is None) == (row[0] != 2 + 1)
        assert all(value == float(f"{value:.3g}") for value in row[1:3])


def test_the_file_says_what_was_left_out(tmp_path):
    for external in (False, True):
        made = report(tmp_path / "r.html", external=external)
        assert ("What was left out" in made) == external
        assert ("Internal: holds values" in made) != external
        evidence = dict(map(tuple, read(made).tables["evidence"]))
        assert ("neighbours › 1 › k" in evidence) != external
        assert evidence["seed"] == "4711"


def test_outsiders_get_no_choice_of_points(tmp_path):
    page = read(report(tmp_path / "r.html", external=True))
    assert "input" not in page.tags
    assert "button" not in page.tags


def test_the_data_of_outsiders_hold_nothing_else(tmp_path):
    data = payload(outside(tmp_path / "r.html", of_people(people())))
    assert set(data["fixed"]) == {"front"}
    assert set(data["members"][0]["tables"]) == {
        "risks", "sizes", "ladder", "after0", "after1", "groups", "quantiles", "lorenz",
    }  # fmt: skip
    assert len(data["pool"]) <= len(data["members"][0]["tables"])
    assert json.dumps(data["labels"]).count("Point") == len(data["fixed"]["front"])
    assert data["chosen"] == 2 + 1
