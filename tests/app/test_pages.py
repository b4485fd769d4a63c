"""Pages without a browser: their sentences about a project, and their fields."""

import threading
from pathlib import Path

import pandas as pd
import pytest
import tomlkit
from command import own, run, search

from pymoo_anon.app.desk import Desk, Job, NotYetError

nicegui = pytest.importorskip("nicegui")
screen, project, study = (pytest.importorskip(f"pymoo_anon.app.{name}") for name in ("screen", "project", "study"))
ui = nicegui.ui

pytestmark = pytest.mark.usefixtures("ended_work")


def wait():
    """Wait for the work of all desks: a page that is drawn anew starts some, and all read by one connection."""
    for job in threading.enumerate():
        if isinstance(job, Job):
            job.join()


@pytest.fixture
def ended_work(own_table):
    yield
    wait()


def told(fill, desk=None):
    """Return a page with its elements, after the work that it needs."""
    wait()
    desk = desk or Desk(Path("mine.toml"))
    while True:
        client = nicegui.Client(ui.page("/"))
        with client.content:
            try:
                fill(screen.Screen(desk, {"": fill, "a": fill}, 1))
                return client
            except NotYetError as needed:
                words, make = needed.args
        desk.start(words, lambda job, make=make: make(), quiet=True).join()
        assert desk.job.error == ""


def of(page, kind):
    return [one for one in page.elements.values() if isinstance(one, kind)]


def texts(page):
    return [one.text for one in of(page, ui.label)]


def click(button):
    """Click a button as a browser does."""
    (listener,) = [own for own in button._event_listeners.values() if own.type == "click"]
    with button:
        listener.handler(None)


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
    assert "Not both in the table and in mine.toml: age, diagnosis, note, paid, postcode, sex, zip." in said
    with pytest.raises(ValueError, match=r"mine\.csv must have the column 'zip', got 'postcode', 'age'"):
        desk.hierarchy("zip")


def test_an_algorithm_that_does_not_fit_can_be_changed():
    change(search={"recoding": "local", "algorithm": "pbgea"})
    page = told(study.show_search)
    assert "algorithm must be one for local recodings: auto, nsga2, sweep; got 'pbgea'" in texts(page)
    (algorithm,) = of(page, ui.select)
    algorithm.value = "sweep"
    assert Desk(Path("mine.toml")).project().search["algorithm"] == "sweep"


def test_files_of_another_project_can_be_replaced():
    Path("mine.toml").unlink()
    for is_there in (False, True):
        desk = Desk(Path())
        desk.found = project.look_at(desk, "mine.csv", {}, Job(""))
        page = told(project.show_beginning, desk)
        (box,) = of(page, ui.checkbox)
        assert box.visible == is_there
        Path("hierarchies").mkdir(exist_ok=True)


def test_a_choice_of_another_front_hides_no_point(monkeypatch):
    monkeypatch.setattr("pymoo_anon.app.study._draw", lambda *given: None)
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
    content = tomlkit.parse(Path("mine.toml").read_text(encoding="utf-8"))
    del content["audience"]
    Path("mine.toml").write_text(tomlkit.dumps(content), encoding="utf-8")
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
            project.look_at(desk, name, {"table": "", "encoding": ""}, Job(""))
        assert screen.in_steps(str(refused.value)).endswith(advice)
        desk.found = project.look_at(desk, name, asked, Job(""))
        page = told(project.show_beginning, desk)
        ((key, value),) = asked.items()
        assert [one for one in texts(page) if one.startswith("pymoo-anon init") and f" --{key} {value}" in one]
        made = desk.found["proposer"].propose(Path("new.toml")).texts["new.toml"]
        assert f'{key} = "{value}"' in made


def test_many_columns_that_are_not_decided_get_a_role_at_once():
    names = [f"question {i}" for i in range(30)]
    pd.DataFrame({"age": range(20, 60), **{name: [1, 2, 3, 4] * 10 for name in names}}).to_csv("wide.csv", index=False)
    run("init", "wide.csv", *(part for name in names for part in ("--role", f"{name}=other")))
    desk = Desk(Path("wide.toml"))
    for sought, role, n_left in (("Question 1", "sensitive", 19), ("", "drop", 0)):
        page = told(project.show_table, desk)
        (warning,) = [one for one in texts(page) if one.startswith("Not decided: ")]
        assert len(warning) < 200
        (words,), (chosen,) = of(page, ui.input), of(page, ui.select)
        words.value, chosen.value = sought, role
        (give,) = [one for one in of(page, ui.button) if one.text.startswith("Give it")]
        click(give)
        desk.job.join()
        assert desk.job.error == ""
        assert len(desk.project().with_role("other")) == n_left
    assert desk.project().with_role("sensitive") == ["question 1", *(f"question {i}" for i in range(10, 20))]


def test_an_adversary_beside_a_plain_suppression_says_what_to_change():
    change(adversary=[{"known": ["zip", "sex"], "require": ["k>=2"]}], search={"suppression": 0.1})
    with pytest.raises(ValueError, match="suppression must be Violating ") as refused:
        project.unmet(Desk(Path("mine.toml")).project())
    said = 'change "Suppress at most" to violating:0.01 or 0 where adversaries know some columns alone'
    assert screen.in_steps(str(refused.value)) == said


def test_points_of_a_local_recoding_have_no_levels(monkeypatch):
    monkeypatch.setattr("pymoo_anon.app.study._draw", lambda *given: None)
    for recoding, said in (("full-domain", "stands its level: 0"), ("local", "stands the number of its groups: 1")):
        change(search={"recoding": recoding})
        search("mine.toml")
        assert said in " ".join(texts(told(study.show_front)))


def test_a_codebook_is_no_table_to_begin_with():
    Path("mine-release.csv.codebook.csv").touch()
    assert Desk(Path()).files() == (["mine.toml"], ["mine.csv"])


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
