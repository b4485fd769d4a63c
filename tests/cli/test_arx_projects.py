"""Import of ARX projects: settings taken over, named or refused, same optimum."""

import csv
import re
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from arx_projects import IDENTIFYING, INSENSITIVE, QUASI, SENSITIVE, config_of, definition_of, entries, write
from command import refused, run

from benchmarks.papers.arx_optima import COLUMN, EIGHT, FOLDER, NINE
from pymoo_anon.study import Study, arx
from pymoo_anon.study.project import read_project
from pymoo_anon.study.tables import open_table, table_of

ROWS = [
    ["name", "Größe", "zip", "note", "diag;nosis"],
    *([f"n{i}", str(150 + i % 20), f"0213{i % 4}", f'"{i % 2}"', ["flu", "cold", "NULL"][i % 3]] for i in range(40)),
]
COLUMNS = [
    ("name", IDENTIFYING, None, []),
    ("Größe", QUASI, ("1", "All"), []),
    ("zip", QUASI, ("All", "All"), [("microAggregationFunction", "Mode")]),
    ("note", INSENSITIVE, None, []),
    ("diag;nosis", SENSITIVE, ("All", "All"), []),
]
HIERARCHIES = {
    "Größe": [[str(h), f"{h // 10}x", "*"] for h in range(150, 170)],
    "zip": [[f"0213{i}", f"0213{i // 2 * 2}-{i // 2 * 2 + 1}", "*"] for i in range(4)],
    "diag;nosis": [["flu", "*"], ["cold", "*"], ["NULL", "*"]],
}
CRITERIA = ["3-anonymity", "distinct-2-diversity for attribute 'diag;nosis'", "(<0.05)-sample-uniques"]
CONFIG = config_of(CRITERIA, 0.1, {"Größe": 0.75, "zip": 0.25}, monotonic="true")


def project(**changes):
    made = entries(ROWS, COLUMNS, HIERARCHIES, CONFIG)
    return {name: own for name, own in {**made, **changes}.items() if own is not None}


def test_what_is_taken_over(folder):
    write("my.deid", project())
    said = run("init", "my.deid")
    assert said.endswith("\nNext: read and edit both, then: pymoo-anon search my.toml\n")
    own = read_project(Path("my.toml"))
    roles = ["identifier", "quasi-identifier", "quasi-identifier", "keep", "sensitive"]
    assert {name: column.role for name, column in own.columns.items()} == dict(zip(ROWS[0], roles, strict=True))
    assert own.columns["Größe"].levels == (1, 2)
    assert own.columns["zip"].levels is None
    assert [own.columns[name].weight for name in ("Größe", "zip")] == [0.75, 0.25]
    assert own.columns["note"].reason == "insensitive in the project of ARX"
    assert (own.missing, own.reading.empty) == ("keep", ("NULL",))
    assert own.search["require"] == ["k>=3", "l:diag;nosis>=2"]
    assert own.search["suppression"] == "violating:0.1"
    table = open_table(own.reading, list(own.columns))
    assert [note for (note,) in table.project("note").fetchall()] == [row[3] for row in ROWS[1:]]
    left = [
        "zip: microAggregationFunction = Mode",
        "diag;nosis: the hierarchy, as it is no quasi-identifier",
        "the privacy model (<0.05)-sample-uniques",
        "the aggregate function of the quality model",
        "the assumption of practical monotonicity",
        "objects of Java (*.dat), which nothing here reads",
    ]
    text = Path("my.toml").read_text(encoding="utf-8")
    for line in left:
        assert line in " ".join(said.split())
        assert line in text
    run("search", "my.toml")
    front = Study(own).front
    assert front.X[:, 0].min() >= 1
    run("release", "my.toml", "--row", "1")
    assert run("verify", "my.toml") == f"{own.release}: holds.\n"
    assert "name" not in pd.read_csv(own.release.path)


