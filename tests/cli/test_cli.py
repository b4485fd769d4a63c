"""The command line: its start, its options, and the output and messages of a search."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from command import FILES, SMALL, command, front, record, run, search, without_compiling
from processes import python

import pymoo_anon
from pymoo_anon import __version__
from pymoo_anon.cli.app import command_of
from pymoo_anon.cli.console import COMPILING
from pymoo_anon.cli.options import VerifyRequest
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DeltaDisclosure, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.study import search as searching
from pymoo_anon.study.names import ALGORITHMS, MEASURES, ROLES
from pymoo_anon.study.options import Invocation, Settings, file_keys, option, options_named, options_of, record_of
from pymoo_anon.study.search import algorithm_for
from pymoo_anon.study.tables import problem_of

pytestmark = pytest.mark.usefixtures("folder")


def test_a_search_prints_and_writes_the_front():
    result = search(*SMALL)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert sorted(os.listdir("front")) == FILES
    assert list(front())[-4:] == ["k", "l", "GLM", "suppressed"]
    first, heading, *points, end = result.stdout.splitlines()
    assert first == "300 rows, 8 quasi-identifiers, 17,920 nodes; PBG-EA."
    assert heading.split() == ["row", "k", "l", "GLM", "lost", "suppressed", "levels"]
    n = len(front())
    assert len(points) == min(n, 5)
    assert points[-1].split()[0] == str(n)
    told = f"{n} points" if n <= 5 else f"5 of {n} points"
    assert end == f"{told}, not proven (generations). All: {Path('front', 'front.csv')}, --wide"


def test_all_points_and_levels_are_printed_if_asked_for():
    result = search(*SMALL, "--wide")
    _, heading, *points, end = result.stdout.splitlines()
    assert heading.split() == ["row", "k", "l", "GLM", "GLM", "lost", "suppressed", *list(front())[:8]]
    assert [point.split()[-8:] for point in points] == front().iloc[:, :8].astype(str).to_numpy().tolist()
    assert end == f"{len(front())} points, not proven (generations). All: {Path('front', 'front.csv')}"


def test_same_seed_same_front():
    for folder, seed in [("a", "1"), ("b", "1"), ("c", "2")]:
        search(*SMALL, "--seed", seed, "--output", folder)
    first, again, other = (Path(folder, "front.csv").read_bytes() for folder in "abc")
    assert first == again
    assert first != other


@pytest.mark.parametrize("algorithm", ["pls", "pbgea", "nsga2", "bnb", "exhaustive"])
def test_every_generalization_keeps_what_is_required(algorithm):
    bounds = ["--require", "k>=10", "--require", "t <= 0.6", "--require", "precision>=0.1"]
    said = run("search", "--rows", "300", "--objectives", "k,GLM", "--algorithm", algorithm, "--verbose", *bounds)
    assert "n_gen" in said
    assert f"; {ALGORITHMS[algorithm].words} (asked for).\n" in said
    found = front()
    assert list(found)[-5:-1] == ["k", "GLM", "t", "precision"]
    assert len(found) > 1
    assert found.k.is_monotonic_decreasing
    assert found.k.min() >= 10
    assert found.t.max() <= 0.6
    assert found.precision.min() >= 0.1
    assert record()["constraints"] == ["KAnonymity() >= 10", "TCloseness('occupation') <= 0.6", "Precision() >= 0.1"]


@pytest.mark.parametrize("algorithm", ["pls", "pbgea", "bnb", "exhaustive"])
def test_what_no_generalization_keeps_is_an_error(algorithm):
    arguments = ["--rows", "300", "--algorithm", algorithm, "--objectives", "k,GLM", "--require", "k>=301"]
    among = r"among the \d+ that were visited" if algorithm in ("pls", "pbgea") else "in the lattice"
    message = f"Error: no generalization {among} satisfies k>=301; require less, or allow more suppression"
    assert re.fullmatch(message, run("search", *arguments, code=2).strip())
    assert os.listdir() == []


def test_every_objective_has_a_short_name_that_works():
    more = {"CM": ":sex", "household-risk": ":sex", "population-uniqueness": ":1000"}
    asked = ",".join(name + more.get(name, "") for name in MEASURES)
    run("search", "--rows", "60", "--generations", "1", "--objectives", asked)
    assert len(record()["objectives"]) == len(MEASURES)


@pytest.mark.usefixtures("adult_rows")
def test_the_label_of_adult_is_no_quasi_identifier():
    result = run("search", "--demo", "adult", "--generations", "3", "--objectives", "k,GLM,CM")
    assert result.startswith("30,162 rows, 7 quasi-identifiers, 8,960 nodes; PBG-EA.\n")
    assert "salary-class" not in front()
    result = run("search", "--demo", "adult", "--generations", "3", "--require", "CM <= 9000")
    assert "7 quasi-identifiers" in result


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("search", ["census|adult", ", ".join(MEASURES), "|".join(ALGORITHMS), "front.csv", "--time-limit"]),
        ("search", ["search [OPTIONS] [FILE.toml]"]),
        ("init", [", ".join(ROLES)]),
        ("release", ["an [[audience]] of the project"]),
        ("report", ["an [[audience]] of the project", "--population-size N>=1"]),
    ],
)
def test_help_names_every_choice_and_shows_brackets(name, words):
    text = command(name, "--help", COLUMNS="150", TERM="dumb").stdout
    # Without the frame, a list that continues on the next line is one list.
    assert [word for word in words if word not in " ".join(text.replace("│", " ").split())] == []
    assert "None" not in text


def test_a_proof_where_it_is_quick():
    result = search("--rows", "300")
    assert "8 quasi-identifiers, 17,920 nodes; branch and bound.\n" in result.stdout
    assert "points, proven complete. All: " in result.stdout
    # What the next command picks is among the rows.
    assert str(front().query("k >= 5").index[-1] + 1) in [line.split()[0] for line in result.stdout.splitlines()]
    found = record()
    assert found["algorithm"]["why"] == "17,920 nodes with 293 tuples each are proven quickly"
    assert found["algorithm"]["name"] == "bnb"
    assert (found["certified"], found["n_undecided"], found["stopped"]) == (True, 0, "proof complete")
    assert found["options"]["algorithm"] == "auto"


@pytest.mark.parametrize(
    ("asked", "name", "why"),
    [
        ({"generations": 100}, "pbgea", "--generations is an option of an evolutionary search"),
        ({"pop_size": 20}, "pbgea", "--pop-size is an option of an evolutionary search"),
        ({"suppression": "below:4"}, "pls", "Below"),
        ({"objectives": "k,delta"}, "pls", "DeltaDisclosure('occupation') states no bounds"),
        ({"algorithm": "nsga2"}, "nsga2", "asked for"),
    ],
)
def test_what_serves_where_a_proof_does_not(asked, name, why):
    settings = Settings(**asked, given=frozenset(asked))
    taken, told = algorithm_for(problem_of(make_census(60), record_of(settings)), settings)
    assert (taken, told[: len(why)]) == (name, why)


def test_local_search_evaluates_as_many_nodes_as_an_evolutionary_search_may_see():
    run("search", "--rows", "3000", "--algorithm", "pls", "--generations", "4", "--pop-size", "20")
    assert 80 <= record()["n_unique"] < 100
    assert record()["n_unique"] == 17_920 - record()["n_undecided"]
    assert record()["stopped"] == "evaluations"


@pytest.mark.parametrize("algorithm", ["pls", "pbgea"])
def test_larger_boxes_hold_fewer_members(algorithm):
    run("search", *SMALL, "--algorithm", algorithm)
    fine = len(front())
    run("search", *SMALL, "--algorithm", algorithm, "--epsilon", "10,5,1000")
    assert len(front()) < fine


def test_local_search_ends_without_a_proof():
    result = run("search", "--rows", "300", "--algorithm", "pls", "--objectives", "k,GLM", "--generations", "1000")
    assert ", not proven (no new nodes). All: " in result
    assert (record()["certified"], record()["stopped"]) == (False, "no new nodes")
    assert record()["n_undecided"] == 17_920 - record()["n_unique"] > 0


def test_what_serves_depends_on_the_size_of_the_lattice(monkeypatch):
    without_bounds = LatticeProblem(make_census(20), [KAnonymity(), DeltaDisclosure("occupation")])
    for generations, name in ((1792, "exhaustive"), (1791, "pls")):
        taken, why = algorithm_for(without_bounds, Settings(generations=generations, pop_size=10))
        assert taken == name
        told = "local search would visit as many as all of the 17,920 nodes"
        assert (why == told) == (name == "exhaustive")
    problem = LatticeProblem(make_census(300), [KAnonymity(), GeneralLossMetric()])
    monkeypatch.setattr(searching, "QUICK", 17_920 * 293)
    assert algorithm_for(problem, Settings())[0] == "bnb"
    monkeypatch.setattr(searching, "QUICK", 17_920 * 293 - 1)
    why = "17,920 nodes with 293 tuples each are more than are known to be proven quickly"
    assert algorithm_for(problem, Settings()) == ("pls", why)


@pytest.mark.parametrize("algorithm", ["pls", "pbgea", "nsga2", "bnb", "exhaustive"])
def test_a_limit_of_time(algorithm):
    result = run(
        "search", "--rows", "3000", "--algorithm", algorithm, "--time-limit", "0.0001", "--objectives", "k,GLM"
    )
    left = record()["n_undecided"]
    assert ", not proven (time limit). All: " in result
    assert (record()["certified"], record()["stopped"]) == (False, "time limit")
    assert 0 < left < 17_920
    assert record()["n_unique"] <= 17_920 - left
    assert record()["options"]["time_limit"] == 0.0001


@pytest.mark.parametrize("n", [24, 70])
def test_lattices_beyond_any_memory(folder, n):
    names = [f"attribute-{i:02d}" for i in range(n)]
    rows = [",".join("abcd"[(r * i + r // 3) % 4] for i in range(1, n + 1)) for r in range(60)]
    Path("wide.csv").write_text("\n".join([",".join(names), *rows]))
    Path("trees").mkdir()
    for name in names:
        Path("trees", f"{name}.csv").write_text("a;ab;*\nb;ab;*\nc;cd;*\nd;cd;*\n")
    run("init", "wide.csv", "--hierarchies", "trees")
    wide = ["wide.toml", "--output", "front"]
    result = run("search", *wide, "--time-limit", "0.2")
    assert record()["algorithm"]["name"] == "pls"
    size = "282,429,536,481" if n == 24 else "about 10^33"
    assert f"{size} nodes; Pareto local search.\n" in result
    assert record()["algorithm"]["why"].startswith(f"{size} nodes with ")
    assert max(map(len, result.splitlines())) <= 160
    for algorithm in ("bnb", "exhaustive"):
        result = search(*wide, "--algorithm", algorithm, "--output", algorithm, "--time-limit", "0.0001")
        if result.exit_code != 0:
            assert re.fullmatch(r"Error: [^\n]*(pbgea|PBGEA)[^\n]*\n", result.stderr), result.stderr
            assert not Path(algorithm).exists()


def test_the_version():
    result = command("--version")
    assert (result.exit_code, result.stdout) == (0, f"pymoo-anon {__version__}\n")


@dataclass(frozen=True, kw_only=True)
class Tried(Invocation):
    """Options of every type."""

    name: str = option(..., "A name.", argument=True)
    n: int = option(3, "A number.", least=1, in_file=True)
    share: float | None = option(None, "A share.", in_file=True)
    a_name: list[str] = option([], "Names.")
    fast: bool = option(False, "Soon.", in_file=True, recorded=False)
    mode: str = option("auto", "A mode.", choices=("auto", "other"), in_file=True, idle=("x",))
    folder: Path = option(Path("here"), "A folder.", in_file=True)


def asked_for(*arguments):
    seen = []
    result = CliRunner().invoke(command_of(Tried, seen.append), arguments)
    return seen[0] if seen else result.output


def test_every_type_of_option():
    assert asked_for("a") == Tried(name="a", given=frozenset({"name"}))
    arguments = ["a", "--n", "4", "--share", "0.5", "--a-name", "b", "--a-name", "c", "--fast", "--folder", "there"]
    made = asked_for(*arguments)
    assert made == Tried(name="a", n=4, share=0.5, a_name=["b", "c"], fast=True, folder=Path("there"), given=made.given)
    assert made.given == {"name", "n", "share", "a_name", "fast", "folder"}
    assert "--no-fast" in asked_for("a", "--no-fast")
    assert record_of(made) == {
        **{"name": "a", "n": 4, "share": 0.5, "a_name": ["b", "c"], "mode": "auto", "folder": Path("there")}
    }
    assert list(file_keys(Tried)) == ["n", "share", "fast", "mode", "folder"]


OWN = [one for one in Invocation.__subclasses__() if one.__module__.startswith("pymoo_anon")]


@pytest.mark.parametrize("asked", OWN)
def test_every_option_has_help_and_every_idle_choice_is_one(asked):
    known = options_of(asked)
    assert known
    every = {choice for own in known.values() for choice in own.choices}
    every |= {"census", "adult", "a table of one's own", "a project file", "local recodings"}
    for own in known.values():
        assert own.help.endswith(".")
        assert set(own.idle) <= every


@pytest.mark.parametrize(
    ("in_file", "named"), [(["k>=five"], "my.toml: [search] require is wrong"), ([], "--require is wrong")]
)
def test_an_error_names_an_option_as_typed_or_by_its_place_in_the_file(in_file, named):
    project = SimpleNamespace(path="my.toml", search={"require": in_file})
    asked = VerifyRequest(file="my.csv", require=["k>=five"])
    with pytest.raises(ValueError, match="is wrong") as raised, options_named(asked, project):
        raise ValueError("require is wrong")
    assert str(raised.value) == named


HEAVY = {"numpy", "pandas", "numba", "pymoo", "moocore", "matplotlib", "narwhals", "pooch", "scipy", "scipy.spatial"}
HEAVY |= {"pandas.core", "matplotlib.pyplot"}

#: Command lines that need no search.
ANSWERED = """--help|--version|search --help|init --help|pick --help|release --help|report --help
hierarchy draft --help"""
REFUSED = """|init|hierarchy|search --wrong|search --rows many|search --algorithm wrong|search --demo nowhere
search nowhere.toml|search --algorithm bnb --epsilon 1|init mine.csv --engine wrong|release nowhere.toml
release nowhere.toml --suppressed wrong|verify nowhere.toml|verify nowhere.csv|report nowhere.toml
hierarchy draft nowhere.csv|hierarchy draft t.csv --kind wrong|hierarchy check nowhere|hierarchy show nowhere.csv"""

MAIN = "from pymoo_anon.cli import main\nmain()"

# One process serves them all, since it takes half a second to begin. It lists the modules loaded after each.
IN_TURN = f"""
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
before = set()
for line in sys.stdin:
    sys.argv[1:], code = json.loads(line), 0
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as error:
        try:
            from pymoo_anon.cli import main
            main()
        except SystemExit as end:
            code = end.code
    loaded = {HEAVY!r} & set(sys.modules) - before
    before |= loaded
    print(json.dumps([code, sorted(loaded), error.getvalue()]))
