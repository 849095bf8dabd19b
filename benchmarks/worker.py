"""One system in a process of its own: builds a program on request and times rounds of steps.

Reads lines `make NAME` (`make op:NAME:SIZE` for an op of the table) and `round N` from standard input; answers with
one line of JSON each.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import Any

from benchmarks.ops import make_op
from benchmarks.programs import PROGRAMS
from benchmarks.tables import TABLES


def _system(name: str) -> Any:
    if name == "tfnb":
        import tfnb

        return tfnb
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # its recurrent cells need it
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


def main() -> None:
    tf = _system(sys.argv[1])
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
            else:
                step = next(p for p in (*PROGRAMS, *TABLES) if p.name == argument).make(tf)
            step()
            answer: dict[str, Any] = {"seconds": time.perf_counter() - start}
        else:
            times = []
            for _ in range(int(argument)):
                begin = time.perf_counter()
                step()
                times.append(time.perf_counter() - begin)
            answer = {"median": statistics.median(times), "best": min(times)}
        print(json.dumps(answer), file=out)


if __name__ == "__main__":
    main()
