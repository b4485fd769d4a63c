"""Pages of the benchmarks: claims of the papers, the study of Lunacek et al. 2006, and words beside the figures."""

import json
import pickle
import re
import sys
from statistics import median
from string import Formatter

import pytest

from benchmarks import record
from benchmarks.local import fronts
from benchmarks.papers import claims, lunacek2006
from benchmarks.papers.lunacek2006_optimum import second_half
from benchmarks.speed.__main__ import HUGE, PARTS


def test_the_table_is_made_of_the_results():
    assert (record.RESULTS / "claims.md").read_text(encoding="utf-8") == claims.text()


def test_the_first_page_counts_the_verdicts():
    verdicts = [
        re.findall(r"\d+", row)[-3:] for row in claims.text().splitlines() if re.fullmatch(r"\|.*\|( +\d+ \|){3}", row)
    ]
    assert len(verdicts) == len(claims.PAPERS)
    holds, in_part, not_at_all = (sum(map(int, column)) for column in zip(*verdicts, strict=True))
    page = (record.RESULTS.parent / "README.md").read_text(encoding="utf-8")
    n_claims = holds + in_part + not_at_all
    assert f"{holds} of {n_claims} claims hold, {in_part} hold in part, {not_at_all} do not:" in page


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Write a folder of results with one claim per paper."""
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    for number, name in enumerate(claims.PAPERS):
        made = record.claim("7", f"claim {number}", "0.94", "0.96", [True, number > 1])
        (tmp_path / f"{name}.json").write_text(json.dumps({"claims": [made]}))
    return tmp_path


def test_a_paper_without_results_is_an_error(results):
    (results / "lunacek2006.json").unlink()
    with pytest.raises(
        ValueError, match=r"results must be in .*lunacek2006\.json; python -m benchmarks\.papers\.lunacek2006"
    ):
        claims.text()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (None, r"dewri2010\.json must hold claims"),
        ({"verdict": "perhaps"}, "must tell of each claim section, claim, verdict, here, paper"),
        ({"here": ""}, "must tell of each claim section, claim, verdict, here, paper"),
    ],
    ids=["no claims", "verdict", "figure"],
)
def test_results_without_whole_claims_are_an_error(results, change, said):
    path = results / "dewri2010.json"
    (made,) = json.loads(path.read_text())["claims"]
    path.write_text(json.dumps({"claims": [{**made, **change}] if change else []}))
    with pytest.raises(ValueError, match=said):
        claims.text()


def test_verdicts_count_cases():
    assert record.verdict([True, True]) == "holds"
    assert record.verdict([True, False]) == "holds in part"
    assert record.verdict([False, False]) == "does not hold"


@pytest.mark.parametrize(
    ("paper", "here", "verdict"),
    [
        ("3/5 and 3/5", "0.6 and 0.6", "holds"),
        ("2 and 8", "2 and 10", "does not hold"),
        ("2.03, 1.7, 1.7", "2.03, 1.7, 1.7", "holds"),
        ("3, 3, 4", "3, 4, 3", "does not hold"),
        ("s larger", "56,727 and 37,888", "holds"),
        ("s larger", "37,888 and 37,888", "does not hold"),
        ("better", "better", "holds"),
        ("better", "worse", "does not hold"),
        ("T4", "T4", "holds"),
    ],
)
def test_a_worked_example_holds_where_numbers_or_words_are_equal(results, paper, here, verdict):
    path = results / "dewri2009_comparison.json"
    path.write_text(json.dumps({"paper": [["5.3", "P_cov", paper, here]]}))
    made = {"section": "5.3", "claim": "P_cov", "paper": paper, "here": here, "verdict": verdict}
    assert claims.claims("dewri2009_comparison") == [made]


@pytest.fixture
def trials(tmp_path, monkeypatch):
    """Make results of two trials, and a study of two parts."""
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    runs = [{"task": ["trial", "TRAD", 200, seed, 30_000], "loss": 10.0 + seed} for seed in (1, 2)]
    (tmp_path / "lunacek2006.json").write_text(json.dumps({"runs": runs, "minutes": 3}))
    parts = {"trials": [["trial", "TRAD", 200, seed, 30_000] for seed in (1, 2, 3)], "proof": [["proof"]]}
    monkeypatch.setattr(lunacek2006, "PARTS", parts)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], [["trial", "TRAD", 200, 3, 30_000], ["proof"]]),
        (["--parts", "proof"], [["proof"]]),
        (["--parts"], []),
    ],
)
def test_only_what_is_missing_is_run(trials, monkeypatch, options, expected):
    ran = []
    monkeypatch.setattr(lunacek2006, "run", lambda task: ran.append(task) or {"task": task, "loss": 7.0})
    monkeypatch.setattr(lunacek2006, "report", lambda found: None)
    monkeypatch.setattr(sys, "argv", ["lunacek2006.py", *options])
    lunacek2006.main()
    assert ran == expected
    kept = record.stored("lunacek2006")
    tasks = [one["task"] for one in kept["runs"]] + [one["task"] for one in kept.get("proof", [])]
    assert tasks == [*lunacek2006.PARTS["trials"][:2], *expected]
    assert [one["loss"] for one in kept["runs"]][:2] == [11.0, 12.0]


def test_a_run_takes_the_place_of_an_earlier_one(trials):
    for seed in (2, 3, 1):
        lunacek2006.keep("trials", {"task": ["trial", "TRAD", 200, seed, 30_000], "loss": float(seed)})
    assert [one["loss"] for one in record.stored("lunacek2006")["runs"]] == [1.0, 2.0, 3.0]


def test_the_second_half_of_the_stored_page_is_that_of_the_stored_figures():
    page = (record.RESULTS / "lunacek2006.md").read_text(encoding="utf-8")
    told = second_half(record.stored("lunacek2006"), list(lunacek2006.COLOURS)) + "\n"
    # Tables may be stored with other widths.
    stored, now = (re.sub("[ -]+", " ", text) for text in (page, told))
    assert stored.endswith(now)


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
