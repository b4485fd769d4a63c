"""The words of the pages beside the stored pages."""

import pickle
import re
from statistics import median
from string import Formatter

import pytest

from benchmarks import record
from benchmarks.local import fronts
from benchmarks.speed.__main__ import HUGE, PARTS

WORDS = sorted((record.RESULTS.parent / "words").glob("*.md"))


@pytest.mark.parametrize(
    "path", [path for path in WORDS if (record.RESULTS / path.name).exists()], ids=lambda own: own.stem
)
def test_a_stored_page_is_made_of_its_words(path):
    """Find the text between the fields on the page, in order and with nothing else before, between or after."""
    parts = Formatter().parse(path.read_text(encoding="utf-8"))
    pattern = "".join(re.escape(text) + ("(.*?)" if field is not None else "") for text, field, *_ in parts)
    assert re.fullmatch(pattern, (record.RESULTS / path.name).read_text(encoding="utf-8"), re.DOTALL)


def test_words_take_figures_and_the_machine(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    record.write("models", {"machine": {}, "nodes": 7}, MOST_CLASSES=3, models="| table |")
    text = (tmp_path / "models.md").read_text(encoding="utf-8")
    assert text.startswith("7 random nodes of Adult's lattice with at most 3 classes")
    assert f"{record.line()}.\n\n| table |\n" in text
    assert capsys.readouterr().out == text


def test_a_part_is_found_by_a_process_of_its_own():
    """Keep all parts out of the module that `python -m` runs, which no other process loads."""
    for measure in (*PARTS.values(), *HUGE.values()):
        function = getattr(measure, "func", measure)
        assert function.__module__ != "benchmarks.speed.__main__"
        assert getattr(pickle.loads(pickle.dumps(measure)), "func", function) is function


def test_the_page_on_limits_quotes_the_attacks():
    direct, sizes, known = record.stored("local_attacks")["minimality"][:3]
    page = " ".join((record.RESULTS.parents[1] / "examples" / "limits.md").read_text(encoding="utf-8").split())
    assert f"has {direct['classes']} such classes with {direct['persons']:,} persons" in page
    assert "{:.0f} % come out with a confidence".format(100 * direct["rise 0.1"]) in page
    guessed = "{:.0f} % are guessed right, and {:.0f} % were without asking"
    assert guessed.format(100 * direct["right after"], 100 * direct["right before"]) in page
    rises = "Then {:.0f} % come out so, or {:.0f} % before somebody"
    assert rises.format(100 * sizes["rise 0.1"], 100 * known["rise 0.1"]) in page
    assert f"and the loss is {100 * (sizes['loss'] / direct['loss'] - 1):.0f} % more" in page


def test_the_page_on_fronts_has_the_stored_figures_of_utility():
    assert fronts.useful() in (record.RESULTS / "local_fronts.md").read_text(encoding="utf-8")


def test_the_readme_has_the_stored_shares_of_the_front():
    found = record.stored("moeas_lattice")["problems"]

    def shares(algorithm, result="own"):
        rows = [found[name]["rows"][algorithm]["values"][result] for name in ("k, GLM", "k, GLM, CM")]
        return " and ".join(f"{median(row['distinct 800']['RR']):.2f}" for row in rows)

    own = f"PBG-EA {shares('PBG-EA')}, local search {shares('local search')}"
    said = f"NSGA-II {shares('NSGA-II')} (its archive {shares('NSGA-II', 'seen')}), {own}"
    assert said in " ".join((record.RESULTS.parents[1] / "README.md").read_text(encoding="utf-8").split())
