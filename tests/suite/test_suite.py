"""The suite: agreement of two programs, pymoo problems, and ranked algorithms."""

import copy
import json
import pickle
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from processes import python
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.operators.crossover.pntx import TwoPointCrossover
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.bitflip import BitflipMutation
from pymoo.operators.mutation.pm import PM
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import BinaryRandomSampling, IntegerRandomSampling
from pymoo.optimize import minimize
from refusals import check_refusals, refusals

from benchmarks.suite import make as make_suite
from benchmarks.suite.make import support
from benchmarks.suite.package import in_whole_numbers, of_package
from pymoo_anon import suite
from pymoo_anon.suite.verify import Space, check_folder

ROOM = Path(suite.__file__).parent
DATA = ROOM / "data"


#: Nothing changes a problem.
load = cache(suite.load)
PATIENTS = load("patients-k-GLM-v1")


@pytest.mark.parametrize("name", suite.names())
def test_problems_know_their_fronts_and_count_as_the_package_does(name):
    """Compare verifier and engine at random points and members of the front."""
    problem = load(name)
    instance, engine, rng = problem.instance, of_package(problem.instance), np.random.default_rng(3)
    front, few = problem.pareto_front(), np.linspace(0, len(problem.pareto_front()) - 1, 3).astype(int)
    drawn = engine.sample(4, rng) if instance.has_taxonomies else points(instance.upper, 2, rng)
    X = np.vstack([problem.pareto_set()[few], drawn]).astype(np.int64)
    F, G = problem.evaluate(X, return_values_of=["F", "G"])
    assert np.array_equal(F[:3], front[few])
    assert (G[:3] <= 0).all()
    if instance.has_taxonomies:
        G, strays = G[:, :-1], G[:, -1]
        assert (strays == 0).all()
        assert instance.n_points == engine.n_strings
    theirs = engine.evaluate(X.astype(engine.vtype), return_values_of=["F", "G"])
    assert np.array_equal(in_whole_numbers(instance, engine, theirs[0]), F)
    assert np.array_equal(theirs[1] <= 0, G <= 0)
    assert problem.name() == name
    assert np.array_equal(problem.ideal_point(), front.min(axis=0))
    assert np.array_equal(problem.nadir_point(), front.max(axis=0))
    assert (problem.reference_point() > problem.nadir_point()).all()
    assert problem.hypervolume_share(front) == problem.found_share(front) == 1
    for nothing in (front[:0], [], None):
        assert problem.hypervolume_share(nothing) == problem.found_share(nothing) == 0
    assert problem.hypervolume_share(front[1:]) < 1
    assert problem.found_share(front[1:]) == (len(front) - 1) / len(front)
    assert 0 < problem.budgets[0] < problem.budgets[1]
    assert 0 <= problem.features["unsupported"] <= 1
    assert len(problem.features["plateaus"]) == len(problem.features["correlation"]) == problem.n_obj


def test_the_suite_is_as_wide_as_it_says():
    problems = [load(name) for name in suite.names()]
    levels = [problem.instance for problem in problems if not problem.instance.bits]
    assert 20 <= len(problems) <= 40
    assert {problem.n_obj for problem in problems} == {2, 3, 4, 5}
    assert min(own.n_points for own in levels) < 10**3
    assert max(own.n_points for own in levels) > 10**8
    assert len(levels) < len(problems)
    trees = [problem.instance for problem in problems if problem.instance.has_taxonomies]
    assert min(own.n_points for own in trees) < 10**5 < 10**11 < max(own.n_points for own in trees)
    assert {problem.instance.rule for problem in problems} == {"at most", "violating"}
    assert sum(path.stat().st_size for path in DATA.rglob("*.*")) < 5 * 2**20


def test_every_file_has_a_name():
    for folder in ("instances/json", "results", "certificates"):
        assert len(list((DATA / folder).iterdir())) == len(suite.names())


