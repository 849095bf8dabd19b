"""The check of environment variables: those that tfnb reads, and those by which PoCL and NumPy use fewer cores.

Invariant: only these variables are read, and the cluster's secret not even that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields

from tfnb.doctor.records import Record, unset
from tfnb.errors import InvalidArgumentError
from tfnb.settings import Settings, load_settings
from tfnb.suggestions import did_you_mean

__all__ = ["check"]

# Variables of the tests and of continuous integration.
_OF_TESTS = frozenset(("TFNB_STRANGERS", "TFNB_GESTURES", "TFNB_FILMS"))
# How many threads may run what there is to do on the CPU, and what that is.
_THREADS = {
    "POCL_MAX_PTHREAD_COUNT": "kernels",
    "OMP_NUM_THREADS": "NumPy",
    "OPENBLAS_NUM_THREADS": "NumPy",
    "MKL_NUM_THREADS": "NumPy",
}


def check(fix: bool) -> Iterator[Record]:
    """Yields a record for each variable with an invalid value, a name that nothing reads, or an effect to know of."""
    found = [*_own_variables(os.environ), *_affinity(os.environ), *_threads(os.environ)]
    yield from found
    if not found:
        yield Record("environment", "ok", "no variable is set that slows tfnb down or is not understood")


def _own_variables(variables: Mapping[str, str]) -> Iterator[Record]:
    known = {f.metadata["env"]: f for f in fields(Settings)}
    for name in sorted(variables):
        if name.startswith("TFNB_") and name not in known and name not in _OF_TESTS:
            yield Record(
                "environment", "warning", f"{name} is set, which nothing reads{did_you_mean(name, known)}", unset(name)
            )
    try:
        settings = load_settings()
    except InvalidArgumentError as error:
        name = str(error).partition(" ")[0]
        yield Record("environment", "wrong", str(error), unset(name))
        return
    for name, field in known.items():
        value = getattr(settings, field.name)
        if isinstance(value, bool) and value != field.default and field.name != "quiet":
            yield Record("environment", "warning", f"{name} is set to {field.metadata['help']}", unset(name))


def _affinity(variables: Mapping[str, str]) -> Iterator[Record]:
    """PoCL pins thread i to core i, and aborts the process where there is no such core."""
    threads, cores = variables.get("POCL_MAX_PTHREAD_COUNT", ""), os.cpu_count() or 1
    if variables.get("POCL_AFFINITY", "0") != "0" and threads.isdigit() and int(threads) > cores:
        yield Record(
            "environment",
            "wrong",
            f"POCL_AFFINITY pins {threads} threads to {cores} cores, and PoCL aborts the process at the first step",
            unset("POCL_AFFINITY"),
        )


def _threads(variables: Mapping[str, str]) -> Iterator[Record]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for name, what in _THREADS.items():
        text = variables.get(name, "")
        if text.isdigit() and 0 < int(text) < cores:
            yield Record(
                "environment", "warning", f"{name} is {text}, so {what} uses {text} of {cores} cores", unset(name)
            )
