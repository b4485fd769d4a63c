"""Examples, blocks of code, quotes, links and names on the pages."""

import math
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import examples_in_turn
import pytest
import tomlkit

from benchmarks.speed.start import write_patients
from pymoo_anon.cli.app import app
from pymoo_anon.study.names import source_of
from pymoo_anon.study.options import bounds_of_adversary, read_bounds

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
#: These start processes that import the example again.
SLOW = [ROOT / "examples/parallel.py"]
README, GUIDE, RESULTS = (ROOT / name for name in ("README.md", "examples/README.md", "benchmarks/README.md"))
GUIDES = sorted((ROOT / "examples" / "guide").glob("*.md"))
PAGES = [README, GUIDE, *GUIDES, RESULTS]
LIMITS = ROOT / "examples/limits.md"
ROOMS = ["algorithms", "comparison", "datasets", "fronts", "objectives", "operators", "problems", "publishing", "table"]

# pymoo's decision making imports a name that scipy has moved.
WARNINGS = "error,ignore::DeprecationWarning:pymoo.core.decision_making"

by_name = {"ids": lambda path: str(path.relative_to(ROOT))}


def read(path):
    return path.read_text(encoding="utf-8")


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", read(path), re.DOTALL | re.M)


def prose(path):
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", read(path), flags=re.DOTALL | re.M)


def anchors(path):
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.M)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def run(paths, folder):
    """Run programs in one new process, each in its own folder.

    The result is that of the process.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": WARNINGS}
    command = [sys.executable, examples_in_turn.__file__, str(folder), *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


@pytest.fixture(scope="module")
def examples_ran(tmp_path_factory):
    """Run every example, and return the folder and the finished process."""
    folder = tmp_path_factory.mktemp("examples")
    return folder, run([path for path in EXAMPLES if path not in SLOW], folder)


def check_it_ran(folder, done):
    error = folder / examples_in_turn.ERROR
    assert not error.exists(), error.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert read(folder / examples_in_turn.OUTPUT).strip()


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path not in SLOW], **by_name)
def test_examples_run(path, examples_ran):
    folder, done = examples_ran
    check_it_ran(folder / path.stem, done)


@pytest.mark.slow
@pytest.mark.parametrize("path", SLOW, **by_name)
def test_examples_of_many_processes_run(path, tmp_path):
    check_it_ran(tmp_path / path.stem, run([path], tmp_path))


@pytest.mark.parametrize("path", EXAMPLES, **by_name)
def test_examples_are_short_and_in_the_guide(path):
    _, question, program = read(path).split('"""', 2)
    assert len(question.splitlines()) <= 4
    assert len(program.splitlines()) <= 40
    assert f"]({path.name})" in read(GUIDE)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:pymoo.core.decision_making")
@pytest.mark.parametrize("page", PAGES, **by_name)
def test_pages_run(page, tmp_path, monkeypatch, capsys):
    """Run the blocks of a page in order, beside a reader's files.

    The files are a table and a hierarchy.
    """
    monkeypatch.chdir(tmp_path)
    write_patients(tmp_path)
    names = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


def test_the_case_study_runs():
    cells = blocks(ROOT / "examples/case_study.md", r"\{code-cell\} ipython3")
    assert len(cells) == 4
    names = {}
    for cell in cells:
        exec(cell, names)
    assert str(names["choice"]).startswith("k = 10 ")


