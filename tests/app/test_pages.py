"""Pages without a browser: what they say of a project, and what their fields write."""

from pathlib import Path

import pytest
import tomlkit
from command import own, run, search

from pymoo_anon.app.desk import Desk, Job, NotYetError

nicegui = pytest.importorskip("nicegui")
screen, project, study = (pytest.importorskip(f"pymoo_anon.app.{name}") for name in ("screen", "project", "study"))
ui = nicegui.ui

pytestmark = pytest.mark.usefixtures("own_table")


def told(fill, desk=None):
    """Return a page with its elements, after the work that it needs."""
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
        measure.value, limit.value = name, value
        assert made[0]() == bound
        assert column.value == ("diagnosis" if name == "t" else "")


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
        desk.found = project.look_at(desk, "mine.csv", Job(""))
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
