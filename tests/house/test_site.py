"""The parts of the site: pages, links, examples, pictures, the tour. Sphinx is not needed."""

import ast
import inspect
import json
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import pymoo_anon
from pymoo_anon import algorithms, operators, problems, suite, visualization
from pymoo_anon.objectives import Constraint, GeneralLossMetric
from pymoo_anon.problems import LatticeProblem

ROOT = Path(__file__).parents[2]
SITE = ROOT / "examples" / "site"
TOUR = SITE / "tour.ipynb"

# The site is built with Python 3.11 or newer.
pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib")
sys.path.insert(0, str(SITE))
words, pictures, in_use, examples_of, pages = map(
    import_module, ("words", "pictures", "in_use", "examples_of", "pages")
)
sys.path.remove(str(SITE))


@pytest.mark.parametrize("own", examples_of.measures(), ids=lambda own: own.__name__)
def test_a_measure_says_its_formula_its_source_and_its_direction(own):
    told = inspect.getdoc(own)
    assert re.search(r"^Formula:\n    \S", told, re.M)
    assert re.search(r"\b(19|20)\d\d\b", told), "the source, with its year"
    better = "higher" if own.maximize else "lower"
    assert f"{better} is better" in " ".join(told.split())


@pytest.mark.parametrize("own", examples_of.measures(), ids=lambda own: own.__name__)
def test_a_measure_has_a_worked_example(own, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(pictures, "measure_over_lattice", lambda *given: drawn.append(given))
    page = examples_of.measure_page(own, tmp_path)
    found, again = re.search(r"The value is \*\*(.*)\*\*; counted again .*, \*\*(.*)\*\*", page).groups()
    assert found == again
    values = re.findall(r"\* - age level .*\n     - (.*)", page)
    assert len(values) == 3
    assert len(set(values)) > 1, "an example that shows nothing"
    measure = examples_of.made(own, examples_of.TABLE)
    classes = LatticeProblem(examples_of.TABLE, [measure]).equivalence_classes(examples_of.NODE)
    assert found == examples_of.number(measure.evaluate(classes)[0])
    ((shown, partner, table, path),) = drawn
    assert (type(shown), table, path) == (own, in_use.table(), tmp_path / f"{own.__name__}.png")
    assert f"/generated/pictures/{path.name}" in page
    assert partner != shown


SHOWN = {own.__name__: own for own in in_use.shown()}


def test_what_searches_and_is_searched_has_a_worked_example():
    """Cover everything listed in the rooms: algorithms, problems and operators."""
    assert in_use.RUNS.keys() | in_use.SHOWN_BY.keys() | in_use.CALLS.keys() == SHOWN.keys()
    of_problems = {name for name in problems.__all__ if name.endswith("Problem")}
    listed = {*algorithms.__all__, *operators.__all__, *of_problems}
    assert listed - {"AnonymizationProblem", "Neighborhood"} == SHOWN.keys()
    # The site runs them.
    source = re.compile(r"\b(19|20)\d\d\b|[Tt]his package's own")
    assert [name for name, own in SHOWN.items() if not source.search(inspect.getdoc(own))] == []


def test_a_picture_of_an_operator_frames_what_became_other():
    points = {"before": np.array([[0, 1], [2, 0]]), "after": np.array([[0, 1], [2, 1]])}
    before, after = pictures.plot_points(points, ["a", "b"], [0, 1]).axes
    assert [text.get_text() for text in before.texts] == ["0", "1", "2", "0"]
    assert [patch.get_xy() for patch in after.patches] == [(0.5, 0.5)]


def test_a_picture_of_a_search_shows_what_it_found():
    problem = LatticeProblem(in_use.table(), [GeneralLossMetric()])
    figure = pictures.plot_found(in_use.table(), [problem.equivalence_classes([6, 3, 1, 1])])
    levels, found = figure.axes[0].collections
    assert len(levels.get_offsets()) == problem.n_nodes
    assert found.get_offsets().tolist() == [[100, 2000]]


def test_every_measure_and_every_public_name_has_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(examples_of, "measure_page", lambda own, folder: f"measured {own.__name__}")
    monkeypatch.setattr(in_use, "example_page", lambda own, folder: f"run {own.__name__}")
    made = tmp_path / "reference"
    made.mkdir()
    pages.write_reference(tmp_path)
    rooms = {path.parent.name for path in (ROOT / "pymoo_anon").glob("*/__init__.py")} - {"app", "cli"}
    assert set(words.ROOMS) == rooms
    index = (SITE / "index.md").read_text(encoding="utf-8")
    assert {f"generated/reference/{room}" for room in rooms} <= set(index.splitlines())
    for room in rooms:
        page = (made / f"{room}.rst").read_text(encoding="utf-8")
        for name in import_module(f"pymoo_anon.{room}").__all__:
            assert f"   {room}/{name}\n" in page
            text = (made / room / f"{name}.rst").read_text(encoding="utf-8")
            assert f":: {name}\n" in text
    text = (made / "objectives" / "KMap.rst").read_text(encoding="utf-8")
    assert "measured KMap" in text
    for room in ("algorithms", "operators", "problems"):
        for own in (made / room).glob("*.rst"):
            assert (f"run {own.stem}" in own.read_text(encoding="utf-8")) == (own.stem in SHOWN)
    assert "automethod:: KMap.recount" in text


def test_every_instance_of_the_suite_has_a_page(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(pictures, "front_of_instance", lambda problem, path: drawn.append(path.stem))
    (tmp_path / "instances").mkdir()
    (tmp_path / "suite.md").write_text("# The suite\n")
    pages.write_instances(tmp_path)
    assert tuple(drawn) == suite.names()
    assert "instances/*" in (tmp_path / "suite.md").read_text(encoding="utf-8")
    path = ROOT / "pymoo_anon/suite/README.md"
    linked = pages.with_links(path.read_text(encoding="utf-8"), path, tmp_path)
    for name in suite.names():
        text = (tmp_path / "instances" / f"{name}.md").read_text(encoding="utf-8")
        assert f"| [{name}](/generated/instances/{name}.md) |" in linked
        assert f"| front | {len(suite.load(name).pareto_front()):,} points" in text
        assert "None" not in text


@pytest.mark.parametrize("name", sorted(pages.included()))
def test_links_of_a_page_lead_to_pages_of_the_site(name, tmp_path):
    (tmp_path / "images").mkdir()
    path = ROOT / name
    text = pages.with_links(path.read_text(encoding="utf-8"), path, tmp_path)
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.M)
    made = {*pages.places().values(), *(f"/generated/instances/{own}.md" for own in suite.names())}
    assert re.search("^# ", text, re.M)
    for image, link in re.findall(r"(!?)\[[^\]]+\]\(([^)\s]+)\)", text):
        if link.startswith("/generated/images/"):
            assert (tmp_path / link.removeprefix("/generated/")).is_file()
        elif not link.startswith("https://"):
            assert not image
            assert link.partition("#")[0] in made, link


def test_what_is_written_again_alike_stays(tmp_path, monkeypatch):
    """Rewrite only changed files, delete outdated ones, keep the gallery's."""
    texts = {"a.md": "1", "b.md": "2"}
    monkeypatch.setattr(pages, "write_anew", lambda folder: [(folder / name).write_text(texts[name]) for name in texts])
    made = tmp_path / "generated"
    made.mkdir()
    pages.write(made)
    (made / "gallery").mkdir()
    (made / "gallery" / "own.rst").write_text("x")
    before = (made / "a.md").stat().st_mtime_ns
    texts["b.md"] = "4"
    pages.write(made)
    assert (made / "a.md").stat().st_mtime_ns == before
    assert (made / "b.md").read_text() == "4"
    texts.pop("a.md")
    pages.write(made)
    assert sorted(path.name for path in made.rglob("*.*")) == ["b.md", "own.rst"]


def test_the_gallery_takes_every_example_under_its_question(tmp_path):
    pages.write_scripts(tmp_path)
    assert {path.stem for path in tmp_path.glob("*.py")} == {path.stem for path in pages.EXAMPLES}
    for path in pages.EXAMPLES:
        made = (tmp_path / path.name).read_text(encoding="utf-8")
        question, line = made.splitlines()[1:3]
        assert question.endswith("?")
        assert line == "=" * len(question)
        assert made.endswith(path.read_text(encoding="utf-8").partition('"""\n')[2])
    assert set(pictures.DRAWN) <= {path.stem for path in pages.EXAMPLES}


@pytest.mark.parametrize("path", pages.EXAMPLES, ids=lambda path: path.stem)
def test_what_is_drawn_of_an_example_stands_in_it(path):
    """Check without a run that the call uses known names."""
    call = ast.parse(pictures.DRAWN.get(path.stem, pictures.DEFAULT), mode="eval").body
    assert hasattr(visualization, call.func.id) or hasattr(pictures, call.func.id)
    of_call = [node for node in ast.walk(call) if isinstance(node, ast.Name)]
    made_there = {node.id for node in of_call if isinstance(node.ctx, ast.Store)}
    program = ast.parse(path.read_text(encoding="utf-8"))
    made = {node.id for node in ast.walk(program) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    made |= {node.name for node in program.body if isinstance(node, ast.FunctionDef)}
    assert {node.id for node in of_call} - made_there - {call.func.id} <= made


def test_a_page_of_the_gallery_without_its_picture_is_found(tmp_path):
    (tmp_path / "good.html").write_text('<img src="../../_images/sphx_glr_good_001.png">')
    (tmp_path / "bare.html").write_text('<img src="../../_images/sphx_glr_good_001.png">')
    assert pictures.lacking(tmp_path, ["good"]) == []
    assert pictures.lacking(tmp_path, ["good", "bare", "gone"]) == ["bare", "gone"]


def test_pictures_of_instances_and_bars_are_drawn():
    for name in ("patients-k-GLM-v1", "patients-k-l-GLM-v1", "trips-k-classes-v1"):
        problem = suite.load(name)
        figure = pictures.plot_instance(problem, problem.pareto_front()[:2])
        dots, found = figure.axes[0].collections
        assert len(dots.get_offsets()) == len(problem.pareto_front())
        own = problem.instance
        natural = problem.pareto_front() / [
            sign * (own.told["unit"] if label == "GLM" else 1)
            for sign, label in zip(own.signs, own.labels, strict=True)
        ]
        labels = [figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()]
        assert labels[1] == "k"
        assert np.array_equal(dots.get_offsets(), natural[:, [problem.instance.labels.index(one) for one in labels]])
        assert len(found.get_offsets()) == 2
    figure = pictures.plot_bars({"a": 1, "b": 2}, "loss")
    assert [bar.get_width() for bar in figure.axes[0].patches] == [1, 2]
    figure = pictures.plot_steps([[-5, 2.0], [-1, 0.0]], "GLM", "k")
    assert figure.axes[0].lines[0].get_xydata().tolist() == [[2, 5], [0, 1]]


def test_docstrings_become_rest():
    lines = [
        "Sizes |E| of a * b, as `KAnonymity` has them; `x_` and trailing_ stay.",
        "- one",
        "",
        "Formula:",
        "    Σ |E|",
        "",
        ">>> 2 * |x|",
        "",
        "Args:",
        "    **more: See `x`.",
    ]
    words.as_rst(None, "class", "x", None, None, lines)
    assert lines == [
        r"Sizes \|E\| of a \* b, as :py:obj:`KAnonymity <pymoo_anon.objectives.KAnonymity>` has them; ``x_`` and "
        r"trailing\_ stay.",
        "",
        "- one",
        "",
        ".. code-block:: text",
        "   :class: formula",
        "",
        "    Σ |E|",
        "",
        ">>> 2 * |x|",
        "",
        "Args:",
        "    **more: See ``x``.",
    ]


def test_a_property_keeps_its_shape_in_the_text():
    lines = ["(n,) float array: what is lost: all of it."]
    words.as_rst(None, "property", "x", None, None, lines)
    assert lines == ["(n,) float array – what is lost: all of it."]


def test_names_are_known_where_they_are_public_and_where_they_are_defined():
    assert words.OF_MODULE["pymoo_anon.table.generalization.Constraint"] == "pymoo_anon.objectives.Constraint"
    assert words.PUBLIC["pymoo_anon.objectives.Constraint"] is Constraint
    assert words.exists("pymoo_anon.recoding.trees.Trees")
    assert words.exists("pymoo_anon.table.microdata.Microdata")
    assert not words.exists("pymoo_anon.table.microdata.Macrodata")
    assert not words.exists("pandas.DataFrame")


def test_versions_are_those_that_are_tested():
    text = pages.tested()
    assert pymoo_anon.__version__ in text
    assert re.search(r"\| pymoo \| 0\.6\.2 \| \S+ \| below 0\.7 \|", text)


def test_the_tour_is_without_outputs_and_runs(tmp_path):
    book = json.loads(TOUR.read_text(encoding="utf-8"))
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 10
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    assert TOUR.stat().st_size < 20_000
    page = examples_of.tour_page(TOUR, tmp_path)
    assert page.startswith("# A tour in ten minutes\n")
    assert "proven: True" in page
    assert "What was promised holds." in page
    assert page.count('<div class="shown">') >= 5
    assert [path.suffix for path in tmp_path.iterdir()] == [".png"]
