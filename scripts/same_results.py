"""Random programs run against two versions of tfnb: are the results equal to the bit?

    PYTHONPATH=OLD python scripts/same_results.py run old.jsonl --count 1000
    PYTHONPATH=NEW python scripts/same_results.py run new.jsonl --count 1000
    python scripts/same_results.py compare old.jsonl new.jsonl

`run` appends one line per program: the dtype, shape and SHA-256 of the bytes of each value that was fetched, or the
class of the error. Programs that the file already has are not run again, and `--part 0/2` and `--part 1/2` share the
work between two processes. `show NUMBER` runs one program and prints its values. Give each version a kernel cache of
its own by TFNB_CACHE_DIR. The programs use the public API alone and come from the checkout that this script is in, so
both versions run the same ones.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tfnb as tf

TESTS = Path(__file__).resolve().parents[1] / "tests"
FOLDERS = ("programs", "placement", "client/control_flow", "ops")
sys.path[:0] = [str(TESTS / folder) for folder in FOLDERS]
CASES_PER_PROGRAM = 4


class Recorder:
    """What a program gives, value by value, as text that is equal where the bits are equal."""

    def __init__(self, shows: bool = False) -> None:
        self.found: list[str] = []
        self._shows = shows

    def value(self, value: object) -> None:
        """Notes a fetched value, or the parts of a structure of values."""
        if isinstance(value, (list, tuple)):
            for part in value:
                self.value(part)
            return
        if value is None:
            return
        array = np.asarray(value)
        data = repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes()
        shape = ",".join(map(str, array.shape))
        self.found.append(f"{array.dtype}[{shape}]:{hashlib.sha256(data).hexdigest()[:24]}")
        if self._shows:
            sys.stdout.write(f"{self.found[-1]}\n{array!r}\n")

    def run(self, action: Callable[[], object]) -> None:
        """Notes what `action` returns, or the class of its error."""
        try:
            self.value(action())
        except Exception as error:
            self.found.append(f"error:{type(error).__name__}")
            if self._shows:
                sys.stdout.write(f"{type(error).__name__}: {error}\n")


def arrays(seed: int, config: tf.ConfigProto, note: Recorder, constant: bool = False) -> None:
    """Operations of all kinds over arrays, run twice."""
    program = importlib.import_module("random_arrays").Program(seed, constant)
    fetches = program.build()
    note.found.extend(f"refused:{name}" for name in program.errors)
    with tf.Session(config=config) as session:
        note.run(lambda: session.run(fetches, program.feeds))
        note.run(lambda: session.run(fetches, program.feeds))


def constants(seed: int, config: tf.ConfigProto, note: Recorder) -> None:
    """Operations over constants, which are computed by the host kernels."""
    arrays(seed, config, note, constant=True)


def steps(build: str) -> Callable[[int, tf.ConfigProto, Recorder], None]:
    """The programs of a function of random_training.py."""

    def go(seed: int, config: tf.ConfigProto, note: Recorder) -> None:
        built = getattr(importlib.import_module("random_training"), build)(seed)
        init = tf.global_variables_initializer()
        with tf.Session(config=config) as session:
            session.run(init)
            for feeds in built.steps:
                note.run(lambda feeds=feeds: session.run(built.fetches, feeds))  # type: ignore[misc]
            note.run(lambda: session.run(built.last))

    return go


def loops(seed: int, config: tf.ConfigProto, note: Recorder) -> None:
    """Nested loops, branches and arrays of tests/client/control_flow/random_loops.py, some with gradients."""
    made = importlib.import_module("random_loops")
    graph, fetches = (made.vectors(seed) if seed % 4 == 0 else made.mixed(seed, made.kinds_of(seed)))[:2]
    with tf.Session(graph=graph, config=config) as session:
        note.run(lambda: session.run(fetches))


def state(seed: int, config: tf.ConfigProto, note: Recorder) -> None:
    """Variables that are read and assigned in loops and branches."""
    note.run(lambda: importlib.import_module("random_state").computed(seed, config))


def parts(seed: int, config: tf.ConfigProto, note: Recorder) -> None:
    """The programs whose partitions are tested: control edges, state, branches, nested loops."""
    graph, fetches, init = importlib.import_module("random_programs").Build(seed).graph()
    with tf.Session(graph=graph, config=config) as session:
        session.run(init)
        note.run(lambda: [session.run(fetches), session.run(fetches)])


@cache
def _cases() -> list[Any]:
    """The cases of the catalogue of operations whose results are the same in every run.

    One file of cases imports more of tfnb than its public API, and is left out.
    """
    names = sorted(p.stem for p in (TESTS / "ops").rglob("cases_*.py"))
    sys.path[:0] = sorted({str(p.parent) for p in (TESTS / "ops").rglob("cases_*.py")})
    found = [c for n in names if n != "cases_examples" for c in importlib.import_module(n).CASES]
    both = [form for case in found for form in case.both_floats()]
    return [c for c in both if not tf.ops.CATALOG[c.op].stateful or c.attrs.get("seed")]


def operations(seed: int, config: tf.ConfigProto, note: Recorder) -> None:
    """Cases of the tests of single operations, with gradients by the inputs."""
    rng = random.Random(seed)
    for case in rng.sample(_cases(), CASES_PER_PROGRAM):
        feeds: dict[tf.Tensor, np.ndarray] = {}

        def tensor(value: object, fed: bool, feeds: dict[tf.Tensor, np.ndarray] = feeds) -> tf.Tensor:
            array = np.asarray(value)
            dtype = tf.as_dtype((array.dtype.metadata or {}).get("quantized", array.dtype))
            if not fed and not array.dtype.metadata:
                return tf.constant(array)
            x = tf.placeholder(dtype, array.shape)
            feeds[x] = array
            return x

        def go(case: Any = case, feeds: dict[tf.Tensor, np.ndarray] = feeds) -> list[tf.Tensor]:
            fed = [rng.random() < 0.7 for _ in case.inputs]
            given = [
                [tensor(y, f) for y in x] if isinstance(x, list) else tensor(x, f)
                for x, f in zip(case.inputs, fed, strict=True)
            ]
            made = tf.ops.CATALOG[case.op](*given, graph=tf.get_default_graph(), **case.attrs)
            outputs = list(made) if isinstance(made, (list, tuple)) else [made]
            with tf.Session(config=config) as session:
                note.run(lambda: session.run(outputs, feeds))
                sources = [x for x in feeds if x.dtype in (tf.float32, tf.float64)]
                ends = [y for y in outputs if y.dtype in (tf.float32, tf.float64)]
                found = [g for g in tf.gradients(ends, sources) if g is not None] if sources and ends else []
                note.found.append(f"{case.op} has {len(found)} gradients")
                return list(session.run(found, feeds)) if found else []

        note.run(go)


# Each family with its number of programs of 40: those that need few kernels to be compiled are more.
FAMILIES: dict[str, tuple[int, Callable[[int, tf.ConfigProto, Recorder], None]]] = {
    "arrays": (15, arrays),
    "windows": (1, steps("windows")),
    "training": (1, steps("training")),
    "draws": (1, steps("draws")),
    "loops": (1, loops),
    "state": (2, state),
    "parts": (1, parts),
    "operations": (8, operations),
    "constants": (10, constants),
}
ORDER = [name for name, (share, _) in FAMILIES.items() for _ in range(share)]


def run_program(number: int, seed: int, shows: bool = False) -> dict[str, Any]:
    """One line of results: which program, how it ran, and what it gave."""
    rng = random.Random(f"{seed} {number}")
    family, how = ORDER[number % len(ORDER)], rng.choice(["", "", "", "", "TFNB_OPTIMIZE", "TFNB_FAST_LOOPS", "dealt"])
    config, note = tf.ConfigProto(device_count={"CPU": 1}), Recorder(shows)
    if how == "dealt":  # to three devices at random
        config = tf.ConfigProto(device_count={"CPU": 3}, graph_options=tf.GraphOptions(placement=f"random:{number}"))
    elif how:
        os.environ[how] = "0"
    try:
        with tf.Graph().as_default():
            made = FAMILIES[family][1]
            note.run(lambda: made(rng.randrange(10**6), config, note))
    finally:
        if how.startswith("TFNB"):
            del os.environ[how]
    return {"program": number, "seed": seed, "family": family, "how": how, "results": note.found}


def read(path: Path) -> dict[int, dict[str, Any]]:
    """The lines of a file of results by the number of their program; a file that is not there has none."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {line["program"]: line for line in map(json.loads, lines)}


