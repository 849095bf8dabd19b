"""The check of what the browser runs: built, found and enabled by JupyterLab and its server, all of one version."""

from __future__ import annotations

import os
import runpy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tfnb.doctor.records import Record, pip_install
from tfnb.doctor.requirements import CHECKOUT, install_again
from tfnb.notebook.assets import missing_files
from tfnb.notebook.server.installation import disabled_extensions, has_server_extension, lab_extensions
from tfnb.release import VERSION

__all__ = ["check"]

_SERVER = "tfnb.notebook.server"
# The extensions by which JupyterLab shows widgets, and the package that brings each.
_MANAGERS = {"@jupyter-widgets/jupyterlab-manager": "jupyterlab_widgets", "anywidget": "anywidget"}


def check(fix: bool) -> Iterator[Record]:
    """Yields records on the widgets' files, JupyterLab's extension, the server's, and the managers of widgets."""
    missing = missing_files()
    if missing:
        yield Record("frontend", "wrong", f"the widgets are not built: {', '.join(missing)} missing", _build())
    elif not _is_current():
        yield Record("frontend", "warning", "the widgets were built of other sources than these", _build())
    else:
        yield Record("frontend", "ok", "the widgets are built")
    found, disabled = lab_extensions(), disabled_extensions()
    yield _lab_extension(found, disabled)
    if has_server_extension(_SERVER):
        yield Record("frontend", "ok", f"the server's extension {_SERVER} is enabled")
    else:
        command = f"jupyter server extension enable {_SERVER} --sys-prefix"
        yield Record("frontend", "wrong", "the extension of Jupyter's server is not enabled: no file opens", command)
    for name, package in _MANAGERS.items():
        yield _manager(name, package, found, disabled)


def _is_current() -> bool:
    """Whether what is built was made of the sources beside it, as the build itself sees it; a wheel has none."""
    if CHECKOUT is None:
        return True
    build = runpy.run_path(str(CHECKOUT / "scripts" / "frontend.py"))
    return bool(build["FrontEnd"](CHECKOUT).current())


def _build() -> str:
    """The command that builds what is missing: only a checkout has the sources."""
    return (
        install_again("--no-deps", "--force-reinstall")
        if CHECKOUT is None
        else f"python {CHECKOUT / 'scripts' / 'frontend.py'}"
    )


def _lab_extension(found: Mapping[str, Mapping[str, Any]], disabled: frozenset[str]) -> Record:
    extension = found.get("tfnb")
    if extension is None:
        return Record(
            "frontend",
            "wrong",
            "JupyterLab does not find the extension tfnb",
            install_again("--no-deps", "--force-reinstall"),
        )
    folder, load = Path(extension["ext_path"]), extension["jupyterlab"].get("_build", {}).get("load", "")
    if not load or not (folder / load).is_file():
        text = f"the extension in {folder} is half built: {load or 'its first file'} is missing"
        return Record("frontend", "wrong", text, _build())
    if extension["version"] != VERSION:
        text = f"JupyterLab has the extension of version {extension['version']} in {folder}, tfnb is {VERSION}"
        return Record("frontend", "wrong", text, install_again("--no-deps", "--force-reinstall"))
    off = sorted(name for name in disabled if name == "tfnb" or name.startswith("tfnb:"))
    if off:
        command = "; ".join(f"jupyter labextension enable {name}" for name in off)
        return Record("frontend", "wrong", f"JupyterLab's configuration disables {', '.join(off)}", command)
    return Record("frontend", "ok", f"JupyterLab has the extension tfnb {VERSION}, enabled")


def _manager(name: str, package: str, found: Mapping[str, Mapping[str, Any]], disabled: frozenset[str]) -> Record:
    extension = found.get(name)
    if extension is None:
        command = pip_install("--force-reinstall", "--no-deps", package)
        return Record("frontend", "wrong", f"JupyterLab does not find {name}: no widget is shown", command)
    off = sorted(one for one in disabled if one == name or one.startswith(f"{name}:"))
    if off:
        command = "; ".join(f"jupyter labextension enable {one}" for one in off)
        return Record("frontend", "wrong", f"JupyterLab's configuration disables {', '.join(off)}", command)
    return Record("frontend", "ok", f"{name} {extension['version']} in {os.path.dirname(extension['ext_path'])}")
