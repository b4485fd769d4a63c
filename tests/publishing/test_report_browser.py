"""The report in a real offline browser: clicks, drags, keys, sound, print.

Three tests run by default, all others are slow.
"""

import re
from functools import cache, partial
from pathlib import Path

import browsers
import numpy as np
import pytest
from persons_of_a_report import CHOSEN, EVIDENCE, HOSTILE, X, courts, frame, payload, read, report, rows_of, table

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import release, write_report
from pymoo_anon.publishing.report.cells import cell_text

browser = browsers.browser
SIZES = {"desktop": (1300, 900), "phone": (390, 740)}


def write_local(path):
    own = LocalRecodingProblem(table(), [KAnonymity(), GeneralLossMetric()])
    report(path, own, [own.x_of(k) for k in (2, 5, 20)], 1, evidence=None)


def write_refined(path):
    own = LatticeProblem(table(), [KAnonymity(), GeneralLossMetric()])
    report(path, own, evidence=release(frame(), own, X[CHOSEN], recoding="local"))


def write_court(path):
    court = courts()
    front = court.front(court.nodes(0, court.n_nodes)[::9])
    roles = dict.fromkeys(court.table.quasi_identifiers, "quasi-identifier")
    roles |= dict.fromkeys(court.table.sensitive, "sensitive")
    columns = [{"column": name, "reason": None, "role": role} for name, role in roles.items()]
    evidence = EVIDENCE | {"columns": columns, "dropped": ["id", "name", "first", "last"]}
    write_report(path, front, front.choose(require=[KAnonymity() >= 5]), evidence=evidence)


WRITERS = {
    "internal": report,
    "external": partial(report, external=True),
    "local": write_local,
    "refined": write_refined,
    "court": write_court,
}


@pytest.fixture(scope="module")
def file_of(tmp_path_factory):
    """Write each variant of the report when it is first asked for."""
    folder = tmp_path_factory.mktemp("report")

    @cache
    def written(variant):
        path = folder / f"{variant}.html"
        WRITERS[variant](path)
        return path

    return written


@pytest.fixture(scope="module")
def data(file_of):
    return payload(file_of("internal").read_text(encoding="utf-8"))


@pytest.fixture
def visit(browser, file_of):
    """Open variants offline, and check for requests and complaints."""
    opened, asked, said = [], [], []

    def visited(variant="internal", size="desktop", **options):
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_offline(True)
        page = context.new_page()
        opened.append(context)
        own = file_of(variant).as_uri()
        page.route("**/*", lambda route: route.continue_() if route.request.url == own else route.abort())
        page.on("request", lambda request: asked.append(request.url) if request.url.split("#")[0] != own else None)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.goto(own)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html.ready")
        return page

    yield visited
    for context in opened:
        context.close()
    assert asked == []
    assert said == []


def tables(page):
    """Return the shown tables by name."""
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("tbody[data-table]")].map((body) => [
            body.dataset.table, [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent))]))"""
    )


def words(page):
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("[data-words]")].map((list) => [
            list.dataset.words, [...list.children].map((item) => item.textContent)]))"""
    )


def place(page, row):
    """Locate a point of the front on the screen."""
    page.locator("#figure-front").scroll_into_view_if_needed()
    return page.evaluate(
        """(row) => {
            const view = window.report.charts.get("front");
            const { x, y } = window.report.points().find((point) => point.c0 === row + 1);
            const box = document.querySelector("#figure-front svg").getBoundingClientRect();
            const [left, top] = view.origin();
            const pad = view.padding();
            return [box.x + left + pad.left + view.scale("x")(x), box.y + top + pad.top + view.scale("y")(y)];
        }""",
        row,
    )


