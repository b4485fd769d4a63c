"""`init`: project files, drafts, guesses, and writing without half files.

A search runs with the project file and the drafts.
"""

import io
import os
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from command import command, read_front, record, run, search
from rich.console import Console

from pymoo_anon.cli.console import tell_some
from pymoo_anon.study import engines
from pymoo_anon.study import proposal as initializing
from pymoo_anon.study.names import file_names
from pymoo_anon.study.project import read_project
from pymoo_anon.study.proposal import is_padded
from pymoo_anon.study.tables import open_table, table_of
from pymoo_anon.table import frames, guesses

ROWS = 60


pytestmark = pytest.mark.usefixtures("folder")


init = partial(command, "init")


def patients():
    """Return patients with several rows, typical columns and an undecided one.

    The typical columns are dates, zip codes, ICD codes and missing values.
    """
    return pd.DataFrame(
        {
            "patient_id": [f"p{i % 40}" for i in range(ROWS)],
            "name": [f"Name {i}" for i in range(ROWS)],
            "birth date": [f"19{50 + i % 40}-0{1 + i % 9}-1{i % 10}" for i in range(ROWS)],
            "zip": [f"0{2100 + i % 30}" for i in range(ROWS)],
            "sex": ["F", "M", None, "M"] * (ROWS // 4),
            "icd": [f"J{10 + i % 5}" for i in range(ROWS)],
            "team": [f"w{i % 4}" for i in range(ROWS)],
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
    assert "Not decided (1): team\n" in result.stdout
    assert result.stdout.endswith("then: pymoo-anon search patients.toml\n")
    stopped = search("patients.toml")
    assert stopped.exit_code == 2
    assert stopped.stderr.startswith("Error: patients.toml: the role of 'team' is not decided: replace ")
    assert "keep" not in stopped.stderr
    own = decided("patients.toml")
    assert {name: column.role for name, column in own.columns.items()} == {
        "patient_id": "person",
        "name": "drop",
        "birth date": "quasi-identifier",
        "zip": "quasi-identifier",
        "sex": "quasi-identifier",
        "icd": "sensitive",
        "team": "keep",
    }
    assert own.missing == "keep"
    run("search", "patients.toml", "--generations", "5")
    assert (own.output / "front.csv").is_file()


def court():
    """Return a court's table with redundant columns and a serial number.

    A day of birth decides the age, one column is a copy, and a number differs in every row.
    """
    rng = Random(2)
    born = [f"{rng.randrange(1940, 1999)}-0{rng.randrange(1, 10)}-1{rng.randrange(10)}" for _ in range(3000)]
    score = [str(rng.randrange(1, 11)) for _ in born]
    return pd.DataFrame(
        {
            "case_id": range(len(born)),
            "sex": [rng.choice(["F", "M"]) for _ in born],
            "dob": born,
            "age": [2016 - int(day[:4]) for day in born],
            "race": [rng.choice("ABCD") for _ in born],
            "score": score,
            "score.1": score,
            "felony": [rng.choice(["yes", "no"]) for _ in born],
        }
    )


def test_equal_and_decided_columns_are_dropped(monkeypatch):
    court().to_csv("court.csv", index=False)
    for cells in (frames._FEW_CELLS, 0):
        monkeypatch.setattr(frames, "_FEW_CELLS", cells)
        result = init("court.csv", "--force", "--role", "race=keep")
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        told = "Dropped, for they equal another column: score.1\nDropped, for another column decides them: age\n"
        assert told in result.stdout
        text = Path("court.toml").read_text(encoding="utf-8")
        for name, reason in (
            ("score.1", "it equals 'score' in every row"),
            ("age", "'dob' decides it: where 'dob' is the same, it is"),
        ):
            assert f'[columns."{name}"]\nrole = "drop"  # {reason}\n' in text
        assert {name for name, role in roles_of("court.toml").items() if role == "drop"} == {
            "case_id", "score.1", "age",
        }  # fmt: skip
    # Roles that were asked for stay.
    run("init", "court.csv", "--force", "--role", "age=quasi-identifier", "--role", "score.1=sensitive")
    assert roles_of("court.toml")["age"] == "quasi-identifier"
    assert roles_of("court.toml")["score.1"] == "sensitive"


@pytest.mark.parametrize("n_columns", [7, 200])
def test_few_lines_are_said_of_any_table(n_columns):
    rng = Random(3)
    frame = pd.DataFrame({f"Q{i}": [rng.randrange(5) for _ in range(ROWS)] for i in range(n_columns - 7)})
    patients().join(frame).to_csv("patients.csv", index=False)
    result = init("patients.csv")
    lines = result.stdout.splitlines()
    assert len(lines) == 7
    assert max(map(len, lines)) <= 160
    n_others = n_columns - 6
    n_shown = 1 if n_others == 1 else 27
    names = ["team", *(f"Q{i}" for i in range(n_shown - 1))]
    more = f" and {n_others - n_shown} more" * (n_others > n_shown)
    hint = ", or many at once by init --force --role 'PATTERN=ROLE'" * (n_others > 10)
    assert lines == [
        "Quasi-identifiers (3): birth date, zip, sex",
        "Sensitive (1): icd",
        "Not released (2): patient_id (person), name",
        f"Not decided ({n_others}): {', '.join(names)}{more}",
        "With missing values: sex",
        "Written: patients.toml, 3 drafts in hierarchies",
        f'Next: decide each role "other" there{hint}, then: pymoo-anon search patients.toml',
    ]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_of_names_is_longer_than_the_terminal(monkeypatch, columns):
    console = Console(width=columns, file=io.StringIO())
    names = ["x" * (1 + i * 7 % 19) for i in range(30)]
    tell_some(console, "Names", names)
    (line,) = console.file.getvalue().splitlines()
    assert len(line) <= columns
    n_shown = line.count("x") and len(line.partition(": ")[2].partition(" and ")[0].split(", "))
    one_more = ", ".join(names[: n_shown + 1])
    assert len(f"Names: {one_more} and {30 - n_shown - 1} more") > columns


def test_a_table_is_opened_once(monkeypatch):
    """Take texts that mean nothing out of the counts."""
    write_patients()
    opened = []
    real = initializing.open_frame
    monkeypatch.setattr(initializing, "open_frame", lambda *given: opened.append(given) or real(*given))
    patients().assign(sex=["F", "M", "?", "M"] * (ROWS // 4)).to_csv("patients.csv", index=False)
    run("init", "patients.csv")
    assert len(opened) == 1
    assert "# sex: 2 distinct values, 15 missing\n" in Path("patients.toml").read_text(encoding="utf-8")
    # The rows of a sample are not known.
    monkeypatch.setattr(guesses, "MOST_VALUES", 2)
    run("init", "patients.csv", "--force")
    assert len(opened) == 3
    assert "# sex: 2 distinct values, 15 missing\n" in Path("patients.toml").read_text(encoding="utf-8")


ZIP = b"PK\3\4" + bytes(26)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (ZIP + b"[Content_Types].xml", "an Excel workbook; let its name end in .xlsx"),
        (ZIP + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "a workbook of LibreOffice; save the table "
         "as CSV and name that file"),
        (bytes.fromhex("d0cf11e0a1b11ae1"), "an Excel workbook of before 2007 or with a password; save it as .xlsx"),
        (b"SQLite format 3\0", "an SQLite database; let its name end in .sqlite"),
        (b"PAR1", "a Parquet file; let its name end in .parquet"),
        (bytes(8) + b"DUCK", "a DuckDB database; name its table, duckdb:FILE:TABLE"),
    ],
    ids=range(6),
)  # fmt: skip
def test_files_of_other_formats_are_named(content, words):
    Path("t.csv").write_bytes(content + bytes(99))
    for asked in (["init", "t.csv"], ["hierarchy", "draft", "t.csv", "--column", "a"]):
        result = command(*asked)
        assert (result.exit_code, result.stderr) == (2, f"Error: t.csv must be a CSV file, got {words}\n")


def test_the_file_holds_no_value():
    """Write names, counts and missing marks, but no value of a row."""
    frame = patients().assign(team=["?", "secret team"] * (ROWS // 2))
    frame.to_csv("patients.csv", index=False)
    run("init", "patients.csv")
    text = Path("patients.toml").read_text()
    assert 'empty = ["?"]' in text
    for name in frame:
        for value in frame[name].dropna().unique():
            # "F" and "M" stand in other words.
            assert len(value) < 3 or value not in text, (name, value)


def test_nothing_is_overwritten_without_force():
    write_patients()
    run("init", "patients.csv")
    Path("patients.toml").write_text("mine")
    Path("hierarchies/zip.csv").unlink()
    result = init("patients.csv")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: hierarchies/birth_date.csv exists; --force replaces it, --output names another place\n"
    )
    assert Path("patients.toml").read_text() == "mine"
    assert not Path("hierarchies/zip.csv").exists()
    Path("hierarchies/mine.csv").write_text("stays")
    run("init", "patients.csv", "--force")
    assert sorted(os.listdir("hierarchies")) == ["birth_date.csv", "mine.csv", "sex.csv", "zip.csv"]
    assert table_of(decided("patients.toml")).n_rows == ROWS


@pytest.mark.parametrize("failing", range(4))
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_the_project_file_comes_last(monkeypatch, failing, force):
    """Whatever draft could not be put in place, the project file is as it was."""
    write_patients()
    if force:
        run("init", "patients.csv")
        Path("patients.toml").write_text("mine")
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
    assert [path.read_text() for path in Path().glob("*.toml")] == ["mine"] * len(force)


def test_another_folder():
    write_patients()
    result = init("patients.csv", "--output", "made/project")
    assert (result.exit_code, os.listdir()) == (2, ["patients.csv"])
    assert result.stderr.endswith("make the folder made first, or name another folder\n")
    Path("made").mkdir()
    run("init", "patients.csv", "--output", "made/project")
    own = decided("made/project/patients.toml")
    assert table_of(own).n_rows == ROWS
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
    assert result.exit_code == 0, result.output  # a single number may be a name
    os.remove("adult.toml")
    Path("adult.data").write_text("39, State-gov, 5, <=50K\n50, ?, 6, >50K\n39, Private, 5, <=50K\n\n")
    result = init("adult.data", "--force")
    told = "Error: adult.data must name its columns in its first row, got '39', '5' there; --names NAME,NAME,... names"
    assert (result.exit_code, result.stderr) == (2, f"{told} the columns of a file without such a row\n")
    run("init", "adult.data", "--names", 'age,workclass,"work, years",salary', "--force")
    own = decided("adult.toml")
    names = ("age", "workclass", "work, years", "salary")
    assert (own.reading.names, own.reading.strip, own.reading.empty) == (names, True, ("?",))
    assert open_table(own.reading, ["workclass"]).fetchall() == [("State-gov",), (None,), ("Private",)]
    assert table_of(own).domain_of("salary") == ("<=50K", ">50K")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        pytest.param("age,note\n" + '30,"one\ntwo\nthree"\n31,"x"\n' * 20, "utf-8", id="the head ends in quotes"),
        pytest.param("age,note\r" + "30,x\r31,y\r" * 20, "utf-8", id="old line ends"),
        # The bytes of these letters contain those of a line end.
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
    frame = patients().assign(sex=["F", "M", "*", "F"] * (ROWS // 4), team=["?", "w1"] * (ROWS // 2))
    frame.to_csv("patients.csv", index=False)
    run("init", "patients.csv")
    own = decided("patients.toml")
    assert own.reading.empty == ("?", "*")
    assert Path("hierarchies/sex.csv").read_text() == "F;*\nM;*\n;*\n"
    assert table_of(own).n_rows == ROWS


def ward():
    """Return a ward with odd values in every column of known kind."""
    rng = np.random.default_rng(1)
    n, persons = 3000, np.arange(3000)

    def spoilt(values, text, every):
        return [text if i % every == 7 else str(value) for i, value in enumerate(values)]

    return pd.DataFrame(
        {
            "plz": spoilt(rng.integers(80000, 80200, n), "k.A.", 50),
            "Alter": spoilt(rng.integers(18, 95, n), "-", 40),
            "Gewicht/kg": spoilt([f"{w:.1f}".replace(".", ",") for w in rng.normal(75, 12, n)], "n. b.", 40),
            "Geburtsdatum": spoilt([f"{i % 28 + 1:02}.{i % 12 + 1:02}.{1940 + i % 60}" for i in persons], "n/a", 30),
            "size": spoilt(rng.choice(["S", "M", "L"], n), "grün", 40),
            "height": spoilt(rng.integers(150, 200, n), "2,05 m", 60),
            "year": spoilt(rng.integers(1990, 2020, n), "Mustermann", 3000),
            "test": ["+" if i % 3 else "-" for i in persons],
            "sex": ["m", "w", "k.A."] * 1000,
        }
    )


ASKED = {
    "plz": "'k.A.' in 60 rows is no code: is it a missing value?",
    "Alter": "'-' in 75 rows is no number: is it a missing value?",
    "Gewicht/kg": "'n. b.' in 75 rows is no number: is it a missing value?",
    "Geburtsdatum": "'n/a' in 100 rows is no date: is it a missing value?",
    "size": "'grün' in 75 rows is not in the order: is it a missing value?",
    "height": "'2,05 m' in 50 rows is no number: is it a missing value?",
    "year": "'Mustermann' in 1 row is no number: is it a missing value?",
}


def test_what_is_proposed_as_missing_decides_on_its_own_columns_alone(monkeypatch):
    """Find redundancy once, and draft only columns with proposed values again."""
    ward().to_csv("ward.csv", index=False, sep=";")
    called = []
    for name in ("equal_columns", "draft_hierarchy"):
        own = getattr(initializing, name)
        monkeypatch.setattr(
            initializing, name, lambda *given, n=name, f=own, **named: called.append(n) or f(*given, **named)
        )
    run("init", "ward.csv", *(f"--role={name}=quasi-identifier" for name in [*ASKED, "test", "sex"]))
    assert called.count("equal_columns") == 1
    # Nine columns first, and then those with "k.A.", "n. b.", "n/a" and "grün".
    assert called.count("draft_hierarchy") == 9 + 5


def test_odd_values_are_proposed_as_missing_and_a_search_runs():
    ward().to_csv("ward.csv", index=False, sep=";")
    roles = [f"--role={name}=quasi-identifier" for name in [*ASKED, "test", "sex"]]
    result = init("ward.csv", *roles)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    # The file asks about proposed values.
    assert [line for line in result.stdout.splitlines() if line.endswith("a missing value?")] == [
        f"{name}: {ASKED[name]}" for name in ("Alter", "height", "year")
    ]
    proposed = ["k.A.", "n. b.", "n/a", "grün"]
    assert f"\nWith missing values, {', '.join(map(repr, proposed))} among them: " in result.stdout
    text = Path("ward.toml").read_text(encoding="utf-8")
    # A text is not proposed if it is a value elsewhere (a negative test), has digits, or stands in a single row.
    assert 'empty = ["k.A.", "n. b.", "n/a", "grün"]' in text
    assert [line for line in text.splitlines() if line.endswith("take it out of empty.")] == [
        f"# {name}: {ASKED[name]} If it is a value, take it out of empty."
        for name in ("plz", "Gewicht/kg", "Geburtsdatum", "size")
    ]
    assert not any(odd in text for odd in ("Mustermann", "2,05"))
    own = read_project(Path("ward.toml"))
    assert (own.reading.empty, own.missing) == (tuple(proposed), "keep")
    table = table_of(own)
    assert table.n_rows == 3000
    assert {name for name, tree in table.quasi_identifiers.items() if None in tree.domain} == {
        *("plz", "Gewicht/kg", "Geburtsdatum", "size", "sex")
    }
    assert {name: tree.n_groups[1] for name, tree in table.quasi_identifiers.items() if name in ASKED} == {
        **{"plz": 21, "Alter": 10, "Gewicht/kg": 11, "Geburtsdatum": 59, "size": 3, "height": 11, "year": 7}
    }
    run("search", "ward.toml", "--generations", "3")


def roles_of(project):
    return {name: column.role for name, column in read_project(Path(project)).columns.items()}


def test_roles_of_many_columns_are_asked_for():
    frame = patients().assign(**{f"Q{i}": ["yes", "no"] * (ROWS // 2) for i in range(4)}, **{"[x]=y": 1.5, "Q*": 2.5})
    frame.to_csv("patients.csv", index=False)
    roles = ("Q*=drop", "Q[23]=quasi-identifier", "[x]=y=keep", "team=person", "icd=sensitive")
    result = init("patients.csv", *(f"--role={own}" for own in roles))
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    found = roles_of("patients.toml")
    assert {name for name, role in found.items() if role == "drop"} == {"patient_id", "name", "Q0", "Q1", "Q*"}
    assert (found["team"], found["icd"], found["[x]=y"]) == ("person", "sensitive", "keep")
    assert list(found.values()).count("quasi-identifier") == 5
    text = Path("patients.toml").read_text(encoding="utf-8")
    assert "role = \"quasi-identifier\"  # --role 'Q[23]=quasi-identifier' says so\n" in text
    assert Path("hierarchies/Q2.csv").read_text() == "no;*\nyes;*\n"


def test_what_is_not_decided_says_what_each_choice_means():
    write_patients()
    run("init", "patients.csv")
    text = Path("patients.toml").read_text(encoding="utf-8")
    assert "role = \"drop\"  # an identifier: the name says 'name', which names a person\n" in text
    own = text.partition("# team:")[2].partition("[columns")[0]
    assert all(f'"{role}"' in own for role in ("quasi-identifier", "sensitive", "drop", "keep"))
    assert 'role = "keep"' not in text


NAMES = [
    *('a"b', "c'd", "e\nf", "g;h", "i,j", "ünï", "../k", "K", "k", "[l]", "#m", "n.o", " p ", "q=r", "\U0001f600"),
    *("\\", "con"),
]


def test_any_name_survives():
    # No two columns are equal.
    rng = Random(1)
    frame = pd.DataFrame({f"{name} age": [f"{rng.randrange(3)}.5" for _ in NAMES] for name in NAMES})
    frame = frame.assign(**{name: [rng.choice("FM") for _ in NAMES] for name in ("sex", "Sex")})
    frame.to_csv("my 'odd\" [file].csv", index=False)
    run("init", "my 'odd\" [file].csv")
    (project,) = Path().glob("*.toml")
    own = decided(project)
    assert list(own.columns) == list(frame)
    assert {column.role for column in own.columns.values()} == {"quasi-identifier"}
    assert len({path.name.lower() for path in own.quasi_identifiers.values()}) == len(frame.columns)
    assert table_of(own).n_rows == len(frame)
    assert open_table(own.reading, list(own.columns)).to_numpy().tolist() == frame.to_numpy().tolist()


def test_names_of_files():
    found = file_names([*NAMES, "x" * 500, "x" * 500, "aux.h", "", "."])
    assert len({name.lower() for name in found}) == len(found)
    for name in found:
        assert name.isascii()
        assert name.removesuffix(".csv").replace("_", "").replace("-", "").isalnum(), name
        assert len(name) < 80
    assert "con_.csv" in found


def test_a_file_of_types_gives_the_same_roles():
    write_patients()
    patients().to_parquet("typed.parquet")
    own, typed = "one/patients.toml", "two/typed.toml"
    assert init("patients.csv", "--output", "one").exit_code == init("typed.parquet", "--output", "two").exit_code == 0
    assert table_of(decided(own)).n_rows == table_of(decided(typed)).n_rows == ROWS
    assert roles_of(own) == roles_of(typed)


def test_a_table_of_duckdb():
    import duckdb

    frame = patients()
    with duckdb.connect("my.duckdb") as connection:
        connection.register("frame", frame)
        connection.execute(
            "CREATE TABLE people AS SELECT *, DATE '2020-01-01' + CAST(name[6:] AS INT) AS day FROM frame"
        )
    run("init", "duckdb:my.duckdb:people", "--output", "project")
    own = decided("project/people.toml")
    assert str(own.data).startswith("duckdb:")
    assert own.columns["day"].role == "quasi-identifier"
    run("search", "project/people.toml", "--generations", "5")
    # Changes of a table in a database are seen by its rows.
    assert len(record(own.output)["inputs"]["sha256"][str(own.data)]) == 64
    assert len(read_front(own)[0]) > 0


def test_values_that_no_hierarchy_file_holds_are_said(monkeypatch):
    def fail(*args):
        raise ValueError("no")

    write_patients()
    monkeypatch.setattr("pymoo_anon.table.hierarchy.Hierarchy.to_csv", fail)
    run("init", "patients.csv")
    assert "but its values fit into no hierarchy file" in Path("patients.toml").read_text()
    assert not Path("hierarchies").exists()
