"""One system in a process of its own: builds a program on request and times rounds of steps.

Reads lines from standard input and answers with one line of JSON each: `make NAME` (`make op:NAME:SIZE` for an op of
the table, `make shapes:NAME` for a program of changing shapes), `round N` for N equal steps, and `steps A B` for the
steps of a program of changing shapes with the shapes A to B - 1, whose last result's sum is answered too.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.ops import make_op
from benchmarks.programs import PROGRAMS
from benchmarks.shape_programs import SHAPE_PROGRAMS
from benchmarks.tables import TABLES


def load_system(name: str) -> Any:
    if name == "tfnb":
        import tfnb

        return tfnb
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")  # its best, which is off by default on many processors
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # its recurrent cells need it
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


def _timed(step: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds and the result of a step."""
    begin = time.perf_counter()
    result = step()
    return time.perf_counter() - begin, result


def _sum(result: Any) -> float:
    """The sum of all fetched numbers, by which systems can be compared."""
    fetched = result if isinstance(result, list) else [result]
    return float(sum(np.sum(value, dtype=np.float64) for value in fetched if value is not None))


def main() -> None:
    tf = load_system(sys.argv[1])
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the system prints goes to standard error
    step: Any = None
    for line in sys.stdin:
        verb, _, argument = line.strip().partition(" ")
        start = time.perf_counter()
        if verb == "make":
            tf.reset_default_graph()
            kind, _, rest = argument.partition(":")
            if kind == "op":
                step = make_op(tf, *rest.split(":"))
            elif kind == "shapes":
                step = next(p for p in SHAPE_PROGRAMS if p.name == rest).make(tf)
            else:
                step = next(p for p in (*PROGRAMS, *TABLES) if p.name == argument).make(tf)
            if kind != "shapes":
                step()
            answer: dict[str, Any] = {"seconds": time.perf_counter() - start}
        elif verb == "steps":
            timed = [_timed(partial(step, n)) for n in range(*map(int, argument.split()))]
            answer = {"times": [seconds for seconds, _ in timed], "sum": _sum(timed[-1][1])}
        else:
            times = [_timed(step)[0] for _ in range(int(argument))]
            answer = {"median": statistics.median(times), "best": min(times)}
        print(json.dumps(answer), file=out)


if __name__ == "__main__":
    main()
