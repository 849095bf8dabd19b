"""Paths from a browser: inside the served folder, or not there."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfnb.errors import NotFoundError
from tfnb.notebook.server.places import inside_only, place_of


@pytest.fixture
def root(tmp_path):
    served = tmp_path / "served"
    (served / "logs" / ".hidden").mkdir(parents=True)
    (served / "logs" / "a.pb").write_text("inside")
    (served / "logs" / ".hidden" / "b.pb").write_text("hidden")
    (served / "served-too").mkdir()
    (tmp_path / "served-not").mkdir()
    (tmp_path / "secret.pb").write_text("outside")
    (tmp_path / "served-not" / "c.pb").write_text("outside, by a name that begins alike")
    (served / "out.pb").symlink_to(tmp_path / "secret.pb")
    (served / "up").symlink_to(tmp_path)
    (served / "around.pb").symlink_to(served / "logs" / "a.pb")
    (served / "sly.pb").symlink_to(served / "logs" / ".hidden" / "b.pb")
    (served / "gone.pb").symlink_to(served / "nothing")
    (served / "circle.pb").symlink_to(served / "circle.pb")
    os.mkfifo(served / "pipe.tfevents")
    return served


@pytest.mark.parametrize("path", ["logs/a.pb", "/logs/a.pb", "logs//a.pb", "around.pb", "logs", "", "/"])
def test_inside(root, path):
    assert place_of(str(root), path).startswith(str(root))


@pytest.mark.parametrize(
    "path",
    [
        "../secret.pb",
        "logs/../../secret.pb",
        "logs/../logs/a.pb",
        "./logs/a.pb",
        "/etc/passwd",
        "//etc/passwd",
        "..",
        "../served-not/c.pb",
        "out.pb",
        "up/secret.pb",
        "up/served/logs/a.pb/..",
        "logs/.hidden/b.pb",
        "sly.pb",
        "gone.pb",
        "circle.pb",
        "pipe.tfevents",
        "nothing.pb",
        "logs/a.pb\0",
        "logs/a.pb/x",
        "~/x",
        "x" * 5000,
    ],
)
def test_outside_hidden_or_no_file(root, path):
    with pytest.raises(NotFoundError, match="served folder"):
        place_of(str(root), path)


def test_an_absolute_path_is_told_from_the_root(root):
    with pytest.raises(NotFoundError):
        place_of(str(root), str(root.parent / "secret.pb"))


def test_hidden_files_where_the_server_allows_them(root):
    assert place_of(str(root), "logs/.hidden/b.pb", hidden=True).endswith("b.pb")
    with pytest.raises(NotFoundError):
        place_of(str(root), "../secret.pb", hidden=True)


def test_files_on_the_way_through_a_folder(root):
    admits = inside_only(str(root))
    assert admits(str(root / "logs" / "a.pb")) and admits(str(root / "around.pb"))
    for name in ("out.pb", "up/secret.pb", "sly.pb", "gone.pb", "circle.pb", "pipe.tfevents", "logs"):
        assert not admits(str(root / name)), name


@given(st.lists(st.sampled_from(["..", ".", "up", "logs", "a.pb", "", "secret.pb", "\\..", "..\\"]), max_size=6))
def test_no_path_leads_out(tmp_path_factory, parts):
    base = tmp_path_factory.getbasetemp() / "walk"
    served = base / "served"
    if not served.exists():
        (served / "logs").mkdir(parents=True)
        (served / "logs" / "a.pb").write_text("inside")
        (base / "secret.pb").write_text("outside")
        (served / "up").symlink_to(base)
    try:
        found = place_of(str(served), "/".join(parts))
    except NotFoundError:
        return
    assert os.path.commonpath([os.path.realpath(found), os.path.realpath(served)]) == os.path.realpath(served)
