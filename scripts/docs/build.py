"""Builds the site: `PYTHONPATH=. python scripts/docs/build.py [--executed NOTEBOOKS] [FOLDER]`.

The folder is build/site by default. Warnings are errors. The pages need no other host and no server: open index.html.
The notebooks of the repository have no outputs; a folder of executed copies gives them to the tutorials:

    jupyter nbconvert --to notebook --execute --output-dir NOTEBOOKS examples/*.ipynb
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from contents import ROOT
from sphinx.cmd.build import build_main
from stage import stage

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Builds the site; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--executed", type=Path, metavar="NOTEBOOKS", help="a folder with executed copies of notebooks")
    arguments = parser.parse_args()
    folder = arguments.folder
    started = time.monotonic()
    sources = ROOT / "build" / "site-sources"
    stage(sources, arguments.executed)
    shutil.rmtree(folder, ignore_errors=True)
    options = ["-W", "--keep-going", "-q", "-E", "-d", str(ROOT / "build" / "site-doctrees"), "-c", str(HERE)]
    status = build_main([*options, "-b", "html", str(sources), str(folder)])
    if status == 0:
        (folder / ".buildinfo").unlink(missing_ok=True)
        pages = list(folder.rglob("*.html"))
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        took = time.monotonic() - started
        print(f"{folder}/index.html: {len(pages)} pages, {size / 1e6:.1f} MB, in {took:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
