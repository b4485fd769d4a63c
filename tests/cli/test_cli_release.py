"""`pymoo-anon release` and `verify`: files written, counted again, refused or kept."""

import csv
import hashlib
import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from command import OF_OWN_TABLE, command, made_in, run, search, without_compiling
from command import write_project as write_any

from pymoo_anon.publishing import read_evidence
from pymoo_anon.study.engines import kind_of, write_table

NOTES = ["=1+1", "-2", "+3", "@x", 'say "yes"', "a,b", "semi;colon", "two\nlines", "ä ö ß", " lead", "", "NA"]

RELEASE = Path("out.csv")
EVIDENCE = Path("out.csv.evidence.json")
CODEBOOK = Path("out.csv.codebook.csv")
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
        path.unlink()


def test_a_release_is_written_with_its_evidence_and_verified():
    done = command("release", "mine.toml")
    assert (done.exit_code, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    assert said.startswith("Counted again: k in persons = 16, l = 3 and GLM = ")
    assert "What was promised holds. " in said
    unique = {one["columns"]: one["unique"] for one in read_evidence(EVIDENCE)["uniqueness"]}
    rows = rows_of(RELEASE)[1:]
    assert unique["all released columns"] == sum(rows.count(row) == 1 for row in rows)
    assert "unique by all released columns" in said
    assert "Nothing is promised of kept columns (note). Dropped: patient and name." in said
    assert read_evidence(EVIDENCE)["dropped"] == ["patient", "name"]
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
    assert [claim["holds"] for claim in content["claims"]] == [True] * 4
    assert content["chosen"]["requirements"] == ["k in persons of patient >= 4"]
    assert content["search"]["certified"] is True
    assert content["reproduce"][0] == "pymoo-anon search mine.toml"
    checked = command("verify", "mine.toml")
    assert (checked.exit_code, checked.stderr) == (0, "")
    assert checked.stdout == "out.csv: holds.\n"


def test_the_commands_of_the_evidence_make_the_same_release():
    assert command("release", "mine.toml").exit_code == 0
    before, content = RELEASE.read_bytes(), read_evidence(EVIDENCE)
    (_, pick, again), choice = content["reproduce"], Path("front/choice.json")
    assert pick.endswith("--require 'k:patient>=4'")
    for path in (RELEASE, EVIDENCE, CODEBOOK):
        path.unlink()
    kept = choice.read_bytes()
    try:
        choice.unlink()
        for line in (pick, again):
            done = command(*shlex.split(line)[1:])
            assert done.exit_code == 0, done.output
    finally:
        choice.write_bytes(kept)
    assert read_evidence(EVIDENCE)["claims"] == content["claims"]
    assert RELEASE.read_bytes() == before


def test_evidence_holds_no_value_of_the_data():
    assert command("release", "mine.toml").exit_code == 0
    text = EVIDENCE.read_text(encoding="utf-8")
    for value in ["0213", "99999", "flu", "asthma", "Ms ", "p99", "semi;colon"]:
        assert value not in text


@pytest.mark.slow
def test_spark_writes_the_same_file():
    assert command("release", "mine.toml").exit_code == 0
    expected = rows_of(RELEASE)
    write_project(engine="spark", release="out2.csv")
    code = "import sys; from pymoo_anon.cli import main; sys.argv = ['pymoo-anon', 'release', 'mine.toml']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert rows_of(Path("out2.csv")) == expected


def test_a_parquet_file_and_a_table_of_duckdb_are_released_too():
    assert command("release", "mine.toml").exit_code == 0
    header, *expected = rows_of(RELEASE)
    frame = pd.read_csv("mine.csv", dtype=str, keep_default_na=False, na_values=[""])
    frame.to_parquet("out_mine.parquet")
    with duckdb.connect("out.duckdb") as connection:
        connection.execute("CREATE TABLE persons AS SELECT * FROM frame")
    for data, engine, release in (
        ("out_mine.parquet", "auto", "out3.parquet"),
        ("out_mine.parquet", "duckdb", "out3.csv"),
        ("duckdb:out.duckdb:persons", "duckdb", "out4.csv"),
    ):
        write_project(data, engine, release, "out.toml", output=f"out_{release}")
        assert search("out.toml").exit_code == 0
        done = command("release", "out.toml", "--row", "1")
        assert done.exit_code == 0, done.stderr
        assert command("verify", "out.toml").exit_code == 0
        # The other ways choose the same first row of the front, and so the same release.
        x = read_evidence(Path(f"{release}.evidence.json"))["front"][0]["x"]
        names, first = (line.split(",") for line in Path(f"out_{release}", "front.csv").read_text().splitlines()[:2])
        assert x == [int(first[names.index(name)]) for name in ("zip", "sex")]
        for path in Path(f"out_{release}").iterdir():
            path.unlink()
        Path(f"out_{release}").rmdir()
    assert header == list(pd.read_parquet("out3.parquet"))
    one, other = (pd.read_csv(name, dtype=str) for name in ("out3.csv", "out4.csv"))
    pd.testing.assert_frame_equal(one, other)
    assert len(expected) == 48


def test_marked_rows_that_are_too_few_end_with_code_1_and_leave_nothing():
    done = command("release", "mine.toml", "--suppressed", "mark")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: nothing is released: counted again, k in persons of patient is 1 where ")
    assert 'suppressed = "drop" leaves them out' in done.stderr
    assert not RELEASE.exists()
    assert not EVIDENCE.exists()
    assert not list(Path().glob(".pymoo_anon*"))


def test_a_release_is_replaced_only_by_force():
    assert command("release", "mine.toml").exit_code == 0
    before = RELEASE.stat().st_mtime_ns
    done = command("release", "mine.toml")
    assert done.exit_code == 2
    assert done.stderr == "Error: out.csv exists; --force replaces it, --output names another place\n"
    assert RELEASE.stat().st_mtime_ns == before
    assert command("release", "mine.toml", "--force").exit_code == 0


def with_checksum(rows):
    """Write other rows, and the checksum of the file into its evidence."""
    with RELEASE.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    content = json.loads(EVIDENCE.read_text(encoding="utf-8"))
    content["checksums"]["output"]["out.csv"] = hashlib.sha256(RELEASE.read_bytes()).hexdigest()
    EVIDENCE.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("local", [[], ["--local"]])
@pytest.mark.parametrize("column", ["diagnosis", "note"])
def test_two_swapped_values_do_not_hold_though_the_checksum_is_replaced(column, local):
    """Keep every claim true: the checksum agrees and no row is lost."""
    assert command("release", "mine.toml", *local).exit_code == 0
    assert command("verify", "mine.toml").exit_code == 0
    header, *rows = rows_of(RELEASE)
    j = header.index(column)
    one = rows[0]
    other = next(row for row in rows if row[:2] != one[:2] and row[j] != one[j])
    one[j], other[j] = other[j], one[j]
    with_checksum([header, *rows])
    done = command("verify", "mine.toml")
    broken = "out.csv does not hold: 2 rows are other than the recoding makes them"
    assert (done.exit_code, done.stdout) == (1, f"{broken.replace('csv', 'csv:', 1)}.\n")
    done = command("report", "mine.toml")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {broken}; pymoo-anon release mine.toml --force writes it again")
    assert not Path("out.report.html").exists()


def changed(path=RELEASE):
    path.write_text(path.read_text(encoding="utf-8").replace("flu", "flu ", 1), encoding="utf-8")


def promised_less():
    content = json.loads(EVIDENCE.read_text(encoding="utf-8"))
    content["claims"][0]["promised"] = 2
    EVIDENCE.write_text(json.dumps(content), encoding="utf-8")


def of_one_illness():
    header, *rows = rows_of(RELEASE)
    with_checksum([header, *([*row[:2], "flu", row[3]] for row in rows)])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (changed, "the file has changed: its checksum differs"),
        (promised_less, "out.csv.evidence.json differs from the search and the recount"),
        (of_one_illness, "32 rows are other than the recoding makes them"),
    ],
)
def test_a_damaged_release_does_not_hold(damage, words):
    assert command("release", "mine.toml").exit_code == 0
    damage()
    done = command("verify", "mine.toml")
    assert (done.exit_code, done.stdout, done.stderr) == (1, f"out.csv: does not hold: {words}.\n", "")


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
    done = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
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
    counted = command(*usual)
    assert counted.exit_code == 0
    assert counted.stdout.startswith("Counted again: out5.csv\n")
    assert command(*usual, "--require", "k>=2", "--require", "t<=0.3").exit_code == 0
    failed = command(*usual, "--require", "k>=2", "--require", "l>=2")
    assert failed.exit_code == 1
    assert failed.stdout.endswith("Something does not hold.\n")
    assert command(*usual, "--require", "t<=0.2", "--original", "out5.csv").exit_code == 1


