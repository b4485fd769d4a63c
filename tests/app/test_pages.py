"""Pages without a browser: what they say of a project, and what their fields write."""

from pathlib import Path

import pytest
import tomlkit
from command import own, search

nicegui = pytest.importorskip("nicegui")

from pymoo_anon.app.desk import Desk, NotYetError  # noqa: E402
from pymoo_anon.app.project import _bound_fields, show_requirements, show_table  # noqa: E402
from pymoo_anon.app.screen import Screen, parts  # noqa: E402
from pymoo_anon.app.study import show_front  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_table")


def told(fill, desk=None):
    """Return the elements of a page by kind, after the work that it needs."""
    desk = desk or Desk(Path("mine.toml"))
    while True:
        client = nicegui.Client(nicegui.ui.page("/"))
        with client.content:
            try:
                fill(Screen(desk, {"": fill, "a": fill}, 1))
                return [*client.elements.values()]
            except NotYetError as needed:
                words, make = needed.args
        desk.start(words, lambda job, make=make: make(), quiet=True).join()
        assert desk.job.error == ""


def texts(elements):
    return [one.text for one in elements if isinstance(one, nicegui.ui.label)]


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
    said = texts(told(show_requirements))
    assert "Everybody hides among at least 2 rows. (k>=2)" in said
    assert "staff: Everybody hides among at least 3 rows." in said
    assert "all: Everybody hides among at least 20 rows." in said


def test_a_bound_is_the_number_that_is_typed_of_a_column_that_its_measure_reads():
    own(diagnosis="sensitive", note="sensitive")
    project, made = Desk(Path("mine.toml")).project(), []
    elements = told(lambda screen: made.append(_bound_fields(project)))
    measure, column = (one for one in elements if isinstance(one, nicegui.ui.select))
    (limit,) = (one for one in elements if isinstance(one, nicegui.ui.number))
    for name, value, bound in (
        ("k", 1234567.0, "k>=1234567"),
        ("t", 0.12345678, "t:diagnosis<=0.12345678"),
        ("l", 3, "l>=3"),
    ):
        measure.value, limit.value = name, value
        assert made[0]() == bound
        assert column.value == ("diagnosis" if name == "t" else "")


def test_a_list_of_bounds_is_split_outside_brackets():
    (field,) = (one for one in told(lambda screen: nicegui.ui.input()) if isinstance(one, nicegui.ui.input))
    field.value = "k[zip,sex]>=5, l>=2"
    assert parts(field) == ["k[zip,sex]>=5", "l>=2"]


def test_a_table_of_other_columns_than_the_project_names_them():
    Path("mine.csv").write_text("postcode,age\n1,2\n3,4\n", encoding="utf-8")
    desk = Desk(Path("mine.toml"))
    said = texts(told(show_table, desk))
    assert "Columns of the table without a role in mine.toml: postcode, age." in said
    assert "Columns of mine.toml that the table lacks: diagnosis, note, paid, sex, zip." in said
    with pytest.raises(ValueError, match=r"mine\.csv must have the column 'zip', got 'postcode', 'age'"):
        desk.hierarchy("zip")


def test_a_choice_of_another_front_hides_no_point(monkeypatch):
    monkeypatch.setattr("pymoo_anon.app.study._draw", lambda *given: None)
    search("mine.toml", "--seed", "1")
    desk = Desk(Path("mine.toml"))
    desk.start("picking", lambda job: desk.study.pick(row=len(desk.study.front))).join()
    assert desk.job.error == ""
    change(search={"objectives": ["k", "GLM"], "require": ["k>=8"], "suppression": 0})
    search("mine.toml")
    elements = told(show_front, desk)
    assert [one for one in texts(elements) if "was chosen from another front" in one]
    assert [one for one in elements if isinstance(one, nicegui.ui.table)]
    assert "Chosen" not in " ".join(texts(elements))