def is_shown(page, data, row):
    """Check that texts, tables and charts show one member."""
    page.wait_for_function("(row) => window.report.charts.get('front').signal('shown') === row", arg=row + 1)
    (member,) = (member for member in data["members"] if member["point"] == row + 1)
    assert page.locator("[data-label]").inner_text() == data["labels"][str(row + 1)]
    assert ("not the release" in page.locator("[data-fate]").inner_text()) == (row != CHOSEN)
    assert page.locator("[data-verdict]").inner_text() == member["verdict"]
    assert page.locator("input[name=point]:checked").input_value() == str(row + 1)
    found, told = tables(page), words(page)
    for name in member["tables"]:
        rows = rows_of(data, name, row)
        kinds = data["kinds"][name]
        assert found[name] == [
            [cell_text(cell, kind) for cell, kind in zip(cells, kinds, strict=True)] for cells in rows
        ]
    for view, sentences in member["words"].items():
        assert told[view] == sentences
    for name in ("risks", "sizes", "ladder", "groups", "lorenz", "after0", "after2"):
        drawn = page.evaluate("(name) => window.report.charts.get(name).data('rows').map((one) => one.c1)", name)
        assert drawn == [row[1] for row in rows_of(data, name, row)]


def test_at_first_the_release_is_shown_as_the_file_says_it(visit, data, file_of):
    page = visit()
    is_shown(page, data, CHOSEN)
    still = read(file_of("internal").read_text(encoding="utf-8"))
    assert {name: rows for name, rows in tables(page).items() if name != "front"} == {
        name: rows for name, rows in still.tables.items() if name != "front"
    }
    assert words(page) == still.sentences
    assert page.locator(".note").is_hidden()
    assert page.evaluate("window.report.charts.size") == page.locator("[data-of]").count()
    assert all(page.locator("[data-of] svg").nth(i).is_visible() for i in range(page.locator("[data-of]").count()))


DRAWN = """async () => {
    // The elements with their places; in which order an axis keeps its ticks is not seen.
    const seen = (svg) => svg.replace(/(clip|gradient_)[0-9]+/g, "$1").split("><").sort().join();
    const found = [];
    for (const place of document.querySelectorAll(".chart")) {
        const name = place.dataset.of;
        if (name === "front") continue;
        const fresh = document.createElement("div");
        fresh.style.width = `${place.clientWidth}px`;
        document.body.append(fresh);
        const made = await window.report.embed(fresh, name, place.dataset.chart);
        await window.report.charts.get(name).runAsync();
        const views = [window.report.charts.get(name), made.view];
        const [now, then] = (await Promise.all(views.map((view) => view.toSVG()))).map(seen);
        const domains = views.map((view) => JSON.stringify(["x", "y"].map((name) => view.scale(name).domain())));
        found.push([name, now.length > 500 && now === then && domains[0] === domains[1]]);
        made.finalize();
        fresh.remove();
    }
    return found;
}"""

TWENTY = np.random.default_rng(7).integers(0, len(X), 20).tolist()


def test_after_twenty_selections_every_chart_is_as_one_that_is_drawn_anew(visit, data):
    page = visit()
    for row in TWENTY:
        page.evaluate("(row) => window.report.select(row)", row + 1)
    is_shown(page, data, TWENTY[-1])
    drawn = page.evaluate(DRAWN)
    assert len(drawn) > 8
    assert [name for name, same in drawn if not same] == []


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["local", "refined"])
def test_charts_of_a_local_recoding_are_drawn_after_twenty_selections(visit, variant):
    page = visit(variant)
    n = page.locator("input[name=point]").count()
    for row in TWENTY:
        page.evaluate("(row) => window.report.select(row)", row % n + 1)
    drawn = page.evaluate(DRAWN)
    assert {"levels", "beside"} <= {name for name, _ in drawn}
    assert [name for name, same in drawn if not same] == []


@pytest.mark.slow
def test_a_click_on_a_point_shows_it_in_all_views(visit, data):
    page = visit()
    for row in (4, 0, 5):
        page.mouse.click(*place(page, row))
        is_shown(page, data, row)
    page.get_by_role("button", name="the release").click()
    is_shown(page, data, CHOSEN)


