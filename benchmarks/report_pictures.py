"""The report of a release, and its views as pictures.

    python -m benchmarks.report_pictures [--folder FOLDER]

Adult where its rows are at hand (PYMOO_ANON_DATA), else the invented census. The front is proven; the release has the
least loss of those whose risk is at most 0.09. Needs Chromium and playwright.
"""

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import census_rows, fetch_adult, fetch_adult_frame, make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import evidence, release, write_report
from pymoo_anon.table import Microdata

CHROMIUM = os.environ.get("PYMOO_ANON_CHROMIUM", "/usr/bin/chromium")
VIEWS = ("front", "decision", "sizes", "inference", "utility", "changes", "bias", "codebook", "evidence")

# The most bytes of a picture, and the most of a view that it shows, in pixels.
MOST_BYTES, MOST_PIXELS = 150_000, 1500


def data() -> tuple[Microdata, pd.DataFrame]:
    if Path(os.environ.get("PYMOO_ANON_DATA", ""), "adult", "adult.data").is_file():
        table = fetch_adult()
        return table, fetch_adult_frame()[[*table.quasi_identifiers, *table.sensitive]]
    return make_census(), next(census_rows())


def make_report(path: Path) -> None:
    table, rows = data()
    goals = [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()]
    problem = LatticeProblem(table, goals, suppression=0.01, constraints=[KAnonymity() >= 5])
    res = minimize(problem, BranchAndBound(), seed=1)
    front = problem.front(res)
    choice = front.choose(risk=0.09)
    made = release(rows, problem, choice.x)
    searched = {"algorithm": "BranchAndBound", "seed": 1, "certified": front.certified}
    told = evidence(problem, res, choice, made, checksums={}, search=searched)
    about = {"owner": "a census bureau", "recipients": "the public", "purpose": "research on incomes"}
    write_report(path, front, choice, evidence=told, population_size=1_000_000, **about)


def take(page: Page, view: str, target: Path) -> None:
    """Take a picture of one view in few colours."""
    section = page.locator(f"section#{view}")
    section.scroll_into_view_if_needed()
    box = section.bounding_box()
    assert box is not None
    with TemporaryDirectory() as folder:
        whole = Path(folder) / "view.png"
        section.screenshot(path=whole)
        image = Image.open(whole).convert("RGB")
        image = image.crop((0, 0, image.width, min(image.height, MOST_PIXELS)))
        image.quantize(255, dither=Image.Dither.NONE).save(target, optimize=True)
    if target.stat().st_size > MOST_BYTES:
        raise ValueError(f"{target} must be of at most {MOST_BYTES:,} bytes, got {target.stat().st_size:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "results")
    folder = parser.parse_args().folder
    with TemporaryDirectory() as temporary, sync_playwright() as driver:
        path = Path(temporary) / "report.html"
        make_report(path)
        print(f"the report is of {path.stat().st_size:,} bytes")
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 940, "height": 1000})
        page.goto(path.as_uri())
        page.wait_for_selector("html.ready")
        # Sticky elements would cover the view.
        page.add_style_tag(content=".shown{position:static !important} section{padding:.5rem 1rem 1rem}")
        for view in VIEWS:
            target = folder / f"report_{'classes' if view == 'sizes' else view}.png"
            take(page, view, target)
            print(f"{target.name}: {target.stat().st_size:,} bytes")
        browser.close()


if __name__ == "__main__":
    main()
