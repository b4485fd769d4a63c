"""The screen in a real browser: the whole way, hostile names, two pages, keys alone, a phone, and attacks."""

import csv
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import browsers
import numpy as np
import pandas as pd
import pytest
from command import run

from pymoo_anon.datasets import census_rows
from pymoo_anon.study import Study

if os.environ.get("CI") != "true":
    # CI must test the screen. There a missing package fails.
    pytest.importorskip("nicegui")

browser = browsers.browser
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("folder")]

HOSTILE = "<img src=x onerror=alert(1)>'\"{{7*7}}</script>`${alert(1)}`"


@contextmanager
def served(path="."):
    """Serve the screen in a process of its own, and end it by Ctrl-C."""
    command = [sys.executable, "-m", "pymoo_anon", "app", str(path), "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    assert out.endswith("Ended.\n")
    assert "Traceback" not in error


@contextmanager
def visited(browser, address, width=1300):
    """Open the screen, which may ask its own address alone, and complain of nothing."""
    context, said = browser.new_context(viewport={"width": width, "height": 900}), []
    page = context.new_page()
    page.set_default_timeout(60_000)
    own = address.partition("?")[0]
    known = (own, own.replace("http:", "ws:"), "data:", "blob:")
    page.on("request", lambda request: None if request.url.startswith(known) else said.append(request.url))
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(address)
    yield page
    context.close()
    assert said == []


def press(page, name):
    page.get_by_role("button", name=name, exact=isinstance(name, str)).click()


def take(page, label, option):
    page.get_by_label(label).click()
    page.get_by_role("option", name=option).click()


def see(page, words):
    page.get_by_text(words).locator("visible=true").first.wait_for()


def check_names(page):
    """Find nothing that is of no use by ear."""
    axe = pytest.importorskip("axe_playwright_python")
    page.add_script_tag(path=Path(axe.__file__).with_name("axe.min.js"))
    found = page.evaluate("() => axe.run()")["violations"]
    # The button of an upload holds its field.
    serious = [one for one in found if one["impact"] in ("serious", "critical") and one["id"] != "nested-interactive"]
    assert [(one["id"], [node["html"][:100] for node in one["nodes"]]) for one in serious] == []


def wait_until(holds):
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    pytest.fail("it does not come to hold")


def write_census(n=400, path="people.csv"):
    (frame,) = census_rows(n)
    frame["diagnosis"] = np.random.default_rng(1).choice(["flu", "cold", "gout"], len(frame))
    frame.drop(columns="occupation").to_csv(path, index=False)


def test_the_whole_way_is_that_of_the_commands(browser):
    write_census()
    with served() as address, visited(browser, address) as page:
        press(page, "people.csv")
        see(page, re.compile(r"of 400 rows .* are unique by age"))
        assert not Path("people.toml").exists()
        press(page, re.compile("Begin a project"))
        page.get_by_label("role of race").select_option("drop")
        see(page, "your choice; the guess is quasi-identifier")
        page.get_by_text("Count unique rows").click()
        see(page, re.compile(r"of 400 rows .* are unique by age"))
        press(page, re.compile("Hierarchies"))
        see(page, "Levels")
        page.go_back()
        see(page, "All of this stands in people.toml")
        page.go_forward()
        page.get_by_role("checkbox").nth(1).wait_for()
        check_names(page)
        page.locator(".groups tbody .q-checkbox").nth(0).click()
        page.get_by_label("Label", exact=True).fill("youngest")
        press(page, "Rename")
        see(page, "Undo (1)")
        assert ";youngest;" in Path("hierarchies/age.csv").read_text(encoding="utf-8")
        press(page, re.compile("What must hold"))
        page.get_by_label("Bound").first.fill("401")
        press(page, "Require")
        see(page, re.compile("Impossible: Everybody hides among at least 401 rows"))
        press(page, "Remove: 1")
        see(page, re.compile("Nothing is required yet"))
        page.get_by_label("Bound").first.fill("2")
        press(page, "Require")
        see(page, "Everybody hides among at least 2 rows. (k>=2)")
        press(page, re.compile("4 Search"))
        press(page, "Search")
        see(page, re.compile(r"The front has \d+ points, proven complete"))
        press(page, re.compile("5 Front"))
        assert "e+" not in page.locator("#points").text_content()
        page.locator("#points svg .mark-symbol path").first.click()
        page.get_by_role("button", name=re.compile(r"Choose row \d")).wait_for()
        page.locator(".points tbody .q-checkbox[aria-checked=true]").click()
        page.locator(".points tbody .q-checkbox").nth(2).click()
        see(page, "Choose row 3")
        # All of them do not fit side by side.
        assert page.locator(".points thead .q-checkbox").count() == 0
        page.locator(".points tbody .q-checkbox").nth(4).click()
        see(page, "loss of age")
        check_names(page)
        page.get_by_label("What must hold").fill("k>=5")
        press(page, re.compile("Choose the least loss"))
        see(page, re.compile("Chosen: row"))
        see(page, "pymoo-anon pick people.toml --require 'k>=5'")
        press(page, re.compile("6 Release"))
        press(page, "Release")
        see(page, "people-release.csv.evidence.json for you alone")
        check_names(page)
        press(page, "Count all releases again")
        see(page, "people-release.csv: holds.")
        press(page, "Write the report")
        assert "Report of an anonymized release" in page.frame_locator("iframe").locator("h1").inner_text()
        press(page, "Release")
        see(page, "people-release.csv exists; the box beside the button replaces it")
    assert not [path for path in Path().iterdir() if not path.name.startswith(("people", "hierarchies"))]
    # The project file and the commands make the same.
    assert Study.open("people.toml").verify() == {Path("people-release.csv"): []}
    shown = Path("people-release.csv").read_bytes()
    run("search", "people.toml")
    run("pick", "people.toml", "--require", "k>=5")
    run("release", "people.toml", "--force")
    assert Path("people-release.csv").read_bytes() == shown


def test_hostile_names_and_labels_are_text(browser):
    rows = [[f"{HOSTILE}{i % 7}", i % 5, HOSTILE] for i in range(60)]
    with Path("odd.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[f"city {HOSTILE}", "age", "note"], *rows])
    with served() as address, visited(browser, address) as page:
        press(page, "odd.csv")
        press(page, re.compile("Begin a project"))
        # Work is told by the column's name, and the page shows a role when it is written.
        field = page.get_by_label(f"role of city {HOSTILE}")
        for role in ("sensitive", "quasi-identifier"):
            field.select_option(role)
            wait_until(lambda role=role: field.input_value() == role)
        for step, said in (
            ("2 Hierarchies", "The check finds"),
            ("3 What must hold", "For whom"),
            ("4 Search", "Seed"),
        ):
            press(page, step)
            see(page, re.compile(said))
        press(page, "Search")
        see(page, re.compile("The front has"))
        press(page, "5 Front")
        page.locator(".points tbody .q-checkbox").nth(0).click()
        see(page, f"loss of city {HOSTILE}")
        press(page, "Choose row 1")
        see(page, re.compile("Chosen: row 1"))
        assert page.locator("img").count() == 0
        assert "49" not in page.locator(".points").inner_text()


def choose_groups(page, *places):
    for place in places:
        page.locator(".groups tbody .q-checkbox").nth(place).click()
    # The fields below are made anew by each click, and would lose what was typed before.
    words = "Rename" if len(places) == 1 else f"Merge {len(places)} groups"
    page.get_by_role("button", name=words, exact=True).wait_for()


def test_a_hierarchy_is_edited_by_hand_and_every_change_is_undone(browser):
    file, texts = Path("hierarchies/town.csv"), []
    pd.DataFrame({"town": ["Bonn", "Paris", "Rome", "Turin"] * 9, "age": [*range(20, 56)]}).to_csv(
        "people.csv", index=False
    )
    run("init", "people.csv", "--role", "town=quasi-identifier")
    file.write_text("Bonn;DE;*\nParis;FR;*\nRome;IT;*\nTurin;IT;*\n", encoding="utf-8")

    def comes(*rows):
        text = "".join(f"{row}\n" for row in rows)
        wait_until(lambda: file.read_text(encoding="utf-8") == text)
        texts.append(text)
        see(page, f"Undo ({len(texts)})")

    with served("people.toml") as address, visited(browser, f"{address}?step=2") as page:
        take(page, "Column", "town")
        choose_groups(page, 0)
        page.get_by_label("Label", exact=True).fill("Germany")
        press(page, "Rename")
        comes("Bonn;Germany;*", "Paris;FR;*", "Rome;IT;*", "Turin;IT;*")
        choose_groups(page, 1, 2)
        page.get_by_label("Label", exact=True).fill("south")
        press(page, "Merge 2 groups")
        comes("Bonn;Germany;*", "Paris;south;*", "Rome;south;*", "Turin;south;*")
        choose_groups(page, 1)
        take(page, "Members", "Turin")
        page.keyboard.press("Escape")
        page.get_by_label("New label").fill("Piedmont")
        press(page, "Split off")
        comes("Bonn;Germany;*", "Paris;south;*", "Rome;south;*", "Turin;Piedmont;*")
        choose_groups(page, 1)
        take(page, "Members", "Rome")
        page.keyboard.press("Escape")
        take(page, "Other group", "Piedmont")
        press(page, "Move there")
        comes("Bonn;Germany;*", "Paris;south;*", "Rome;Piedmont;*", "Turin;Piedmont;*")
        assert page.locator(".groups tbody tr").nth(2).inner_text().split()[:3] == ["Piedmont", "2", "18"]
        with page.expect_download() as got:
            press(page, re.compile("Export"))
        assert got.value.path().read_text(encoding="utf-8") == texts[-1]
        page.locator("input[type=file]").set_input_files(
            {"name": "town.csv", "mimeType": "text/csv", "buffer": b"Bonn;DE;*\nParis;FR;*\nRome;IT;*\n"}
        )
        see(page, re.compile("values of the column without a row: 'Turin'"))
        page.locator("input[type=file]").set_input_files(
            {"name": "town.csv", "mimeType": "text/csv", "buffer": b"K\xf6ln;DE;*\n"}
        )
        see(page, re.compile("town.csv must be text in UTF-8 or UTF-16, got the byte 0xf6 in line 1"))
        press(page, "Close")
        texts.append("")
        while texts:
            press(page, f"Undo ({len(texts)})")
            texts.pop()
            see(page, f"Undo ({len(texts)})")
            if texts:
                assert file.read_text(encoding="utf-8") == texts[-1]
        assert file.read_text(encoding="utf-8").startswith("Bonn;DE;*\n")
        page.locator("input[type=file]").set_input_files(
            {"name": "town.csv", "mimeType": "text/csv", "buffer": b"Bonn;a;x\nParis;b;x\nRome;a;y\nTurin;a;y\n"}
        )
        see(page, re.compile("coarsening"))
        take(page, "Column", "age")
        page.get_by_label("Widths, from fine to coarse").fill("10, 20")
        press(page, "Make intervals")
        see(page, "50–59")
        assert "21;20–29;20–39;*" in Path("hierarchies/age.csv").read_text(encoding="utf-8")


def test_audiences_are_added_and_each_gets_a_release(browser):
    write_census()
    run("init", "people.csv")
    with served("people.toml") as address, visited(browser, f"{address}?step=3") as page:
        see(page, "Each bound can be met.")
        for name, bound in (("everybody", 20), ("staff", 500), ("staff", 3)):
            page.get_by_label("Name").fill(name)
            page.get_by_label("Bound").last.fill(str(bound))
            press(page, "Add the audience")
            see(page, re.compile(f"{name}: .*at least {bound} rows"))
        see(page, re.compile("Impossible for staff: Everybody hides among at least 500 rows"))
        press(page, "Remove: 2")
        see(page, "Each bound can be met.")
        page.get_by_label("Name").fill("staff")
        page.get_by_label("Bound").last.fill("3")
        press(page, "Add the audience")
        see(page, "staff: Everybody hides among at least 3 rows.")
        press(page, "4 Search")
        press(page, "Search")
        see(page, re.compile("The front has"))
        press(page, "6 Release")
        for name in ("everybody", "staff"):
            take(page, "Audience", name)
            press(page, "Release")
            see(page, f"people-release-{name}.csv.evidence.json for you alone")
        see(page, re.compile("Whoever has the 2 releases and links their rows sees"))
        page.get_by_label("Owner").fill("the office")
        press(page, "Write the report")
        assert "the office" in page.frame_locator("iframe").locator("body").inner_text()
    found = Study.open("people.toml").verify()
    assert found == {Path(f"people-release-{name}.csv"): [] for name in ("everybody", "staff")}


def fits(page):
    page.wait_for_function("document.documentElement.scrollWidth === 390")


def choose_by_keys(page, column, role):
    """Type a role, and again where the page was filled anew meanwhile."""
    for _ in range(10):
        page.get_by_label(f"role of {column}").focus()
        page.keyboard.type(role[:4])
        page.keyboard.press("Enter")
        for _ in range(60):
            if f'[columns."{column}"]\nrole = "{role}"' in Path("wide.toml").read_text(encoding="utf-8"):
                return
            time.sleep(0.1)
    pytest.fail(f"{column} has another role")


def test_a_wide_table_on_a_phone_and_by_keys_alone(browser):
    rng = np.random.default_rng(1)
    columns = {f"question {i}": rng.choice(["yes", "no"], 100) for i in range(198)}
    pd.DataFrame({"age": rng.integers(20, 60, 100), "sex": rng.choice(["F", "M"], 100), **columns}).to_csv(
        "wide.csv", index=False
    )
    run("init", "wide.csv", "--role", "question*=drop")
    with served("wide.toml") as address, visited(browser, address, width=390) as page:
        page.locator("select").nth(199).wait_for()
        fits(page)
        page.get_by_text("Count unique rows").click()
        see(page, re.compile("of 100 rows .* are unique by age and sex"))
        fits(page)
        page.get_by_label("Find a column").fill("question 77")
        page.wait_for_function("document.querySelectorAll('.columns select').length === 1")
        # From here on there is no mouse.
        choose_by_keys(page, "question 77", "sensitive")
        for step in ("3 What must hold", "4 Search", "5 Front", "6 Release"):
            page.get_by_role("button", name=step).focus()
            page.keyboard.press("Enter")
            if step == "3 What must hold":
                page.get_by_label("Bound").first.fill("2")
                page.get_by_role("button", name="Require").focus()
                page.keyboard.press("Enter")
                see(page, re.compile("at least 2 rows"))
                # The page is filled anew, and the focus is where it was.
                page.wait_for_function("document.activeElement.textContent.trim() === 'Require'")
            if step == "4 Search":
                page.get_by_role("button", name="Search", exact=True).focus()
                page.keyboard.press("Enter")
                see(page, re.compile("The front has"))
            if step == "5 Front":
                page.get_by_label("What must hold").focus()
                page.keyboard.type("k>=2")
                page.get_by_role("button", name="Choose the least loss").focus()
                page.keyboard.press("Enter")
                see(page, re.compile("Chosen: row"))
            fits(page)
        page.get_by_role("button", name="Release", exact=True).focus()
        page.keyboard.press("Space")
        see(page, re.compile("for you alone"))
    assert Path("wide-release.csv").is_file()


def test_pages_and_a_reload_show_one_search_that_stops_with_what_it_has(browser):
    # The other page still reads this table when the search begins.
    write_census(100_000)
    run("init", "people.csv")
    project = Path("people.toml")
    endless = '[search]\nalgorithm = "pbgea"\ngenerations = 1000000'
    project.write_text(project.read_text(encoding="utf-8").replace("[search]", endless), encoding="utf-8")
    with served("people.toml") as address, visited(browser, f"{address}?step=4") as page:
        for words, name in (("Pareto local search", "pls"), ("PBG-EA", "pbgea")):
            take(page, "Algorithm", words)
            wait_until(lambda name=name: f'algorithm = "{name}"' in project.read_text(encoding="utf-8"))
        with visited(browser, address) as other:
            press(page, "Search")
            stop = page.get_by_role("button", name="Stop, and keep what is there")
            stop.wait_for()
            page.reload()
            page.locator("#growing svg").wait_for()
            other.get_by_role("button", name="Stop, and keep what is there").wait_for()
            other.get_by_label("role of diagnosis").select_option("drop")
            see(other, re.compile("wait for the end of this work"))
            with visited(browser, f"{address}?step=3") as third:
                see(third, re.compile("Other work is running"))
                stop.click()
                see(page, re.compile(r"not proven \(stopped\)"))
                see(third, "Each bound can be met.")
            # The other page takes up what it waited with.
            other.get_by_label("role of diagnosis").wait_for()
            before = Study.open("people.toml").record["n_unique"]
            press(page, "Go on with the search that did not end")
            page.locator("#growing svg").wait_for()
            stop.click()
            see(page, re.compile(r"not proven \(stopped\)"))
            assert Study.open("people.toml").record["n_unique"] >= before
            other.get_by_label("role of diagnosis").select_option("drop")
            see(other, "your choice; the guess is sensitive")
        press(page, "5 Front")
        see(page, re.compile("out of date"))
    assert len(pd.read_csv("people-front/front.csv")) > 0


def test_attackers_reach_nothing(browser):
    write_census()
    run("init", "people.csv")
    with served() as address:
        port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]{32})/", address).groups()
        root = f"http://127.0.0.1:{port}"
        socket = f"{address}_nicegui_ws/socket.io/?EIO=4&transport=polling"
        assert urlopen(address).status == urlopen(socket).status == 200
        headers = urlopen(address).headers
        assert headers["content-security-policy"].startswith("default-src 'self'; ")
        assert (headers["referrer-policy"], headers["x-content-type-options"]) == ("no-referrer", "nosniff")
        for url, headers in (
            (f"{root}/_nicegui_ws/socket.io/?EIO=4&transport=polling", {}),
            (f"{root}/{token[::-1]}/", {}),
            (address, {"Host": f"attacker.example:{port}"}),
            (socket, {"Origin": "https://attacker.example"}),
        ):
            with pytest.raises(HTTPError, match=r"403"):
                urlopen(Request(url, headers=headers))
        for path in ("report", "people.csv", "../people.csv", "..%2f..%2fpeople.csv", "_nicegui/../people.csv"):
            with pytest.raises(HTTPError, match=r"40[34]"):
                urlopen(address + path)
        # A page of another origin can open no websocket and read nothing.
        page = browser.new_page()
        page.goto("data:text/html,<h1>elsewhere</h1>")
        told = page.evaluate(
            """(address) => new Promise((done) => {
                const socket = new WebSocket(address);
                socket.onopen = () => done("open"); socket.onerror = () => done("refused"); })""",
            socket.replace("http:", "ws:").replace("polling", "websocket"),
        )
        assert told == "refused"
        assert page.evaluate("(address) => fetch(address).then(() => 'read', () => 'refused')", address) == "refused"
        page.close()
