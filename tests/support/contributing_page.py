"""The code blocks of CONTRIBUTING.md, which tests of several folders execute."""

from __future__ import annotations
import __future__

import re
from pathlib import Path
from typing import Any

TEXT = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(kind: str, language: str = "python") -> str:
    """The text of the block that begins with the language and the kind."""
    return re.search(rf"```{language} {kind}\n(.*?)```", TEXT, re.DOTALL).group(1)


def execute(kind: str, /, **names: Any) -> dict[str, Any]:
    """`names`, with those that a block of Python defines."""
    exec(compile(block(kind), "CONTRIBUTING.md", "exec", __future__.annotations.compiler_flag), names)
    return names
