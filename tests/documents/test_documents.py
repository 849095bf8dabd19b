"""Documents and comments are true of this repository: each path in them exists, and they refer to no document outside it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# docs/programs.md is a table of paths in other repositories.
PAGES = [p for p in sorted(ROOT.glob("docs/**/*.md")) if p != ROOT / "docs" / "programs.md"]
PAGES += [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/RESULTS.md")
]
PYTHON = [p for part in ("tfnb", "tests", "scripts", "benchmarks") for p in sorted((ROOT / part).rglob("*.py"))]
OTHERS = [
    *(p for pattern in ("*.cl", "*.clh") for p in sorted((ROOT / "kernels_cl").rglob(pattern))),
    *(p for part in ("src", "scripts") for p in sorted((ROOT / "labextension" / part).rglob("*.*ts"))),
]

# What a path may be relative to, beside the folder of the file that names it.
BASES = ("", "tfnb", "tests", "kernels_cl", "labextension", "labextension/src")
PATH = re.compile(
    r"(?<![\w./:<{*-])((?:[\w-]+/)+[\w.-]*\.(?:pyi?|md|clh?|ts|ipynb|toml)\b"
    r"|(?:tfnb|tests|docs|kernels_cl|scripts|benchmarks|labextension|examples)/[\w./-]*\w(?![\w*{]))"
)
FILE_NAME = re.compile(r"`([\w-]+\.(?:py|clh?|ts))`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")
# path -> why it is named although a checkout does not have it
ABSENT = {
    "tfnb/kernels_cl": "in a wheel",
    "tests/browser/shots": "written by the browser tests",
    "tfnb/labextension": "built by make",
    "tfnb/docs": "an address of the server's extension",
    "tfnb/datasets/mnist/data": "laid down by the user",
}
# Documents by which the work was planned. A reader of this repository does not have them.
OUTSIDE = re.compile(
    r"\b(?:FEATURES\s+[A-Z]\d|FACTS\s+of|HOUSE\b|STYLE\.md|BRIEF\b|TODO\.md|(?:[Ii]ssue|ticket|[Ss]ession)\s+#?\d+\b)|/(?:work|home|Users)/"
)


def prose(path: Path, text: str) -> str:
    """The text of a page; of a source file's text the docstrings and comments."""
    if path.suffix == ".md":
        return text
    if path.suffix != ".py":
        return "\n".join(re.findall(r"(?<!:)//.*|/\*.*?\*/", text, re.DOTALL))
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, owners)]
    comments = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
    return "\n".join([*(ast.get_docstring(n) or "" for n in nodes), *comments])


def missing(path: Path) -> list[str]:
    """The paths that the text names and that do not exist. One with a part in capitals, as NAME.ts, is a pattern."""
    text = path.read_text(encoding="utf-8")
    gone = {name for m in PATH.finditer(text) if is_missing(name := m.group(1).rstrip("."), path)}
    if gone:  # reading only the prose takes longer, so it is read where something is missing in the whole
        gone &= {m.group(1).rstrip(".") for m in PATH.finditer(prose(path, text))}
    return sorted(gone)


def is_missing(name: str, path: Path) -> bool:
    if name in ABSENT or (re.search(r"(?:^|/)[A-Z]{3,}(?:/|\.|$)", name) and not name.endswith(".md")):
        return False
    return not any((base / name).exists() for base in (path.parent, *(ROOT / b for b in BASES)))


def test_the_search_finds_what_is_gone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("`tfnb/no_such.py`, client/no_such.py, tfnb/__init__.py, kernels_cl/lib, src/widgets/NAME.ts")
    assert missing(page) == ["client/no_such.py", "tfnb/no_such.py"]
    assert OUTSIDE.search("as FEATURES O2 says") and OUTSIDE.search("see issue 14") and not OUTSIDE.search("an issue")