@pytest.mark.slow
@pytest.mark.parametrize(("across", "up", "colour"), [("k", "GLM", "l"), ("l", "k", ""), ("GLM", "l", "k")])
def test_axes_and_colour_are_chosen(visit, data, across, up, colour):
    page = visit()
    names = [axis["name"] for axis in data["axes"]]
    for side, name in (("across", across), ("up", up), ("colour", colour)):
        page.select_option(f"[data-axis={side}]", label=name or "none")
    page.evaluate("window.report.ready")
    wanted = {row[0]: row for row in data["fixed"]["front"]}
    columns = [int(data["axes"][names.index(name)]["column"][1:]) for name in (across, up)]
    for point in page.evaluate("window.report.points()"):
        assert [point["x"], point["y"]] == [wanted[point["c0"]][column] for column in columns]
    titles = page.locator(
        "[data-of=front] .role-axis-title text, [data-of=front] .role-legend-title text"
    ).all_text_contents()
    told = [data["axes"][names.index(name)]["place"]["title"] for name in (across, up, colour) if name]
    assert sorted(told) == sorted(titles)
    # The shown point stays shown, and points can still be chosen.
    spots = [(row[columns[0]], row[columns[1]]) for row in data["fixed"]["front"]]
    alone = next(i for i, spot in enumerate(spots) if spots.count(spot) == 1 and i != CHOSEN)
    page.mouse.click(*place(page, alone))
    is_shown(page, data, alone)


@pytest.mark.slow
def test_a_point_without_details_says_that_the_release_is_shown(browser, tmp_path):
    own = LatticeProblem(make_census(300), [KAnonymity(), GeneralLossMetric()])
    points = np.random.default_rng(0).integers(0, own.lengths + 1, (60, own.n_var))
    file = tmp_path / "r.html"
    data = payload(report(file, own, points, 7))
    page = browser.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("html.ready")
    detailed = {member["point"] for member in data["members"]}
    far = next(point for point in range(1, 61) if point not in detailed)
    sizes = page.locator("tbody[data-table=sizes]").inner_text()
    page.evaluate("(point) => window.report.select(point)", next(iter(detailed - {8})))
    page.evaluate("(point) => window.report.select(point)", far)
    assert page.locator("[data-fate]").inner_text().endswith("the views below show the release.")
    assert page.locator("[data-label]").inner_text() == data["labels"][str(far)]
    assert page.locator("tbody[data-table=sizes]").inner_text() == sizes
    assert page.locator("tr[data-row]").count() == 60
    page.close()


@pytest.mark.slow
def test_arrow_keys_walk_through_the_table(visit, data):
    page = visit()
    page.locator("input[name=point]:checked").focus()
    page.keyboard.press("ArrowDown")
    is_shown(page, data, CHOSEN + 1)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    is_shown(page, data, CHOSEN - 1)
    page.get_by_role("button", name="next point").focus()
    page.keyboard.press("Enter")
    is_shown(page, data, CHOSEN)
    page.get_by_role("button", name="previous point").press("Space")
    is_shown(page, data, CHOSEN - 1)


@pytest.mark.slow
def test_dragging_over_points_keeps_these(visit, data):
    page = visit()
    spots = {row: place(page, row) for row in range(len(X))}
    # A box around two of them.
    first, second = sorted(spots, key=lambda row: spots[row][0])[:2]
    xs, ys = zip(spots[first], spots[second], strict=True)
    low, high = (min(xs) - 12, min(ys) - 12), (max(xs) + 12, max(ys) + 12)
    inside = [row for row, (x, y) in spots.items() if low[0] <= x <= high[0] and low[1] <= y <= high[1]]
    assert 0 < len(inside) < len(X)
    page.mouse.move(*low)
    page.mouse.down()
    page.mouse.move(*high, steps=6)
    page.mouse.up()
    told = f"{len(inside)} of {len(X)} points are kept."
    page.wait_for_function("(told) => document.querySelector('[data-brushed]').textContent === told", arg=told)
    kept = page.evaluate(
        "() => [...document.querySelectorAll('tr[data-row]:not([hidden])')].map((row) => Number(row.dataset.row))"
    )
    assert kept == [row + 1 for row in sorted(inside)]
    is_shown(page, data, CHOSEN if CHOSEN in inside else min(inside))
    # The keys walk through the kept points. A double click ends it.
    page.get_by_role("button", name="next point").click()
    assert page.evaluate("window.report.charts.get('front').signal('shown')") - 1 in inside
    page.mouse.dblclick(*(sum(pair) / 2 for pair in zip(low, high, strict=True)))
    page.wait_for_function("() => document.querySelector('[data-brushed]').textContent === ''")
    assert page.locator("tr[data-row]:not([hidden])").count() == len(X)


