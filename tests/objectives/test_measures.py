"""Measures: names, recount, the guide, values worked by hand, and scipy."""

import datetime
import inspect
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from command import OF_OWN_TABLE, command, run, write_project
from errors import refused
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import level_columns, one_class_each, raw

from pymoo_anon import objectives
from pymoo_anon.engine.compiled import Loop
from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.problems.arguments import safe_repr, short_name
from pymoo_anon.publishing import RecountError, read_evidence, release, verify
from pymoo_anon.study.names import MEASURES
from pymoo_anon.study.tables import measures_by_name
from pymoo_anon.table import Hierarchy, Microdata
from pymoo_anon.testing import check_objective

KINDS = [getattr(objectives, name) for name in objectives.__all__]
KINDS = [kind for kind in KINDS if isinstance(kind, type) and issubclass(kind, Objective)]
KINDS = [kind for kind in KINDS if kind not in (Objective, ColumnObjective)]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """Restore the registry after a test."""
    monkeypatch.setattr(Objective, "registered", dict(Objective.registered))
    return Objective.registered


def of_the_package():
    return {short: kind for short, kind in measures_by_name().items() if kind.__module__.startswith("pymoo_anon.")}


def test_names_that_help_tells_are_the_registered_ones():
    assert sorted(of_the_package(), key=str.casefold) == MEASURES
    assert all(kind.short == short for short, kind in of_the_package().items())
    # The others need arguments that the command line cannot express.
    assert {kind.__name__ for kind in KINDS} - {kind.__name__ for kind in of_the_package().values()} == {
        "DeltaPresence",
        "KMap",
        "LeastPresence",
        "RecursiveCLDiversity",
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_measure_of_the_package_is_recounted_by_its_own_class(kind):
    assert vars(kind).keys() & {"recount", "_recount"}
    assert kind.role in (None, "sensitive", "label", "person")
    assert (
        kind.role == "sensitive"
        or not issubclass(kind, ColumnObjective)
        or kind in (ClassificationMetric, HouseholdRisk)
    )


def row_of(kind):
    """Return the row of the guide's table for a class.

    It holds call, name, short name, first sentence, direction and bounds.
    """
    parameters = inspect.signature(kind).parameters.values()
    made = kind if isinstance(kind.name, str) else kind(*("column" for one in parameters if one.default is one.empty))
    sentence = kind.__doc__.partition("\n")[0].partition(": ")[2]
    # The source stands in the docstring alone.
    what = re.sub(r"^(the|a) |( \([^()]*\d{4}[^()]*\))?\.$", "", sentence).replace("|", r"\|")
    call, short = ", ".join(one.name for one in parameters), f"`{kind.short}`" if kind.short else ""
    better, bounds = "higher" if kind.maximize else "lower", "no" if kind.bounding is None else "yes"
    return f"| `{kind.__name__}({call})` | {made.name} | {short} | {what} | {better} | {bounds} |"


@pytest.mark.parametrize("room", ["privacy", "loss"])
def test_the_guide_s_table_is_what_the_classes_say(room):
    page = Path(__file__).parents[2] / "examples" / "guide" / "extending.md"
    _, _, section = page.read_text(encoding="utf-8").partition(f"In `pymoo_anon.objectives.{room}`:\n\n")
    written = section.partition("\n\n")[0].splitlines()[2:]
    rows = [row_of(kind) for kind in KINDS if kind.__module__.startswith(f"pymoo_anon.objectives.{room}.")]
    assert sorted(written) == sorted(rows), "\n".join(rows)
    assert len(rows) > 8


def test_the_front_page_counts_the_measures():
    page = Path(__file__).parents[2] / "README.md"
    assert f"another of {len(KINDS)} measures" in page.read_text(encoding="utf-8")


def test_a_cell_that_is_rerun_replaces_its_measure():
    def cell(factor):
        class Own(GeneralLossMetric):
            short = "own"

            def evaluate(self, classes):
                return factor * super().evaluate(classes)

        return Own

    first, second = cell(1), cell(2)
    assert first is not second
    assert Objective.registered["own"] is second


def test_a_class_without_a_short_name_of_its_own_is_not_registered(registered):
    before = dict(registered)
    type("Own", (KAnonymity,), {})
    assert registered == before


def test_a_class_that_is_made_from_another_has_no_short_name_of_it():
    made = type("Own", (KAnonymity,), {"name": "own k"})(known=["zip"])
    assert (made.short, short_name(made)) == (None, "own-k")


def test_evidence_shows_no_attribute_that_a_measure_does_not_name():
    made = type("Own", (RecordsAtRisk,), {"shown": ("risk",)})(0.2)
    made.secret = ["4711"]
    assert (safe_repr(made), safe_repr(RecordsAtRisk(0.2))) == ("Own(risk=0.2)", "RecordsAtRisk(risk=0.2, enough=5)")


def test_losses_say_that_they_are():
    assert {kind.__name__ for kind in KINDS if kind.is_loss} == {*objectives.loss.__all__} - {"attribute_losses"}
    assert type("Own", (GeneralLossMetric,), {}).is_loss


def double(self, classes):
    return 2 * KAnonymity().evaluate(classes)


def of_rows(self, recount):
    return 2.0


@pytest.mark.parametrize(
    ("base", "body", "known"),
    [
        # Overrides of descriptions change no value.
        (KAnonymity, {}, True),
        (KAnonymity, {"name": "mine", "short": "mine", "words": "my own", "step": 2.0}, True),
        (TCloseness, {"check": lambda self, table: None, "__repr__": lambda self: "mine"}, True),
        # Overrides of computations do.
        (KAnonymity, {"evaluate": double}, False),
        (KAnonymity, {"evaluate_one": double}, False),
        (TCloseness, {"of_classes": double}, False),
        (BasicBetaLikeness, {"_enhanced": True}, False),
        (KAnonymity, {"maximize": False}, False),
        (Objective, {"name": "mine", "evaluate": double}, False),
        # A class with its own recount is known again.
        (KAnonymity, {"evaluate": double, "recount": of_rows}, True),
        (Objective, {"name": "mine", "evaluate_one": double, "recount": of_rows}, True),
    ],
)
def test_a_formula_counts_again_what_it_is_the_formula_of(base, body, known):
    own = type("Own", (base,), body)
    arguments = ["s"] if issubclass(base, ColumnObjective) else []
    assert own(*arguments).recountable is known
    # Derived classes inherit this.
    assert type("Further", (own,), {})(*arguments).recountable is known
    assert type("Changed", (own,), {"evaluate": double})(*arguments).recountable is False


def test_a_recount_runs_nothing_that_a_search_does(monkeypatch):
    """Recount every measure with evaluations and compiled loops broken."""
    frame = pd.DataFrame({"q": [1, 1, 2, 2, 3, 3, 4], "s": [*"abcabca"], "label": [*"yynnyyn"]})
    hierarchy = Hierarchy([[1, 2, 3, 4], ["1-2", "1-2", "3", "4"], ["*"] * 4])
    table = Microdata.from_frame(frame, {"q": hierarchy}, sensitive="s", label="label")
    registers = {kind: [table] for kind in (DeltaPresence, KMap, LeastPresence)}
    given = registers | {RecursiveCLDiversity: ["s", 2], ClassificationMetric: ["label"]}
    measures = [kind(*given.get(kind, ["s"] if issubclass(kind, ColumnObjective) else [])) for kind in KINDS]
    measures += [TCloseness("s", Hierarchy.flat("abc")), TCloseness("s", [*"abc"]), DeltaDisclosure("s", strict=True)]
    problem = LatticeProblem(table, measures, suppression=1)
    x = np.array([1])
    made = release(frame, problem, x, suppressed="drop").frame
    promised = problem.natural(problem.compute(x[np.newaxis]))[0]
    about = {"original": frame, "hierarchies": {"q": hierarchy}, "generalization": problem.decode(x)}

    def broken(*arguments):
        raise AssertionError

    loops = 0
    for name, module in list(sys.modules.items()):
        if name.startswith("pymoo_anon.objectives"):
            for own, found in list(vars(module).items()):
                if isinstance(found, Loop):
                    monkeypatch.setattr(module, own, broken)
                    loops += 1
                elif isinstance(found, type) and issubclass(found, Objective):
                    for method in {"evaluate", "evaluate_one", "of_classes"} & set(vars(found)):
                        monkeypatch.setattr(found, method, broken)
    assert loops > 20
    with pytest.raises(AssertionError):
        problem.compute(x[np.newaxis])
    again = verify(made, ["q"], measures, **about).recounted.tolist()
    np.testing.assert_allclose(np.array(again, dtype=float), promised, rtol=1e-12)
    assert len(again) == len(KINDS) + 3


class Largest(Objective):
    """The largest kept class, recounted by a class attribute.

    The attribute makes the recount right or wrong.
    """

    name, maximize, whole = "largest", False, True
    counted_as = staticmethod(lambda recount: recount.kept.max())

    def evaluate_one(self, classes):
        return classes.sizes[classes.kept].max(initial=0)

    def recount(self, recount):
        return self.counted_as(recount)


def test_ones_own_recount_is_claimed_and_believed(monkeypatch):
    frame = pd.DataFrame({"q": [1, 1, 2, 2, 2, 3]})
    problem = LatticeProblem(Microdata.from_frame(frame, {"q": Hierarchy.flat([1, 2, 3])}), [Largest(), KAnonymity()])
    claims = release(frame, problem, [0], anyway="it is only a test").claims
    assert claims.iloc[0].tolist() == ["largest", 3, 3, True]
    monkeypatch.setattr(Largest, "counted_as", staticmethod(lambda recount: recount.kept.max() + 1))
    with pytest.raises(RecountError, match=r"counted again, largest is 4 where 3 was promised$"):
        release(frame, problem, [0], anyway="it is only a test")
    monkeypatch.delattr(Largest, "recount")
    claims = release(frame, problem, [0], anyway="it is only a test").claims
    assert claims.iloc[0].tolist() == ["largest", 3, None, None]
    assert claims.iloc[1].tolist() == ["k", 1, 1, True]


@pytest.fixture
def contributed(monkeypatch):
    """Load the class of the contributors' page as a module for pickling."""
    page = (Path(__file__).parents[2] / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block, *_ = re.findall(r"^ +```python\n(.*?)^ +```", page, re.DOTALL | re.MULTILINE)
    module = ModuleType("contributed")
    monkeypatch.setitem(sys.modules, "contributed", module)
    exec(compile(textwrap.dedent(block), "contributed.py", "exec"), vars(module))
    return module.SmallClasses


def test_what_the_page_for_contributors_asks_for_suffices(contributed, own_table):
    """Search, release, recount, report and verify with the class alone."""
    check_objective(contributed())
    assert row_of(contributed).startswith("| `SmallClasses()` | small classes | `small-classes` | number of rows in ")
    roles = {**OF_OWN_TABLE, "diagnosis": "sensitive", "paid": "drop", "note": "drop"}
    write_project(roles, search={"objectives": ["k", "small-classes", "GLM"], "output": "front"})

    assert "small classes" in run("search", "mine.toml", "--suppression", "4")
    assert "small classes" in Path("front/front.csv").read_text(encoding="utf-8").partition("\n")[0]
    run("pick", "mine.toml", "--require", "small-classes<=30", "--require", "k>=2", "--least", "GLM")
    run("release", "mine.toml")
    (evidence,) = Path().glob("*.evidence.json")
    claims = {claim["measure"]: claim for claim in read_evidence(evidence)["claims"]}
    own = claims["small classes"]
    assert (own["recounted"], own["holds"]) == (own["promised"], True)
    assert type(own["recounted"]) is int
    assert own["promised"] > 0
    assert ": holds.\n" in run("verify", "mine.toml")
    run("report", "mine.toml")
    (report,) = Path().glob("*.html")
    assert "rows in small classes" in report.read_text(encoding="utf-8").lower()

    released = evidence.name.removesuffix(".evidence.json")
    asked = ["verify", released, "--quasi-identifier", "zip", "--quasi-identifier", "sex", "--require"]
    count = own["promised"]
    assert re.search(rf"small classes +{count} +<= {count} +yes", run(*asked, f"small-classes<={count}"))
    done = command(*asked, f"small-classes<={count - 1}")
    assert done.exit_code == 1, done.output
    assert re.search(rf"small classes +{count} +<= {count - 1} +NO", done.stdout)


# Distances, against programs without any notion of anonymization


def earth_moved(p, q, distances):
    """Solve the transport problem itself as a linear program."""
    m = len(p)
    rows = [np.kron(np.eye(m)[i], np.ones(m)) for i in range(m)] + [np.kron(np.ones(m), np.eye(m)[i]) for i in range(m)]
    return linprog(np.ravel(distances), A_eq=np.array(rows), b_eq=np.concatenate([p, q])).fun


SEVERAL_CLASSES = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=8), min_size=1, max_size=4)


