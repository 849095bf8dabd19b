"""Builds the site: `PYTHONPATH=. python scripts/docs/build.py [--without-outputs] [FOLDER]`.

The folder is build/site by default. Warnings are errors. The pages need no other host and no server: open index.html.
The tutorials are executed first, where they or the package have changed since; outputs.py says how.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from importlib.metadata import distribution
from pathlib import Path

from contents import KINDS, ROOT
from outputs import executed
from sphinx.cmd.build import build_main
from stage import stage

HERE = Path(__file__).resolve().parent
# Whose scripts and style sheets are in the site.
BUNDLED = ("Sphinx", "snowballstemmer", "Pygments", "myst-nb", "furo", "sphinx-basic-ng")


def licenses() -> str:
    """Returns the licences of what the site holds, our own first."""
    texts = [("tfnb", (ROOT / "LICENSE").read_text(encoding="utf-8"))]
    for name in BUNDLED:
        package = distribution(name)
        texts += [
            (f"{name} {package.version}", Path(str(file.locate())).read_text(encoding="utf-8"))
            for file in package.files or ()
            if file.name.upper().startswith(("LICENSE", "COPYING"))
        ]
    return "\n\n".join(f"{name}\n{'=' * len(name)}\n\n{text.strip()}" for name, text in texts) + "\n"


def main() -> int:
    """Builds the site; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--without-outputs", action="store_true", help="execute no notebook: for a look at the text")
    arguments = parser.parse_args()
    folder = arguments.folder
    started = time.monotonic()
    sources = ROOT / "build" / "site-sources"
    copies = None if arguments.without_outputs else ROOT / "build" / "site-notebooks"
    if copies is not None:
        executed([ROOT / entry for kind in KINDS for entry in kind.pages if entry.endswith(".ipynb")], copies)
    stage(sources, copies)
    shutil.rmtree(folder, ignore_errors=True)
    options = ["-W", "--keep-going", "-q", "-E", "-d", str(ROOT / "build" / "site-doctrees"), "-c", str(HERE)]
    status = build_main([*options, "-b", "html", str(sources), str(folder)])
    if status == 0:
        (folder / ".buildinfo").unlink(missing_ok=True)
        (folder / "licenses.txt").write_text(licenses(), encoding="utf-8")
        pages = list(folder.rglob("*.html"))
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        took = time.monotonic() - started
        print(f"{folder}/index.html: {len(pages)} pages, {size / 1e6:.1f} MB, in {took:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