def headings(page: Path) -> set[str]:
    return {anchor(h) for h in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)}


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_headings_that_exist(path):
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", path.read_text(encoding="utf-8"))
    pages = [((path.parent / link if link else path), place) for link, place in links]
    assert [(page.name, place) for page, place in pages if page.suffix == ".md" and place not in headings(page)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_paths_in_a_page_exist(path):
    text = path.read_text(encoding="utf-8")
    names = {
        p.name
        for part in ("tfnb", "tests", "kernels_cl", "labextension/src", "scripts")
        for p in (ROOT / part).rglob("*.*")
    }
    alone = [
        name for name in FILE_NAME.findall(text) if name not in names and not name.startswith(("NAME", "hatch_build"))
    ]
    links = [link for link in LINK.findall(text) if not (path.parent / link).exists()]
    assert missing(path) + alone + links == []


def test_paths_in_the_source_exist():
    found = {str(p.relative_to(ROOT)): gone for p in [*PYTHON, *OTHERS] if p != Path(__file__) and (gone := missing(p))}
    assert found == {}


def test_make_quick_names_tests_that_exist():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    names = re.search(r"^QUICK := (.*?)\n\n", text, re.MULTILINE | re.DOTALL).group(1).replace("\\\n", " ").split()
    assert len(names) > 10 and [n for n in names if not (ROOT / n).exists()] == []


def test_no_document_outside_the_repository_is_referred_to():
    found = [
        f"{p.relative_to(ROOT)}: {m.group()}"
        for p in [*PAGES, *PYTHON, *OTHERS, ROOT / "Makefile"]
        if p != Path(__file__)
        if OUTSIDE.search(text := p.read_text(encoding="utf-8"))
        for m in OUTSIDE.finditer(prose(p, text) if p.suffix else text)
    ]
    assert found == []


def anchor(heading: str) -> str:
    """What GitHub makes of a heading: lower case, without punctuation, hyphens for spaces."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def order_of_parts(page: str) -> list[str]:
    """What is wrong with the parts of a decision page, in words; the decision itself is its first paragraph."""
    blocks = page.split("\n\n")
    wrong = (
        [] if blocks[0].startswith("# ") and blocks[1].startswith("**Decision.**") else ["the decision is not first"]
    )
    parts = ("**Context.**", "**Rejected.**", "**It has become wrong when**")
    return wrong + [f"there is no {part}" for part in parts if f"\n\n{part}" not in page]


def test_every_decision_is_in_the_index_and_has_its_parts():
    """The decision first, then context, what was rejected, and how one would notice that the choice has become wrong."""
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = {p.name: p.read_text(encoding="utf-8") for p in folder.glob("*.md") if p.name != "README.md"}
    assert {link for link in LINK.findall(index) if "/" not in link} == set(pages) and len(pages) >= 10
    assert {name: order_of_parts(text) for name, text in pages.items()} == {name: [] for name in pages}
    for name, text in pages.items():
        for module in re.findall(r"python -m (benchmarks[.\w]*)", text):
            assert list(ROOT.glob(module.replace(".", "/") + "*")), (name, module)


def test_a_page_that_begins_with_the_context_is_found():
    parts = ["# Title", "**Context.** Rain.", "**Decision.** An umbrella.", "**It has become wrong when** it is dry."]
    assert order_of_parts("\n\n".join(parts)) == ["the decision is not first", "there is no **Rejected.**"]


def test_decisions_and_results_refer_to_each_other():
    """Each heading of the results belongs to a decision, which links to it, and to no other."""
    folder = ROOT / "docs" / "decisions"
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    told = re.findall(r"^## (.*)\n\n\[The decision\]\(\.\./docs/decisions/([\w-]+\.md)\)", results, re.MULTILINE)
    assert len(told) == len(re.findall(r"^## ", results, re.MULTILINE)) >= 5
    links = {
        (place, page.name)
        for page in folder.glob("*.md")
        for place in re.findall(r"benchmarks/RESULTS\.md#([\w-]+)\)", page.read_text(encoding="utf-8"))
    }
    assert links == {(anchor(heading), page) for heading, page in told}


def test_the_glossary_is_in_order():
    words = re.findall(r"^\| ([a-z ]+) \|", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)[
        1:
    ]
    assert words == sorted(words) and len(words) > 20