def distributions(values_of_class, domain):
    together = [value for values in values_of_class for value in values]
    q = np.array([together.count(value) for value in domain]) / len(together)
    return [np.array([values.count(value) for value in domain]) / len(values) for values in values_of_class], q


@given(SEVERAL_CLASSES, level_columns(list(range(6)), rooted=True))
def test_the_hierarchical_distance_is_a_transport(values_of_class, columns):
    ps, q = distributions(values_of_class, range(6))
    levels = np.array([pd.factorize(pd.Series(column, dtype=object))[0] for column in columns])
    common = [[np.argmax(levels[:, a] == levels[:, b]) for b in range(6)] for a in range(6)]
    expected = max(earth_moved(p, q, np.array(common) / (len(levels) - 1)) for p in ps)
    classes = raw(one_class_each(values_of_class))
    found = TCloseness("s", Hierarchy(columns)).evaluate(classes)
    np.testing.assert_allclose(found, [expected], rtol=1e-7, atol=1e-9)


def test_the_order_is_that_of_the_values():
    """Order values as numbers, whatever the order of the hierarchy, and skip those that nobody has."""
    frame = pd.DataFrame({"q": [40, 40, 40, 0, 5]})
    for domain in ([0, 5, 40], [0, 40, 5], [40, 5, 0], [100, 40, 5, 7, 0]):
        classes = raw(Microdata.from_frame(frame, {"q": Hierarchy.flat(domain)}))
        # From 0: 3/5 by two steps and 1/5 by one, of two.
        np.testing.assert_allclose(TCloseness("q", "ordered").evaluate(classes), [0.7], rtol=1e-12)