def test_points_may_be_whole_floats():
    bits = suite.load("clinic-bits-k-GLM-v1")
    assert bits.vtype is bool
    for own in (PATIENTS, bits):
        assert np.array_equal(own.evaluate(own.pareto_set().astype(float), return_values_of=["F"]), own.pareto_front())


def test_problems_survive_a_trip_and_nobody_changes_a_front():
    problem = suite.load("patients-k-GLM-v1")
    for other in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem)):
        assert np.array_equal(other.pareto_front(), problem.pareto_front())
        assert other.name() == problem.name()
    problem.pareto_front()[:] = 0
    assert problem.hypervolume_share(suite.load("patients-k-GLM-v1").pareto_front()) == 1


@refusals(__file__)
def test_what_is_refused(section):
    check_refusals(section, globals())


def test_algorithms_that_know_only_pymoo_run():
    problem = suite.load("patients-k-l-GLM-v1")
    whole = {"vtype": float, "repair": RoundingRepair()}
    nsga2 = NSGA2(pop_size=20, sampling=IntegerRandomSampling(), crossover=SBX(**whole), mutation=PM(**whole))
    res = minimize(problem, nsga2, ("n_eval", 100), seed=1)
    assert 0 < problem.hypervolume_share(res.F) <= 1
    bits = suite.load("clinic-bits-k-GLM-s20-v1")
    flips = {"crossover": TwoPointCrossover(), "mutation": BitflipMutation()}
    res = minimize(bits, NSGA2(pop_size=20, sampling=BinaryRandomSampling(), **flips), ("n_eval", 60), seed=1)
    assert res.F.shape[1] == 2


def test_the_place_of_an_algorithm():
    problem = suite.load("patients-k-GLM-v1")
    front = problem.pareto_front()
    stored = suite.baselines().query("instance == 'patients-k-GLM-v1'").groupby("algorithm")["hypervolume"].median()
    table = suite.standings(problem, "mine", [front, front[:3], front[1:]])
    assert set(table["algorithm"]) == {"NSGA-II", "PBG-EA", "random search", "mine"}
    own = table[table["algorithm"] == "mine"]
    assert own["hypervolume"].item() == problem.hypervolume_share(front[1:])
    assert own["found"].item() == problem.found_share(front[1:])
    assert own["runs"].item() == 3
    assert own.index[0] == 1 + (stored > own["hypervolume"].item()).sum()
    assert table["hypervolume"].is_monotonic_decreasing
    assert suite.standings(problem, "mine", [None]).index[-1] == 4
    tied = suite.standings(problem, "mine", [front] * 2)
    assert (tied.index[tied["hypervolume"] == 1] == 1).all()


def test_equal_ones_share_a_place(monkeypatch):
    problem = suite.load("patients-k-GLM-v1")
    front = problem.pareto_front()
    good, bad = problem.hypervolume_share(front[1:]), problem.hypervolume_share(front[2:])
    stored = pd.DataFrame({"instance": problem.name(), "algorithm": ["a", "a", "b"], "hypervolume": [good, good, bad]})
    monkeypatch.setattr("pymoo_anon.suite.problem.baselines", lambda: stored.assign(found=0.5))
    table = suite.standings(problem, "mine", [front[1:]])
    assert table.index.tolist() == [1, 1, 3]
    assert table["algorithm"].tolist() == ["mine", "a", "b"]


def test_every_instance_has_stored_results():
    stored = suite.baselines()
    runs = stored.groupby(["instance", "algorithm"])["seed"].nunique()
    assert set(stored["instance"]) == set(suite.names())
    assert len(runs) == 3 * len(suite.names())
    assert (runs == len(make_suite.SEEDS)).all()
    budgets = stored.groupby("instance")["budget"].unique()
    assert all(budgets[name].tolist() == [load(name).budgets[0]] for name in suite.names())
    assert stored[["hypervolume", "found"]].apply(pd.Series.between, left=0, right=1).all(axis=None)


