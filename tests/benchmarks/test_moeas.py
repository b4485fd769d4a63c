"""The comparison with algorithms of pymoo and of operators: logs, statistics, runs and settings."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.termination import NoTermination
from tasks import LEVELS, minimal, nsga2

from benchmarks import record
from benchmarks.moeas import operators as study
from benchmarks.moeas import study as moeas
from benchmarks.moeas.pages import LEAST, LOOKS, course, marks, part_page
from benchmarks.moeas.problems import ALGORITHMS, TASKS, refusal
from benchmarks.moeas.runs import BEYOND, Budgets, Judge, Log, check_log, judged, replay, run
from benchmarks.moeas.statistics import effect, holm, interval, marked, median, p_value
from benchmarks.moeas.study import BestKnown
from pymoo_anon import operators
from pymoo_anon.algorithms import PBGEA, ParetoLocalSearch
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.operators import Neighborhood
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata, Taxonomy
from pymoo_anon.testing import small_problems

OURS = small_problems(LatticeProblem)


def rows_of(F):
    return sorted(map(tuple, np.asarray(F).tolist()))


# A single run.


@st.composite
def logs(draw):
    """Draw a log of batches of points, values and feasibility."""
    log = Log()
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    values, allowed = rng.integers(0, 5, (20, 2)).astype(float), rng.random(20) < draw(st.sampled_from([0.5, 1.0]))
    for size in draw(st.lists(st.integers(1, 7), min_size=1, max_size=6)):
        X = rng.integers(0, 20, (size, 1))
        log.X.append(X)
        log.F.append(values[X[:, 0]])
        log.feasible.append(allowed[X[:, 0]])
    return log


@given(log=logs(), distinct=st.integers(1, 15), total=st.integers(1, 40))
def test_budgets_are_what_a_walk_along_the_log_finds(log, distinct, total):
    budgets = Budgets((1, distinct) if distinct > 1 else (1,), (total,), 100)
    seen, spent, X, F = replay(log, budgets)
    walk = list(zip(np.concatenate(log.X)[:, 0], np.concatenate(log.F), np.concatenate(log.feasible), strict=True))
    last = 0
    for budget in budgets.all:
        kind, most = budget.split()
        met, used = set(), []
        for point, values, feasible in walk:
            if len(met | {point}) > int(most) if kind == "distinct" else len(used) == int(most):
                break
            met.add(point)
            used.append((values, feasible))
        assert spent[budget] == (len(met), len(used))
        kept = np.array([values for values, feasible in used if feasible]).reshape(-1, 2)
        assert rows_of(seen[budget]) == rows_of(minimal(kept))
        last = max(last, len(used))
    kept = np.array([values for _, values, feasible in walk[:last] if feasible]).reshape(-1, 2)
    assert rows_of(F) == rows_of(minimal(kept))
    assert len(X) == len(F)


MADE = {
    "PBG-EA": lambda: PBGEA(pop_size=6),
    "NSGA-II": lambda: nsga2(6),
    "local search": lambda: ParetoLocalSearch(n_offsprings=5),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("kind", ["two objectives", "constraints"])
def test_a_run_gives_what_steps_by_hand_give(name, kind):
    problem = OURS[kind].fresh_copy()
    budgets = Budgets((4, 9, 15, 21), (5, 10, 30, 45), 60)
    found = run(problem, MADE[name](), 3, budgets)
    algorithm, own, points, values = MADE[name](), OURS[kind].fresh_copy(), [], []
    algorithm.setup(own, termination=NoTermination(), seed=3)

    def look(pop):
        points.extend(one.X.tobytes() for one in pop)
        values.extend((one.F, one.feas) for one in pop)

    algorithm.evaluator.callback = look
    results = {budget: np.empty((0, problem.n_obj)) for budget in budgets.all}
    while algorithm.has_next() and len(points) < 60 and (len(set(points)) < 21 or len(points) < 45):
        algorithm.next()
        used = {"distinct": len(set(points)), "total": len(points)}
        front = algorithm.opt[algorithm.opt.get("feas")].get("F").reshape(-1, problem.n_obj)
        split = {budget: budget.split() for budget in budgets.all}
        results.update({one: minimal(front) for one, (kind, most) in split.items() if used[kind] <= int(most)})
    for budget in budgets.all:
        assert rows_of(found.own[budget]) == rows_of(results[budget])
    for n in budgets.total:
        feasible = np.array([F for F, feas in values[:n] if feas]).reshape(-1, problem.n_obj)
        assert rows_of(found.seen[f"total {n}"]) == rows_of(minimal(feasible))
    assert found.ended == (not algorithm.has_next())
    assert max(spent for _, spent in found.spent.values()) <= 60
    check_log(problem, found)


def test_an_own_result_is_never_of_more_than_the_budget():
    """Report a first population within the budget, not one point more."""
    problem = OURS["two objectives"].fresh_copy()
    found = run(problem, nsga2(6), 1, Budgets((40,), (5, 6, 11, 12), 60))
    assert len(found.own["total 5"]) == 0
    assert len(found.seen["total 5"]) > 0
    assert rows_of(found.own["total 6"]) == rows_of(found.own["total 11"])


class Population(NSGA2):
    """NSGA2 with its whole population as result, as in some algorithms."""

    def _set_optimum(self):
        self.opt = self.pop


def test_an_own_result_has_no_row_that_breaks_a_constraint():
    problem = OURS["constraints"]
    algorithm = Population(12, **LEVELS)
    found = run(problem.fresh_copy(), algorithm, 1, Budgets((1,), (12,), 12))
    F, G = problem.evaluate(algorithm.opt.get("X"), return_values_of=["F", "G"])
    feasible = (G <= 0).all(axis=1)
    assert 0 < feasible.sum() < len(feasible)
    assert rows_of(found.own["total 12"]) == rows_of(minimal(F[feasible]))


def test_a_log_of_other_values_is_refused():
    problem = OURS["two objectives"].fresh_copy()
    found = run(problem, PBGEA(pop_size=6), 1, Budgets((10,), (10,), 20))
    found.F[0] += 1
    with pytest.raises(ValueError, match=r"^logged values must be those of the problem, got others at \[\["):
        check_log(problem, found)


def test_measures_of_a_front():
    """Judge fronts in k and loss, scaled by the reference.

    The reference lies between (-10, 0) and (-2, 40).
    """
    problem = OURS["two objectives"]
    reference = np.array([[-10.0, 40.0], [-6.0, 10.0], [-2.0, 0.0]])
    judge = Judge(problem, reference)
    assert judge(reference) == {"RR": 1.0, "CE": 0.0, "IGD+": 0.0, "HV": 1.0}
    assert judge(np.empty((0, 2))) == {"RR": 0.0, "CE": np.inf, "IGD+": np.inf, "HV": 0.0}
    # Scaled, the reference is (0, 1), (0.5, 0.25) and (1, 0); of it (-6, 10) alone is found.
    volume = (BEYOND - 0.5) * (BEYOND - 0.25)
    whole = volume + 0.5 * (BEYOND - 1) + (BEYOND - 1) * 0.25
    found = judge(np.array([[-6.0, 10.0]]))
    assert found["RR"] == pytest.approx(1 / 3)
    assert found["HV"] == pytest.approx(volume / whole)
    # IGD+ counts how much worse: 0.5 in k of the first, 0.25 in loss of the third.
    assert found["IGD+"] == pytest.approx((0.5 + 0 + 0.25) / 3)
    assert judge(np.array([[-6.0, 14.0]]))["CE"] == pytest.approx(4 / 40)


def test_the_same_front_is_judged_alike_at_every_budget():
    problem = OURS["two objectives"].fresh_copy()
    found = run(problem, PBGEA(pop_size=6), 2, Budgets((6, 12), (6, 30), 60))
    judge = Judge(problem, found.F)
    figures = judged(found, judge)
    for result, fronts in (("own", found.own), ("seen", found.seen)):
        for budget, F in fronts.items():
            assert figures[result][budget] == judge(F)


# The set of best known points.


def test_the_best_known_set_only_gets_better(tmp_path):
    problem = OURS["two objectives"]
    X = problem.nodes(0, problem.n_nodes)
    path, rng = tmp_path / "sets" / "own.csv", np.random.default_rng(0)
    seen = np.empty((0, 2))
    for _ in range(8):
        drawn = X[rng.integers(0, len(X), 4)]
        known = BestKnown(path, problem)
        assert rows_of(known.F) == rows_of(minimal(seen))
        known.improve(drawn, problem.compute(drawn))
        seen = np.concatenate([seen, problem.compute(drawn)])
        # No run is measured against a set that lacks its own points.
        assert rows_of(known.F) == rows_of(minimal(seen))
        assert np.array_equal(problem.compute(known.X), known.F)
    text = path.read_text(encoding="utf-8")
    assert text.splitlines()[0] == "k,GLM,point"
    BestKnown(path, problem).improve(X[:0], seen[:0])
    assert path.read_text(encoding="utf-8") == text  # rewriting loses nothing
    path.write_text(text.replace("\n", "\n1", 1), encoding="utf-8")
    with pytest.raises(ValueError, match=r"own.csv must hold values of this problem, got others"):
        BestKnown(path, problem)


def test_the_best_known_strings_come_back(tmp_path):
    problem = small_problems(BitStringProblem)["two objectives"]
    X = problem.sample(9, np.random.default_rng(0))
    known = BestKnown(tmp_path / "own.csv", problem)
    known.improve(X, problem.compute(X))
    again = BestKnown(tmp_path / "own.csv", problem)
    assert again.X.dtype == bool
    assert np.array_equal(again.X, known.X)
    assert np.array_equal(again.F, known.F)


# Pages and pictures.


def row(values, reference="one"):
    own = {"RR": values, "HV": values, "CE": [None] * len(values), "IGD+": [0.5] * len(values)}
    curves = {measure: [[0.1, 0.2], [0.5, 0.6], [1.0, 1.0]] for measure in ("RR", "HV")}
    return {
        "seeds": len(values),
        "reference": reference,
        "ended": 0,
        "spent": {"distinct 10": [10, 13]},
        "curves": {"own": curves, "seen": curves},
        "values": {"own": {"distinct 10": own}, "seen": {"distinct 10": own}},
    }


def test_pages_mark_what_differs_and_name_what_is_left_out():
    rng = np.random.default_rng(0)
    problem = {
        "size": 100,
        "front": 7,
        "reference": "one",
        "proof": "",
        "budgets": {"main": ["distinct 10"], "all": ["distinct 10", "total 20"], "cap": 20},
        "left out": {"MOEA/D": "pymoo's refuses constraints"},
        "rows": {
            "PBG-EA": row((0.5 + rng.random(31) / 10).tolist()),
            "NSGA-II": row((0.5 + rng.random(31) / 10).tolist()),
            "SPEA2": row((0.8 + rng.random(31) / 10).tolist(), "another"),
            "random search": row((0.1 + rng.random(31) / 10).tolist()),
        },
    }
    found = {where[0]: mark for where, (_, mark) in marks(problem).items()}
    assert found == {"NSGA-II": "=", "SPEA2": "+", "random search": "−"}
    page = part_page("lattice", {"problems": {"k, GLM": problem}})
    few = {"PBG-EA": row([0.5] * 3), "SPEA2": row([0.8] * 3)}
    assert [mark for _, mark in marks({**problem, "rows": few}).values()] == [""] * 4
    assert "no difference could be significant" in part_page("lattice", {"problems": {"k": {**problem, "rows": few}}})
    assert "no difference could be significant" not in page
    assert "MOEA/D: pymoo's refuses constraints." in page
    assert "Measured against an earlier, smaller set of the best known: SPEA2." in page
    proven = part_page("lattice", {"problems": {"k, GLM": {**problem, "proof": "visit"}}})
    assert "smaller set" not in proven
    (spea2, _) = [line for line in page.splitlines() if line.startswith("| SPEA2")]
    cells = [cell.strip() for cell in spea2.strip("|").split("|")]
    own = problem["rows"]["SPEA2"]["values"]["own"]["distinct 10"]["RR"]
    low, high = interval(own)
    assert cells[1:4] == ["13", f"{median(own):.3f} ({low:.3f}–{high:.3f}) +", "1.00"]
    assert cells[6:] == ["inf", "5.0e-01"]
    budgets, quartiles = course(problem, "SPEA2", "own", "HV")
    assert budgets.tolist() == [10]
    assert quartiles.tolist() == [[0.9, 0.5, LEAST]]


def test_every_algorithm_has_a_look_and_every_problem_a_page():
    assert set(LOOKS) == set(ALGORITHMS)
    for tasks in TASKS.values():
        for task in tasks.values():
            assert all(budget in task.budgets.all for budget in task.main)


def test_what_cannot_be_compared_is_left_out_with_a_reason():
    constrained, strings = OURS["constraints"], small_problems(BitStringProblem)
    assert refusal("MOEA/D", constrained) == "pymoo's refuses constraints"
    assert refusal("MOEA/D", OURS["two objectives"]) is None
    assert refusal("branch and bound", strings["four objectives"]) == "on bit strings it proves k and a loss alone"
    assert "evaluations do not measure it" in refusal("branch and bound", strings["two objectives"])
    assert refusal("local search", strings["two objectives"]) is None
    assert [one for one in ALGORITHMS if refusal(one, OURS["two objectives"])] == []


@pytest.mark.slow
def test_all_algorithms_search_strings_of_taxonomies():
    parts = [{"name": part, "children": [{"name": leaf} for leaf in part]} for part in ("01", "23", "456")]
    leaves = Taxonomy({"name": "*", "children": parts})
    frame = pd.DataFrame({"q": list("0123456" * 9), "r": list("012345665" * 7), "s": list("xyz" * 21)})
    table = Microdata.from_frame(frame, {name: Hierarchy(leaves.levels()) for name in "qr"}, sensitive="s")
    objectives = [KAnonymity(), DistinctLDiversity("s"), GeneralLossMetric()]
    problem = BitStringProblem(table, objectives, taxonomies=dict.fromkeys("qr", leaves))
    for name, make in ALGORITHMS.items():
        if not refusal(name, problem):
            found = run(problem.fresh_copy(), make(problem), 1, Budgets((20,), (30,), 30))
            assert problem.is_valid(found.X).all()
            assert len(found.F) > 0


# As a user runs it.


@pytest.mark.slow
def test_the_quick_comparison(tmp_path, monkeypatch, unrendered, capsys):
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    quick = ["--quick", "--seeds", "1", "--processes", "1", "--results", str(tmp_path)]
    moeas.main(quick)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    for part in TASKS:
        found = json.loads(files[f"moeas_{part}.json"])
        (problem,) = found["problems"].values()
        assert set(problem["rows"]) | set(problem["left out"]) == set(ALGORITHMS)
        for result, measure in product(("own", "seen"), ("RR", "HV")):
            for own in problem["rows"].values():
                assert 0 <= own["values"][result]["distinct 200"][measure][0] <= 1
        for name in problem["rows"]:
            assert f"| {name} " in files[f"moeas_{part}.md"].decode()
    stored = sorted(path.name for path in (tmp_path / "best_known").iterdir())
    assert stored == ["moeas_many_k_l_t_GLM.csv", "moeas_strings_k_l_GLM_free.csv"]
    assert "moeas_many.md" in files["moeas.md"].decode()

    def ran(*given):
        raise AssertionError(f"must not run, got {given}")

    # Existing results stay, and run again only on request.
    with monkeypatch.context() as context:
        context.setattr(moeas, "run", ran)
        moeas.main(quick)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == files
    moeas.main([*quick, "--only", "lattice", "--algorithm", "SPEA2", "--again"])
    before, after = (
        json.loads(text)["problems"]["k, GLM"]["rows"]
        for text in (files["moeas_lattice.json"], (tmp_path / "moeas_lattice.json").read_bytes())
    )
    assert list(after) == list(before)
    for name in after:
        before[name].pop("seconds")
        after[name].pop("seconds")
    assert after == before
    with pytest.raises(SystemExit):
        moeas.main([*quick, "--problem", "k, GLM, CM"])
    assert "--problem must be one of k, GLM; " in capsys.readouterr().err


SAMPLES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, np.inf]), min_size=1, max_size=12)


@given(SAMPLES, SAMPLES)
def test_the_effect_size_is_that_of_all_pairs(ours, theirs):
    wins = sum((a > b) + 0.5 * (a == b) for a, b in product(ours, theirs))
    assert effect(ours, theirs) == pytest.approx(wins / (len(ours) * len(theirs)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_corrected_p_values_reject_what_the_procedure_of_holm_rejects(p):
    """Reject step by step until one p-value is too large.

    The least is compared with level / n, the next with level / (n - 1), and so on.
    """
    corrected = holm(p)
    for level in (0.01, 0.05, 0.3, 0.9):
        rejected = set()
        for step, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
            if p[i] * (len(p) - step) > level:
                break
            rejected.add(i)
        assert rejected == set(np.flatnonzero(corrected <= level))


def test_intervals_of_few_values_and_medians():
    assert interval([3, 1, 2]) == (1, 3)
    assert interval([7.0]) == (7, 7)
    assert (median([3, 1, np.inf]), median([4, 1, 2, 3])) == (3, 2)
    assert (interval(range(6)), interval(range(15)), interval(range(31))) == ((0, 5), (3, 11), (9, 21))


def test_p_values():
    assert p_value([1.0, 1.0], [1.0]) == 1
    assert p_value(range(20), range(20, 40)) < 1e-6
    assert p_value([0.5] * 10, [0.5] * 9 + [1.0]) > 0.1


def test_marks_tell_better_from_worse():
    ours = np.random.default_rng(1).random(31)
    others = (ours, ours + 2, ours - 2, ours + 0.01)
    assert marked([(own, ours) for own in others]) == [
        (0.5, "="), (1.0, "+"), (0.0, "−"), (pytest.approx(0.5, abs=0.1), "="),
    ]  # fmt: skip
    assert marked([([3.0] * 3, [1.0, 2.0, 2.5])]) == [(1.0, "")]


@pytest.fixture(scope="module")
def problems():
    """Make a small problem of every part."""
    return {name: next(iter(own.quick.values()))() for name, own in study.PARTS.items()}


def parts_of(algorithm):
    """Return the operator types of an algorithm, including operators of an operator."""
    mating = getattr(algorithm, "mating", None)
    found = [
        getattr(getattr(algorithm, "initialization", None), "sampling", None),
        getattr(algorithm, "_given", {}).get("neighborhood"),
        *(getattr(mating, name, None) for name in ("selection", "crossover", "mutation", "repair")),
    ]
    return {type(one) for one in found}


def test_every_operator_of_the_package_is_studied(problems):
    settings = [(problems[part], make) for part, own in study.PARTS.items() for _, _, make in own.settings]
    made = {operator for problem, make in settings for operator in parts_of(make(problem))}
    assert {getattr(operators, name) for name in operators.__all__} - {Neighborhood} <= made


@pytest.mark.parametrize("part", study.PARTS)
def test_one_thing_is_changed(part, problems):
    """Compare the settings of a group with the first of the part."""
    _, *others = study.PARTS[part].settings
    assert len({(group, name) for group, name, _ in others}) == len(others)
    ours = study.PARTS[part].settings[0][2](problems[part])
    for group, name, make in others:
        if group in ("crossover", "mutation", "selection"):
            algorithm = make(problems[part])
            for kept in {"crossover", "mutation", "selection"} - {group}:
                own, before = (getattr(one.mating, kept) for one in (algorithm, ours))
                assert (type(own), own.name) == (type(before), before.name), name


def test_rates_of_pbgea_are_told_in_variables(problems):
    own = study.pbgea(problems["pbgea"], mutation=2.0, crossover=0.4)
    assert own.mating.mutation.prob_var.value == 2 / 8
    assert own.mating.crossover.prob.value == 0.4


@pytest.mark.slow
def test_quick_runs(monkeypatch, capsys):
    monkeypatch.setattr(record, "RESULTS", record.RESULTS)
    study.main(["--quick", "--seeds", "1"])
    assert "operators-quick" in str(record.RESULTS)
    found = json.loads((record.RESULTS / "operators.json").read_text(encoding="utf-8"))
    assert list(found) == list(study.PARTS)
    for name, part in study.PARTS.items():
        (problem,) = found[name]["problems"].values()
        assert [row["name"] for row in problem["rows"]] == [own for _, own, _ in part.settings]
        for row in problem["rows"]:
            # Points seen at one budget are also seen at the next.
            assert row["RR"]["50"][0] <= row["RR"]["100"][0] <= 1
            assert row["HV"]["50"][0] <= row["HV"]["100"][0] <= 1 + 1e-9
    assert "| ours " in capsys.readouterr().out


def test_the_stored_page_is_that_of_the_stored_figures():
    found = json.loads((record.RESULTS / "operators.json").read_text(encoding="utf-8"))
    assert list(found) == [part for part in study.PARTS if part in found]
    assert {one["seeds"] for own in found.values() for one in own["problems"].values()} == {study.SEEDS}
    assert (record.RESULTS / "operators.md").read_text(encoding="utf-8") == study.page(found) + "\n"
