"""Settings: every environment variable of tfnb is declared and read here, once.

Invariant: `Settings` is frozen; nothing else in the package reads `os.environ` for a TFNB_* variable.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path

from tfnb.errors import InvalidArgumentError

__all__ = ["Settings", "load_settings"]


def _cache_root() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return str(Path(base) / "tfnb")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a process. Each field names its variable and says what it does."""

    devices: str = field(
        default="",
        metadata={
            "env": "TFNB_DEVICES",
            "help": "which OpenCL devices to use: comma-separated parts of platform or device names, "
            "e.g. 'pocl' or 'NVIDIA,pocl'; empty: PoCL or the first CPU, and every GPU",
        },
    )
    cache_dir: str = field(
        default="",
        metadata={"env": "TFNB_CACHE_DIR", "help": "where compiled kernels are kept; empty: the user's cache"},
    )
    verify: bool = field(
        default=False,
        metadata={"env": "TFNB_VERIFY", "help": "1: verify the graph after every stage of compiling a step"},
    )
    quiet: bool = field(
        default=False,
        metadata={"env": "TFNB_QUIET", "help": "1: no progress lines while something compiles"},
    )
    optimize: bool = field(
        default=True,
        metadata={"env": "TFNB_OPTIMIZE", "help": "0: no folding, CSE, simplification or fusion"},
    )
    fast_loops: bool = field(
        default=True,
        metadata={"env": "TFNB_FAST_LOOPS", "help": "0: all loops run node by node, by the general executor"},
    )
    cpus: str = field(
        default="",
        metadata={"env": "TFNB_CPUS", "help": "how many logical CPU devices a session has that does not say it"},
    )
    placement: str = field(
        default="",
        metadata={"env": "TFNB_PLACEMENT", "help": "GraphOptions.placement of a session that does not say it"},
    )
    keep_memory: bool = field(
        default=True,
        metadata={
            "env": "TFNB_KEEP_MEMORY",
            "help": "0: large arrays that host kernels free go back to the system at once (Linux)",
        },
    )
    guard: bool = field(
        default=False,
        metadata={
            "env": "TFNB_GUARD",
            "help": "1: look after each program whether a kernel wrote past the end of a tensor; slow, for tests",
        },
    )
    cluster_secret: str = field(
        default="",
        repr=False,
        metadata={
            "env": "TFNB_CLUSTER_SECRET",
            "help": "the text that the processes of a cluster must share, at least 16 characters; "
            "empty: on one machine a file that only the user can read",
        },
    )
    prepare: bool = field(
        default=True,
        metadata={
            "env": "TFNB_PREPARE",
            "help": "0: a notebook does not compile the kernels of typical models while its user types, which it does "
            "once on a machine",
        },
    )
    interpret: bool = field(
        default=True,
        metadata={
            "env": "TFNB_INTERPRET",
            "help": "0: the first step waits until all of its kernels are compiled; none is interpreted meanwhile",
        },
    )
    keep_source: str = field(
        default="",
        metadata={"env": "TFNB_KEEP_SOURCE", "help": "a folder that gets every generated OpenCL program"},
    )

    @property
    def cache_path(self) -> Path:
        return Path(self.cache_dir or _cache_root())

    @property
    def user_path(self) -> Path:
        """The user's folder, which is the same in all of his processes whatever TFNB_CACHE_DIR is."""
        return Path(_cache_root())


_FLAGS = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False, "": None}


def load_settings() -> Settings:
    """Returns the settings from the environment. Raises `InvalidArgumentError` for an invalid value."""
    values: dict[str, str | bool] = {}
    for f in fields(Settings):
        name = f.metadata["env"]
        text = os.environ.get(name)
        if text is None:
            continue
        if isinstance(f.default, bool):
            flag = _FLAGS.get(text.strip().lower(), "bad")
            if flag == "bad":
                raise InvalidArgumentError(f"{name} is {text!r}; needed 1 or 0. {f.metadata['help']}")
            if flag is not None:
                values[f.name] = bool(flag)
        else:
            values[f.name] = text
    return Settings(**values)  # type: ignore[arg-type]
