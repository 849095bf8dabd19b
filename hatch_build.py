"""The build hook: what is packed carries the widgets and the JupyterLab extension, built where they are not yet.

Invariant: a wheel or source distribution is whole or is not made. Only an editable install goes on without node, and
says what it lacks.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent / "scripts"))
from frontend import CannotBuild, FrontEnd


class FrontEndHook(BuildHookInterface):
    """Called by hatchling before each build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        front_end = FrontEnd(Path(self.root))
        if not front_end.current():
            try:
                front_end.build()
            except CannotBuild as fault:
                if version != "editable":
                    raise
                self.app.display_warning(str(fault))
        if self.target_name == "wheel" and front_end.stamp.exists():
            build_data["shared_data"][str(front_end.extension)] = "share/jupyter/labextensions/tfnb"
