"""A measure as one class: command-line name, recount and guide row."""

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

from pymoo_anon import objectives
from pymoo_anon.engine.compiled import Loop
from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem
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
    assert len(MEASURES) == 26
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