def test_the_codebook_says_what_the_labels_stand_for():
    assert command("release", "mine.toml").exit_code == 0
    header, *rows = rows_of(CODEBOOK)
    assert header == ["column", "label", "members", "level", "share of rows"]
    assert ["zip", "021**"] in [row[:2] for row in rows]
    assert {row[0] for row in rows} == {"zip", "sex"}


def test_another_point_of_the_same_front_warns_and_is_named_in_the_evidence():
    assert command("release", "mine.toml", "--row", "1").exit_code == 0
    again = command("release", "mine.toml", "--row", "1", "--output", "out_again.csv")
    assert (again.exit_code, again.stderr) == (0, "")
    first = read_evidence(EVIDENCE)
    second = "release", "mine.toml", "--row", "2"
    refused = command(*second, "--output", "out_other.csv")
    seen = "joint k = 1 and joint l of diagnosis = 1; 1 of 49 rows (2.0 %) is alone"
    assert (refused.exit_code, Path("out_other.csv").exists()) == (2, False)
    assert f"whoever has it beside out.csv and out_again.csv and links their rows would see {seen}" in refused.stderr
    other = command(*second, "--output", "out_other.csv", *ANYWAY)
    assert other.exit_code == 0, other.stderr
    assert other.stderr.splitlines()[0] == (
        "Warning: out.csv is another release of this table. Whoever has all of them and links their rows sees "
        f"{seen}: publish only one"
    )
    told = read_evidence(Path("out_other.csv.evidence.json"))
    earlier = told["earlier"]
    assert [one["file"] for one in earlier] == ["out.csv", "out_again.csv"]
    assert told["joint"] == {"k": 1, "l": {"diagnosis": 1}, "alone": 1, "below": 1, "single_k": 24}
    assert told["exceptions"] == ["joint k is 1 where at least 2 is required"]
    instead = command(*second, "--force", *ANYWAY)
    assert instead.stderr.startswith("Warning: out.csv was another release of this table until now. Whoever has all")
    assert earlier[0]["sha256"] == first["checksums"]["output"]["out.csv"]
    assert earlier[0]["x"] == first["front"][first["chosen"]["place"]]["x"]
    assert first["earlier"] == []
    assert first["joint"] is None


