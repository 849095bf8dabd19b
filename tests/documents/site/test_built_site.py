"""The site that `make docs` has built: it needs no other host, its links lead somewhere, its search finds answers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import pytest

sys.path.insert(0, str(Path(__file__).parent))
QUESTIONS = import_module("questions").QUESTIONS

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / os.environ.get("TFNB_SITE", "build/site")
if "TFNB_SITE" not in os.environ:
    pytest.skip("make docs builds the site and runs this", allow_module_level=True)


class Page(HTMLParser):
    """What a page loads, where its links lead, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        for name in ("src", "srcset", "href", "data", "poster", "action", "xlink:href"):
            if values.get(name) is not None:
                (self.links if (tag, name) == ("a", "href") else self.loads).append(values[name])
        self.loads += re.findall(r"url\(([^)]*)\)", values.get("style") or "")


@pytest.fixture(scope="module")
def pages():
    found = {path.relative_to(SITE): Page(path.read_text(encoding="utf-8")) for path in SITE.rglob("*.html")}
    assert len(found) > 100, f"{SITE} is no built site: run make docs"
    return found


def foreign(address):
    """Whether a browser asks another host, or the root of this one, for it."""
    return address.strip("'\" ").startswith(("/", "http:", "https:", "//"))


def test_what_asks_another_host_is_found():
    page = Page('<script src="https://x.org/a.js"></script><img src="a.png"><a href="https://x.org">')
    assert [a for a in page.loads if foreign(a)] == ["https://x.org/a.js"]
    assert page.links == ["https://x.org"]


def test_pages_load_only_what_is_beside_them(pages):
    assert {(str(name), a) for name, page in pages.items() for a in page.loads if foreign(a)} == set()


def test_what_pages_load_is_there(pages):
    """A browser says so of pictures, but only while somebody looks at the page."""
    lost = []
    for name, page in pages.items():
        for address in page.loads:
            path = unquote(address.strip("'\"").partition("#")[0].partition("?")[0])
            if path and not path.startswith("data:"):
                lost += [] if (SITE / os.path.normpath(name.parent / path)).is_file() else [(str(name), address)]
    assert lost == []


def test_styles_and_scripts_load_only_what_is_beside_them():
    for path in SITE.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        loads = [m for m in re.findall(r"url\(([^)]*)\)|@import\s+['\"]([^'\"]*)", text) for m in m if m]
        assert [a for a in loads if foreign(a)] == [], path
    for path in SITE.rglob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"(?:import|fetch|importScripts)\(\s*['\"`](?:https?:)?//", text) == [], path


def test_links_lead_to_pages_and_places(pages):
    """Sphinx warns of most links that lead nowhere; anchors that pages make themselves it does not see."""
    lost = []
    for name, page in pages.items():
        for link in page.links:
            path, _, place = unquote(link).partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            assert not path.startswith("/"), f"{name}: {link} depends on the base URL"
            target = Path(os.path.normpath(name.parent / path.partition("?")[0])) if path else name
            if target.suffix != ".html":
                lost += [] if (SITE / target).is_file() else [(str(name), link)]
            elif target not in pages or (place and place not in pages[target].anchors):
                lost.append((str(name), link))
    assert lost == []


def test_the_index_shows_the_four_kinds():
    text = (SITE / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<h2>([\w -]+)<a", text) == ["Tutorials", "How-to guides", "Reference", "Explanation"]


@pytest.fixture(scope="module")
def found():
    """What Sphinx's own search finds for each text of the questions: addresses, the best first."""
    texts = [text for question, words, _ in QUESTIONS for text in (question, words)]
    command = ["node", ROOT / "scripts/docs/search.mjs", SITE]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True, timeout=100)
    return dict(zip(texts, json.loads(done.stdout), strict=True))


def first_pages(results):
    """The pages of the first three hits."""
    return [address.partition("#")[0] for address, _ in results[:3]]


@pytest.mark.skipif(shutil.which("node") is None, reason="no node: the search's script cannot run")
@pytest.mark.parametrize(("question", "words", "page"), QUESTIONS, ids=[question for question, _, _ in QUESTIONS])
def test_the_search_finds_the_answer_in_three_hits(found, question, words, page):
    assert page in first_pages(found[question]), found[question][:5]
    assert page in first_pages(found[words]), found[words][:5]


def test_there_are_forty_questions():
    assert len(QUESTIONS) == len({question for question, _, _ in QUESTIONS}) == 40
    assert {page for _, _, page in QUESTIONS if not (SITE / f"{page}.html").exists()} == set()
