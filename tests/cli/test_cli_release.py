"""`pymoo-anon release`, `verify` and `report`: files written, counted again, refused or kept."""

import csv
import hashlib
import json
import shlex
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from command import OF_OWN_TABLE, command, made_in, refused, run, without_compiling
from command import write_project as write_any
from persons_of_a_report import payload, read
from processes import python

from pymoo_anon.publishing import read_evidence
from pymoo_anon.study import Study
from pymoo_anon.study.engines import write_table
from pymoo_anon.study.project import read_project
from pymoo_anon.study.tables import population_of

NOTES = ["=1+1", "-2", "+3", "@x", 'say "yes"', "a,b", "semi;colon", "two\nlines", "ä ö ß", " lead", "", "NA"]

RELEASE = Path("out.csv")
EVIDENCE = Path("out.csv.evidence.json")
CODEBOOK = Path("out.csv.codebook.csv")
#: Beginnings of values of the table.
VALUES = ["0213", "99999", "flu", "asthma", "Ms ", "p99", "semi;colon"]
#: Two releases of the table leave somebody alone.
ANYWAY = ("--anyway", "the second one is for tests alone")


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


ROLES = {"diagnosis": "sensitive", "patient": "person", "name": "identifier", "note": "keep"}


def write_project(data="mine.csv", engine="auto", release="out.csv", file="mine.toml", columns=ROLES, **searched):
    asked = {"objectives": ["k", "l", "GLM"], "suppression": 5, "output": "front"} | searched
    released = {"file": release, "suppressed": "drop"}
    write_any(OF_OWN_TABLE | columns, data, file, more={"engine": engine}, search=asked, release=released)