@pytest.mark.parametrize("variant", ["internal", pytest.param("external", marks=pytest.mark.slow)])
def test_nothing_of_the_data_is_run_and_a_tooltip_shows_it_as_text(visit, variant):
    page = visit(variant)
    for name in ("ladder", "after0", "groups", "front") if variant == "internal" else ("sizes", "after0", "after1"):
        marks = page.locator(f"[data-of={name}] .role-mark path")
        marks.nth(marks.count() // 2).hover(force=True)
        page.wait_for_timeout(60)
    if variant == "internal":
        page.locator("[data-of=before0] .role-mark path").first.hover()
        page.wait_for_selector("#vg-tooltip-element.visible")
        assert HOSTILE[0] in page.locator("#vg-tooltip-element").inner_text()
    assert page.evaluate("window.broken") is None
    assert page.locator("img, iframe").count() == 0


@pytest.mark.slow
def test_without_javascript_the_tables_are_there(visit, file_of):
    page = visit(java_script_enabled=False)
    assert page.get_by_text("The charts need JavaScript, which is off.").is_visible()
    assert page.locator("input[name=point]").first.is_hidden()
    assert page.locator(".chart").first.is_hidden()
    page.locator("#figure-sizes summary").click()
    cell = page.locator("tbody[data-table=sizes] td").first
    assert cell.is_visible()
    still = read(file_of("internal").read_text(encoding="utf-8"))
    assert cell.inner_text() == still.tables["sizes"][0][1]


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["internal", "external"])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_screen(visit, size, variant):
    page = visit(variant, size)
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    width = SIZES[size][0]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    charts = page.evaluate(
        "() => [...document.querySelectorAll('.chart svg')].map((one) => one.getBoundingClientRect().right)"
    )
    assert max(charts) <= width + 1


#: The boxes of tables: whether all is shown, the note, and the number of rows cut.
BOXES = """() => [...document.querySelectorAll(".scroll")].filter((box) => box.clientHeight).map((box) => {
    const isLong = box.scrollHeight > box.clientHeight + 1, isWide = box.scrollWidth > box.clientWidth + 1;
    const foot = isLong || isWide ? parseFloat(getComputedStyle(box, "::after").height) : 0;
    const bottom = box.getBoundingClientRect().top + box.clientTop + box.clientHeight - foot;
    const rows = [...box.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect());
    const cut = rows.filter((row) => row.top < bottom - 2 && row.bottom > bottom + 2).length;
    const name = box.querySelector("tbody").dataset.table;
    return { name, isLong, isWide, more: box.dataset.more ?? "", cut, rows: rows.length };
})"""


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_a_table_that_does_not_fit_says_so_and_cuts_no_row(visit, size):
    page = visit("court", size)
    boxes = page.evaluate(BOXES)
    assert any(box["isLong"] for box in boxes)
    for box in boxes:
        assert ("scroll" in box["more"]) == (box["isLong"] or box["isWide"]), box
        assert (f"{box['rows']} rows" in box["more"]) == box["isLong"], box
        # The front begins two rows before the chosen point. Row heights may differ there.
        assert box["cut"] == 0 or box["name"] == "front", box


@pytest.mark.slow
def test_no_text_of_a_table_takes_more_than_three_lines(visit):
    page = visit("court")
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    tall = page.evaluate(
        """() => [...document.querySelectorAll(".scroll th, .scroll td")].map((cell) => {
            const text = document.createRange();
            text.selectNodeContents(cell);
            const tops = new Set([...text.getClientRects()].map((line) => Math.round(line.top / 6)));
            return [cell.textContent.trim(), tops.size];
        }).filter(([, lines]) => lines > 3)"""
    )
    assert tall == []


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("variant", ["internal", "court"])
def test_no_labels_of_an_axis_overlap(visit, size, variant):
    """Compare slanted labels by their beginnings, since their boxes overlap anyway."""
    page = visit(variant, size)
    found = page.evaluate(
        """() => [...document.querySelectorAll(".chart")].flatMap((chart) =>
            [...chart.querySelectorAll(".role-axis-label")].flatMap((axis) => {
                const texts = [...axis.querySelectorAll("text")].filter((one) => one.getAttribute("opacity") !== "0");
                const boxes = texts.map((one) => [one.getBoundingClientRect(), one.textContent]);
                const slanted = texts.some((one) => /rotate/.test(one.getAttribute("transform")));
                return boxes.slice(1).filter(([box], i) => {
                    const [last] = boxes[i];
                    if (slanted) return Math.abs(box.right - last.right) < 9;
                    const across = box.left < last.right && last.left < box.right;
                    return across && box.top < last.bottom - 1 && last.top < box.bottom - 1;
                }).map(([, text]) => [chart.dataset.of, text]);
            }))"""
    )
    assert found == []


