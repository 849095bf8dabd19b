"""Processes of tfnb's own that work for this one: second copies of this Python that run a module of the package.

Invariant: a child ends with its parent. It is killed when Python ends; if the parent is killed, the input of the child
ends, at which it has to end itself. A child runs no file of the folder in which the user works.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tfnb.system import process_end

__all__ = ["start_child"]

# Python looks for modules in the present folder first, where a stranger's notebook may lie beside a file `select.py`.
_RUN = (
    "import sys; root, module = sys.argv[1:3]; sys.path[:1] = filter(None, sys.path[:1]); sys.path.append(root); "
    "del sys.argv[1:3]; import runpy; runpy.run_module(module, run_name='__main__')"
)
_ROOT = str(Path(__file__).resolve().parents[2])  # the folder of the package
_lock = threading.Lock()
_children: list[tuple[int, subprocess.Popen[bytes]]] = []  # each with the id of its parent


def start_child(
    module: str, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes] | None:
    """Starts Python with a module of the package, its arguments, and variables beside those of this process.

    The child has a pipe as its input and no output, and signals to the group of this process do not reach it. Returns
    None if it cannot be started: Python is ending, is part of a program that does not know its executable, or the
    system refuses.
    """
    if process_end.has_begun or not sys.executable:
        return None
    try:
        child = subprocess.Popen(
            [sys.executable, "-c", _RUN, _ROOT, module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    except OSError:
        return None
    with _lock:
        for parent, other in _children.copy():
            if other.poll() is not None:
                _children.remove((parent, other))
                _close(other)
        _children.append((os.getpid(), child))
    return child


def _close(child: subprocess.Popen[bytes]) -> None:
    if child.stdin is not None:
        child.stdin.close()


def _end() -> None:
    for parent, child in _children:
        if parent == os.getpid():  # else this is a fork, and the child its parent's
            child.kill()
            child.wait()
            _close(child)
    _children.clear()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
