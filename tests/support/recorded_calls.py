"""The calls of functions of tfnb that a piece of a program makes, in order. This module imports nothing of tfnb."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Call(NamedTuple):
    """A call that a run has made: the path and first line of the function, and the file that called it.

    caller: that of the nearest function of tfnb above; None where only the user's code is above.
    """

    path: str
    name: str
    line: int
    caller: str | None


@cache
def path_of(file: str) -> str | None:
    """The path of a source file in this repository; None outside tfnb."""
    return Path(file).relative_to(ROOT).as_posix() if Path(file).is_relative_to(ROOT / "tfnb") else None


def calls_of(run: Callable[[], object]) -> list[Call]:
    """The calls of functions of tfnb that `run()` makes in this thread, in order."""
    calls: list[Call] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or (path := path_of(code.co_filename)) is None:
            return
        above = frame.f_back
        while above is not None and path_of(above.f_code.co_filename) is None:
            above = above.f_back
        caller = None if above is None else path_of(above.f_code.co_filename)
        calls.append(Call(path, code.co_name, code.co_firstlineno, caller))

    gc.collect()  # or else what earlier tests have dropped may be freed, and call something, in the middle
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


def calls_in_a_new_process(program: str, paths: Collection[str]) -> list[Call]:
    """The calls of functions in the files `paths` that a program of one line makes in a new process."""
    code = f"""
import json, sys
sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]
from recorded_calls import calls_of
calls = calls_of(lambda: exec({program!r}))
print(json.dumps([call for call in calls if call.path in {set(paths)!r}]))
"""
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    return [Call(*values) for values in json.loads(printed.splitlines()[-1])]
