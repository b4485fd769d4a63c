"""`pymoo-anon hierarchy`: drafts whole or not at all, complete checks, exit codes."""

import csv
import os
from functools import partial
from pathlib import Path

import pytest
import tomlkit
from command import command, own, project_of, refused, run, search
from malformed import hierarchy_files
from strategies import times

from pymoo_anon.study import names
from pymoo_anon.study.names import source_of
from pymoo_anon.study.project import read_project
from pymoo_anon.study.tables import by_column, table_of
from pymoo_anon.table import Hierarchy
from pymoo_anon.table.drafts import _DRAFTERS

pytestmark = pytest.mark.usefixtures("own_table")

hierarchy = partial(run, "hierarchy")

error = partial(refused, "hierarchy")


def read(data, folder="hierarchies"):
    """Return the quasi-identifiers that init finds and a search reads."""
    run("init", data, "--hierarchies", folder, "--role", "*=drop", "--output", "read", "--force")
    (path,) = Path("read").glob("*.toml")
    return list(table_of(read_project(path)).quasi_identifiers)


def files(folder="."):
    return sorted(os.listdir(folder))


def test_kinds_are_those_of_the_drafts():
    assert list(names.KINDS) == ["auto", *_DRAFTERS]


def test_every_column_gets_a_draft():
    result = hierarchy("draft", "mine.csv")
    assert files("hierarchies") == ["diagnosis.csv", "note.csv", "paid.csv", "sex.csv", "zip.csv"]
    assert Path("hierarchies/sex.csv").read_text() == "F;*\nM;*\n"
    assert Path("hierarchies/zip.csv").read_text().startswith("02130;*\n02131;*\n")
    rows = [" ".join(line.split()) for line in result.splitlines()]
    assert "zip codes 10 → 1 codes of 5 characters, redacted from the right" in rows
    assert result.endswith(
        "Written: hierarchies/zip.csv, hierarchies/sex.csv, hierarchies/diagnosis.csv, hierarchies/paid.csv, "
        "hierarchies/note.csv\nNext: read and edit them, then: pymoo-anon hierarchy check hierarchies --data mine.csv\n"
    )
    hierarchy("check", "hierarchies", "--data", "mine.csv")


def test_columns_and_their_kind_may_be_named():
    asked = ["--column", "zip", "--column", "note", "--kind", "codes", "--output", "drafts"]
    hierarchy("draft", "mine.csv", *asked)
    assert files("drafts") == ["note.csv", "zip.csv"]
    assert read("mine.csv", "drafts") == ["zip", "note"]
    assert Hierarchy.from_csv("drafts/note.csv").labels[1][0] == "0*"


def test_columns_that_a_hierarchy_does_not_help_are_left_out_unless_named():
    rows = [f"id{i},x," for i in range(20)]
    Path("t.csv").write_text("\n".join(["name,same,empty", *rows]))
    assert error("draft", "t.csv") == "t.csv has no column that needs a hierarchy; --column NAME drafts one anyway"
    Path("t.csv").write_text("\n".join(["name,same,two", *(f"id{i},x,{i % 2}" for i in range(20))]))
    result = hierarchy("draft", "t.csv")
    assert files("hierarchies") == ["two.csv"]
    assert "No draft for same: it has one value; --column same drafts one anyway.\n" in result
    assert "No draft for name: its 20 values are all different, as in an identifier; --column name" in result
    hierarchy("draft", "t.csv", "--column", "name", "--column", "same")
    assert files("hierarchies") == ["name.csv", "same.csv", "two.csv"]
    assert Path("hierarchies/same.csv").read_text() == '"x"\n'


def test_a_column_without_a_name_gets_no_draft():
    Path("t.csv").write_text("sex,\n" + "F,x\nM,y\n")
    hierarchy("draft", "t.csv")
    assert files("hierarchies") == ["sex.csv"]


def test_drafts_replace_files_only_by_force():
    hierarchy("draft", "mine.csv", "--column", "sex")
    Path("hierarchies/sex.csv").write_text("edited")
    message = "hierarchies/sex.csv exists; --force replaces it, --output names another place"
    assert error("draft", "mine.csv", "--column", "sex") == message
    more = f"{message}, --column zip --column diagnosis --column paid --column note drafts what is not there"
    assert error("draft", "mine.csv") == more
    one = error("draft", "mine.csv", "--column", "zip", "--column", "sex")
    assert one == f"{message}, --column zip drafts what is not there"
    assert files("hierarchies") == ["sex.csv"]
    assert Path("hierarchies/sex.csv").read_text() == "edited"
    hierarchy("draft", "mine.csv", "--force")
    assert Path("hierarchies/sex.csv").read_text() == "F;*\nM;*\n"
    assert error("draft", "mine.csv").endswith("another place, --force --column NAME replaces one alone")


