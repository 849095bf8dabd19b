"""The site's sources: the repository's pages at their places, the notebooks, generated pages, and the index.

Links between pages stay as they are. A link to a file that is not on the site becomes its text with the file's path,
since the site needs no network and no checkout.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import reference
from contents import KINDS, ROOT, Kind, pages_of
from outputs import give_outputs

__all__ = ["stage"]

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\]\([^)]*\))*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)]*)?\)")
IMAGES = ("docs/images", "docs/training.png")


def stage(folder: Path, copies: Path | None = None) -> None:
    """Writes the sources into a folder, whose former content goes.

    copies: a folder with an executed copy of each notebook, which gives the outputs. The repository has none.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name in IMAGES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / name, folder / name)
    reference.write(folder / "reference")
    pages = [entry for kind in KINDS for entry in kind.pages if entry != "reference"]
    for entry in pages:
        for path in sorted((ROOT / entry).glob("*.md")) if (ROOT / entry).is_dir() else [ROOT / entry]:
            _copy(path, folder, copies)
    (folder / "index.md").write_text(_index(folder), encoding="utf-8")


def _copy(path: Path, folder: Path, copies: Path | None) -> None:
    name = path.relative_to(ROOT)
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        notebook = json.loads(text)
        if copies is not None:
            give_outputs(notebook, json.loads((copies / path.name).read_text(encoding="utf-8")))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = _linked("".join(cell["source"]), name)
            for output in cell.get("outputs", ()):
                output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)  # the picture stays
        text = json.dumps(notebook)
    else:
        text = _linked(text, name)
    target.write_text(text, encoding="utf-8")


def _on_site(path: str) -> bool:
    """Whether the site has a file of the repository."""
    entries = {entry for kind in KINDS for entry in kind.pages}
    return path in entries or (path.endswith(".md") and str(Path(path).parent) in entries) or path.startswith(IMAGES)


def _linked(text: str, page: Path) -> str:
    """Returns the text of a page with links that lead to pages of the site only."""

    def settle(match: re.Match[str]) -> str:
        image, label, link, _ = match.groups()
        path = os.path.normpath(page.parent / link)
        if path == "README.md":
            return f"[{label}]({os.path.relpath('index.md', page.parent)})"
        if _on_site(path):
            return match.group()
        if image:
            return label
        plain = label.strip("`")
        return label if plain.endswith(Path(path).name) else f"{label} (`{path}`)"

    return LINK.sub(settle, text)


def _index(folder: Path) -> str:
    """Returns the first page: the first screen of README.md, and the pages by their kinds."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    parts = [_linked(readme.split("\n## ")[0], Path("README.md"))]
    for kind in KINDS:
        listed = [_line(entry, about) for entry, about in kind.pages.items() if about]
        whole = [_line(f"{name}.md", "") for name in pages_of(kind, folder) if name.startswith(_folders(kind))]
        parts.append(f"## {kind.title}\n\n{kind.about}\n\n" + "\n".join([*whole, *listed]))
        names = "\n".join(f"/{name}" for name in pages_of(kind, folder))
        parts.append(f"```{{toctree}}\n:hidden:\n:caption: {kind.title}\n\n{names}\n```")
    return "\n\n".join(parts) + "\n"


def _folders(kind: Kind) -> tuple[str, ...]:
    """The folders of a kind whose pages the index lists by their own titles."""
    return tuple(f"{entry}/" for entry, about in kind.pages.items() if not about and entry != "docs/decisions")


def _line(entry: str, about: str) -> str:
    """Returns the line of the index for a page; its title is the page's own."""
    target = f"{entry}/index.md" if not Path(entry).suffix else entry
    return f"- [](/{target})" + (f": {about}" if about else "")
