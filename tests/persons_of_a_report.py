"""Reports of a table with texts that try to escape the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.problems.front import Front
from pymoo_anon.publishing import write_report
from pymoo_anon.publishing.report.subject import checked_subject
from pymoo_anon.table import Below, Hierarchy, Microdata

SCRIPT, BRACES, DOTTED = "<script>window.broken=1</script>", "{{7*7}}", 'a.b["c"]\'\\'
HOSTILE = [
    "</script><script>window.broken=1</script>",
    "<img src=x onerror=window.broken=1>",
    "=cmd|' /C calc'!A0",
    "{{7*7}}${7*7}",
    "a \"b\" 'c' & <!-- ",
    "line\nbreak",
    "日本語",
    "",
]
RULE = Below(5)


def frame(n=600, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            SCRIPT: rng.choice(HOSTILE, n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02]),
            BRACES: rng.choice(["yes", "no"], n, p=[0.8, 0.2]),
            DOTTED: rng.integers(0, 40, n),
            "illness": rng.choice(["flu", "cold", "<b>ulcer</b>"], n),
        }
    )


def hierarchies():
    halves = [HOSTILE, ["<i>front</i>"] * 4 + ["back & forth"] * 4, ["*"] * 8]
    return {
        SCRIPT: Hierarchy(halves),
        BRACES: Hierarchy.flat(["yes", "no"]),
        DOTTED: Hierarchy.intervals(0, 40, widths=[10, 20]),
    }


def table(rows=None, *names):
    """Return the table of rows, with all quasi-identifiers or those of names."""
    own = hierarchies()
    named = {name: own[name] for name in names or own}
    return Microdata.from_frame(frame() if rows is None else rows, named, sensitive="illness")


def problem(rows=None, suppression=RULE, constraints=()):
    goals = [KAnonymity(), DistinctLDiversity("illness"), GeneralLossMetric()]
    return LatticeProblem(table(rows), goals, suppression, constraints)


def courts(n=1500, seed=4):
    """Build a problem of a court's table with many sensitive columns."""
    rng = np.random.default_rng(seed)
    days = [str(day.date()) for day in pd.date_range("1950-01-01", periods=700, freq="30D")]
    years = [[day[:4] for day in days], [f"{day[:3]}0s" for day in days], ["*"] * len(days)]
    quasi = {
        "sex": Hierarchy.flat(["Female", "Male"]),
        "dob": Hierarchy([days, *years]),
        "age": Hierarchy.intervals(18, 98, widths=[5, 20]),
        "age_cat": Hierarchy.flat(["Less than 25", "25 - 45", "Greater than 45"]),
        "race": Hierarchy.flat(["African-American", "Asian", "Caucasian", "Hispanic", "Native American", "Other"]),
        "c_charge_degree": Hierarchy.flat(["F", "M"]),
        "c_jail_in": Hierarchy([days, *years]),
        "c_jail_out": Hierarchy([days, *years]),
    }
    rows = {name: [own.domain[place] for place in rng.integers(0, own.n_values, n)] for name, own in quasi.items()}
    charges = [
        f"{one} {other}" for one in ("Possession of", "Sale of", "Theft of") for other in ("Cannabis", "a Vehicle")
    ]
    sensitive = {f"{name}_count": rng.poisson(0.3, n) for name in ("juv_fel", "juv_misd", "juv_other", "priors")}
    sensitive |= {name: rng.integers(1, 11, n) for name in ("decile_score", "v_decile_score")}
    sensitive |= {name: rng.integers(0, 2, n) for name in ("is_recid", "two_year_recid")}
    sensitive |= {"score_text": rng.choice(["Low", "Medium", "High"], n), "c_charge_desc": rng.choice(charges, n)}
    own = Microdata.from_frame(pd.DataFrame(rows | sensitive), quasi, sensitive=list(sensitive))
    measures = [KAnonymity(), *map(DistinctLDiversity, sensitive), GeneralLossMetric()]
    return LatticeProblem(own, measures, suppression=0.01)


