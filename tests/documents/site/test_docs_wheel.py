"""The wheel tfnb-docs puts the built site where the help looks for it."""

import shutil
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from tfnb.release import VERSION

ROOT = Path(__file__).resolve().parents[3]


def test_the_wheel_holds_the_site_and_nothing_else(tmp_path):
    for name in ("scripts/docs/wheel/pyproject.toml", "tfnb/release.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    site = tmp_path / "build" / "site"
    (site / "_static").mkdir(parents=True)
    for name in ("index.html", "licenses.txt", "_static/site.css"):
        (site / name).write_text(name)
    builder = WheelBuilder(str(tmp_path / "scripts" / "docs" / "wheel"))
    (wheel,) = builder.build(directory=str(tmp_path / "dist"))
    with zipfile.ZipFile(wheel) as archive:
        data = f"tfnb_docs-{VERSION}.data/data/share/jupyter/tfnb/docs"
        names = sorted(name for name in archive.namelist() if ".dist-info/" not in name)
        assert names == [f"{data}/_static/site.css", f"{data}/index.html", f"{data}/licenses.txt"]
