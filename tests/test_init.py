"""init: a project file and drafts that a search runs with, what is guessed, and nothing half written."""

import os
from pathlib import Path

import pandas as pd
import pytest
from command import record, search
from typer.testing import CliRunner

from pymoo_anon.cli import engines
from pymoo_anon.cli.app import app
from pymoo_anon.cli.initializing import file_names, is_padded
from pymoo_anon.cli.project import read_project
from pymoo_anon.cli.results import read_front
from pymoo_anon.cli.tables import open_table, table_of

ROWS = 60


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, unrendered):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*arguments):
    return CliRunner().invoke(app, ["init", *arguments])


def patients():
    """Several rows a patient, dates, zip codes, ICD codes, missing values, and columns that nothing tells of."""
    return pd.DataFrame(
        {
            "patient_id": [f"p{i % 40}" for i in range(ROWS)],
            "name": [f"Name {i}" for i in range(ROWS)],
            "birth date": [f"19{50 + i % 40}-0{1 + i % 9}-1{i % 10}" for i in range(ROWS)],
            "zip": [f"0{2100 + i % 30}" for i in range(ROWS)],
            "sex": ["F", "M", None] * (ROWS // 3),
            "icd": [f"J{10 + i % 5}" for i in range(ROWS)],
            "ward": [f"w{i % 4}" for i in range(ROWS)],
        }
    )


def write_patients(path="patients.csv"):
    patients().to_csv(path, index=False)


def decided(project):
    path = Path(project)
    path.write_text(path.read_text(encoding="utf-8").replace('"other"', '"keep"'), encoding="utf-8")
    return read_project(path)


def test_from_a_file_to_a_front():
    write_patients()
    result = init("patients.csv")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    assert sorted(os.listdir()) == ["hierarchies", "patients.csv", "patients.toml"]
    assert sorted(os.listdir("hierarchies")) == ["birth_date.csv", "sex.csv", "zip.csv"]
    assert "Written: patients.toml, 3 drafts in hierarchies\n" in result.stdout
    assert "Nothing tells what 'ward' is" in result.stdout
    assert result.stdout.endswith("  pymoo-anon search patients.toml\n")
    stopped = search("patients.toml")
    assert stopped.exit_code == 2
    assert stopped.stderr.startswith("Error: patients.toml: what becomes of 'ward' is not decided: write ")
    assert "keep" not in stopped.stderr
    own = decided("patients.toml")
    assert {name: column.role for name, column in own.columns.items()} == {
        "patient_id": "person",
        "name": "drop",
        "birth date": "quasi-identifier",
        "zip": "quasi-identifier",
        "sex": "quasi-identifier",
        "icd": "sensitive",
        "ward": "keep",
    }
    assert own.missing == "keep"
    found = search("patients.toml", "--generations", "5")
    assert found.exit_code == 0, found.output
    assert (own.output / "front.csv").is_file()


def test_the_file_holds_no_value():
    """Names, counts, and the mark of what is missing; nothing that stands in a row."""
    frame = patients().assign(ward=["?", "secret ward"] * (ROWS // 2))
    frame.to_csv("patients.csv", index=False)
    assert init("patients.csv").exit_code == 0
    text = Path("patients.toml").read_text()
    assert 'empty = ["?"]' in text
    for name in frame:
        for value in frame[name].dropna().unique():
            # "F" and "M" stand in other words.
            assert len(value) < 3 or value not in text, (name, value)


def test_nothing_is_overwritten_without_force():
    write_patients()
    assert init("patients.csv").exit_code == 0
    Path("patients.toml").write_text("mine")
    Path("hierarchies/zip.csv").unlink()
    result = init("patients.csv")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: patients.toml is there already; --force replaces it, --output names another place\n"
    )
    assert Path("patients.toml").read_text() == "mine"
    assert not Path("hierarchies/zip.csv").exists()
    Path("hierarchies/mine.csv").write_text("stays")
    assert init("patients.csv", "--force").exit_code == 0
    assert sorted(os.listdir("hierarchies")) == ["birth_date.csv", "mine.csv", "sex.csv", "zip.csv"]
    assert table_of(decided("patients.toml").inputs).n_rows == ROWS


@pytest.mark.parametrize("failing", range(4))
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_all_files_or_none(monkeypatch, failing, force):
    write_patients()
    before = {}
    if force:
        assert init("patients.csv").exit_code == 0
        Path("hierarchies/zip.csv").write_text("mine")
        before = {path: path.read_bytes() for path in Path().rglob("*.*") if path.is_file()}
    replace, calls = os.replace, []

    def fail(source, target):
        calls.append(target)
        if len(calls) == failing + 1:
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    result = init("patients.csv", *force)
    assert result.exit_code == 2, result.output
    assert result.stderr.endswith("No space left on device; make room there, or name another folder\n")
    if force:
        assert {path: path.read_bytes() for path in Path().rglob("*.*") if path.is_file()} == before
    else:
        assert os.listdir() == ["patients.csv"]


def test_another_folder(folder):
    write_patients()
    result = init("patients.csv", "--output", "made/project")
    assert (result.exit_code, os.listdir()) == (2, ["patients.csv"])
    assert result.stderr.endswith("make the folder made first, or name another folder\n")
    Path("made").mkdir()
    assert init("patients.csv", "--output", "made/project").exit_code == 0
    own = decided("made/project/patients.toml")
    assert table_of(own.inputs).n_rows == ROWS
    assert 'file = "../../patients.csv"' in Path("made/project/patients.toml").read_text()


def test_the_table_is_never_overwritten():
    Path("hierarchies").mkdir()
    pd.DataFrame({"age": [20, 30, 20], "note": ["a", "b", "c"]}).to_csv("hierarchies/age.csv", index=False)
    result = init("hierarchies/age.csv", "--force")
    assert result.exit_code == 2
    assert "age.csv, which is read; name another place" in result.stderr
    assert Path("hierarchies/age.csv").read_text().startswith("age,note\n")


def test_a_file_without_names_and_with_blanks():
    Path("adult.data").write_text("39, State-gov, <=50K\n50, ?, >50K\n39, Private, <=50K\n\n")
    result = init("adult.data")
    assert result.exit_code == 0, result.output  # one number may be a name
    os.remove("adult.toml")
    Path("adult.data").write_text("39, State-gov, 5, <=50K\n50, ?, 6, >50K\n39, Private, 5, <=50K\n\n")
    result = init("adult.data", "--force")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: adult.data must name its columns in its first row, got '39', '5' there; --names NAME,NAME,... names "
        "the columns of a file without such a row\n"
    )
    result = init("adult.data", "--names", 'age,workclass,"work, years",salary', "--force")
    assert result.exit_code == 0, result.output
    own = decided("adult.toml")
    assert (own.reading.names, own.reading.strip, own.reading.empty) == (
        ("age", "workclass", "work, years", "salary"),
        True,
        ("?",),
    )
    assert open_table(own.inputs, list(own.columns))["workclass"].tolist() == ["State-gov", None, "Private"]
    assert table_of(own.inputs).domain_of("salary") == ("<=50K", ">50K")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        pytest.param("age,note\n" + '30,"one\ntwo\nthree"\n31,"x"\n' * 20, "utf-8", id="the head ends in quotes"),
        pytest.param("age,note\r" + "30,x\r31,y\r" * 20, "utf-8", id="old line ends"),
        # Bytes of these letters are those of a line end.
        pytest.param("\ufeffage,note\n" + "30,ਅਅਅ上上\n31,上ਅ\n" * 20, "utf-16-le", id="UTF-16"),
        pytest.param("\ufeffage,note\n" + "30,ਅਅਅ上上\n31,上ਅ\n" * 20, "utf-16-be", id="UTF-16, the other way"),
    ],
)
def test_the_first_bytes_of_a_file_may_end_anywhere(text, encoding, monkeypatch):
    path = Path("t.csv")
    path.write_bytes(text.encode(encoding))
    for head in range(30, 64):
        monkeypatch.setattr(engines, "_HEAD", head)
        assert (engines.dialect_of(path, None).names, is_padded(path, None)) == (["age", "note"], False)