"""


def test_what_needs_no_search_loads_nothing_for_one_and_a_search_does():
    Path("t.csv").write_text("a\n1\n")
    asked = dict.fromkeys(ANSWERED.split("|"), 0) | dict.fromkeys(re.split("[|\n]", REFUSED), 2)
    lines = [*map(str.split, asked), ["search", "--rows", "50", "--generations", "2"]]
    told = "".join(f"{json.dumps(line)}\n" for line in lines)
    done = subprocess.run([sys.executable, "-c", IN_TURN], input=told, capture_output=True, text=True, check=True)
    *quick, (code, loaded, _) = map(json.loads, done.stdout.splitlines())
    assert [(got, loaded) for got, loaded, _ in quick] == [(code, []) for code in asked.values()]
    assert not [error for _, _, error in quick if "Traceback" in error]
    assert code == 0
    assert {"numpy", "numba", "pymoo", "matplotlib"} <= set(loaded)
    # numba asks for scipy's version alone. All of it takes longer than all of this package. A demo has no frames.
    assert not {"scipy.spatial", "pandas.core", "narwhals", "matplotlib.pyplot"} & set(loaded)


AS_MODULE = """
import atexit, gc, runpy
atexit.register(lambda: print("GC", gc.isenabled(), gc.get_freeze_count() > 10**5))
runpy.run_module("pymoo_anon", run_name="__main__")
"""


def test_what_a_module_that_is_run_has_loaded_is_never_looked_through():
    done = python("-c", AS_MODULE, "search", "--rows", "100", "--generations", "3")
    assert done.stdout.endswith("GC True True\n")
    assert without_compiling(done.stderr) == ""
    assert sorted(os.listdir("front")) == FILES


COMPILED = """
import atexit
from numba.core.event import RecordingListener, register
listener = RecordingListener()
register("numba:compile", listener)
starts = lambda: [event.data["dispatcher"].py_func for _, event in listener.buffer if event.is_start]
atexit.register(lambda: print("COMPILED", *[f"{one.__module__}.{one.__name__}" for one in starts()]))
"""


@pytest.mark.slow
def test_a_first_search_compiles_little_and_says_so_and_a_second_nothing_until_the_cache_is_damaged(tmp_path):
    def searched():
        return python("-c", COMPILED + MAIN, "search", "--rows", "300", NUMBA_CACHE_DIR=str(tmp_path / "cache"))

    first, second = searched(), searched()
    compiled = first.stdout.split("COMPILED")[-1].split()
    # Each takes about a fifth of a second. Literal arguments and arrays of two layouts compile a loop twice.
    assert 20 < len(compiled) <= 54, compiled
    # The error of a slice assignment: copy in a loop.
    assert [name for name in compiled if "unicode" in name] == []
    assert second.stdout.split("COMPILED")[-1].split() == []
    assert COMPILING in first.stderr.splitlines()
    assert (without_compiling(first.stderr), second.stderr) == ("", "")
    for path in sorted((tmp_path / "cache").rglob("*.nb?"))[::5]:
        path.write_bytes(path.read_bytes()[:-9])
    third, fourth = searched(), searched()
    assert (third.returncode, without_compiling(third.stderr), fourth.stderr) == (0, "", "")
    assert len({one.stdout.split("COMPILED")[0] for one in (first, third, fourth)}) == 1


LATE = """
import sys
from pymoo_anon._rooms import load_late
load_late("sys")
load_late("wave")
import wave
assert sys.modules["sys"] is sys and "open" not in vars(wave)
assert wave.open is sys.modules["wave"].open
late = wave
import wave
assert "open" in vars(wave) and late.Error is wave.Error
late.nothing
"""


def test_a_late_module_loads_with_its_first_name():
    done = python("-c", LATE)
    assert done.stderr.endswith("AttributeError: module 'wave' has no attribute 'nothing'\n")


def test_no_part_of_pandas_loads_by_itself():
    """Python would load it twice where pandas is late."""
    for path in Path(pymoo_anon.__file__).parent.rglob("*.py"):
        assert not re.search(r"(from|import) pandas\.", path.read_text(encoding="utf-8")), path


# Ctrl-C at the moment of an import.
INTERRUPTED = """
import builtins, os, signal, sys
asked, importing = sys.argv.pop(), builtins.__import__
def hooked(name, *args, **kwargs):
    if name == asked:
        os.kill(os.getpid(), signal.SIGINT)
    return importing(name, *args, **kwargs)
from pymoo_anon.cli import main
builtins.__import__ = hooked
sys.argv[1:] = ["search"]
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="sends a signal to itself")
@pytest.mark.parametrize("module", ["rich_click", "pandas", "numba", "matplotlib"])
@pytest.mark.parametrize("number", ["SIGINT", pytest.param("SIGTERM", marks=pytest.mark.slow)])
def test_ctrl_c_while_modules_load(module, number):
    code = INTERRUPTED.replace("SIGINT", number)
    done = python("-c", code, module)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "Interrupted: nothing was written.\n"
    assert os.listdir() == []
