"""The help below `tfnb/docs/`: the built site, if it is installed beside this package, else a page that says how.

The site lies where Jupyter looks for data of programs (the wheel tfnb-docs puts it there), or in build/site of the
checkout that this package is imported from. Invariant: only authenticated requests are answered, and no file outside
the site is read. The site's own scripts run with the rights of the server's pages, as those of its extensions do.
"""

from __future__ import annotations

import os
from pathlib import Path

from jupyter_core.paths import jupyter_path
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from tornado import web

from tfnb.release import VERSION

__all__ = ["HelpHandler", "help_folder"]

CHECKOUT = Path(__file__).resolve().parents[3]
ABSENT = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>tfnb: help</title>
<style>:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 3em auto; max-width: 40em; }
</style></head><body><h1>The help is not installed</h1><p>HOW</p></body></html>
"""
FROM_WHEEL = f"""It is a wheel of its own, tfnb-docs {VERSION}, which <code>make docs_wheel</code> in a checkout of tfnb
leaves in <code>dist</code>. Install it with pip where Jupyter's server runs, and load this page again."""
FROM_CHECKOUT = "Run <code>make docs</code> in the checkout of tfnb, and load this page again."


def help_folder() -> str | None:
    """Returns the folder of the built site, or None if there is none."""
    places = [Path(place) for place in jupyter_path("tfnb", "docs")]
    if _in_checkout():
        places.append(CHECKOUT / "build" / "site")
    return next((os.path.realpath(place) for place in places if (place / "index.html").is_file()), None)


def _in_checkout() -> bool:
    return (CHECKOUT / "scripts" / "docs" / "build.py").is_file()


class HelpHandler(JupyterHandler, web.StaticFileHandler):
    """GET docs/PATH: a file of the site."""

    auth_resource = "contents"

    def initialize(self) -> None:  # type: ignore[override]
        """Looks for the site, which may have been built since the last request."""
        self.there = help_folder()
        super().initialize(self.there or os.devnull, "index.html")

    @web.authenticated
    @authorized("read", resource="contents")
    async def get(self, path: str, include_body: bool = True) -> None:  # type: ignore[override]
        """Answers with the file, or with the page that says how to install the site."""
        await self._answer(path, include_body)

    @web.authenticated
    @authorized("read", resource="contents")
    async def head(self, path: str) -> None:  # type: ignore[override]
        """Answers with what `get` says of the file."""
        await self._answer(path, include_body=False)

    async def _answer(self, path: str, include_body: bool) -> None:
        if self.there is not None:
            await web.StaticFileHandler.get(self, path, include_body)
            return
        self.set_status(404)
        how = FROM_CHECKOUT if _in_checkout() else FROM_WHEEL
        self.finish(ABSENT.replace("HOW", how) if include_body else None)

    def set_extra_headers(self, path: str) -> None:
        """Lets the browser ask each time whether a file has changed; a site that is built again has the same names."""
        self.set_header("Cache-Control", "no-cache")

    def compute_etag(self) -> str | None:
        """Returns none: tornado computes it once for each file, and would not see that the site was built again."""
        return None