def test_a_c_of_many_digits_holds_billions_of_rows():
    """Multiply the rest by c in millionths, beyond 64 bits."""
    counts = np.array([10**9, 10**9])
    table = Microdata.from_codes(
        {"q": Hierarchy.flat([0])}, [np.zeros(2, int)], counts, {"s": np.arange(2)}, {"s": ["a", "b"]}, ["s"]
    )
    classes = raw(table)
    assert [RecursiveCLDiversity("s", c).evaluate(classes)[0] for c in (1, 1.5, 92233.720369, 1e-9)] == [1, 2, 2, 1]


@pytest.mark.parametrize("weights", [[1e30, 1], [1, 1e100]])
def test_a_weight_beyond_whole_numbers_costs_nothing_where_nothing_is_lost(weights):
    table = Microdata.from_frame(pd.DataFrame({"p": [0, 1], "q": [0, 1]}), dict.fromkeys("pq", Hierarchy.flat([0, 1])))
    problem = LatticeProblem(table, [GeneralLossMetric(weights)])
    assert problem.compute(np.array([[0, 0]])).tolist() == [[0]]
    assert problem.compute(np.array([[1, 1]])).tolist() == [[2 * sum(weights)]]


# Examples worked by hand

DAYS = [datetime.date(2026, 1, day) for day in (1, 31, 5)]
DISEASES = Hierarchy(
    [
        ["flu", "bronchitis", "pulmonary embolism", "stomach cancer"],
        ["respiratory infection", "respiratory infection", "vascular lung disease", "stomach disease"],
        ["respiratory", "respiratory", "respiratory", "digestive"],
        ["*"] * 4,
    ]
)
#: Each class of the 3-diverse table of Machanavajjhala et al. holds three diseases, one of them twice.
PATIENTS = ["HVCC", "CHVV", "HVCC"]


