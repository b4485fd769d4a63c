"""Chromium for tests in a real browser, which are skipped without one, and fail without one in CI."""

import os
import shutil

import pytest

if os.environ.get("CI") == "true":
    import playwright.sync_api as playwright
else:
    playwright = pytest.importorskip("playwright.sync_api")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = os.environ.get("PYMOO_ANON_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
if CHROMIUM is None and os.environ.get("CI") == "true":
    raise FileNotFoundError("there is no Chromium: install one, or set PYMOO_ANON_CHROMIUM to one")
if CHROMIUM is None:
    pytest.skip("there is no Chromium: set PYMOO_ANON_CHROMIUM to one", allow_module_level=True)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()
