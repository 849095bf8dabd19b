"""The addresses below `tfnb/`: a turn of a document, the modules that draw, BokehJS.

Each asks for a signed-in user who may read contents. Files are read in threads, so that the server goes on.
Invariant: an error becomes a status and a sentence as JSON; no page is ever made of what a file holds.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web

import tfnb.errors as errors
from tfnb.notebook.server.framing import packed
from tfnb.notebook.server.places import inside_only, place_of

__all__ = ["add_handlers"]

_NAME = re.compile(r"[\w-]{8,80}\Z")
STATUS = {
    errors.NotFoundError: 404,
    errors.PermissionDeniedError: 403,
    errors.InvalidArgumentError: 400,
}


class _Handler(APIHandler):
    """What all of them share: who may, in which thread, and how a fault is told."""

    auth_resource = "contents"

    async def in_thread(self, work: Any, *arguments: Any) -> Any:
        """Runs `work` in a thread; gives None after a fault, which was told to the browser then."""
        pool = self.settings["tfnb_threads"]
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
        except errors.OpError as fault:
            self.say(STATUS.get(type(fault), 422), fault.message)
            return None

    def say(self, status: int, text: str) -> None:
        self.set_status(status)
        self.finish(json.dumps({"message": text[:600]}))


class DocumentHandler(_Handler):
    """POST document: {name, kind, path, state, messages, first} -> a framed turn, or {fault} for a file that is damaged
    or too large. DELETE: it was closed."""

    @web.authenticated
    @authorized("read", resource="contents")
    async def post(self) -> None:
        try:
            told = self.get_json_body()
        except UnicodeDecodeError:
            told = None
        if not (isinstance(told, dict) and isinstance(told.get("path"), str) and _NAME.match(str(told.get("name")))):
            self.say(400, "needed an object in JSON and UTF-8, with name, kind and path")
            return
        contents = self.contents_manager
        root = getattr(contents, "root_dir", None)
        if not isinstance(root, str) or not root:
            self.say(501, "this server's files do not lie in a folder: they cannot be shown without a kernel")
            return
        found = await self.in_thread(self._turn, told, root, bool(getattr(contents, "allow_hidden", False)))
        if found is not None:
            self.set_header("Content-Type", "application/octet-stream")
            self.finish(found)

    def _turn(self, told: dict[str, Any], root: str, hidden: bool) -> bytes:
        place = place_of(root, told["path"], hidden)
        documents = self.settings["tfnb_documents"]()
        name, kind = str(told["name"]), str(told.get("kind"))
        try:
            return packed(documents.turn(name, kind, place, inside_only(root, hidden), told))
        except (errors.DataLossError, errors.ResourceExhaustedError) as fault:
            # The request was all right, the file is not: no failed request for the browser's console.
            return packed({"fault": fault.message[:600]})

    @web.authenticated
    @authorized("read", resource="contents")
    async def delete(self) -> None:
        self.settings["tfnb_documents"]().close(self.get_query_argument("name", ""))
        self.set_status(204)
        self.finish()


class ModuleHandler(_Handler):
    """GET module/KIND: {module, style}, the texts that the notebook's widgets are made of."""

    @web.authenticated
    @authorized("read", resource="contents")
    async def get(self, kind: str) -> None:
        found = await self.in_thread(lambda: self.settings["tfnb_parts"]().module_and_style(kind))
        if found is not None:
            self.finish(json.dumps({"module": found[0], "style": found[1]}))


class BokehHandler(_Handler):
    """GET bokeh: BokehJS of the installed package, compressed with gzip."""

    @web.authenticated
    @authorized("read", resource="contents")
    async def get(self) -> None:
        found = await self.in_thread(lambda: self.settings["tfnb_parts"]().bokehjs_zipped())
        if found is not None:
            self.set_header("Content-Type", "application/octet-stream")
            self.finish(found)


def add_handlers(app: Any, parts: Callable[[], Any]) -> None:
    """Adds them to a Jupyter server's application; `parts()` imports what reads files, when it is first needed."""
    app.settings["tfnb_parts"] = parts
    app.settings["tfnb_documents"] = cache(lambda: parts().Documents())
    app.settings["tfnb_threads"] = ThreadPoolExecutor(2, thread_name_prefix="tfnb-document")
    base = url_path_join(app.settings["base_url"], "tfnb")
    app.add_handlers(
        ".*$",
        [
            (url_path_join(base, "document"), DocumentHandler),
            (url_path_join(base, r"module/([a-z]{1,20})"), ModuleHandler),
            (url_path_join(base, "bokeh"), BokehHandler),
        ],
    )
