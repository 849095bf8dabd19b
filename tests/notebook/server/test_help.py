"""Where the help is looked for."""

import pytest

from tfnb.notebook.server import help as pages


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
