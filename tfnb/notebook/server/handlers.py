"""The HTTP addresses below `tfnb/`: exchanges of documents, the modules that draw them, BokehJS, and the help.

Each requires an authenticated user who may read contents. Files are read in threads, so that the server can answer
other requests. Invariant: an error becomes a status and a sentence in JSON; no reply is a page made of the content of a
file.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web

import tfnb.errors as errors
from tfnb.notebook.server.framing import packed
from tfnb.notebook.server.help import HelpHandler
from tfnb.notebook.server.places import inside_only, place_of

__all__ = ["add_handlers"]

Result = TypeVar("Result")
_NAME = re.compile(r"[\w-]{8,80}\Z")
STATUS = {
    errors.NotFoundError: 404,
    errors.PermissionDeniedError: 403,
    errors.InvalidArgumentError: 400,
}


class _Handler(APIHandler):
    """The common part of all handlers: authorisation, running work in a thread, and the form of errors."""

    auth_resource = "contents"

    async def in_thread(self, work: Callable[[], Result]) -> Result | None:
        """Returns the result of `work`, which runs in a thread; None after an `OpError`, which was sent to the
        browser.
        """
        pool = self.settings["tfnb_threads"]
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, work)
        except errors.OpError as fault:
            self.say(STATUS.get(type(fault), 422), fault.message)
            return None

    def say(self, status: int, text: str) -> None:
        self.set_status(status)
        self.finish(json.dumps({"message": text[:600]}))


class DocumentHandler(_Handler):
    """POST document: {name, kind, path, state, messages, first} -> a framed reply.

    The reply is {fault} for a file that is damaged or too large. DELETE document: closes it.
    """

    @web.authenticated
    @authorized("read", resource="contents")
    async def post(self) -> None:
        try:
            request = self.get_json_body()
        except UnicodeDecodeError:
            request = None
        if not (
            isinstance(request, dict) and isinstance(request.get("path"), str) and _NAME.match(str(request.get("name")))
        ):
            self.say(400, "needed an object in JSON and UTF-8, with name, kind and path")
            return
        contents = self.contents_manager
        root = getattr(contents, "root_dir", None)
        if not isinstance(root, str) or not root:
            self.say(501, "this server's files do not lie in a folder: they cannot be shown without a kernel")
            return
        hidden = bool(getattr(contents, "allow_hidden", False))
        reply = await self.in_thread(lambda: self._turn(request, root, hidden))
        if reply is not None:
            self.set_header("Content-Type", "application/octet-stream")
            self.finish(reply)

    def _turn(self, request: dict[str, Any], root: str, hidden: bool) -> bytes:
        file_path = place_of(root, request["path"], hidden)
        documents = self.settings["tfnb_documents"]()
        name, kind = str(request["name"]), str(request.get("kind"))
        try:
            return packed(documents.exchange(name, kind, file_path, inside_only(root, hidden), request))
        except (errors.DataLossError, errors.ResourceExhaustedError) as fault:
            # The request is valid, only the file is not: with a status of success the console shows no error.
            return packed({"fault": fault.message[:600]})

    @web.authenticated
    @authorized("read", resource="contents")
    async def delete(self) -> None:
        self.settings["tfnb_documents"]().close(self.get_query_argument("name", ""))
        self.set_status(204)
        self.finish()


class ModuleHandler(_Handler):
    """GET module/KIND: {module, style}, the module and the style sheet of the widget that draws this kind."""

    @web.authenticated
    @authorized("read", resource="contents")
    async def get(self, kind: str) -> None:
        texts = await self.in_thread(lambda: self.settings["tfnb_parts"]().module_and_style(kind))
        if texts is not None:
            self.finish(json.dumps({"module": texts[0], "style": texts[1]}))


class BokehHandler(_Handler):
    """GET bokeh: BokehJS of the installed package, compressed with gzip."""

    @web.authenticated
    @authorized("read", resource="contents")
    async def get(self) -> None:
        library = await self.in_thread(lambda: self.settings["tfnb_parts"]().bokehjs_zipped())
        if library is not None:
            self.set_header("Content-Type", "application/octet-stream")
            self.finish(library)


def add_handlers(app: web.Application, parts: Callable[[], Any]) -> None:
    """Adds the handlers to the application of a Jupyter server.

    `parts()` imports the modules that read files; it is called at the first request.
    """
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
            (url_path_join(base, r"docs/(.*)"), HelpHandler),
        ],
    )