def write_data():
    ills = ["flu", "cold", "asthma"]
    rows = [
        (f"0213{i % 10}", "FM"[i // 3 % 2], ills[i % 3], f"p{i // 2}", f"Ms {i}", NOTES[i % 12]) for i in range(48)
    ] + [("99999", "F", "flu", "p99", "Ms 99", "last")]
    with Path("mine.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["zip", "sex", "diagnosis", "patient", "name", "note"])
        writer.writerows(rows)
    Path("trees").mkdir()
    zips = sorted({row[0] for row in rows})
    Path("trees/zip.csv").write_text("".join(f"{z};{z[:3]}**;*\n" for z in zips), encoding="utf-8")
    Path("trees/sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """Make a folder with a table, project, front and choice."""
    with made_in(tmp_path_factory, "search mine.toml", "pick mine.toml --require k>=4") as folder:
        write_data()
        write_project()
    return folder


@pytest.fixture(autouse=True)
def in_searched(searched, monkeypatch):
    monkeypatch.chdir(searched)
    write_project()
    yield searched
    Path("front", "releases.json").unlink(missing_ok=True)
    for path in Path().glob("out*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_a_release_is_written_with_its_evidence_and_verified():
    done = command("release", "mine.toml")
    assert (done.exit_code, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    assert said.startswith("Counted again: k in persons = 16, l = 3 and GLM = ")
    assert "What was promised holds. " in said
    assert "unique by all released columns" in said
    assert "Nothing is promised of kept columns (note). Dropped: patient and name." in said
    assert "Written: out.csv (1 row left out), .evidence.json, .codebook.csv" in said
    header, *rows = rows_of(RELEASE)
    assert header == ["zip", "sex", "diagnosis", "note"]
    assert len(rows) == 48
    # Missing values come last.
    assert rows == sorted(rows, key=lambda row: [(cell == "", cell) for cell in row])
    assert {row[0] for row in rows} == {"021**"}
    assert {row[3] for row in rows} == set(NOTES)
    content = read_evidence(EVIDENCE)
    assert content["checksums"]["output"] == {"out.csv": hashlib.sha256(RELEASE.read_bytes()).hexdigest()}
    assert content["checksums"]["input"] == {"mine.csv": hashlib.sha256(Path("mine.csv").read_bytes()).hexdigest()}
    assert content["suppressed"] == {"rows": 1, "of": 49, "how": "drop"}
    assert content["chosen"]["requirements"] == ["k in persons of patient >= 4"]
    assert content["search"]["certified"] is True
    assert not any(value in EVIDENCE.read_text(encoding="utf-8") for value in VALUES)
    header, *rows = rows_of(CODEBOOK)
    assert header == ["column", "label", "members", "level", "share of rows"]
    assert ["zip", "021**"] in [row[:2] for row in rows]
    assert {row[0] for row in rows} == {"zip", "sex"}
    checked = command("verify", "mine.toml")
    assert (checked.exit_code, checked.stdout, checked.stderr) == (0, "out.csv: holds.\n", "")


def test_the_commands_of_the_evidence_name_the_folder_and_the_options_of_the_search():
    # The algorithm that is typed leaves out what the file says to another.
    write_project(generations=5)
    asked = "--algorithm exhaustive --seed 0 --output out_front"
    run("search", "mine.toml", *asked.split())
    run("pick", "out_front", "--require", "k>=4")
    # A file of the usual name is of another search.
    RELEASE.write_text("another", encoding="utf-8")
    told = refused("verify", "out_front")
    assert told == "there is no release of out_front: pymoo-anon release out_front writes it"
    RELEASE.unlink()
    run("release", "out_front", *ANYWAY)
    before, (search, *others) = RELEASE.read_bytes(), read_evidence(EVIDENCE)["reproduce"]
    assert search == f"pymoo-anon search mine.toml {asked}"
    assert others[0].endswith("--require 'k:patient>=4'")
    for path in (RELEASE, EVIDENCE, CODEBOOK):
        path.unlink()
    shutil.rmtree("out_front")
    for line in (search, *others):
        run(*shlex.split(line)[1:])
    assert RELEASE.read_bytes() == before


@pytest.mark.slow
def test_spark_writes_the_same_file():
    run("release", "mine.toml")
    expected = rows_of(RELEASE)
    write_project(engine="spark", release="out2.csv")
    code = "import sys; from pymoo_anon.cli import main; sys.argv = ['pymoo-anon', 'release', 'mine.toml']; main()"
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    assert rows_of(Path("out2.csv")) == expected


def test_a_parquet_file_and_a_table_of_duckdb_are_released_too():
    frame = pd.read_csv("mine.csv", dtype=str, keep_default_na=False, na_values=[""])
    frame.to_parquet("out_mine.parquet")
    with duckdb.connect("out.duckdb") as connection:
        connection.execute("CREATE TABLE persons AS SELECT * FROM frame")
    for data, release in (("out_mine.parquet", "out1.parquet"), ("duckdb:out.duckdb:persons", "out2.csv")):
        write_project(data, "duckdb", release, "out.toml", output=f"out_{release}")
        run("search", "out.toml")
        run("release", "out.toml", "--row", "1")
        run("verify", "out.toml")
    header, *rows = rows_of(Path("out2.csv"))
    released = pd.read_parquet("out1.parquet")
    assert (list(released), released.fillna("").to_numpy().tolist()) == (header, rows)
    assert len(rows) == 49


def test_marked_rows_that_are_too_few_end_with_code_1_and_leave_nothing():
    done = command("release", "mine.toml", "--suppressed", "mark")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: nothing is released: counted again, k in persons of patient is 1 where ")
    assert 'suppressed = "drop" leaves them out' in done.stderr
    assert not RELEASE.exists()
    assert not EVIDENCE.exists()
    assert not list(Path().glob(".pymoo_anon*"))


def with_checksum(rows):
    """Write other rows, and the checksum of the file into its evidence."""
    with RELEASE.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    content = json.loads(EVIDENCE.read_text(encoding="utf-8"))
    content["checksums"]["output"]["out.csv"] = hashlib.sha256(RELEASE.read_bytes()).hexdigest()
    EVIDENCE.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(("column", "local"), [("diagnosis", []), ("note", ["--local"])])
def test_two_swapped_values_do_not_hold_though_the_checksum_is_replaced(column, local):
    """Keep every claim true: the checksum agrees and no row is lost."""
    run("release", "mine.toml", *local)
    run("verify", "mine.toml")
    header, *rows = rows_of(RELEASE)
    j = header.index(column)
    one = rows[0]
    other = next(row for row in rows if row[:2] != one[:2] and row[j] != one[j])
    one[j], other[j] = other[j], one[j]
    with_checksum([header, *rows])
    broken = "does not hold: 2 rows are other than the recoding makes them"
    assert run("verify", "mine.toml", code=1) == f"out.csv: {broken}.\n"
    told = refused("report", "mine.toml")
    assert told.startswith(f"out.csv {broken}; pymoo-anon release mine.toml --force writes it again")


def changed(path=RELEASE):
    path.write_text(path.read_text(encoding="utf-8").replace("flu", "flu ", 1), encoding="utf-8")


LOADED = """
import sys
from pymoo_anon.cli import main
sys.argv = ["pymoo-anon", *sys.argv[1:]]
try:
    main()
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


def loaded(*arguments):
    """Run a command in a process, and return its output and the loaded modules."""
    done = python("-c", LOADED, *arguments)
    return " ".join(done.stdout.split()), without_compiling(done.stderr).split()


def own(modules):
    return [name for name in modules if name.split(".")[0] == "pymoo_anon"]


def test_a_release_runs_through_few_files_of_the_package():
    said, modules = loaded("release", "mine.toml", "--row", "4")
    assert "What was promised holds." in said
    assert 30 < len(own(modules)) <= 64, "\n".join(own(modules))
    assert not {"moocore", "pymoo.core.algorithm", "matplotlib"} & {*modules}


def test_a_choice_loads_no_loops_no_engine_and_nothing_of_publishing():
    said, modules = loaded("pick", "mine.toml", "--row", "4")
    # The other tests have the choice of before.
    run("pick", "mine.toml", "--require", "k>=4")
    assert said.startswith("Row 4 of ")
    assert 30 < len(own(modules)) <= 49, "\n".join(own(modules))
    assert not {"numba", "narwhals", "duckdb", "pandas.core", "scipy", "moocore", "pymoo.core.algorithm"} & {*modules}
    assert not [name for name in own(modules) if name.startswith("pymoo_anon.publishing")]


def test_any_table_is_counted():
    Path("out5.csv").write_text("age;illness\n20-29;flu\n20-29;cold\n30-39;flu\n30-39;flu\n", encoding="utf-8")
    usual = ["verify", "out5.csv", "--quasi-identifier", "age", "--sensitive", "illness"]
    assert run(*usual).startswith("Counted again: out5.csv\n")
    run(*usual, "--require", "k>=2", "--require", "t<=0.3")
    failed = command(*usual, "--require", "k>=2", "--require", "l>=2", FORCE_COLOR="1", TERM="xterm")
    assert (failed.exit_code, failed.stdout[-36:]) == (1, "\x1b[1;31mSomething does not hold.\x1b[0m\n")
    run(*usual, "--require", "t<=0.2", "--original", "out5.csv", code=1)


def test_another_point_of_the_same_front_warns_and_is_named_in_the_evidence():
    run("release", "mine.toml", "--row", "1")
    again = command("release", "mine.toml", "--row", "1", "--output", "out_again.csv")
    assert (again.exit_code, again.stderr) == (0, "")
    first = read_evidence(EVIDENCE)
    second = "release", "mine.toml", "--row", "2"
    seen = "joint k = 1 and joint l of diagnosis = 1; 1 of 49 rows (2.0 %) is alone"
    told = refused(*second, "--output", "out_other.csv")
    assert f"whoever has it beside out.csv and out_again.csv and links their rows would see {seen}" in told
    assert "--anyway REASON, releases it nevertheless" in told
    other = command(*second, "--output", "out_other.csv", *ANYWAY)
    assert other.exit_code == 0, other.stderr
    broken = "joint k is 1 where at least 2 is required"
    assert f"Released anyway, although {broken}: {ANYWAY[1]}." in " ".join(other.stdout.split())
    assert other.stderr.splitlines()[0] == (
        "Warning: out.csv is another release of this table and out_again.csv is another release of this table. "
        f"Whoever has all of them and links their rows sees {seen}: publish only one"
    )
    told = read_evidence(Path("out_other.csv.evidence.json"))
    earlier = told["earlier"]
    assert [one["file"] for one in earlier] == ["out.csv", "out_again.csv"]
    assert told["joint"] == {"k": 1, "l": {"diagnosis": 1}, "alone": 1, "below": 1, "single_k": 24}
    assert (told["anyway"], told["exceptions"]) == (ANYWAY[1], [broken])
    assert told["reproduce"][-1].endswith("--anyway 'the second one is for tests alone'")
    assert earlier[0]["sha256"] == first["checksums"]["output"]["out.csv"]
    assert earlier[0]["x"] == first["front"][first["chosen"]["place"]]["x"]
    assert (first["earlier"], first["joint"]) == ([], None)


def test_a_release_of_another_search_is_counted_where_that_is_found(monkeypatch):
    run("release", "mine.toml", "--row", "1")
    Path("odd.evidence.json").write_text("{}", encoding="utf-8")
    # No persons and other columns: their classes are compared by the tuples alone.
    write_project(file="out_of.toml", columns={"diagnosis": "drop", "patient": "drop", "name": "drop", "note": "drop"})
    run("search", "out_of.toml", "--output", "out_search", "--objectives", "k,GLM")
    made = "release", "out_search", "--output", "out_other.csv", "--row"
    seen = "joint k = 1; 1 of 49 rows (2.0 %) is alone"
    told = f"whoever has it beside out.csv and links their rows would see {seen}"
    assert told in refused(*made, "2")
    with monkeypatch.context() as elsewhere:
        own = Path.cwd()
        elsewhere.chdir(own.parent)
        named = (f"{own.name}/{one}" if one.startswith("out_") else one for one in made)
        assert told in refused(*named, "2")
    run(*made, "2", *ANYWAY)
    told = read_evidence(Path("out_other.csv.evidence.json"))
    assert [one["file"] for one in told["earlier"]] == ["out.csv"]
    assert told["joint"] == {"k": 1, "l": {}, "alone": 1, "below": 1, "single_k": 48}
    assert told["exceptions"] == ["joint k is 1 where at least 2 is required"]
    # The first search counts persons and diagnoses.
    seen = "joint k = 1 and joint l of diagnosis = 1; 1 of 49 rows (2.0 %) is alone"
    assert f"Whoever has the 2 releases and links their rows sees {seen}.\n" in run("verify", "mine.toml")


def test_a_release_of_another_search_warns_where_that_is_not_found():
    run("release", "mine.toml", "--row", "1")
    run("search", "mine.toml", "--output", "out_search")
    made = "release", "out_search", "--output", "out_other.csv", "--row"
    # The same file tells nothing more.
    assert command(*made, "1").stderr == ""
    renamed = {"front": "gone", "out.csv": "sent.csv", "out.csv.evidence.json": "sent.csv.evidence.json"}
    for old, new in renamed.items():
        Path(old).rename(new)
    result = command(*made, "2", "--force")
    for old, new in renamed.items():
        Path(new).rename(old)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.splitlines()[-1] == (
        "Warning: sent.csv is another release of this table. Whoever has both can compare them, and find people that "
        "none of them reveals alone: publish only one"
    )
    assert [one["file"] for one in read_evidence(Path("out_other.csv.evidence.json"))["earlier"]] == ["out_other.csv"]


def test_verify_counts_all_that_was_released_and_names_each():
    run("release", "mine.toml", "--row", "1")
    run("release", "mine.toml", "--row", "2", "--output", "out_other.csv", *ANYWAY)
    changed(Path("out_other.csv"))
    wrong = "does not hold: the file has changed: its checksum differs"
    seen = "joint k = 1 and joint l of diagnosis = 1; 1 of 49 rows (2.0 %) is alone"
    both = f"Whoever has the 2 releases and links their rows sees {seen}.\n"
    assert run("verify", "mine.toml", code=1) == f"out.csv: holds.\nout_other.csv: {wrong}.\n{both}"
    # The one that is damaged need not be the last one.
    again = "release", "mine.toml", "--row", "2", "--output", "out_other.csv", "--force"
    run(*again, *ANYWAY)
    changed()
    assert run("verify", "mine.toml", code=1) == f"out.csv: {wrong}.\nout_other.csv: holds.\n{both}"
    RELEASE.unlink()
    missing = "out.csv: is missing: put it back, or delete it in front/releases.json.\n"
    assert run("verify", "mine.toml", code=1) == f"{missing}out_other.csv: holds.\n"
    (kept, *_), path = json.loads(Path("front", "releases.json").read_text()), Path("front", "releases.json")
    parts = [{"file": 1}, {"x": "1"}, {"database": 1}, {"requirements": [None]}, {"columns": [1]}]
    for damaged in ("[1]", "[" * 100_000, *(json.dumps([{**kept, **part}]) for part in parts)):
        path.write_text(damaged, encoding="utf-8")
        wrong = refused("verify", "mine.toml")
        assert wrong.startswith("front/releases.json must be what pymoo-anon release wrote, got ")


def test_a_column_that_may_name_a_person_is_kept_for_a_reason_of_the_project():
    write_project(columns=ROLES | {"name": "keep"})
    told = refused("release", "mine.toml")
    assert told.startswith("keep must say why 'name' is released as it is: ")
    assert f"Warning: {told}\n" in run("search", "mine.toml", "--output", "again")
    kept = {"role": "keep", "reason": "all of them agreed to it"}
    write_project(columns=ROLES | {"name": kept, "note": kept})
    said = " ".join(run("release", "mine.toml").split())
    assert "48 (100.0 %) by kept columns (name and note: all of them agreed to it)" in said
    assert "Nothing is promised of kept columns (name and note). Dropped: patient." in said
    assert run("verify", "mine.toml") == "out.csv: holds.\n"


def test_a_carriage_return_that_pandas_writes_is_no_end_of_a_row():
    write_table(pd.DataFrame({"x": ["a\rb", None, "c"], "Größe": "y"}), RELEASE)
    assert rows_of(RELEASE) == [["x", "Größe"], ["a\rb", "y"], ["", "y"], ["c", "y"]]


def test_a_codebook_of_values_of_single_rows_is_told(folder):
    rows = [f"{i % 28 + 1:02}.{i % 12 + 1:02}.{1950 + i % 50},{'FM'[i % 2]}\n" for i in range(200)]
    Path("mine.csv").write_text("born,sex\n" + "".join(rows))
    run("init", "mine.csv")
    run("search", "mine.toml")
    run("pick", "mine.toml", "--require", "k>=5")
    assert "The codebook lists values of single rows of born. Keep it" in run("release", "mine.toml")
    # A day more that nobody has: the list no longer tells who is there.
    path = Path("hierarchies/born.csv")
    path.write_text(path.read_text() + "31.12.1999;1999-Q4;1999;1990s;*\n")
    run("search", "mine.toml")
    run("pick", "mine.toml", "--require", "k>=5")
    assert "single rows" not in run("release", "mine.toml", "--force")


REPORT, EXTERNAL = Path("out.report.html"), Path("out.external.html")


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Make a folder with a released table, its project and its choice."""
    commands = "search mine.toml", "pick mine.toml --require k>=5 --least GLM", "release mine.toml"
    with made_in(tmp_path_factory, *commands) as folder:
        write_data()
        write_project()
    return folder


@pytest.fixture
def with_release(released, folder):
    return shutil.copytree(released, folder, dirs_exist_ok=True)


def test_the_report_is_that_of_the_chosen_point(with_release):
    result = command("report", "mine.toml")
    assert (result.exit_code, result.stdout) == (0, f"Written: {REPORT}, about {RELEASE}\n"), result.output
    page, data = read(REPORT.read_text(encoding="utf-8")), payload(REPORT.read_text(encoding="utf-8"))
    content = json.loads(EVIDENCE.read_text(encoding="utf-8"))
    assert data["chosen"] == json.loads(Path("front/choice.json").read_text(encoding="utf-8"))["row"]
    assert [row[0] for row in page.tables["claims"]] == [claim["measure"] for claim in content["claims"]]
    assert {row[-1] for row in page.tables["claims"]} == {"yes"}
    # The requirement of pick is shown as met, and every column of the release with its role.
    assert [row[1:] for row in page.tables["requirements"]] == [["met", "16", "pick"]]
    assert page.sentences["decision"][0] == "All requirements are met."
    assert [row[0] for row in page.tables["columns"]] == list(pd.read_csv(RELEASE))
    told = dict(map(tuple, page.tables["evidence"]))
    assert told["checksums › output › out.csv"] == content["checksums"]["output"]["out.csv"]
    assert told["search › seed"] == "1"
    assert "front is proven" in page.sentences["front"][0]
    # Rows are dropped, so that only the rows of the released file are shown.
    sizes = data["pool"][next(m for m in data["members"] if m["point"] == data["chosen"])["tables"]["sizes"]]
    assert sum(row[1] for row in sizes) == len(pd.read_csv(RELEASE))


def test_the_evidence_of_a_report_is_read_once(with_release, monkeypatch):
    read = []
    monkeypatch.setattr("pymoo_anon.study.study.read_evidence", lambda path: read.append(path) or read_evidence(path))
    Study.open("front").report(REPORT)
    assert read == [EVIDENCE]


def test_what_was_required_is_what_the_release_promised(with_release):
    """Keep the requirement of the release where its point is picked again without one."""
    run("pick", "mine.toml", "--row", str(json.loads(Path("front/choice.json").read_text(encoding="utf-8"))["row"]))
    run("report", "mine.toml")
    page = read(REPORT.read_text(encoding="utf-8"))
    assert [row[0] for row in page.tables["requirements"]] == ["k in persons ≥ 5"]


def test_outsiders_get_a_report_of_their_own(with_release):
    run("report", "mine.toml", "--external")
    assert not REPORT.exists()
    made = EXTERNAL.read_text(encoding="utf-8")
    assert "What was left out" in made
    assert "99999" not in "".join(read(made).texts)
    assert "99999" not in json.dumps({**payload(made), "charts": None})


def test_it_says_what_is_not_in_it(with_release):
    EVIDENCE.unlink()
    result = run("report", "mine.toml", "--output", "mine.html", "--threshold", "0.2")
    assert result.splitlines() == [
        "The report has no claims and no evidence: pymoo-anon release mine.toml writes them.",
        "Written: mine.html, about a choice that is not released",
    ]
    page = read(Path("mine.html").read_text(encoding="utf-8"))
    assert page.tables.get("claims") is None
    assert "a risk of 0.2, corresponds to k ≥ 5;" in " ".join(page.sentences["decision"])


def test_a_population_is_read_like_the_table(with_release):
    rows = pd.read_csv("mine.csv", dtype=str)
    pd.concat([rows] * 3).assign(more="x").to_csv("people.csv", index=False)
    run("report", "mine.toml", "--population", "people.csv")
    data = payload(REPORT.read_text(encoding="utf-8"))
    (member,) = (member for member in data["members"] if member["point"] == data["chosen"])
    journalist = data["pool"][member["tables"]["risks"]][2]
    sizes = pd.read_csv(RELEASE, dtype=str).groupby(["zip", "sex"]).size()
    assert journalist[2] == pytest.approx(1 / (3 * sizes.min()), rel=1e-5)


@pytest.mark.parametrize("own", [{"strip": True}, {"names": ("zip", "sex")}])
def test_a_population_that_is_no_csv_file_is_read_by_its_own_rules(with_release, own):
    pd.read_csv("mine.csv", dtype=str).to_parquet("people.parquet")
    project = read_project(Path("mine.toml"))
    front = Study(project).front
    odd = replace(project, reading=project.reading._replace(**own))
    assert population_of(odd, front.table, "people.parquet").n_rows == front.table.n_rows


def test_the_evidence_is_that_of_what_was_released_last(with_release):
    row = json.loads(Path("front/choice.json").read_text(encoding="utf-8"))["row"]
    run("pick", "mine.toml", "--row", str(1 if row > 1 else 2))
    run("release", "mine.toml", "--output", "other.csv", "--anyway", "it is only a test")
    result = command("report", "mine.toml")
    assert (result.exit_code, result.stdout) == (0, "Written: other.report.html, about other.csv\n"), result.output
    told = dict(map(tuple, read(Path("other.report.html").read_text(encoding="utf-8")).tables["evidence"]))
    assert told["checksums › output › other.csv"] == hashlib.sha256(Path("other.csv").read_bytes()).hexdigest()
    Path("other.csv").write_text("changed")
    assert "other.csv does not hold: the file has changed" in refused("report", "mine.toml", "--force")


def changed_by_hand(key, value):
    content = json.loads(EVIDENCE.read_text(encoding="utf-8"))
    assert content["claims"][0][key] != value
    content["claims"][0][key] = value
    EVIDENCE.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (partial(RELEASE.write_text, "one more\n"), "does not hold: the file has changed: its checksum differs"),
        *(
            (partial(changed_by_hand, *claim), "out.csv.evidence.json differs from the search and the recount")
            for claim in (("promised", 7), ("recounted", 40), ("holds", None), ("measure", "GLM"))
        ),
    ],
)
def test_what_does_not_hold_is_verified_and_reported_by_no_command(with_release, damage, words):
    damage()
    assert words in refused("report", "mine.toml")
    assert words in run("verify", "mine.toml", code=1)


def test_a_release_that_is_missing_or_of_another_point_is_no_report(with_release):
    RELEASE.rename("elsewhere.csv")
    assert "out.csv is missing, and out.csv.evidence.json is there" in refused("report", "mine.toml")
    Path("elsewhere.csv").rename(RELEASE)
    run("release", "mine.toml", "--row", "1", "--output", "other.csv", "--anyway", "it is only a test")
    assert "about out.csv\n" in run("report", "mine.toml")
    run("pick", "mine.toml", "--row", "1")
    assert "about other.csv\n" in run("report", "mine.toml")
    run("pick", "mine.toml", "--row", "2")
    assert "is about another point than the chosen" in refused("report", "mine.toml", "--force")


def test_the_project_file_says_whose_data_and_for_whom(with_release):
    whole = Path("mine.toml").read_text(encoding="utf-8")
    said = '[report]\nowner = "the clinic"\nrecipients = "everybody"\npopulation-size = 5000\n'
    Path("mine.toml").write_text(f"{whole}\n{said}", encoding="utf-8")
    run("report", "mine.toml")
    page = read(REPORT.read_text(encoding="utf-8"))
    missing = "Purpose is not stated: fill in [report] of the project file, or step 6 of the screen."
    assert {"the clinic", "everybody", "mine.csv", "out.csv", missing} <= set(page.texts)
    assert page.sentences["open"][0] == missing
    assert not any("unique in the population" in words for words in page.sentences["open"])
    # An option wins over the file.
    told = refused("report", "mine.toml", "--population-size", "7", "--force")
    assert "--population-size must be a whole number from" in told
