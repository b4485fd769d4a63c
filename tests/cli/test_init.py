"""`init`: project files, drafts, guesses, and writing without half files.

A search runs with the project file and the drafts.
"""

import os
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from command import refused, run

from pymoo_anon.study import engines
from pymoo_anon.study import proposal as initializing
from pymoo_anon.study.project import read_project
from pymoo_anon.study.proposal import is_padded
from pymoo_anon.study.tables import open_table, table_of
from pymoo_anon.table import frames, guesses

ROWS = 60

pytestmark = pytest.mark.usefixtures("folder")

init = partial(run, "init")


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


def init_patients(*arguments, **columns):
    """Write the patients with other columns, and return the output of `init` and the project file."""
    pd.DataFrame({**patients(), **columns}).to_csv("patients.csv", index=False)
    return init("patients.csv", *arguments), Path("patients.toml").read_text(encoding="utf-8")


def decided(project):
    path = Path(project)
    path.write_text(path.read_text(encoding="utf-8").replace('"other"', '"keep"'), encoding="utf-8")
    return read_project(path)


def test_from_a_file_to_a_front():
    said, _ = init_patients()
    assert sorted(os.listdir()) == ["hierarchies", "patients.csv", "patients.toml"]
    assert sorted(os.listdir("hierarchies")) == ["birth_date.csv", "sex.csv", "zip.csv"]
    assert "Written: patients.toml, 3 drafts in hierarchies\n" in said
    assert "Not decided (1): team\n" in said
    assert said.endswith("then: pymoo-anon search patients.toml\n")
    stopped = refused("search", "patients.toml")
    assert stopped.startswith("patients.toml: every column must have a decided role, got \"other\" for 'team'; ")
    assert "keep" not in stopped
    own = decided("patients.toml")
    assert roles_of("patients.toml") == {
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
    frame = court()
    frame.assign(q7=[int(day < "1970") for day in frame["dob"]]).to_csv("court.csv", index=False)
    for cells in (frames._FEW_CELLS, 0):
        monkeypatch.setattr(frames, "_FEW_CELLS", cells)
        told = "Dropped, for they equal another column: score.1\nDropped, for another column decides them: age\n"
        assert told in init("court.csv", "--force", "--role", "race=keep")
        text = Path("court.toml").read_text(encoding="utf-8")
        assert '[columns."score.1"]\nrole = "drop"  # it equals \'score\' in every row\n' in text
        assert "[columns.\"age\"]\nrole = \"drop\"  # 'dob' decides it: where 'dob' is the same, it is\n" in text
        assert "nothing tells what it is; 'dob' decides it, so whoever knows that knows this\n\n" in text
        assert dropped("court.toml") == {"case_id", "score.1", "age"}
    # Roles that were asked for stay, and the search says what they give away.
    seen = [f"2020-01-{1 + i % 28:02} {i // 60:02}:{i % 60:02}" for i in range(len(frame))]
    frame.assign(felony=frame.sex + frame.dob.str[-1], seen=seen).to_csv("court.csv", index=False)
    given = {
        "dob": "quasi-identifier",
        "seen": "quasi-identifier",
        "age": "sensitive",
        "race": "drop",
        "felony": "label",
    }
    init("court.csv", "--force", *(text for own in given.items() for text in ("--role", "=".join(own))))
    assert roles_of("court.toml") | given == roles_of("court.toml")
    decided("court.toml")
    said = run("search", "court.toml", "--generations", "1")
    assert "Warning: column 'age' is released as it is: the quasi-identifier 'dob' decides it, so it " in said
    assert "Warning: column 'felony' is released as it is: it decides the quasi-identifier 'sex', so it " in said
    assert "'seen' decides" not in said


def test_a_role_is_given_to_a_name_with_another_kind_of_blank():
    court().rename(columns={"case_id": "Emp\N{NO-BREAK SPACE}ID", "felony": "a b"}).to_csv("court.csv", index=False)
    init("court.csv", "--role", "Emp ID=keep", "--role", "a\tb=sensitive")
    assert {("Emp\N{NO-BREAK SPACE}ID", "keep"), ("a b", "sensitive")} <= set(roles_of("court.toml").items())
    court().rename(columns={"case_id": "a\N{NO-BREAK SPACE}b", "felony": "a\tb"}).to_csv("court.csv", index=False)
    assert refused("init", "court.csv", "--force", "--role", "a b=keep").startswith("--role 'a b=keep' matches no")


@pytest.mark.parametrize("n_columns", [7, 200])
def test_few_lines_are_said_of_any_table(n_columns):
    rng = Random(3)
    frame = pd.DataFrame({f"Q{i}": [rng.randrange(5) for _ in range(ROWS)] for i in range(n_columns - 7)})
    lines = init_patients(**frame)[0].splitlines()
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


def test_without_drafts_the_project_file_alone_is_edited():
    Path("same.csv").write_text("age\n" + "31\n" * 30)
    # No search works without a quasi-identifier.
    assert " by pymoo-anon hierarchy draft same.toml, then: " in run("init", "same.csv").splitlines()[-1]
    Path("age.csv").write_text("31;*\n")
    given = run("init", "same.csv", "--hierarchies", ".", "--force")
    assert given.endswith("\nNext: read and edit it, then: pymoo-anon search same.toml\n")


def test_a_table_is_opened_once(monkeypatch):
    """Take texts that mean nothing out of the counts."""
    opened, real = [], initializing.open_frame
    monkeypatch.setattr(initializing, "open_frame", lambda *given: opened.append(given) or real(*given))
    # The rows of a sample are not known.
    for most, n_opened in ((guesses.MOST_VALUES, 1), (2, 3)):
        monkeypatch.setattr(guesses, "MOST_VALUES", most)
        _, text = init_patients("--force", sex=["F", "M", "?", "M"] * (ROWS // 4))
        assert len(opened) == n_opened
        assert "# sex: 2 distinct values, 15 missing\n" in text


def test_the_file_holds_no_value():
    """Write names, counts and missing marks, but no value of a row."""
    _, text = init_patients(team=["?", "secret team"] * (ROWS // 2))
    assert 'empty = ["?"]' in text
    # "F" and "M" stand in other words.
    values = {value for own in patients().assign(team="secret team").to_dict("list").values() for value in own}
    assert not [value for value in values if isinstance(value, str) and len(value) > 2 and value in text]


def test_nothing_is_overwritten_without_force():
    init_patients()
    Path("patients.toml").write_text("mine")
    Path("hierarchies/zip.csv").unlink()
    told = "hierarchies/birth_date.csv exists; --force replaces it, --output names another place"
    assert refused("init", "patients.csv") == told
    assert not Path("hierarchies/zip.csv").exists()
    Path("hierarchies/mine.csv").write_text("stays")
    init("patients.csv", "--force")
    assert sorted(os.listdir("hierarchies")) == ["birth_date.csv", "mine.csv", "sex.csv", "zip.csv"]
    assert table_of(decided("patients.toml")).n_rows == ROWS


@pytest.mark.parametrize("failing", range(4))
def test_the_project_file_comes_last(monkeypatch, failing):
    """Whatever draft could not be put in place, the project file is as it was."""
    init_patients()
    Path("patients.toml").write_text("mine")
    replace, calls = os.replace, []

    def fail(source, target):
        calls.append(target)
        if len(calls) == failing + 1:
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    told = init("patients.csv", "--force", code=2)
    assert told.endswith("No space left on device; make room there, or name another folder\n")
    assert Path("patients.toml").read_text() == "mine"


def test_another_folder():
    patients().to_csv("patients.csv", index=False)
    Path("made").mkdir()
    init("patients.csv", "--output", "made/project")
    assert table_of(decided("made/project/patients.toml")).n_rows == ROWS
    assert 'file = "../../patients.csv"' in Path("made/project/patients.toml").read_text()


def test_a_file_without_names_and_with_blanks():
    Path("adult.data").write_text("39, State-gov, <=50K\n50, ?, >50K\n39, Private, <=50K\n\n")
    # A single number may be a name.
    init("adult.data")
    Path("adult.data").write_text("39, State-gov, 5, <=50K\n50, ?, 6, >50K\n39, Private, 5, <=50K\n\n")
    told = "adult.data must name its columns in its first row, got '39', '5' there; init --names NAME,NAME,... names"
    assert refused("init", "adult.data", "--force") == f"{told} the columns of a file without such a row"
    init("adult.data", "--names", 'age,workclass,"work, years",salary', "--force")
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
        assert (engines.dialect_of(path, None).names, is_padded(engines.head_of(path))) == (["age", "note"], False)


def test_what_stands_for_suppressed_is_no_value():
    init_patients(sex=["F", "M", "*", "F"] * (ROWS // 4), team=["?", "w1"] * (ROWS // 2))
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


def test_odd_values_are_proposed_as_missing_and_a_search_runs(monkeypatch):
    """Find redundancy once, and draft only columns with proposed values again."""
    ward().to_csv("ward.csv", index=False, sep=";")
    called = []
    for module, name in ((guesses, "equal_columns"), (initializing, "draft_hierarchy")):
        own = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, n=name, f=own, **named: called.append(n) or f(*given, **named))
    said = init("ward.csv", *(f"--role={name}=quasi-identifier" for name in [*ASKED, "test", "sex"]))
    # Nine columns first, and then those with "k.A.", "n. b.", "n/a" and "grün".
    assert (called.count("equal_columns"), called.count("draft_hierarchy")) == (1, 9 + 5)
    # The file asks about proposed values.
    assert [line for line in said.splitlines() if "a missing value?" in line] == [
        f"{name}: {ASKED[name]}" for name in ("Alter", "height", "year")
    ]
    assert "to empty in ward.toml, then: pymoo-anon hierarchy draft ward.toml --force\n" in said
    proposed = ["k.A.", "n. b.", "n/a", "grün"]
    assert f"\nWith missing values, {', '.join(map(repr, proposed))} among them: " in said
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
    run("search", "ward.toml", "--generations", "3")


def roles_of(project):
    return {name: column.role for name, column in read_project(Path(project), decided=False).columns.items()}


def dropped(project):
    return {name for name, role in roles_of(project).items() if role == "drop"}


def test_roles_of_many_columns_are_asked_for():
    more = {f"Q{i}": ["yes", "no"] * (ROWS // 2) for i in range(4)} | {"[x]=y": 1.5, "Q*": 2.5}
    roles = ("Q*=drop", "Q[23]=quasi-identifier", "[x]=y=keep", "team=person", "icd=sensitive")
    _, text = init_patients(*(f"--role={own}" for own in roles), **more)
    found = roles_of("patients.toml")
    assert dropped("patients.toml") == {"patient_id", "name", "Q0", "Q1", "Q*"}
    assert (found["team"], found["icd"], found["[x]=y"]) == ("person", "sensitive", "keep")
    assert list(found.values()).count("quasi-identifier") == 5
    assert "role = \"quasi-identifier\"  # --role 'Q[23]=quasi-identifier' says so\n" in text
    assert Path("hierarchies/Q2.csv").read_text() == "no;*\nyes;*\n"


def test_what_is_not_decided_says_what_each_choice_means():
    _, text = init_patients()
    assert "role = \"drop\"  # an identifier: the name says 'name', which names a person\n" in text
    own = text.partition('# Where it is "other":')[2].partition("# birth date:")[0]
    assert all(f'"{role}"' in own for role in ("quasi-identifier", "sensitive", "person", "drop", "keep"))
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
    init("my 'odd\" [file].csv")
    (project,) = Path().glob("*.toml")
    own = decided(project)
    assert list(own.columns) == list(frame)
    assert {column.role for column in own.columns.values()} == {"quasi-identifier"}
    assert len({path.name.lower() for path in own.quasi_identifiers.values()}) == len(frame.columns)
    assert table_of(own).n_rows == len(frame)
    assert open_table(own.reading, list(own.columns)).to_numpy().tolist() == frame.to_numpy().tolist()


def test_a_file_of_types_gives_the_same_roles():
    patients().to_csv("patients.csv", index=False)
    patients().to_parquet("typed.parquet")
    patients().assign(Sex="F").to_parquet("alike.parquet")
    own, typed = "one/patients.toml", "two/typed.toml"
    init("patients.csv", "--output", "one")
    assert "Warning" not in init("typed.parquet", "--output", "two")
    assert "in case alone; some are read under other names: 'Sex_1'" in init("alike.parquet")
    assert table_of(decided(own)).n_rows == table_of(decided(typed)).n_rows == ROWS
    assert roles_of(own) == roles_of(typed)


def test_values_that_no_hierarchy_file_holds_are_said(monkeypatch):
    def fail(*args):
        raise ValueError("no")

    monkeypatch.setattr("pymoo_anon.table.hierarchy.Hierarchy.to_csv", fail)
    assert "but its values fit into no hierarchy file" in init_patients()[1]
    assert not Path("hierarchies").exists()
