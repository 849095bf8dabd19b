"""BokehJS as data: how it gets to the browser, without importing bokeh, which takes half a second.

It comes from the installed bokeh package, so documents and library always have the same version and nothing is loaded
from elsewhere. Invariant: one model per kernel carries it, whatever charts there are.
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
    """The text of BokehJS."""
    found = find_spec("bokeh")
    if found is None or found.origin is None:
        raise FailedPreconditionError("the package bokeh is not installed whole: it has no BokehJS")
    return (Path(found.origin).parent / "server/static/js/bokeh.min.js").read_text("utf-8")


@cache
def bokehjs_zipped() -> bytes:
    """BokehJS compressed with gzip, as it travels to the browser."""
    return gzip.compress(bokehjs().encode(), compresslevel=6, mtime=0)


class BokehLibrary(anywidget.AnyWidget):
    """BokehJS on its way to the browser, where it is started at once; never displayed."""

    _esm = widget_module("bokeh_library")
    source = Bytes().tag(sync=True)
    version = Unicode(BOKEH_VERSION).tag(sync=True)


_library: list[BokehLibrary] = []


def shared_library() -> BokehLibrary:
    """The model that brings BokehJS to the browser, made when it is first needed."""
    if not _library:
        _library.append(BokehLibrary(source=bokehjs_zipped()))
    return _library[0]