@pytest.mark.slow
def test_the_page_for_r_runs(tmp_path):
    assert shutil.which("Rscript"), "R is missing: install r-base-core and r-cran-reticulate"
    (tmp_path / "page.R").write_text("\n".join(blocks(ROOT / "examples/guide/r.md", "r")), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RETICULATE_PYTHON": sys.executable}
    done = subprocess.run(
        ["Rscript", "page.R"], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "k >= 10" in done.stdout
    assert (tmp_path / "release.csv").exists()


def test_project_files_of_the_guide_are_understood():
    for block in (block for page in GUIDES for block in blocks(page, "toml")):
        read = tomlkit.parse(block).unwrap()
        assert read.keys() <= {"adversary", "audience", "columns", "data"}
        assert "data" not in read or source_of(read["data"]["file"], Path(), read["data"]["table"]).kind == "database"
        assert all(bounds_of_adversary(one) for one in read.get("adversary", []))
        assert all(one["name"] and read_bounds(one["require"]) for one in read.get("audience", []))


def test_the_guide_has_few_short_pages():
    assert len(GUIDES) <= 12
    assert set(re.findall(r"\(guide/([\w-]+\.md)\)", read(GUIDE))) == {page.name for page in GUIDES}
    site = re.findall(r"^generated/guide/(.+)$", read(ROOT / "examples/site/index.md"), re.MULTILINE)
    assert sorted(site) == [page.stem for page in GUIDES]
    assert all(3_000 <= page.stat().st_size <= 9_500 for page in GUIDES)


def test_the_page_on_cells_tells_what_its_code_finds():
    (page,) = (page for page in GUIDES if page.name == "cells.md")
    names = {}
    for block in blocks(page, "python"):
        exec(block, names)
    found = [names["columns"], names["columns_and_rows"], names["cells"], math.ceil(names["least"])]
    assert [int(one) for one in re.findall(r"^\| .* \| (\d+) \|$", read(page), re.MULTILINE)] == found
    assert names["made"].claims.promised.tolist() == [5, names["cells"]]


def test_the_readme_is_short():
    lines = read(README).splitlines()
    assert len(lines) <= 200
    (first,) = (number for number, line in enumerate(lines, 1) if "Microdata.from_frame(" in line)
    assert first < 100
    assert any("problem.decode(" in line for line in lines[:120])


def test_one_line_of_the_readme_changes_to_nsga2():
    first, second = blocks(README, "python")[:2]
    (own,), (other,) = ([line for line in one.splitlines() if "= minimize(" in line] for one in (first, second))
    assert other.startswith("res = minimize(problem.fresh_copy(), NSGA2(")
    assert own.endswith(', ("n_gen", 100), seed=1)')
    assert other.endswith(', ("n_gen", 100), seed=1)')


def test_the_readme_gives_two_commands():
    assert blocks(README, "sh") == ["pip install . && pymoo-anon search\n", 'pip install -e ".[test]" && pytest\n']


@pytest.mark.parametrize("page", [*PAGES, LIMITS], **by_name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)]+)\)", prose(page)):
        if not link.startswith("https://"):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", [README, *GUIDES], **by_name)
def test_names_exist(page):
    """Find every called name of the text among the rooms' public names."""
    public = {name for room in ROOMS for name in import_module(f"pymoo_anon.{room}").__all__}
    named = set(re.findall(r"`([A-Z]\w*)\(", prose(page)))
    assert named <= public | {"NSGA2"}, named - public


@pytest.mark.parametrize("page", [README, *GUIDES], **by_name)
def test_options_exist(page):
    commands = [app]
    for command in commands:
        commands += getattr(command, "commands", {}).values()
    known = {name for command in commands for each in command.params for name in each.opts}
    assert set(re.findall(r"(?<!-)--[a-z][a-z-]*", read(page))) <= known | {"--help"}


@pytest.mark.parametrize("row", re.findall(r"^\| [^|]*\? \|.*", read(RESULTS), re.M))
def test_answers_stand_in_their_results(row):
    """Find figures of an answer on a page beside it: decimals, and those of three or more digits."""
    _, _, answer, pages, _ = row.split("|")
    found = "".join(read(RESULTS.parent / page) for page in re.findall(r"\((.*?)\)", pages))
    figures, told = (re.findall(r"\d[\d,.]*\d", own) for own in (answer, found))
    assert told
    assert [one for one in figures if ("." in one or len(re.sub(r"\D", "", one)) > 2) and one not in told] == []


def test_every_page_of_results_is_reached():
    pages = {path.name for path in (RESULTS.parent / "results").glob("*.md")}
    assert pages <= set(re.findall(r"\(results/(\w+\.md)\)", read(RESULTS)))
    assert RESULTS.stat().st_size <= 15_000
