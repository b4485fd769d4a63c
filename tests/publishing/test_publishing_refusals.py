"""Refusals of choices, releases, recounts, evidence and reports, with their sentences."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from persons_of_a_report import BRACES, X, problem
from persons_of_a_report import frame as persons
from persons_of_a_report import table as table_of_persons
from pymoo.core.result import Result
from raw_tables import raw_problem
from refusals import check_refusals, refusals
from tasks import invented
from test_choosing import FRONT, VALUES, problem_of
from test_choosing import PROBLEM as CHOSEN
from test_evidence import CHECKSUMS, FRAME, PROBLEM, changed, told
from test_guarantees import MEANINGS, TOLD
from test_keeping import CITIES, MEANS, OF_PAID, PAID, released
from test_local_release import WARD, ward
from test_release import HOSPITAL, KEPT, ROLES, hospital
from test_verify import QUASI, RELEASED

from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import *
from pymoo_anon.publishing.codebook import read_members
from pymoo_anon.publishing.evidence import check_content
from pymoo_anon.table import *

NAN, INF = float("nan"), float("inf")
K, L, GLM = KAnonymity(), DistinctLDiversity("s0"), GeneralLossMetric()
EVIDENCE = told()
EVERY_NODE = PROBLEM.nodes(0, PROBLEM.n_nodes)
CHOICE, REVERSED = PROBLEM.front(EVERY_NODE).choose(), EVERY_NODE[::-1]
MADE = release(FRAME, PROBLEM, CHOICE, drop=["name", "height"])
BROKEN_BY_MARKS = hospital([GeneralLossMetric()], suppression=1)
RECODED = Generalization({"age": [0, 0, 1], "sex": [0, 0]}, {"age": ["20–29", "30–39"], "sex": ["F"]})
ORIGINAL = RELEASED.assign(age=[20] * 9, sex="F")
OF_PERSONS = problem().front(X)
STRICT = LatticeProblem(invented(1), [GLM], constraints=[K >= 4])
FINEST = STRICT.nodes(0, 2)
EARLIER = {"file": "first.csv", "sha256": CHECKSUMS["hierarchies"]["age"], "x": [0, 1], "suppressed": "drop"}


class Mine(KAnonymity):
    """A measure of one's own that differs from its base class."""

    def evaluate(self, classes):
        return 2 * super().evaluate(classes)


def choose(**asked):
    return CHOSEN.front(FRONT).choose(**asked)


def out(frame=HOSPITAL, x=(1, 1), of=None, **options):
    """Release the hospital's table, with the roles of its columns."""
    return release(frame, hospital() if of is None else of, x, **{**ROLES, **options})


def damaged(*place, to=...):
    return check_content(changed(EVIDENCE, place, to), "content")


def evidence_of(content):
    """Read evidence from a file of these bytes."""
    Path("e.json").write_bytes(content)
    try:
        return read_evidence(Path("e.json"))
    finally:
        Path("e.json").unlink()


def report(front=OF_PERSONS, row=5, choice=None, **options):
    return write_report("r.html", front, OF_PERSONS.choose(row=row) if choice is None else choice, **options)


@refusals(__file__)
def test_what_is_refused(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_refusals(section, globals())
    assert os.listdir() == []