def test_verify_counts_all_that_was_released_and_names_each():
    assert command("release", "mine.toml", "--row", "1").exit_code == 0
    assert command("release", "mine.toml", "--row", "2", "--output", "out_other.csv", *ANYWAY).exit_code == 0
    changed(Path("out_other.csv"))
    found = command("verify", "mine.toml")
    wrong = "does not hold: the file has changed: its checksum differs"
    seen = "joint k = 1 and joint l of diagnosis = 1; 1 of 49 rows (2.0 %) is alone"
    both = f"Whoever has the 2 releases and links their rows sees {seen}.\n"
    assert (found.exit_code, found.stdout) == (1, f"out.csv: holds.\nout_other.csv: {wrong}.\n{both}")
    # The one that is damaged need not be the last one.
    again = "release", "mine.toml", "--row", "2", "--output", "out_other.csv", "--force"
    assert command(*again, *ANYWAY).exit_code == 0
    changed()
    found = command("verify", "mine.toml")
    assert (found.exit_code, found.stdout) == (1, f"out.csv: {wrong}.\nout_other.csv: holds.\n{both}")
    RELEASE.unlink()
    found = command("verify", "mine.toml")
    missing = "out.csv: is missing: put it back, or delete it in front/releases.json.\n"
    assert (found.exit_code, found.stdout) == (1, f"{missing}out_other.csv: holds.\n")
    for damaged in ("[1]", "[" * 100_000):
        Path("front", "releases.json").write_text(damaged, encoding="utf-8")
        wrong = command("verify", "mine.toml")
        assert wrong.exit_code == 2
        assert wrong.stderr.startswith("Error: front/releases.json must be what pymoo-anon release wrote, got ")


