"""Where the help is looked for."""

import asyncio
from types import SimpleNamespace

import pytest

from tfnb.notebook.server import help as pages
from tfnb.release import VERSION


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Neither an installed site nor a checkout."""
    for name in ("JUPYTER_PATH", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    monkeypatch.setattr(pages, "CHECKOUT", tmp_path / "checkout")
    return tmp_path


def write(folder):
    folder.mkdir(parents=True)
    (folder / "index.html").write_text("<h1>pages</h1>")
    return str(folder)


def test_an_installed_site_goes_before_that_of_the_checkout(nowhere, monkeypatch):
    assert pages.help_folder() is None
    built = nowhere / "checkout" / "build" / "site"
    write(built)
    assert pages.help_folder() is None  # a folder of this name beside an installed package is not ours
    (nowhere / "checkout" / "scripts" / "docs").mkdir(parents=True)
    (nowhere / "checkout" / "scripts" / "docs" / "build.py").write_text("")
    assert pages.help_folder() == str(built)
    installed = write(nowhere / "share" / "tfnb" / "docs")
    monkeypatch.setenv("JUPYTER_PATH", str(nowhere / "share"))
    assert pages.help_folder() == installed


@pytest.mark.parametrize("checkout", [True, False])
def test_without_a_site_the_help_names_the_command(nowhere, checkout):
    if checkout:
        (nowhere / "checkout" / "scripts" / "docs").mkdir(parents=True)
        (nowhere / "checkout" / "scripts" / "docs" / "build.py").write_text("")
    told = []
    handler = SimpleNamespace(there=None, set_status=told.append, finish=told.append)
    asyncio.run(pages.HelpHandler._answer(handler, "docs/graph.html", True))
    status, page = told
    assert status == 404 and "The help is not installed" in page
    assert ("Run <code>make docs</code>" in page) == checkout
    assert (f"tfnb-docs {VERSION}" in page and "<code>make docs_wheel</code>" in page) != checkout
