"""Outputs for the tutorials: each notebook is executed once, and again when its code or the package has changed.

The repository has notebooks without outputs. The executed copies lie in a folder of their own, each with a digest of
its code and of the package, so that the site never shows what another version printed. Text and links of a notebook
do not count: they are taken from the repository. Widgets leave the static pictures that readers without a kernel see.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from contents import ROOT
from nbclient import NotebookClient

__all__ = ["executed", "give_outputs"]

PACKAGE = ("tfnb", "kernels_cl")
LEFT_OUT = {"__pycache__", "labextension", "static", "server"}  # what browsers and their server run
SECONDS = 600  # for one cell
DIGEST = "tfnb_digest"


def executed(paths: list[Path], folder: Path) -> None:
    """Executes the notebooks of which the folder has no copy that is current.

    Raises `CellExecutionError`, or `CellTimeoutError`, for the first cell that fails; copies that are there stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        notebook, copy = nbformat.read(path, as_version=4), folder / path.name
        digest = _digest(notebook)
        if copy.exists() and nbformat.read(copy, as_version=4).metadata.get(DIGEST) == digest:
            continue
        start = time.monotonic()
        _execute(notebook)
        notebook.metadata[DIGEST] = digest
        nbformat.write(notebook, copy)
        print(f"{path.relative_to(ROOT)}: executed in {time.monotonic() - start:.0f} s", flush=True)


def give_outputs(notebook: dict[str, Any], copy: dict[str, Any]) -> None:
    """Puts the outputs of an executed copy into the notebook. Raises `ValueError` if it is of other code."""
    cells, others = (
        [cell for cell in cells if cell["cell_type"] == "code"] for cells in (notebook["cells"], copy["cells"])
    )
    if [_source(cell) for cell in cells] != [_source(cell) for cell in others]:
        raise ValueError("the executed copy is of other code")
    for cell, other in zip(cells, others, strict=True):
        cell["outputs"], cell["execution_count"] = other["outputs"], other["execution_count"]


def _execute(notebook: Any) -> None:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as folder:  # notebooks write checkpoints and event files where they run
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            store_widget_state=False,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": folder}},
        )
        client.execute(env={**os.environ, "PYTHONPATH": path})


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _digest(notebook: Any) -> str:
    found = hashlib.sha256(f"{sys.version_info[:2]} {_package()}".encode())
    for cell in notebook.cells:
        if cell.cell_type == "code":
            found.update(f"{len(cell.source)}\0{cell.source}".encode())
    return found.hexdigest()


@cache
def _package() -> str:
    """A digest of all that a kernel imports or compiles of this checkout."""
    found = hashlib.sha256()
    for path in _files():
        content = path.read_bytes()
        found.update(f"{path.relative_to(ROOT)}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


def _files() -> Iterator[Path]:
    for name in PACKAGE:
        for path in sorted((ROOT / name).rglob("*")):
            if path.is_file() and not LEFT_OUT.intersection(path.relative_to(ROOT).parts):
                yield path