def test_a_k_of_one_is_released_only_for_a_reason_that_the_evidence_records():
    write_project(file="out.toml", suppression=0, output="front3")
    assert search("out.toml").exit_code == 0
    front = pd.read_csv("front3/front.csv")
    row = str(front.index[front.iloc[:, 2] == 1][0] + 1)
    refused = command("release", "out.toml", "--row", row)
    assert refused.exit_code == 2
    assert "--anyway REASON, releases it nevertheless" in refused.stderr
    reason = "the ministry asked for it"
    done = command("release", "out.toml", "--row", row, "--anyway", reason)
    assert done.exit_code == 0, done.stderr
    said = " ".join(done.stdout.split())
    broken = "k in persons of patient is 1 where at least 2 is required"
    assert f"Released anyway, although {broken}: the ministry asked for it." in said
    content = read_evidence(EVIDENCE)
    assert (content["anyway"], content["exceptions"]) == (reason, [broken])
    assert content["reproduce"][1].endswith("--anyway 'the ministry asked for it'")
    assert command("verify", "out.toml").exit_code == 0
    for path in Path("front3").iterdir():
        path.unlink()
    Path("front3").rmdir()


def test_a_column_that_may_name_a_person_is_kept_for_a_reason_of_the_project():
    write_project(columns=ROLES | {"name": "keep"})
    said = run("release", "mine.toml", code=2)
    assert said.startswith("Error: keep must say why 'name' is released as it is: ")
    write_project(columns=ROLES | {"name": {"role": "keep", "reason": "all of them agreed to it"}})
    done = command("release", "mine.toml")
    assert done.exit_code == 0, done.stderr
    said = " ".join(done.stdout.split())
    told = (
        "48 of 48 rows (100.0 %) are unique by all released columns, 48 (100.0 %) by kept columns (name: all of them "
    )
    assert f"{told}agreed to it)" in said
    assert "Nothing is promised of kept columns (name and note). Dropped: patient." in said
    content = read_evidence(EVIDENCE)
    assert {"column": "name", "role": "keep", "reason": "all of them agreed to it"} in content["columns"]
    assert {"columns": "kept columns", "unique": 48, "rows": 48} in content["uniqueness"]
    checked = command("verify", "mine.toml")
    assert (checked.exit_code, checked.stdout) == (0, "out.csv: holds.\n")


KILLED = """
import os, signal, sys
from pymoo_anon.study import releasing, study
module = {module}
usual = module.{name}
def killed(*arguments, **kwargs):
    {before}os.kill(os.getpid(), signal.{signal})
    return usual(*arguments, **kwargs)
module.{name} = killed
from pymoo_anon.cli import main
sys.argv = ["pymoo-anon", "release", "mine.toml"]
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name"), [("releasing", "write_table"), ("releasing", "open_again"), ("study", "put_in_place")]
)
@pytest.mark.parametrize("number", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_release_that_is_killed_leaves_no_file_under_its_name(module, name, number):
    code = KILLED.format(module=module, name=name, signal=number, before="")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == (-signal.SIGKILL if number == "SIGKILL" else 130), done.stderr
    assert not RELEASE.exists()
    assert not EVIDENCE.exists()
    left = list(Path().glob(".pymoo_anon*"))
    assert bool(left) == (number == "SIGKILL")
    # The next one removes the leftovers, and ends as usual.
    assert command("release", "mine.toml").exit_code == 0
    assert not list(Path().glob(".pymoo_anon*"))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_cells_come_out_of_every_writer_unharmed(kind, tmp_path):
    cells = sorted([*filter(None, NOTES), "a\rb", "\\", '"', "'", "None", "nan", "1e5", "0123"])
    frame = pd.DataFrame({'we"ird, name': [*cells, None], "Größe": "x"})
    kinds = {"duckdb": duckdb.sql("SELECT * FROM frame")} | ({"pandas": frame} if kind == "csv" else {})
    for name, table in kinds.items():
        path = tmp_path / f"{name}.{kind}"
        write_table(table, path)
        if kind == "csv":
            assert rows_of(path) == [list(frame), *([cell, "x"] for cell in cells), ["", "x"]], name
        else:
            own = pd.read_parquet(path)
            assert own.iloc[:-1, 0].tolist() == cells, name
            assert pd.isna(own.iloc[-1, 0])
    assert kind_of(Path("a.CSV")) == "csv"