def test_privacy_models():
    """Read the models of ARX as bounds, and leave out those without one."""
    with Path(__file__).with_name("arx_models.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            assert arx._bound(row["model"]) == (row["bound"] or None)


BOMB = '<!DOCTYPE a [<!ENTITY x "xxxx"><!ENTITY y "&x;&x;">]><definition>&y;</definition>'


def odd_definition(kind, levels=None, names=ROWS[0]):
    return definition_of([(name, kind, levels, []) for name in names])


#: Changed entries, and what is told of them, with … for the entry.
WRONG = [
    ("input/definition.xml", BOMB, "… must not declare a document type: ARX writes none"),
    ("input/definition.xml", "<definition>", "… must be XML, got no element found"),
    ("input/definition.xml", odd_definition("SECRET", names=["name"]), "must say what every column is"),
    ("input/definition.xml", odd_definition("SECRET"), "must give 'name' a type of ARX, got 'SECRET'"),
    ("input/definition.xml", odd_definition(QUASI, ("x", "All")), "must give 'name' whole levels, got 'x'"),
    ("input/config.xml", None, "must be a project of ARX, which holds input/config.xml, got none"),
    ("input/config.xml", config_of([], "x"), "… must hold numbers from 0, got 'x'"),
    ("input/hierarchies/zip.csv", "", "… must hold a hierarchy, got nothing"),
    ("data/input.csv", "", "… must hold a table, got nothing"),
    ("data/input.csv", project()["data/input.csv"].splitlines()[0], "… must hold a table, got no row"),
    ("data/input.csv", b"a;b\n\xff;1\n", "… must be text in UTF-8, got the byte 0xff"),
    ("data/input.csv", "a;b\n1\n", "… must have as many fields in every row"),
    ("data/input.csv", "other\n1\n", "must say what every column is, got nothing of ['other']"),
    ("project.xml", "<project><separator>ab</separator></project>", 'must be CSV, got "delimiter" must be'),
]


@pytest.mark.parametrize(("entry", "content", "words"), WRONG)
def test_what_is_refused(folder, entry, content, words):
    write("my.deid", project(**{entry: content}))
    assert words.replace("…", entry) in refused("init", "my.deid")


def test_what_is_no_project(folder, monkeypatch):
    write("my.deid", project())
    assert "--role cannot be combined with my.deid" in run("init", "my.deid", "--role", "zip=drop", code=2)
    monkeypatch.setattr(arx, "_MOST_XML", 50)
    assert "project.xml must unpack to at most 50 bytes, got more" in run("init", "my.deid", code=2)


def test_a_small_file_fills_no_memory(folder):
    write("my.deid", project(**{"data/input.csv": b"0" * (70 << 20)}))
    assert Path("my.deid").stat().st_size < 1 << 19
    said = run("init", "my.deid", code=2)
    assert re.search(r"data/input.csv must unpack to at most 67,1\d\d,\d\d\d bytes, got more", said)


def test_an_archive_that_does_not_open_is_refused(folder):
    write("my.deid", project())
    whole = Path("my.deid").read_bytes()
    encrypted, broken = bytearray(whole), bytearray(whole)
    # The flags of its entry in the directory, whose name stands 46 bytes behind its begin.
    encrypted[whole.rindex(b"project.xml") - 46 + 8] |= 1
    with zipfile.ZipFile("my.deid") as archive:
        start = archive.getinfo("data/input.csv").header_offset
    broken[start + 60 : start + 80] = bytes(20)
    for content, words in (
        (encrypted, "must be a project of ARX, a zip file, got File 'project.xml' is encrypted, password required"),
        (broken, "must be a project of ARX, a zip file, got"),
        (b"no zip", "my.deid must be a project of ARX, a zip file, got File is not a zip file"),
    ):
        Path("my.deid").write_bytes(content)
        assert words in run("init", "my.deid", code=2)


def test_a_column_without_a_hierarchy_is_kept_or_suppressed(folder):
    columns = [(name, kind, None if name == "zip" else levels, []) for name, kind, levels, _ in COLUMNS]
    rows = [[cell.replace("021", "0,21") for cell in row] for row in ROWS]
    write("my.deid", entries(rows, columns, {"Größe": HIERARCHIES["Größe"]}, config_of(["2-anonymity"])))
    run("init", "my.deid", "--output", ".")
    own = read_project(Path("my.toml"))
    assert table_of(own).quasi_identifiers["zip"].length == 0
    assert (own.search["suppression"], own.columns["zip"].weight) == ("violating:0.0", None)


def test_a_hierarchy_that_is_missing_is_said(folder):
    content = project()
    content["input/definition.xml"] = content["input/definition.xml"].replace("hierarchies/zip.csv", "../../zip.csv")
    write("my.deid", content)
    said = "zip: the hierarchy, as the file holds no input/../../zip.csv; the column is not generalized"
    assert said in run("init", "my.deid")
    assert said in Path("my.toml").read_text(encoding="utf-8")


# --- nine attributes ----------------------------------------------------------------------------------------------


def adult(rows):
    columns = [(name, SENSITIVE if name == COLUMN else QUASI, ("All", "All"), []) for name in NINE]
    hierarchies = {
        name: [line.split(";") for line in (FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()]
        for name in NINE
    }
    table = [list(NINE), *rows[list(NINE)].astype(str).to_numpy().tolist()]
    models = ["5-anonymity", f"distinct-3-diversity for attribute '{COLUMN}'"]
    return entries(table, columns, hierarchies, config_of(models, 0.01))


def test_nine_attributes_give_the_optimum_of_arx(adult_rows, folder):
    """Find the known value and node of this problem, with 251 rows suppressed."""
    write("adult.deid", adult(adult_rows))
    run("init", "adult.deid")
    run("search", "adult.toml", "--algorithm", "bnb")
    front, record = Study.open("adult.toml").front, Study.open("adult.toml").record
    assert record["certified"]
    node = dict(zip(front.table.quasi_identifiers, front.X[0].tolist(), strict=True))
    assert [node[name] for name in EIGHT] == [0, 3, 0, 2, 3, 1, 1, 0]
    assert front.values(front.objectives[0]) / len(adult_rows) == pytest.approx(2.794550923, abs=5e-10)
    assert front.n_suppressed.tolist() == [251]
