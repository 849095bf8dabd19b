"""The site in a browser, from files and from a server under another base URL: nothing fails, and no other host is asked."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / os.environ.get("TFNB_SITE", "build/site")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
PAGES = 15  # of each way
if "TFNB_SITE" not in os.environ:
    pytest.skip("make docs builds the site and runs this", allow_module_level=True)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium")


class Below(http.server.SimpleHTTPRequestHandler):
    """Serves the site under /user/somebody/, as a hub does."""

    def translate_path(self, path):
        assert path.startswith("/user/somebody/"), path
        return super().translate_path(path.removeprefix("/user/somebody"))

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def served():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Below, directory=SITE))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/user/somebody"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser):
    with browser.new_page() as opened:
        yield opened


@pytest.fixture(params=["file", "http"])
def base(request):
    return SITE.as_uri() if request.param == "file" else request.getfixturevalue("served")


@pytest.fixture
def faults(page, base):
    """What goes wrong on the pages of a test: errors of scripts, and requests that leave the site."""
    found = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("requestfailed", lambda request: found.append(f"failed: {request.url}"))
    page.on("request", lambda request: None if request.url.startswith((base, "data:")) else found.append(request.url))
    return found


def test_links_are_followed(page, base, faults):
    page.goto(f"{base}/index.html")
    addresses = page.eval_on_selector_all(".sidebar-tree a", "links => links.map((link) => link.href)")
    assert len(addresses) > 100
    for address in addresses[:: len(addresses) // PAGES]:
        page.goto(address)
        assert page.locator("article h1").count() == 1, address
    assert faults == []


def test_the_search_shows_what_it_finds(page, base, faults):
    page.goto(f"{base}/index.html")
    page.fill("input[name=q]", "loss nan")
    page.press("input[name=q]", "Enter")
    first = page.locator("#search-results li a").first
    first.wait_for()
    assert first.get_attribute("href").partition("?")[0] == "docs/how-to/train.html"
    first.click()
    assert page.locator("h1").inner_text().startswith("Train a model")
    assert faults == []
