"""Tables of other programs: names of rows, and how each program writes that there is no value."""

from pathlib import Path

import pandas as pd
import pytest
import tomlkit
from command import run

from pymoo_anon.study.names import source_of
from pymoo_anon.study.project import read_project
from pymoo_anon.study.proposal import Proposer, reading_of

pytestmark = pytest.mark.usefixtures("folder")


def patients():
    """Return 40 rows without a column that counts them."""
    return pd.DataFrame({"age": [20 + i % 5 for i in range(40)], "sex": ["F", "M"] * 20})


def proposed(frame, **roles):
    """Write a table, and return the columns and texts of its proposal."""
    frame.to_csv("t.csv", index=False)
    made = Proposer(reading_of(source_of("t.csv", Path()), "auto", None))
    own = made.propose(Path("t.toml"), [f"{name}={role}" for name, role in roles.items()])
    text = tomlkit.parse(own.texts["t.toml"]).unwrap()
    return {column.profile.name: column for column in own.columns}, text["data"]["empty"]


def test_lists_of_a_parquet_file_are_refused_with_their_columns():
    patients().assign(tags=[["a"]] * 40).to_parquet("t.parquet")
    assert "must hold single values, got lists or objects in 'tags'" in run("init", "t.parquet", code=2)


@pytest.mark.parametrize("file", ["t.csv", "t.xlsx"])
def test_no_other_column_has_the_name_that_names_of_rows_get(file):
    own = patients().rename(columns={"sex": "column 1"})
    own.to_csv(file) if file == "t.csv" else own.to_excel(file, engine="xlsxwriter")
    assert "must name each of its columns once, got 'column 1' more than once" in run("init", file, code=2)


@pytest.mark.parametrize("file", ["t.csv", "t.xlsx"])
def test_names_of_rows_are_a_column_without_a_name_that_is_left_out(file):
    """Read the usual files of pandas and R."""
    if file == "t.csv":
        patients().to_csv(file)
    else:
        patients().to_excel(file, engine="xlsxwriter")
    assert "Not released (1): column 1\n" in run("init", file)
    assert read_project(Path("t.toml")).with_role("drop") == ["column 1"]
    if file == "t.xlsx":
        return
    run("search", "t.toml")
    run("pick", "t.toml", "--require", "k>=2")
    run("release", "t.toml", "--output", "public.csv")
    assert list(pd.read_csv("public.csv")) == ["age", "sex"]


@pytest.mark.parametrize("file", ["t.csv", "t.xlsx"])
def test_a_last_column_without_a_name_is_kept_under_its_place(file):
    """Read lines that end with a separator, as spreadsheets write them."""
    frame = patients().assign(**{"": "x"})
    frame.to_csv(file, index=False) if file == "t.csv" else frame.to_excel(file, index=False, engine="xlsxwriter")
    run("init", file)
    assert read_project(Path("t.toml")).with_role("drop") == ["column 3"]
    if file == "t.csv":
        Path("t.csv").write_text(Path("t.csv").read_text().replace(",x", ","))
        assert "Not released (1): column 3\n" in run("init", file, "--force")


def test_the_name_of_a_column_of_texts_is_no_title():
    Path("t.csv").write_text('text\n"a; b"\n"c; d"\n')
    assert "Not released (1): text" in run("init", "t.csv")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["Total", None, None, 40, None]], "1 row holds nothing in most columns but 'Total', '40'. If they are"),
        ([[None] * 5] * 2, "2 rows hold nothing in most columns. If they are totals"),
        ([["Source: the office", *[None] * 4], [None] * 5], "2 rows hold nothing in most columns but 'Source"),
        # Two in five columns are mostly enough, and many such rows are no accident.
        ([[None, None, 3, "x", "y"]], ""),
        ([[None] * 5] * 20, ""),
    ],
)
def test_rows_that_are_nearly_empty_are_asked_about(rows, said):
    frame = pd.DataFrame({"age": range(400), "sex": "F", "zip": "02139", "n": 1, "note": "x"})
    pd.DataFrame([*frame.to_numpy(), *rows], columns=frame.columns).to_csv("t.csv", index=False)
    text = run("init", "t.csv")
    assert said in text
    assert ("nothing in most columns" in text) == bool(said)