@pytest.mark.slow
def test_every_bar_of_a_few_has_its_label(visit, data):
    for size in SIZES:
        page = visit("internal", size)
        for name in ("sizes", "at_risk", "sure0", "after2"):
            labels = page.locator(f"[data-of={name}] .role-axis-label").first.locator("text")
            seen = "all => all.filter((one) => one.getAttribute('opacity') !== '0').length"
            assert labels.evaluate_all(seen) == len(rows_of(data, name))


@pytest.mark.slow
def test_the_report_of_a_court_is_twelve_thousand_pixels_high_and_has_twelve_pages_at_most(visit):
    """Put eleven sensitive columns in one table, and draw details on demand."""
    page = visit("court")
    assert page.evaluate("document.documentElement.scrollHeight") <= 12_000
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4", prefer_css_page_size=True))) <= 12
    assert len(tables(page)["inferred"]) == 10
    assert page.locator("[data-of=sure0] svg").count() == 0
    page.locator("details.more > summary").click()
    page.wait_for_selector("[data-of=sure9] svg")
    box = page.locator("[data-of=sure9] svg").bounding_box()
    assert box["width"] > 300
    page.evaluate("window.report.select(1)")
    drawn = page.evaluate("window.report.charts.get('sure3').data('rows').length")
    assert drawn == 11


@pytest.mark.slow
def test_the_first_page_is_one_that_a_person_can_sign(visit):
    page = visit("court")
    facts = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".facts .mark")].map(
            (one) => [...one.children].map((part) => part.textContent)))"""
    )
    first, last = ["Required, and met", "Risk", "Unique rows", "Inference"], ["Choice", "Suppressed", "Dropped columns"]
    assert list(facts) == [*first, "Usefulness", *last]
    assert facts["Inference"].startswith("A class with a single value reveals it: ")
    assert page.locator(".facts .not-met dt").all_inner_texts() == ["Inference"]
    assert facts["Required, and met"].startswith("k ≥ 5 (here ")
    assert facts["Unique rows"].startswith("7 of 600 rows (1.2 %) are unique by all released columns")
    assert facts["Dropped columns"] == "id, name, first and last"
    assert "of the detail is lost." in facts["Usefulness"]
    assert (
        page.locator(".missing")
        .inner_text()
        .endswith("are not stated: fill in [report] of the project file, or step 6 of the screen.")
    )
    assert page.locator(".sign span").all_inner_texts() == ["Name", "Date", "Signature"]
    # On paper it is a page of its own.
    page.emulate_media(media="print")
    assert page.locator("header").evaluate("(one) => one.getBoundingClientRect().height") < 1000
    assert page.locator("header").evaluate("(one) => getComputedStyle(one).breakAfter") == "page"


@pytest.mark.slow
def test_on_paper_every_table_is_open(visit):
    page = visit()
    page.emulate_media(media="print")
    for name in ("sizes", "ladder", "columns", "quantiles"):
        assert page.locator(f"tbody[data-table={name}]").evaluate("(body) => body.getBoundingClientRect().height") > 15
    assert page.locator(".keys").is_hidden()
    assert page.locator("nav").is_hidden()
    assert page.locator("input[name=point]").first.is_hidden()
    assert len(page.pdf(format="A4")) > 10_000
    page.emulate_media(media="screen")
    assert page.locator("#figure-sizes details").get_attribute("open") is None


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "size"), [("internal", "desktop"), ("internal", "phone"), ("external", "desktop")])
def test_axe_finds_nothing_serious(visit, variant, size):
    axe = pytest.importorskip("axe_playwright_python")
    page = visit(variant, size, bypass_csp=True)
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.add_script_tag(path=Path(axe.__file__).with_name("axe.min.js"))
    found = page.evaluate("() => axe.run()")
    assert len(found["passes"]) > 15
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == []
