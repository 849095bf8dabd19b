"""The checks there are, and how one is run: here, or in a process of its own.

A check that needs a library of others or a driver runs apart: the child writes a line of JSON for each record as soon
as it has it, so that a crash or a limit of time loses only what comes later. Invariant: a check ends in records,
whatever happens in it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

from tfnb.doctor.records import Record, pip_install
from tfnb.doctor.requirements import requirement_for
from tfnb.errors import InvalidArgumentError

__all__ = ["CHECKS", "Check", "records_here", "records_of"]

_SECONDS = 120.0  # for one check; compiling a kernel takes about one on an idle machine
_KEEPS_NOTHING = {"PYOPENCL_NO_CACHE": "1"}  # else pyopencl writes files of its own into the user's cache
_END = "end"  # what a child writes after its last record


class Check(NamedTuple):
    """A check: its name, what it looks at, its module, whether it runs apart, and what helps where it breaks."""

    name: str
    summary: str
    module: str
    apart: bool = False
    remedy: str = ""


CHECKS = {
    check.name: check
    for check in (
        Check("python", "the version of Python, and how tfnb is installed in it", "tfnb.doctor.python"),
        Check("packages", "versions of the packages that tfnb needs; imports them", "tfnb.doctor.packages", True),
        Check("environment", "variables that change what tfnb and PoCL do", "tfnb.doctor.environment"),
        Check("memory", "memory that this process may have", "tfnb.doctor.memory"),
        Check("cache", "the folder of compiled kernels: writable, free disk, damaged entries", "tfnb.doctor.cache"),
        Check(
            "opencl",
            "loader, drivers, devices; compiles a kernel for each and runs it",
            "tfnb.doctor.opencl",
            True,
            pip_install("--force-reinstall", "--no-deps", "pyopencl", "pocl-binary-distribution"),
        ),
        Check(
            "frontend",
            "what the browser runs: built, enabled in JupyterLab and its server, of this version",
            "tfnb.doctor.frontend",
            True,
            pip_install("--force-reinstall", "--no-deps", "jupyterlab", "jupyterlab_server", "jupyter_server"),
        ),
        Check(
            "dask",
            "a scheduler, a worker and a client on loopback",
            "tfnb.doctor.dask",
            True,
            pip_install("--upgrade", "dask", "distributed"),
        ),
    )
}


def records_of(check: Check, fix: bool) -> list[Record]:
    """Runs a check and returns what it finds."""
    return _records_apart(check, fix) if check.apart else list(records_here(check, fix))


def records_here(check: Check, fix: bool) -> Iterator[Record]:
    """Runs a check in this process, and yields what it finds; an error that it raises is a record."""
    try:
        yield from import_module(check.module).check(fix)
    except ImportError as error:
        module = error.name or ""
        command = pip_install("--upgrade", requirement_for(module)) if module else check.remedy
        yield Record(check.name, "wrong", f"{module or 'a package'} cannot be imported: {error}", command)
    except InvalidArgumentError as error:  # of a setting, which every check reads
        yield Record(check.name, "wrong", str(error), "tfnb doctor environment")
    except Exception as error:
        hint = "" if check.remedy else "; no command is known that mends this, please report it"
        yield Record(check.name, "wrong", f"{type(error).__name__}: {error}{hint}", check.remedy)


def child(name: str, fix: bool) -> None:
    """What a child does: runs the check of this name, and writes its records to the standard output."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # what libraries print is no record
        for record in records_here(CHECKS[name], fix):
            out.write(json.dumps(record.as_dict()) + "\n")
            out.flush()
        out.write(json.dumps(_END) + "\n")


def _records_apart(check: Check, fix: bool) -> list[Record]:
    # The child finds the same modules as this process, whatever the folder is in which it starts.
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; from tfnb.doctor.checks import child; child({check.name!r}, {fix!r})"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **_KEEPS_NOTHING},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        out, err, status = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as stopped:
        out, err, status = stopped.stdout or b"", stopped.stderr or b"", None
    told = [json.loads(line) for line in out.decode(errors="replace").splitlines() if line.endswith(("}", '"'))]
    records = [Record(**fields) for fields in told if fields != _END]
    if told[-1:] != [_END]:
        records.append(Record(check.name, "wrong", _how_it_ended(status, err), check.remedy))
    return records


def _how_it_ended(status: int | None, err: bytes) -> str:
    """Says how a child ended that did not come to its end, with the last thing that it wrote."""
    if status is None:
        how = f"it gave no answer within {_SECONDS:.0f} seconds"
    elif status < 0:
        how = f"its process was ended by {signal.Signals(-status).name}"
    else:
        how = f"its process ended with status {status}"
    lines = [line for line in err.decode(errors="replace").splitlines() if line.strip()]
    return f"{how}: {lines[-1].strip()[:200]}" if lines else how
