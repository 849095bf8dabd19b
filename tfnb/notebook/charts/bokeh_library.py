"""The source of BokehJS as data for the browser, taken from the bokeh package without importing it (half a second).

Documents and library come from the same installed package, so they always have the same version and nothing is loaded
from elsewhere. Invariant: one model per kernel carries the library, however many charts there are.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import anywidget
from traitlets import Bytes, Unicode

from tfnb.errors import FailedPreconditionError
from tfnb.notebook.assets import widget_module

__all__ = ["BOKEH_VERSION", "BokehLibrary", "bokehjs", "bokehjs_zipped", "shared_library"]

BOKEH_VERSION: str = version("bokeh")


def bokehjs() -> str:
    """Returns the text of BokehJS."""
    package = find_spec("bokeh")
    if package is None or package.origin is None:
        raise FailedPreconditionError("the package bokeh is not installed whole: it has no BokehJS")
    return (Path(package.origin).parent / "server/static/js/bokeh.min.js").read_text("utf-8")


@cache
def bokehjs_zipped() -> bytes:
    """Returns BokehJS compressed with gzip, as it is sent to the browser."""
    return gzip.compress(bokehjs().encode(), compresslevel=6, mtime=0)


class BokehLibrary(anywidget.AnyWidget):
    """The model that carries BokehJS to the browser, which starts it at once. It is never displayed."""

    _esm = widget_module("bokeh_library")
    source = Bytes().tag(sync=True)
    version = Unicode(BOKEH_VERSION).tag(sync=True)


_library: list[BokehLibrary] = []


def shared_library() -> BokehLibrary:
    """Returns the model that carries BokehJS to the browser; the first call creates the model."""
    if not _library:
        _library.append(BokehLibrary(source=bokehjs_zipped()))
    return _library[0]