#: Points of the lattice; the third is the release.
X = np.array([[0, 0, 0], [1, 0, 1], [1, 1, 2], [2, 1, 2], [0, 1, 1], [2, 1, 3]])
CHOSEN = 2

EVIDENCE = {
    "software": {"pymoo_anon": "0.1.0", "<b>": "</script>"},
    "seed": 4711,
    "reproduce": ["pymoo-anon search " + "x" * 400],
    "settings": {"require": ["k>=5", "l>=2"], "nothing": None, "yes": True},
    "front": [{"x": [0, i], "suppressed": i} for i in range(30)],
    "neighbours": [{"k": 2, "suppressed": 3}],
    "suppressed": {"how": "mark"},
    "claims": [
        {"measure": "k", "promised": 12, "recounted": 12, "holds": True},
        {"measure": "GLM", "promised": 1000.5, "recounted": 1000.5, "holds": False},
        {"measure": "own", "promised": 3, "recounted": None, "holds": None},
    ],
    "columns": [
        {"column": SCRIPT, "role": "quasi-identifier", "reason": None},
        {"column": "illness", "role": "sensitive", "reason": None},
        {"column": "<b>ssn", "role": "keep", "reason": "because <i> is what we need"},
    ],
    "uniqueness": [
        {"columns": "all released columns", "unique": 7, "rows": 600},
        {"columns": "kept columns", "unique": 1, "rows": 600},
    ],
    "dropped": ["name", "<i>phone"],
}


def subject_of(front, row=None, evidence=None, threshold=0.09, external=False):
    """Return the subject of a report on a point, chosen by its row."""
    told = {"suppressed": "mark", "population": None, "external": external, "about": {}}
    return checked_subject(front, front.choose(row=row), evidence=evidence, threshold=threshold, **told)


def report(path, own=None, points=X, chosen=CHOSEN, *, require=(), certified=None, gap=None, **options):
    """Write and read the report of a point chosen by its row."""
    own = problem() if own is None else own
    if not {"evidence", "suppressed"} & set(options):
        options["evidence"] = EVIDENCE
    front = Front(own, points, certified=certified, gap=gap)
    choice = replace(front.choose(row=chosen), requirements=tuple(require))
    write_report(path, front, choice, **options)
    return path.read_text(encoding="utf-8")


class _Page(HTMLParser):
    """Tables, sentences and text of a page, without scripts and styles."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tables, self.sentences, self.texts, self.tags, self.attributes = {}, {}, [], [], []
        self._table = self._words = self._cell = None
        self._silent = False

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.attributes += attrs
        if tag in ("script", "style"):
            self._silent = True
        if "data-table" in given:
            self._table = self.tables.setdefault(given["data-table"], [])
        if "data-words" in given:
            self._words = self.sentences.setdefault(given["data-words"], [])
        if tag == "tr" and self._table is not None:
            self._table.append([])
        if tag in ("td", "th") and self._table is not None:
            self._cell = []
        if tag == "li" and self._words is not None:
            self._cell = []

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._silent = False
        if tag in ("td", "th") and self._table:
            self._table[-1].append("".join(self._cell))
            self._cell = None
        if tag == "li" and self._words is not None:
            self._words.append("".join(self._cell))
            self._cell = None
        if tag == "tbody":
            self._table = None
        if tag == "ul":
            self._words = None

    def handle_data(self, data):
        if self._silent:
            return
        self.texts.append(data)
        if self._cell is not None:
            self._cell.append(data)


def read(text):
    page = _Page()
    page.feed(text)
    return page


def payload(text):
    """Return the data that the script of a page reads, which must be plain JSON."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    data = json.loads(found)
    json.dumps(data, allow_nan=False)
    return data


def rows_of(data, name, row=None):
    """Return a table's rows in the script, for one front member, by default the release."""
    if name in data["fixed"]:
        return data["fixed"][name]
    point = data["chosen"] if row is None else row + 1
    (member,) = (member for member in data["members"] if member["point"] == point)
    return data["pool"][member["tables"][name]]