def run(out: Path, count: int, seed: int, part: str, only: Sequence[str] = ()) -> None:
    """Runs the programs of a part that `out` does not have yet, and adds a line to it for each.

    With `only` the programs of other families are left out.
    """
    first, step = (int(n) for n in part.split("/"))
    done, begin = read(out), time.monotonic()
    left = [n for n in range(first, count, step) if n not in done and (not only or ORDER[n % len(ORDER)] in only)]
    for k, number in enumerate(left, 1):
        line = run_program(number, seed)
        with out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if k % 25 == 0 or k == len(left):
            sys.stdout.write(f"{k} of {len(left)} programs in {time.monotonic() - begin:.0f} s\n")
            sys.stdout.flush()


def differences(a: dict[int, dict[str, Any]], b: dict[int, dict[str, Any]]) -> Iterator[str]:
    """A line of text for each program that does not give the same in both."""
    for number in sorted(a.keys() | b.keys()):
        one, other = a.get(number), b.get(number)
        if one is None or other is None:
            yield f"program {number} is missing in {'the first' if one is None else 'the second'} file"
        elif one != other:
            pairs = list(zip(one["results"], other["results"], strict=False))
            apart = [f"  {k}: {x} | {y}" for k, (x, y) in enumerate(pairs) if x != y]
            counts = f"{len(one['results'])} and {len(other['results'])} results"
            yield "\n".join([f"program {number} ({one['family']} {one['how']}), {counts}:", *apart])


def compare(a: Path, b: Path) -> int:
    """Prints which programs differ; gives their number."""
    one, other = read(a), read(b)
    found = list(differences(one, other))
    values = sum(len(line["results"]) for line in one.values())
    errors = sum(r.startswith("error:") for line in one.values() for r in line["results"])
    sys.stdout.write("".join(f"{text}\n" for text in found))
    sys.stdout.write(f"{len(one)} and {len(other)} programs, {values} results ({errors} errors), {len(found)} differ\n")
    return len(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run programs and write what they give")
    running.add_argument("out", type=Path)
    running.add_argument("--count", type=int, default=1000)
    running.add_argument("--part", default="0/1")
    running.add_argument("--only", nargs="*", default=(), choices=FAMILIES, help="families; all, if none is named")
    showing = commands.add_parser("show", help="run one program and print its values")
    showing.add_argument("number", type=int)
    for command in (running, showing):
        command.add_argument("--seed", type=int, default=0)
    comparing = commands.add_parser("compare", help="list the programs that differ; exit with 1 if there are any")
    comparing.add_argument("files", type=Path, nargs=2)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.command == "compare":
        return 1 if compare(*asked.files) else 0
    if asked.command == "show":
        sys.stdout.write(f"{run_program(asked.number, asked.seed, shows=True)}\n")
    else:
        run(asked.out, asked.count, asked.seed, asked.part, asked.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
