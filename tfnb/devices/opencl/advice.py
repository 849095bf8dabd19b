"""What to do where OpenCL cannot be used, in the words of every error that says so.

Invariant: nothing of OpenCL is imported, so that this can be said where it is missing.
"""

from __future__ import annotations

import shlex
import sys
from importlib import metadata
from pathlib import Path

__all__ = ["pocl_command", "with_advice"]


def pocl_command() -> str:
    """Returns the command that installs PoCL, which runs on any CPU, for this Python.

    In an environment of conda PoCL is a package of its own; the one from pip would bring a second loader.
    """
    if Path(sys.prefix, "conda-meta").is_dir():
        return "conda install -c conda-forge pyopencl pocl"
    pip = [sys.executable or "python", "-m", "pip", "install"]
    try:
        metadata.version("pyopencl")
    except metadata.PackageNotFoundError:
        return shlex.join([*pip, "pyopencl[pocl]"])
    return shlex.join([*pip, "--force-reinstall", "--no-deps", "pyopencl", "pocl-binary-distribution"])


def with_advice(fault: str, command: str = "") -> str:
    """Returns a message of three lines: what is wrong, the command that helps, and where to look for the cause.

    command: by default the one that installs PoCL.
    """
    helps = command or f"PoCL runs on any CPU: {pocl_command()}"
    return f"{fault}\n{helps}\n`tfnb doctor opencl` looks for the cause"