@pytest.mark.parametrize(
    ("measure", "classes", "value"),
    [
        # The 1st, the 5th and the 31st are three equal steps apart, because only their rank counts.
        *((TCloseness("s", "ordered"), [own[:2], own[2:]], 1 / 3) for own in (DAYS, [*map(pd.Timestamp, DAYS)])),
        # Li et al. 2007, section 4.2: flu is so far from the others. Each class has to send half of its mass to them.
        (TCloseness("s", DISEASES), [["flu"], ["bronchitis"]], 1 / 3 / 2),
        (TCloseness("s", DISEASES), [["flu"], ["pulmonary embolism"]], 2 / 3 / 2),
        (TCloseness("s", DISEASES), [["flu"], ["stomach cancer"]], 1 / 2),
        (TCloseness("s", Hierarchy([["a"]])), ["aa", "a"], 0),
        (EntropyLDiversity("s"), PATIENTS, 2**1.5),
        # r = (2, 1, 1): 2 < c (1 + 1) above c = 1, and 2 < c above c = 2.
        *(
            (RecursiveCLDiversity("s", c), PATIENTS, least)
            for c, least in ((0.5, 1), (1, 1), (1.01, 2), (2, 2), (2.01, 3))
        ),
        # A c beyond the rows is as good as the rows.
        *((RecursiveCLDiversity("s", c), ["aaaaab"], least) for c, least in ((5, 1), (5.1, 2), (1e18, 2), (1e300, 2))),
        # r = (2, 1, ..., 1), 33 in all: 2 < c times 21 of them.
        (RecursiveCLDiversity("s", 0.1), ["aabcdefghijklmnopqrstuvwxyzABCDEFG"], 13),
        # As floats 110 is less than 4.4 times 25.
        *((RecursiveCLDiversity("s", c), ["a" * 110 + "b" * 25], least) for c, least in ((4.4, 1), (4.40001, 2))),
    ],
    ids=str,
)
def test_values_worked_by_hand(measure, classes, value):
    np.testing.assert_allclose(measure.evaluate(raw(one_class_each(classes))), [value], rtol=1e-12)


