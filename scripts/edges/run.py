"""Measures elementwise functions at every edge, here and in the peers, and writes docs/accuracy.md.

    python scripts/edges/run.py [--there 1.15.5=PYTHON] [--torch PYTHON] [--dtypes float32 ...] [--only exp,log]

Each library computes in a process of its own (child.py) and gets the same blocks of bits. With `--stride 1`, the
default, float32 is measured on all 2^32 patterns, which takes minutes for each function; `--state FILE` keeps what has
been measured, so that runs add up, and with `--only ""` and `--dtypes` without a value the page is written of it.
Invariant: a row holds figures of one run over the same numbers only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from functions import ONE, TWO, exact
from measure import FORMATS, Format, Found, compare, summary
from patterns import blocks, pair_blocks, random_blocks
from report import write_page

__all__ = ["Peer", "main", "measured"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Peer:
    """A library in a process of its own."""

    def __init__(self, library: str, python: str) -> None:
        self.process = subprocess.Popen(
            [python, str(HERE / "child.py"), library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )

    def compute(self, name: str, dtype: str, operands: list[np.ndarray]) -> np.ndarray | str:
        """Returns the result's bits (bools as float64), or why there is none."""
        send, receive = cast(IO[bytes], self.process.stdin), cast(IO[bytes], self.process.stdout)
        n = len(operands[0])
        send.write(json.dumps({"function": name, "dtype": dtype, "n": n, "operands": len(operands)}).encode() + b"\n")
        for bits in operands:
            send.write(bits.tobytes())
        send.flush()
        head = json.loads(receive.readline())
        if "error" in head:
            return str(head["error"])
        data, form = receive.read(head["bytes"]), FORMATS[dtype]
        if len(data) == n:
            return np.frombuffer(data, np.bool_).astype(np.float64)
        return form.values(np.frombuffer(data, form.word))

    def close(self) -> None:
        """Ends the process."""
        cast(IO[bytes], self.process.stdin).close()
        self.process.wait()


def _operands(name: str, form: Format, stride: int, count: int) -> Iterator[list[np.ndarray]]:
    """All numbers on which a function is measured."""
    if name in TWO:
        yield from pair_blocks(form)
        yield from random_blocks(form, count, 2)
    elif form.name == "float64":
        yield from ([bits] for bits in blocks_of_doubles(form))
        yield from random_blocks(form, count, 1)
    else:
        yield from ([bits] for bits in blocks(form, 1 if form.digits < 23 else stride))


def blocks_of_doubles(form: Format) -> Iterator[np.ndarray]:
    """The neighbourhoods of edges."""
    yield next(iter(blocks(form, 1 << 62)))


def measured(peers: dict[str, Peer], name: str, dtype: str, stride: int, count: int) -> dict[str, Any]:
    """Measures one function in all libraries; returns a row of the table."""
    form = FORMATS[dtype]
    found: dict[str, Found] = {library: Found() for library in peers}
    absent: dict[str, str] = {}
    start = time.perf_counter()
    for operands in _operands(name, form, stride, count):
        want, zeroed = exact(name, form, operands)
        for library, peer in peers.items():
            if library not in absent:
                got = peer.compute(name, dtype, operands)
                if isinstance(got, str):
                    absent[library] = got
                else:
                    compare(found[library], operands, got, want, zeroed, form)
    row: dict[str, Any] = {"function": name, "dtype": dtype, "stride": stride if dtype == "float32" else 1}
    row["count"] = next(f.count for library, f in found.items() if library == "tfnb")
    row["seconds"] = round(time.perf_counter() - start, 1)
    for library, f in found.items():
        row[library] = (
            {"absent": absent[library]}
            if library in absent
            else {"worst": f.worst, "faults": f.faults, "zeroed": f.zeroed, "kept": f.kept, "text": summary(f, form)}
        )
    return row


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--there", default="", help="VERSION=PYTHON: an interpreter that has this TensorFlow 1.x")
    parser.add_argument("--torch", default="", help="an interpreter that has PyTorch")
    parser.add_argument("--dtypes", nargs="*", default=list(FORMATS), choices=list(FORMATS))
    parser.add_argument("--only", default="", help="names of functions, with commas between")
    parser.add_argument("--stride", type=int, default=1, help="each how manieth pattern of float32 is tried")
    parser.add_argument("--random", type=int, default=10**8, help="how many random operands, for float64 and for pairs")
    parser.add_argument("--state", default="", help="a file of rows that were measured before; new ones are added")
    parser.add_argument("--page", default=str(ROOT / "docs" / "accuracy.md"))
    return parser.parse_args()


def main() -> None:
    """Measures what the arguments say and writes the page."""
    arguments = _arguments()
    pythons = {"tfnb": sys.executable, "numpy": sys.executable}
    if arguments.there:
        pythons["tensorflow"] = arguments.there.partition("=")[2]
    if arguments.torch:
        pythons["torch"] = arguments.torch
    peers = {library: Peer(library, python) for library, python in pythons.items()}
    state = Path(arguments.state) if arguments.state else None
    rows = [json.loads(line) for line in state.read_text().splitlines()] if state and state.exists() else []
    names = arguments.only.split(",") if arguments.only else [*ONE, *TWO]
    for dtype in arguments.dtypes:
        for name in names:
            row = measured(peers, name, dtype, arguments.stride, arguments.random)
            sys.stdout.write(
                f"{dtype} {name} {row['count']} in {row['seconds']} s: {row['tfnb'].get('text', 'absent')}\n"
            )
            sys.stdout.flush()
            rows.append(row)
            if state:
                with state.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    for peer in peers.values():
        peer.close()
    write_page(Path(arguments.page), rows, arguments.there.partition("=")[0])


if __name__ == "__main__":
    main()
