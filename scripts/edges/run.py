"""Measures elementwise functions at every edge, here and in the peers, and writes docs/accuracy.md.

    python scripts/edges/run.py [--there 1.15.5=PYTHON] [--torch PYTHON] [--dtypes float32 ...] [--only exp,log]

Each library computes in a process of its own (child.py). tfnb is measured on all 2^32 patterns of float32, which takes
a minute or two for each function, the peers on each `--peers_stride`th; with 0 they are not asked. The page is what is
known: a run replaces the figures that it measures in it and keeps the others. Invariant: the figures of peers in a row
are of one run over the same numbers.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from accuracy_page import Row, figures, read_page, write_page
from functions import ONE, TWO, reference
from gradients import SLOPES
from measure import FORMATS, Format, summary
from native import Comparison
from patterns import blocks, pair_blocks, random_blocks
from peers import Peer, Places

__all__ = ["main", "measured"]

ROOT = Path(__file__).resolve().parents[2]
PART = 1 << 16  # elements that are compared at a time, so that all that is known of them stays in a processor's cache


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


def measured(peers: dict[str, Peer], places: Places, name: str, dtype: str, stride: int, count: int) -> Row:
    """Measures one function in these libraries; returns the figures of each, and how long it took."""
    form = FORMATS[dtype]
    found = {library: Comparison(name, form, reference(name, form)) for library in peers}
    absent: dict[str, str] = {}
    asked: list[tuple[int, list[np.ndarray], list[str]]] = []
    start = time.perf_counter()

    def finish() -> None:
        place, operands, libraries = asked.pop()
        n = len(operands[0])
        answers = {library: peers[library].answer(form, place, n) for library in libraries}
        absent.update({library: got for library, got in answers.items() if isinstance(got, str)})
        results = {library: got for library, got in answers.items() if not isinstance(got, str)}
        comparisons = [found[library] for library in results]
        for k in range(0, n if results else 0, PART):
            parts = [got[k : k + PART] for got in results.values()]
            comparisons[0].add([bits[k : k + PART] for bits in operands], parts, comparisons[1:])

    for number, operands in enumerate(_operands(name, form, stride, count)):
        place = number % 2
        at = places.put(place, operands)
        libraries = [library for library in peers if library not in absent]
        for library in libraries:
            peers[library].ask(name, form, place, at, len(operands[0]))
        asked.insert(0, (place, operands, libraries))
        if len(asked) > 1:
            finish()
        if len(absent) == len(peers):
            break
    while asked:
        finish()
    row: Row = {"seconds": round(time.perf_counter() - start, 1)}
    for library, comparison in found.items():
        f = comparison.found
        row[library] = {"absent": absent[library]} if library in absent else figures(f.worst, f.faults)
        row[library] |= {"count": f.count, "stride": stride if dtype == "float32" and name not in TWO else 1}
        row[library] |= {"text": summary(f, form)}
    return row


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--there", default="", help="VERSION=PYTHON: an interpreter that has this TensorFlow 1.x")
    parser.add_argument("--torch", default="", help="an interpreter that has PyTorch")
    parser.add_argument("--dtypes", nargs="*", default=list(FORMATS), choices=list(FORMATS))
    parser.add_argument("--only", default="", help="names of functions, with commas between")
    parser.add_argument("--stride", type=int, default=1, help="each how manieth pattern of float32 is tried")
    parser.add_argument("--peers_stride", type=int, default=17, help="the same for peers; 0: they are not asked")
    parser.add_argument("--random", type=int, default=10**8, help="how many random operands, for float64 and for pairs")
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
    if not arguments.peers_stride:
        del pythons["numpy"]
    places = Places(len(pythons))
    peers = {library: Peer(library, python, places, number) for number, (library, python) in enumerate(pythons.items())}
    ours, theirs = {"tfnb": peers.pop("tfnb")}, peers
    page = Path(arguments.page)
    every = [*ONE, *TWO, *(f"gradient:{name}" for name in SLOPES)]
    names = arguments.only.split(",") if arguments.only else every
    for dtype in arguments.dtypes:
        for name in names:
            if (dtype, name) == ("float64", "gradient:digamma"):
                continue  # in TensorFlow it never ends for large negative numbers
            row = measured(ours, places, name, dtype, arguments.stride, arguments.random)
            told = row["tfnb"]
            print(dtype, name, told["count"], "in", row["seconds"], "s:", told.get("absent", told["text"]), flush=True)
            if theirs:
                row |= measured(theirs, places, name, dtype, arguments.peers_stride, arguments.random)
            rows = read_page(page)
            rows.setdefault((dtype, name), {}).update(row)
            write_page(page, rows, arguments.there.partition("=")[0])
    for peer in (*ours.values(), *theirs.values()):
        peer.close()
    places.close()


if __name__ == "__main__":
    main()