def test_what_stands_for_suppressed_is_no_value():
    frame = patients().assign(sex=["F", "M", "*"] * (ROWS // 3), ward=["?", "w1"] * (ROWS // 2))
    frame.to_csv("patients.csv", index=False)
    assert init("patients.csv").exit_code == 0
    own = decided("patients.toml")
    assert own.reading.empty == ("?", "*")
    assert Path("hierarchies/sex.csv").read_text() == "F;*\nM;*\n;*\n"
    assert table_of(own.inputs).n_rows == ROWS


def roles_of(project):
    return {name: column.role for name, column in read_project(Path(project)).columns.items()}


def test_roles_of_many_columns_are_asked_for():
    frame = patients().assign(**{f"Q{i}": ["yes", "no"] * (ROWS // 2) for i in range(4)}, **{"[x]=y": 1.5, "Q*": 2.5})
    frame.to_csv("patients.csv", index=False)
    result = init(
        "patients.csv",
        "--role",
        "Q*=drop",
        "--role",
        "Q[23]=quasi-identifier",
        "--role",
        "[x]=y=keep",
        "--role",
        "ward=person",
        "--role",
        "icd=sensitive",
    )
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    assert roles_of("patients.toml") == {
        "patient_id": "drop",
        "name": "drop",
        "birth date": "quasi-identifier",
        "zip": "quasi-identifier",
        "sex": "quasi-identifier",
        "icd": "sensitive",
        "ward": "person",
        **{
            "Q0": "drop",
            "Q1": "drop",
            "Q2": "quasi-identifier",
            "Q3": "quasi-identifier",
            "[x]=y": "keep",
            "Q*": "drop",
        },
    }
    text = Path("patients.toml").read_text(encoding="utf-8")
    assert "role = \"quasi-identifier\"  # --role 'Q[23]=quasi-identifier' says so\n" in text
    assert Path("hierarchies/Q2.csv").read_text() == "no;*\nyes;*\n"


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (["zip"], "role must be PATTERN=ROLE, with a role of quasi-identifier, "),
        (["zip=secret"], "role must be PATTERN=ROLE, with a role of quasi-identifier, "),
        (["Q*=drop"], "role must be of columns of the table, got 'Q*=drop'; the columns are 'patient_id', 'name', "),
        (["z*=person", "sex=person"], "role person must be of one column, got 'zip', 'sex'"),
    ],
    ids=range(4),
)
def test_roles_that_cannot_be(roles, message):
    write_patients()
    result = init("patients.csv", *(part for role in roles for part in ("--role", role)))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {message}")
    assert os.listdir() == ["patients.csv"]


def test_what_is_not_decided_says_what_each_choice_means():
    write_patients()
    assert init("patients.csv").exit_code == 0
    text = Path("patients.toml").read_text(encoding="utf-8")
    assert "role = \"drop\"  # an identifier: the name says 'name', which names a person\n" in text
    own = text.partition("# ward:")[2].partition("[columns")[0]
    assert all(f'"{role}"' in own for role in ("quasi-identifier", "sensitive", "drop", "keep"))
    assert 'role = "keep"' not in text


NAMES = [
    *('a"b', "c'd", "e\nf", "g;h", "i,j", "ünï", "../k", "K", "k", "[l]", "#m", "n.o", " p ", "q=r", "\U0001f600"),
    *("\\", "con"),
]


def test_any_name_survives(folder):
    age, person = range(len(NAMES)), ["sex", "Sex"]
    frame = pd.DataFrame({name: [f"{i % 3}.5" for i in age] for name in [f"{name} age" for name in NAMES]})
    frame = frame.assign(**{name: ["F", "M", "F"] * (len(NAMES) // 3) + ["M"] * (len(NAMES) % 3) for name in person})
    frame.to_csv("my 'odd\" [file].csv", index=False)
    result = init("my 'odd\" [file].csv")
    assert result.exit_code == 0, result.output
    (project,) = Path().glob("*.toml")
    own = decided(project)
    assert list(own.columns) == list(frame)
    assert {column.role for column in own.columns.values()} == {"quasi-identifier"}
    assert len({path.name.lower() for path in own.quasi_identifiers.values()}) == len(frame.columns)
    assert table_of(own.inputs).n_rows == len(frame)
    assert open_table(own.inputs, list(own.columns)).to_numpy().tolist() == frame.to_numpy().tolist()


def test_names_of_files():
    found = file_names([*NAMES, "x" * 500, "x" * 500, "aux.h", "", "."])
    assert len({name.lower() for name in found}) == len(found)
    for name in found:
        assert name.isascii()
        assert name.removesuffix(".csv").replace("_", "").replace("-", "").isalnum(), name
        assert len(name) < 80
    assert "con_.csv" in found


@pytest.mark.filterwarnings("ignore:Dask support is moving")
@pytest.mark.parametrize("engine", ["pandas", "polars", "duckdb", "dask"])
def test_engines_write_the_same(engine):
    write_patients()
    patients().to_parquet("typed.parquet")
    for data in ("patients.csv", "typed.parquet"):
        for name, output in (("pandas", "one"), (engine, "two")):
            assert init(data, "--engine", name, "--output", output).exit_code == 0
        files = sorted(path.relative_to("one") for path in Path("one").rglob("*.*"))
        for file in files:
            one, two = (Path(output, file).read_text() for output in ("one", "two"))
            assert two.replace(f'engine = "{engine}"', 'engine = "pandas"') == one, file
        for output in ("one", "two"):
            (project,) = Path(output).glob("*.toml")
            assert table_of(decided(project).inputs).n_rows == ROWS
            project.unlink()
            for path in Path(output, "hierarchies").iterdir():
                path.unlink()


def test_a_table_of_duckdb():
    import duckdb

    frame = patients()
    with duckdb.connect("my.duckdb") as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE people AS SELECT *, DATE '2020-01-01' + CAST(zip AS INT) AS day FROM frame")
    result = init("duckdb:my.duckdb:people", "--output", "project")
    assert result.exit_code == 0, result.output
    own = decided("project/people.toml")
    assert str(own.data).startswith("duckdb:")
    assert own.columns["day"].role == "quasi-identifier"
    found = search("project/people.toml", "--generations", "5")
    assert found.exit_code == 0, found.output
    # Nobody knows whether a table of a database changed.
    assert record(own.output)["inputs"]["sha256"][str(own.data)] is None
    assert len(read_front(own)[0]) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], "none.csv: no such file"),
        (["spark:"], "a table of Spark is named by spark:TABLE, got 'spark:'"),
        (["empty.csv"], "empty.csv must be a CSV file whose first row names its columns, got an empty row"),
        (["names.csv"], "the table must have at least one row, got none"),
        (["nameless.csv"], "nameless.csv must name every column, got no name for column 2"),
        (
            ["names.csv", "--engine", "R"],
            "engine must be one of auto, pandas, polars, duckdb, dask, spark, got 'R'",
        ),
        (["names.csv", "--names", "a,a,b"], "names must name each column once, got more than once: 'a'"),
        (["names.csv", "--names", "a,,b"], "names must name each column once, got an empty name"),
    ],
)
def test_error_messages(arguments, message):
    Path("empty.csv").write_text("")
    Path("names.csv").write_text("a,b,c\n")
    Path("nameless.csv").write_text("a,,c\n1,2,3\n")
    result = init(*arguments)
    assert (result.exit_code, result.stderr) == (2, f"Error: {message}\n")
    assert sorted(os.listdir()) == ["empty.csv", "nameless.csv", "names.csv"]


def test_values_that_no_hierarchy_file_holds_are_said(monkeypatch):
    def fail(*args):
        raise ValueError("no")

    write_patients()
    monkeypatch.setattr("pymoo_anon.table.hierarchy.Hierarchy.to_csv", fail)
    result = init("patients.csv")
    assert result.exit_code == 0, result.output
    assert "but its values fit into no hierarchy file" in Path("patients.toml").read_text()
    assert not Path("hierarchies").exists()