def test_a_name_that_no_file_has_gets_the_file_that_init_gives_it():
    header = ["Gewicht/kg", ".a", "c\\d", "é" * 120, "CON", "size", "Size"]
    rows = [[f"{50 + i % 4}", *(pair[i % 2] for pair in ("xy", "pq", "uv", "rs", "LM", "AB"))] for i in range(40)]
    Path("t.csv").write_text("\n".join(map(",".join, [header, *rows])))
    hierarchy("draft", "t.csv")
    assert files("hierarchies") == sorted(names.file_names(header))
    assert max(map(len, files("hierarchies"))) < 80
    # A device of Windows.
    assert "CON_.csv" in files("hierarchies")
    assert sorted(read("t.csv")) == sorted(header)
    assert hierarchy("check", "hierarchies", "--data", "t.csv").count("no findings") == len(header)
    # One alone has the same file.
    hierarchy("draft", "t.csv", "--column", "Size", "--output", "one")
    assert files("one") == ["Size-2.csv"]
    run("init", "t.csv", "--output", "made", "--role", "*=quasi-identifier")
    assert files("made/hierarchies") == files("hierarchies")


def test_odd_values_are_asked_about():
    rows = [f"{83000 + i % 60};{i % 80 + 70},5;{'FM'[i % 2]}" for i in range(400)] + ["k.A.;-,0;F"] * 8
    Path("t.csv").write_text("\n".join(["plz;Gewicht;sex", *rows]))
    result = hierarchy("draft", "t.csv")
    assert "\nplz: 'k.A.' in 8 rows is no code: is it a missing value?\n" in result
    assert "\nGewicht: '-,0' in 8 rows is no number: is it a missing value?\n" in result
    hierarchy("check", "hierarchies", "--data", "t.csv")


PROJECT = project_of(
    {"age": "quasi-identifier", "town": "hierarchies/town.csv", "sick": "sensitive"},
    "patients.data",
    more={"names": ["age", "town", "sick"], "strip": True, "empty": ["?", "unknown"]},
)


def test_a_column_that_the_project_does_not_name_gets_a_draft(own_table):
    own()
    project = tomlkit.parse(Path("mine.toml").read_text(encoding="utf-8"))
    del project["columns"]["note"]
    Path("mine.toml").write_text(tomlkit.dumps(project), encoding="utf-8")
    assert "Written: new/note.csv" in hierarchy("draft", "mine.toml", "--column", "note", "--output", "new")


def test_a_draft_of_a_project_reads_the_table_as_the_project_does():
    Path("study").mkdir()
    Path("study/my.toml").write_text(PROJECT)
    rows = [f"{20 + i % 30}, {'AB'[i % 2]}, yes" for i in range(60)] + ["?, A, yes", "unknown, B, no"]
    Path("study/patients.data").write_text("\n".join(rows))
    said = search("study/my.toml").stderr
    asked = "pymoo-anon hierarchy draft study/my.toml --column age"
    assert said.endswith(f"must have a hierarchy, the name of a CSV file; {asked} drafts one\n")
    result = hierarchy(*asked.split()[2:])
    assert files("study/hierarchies") == ["age.csv"]
    # A missing value is a value of its own and no text such as ?, so that numbers stay numbers.
    assert set(Hierarchy.from_csv("study/hierarchies/age.csv").labels[0]) == {None, *map(str, range(20, 50))}
    _, _, asked = result.partition("then: pymoo-anon hierarchy ")
    check, _, told = asked.partition(", ")
    assert told == "and name them there\n"
    assert hierarchy(*check.split()).startswith("study/hierarchies/age.csv: no findings\n")
    assert "age.csv exists" in error("draft", "study/my.toml")
    hierarchy("draft", "study/my.toml", "--output", "here")
    assert files("here") == ["age.csv", "town.csv"]
    assert error("draft", "study/my.toml", "--column", "aeg").startswith("study/patients.data must have the columns")
    # The project says of which column a file is.
    Path("study/my.toml").write_text(PROJECT.replace("town.csv", "age.csv"))
    assert "age.csv: error: values of the column without a row: 'A', 'B'\n" in hierarchy(*check.split(), code=1)


def test_check_says_everything_of_every_file():
    Path("trees/sex.csv").write_text("F;x;*\nM;y;*\nm ;x;*\nF;x\n")
    assert hierarchy("check", "trees", "--data", "mine.csv", code=1).splitlines() == [
        "trees/sex.csv: error: rows that have not 3 columns like the others, by their numbers: 4",
        "trees/sex.csv: warning: values that differ only in case, spaces or character width: 'M' and 'm '",
        "trees/sex.csv: note: values that the column does not hold: 'm '",
        "trees/zip.csv: no findings",
        "1 error, 1 warning, 1 note.",
    ]
    Path("trees/sex.csv").write_text("F;*\n")
    told = "trees/sex.csv: error: values of the column without a row: 'M'\n"
    assert hierarchy("check", "trees/sex.csv", "--data", "mine.csv", code=1).startswith(told)
    told = "trees/sex.csv: warning: level 1 gains nothing: it has as many groups as the one below, 1\n"
    assert hierarchy("check", "trees").startswith(told)