def test_the_salaries_of_li_et_al():
    """Compare with Li et al. 2007, section 4.1.

    For Q = {3k, ..., 11k}, t is 0.375 with P1 = {3k, 4k, 5k} and 0.167 with P2 = {6k, 8k, 11k}.
    """
    for kept, expected in (([3, 4, 5], 0.375), ([6, 8, 11], 1 / 6)):
        rest = [[k] for k in range(3, 12) if k not in kept]
        classes = raw(one_class_each([kept, *rest]), below=3)
        np.testing.assert_allclose(TCloseness("s", "ordered").evaluate(classes), [expected], rtol=1e-12)


def test_every_c_is_shown_in_full():
    """Show every digit, as problems distinguish objectives by repr."""
    assert repr(RecursiveCLDiversity("s", 1.5)) == "RecursiveCLDiversity('s', 1.5)"
    assert repr(RecursiveCLDiversity("s", 1.50000001)) == "RecursiveCLDiversity('s', 1.50000001)"


@pytest.mark.parametrize(("node", "expected"), [((1, 0), 3 / 4), ((1, 1), 7 / 12), ((0, 2), 2 / 3), ((0, 1), 5 / 6)])
def test_the_precisions_of_sweeney(node, expected):
    """Compare with figure 5 of Sweeney (2002).

    Prec is 0.75, 0.58, 0.67 and 0.83 for GT[1,0], GT[1,1], GT[0,2] and GT[0,1].
    """
    races = ["asian", "black", "white"]
    zips = ["02138", "02139", "02141", "02142"]
    hierarchies = {
        "race": Hierarchy([races, ["person"] * 3, ["*"] * 3]),
        "zip": Hierarchy([zips, ["0213*", "0213*", "0214*", "0214*"], ["021**"] * 4, ["*"] * 4]),
    }
    frame = pd.DataFrame([(race, zip_) for race in races for zip_ in zips], columns=["race", "zip"])
    problem = LatticeProblem(Microdata.from_frame(frame, hierarchies), [Precision()])
    np.testing.assert_allclose(problem.natural(problem.evaluate(np.array(node))), [expected], rtol=1e-12)


def test_an_order_of_the_bits_leaves_the_levels_as_they_are():
    """Join 1 and 2 first, as the hierarchy does, in any order."""
    hierarchy = Hierarchy([[1, 3, 2, 4], ["a", "b", "a", "b"], list("****")])
    table = Microdata.from_frame(pd.DataFrame({"q": [1, 2, 3, 4]}), {"q": hierarchy})
    for order in ([1, 2, 3, 4], [4, 3, 2, 1]):
        problem = BitStringProblem(table, [Precision()], orders={"q": order})
        halves = np.array([[False, True, False]])
        np.testing.assert_array_equal(problem.natural(problem.compute(halves)), [[0.5]])
    flat = BitStringProblem(table, [Precision()], orders={"q": [1, 2, 3, 4, 5]})
    np.testing.assert_array_equal(flat.natural(flat.compute(np.array([[False, True, False, True]]))), [[0]])


def test_the_usual_threshold_of_risk_is_that_of_classes_of_eleven():
    assert RecordsAtRisk() == RecordsAtRisk(0.09) != RecordsAtRisk(0.1)


def test_a_class_fits_no_fewer_persons_of_a_register_than_it_has_rows():
    table, register = (
        Microdata.from_frame(pd.DataFrame({"q": values}), {"q": Hierarchy.flat([1, 2])})
        for values in ([1, 1, 1, 2], [1, 2, 2, 2])
    )
    problem = LatticeProblem(table, [MarketerRisk(register)])
    # Three rows of three persons, and one of three others.
    assert problem.compute(np.array([[0]])).tolist() == [[(3 / 3 + 1 / 3) / 4]]


def test_what_was_asked_of_truth_values_is_not_answered_for_numbers():
    """Keep answers apart by table, although Python takes True for 1."""
    truths, numbers = one_class_each([[True, False]]), one_class_each([[1, 0]])
    for order, own, other in (([0, 1], numbers, truths), ([False, True], truths, numbers)):
        TCloseness("s", order).check(own)
        assert " without " in refused(ValueError, lambda other=other, order=order: TCloseness("s", order).check(other))