def test_an_identifier_that_decides_another_column_is_asked_about():
    """Ask whose row a key tells, and ask nothing about a name that people share."""
    frame = pd.DataFrame(
        {"surname": [f"N{i * i % 61}" for i in range(300)], "key": [f"{i % 60:032x}" for i in range(300)]}
    )
    frame.assign(country=["DE" if i % 60 < 20 else "FR" for i in range(300)]).to_csv("t.csv", index=False)
    assert "key: 60 values in 300 rows. Does it tell whose row it is? If so, give it the role person" in run(
        "init", "t.csv"
    )
    for role in ("person", "drop"):
        assert "whose row" not in run("init", "t.csv", "--force", "--role", f"key={role}")


def test_what_nobody_told_counts_as_a_secret():
    patients().assign(diagnosis=["flu", "HIV", "not stated", "unknown"] * 10).to_csv("t.csv", index=False)
    assert "'not stated', 'unknown' in diagnosis: each counts as a value for l-diversity" in run("init", "t.csv")


@pytest.mark.parametrize("text", ["NA", "N/A", "NaN", "NULL", "<NA>"])
def test_what_programs_write_for_no_value_is_none_in_any_column(text):
    frame = patients().astype(object)
    frame.iloc[::4, 0] = frame.iloc[::5, 1] = text
    columns, empty = proposed(frame)
    assert empty == [text]
    assert [columns[name].profile.n_missing for name in ("age", "sex")] == [10, 8]
    assert columns["age"].levels == "numbers, 2 levels above the values"


def test_a_code_of_two_letters_is_a_value():
    """Keep Namibia among countries, and ask about the same text among numbers."""
    frame = patients().astype(object).assign(country=["NA", "DE", "FR", "ES"] * 10)
    frame.iloc[0, 0] = "NA"
    columns, empty = proposed(frame)
    assert empty == []
    assert columns["country"].profile.n_missing == 0
    assert columns["age"].draft.question == "'NA' in 1 row is no number: is it a missing value?"
    assert proposed(frame.assign(n=["NA", 1] * 20))[1] == ["NA"]


def test_a_text_among_numbers_says_missing_whatever_the_role():
    """Take the point of SAS for no value also where a column gets no hierarchy."""
    frame = patients().astype(object).assign(x1=[0, 1, ".", 1] * 10, x2=[3, 4, 5, "."] * 10)
    columns, empty = proposed(frame)
    assert (columns["x1"].role, empty) == ("other", ["."])
    assert columns["x1"].profile.n_missing == columns["x2"].profile.n_missing == 10
    # It is a value where other texts are.
    columns, empty = proposed(frame.assign(x3=["a", ".", "b", "c"] * 10))
    assert empty == []


def test_gaps_in_a_column_that_is_not_decided_are_kept():
    """Let a search run after the role is decided."""
    patients().assign(x1=[1.5, 2.5, None, 3.5] * 10).to_csv("t.csv", index=False)
    run("init", "t.csv")
    text = Path("t.toml").read_text()
    Path("t.toml").write_text(text.replace('role = "other"', 'role = "sensitive"'))
    assert 'missing = "keep"' in text
    run("search", "t.toml")


def test_dummies_of_a_column_are_left_out_and_those_of_another_role_stay():
    """Leave out dummies of undecided or sensitive columns, and keep those of a quasi-identifier."""
    frame = pd.concat([patients()] * 5, ignore_index=True)
    frame["x"] = [(i * i + i // 3) % 4 for i in range(200)]
    frame["income"] = [(i * i + i // 7) % 3 for i in range(200)]
    frame = frame.assign(x1=frame.x == 1, income1=frame.income == 1, old=frame.age > 22)
    columns, _ = proposed(frame)
    assert {name: own.reason for name, own in columns.items() if own.role == "drop"} == {
        "x1": "'x' decides it: where 'x' is the same, it is",
        "income1": "'income' decides it: where 'income' is the same, it is",
    }
    assert columns["old"].role == "other"


def test_a_column_may_have_blanks_in_its_cells():
    Path("t.csv").write_text("first name\nAnn Lee\nBob\nEve Ann Roe\n")
    assert "first name" in run("init", "t.csv")


def test_attributes_of_what_may_be_a_key_stay():
    """Keep columns that an undecided number of persons decides."""
    frame = pd.DataFrame({"x": [i // 4 for i in range(400)], "age": [20 + i % 9 for i in range(400)]})
    frame["size"] = frame.x * frame.x // 3 % 5
    columns, _ = proposed(frame)
    assert (columns["x"].role, columns["size"].role) == ("other", "other")
