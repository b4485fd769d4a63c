"""Pages without a browser: their sentences about a project, and their fields."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
import tomlkit
from arx_projects import QUASI, SENSITIVE, config_of, entries, write
from command import own, run, search
from screens import *

from pymoo_anon.app.desk import Desk
from pymoo_anon.publishing.release import ANYWAY
from pymoo_anon.study.names import source_of
from pymoo_anon.study.proposal import Proposer, reading_of

pytestmark = pytest.mark.usefixtures("ended_work")


@pytest.fixture
def ended_work(own_table, monkeypatch):
    # Charts are drawn by a browser.
    monkeypatch.setattr(study, "_draw", lambda *given: None)
    yield
    wait()


def change(**tables):
    content = tomlkit.parse(Path("mine.toml").read_text(encoding="utf-8"))
    content.update(tables)
    Path("mine.toml").write_text(tomlkit.dumps(content), encoding="utf-8")


def test_bounds_may_be_a_text_or_a_list():
    own(diagnosis="sensitive")
    change(
        search={"require": "k>=2"},
        audience=[{"name": "staff", "require": "k>=3"}, {"name": "all", "require": ["k>=20"]}],
    )
    said = texts(told(project.show_requirements))
    assert "Everybody hides among at least 2 rows. (k>=2)" in said
    assert "staff: Everybody hides among at least 3 rows." in said
    assert "all: Everybody hides among at least 20 rows." in said


def test_a_bound_is_the_number_that_is_typed_of_a_column_that_its_measure_reads():
    own(diagnosis="sensitive", note="sensitive")
    known, made = Desk(Path("mine.toml")).project(), []
    page = told(lambda own: made.append(project._bound_fields(known)))
    (measure, column), (limit,) = of(page, ui.select), of(page, ui.number)
    for name, value, bound in (
        ("k", 1234567.0, "k>=1234567"),
        ("t", 0.12345678, "t:diagnosis<=0.12345678"),
        ("l", 3, "l>=3"),
    ):
        measure.value = name
        # Five is a bound of k alone.
        assert limit.value == (5 if name == "k" else None)
        limit.value = value
        assert made[0]() == bound
        assert column.value == ("diagnosis" if name == "t" else "")
    for wrong, said in ((None, "none"), (-3, "-3")):
        limit.value = wrong
        with pytest.raises(ValueError, match=f"a bound must be a number of at least 0, got {said}$"):
            made[0]()


def test_bounds_of_persons_are_of_no_rows():
    own(paid="person")
    page = told(lambda own: project._bound_fields(Desk(Path("mine.toml")).project()))
    measure, column = of(page, ui.select)
    assert measure.value == "k"
    assert not column.visible


def test_a_list_of_bounds_is_split_outside_brackets():
    page = told(lambda own: ui.input())
    (field,) = of(page, ui.input)
    field.value = "k[zip,sex]>=5, l>=2"
    assert screen.parts(field) == ["k[zip,sex]>=5", "l>=2"]


def test_a_table_of_other_columns_than_the_project_names_them():
    Path("mine.csv").write_text("postcode,age\n1,2\n3,4\n", encoding="utf-8")
    desk = Desk(Path("mine.toml"))
    said = texts(told(project.show_table, desk))
    assert [one for one in said if one.startswith("mine.csv must have the columns 'zip', 'sex', 'diagnosis',")]
    with pytest.raises(ValueError, match=r"mine\.csv must have the column 'zip', got 'postcode', 'age'"):
        desk.hierarchy("zip")


def test_an_algorithm_that_does_not_fit_can_be_changed():
    change(search={"recoding": "local", "algorithm": "pbgea"})
    page = told(study.show_search)
    assert "algorithm must be one for local recodings: auto, nsga2, sweep; got 'pbgea'" in texts(page)
    (algorithm,) = of(page, ui.select)
    algorithm.value = "sweep"
    assert Desk(Path("mine.toml")).project().search["algorithm"] == "sweep"


def test_a_choice_of_another_front_hides_no_point():
    search("mine.toml", "--seed", "1")
    desk = Desk(Path("mine.toml"))
    desk.start("picking", lambda job: desk.study.pick(row=len(desk.study.front))).join()
    assert desk.job.error == ""
    change(search={"objectives": ["k", "GLM"], "require": ["k>=8"], "suppression": 0})
    search("mine.toml")
    page = told(study.show_front, desk)
    assert [one for one in texts(page) if "was chosen from another front" in one]
    assert len(of(page, ui.table)) == 1
    assert "Chosen" not in " ".join(texts(page))


def test_releases_are_counted_again_also_when_nothing_is_to_be_released():
    change(audience=[{"name": "staff", "require": "k>=4"}])
    search("mine.toml")
    run("release", "mine.toml", "--audience", "staff")
    change(audience=[])
    page = told(study.show_release_step)
    assert "No point is chosen yet: step 5 chooses one." in texts(page)
    assert "Count all releases again" in [one.text for one in of(page, ui.button)]


def test_a_sheet_and_an_encoding_are_asked_for_by_errors_and_written_into_the_project():
    frame = pd.read_csv("mine.csv", dtype=str).rename(columns={"diagnosis": "Müdigkeit"})
    frame.to_csv("mine.csv", index=False, encoding="cp1252")
    with pd.ExcelWriter("book.xlsx") as book:
        for name in ("first", "second"):
            frame.to_excel(book, sheet_name=name, index=False)
    for name, asked, advice in (
        ("mine.csv", {"encoding": "cp1252"}, "name its Encoding, and choose the file again"),
        ("book.xlsx", {"table": "second"}, "name one as Sheet or table, and choose the file again"),
    ):
        desk = Desk(Path())
        with pytest.raises(ValueError, match="name") as refused:
            Proposer(reading_of(source_of(name, Path()), "auto", None))
        assert screen.in_steps(str(refused.value)).endswith(advice)
        page = looked(name, desk, **asked)
        ((key, value),) = asked.items()
        assert [one for one in texts(page) if one.startswith("pymoo-anon init") and f" --{key} {value}" in one]
        of(page, ui.checkbox)[0].value = True
        work(page, desk, "Begin a project")
        assert f'{key} = "{value}"' in desk.text


def test_roles_that_do_not_fit_one_another_are_told_at_once():
    for roles, said in (
        ({"paid": "label", "diagnosis": "label"}, "one column at most may be the label, got 'diagnosis', 'paid'"),
        ({"zip": "drop", "sex": "drop"}, "at least one column must have the role quasi-identifier, got none"),
    ):
        own(**roles)
        assert f"mine.toml: {said}" in texts(told(project.show_table))


def test_any_table_can_be_begun_under_the_name_that_init_gives():
    Path("odd.csv").write_text("reading\n" + "".join(f"{i}.5\n" for i in range(30)), encoding="utf-8")
    with closing(sqlite3.connect("data.sqlite")) as database:
        pd.read_csv("mine.csv", dtype=str).to_sql("my persons", database, index=False)
    for name, stem, risk in (
        ("odd.csv", "odd", "No column looks as if"),
        ("mine.csv", "mine", " of 40 rows "),
        ("data.sqlite", "my_persons", " of 40 rows "),
    ):
        page = looked(name, Desk(Path()))
        assert risk in " ".join(texts(page))
        assert button(page, f"Begin a project: write {stem}.toml")


def test_columns_of_a_file_without_their_names_are_named_on_the_page():
    Path("bare.csv").write_text("34,2139,1\n35,2140,2\n36,2141,2\n" * 9, encoding="utf-8")
    for names, said in (
        ("", 'there; fill in "Column names", and choose the file again'),
        ("a,a,b", "names must name each column once, got more than once: 'a'"),
    ):
        with pytest.raises(ValueError, match="name") as refused:
            looked("bare.csv", Desk(Path()), names=names)
        assert screen.in_steps(str(refused.value)).endswith(said)
    said = texts(looked("bare.csv", Desk(Path()), names="age,zip,code"))
    assert "pymoo-anon init bare.csv --names age,zip,code" in said


def test_many_columns_that_are_not_decided_get_a_role_at_once():
    names = [f"question {i}" for i in range(30)]
    pd.DataFrame({"age": range(20, 60), **{name: [1, 2, 3, 4] * 10 for name in names}}).to_csv("wide.csv", index=False)
    run("init", "wide.csv", *(part for name in names for part in ("--role", f"{name}=other")))
    desk = Desk(Path("wide.toml"))
    for sought, role, n_left in (("Question 1", "sensitive", 19), ("", "drop", 0)):
        page = told(project.show_table, desk)
        (warning,) = [one for one in texts(page) if "; give it at step 1 the role" in one]
        assert len(warning) < 220
        labelled(page, "Find a column").value = sought
        labelled(page, "Role of those not decided").value = role
        work(page, desk, "Give it")
        assert len(desk.project().with_role("other")) == n_left
    assert desk.project().with_role("sensitive") == ["question 1", *(f"question {i}" for i in range(10, 20))]


def test_advice_is_about_the_page():
    change(adversary=[{"known": ["zip", "sex"], "require": ["k>=2"]}], search={"suppression": 0.1})
    with pytest.raises(ValueError, match="suppression must be Violating ") as refused:
        project.unmet(Desk(Path("mine.toml")).project())
    for advice, said in {
        refused.value: 'change "Suppress at most" to violating:0.01 or 0 where adversaries know some columns alone',
        'stands alone; suppressed = "drop" leaves it out': "stands alone; step 3 can leave it out",
        ANYWAY: 'a reason in "Release anyway, because" releases it nevertheless',
        "pymoo-anon release a.toml --force writes both": 'a release with the box "Replace" writes both',
        "no such file; pymoo-anon init writes a project file": 'no such file; "Other files" begins another one',
    }.items():
        assert screen.in_steps(str(advice)) == said


def test_points_of_a_local_recoding_have_no_levels():
    for recoding, said in (("full-domain", "stands its level: 0"), ("local", "stands the number of its groups: 1")):
        change(search={"recoding": recoding})
        search("mine.toml")
        page = told(study.show_front)
        assert said in " ".join(texts(page))
        titles = [own["label"] for own in of(page, ui.table)[0].columns]
        assert titles.index("suppressed") + 1 == titles.index("cannot be released") < titles.index("zip")


def test_neither_a_release_nor_its_codebook_is_a_table_to_begin_with():
    for name in ("mine-release.csv", "mine-release.csv.codebook.csv", "mine-release.csv.evidence.json", "tabs.tsv"):
        Path(name).touch()
    assert Desk(Path()).files() == (["mine.toml"], ["mine.csv", "tabs.tsv"])


def test_a_project_of_arx_is_begun_with_what_was_not_taken_over():
    rows = [["zip", "flu"], *([f"0213{i % 4}", "no" if i % 3 else "yes"] for i in range(40))]
    columns = [("zip", QUASI, ("All", "All"), []), ("flu", SENSITIVE, ("All", "All"), [])]
    trees = {"zip": [[f"0213{i}", "*"] for i in range(4)]}
    write("taken.deid", entries(rows, columns, trees, config_of(["3-anonymity"], 0.1, {"zip": 0.5})))
    desk = Desk(Path())
    assert desk.files()[1] == ["mine.csv", "taken.deid"]
    page = looked("taken.deid", desk)
    assert "pymoo-anon init taken.deid" in texts(page)
    work(page, desk, "Begin a project: write taken.toml and hierarchies")
    assert desk.file == Path("taken.toml")
    shown = {
        path: path.read_bytes() for path in [Path("taken.toml"), Path("taken.csv"), *Path("hierarchies").iterdir()]
    }
    assert [one for one in texts(told(project.show_table, desk)) if one.startswith("Not taken over: ")]
    run("init", "taken.deid", "--force")
    assert shown == {path: path.read_bytes() for path in shown}


def test_rows_that_are_unique_by_all_that_leaves_are_a_warning():
    for kept, kind in (("drop", "good"), ("keep", "warning")):
        own(note={"role": kept, "reason": "it is a number of its own"} if kept == "keep" else kept)
        change(audience=[{"name": "staff", "require": "k>=4"}])
        search("mine.toml")
        run("release", "mine.toml", "--audience", "staff", "--force", "--anyway", "it is a test of the screen")
        page = told(study.show_release_step)
        (said,) = [one for one in of(page, ui.label) if "unique by" in one.text]
        assert kind in said.classes
    (field,) = [own for own in of(page, ui.input) if own.props.get("label", "").startswith("File")]
    assert not field.value


def test_a_column_that_is_kept_without_a_reason_gets_one_on_the_page():
    own(note="keep")
    change(audience=[{"name": "staff", "require": "k>=4"}])
    search("mine.toml")
    refused = run("release", "mine.toml", "--audience", "staff", code=2)
    assert screen.in_steps(refused).strip().endswith("give a reason of at least five words above")
    own(note="keep", paid={"role": "keep", "reason": "known"})
    change(search={}, audience=[{"name": "staff", "require": "k>=4"}])
    page = told(study.show_release_step)
    assert not [one for one in of(page, ui.input) if one.props.get("label", "").startswith("Why all")]
    own(note="keep", paid="keep", diagnosis={"role": "keep", "reason": "known"})
    page = told(study.show_release_step)
    leave(labelled(page, "Why all of these"), "it is the same for nearly everybody")
    columns = Desk(Path("mine.toml")).project().columns
    reasons = [columns[name].reason for name in ("note", "paid", "diagnosis")]
    assert reasons == [*["it is the same for nearly everybody"] * 2, "known"]


def test_fields_of_step_3_are_kept_when_they_are_left():
    change(search={"suppression": 0.02, "algorithm": "bnb"})
    page, desk = told(project.show_requirements), Desk(Path("mine.toml"))
    labelled(page, "Recoding").value = "local"
    assert desk.project().search == {"local": True}
    labelled(page, "Recoding").value = "full-domain"
    leave(labelled(page, "Suppress at most"), "3")
    labelled(page, "Suppressed rows").value = "drop"
    labelled(page, "Trade off").value = ["k", "GLM", "AECS"]
    assert desk.project().search == {"local": False, "suppression": "3", "objectives": "k,GLM,AECS"}
    assert desk.project().suppressed == "drop"
    labelled(page, "Trade off").value = ["k", "GLM"]
    assert "objectives" not in desk.project().search


def test_entries_are_added_at_the_end_and_need_what_they_are_for(monkeypatch):
    monkeypatch.setattr(screen.Screen, "show", screen.Screen._note)
    change(search={"require": ["k>=2"]}, audience=[{"name": "staff", "require": ["k>=3"]}])
    said, desk = [], Desk(Path("mine.toml"))
    for words, label, value in (
        ("Require", "Name", ""),
        ("Require", "Name", ""),
        ("Add the adversary", "Known", []),
        ("Add the adversary", "Known", ["zip"]),
        ("Add the audience", "Name", ""),
        ("Add the audience", "Name", "all"),
        ("Add the audience", "Name", "staff"),
    ):
        page = told(project.show_requirements, desk)
        page.on_exception(lambda error: said.append(str(error)))
        labelled(page, label).value = value
        click(button(page, words))
    assert said == ["an adversary must have known columns, got none", "an audience must have a name, got none"]
    made = tomlkit.parse(Path("mine.toml").read_text(encoding="utf-8")).unwrap()
    assert made["search"]["require"] == ["k>=2", "k>=5"]
    assert made["adversary"] == [{"known": ["zip"], "require": ["k>=5"]}]
    audiences = [{"name": "staff", "require": ["k>=3", "k>=5"]}, {"name": "all", "require": ["k>=5"]}]
    assert made["audience"] == audiences


def test_numbers_are_kept_as_their_fields_show_them():
    page, desk = told(study.show_search), Desk(Path("mine.toml"))
    for label, typed, kept in (("Time limit", 0.25, 1), ("Seed", 2.6, 3), ("Seed", -4, 0), ("Time limit", None, None)):
        field = labelled(page, label)
        leave(field, typed)
        assert field.value == desk.project().search.get(label.lower().replace(" ", "_")) == kept


def test_a_file_that_is_no_hierarchy_is_refused_in_words():
    page, said = told(project.show_hierarchies), []
    page.on_exception(lambda error: said.append(str(error)))
    (upload,) = of(page, ui.upload)
    click(upload, "rejected")
    assert said == ["a hierarchy must be a .csv or .txt file of at most 20,000,000 bytes, got another one"]


def test_a_group_without_a_label_is_not_renamed_to_none():
    Path("trees", "sex.csv").write_text("F;one;*\nM;two;*\n;;*\n", encoding="utf-8")
    page = told(lambda own: project._show_levels(own, "sex", own.desk.hierarchy("sex")))
    (table,) = of(page, ui.table)
    table.selected = [row for row in table.rows if row["c0"] == "nothing known"]
    click(table, "selection", {"added": False, "rows": [], "keys": []})
    assert labelled(page, "Label").value == ""


def test_fields_are_kept_beside_a_change_of_another_program_that_the_page_shows():
    page = told(project.show_requirements)
    change(search={"require": ["k>=4"]})
    labelled(page, "Recoding").value = "local"
    assert Desk(Path("mine.toml")).project().search == {"require": ["k>=4"]}


def test_a_text_that_is_not_kept_yet_outlives_what_commands_do_beside_it():
    page = nicegui.Client(ui.page("/"))
    with page.content:
        shown = screen.Screen(Desk(Path("mine.toml")), {"": print, "a": project.show_requirements}, 1)
        shown.build()
    wait()
    for label, typed in (("Suppress at most", "5"), ("Name", "staff")):
        labelled(page, label).value = typed
    change(search={"require": ["k>=4"]})
    shown._follow()
    assert "Everybody hides among at least 4 rows. (k>=4)" in texts(page)
    assert (labelled(page, "Suppress at most").value, labelled(page, "Name").value) == ("5", "staff")
    click(labelled(page, "Suppress at most"), "blur")
    assert shown.desk.project().search == {"require": ["k>=4"], "suppression": "5"}
    change(search={"require": ["k>=4"], "suppression": "6"})
    shown._follow()
    assert labelled(page, "Suppress at most").value == "6"
    shown.write({("search", "require"): ["k>=5"]})
    assert labelled(page, "Name").value == "staff"
    click(button(page, "Add the audience"))
    assert labelled(page, "Name").value == ""
    assert [*shown.desk.project().audiences] == ["staff"]


def test_a_page_follows_what_commands_do_beside_it():
    search("mine.toml")
    desk = Desk(Path("mine.toml"))
    shown = screen.Screen(desk, {"": print, "a": print}, 1)
    for files, edit in (
        ("mine.toml", lambda: change(audience=[{"name": "staff", "require": "k>=4"}])),
        ("run.json", lambda: search("mine.toml", "--seed", "7")),
        ("choice.json", lambda: run("pick", "mine.toml", "--require", "k>=3")),
        ("releases.json", lambda: run("release", "mine.toml")),
    ):
        before = desk.state
        edit()
        assert desk.state != before, files
        assert shown._seen != desk.state
    shown._note()
    assert shown._seen == desk.state


def test_how_a_table_is_read_can_be_changed():
    page, desk = told(project.show_table), Desk(Path("mine.toml"))
    labelled(page, "Rows without a value").value = "keep"
    leave(labelled(page, "Texts that mean"), 'flu, "a, b"')
    assert (desk.project().missing, desk.project().reading.empty) == ("keep", ("flu", "a, b"))
    with Path("mine.csv").open("a", encoding="utf-8") as file:
        file.write("02131,,flu,yes,x\n")
    change(search={"require": ["k>=2"]}, data={"file": "mine.csv"})
    with pytest.raises(ValueError, match="missing") as refused:
        project.unmet(desk.project())
    assert '"Rows without a value" of step 1 can leave these rows out, or make them' in screen.in_steps(
        str(refused.value)
    )


def test_what_a_draft_asks_stands_above_the_columns_and_a_draft_can_be_made_anew():
    codes = [*range(20, 60), *range(20, 60), *["x7"] * 3]
    pd.DataFrame({"age": codes, "sex": ["F"] * len(codes)}).to_csv("odd.csv", index=False)
    desk = Desk(Path())
    page = looked("odd.csv", desk)
    (box,) = of(page, ui.checkbox)
    box.value = True
    work(page, desk, "Begin a project")
    page = told(project.show_table, desk)
    (asked,) = [one for one in texts(page) if "is it a missing value?" in one]
    assert asked.startswith("age: 'x7' in 3 rows is no number")
    leave(labelled(page, "Texts that mean"), "x7")
    page = told(project.show_hierarchies, desk)
    assert "x7" in Path("hierarchies/age.csv").read_text(encoding="utf-8")
    work(page, desk, "Draft anew")
    assert "x7" not in Path("hierarchies/age.csv").read_text(encoding="utf-8")
    assert len(desk.earlier["age"]) == 1


def test_a_better_point_that_cannot_be_released_is_told():
    with Path("mine.csv").open("a", encoding="utf-8") as file:
        file.write("02130,D,flu,yes,x\n" * 3)
    with Path("trees", "sex.csv").open("a", encoding="utf-8") as file:
        file.write("D;*\n")
    change(search={"suppression": 3})
    search("mine.toml")
    desk = Desk(Path("mine.toml"))
    page = told(study.show_front, desk)
    labelled(page, "What must hold").value = "k>=4"
    work(page, desk, "Choose the least loss")
    (better,) = desk.job.notes
    assert "fits better, but its 3 suppressed rows" in better
    assert screen.in_steps(better).endswith("step 3 can leave them out.")
    change(search={"suppression": 3}, release={"suppressed": "drop"})
    run("pick", "mine.toml", "--require", "k>=4")
    run("release", "mine.toml")
    assert "Suppressed rows, 3, are left out." in texts(told(study.show_release_step))


def test_why_a_point_is_chosen_is_told_when_it_is_asked():
    search("mine.toml")
    run("pick", "mine.toml", "--require", "k>=3")
    desk = Desk(Path("mine.toml"))
    page = told(study.show_front, desk)
    (why,) = of(page, ui.expansion)
    assert not [one for one in texts(page) if one.startswith("Required: ")]
    why.value = True
    wait()
    printed = run("pick", "mine.toml", "--require", "k>=3", "--explain").split()
    lines = desk.study.explained()
    assert lines[0].startswith("It is the least GLM")
    for line in lines:
        assert " ".join(line.split()) in " ".join(printed)


def test_all_that_a_release_tells_is_on_the_page_also_after_a_reload():
    rows = [f"{i % 28 + 1:02}.{i % 12 + 1:02}.{1950 + i % 50},{'FM'[i % 2]},{i}\n" for i in range(200)]
    Path("mine.csv").write_text("born,sex,note\n" + "".join(rows), encoding="utf-8")
    run("init", "mine.csv", "--force", "--role", "note=drop")
    change(search={"suppression": 30, "require": ["k>=2"]})
    search("mine.toml")
    run("pick", "mine.toml", "--require", "k>=5")
    printed = run("release", "mine.toml", "--anyway", "it is a test of the screen")
    said = texts(told(study.show_release_step))
    (single,) = [one for one in said if one.startswith("The codebook lists values of single rows of born.")]
    assert single in printed.replace("\n", " ")
    (verdict,) = [one for one in said if one.startswith("What was promised holds.")]
    assert verdict in printed.replace("\n", " ")
    assert "Dropped: note." in verdict


def test_evidence_that_is_lost_is_told():
    search("mine.toml")
    run("pick", "mine.toml", "--require", "k>=3")
    run("release", "mine.toml")
    Path("mine-release.csv.evidence.json").unlink()
    said = texts(told(study.show_release_step))
    assert "mine-release.csv.evidence.json is missing: release it again." in said


def test_a_release_of_another_search_is_told_beside_the_own():
    Path("other.toml").write_bytes(Path("mine.toml").read_bytes())
    for name, bound in (("mine.toml", "k>=3"), ("other.toml", "k>=10")):
        search(name)
        run("pick", name, "--require", bound)
        run("release", name, "--anyway", "it is a test of the screen")
    desk = Desk(Path("mine.toml"))
    for _ in range(2):  # It is compared in the background
        page = told(lambda own: study._show_releases(own, own.desk.study), desk)
    (said,) = [one for one in texts(page) if one.startswith("Whoever has the 2 releases")]
    assert said in " ".join(run("verify", "mine.toml").split())


def test_each_audience_has_its_release_and_its_report_on_the_page():
    change(audience=[{"name": "all", "require": "k>=10"}, {"name": "staff", "require": "k>=4"}])
    search("mine.toml")
    for name in ("all", "staff"):
        run("release", "mine.toml", "--audience", name)
    desk, shown = Desk(Path("mine.toml")), []
    page = told(lambda own: shown.append(own) or study.show_release_step(own), desk)
    assert labelled(page, "Audience").value == "staff"
    shown[-1].chosen["audience"] = "all"
    made = shown[-1].chosen

    def again(own):
        own.chosen = made
        study.show_release_step(own)

    page = told(again, desk)
    assert [one for one in texts(page) if one.startswith("mine-release-all.csv, with")]
    assert "pymoo-anon report mine.toml --audience all" in texts(page)
    click(button(page, "Release"))
    assert desk.job.words == "Step 1 of 4: reading the front"


def test_commands_below_a_page_can_be_told_until_it_is_left():
    search("mine.toml")
    run("pick", "mine.toml", "--require", "k>=3")
    run("release", "mine.toml")
    for fill in (study.show_release_step, study.show_front, project.show_table, project.show_requirements):
        desk = Desk(Path("mine.toml"))
        page = told(fill, desk)
        # Pages follow this a moment later. An error would end the bindings of all of them.
        desk.open()
        nicegui.binding._refresh_step()
        assert [one for one in texts(page) if one.startswith("pymoo-anon ")]


def test_a_report_says_where_its_head_is_filled_in_and_the_page_has_the_fields():
    search("mine.toml")
    run("pick", "mine.toml", "--require", "k>=3")
    run("release", "mine.toml")
    page = told(study.show_release_step)
    for words, value in (("Owner", "we"), ("Recipients", "you"), ("Purpose", "a test"), ("Size of", 4000.0)):
        leave(labelled(page, words), value)
    about = {"owner": "we", "recipients": "you", "purpose": "a test", "population_size": 4000}
    assert Desk(Path("mine.toml")).project().report == about