def test_stored_results_are_found_again_and_those_of_others_stay(tmp_path, monkeypatch):
    name = "noise-k-GLM-v1"
    before = (DATA / "baselines.csv").read_text(encoding="utf-8").splitlines()
    others = [row for row in before if not row.startswith(f"{name},")]
    (tmp_path / "baselines.csv").write_text("\n".join(others) + "\n", encoding="utf-8")
    monkeypatch.setattr(make_suite, "DATA", tmp_path)
    make_suite.main(["--baselines", name])
    assert (tmp_path / "baselines.csv").read_text(encoding="utf-8").splitlines() == before


@pytest.mark.parametrize(
    "name",
    [
        "patients-k-l-GLM-v1",
        "noise-k-GLM-v1",
        "trips-k-classes-v1",
        "patients-k-GLM-CM-k5-l3-x80-v1",
        pytest.param("pharmacy-trees-k-l-GLM-CM-s20-v1", marks=pytest.mark.slow),
    ],
)
def test_proofs_give_the_stored_fronts(name):
    """Include `noise`, where many equal losses differ in their last bit."""
    problem = suite.load(name)
    X, n_evaluated, proof = make_suite.prove(of_package(problem.instance))
    made = make_suite.exact_front(problem.instance, X)[:, problem.n_var :] * problem.instance.signs
    assert np.array_equal(made, problem.pareto_front())
    assert proof == problem.certificate["proof"]
    assert 0 < n_evaluated <= problem.instance.n_points


def test_the_types_of_members_are_those_of_the_convex_hull():
    assert support(np.array([[0, 10], [1, 8], [2, 6], [3, 5], [4, 0]])) == ["se", "us", "us", "us", "se"]
    assert support(np.array([[0, 4], [1, 3], [2, 2], [4, 1]])) == ["se", "sne", "se", "se"]
    corner = np.array([[0, 6, 6], [6, 0, 6], [6, 6, 0], [2, 2, 2], [5, 1, 5], [4, 4, 1]])
    assert support(corner) == ["se", "se", "se", "se", "us", "sne"]
    flat = np.array([[0, 2, 2], [2, 0, 2], [2, 2, 0], [1, 1, 2]])
    assert support(flat) == ["se", "se", "se", "sne"]


def test_nothing_of_the_package_is_part_of_an_instance():
    """Fix the meaning of an instance, while the package may change."""
    known = {"pymoo_anon._messages", "pymoo_anon.suite", "pymoo_anon.typing"}
    for path in ROOM.glob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        own = [line.split()[1] for line in lines if line.lstrip().startswith(("from pymoo_anon", "import pymoo_anon"))]
        assert all(any(name.startswith(one) for one in known) for name in own), path.name
    assert "pymoo" not in (ROOM / "verify.py").read_text(encoding="utf-8").replace("PymooAnon26", "")


def test_the_verifier_runs_alone(tmp_path):
    """Run it elsewhere, without this package on the path."""
    copied = tmp_path / "verify.py"
    copied.write_bytes((ROOM / "verify.py").read_bytes())
    code = f"import sys; sys.modules['pymoo_anon'] = sys.modules['pymoo'] = None; sys.argv[1:] = [{str(DATA)!r}, \
'patients-k-GLM-v1']; import runpy; runpy.run_path({str(copied)!r}, run_name='__main__')"
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "patients-k-GLM-v1: holds; 14 members and all 960 points recounted\nno faults\n"