def test_show():
    Path("zip.csv").write_text("".join(f"{i:03};{i // 10:02}*;*\n" for i in range(34)) + ";;*\n")
    result = hierarchy("show", "zip.csv")
    lines = [line.split() for line in result.splitlines()]
    assert lines[0] == ["zip.csv:", "35", "values,", "2", "levels", "above."]
    assert lines[2:5] == [
        ["0", "35", "1", "000,", "001,", "002,", "003,", "…,", "(missing)"],
        ["1", "5", "1", "to", "10", "00*,", "01*,", "02*,", "03*,", "(missing)"],
        ["2", "1", "35", "*"],
    ]


def test_levels_fit_the_terminal(monkeypatch):
    Path("long.csv").write_text("".join(f"{'x' * 300}{i};\x1b[31m{i // 2};*\n" for i in range(6)))
    result = hierarchy("show", "long.csv")
    assert max(map(len, result.splitlines())) <= 160
    assert "\x1b" not in result
    assert "\\x1b[31m0, \\x1b[31m1, \\x1b[31m2" in result


def test_malformed_files_end_in_one_sentence():
    for seed in range(times(50)):
        Path("trees/sex.csv").write_bytes(hierarchy_files(seed))
        loads = True
        try:
            Hierarchy.from_csv("trees/sex.csv")
        except ValueError:
            loads = False
        checked, shown = (command("hierarchy", one, "trees/sex.csv") for one in ("check", "show"))
        assert (checked.exit_code, shown.exit_code) == ((0, 0) if loads else (1, 2)), seed
        assert isinstance(checked.exception, SystemExit | None)
        assert checked.stderr == ""
        assert "\x1b" not in checked.stdout + shown.stdout
        if not loads:
            assert error("show", "trees/sex.csv").startswith("trees/sex.csv")
            assert refused("search", *own()).startswith("trees/sex.csv")


ARX = {"zip": "mine_hierarchy_zip.CSV", "sex": "mine_hierarchy_sex.csv"}


def test_folders_of_arx_load_as_they_are():
    """Load tables beside their hierarchies, and other tables, as ARX does."""
    for column, name in ARX.items():
        os.rename(f"trees/{column}.csv", f"trees/{name}")
    text = Path("mine.csv").read_text().replace(",", ";")
    Path("trees/mine.csv").write_text(text)
    for name in ("other.csv", "other_config.csv", "other_hierarchy_age.csv", "other_hierarchy_sex.csv"):
        Path("trees", name).write_text("x;*\n")
    Path("trees/._zip.csv").write_bytes(b"\0\5\x16\7")
    result = command("init", "trees/mine.csv", "--hierarchies", "trees", "--role", "*=drop", "--force")
    assert result.exit_code == 0, result.output
    assert read_project(Path("mine.toml")).quasi_identifiers == {c: Path("trees", name) for c, name in ARX.items()}
    warning = (
        "Warning: no column of trees/mine.csv has the name of these files, passed over: 'other.csv', "
        "'other_config.csv', 'other_hierarchy_age.csv'\n"
    )
    assert result.stderr == warning
    assert not Path("hierarchies").exists()
    checked = hierarchy("check", "trees", "--data", "trees/mine.csv")
    assert [line.split(":")[0] for line in checked.splitlines()[1:-1]] == [f"trees/{ARX[c]}" for c in ("sex", "zip")]


COLUMNS = ["zip", "sex", "x_hierarchy_sex", "b_hierarchy_c", "c", "a/b", "C"]
#: The column of each file, where - is none, or why there is no answer. A file of no column is refused by the reader,
#: unless ARX's own files of the table show that it is another's.
with Path(__file__).with_name("hierarchy_files.csv").open(encoding="utf-8", newline="") as file:
    FILES_OF_COLUMNS = list(csv.DictReader(file, delimiter=";"))


@pytest.mark.parametrize("row", FILES_OF_COLUMNS, ids=lambda row: row["files"])
def test_which_file_is_of_which_column(row):
    paths = [Path(name) for name in row["files"].split()]
    if row["told"]:
        with pytest.raises(ValueError, match=f"^hierarchies must .*{row['told']}$"):
            by_column(paths, source_of("mine.csv", Path()), COLUMNS)
    else:
        expected = dict(zip(row["columns"].split(), paths, strict=True))
        expected.pop("-", None)
        assert by_column(paths, source_of("mine.csv", Path()), COLUMNS) == expected
