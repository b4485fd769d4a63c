"""Points with less loss than a choice, beside searches, releases and refinements."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run
from persons_of_a_report import subject_of

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem, refine
from pymoo_anon.problems import less_lost as room
from pymoo_anon.problems.less_lost import less_lost
from pymoo_anon.publishing.report.subject import Subject
from pymoo_anon.publishing.report.values import usefulness
from pymoo_anon.table import Hierarchy, Microdata


@pytest.fixture(scope="module")
def front():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 64, 600) ** 2 // 64,
            "zip": rng.integers(0, 64, 600) ** 2 // 64,
            "ill": rng.choice([*"aaaabbcd"], 600),
        }
    )
    tree = Hierarchy.intervals(0, 64, widths=[4, 16])
    table = Microdata.from_frame(frame, {"age": tree, "zip": tree}, sensitive="ill")
    problem = LatticeProblem(table, [KAnonymity(), DistinctLDiversity(), GeneralLossMetric()])
    return problem.front(problem.pareto_set()).sorted()


def shares(front):
    return front.values(GeneralLossMetric()) / (600 * 2)


def test_every_figure_is_what_is_there(front):
    choice = front.choose(require=[KAnonymity() >= 20])
    lost = shares(front)[choice.row]
    assert lost > 0.4
    text = less_lost(front, choice, "mark")
    found = re.fullmatch(
        r"(\d+) % lost\. Less: release --local \((\d+) %\), k = (\d+) \(row (\d+), (\d+) %\), without .*", text
    )
    own, local, k, row, smaller = map(int, found.groups())
    assert own == round(100 * lost)
    made = front.table.equivalence_classes(refine(front.problem, np.array(choice.x)))
    assert local == round(100 * GeneralLossMetric().evaluate(made)[0] / 1200)
    # The hint is the greatest smaller k that saves a tenth of the loss.
    fitting = [
        p for p in range(len(front)) if shares(front)[p] < 0.9 * lost and front.natural[p, 0] < choice.values["k"]
    ]
    best = max(fitting, key=lambda place: front.natural[place, 0])
    assert (row, k, smaller) == (best + 1, front.natural[best, 0], round(100 * shares(front)[best]))


def test_what_else_is_required_holds_of_a_smaller_k(front):
    assert front.values(DistinctLDiversity())[1:3].tolist() == [4, 3]
    for least, row in ((3, "3"), (4, None)):
        choice = front.choose(require=[KAnonymity() >= 20, DistinctLDiversity() >= least])
        found = re.search(r"row (\d+)", less_lost(front, choice, "mark"))
        assert (found and found[1]) == row


def test_the_column_that_costs_most_is_named(front):
    choice = next(
        front.choose(row=int(row)) for row, x in zip(front.rows, front.X, strict=True) if x[0] + 1 < x[1] == 3
    )
    assert less_lost(front, choice, "mark").endswith("without zip (-50 %).")


def test_little_loss_needs_no_advice(front):
    few = front.choose(row=int(front.rows[shares(front) < 0.4][0]))
    assert less_lost(front, few, "mark") == ""


def test_a_large_table_is_not_refined_for_a_figure(front, monkeypatch):
    monkeypatch.setattr(room, "_MOST_REFINED", 10)
    text = less_lost(front, front.choose(require=[KAnonymity() >= 20]), "mark")
    assert "Less: release --local, " in text


def test_a_local_recoding_is_no_advice_for_one(front):
    problem = LocalRecodingProblem(front.table, [KAnonymity(), GeneralLossMetric()])
    own = problem.front(np.array([problem.x_of(600), problem.x_of(20)])).sorted()
    text = less_lost(own, own.choose(require=[KAnonymity() >= 600]), "mark")
    assert text.startswith("100 % lost. Less: k = ")
    assert "--local" not in text


def test_pick_and_release_say_it(folder):
    rng = np.random.default_rng(1)
    rows = zip(
        20 + rng.integers(0, 70, 400) ** 2 // 70,
        rng.choice([*"FM"], 400),
        rng.choice(["flu", "cold"], 400),
        strict=True,
    )
    Path("mine.csv").write_text("age,sex,ill\n" + "".join(f"{age},{sex},{ill}\n" for age, sex, ill in rows))
    run("init", "mine.csv", "--role", "ill=sensitive")
    searched = run("search", "mine.toml")
    picked = run("pick", "mine.toml", "--require", "k>=60", "--require", "l>=2")
    released = run("release", "mine.toml")
    assert re.search(r"\n\d+ % lost\. Less: .*without age \(-\d+ %\)\.\n", picked)
    assert picked.splitlines()[1] in released.splitlines()
    # With a dozen lines of `init`, a user reads no more than these.
    assert len(f"{searched}{picked}{released}".splitlines()) <= 17
    assert "lost. Less" not in run("release", "mine.toml", "--local", "--force")


@pytest.mark.parametrize(("x", "gone"), [([1, 0], " Wholly generalized: sex."), ([0, 0], "")])
def test_the_verdict_on_usefulness_names_columns_without_detail(x, gone):
    frame = pd.DataFrame({"sex": ["F", "M"] * 10, "age": list("aabbccddee") * 2})
    ways = {"sex": Hierarchy.flat(["F", "M"]), "age": Hierarchy.flat(list("abcde"))}
    front = LatticeProblem(Microdata.from_frame(frame, ways), [KAnonymity(), GeneralLossMetric()]).front([x])
    said = usefulness(subject_of(front))
    assert said.startswith("Good for counts: half are off by at most 0")
    assert said.endswith(f"of the detail is lost.{gone}")


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([0.03, 0.6], "Good for counts: half are off by at most 3 %, nine in ten by 60 %."),
        ([0.03, 1.5], "Rough for counts"),
        ([0.2, 0.6], "Rough for counts"),
        ([0.03, 17.2], "Poor for counts: half are off by at most 3 %, nine in ten by "),
        ([0.4, 0.6], "Poor for counts"),
    ],
)
def test_counts_that_are_far_off_are_told(front, errors, said, monkeypatch):
    monkeypatch.setattr(Subject, "errors", lambda self, member: [*errors, 1.0])
    assert usefulness(subject_of(front)).replace("\N{NO-BREAK SPACE}", " ").startswith(said)
