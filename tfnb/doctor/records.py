"""What a check finds: a record is a line of `tfnb doctor`, and an object of its JSON.

Invariant: a record that is not ok has the command that mends it, or its text says why there is none.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, dataclass
from typing import Literal

__all__ = ["Record", "State", "megabytes", "pip_install", "unset"]

State = Literal["ok", "mended", "warning", "wrong"]


@dataclass(frozen=True)
class Record:
    """One line. `command` mends what the text says; of a `mended` record it is what has been done."""

    check: str
    state: State
    text: str
    command: str = ""

    def lines(self) -> str:
        """The record as it is printed: state, name and text; the command stands below, to be copied."""
        text = " ".join(self.text.split())  # a message of others may have several lines
        command = f"\n{'':<21}$ {self.command}" if self.command and self.state != "mended" else ""
        return f"{self.state:<8} {self.check:<12}{text}{command}"

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def pip_install(*arguments: str) -> str:
    """The command that installs something into the environment of this Python."""
    return shlex.join([sys.executable or "python", "-m", "pip", "install", *arguments])


def unset(*names: str) -> str:
    """The command that removes environment variables from a shell."""
    return " ".join(("unset", *names))


def megabytes(nbytes: int) -> str:
    """A number of bytes as people read it."""
    return f"{nbytes / 2**30:.1f} GB" if nbytes >= 1 << 30 else f"{nbytes >> 20} MB"