@pytest.mark.slow
def test_all_members_and_certificates_hold(capsys):
    """Recount small instances only. All take minutes, with `python verify.py data`."""
    assert check_folder([str(DATA), "--most", "1000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(suite.names()) + 1
    assert sum("and all" in line for line in lines) >= 4


def test_the_page_runs_and_tells_every_instance():
    page = (ROOM / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.M)
    exec(compile(code, "README.md", "exec"), {})
    for name in suite.names():
        problem = load(name)
        (row,) = re.findall(rf"^\| `{name}` \| (.*) \|$", page, re.M)
        size = problem.instance.n_points
        points, objectives, members, evaluated, unsupported, budget = row.split(" | ")
        assert points in (f"{size:,}", f"2^{problem.n_var}")
        assert objectives == ", ".join(problem.instance.labels)
        assert members == str(len(problem.pareto_front()))
        assert evaluated.removesuffix(" (all)") == f"{problem.certificate['evaluated']:,}"
        assert unsupported == f"{problem.features['unsupported']:.0%}"
        assert budget == f"{problem.budgets[0]:,}"
    assert (DATA / "citation.bib").read_text(encoding="utf-8") in page
    assert all(f"| {measure} | " in page for measure in MEASURES)


def test_features_are_those_of_the_front():
    """Compute the share of unsupported members from the types in MOrepo's file."""
    for name in suite.names():
        problem = load(name)
        result = json.loads((DATA / "results" / f"PymooAnon26_{name}_result.json").read_text(encoding="utf-8"))
        types = [point["type"] for point in result["points"]]
        assert problem.features["unsupported"] == round(types.count("us") / len(types), 4)
        assert {"version", "contributionName", "objectiveType", "valid", "points"} <= set(result)
        assert result["contributionName"] == json.loads((DATA / "meta.json").read_text())["contributionName"]


MEASURES = ("k", "l", "S_k", "S_l", "classes", "GLM", "CM", "DM")


def random_nodes(rng, first, last):
    """Build a tree over two or more values, perhaps with subtrees."""
    nodes = [[first, last]]
    middle = int(rng.integers(first, last))
    for begin, end in ((first, middle), (middle + 1, last)):
        if begin < end and rng.random() < 0.7:
            nodes += random_nodes(rng, begin, end)
    return nodes


def random_instance(rng):
    """Build a small instance with all measures and two constraints."""
    bits = rng.random() < 0.4
    sizes = rng.integers(1, 5, 3) if bits else rng.integers(1, 9, 3)
    sizes[0] = max(sizes[0], 2)
    rows = np.unique(rng.integers(0, [*sizes, 3, 2], (rng.integers(1, 40), 5)), axis=0)
    attributes = [{"name": f"a{j}", "values": int(size)} for j, size in enumerate(sizes)]
    for own in [] if bits else attributes:
        n = own["values"]
        own["levels"] = [list(range(n)), [value // 2 for value in range(n)], [0] * n]
    for own in attributes if bits else []:
        if own["values"] > 1 and rng.random() < 0.5:
            own["nodes"] = random_nodes(rng, 0, own["values"] - 1)
    read = {"l": "s", "S_l": "s", "CM": "t"}
    counts = rng.integers(1, 5, len(rows))
    n, rule = int(counts.sum()), str(rng.choice(["at most", "below", "violating"]))
    limits = [1, min(4, n), n // 2 + 1, n] if rule == "below" else [0, min(1, n - 1), n // 2, n - 1]
    return {
        "name": "random",
        "about": "",
        "space": "bits" if bits else "levels",
        "attributes": attributes,
        "objectives": [{"measure": own, "column": read[own]} if own in read else {"measure": own} for own in MEASURES],
        "constraints": [
            {"measure": "k", "at least": 3},
            {"measure": "l", "column": "s", "at least": 2},
            {"measure": "l", "column": "s", "at most": 2},
        ],
        "suppression": {"rule": rule, "limit": int(rng.choice(limits))},
        "unit": 840,
        "budgets": [10, 40],
        "rows": {f"a{j}": rows[:, j].tolist() for j in range(3)},
        "columns": {"s": rows[:, 3].tolist(), "t": rows[:, 4].tolist()},
        "counts": counts.tolist(),
    }


def is_cut(told, x):
    """Check by definition that each group is one value or a node."""
    bits = iter(x)
    for own in told["attributes"]:
        groups = [[0]]
        for value in range(1, own["values"]):
            groups += [[value]] if next(bits) else []
            groups[-1] += [value] if groups[-1] != [value] else []
        nodes = [list(range(first, last + 1)) for first, last in own.get("nodes", [])]
        if "nodes" in own and not all(len(group) == 1 or group in nodes for group in groups):
            return False
    return True


def points(upper, n, rng):
    return np.vstack([0 * upper, upper, rng.integers(0, upper + 1, (n, len(upper)))])


def test_the_suite_counts_as_the_package_does():
    """Compare random instances under any suppression, with every measure and constraint."""
    rng = np.random.default_rng(1)
    all_lost = invalid = 0
    for _ in range(150):
        made = random_instance(rng)
        instance = suite.Instance(made)
        engine = of_package(instance)
        X = points(instance.upper, 4, rng)
        values, excess = instance.evaluate(X)
        assert excess.shape == (len(X), instance.n_constraints)
        valid = np.array([not instance.has_taxonomies or is_cut(made, x) for x in X.tolist()])
        invalid += np.count_nonzero(~valid)
        if instance.has_taxonomies:
            # Strings that are no cuts break the last constraint.
            assert np.array_equal(excess[:, -1] <= 0, valid)
            excess = excess[:, :-1]
        for x in X[~valid].tolist():
            with pytest.raises(ValueError, match="is no point: no cut of the taxonomy of a"):
                instance.at(x)
        for x, own, over in zip(X[valid].tolist(), values[valid].tolist(), excess[valid].tolist(), strict=True):
            assert instance.at(x) == (own, over)
        F, G = engine.evaluate(X[valid].astype(engine.vtype), return_values_of=["F", "G"])
        assert np.array_equal(in_whole_numbers(instance, engine, F), values[valid] * instance.signs)
        assert np.array_equal(G <= 0, excess[valid] <= 0)
        all_lost += np.count_nonzero(values[valid, MEASURES.index("GLM")] == 3 * 840 * instance.n_persons)
    assert all_lost > 10
    assert invalid > 10


def test_more_combinations_than_a_number_holds_are_counted():
    """Use nine attributes of 256 values, beyond 64 bits."""
    rng = np.random.default_rng(4)
    made = random_instance(rng)
    levels = [list(range(256)), [value // 128 for value in range(256)], [0] * 256]
    made.update(
        space="levels",
        attributes=[{"name": f"a{j}", "values": 256, "levels": levels} for j in range(9)],
        rows={f"a{j}": rng.choice([0, 42, 255], 500).tolist() for j in range(9)},
        columns={name: rng.integers(0, 3, 500).tolist() for name in "st"},
        counts=[1] * 500,
        unit=255,
        suppression={"rule": "at most", "limit": 0},
    )
    instance = suite.Instance(made)
    engine = of_package(instance)
    X = np.array([[0] * 9, [0, 1, 1, 1, 1, 1, 1, 1, 1], [1] * 9])
    F = engine.evaluate(X, return_values_of=["F"])
    assert np.array_equal(in_whole_numbers(instance, engine, F), instance.evaluate(X)[0] * instance.signs)


def test_a_walk_of_the_verifier_meets_every_point():
    rng = np.random.default_rng(2)
    for _ in range(10):
        space = Space(random_instance(rng))
        upper = suite.Instance(space.told).upper
        every = np.stack(np.meshgrid(*[np.arange(top + 1) for top in upper], indexing="ij"), -1).reshape(-1, len(upper))
        cuts = [x for x in every.tolist() if not space.bits or is_cut(space.told, x)]
        assert len(cuts) == space.n_points
        assert sorted(map(str, space.walk())) == sorted(str(space.at(x)) for x in cuts)


def test_strings_that_are_no_cuts_break_a_constraint():
    """Use nine drugs with the nodes 0–3, 4–8 and 6–8."""
    problem = suite.load("pharmacy-trees-k-l-GLM-CM-s20-v1")
    strings = np.zeros((4, problem.n_var))
    strings[1, 3] = strings[2, 4] = strings[3, [0, 5]] = 1
    assert problem.n_ieq_constr == 1
    assert problem.evaluate(strings, return_values_of=["G"]).tolist() == [[0], [0], [2], [1]]
