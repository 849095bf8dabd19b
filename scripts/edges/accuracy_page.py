"""The page docs/accuracy.md: the worst five functions of each library, and a table for each dtype, ours beside theirs.

The page is also where former figures are read from. Invariant: reading what was written and writing it again changes
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from functions import ONE, TWO

__all__ = ["figures", "Row", "read_page", "write_page"]

Row = dict[str, Any]

_SHOWN = ("tfnb", "tensorflow", "numpy", "torch")
_DTYPES = ("float32", "float16", "bfloat16", "float64")
GRADIENT = "gradient:"
_PEERS = _SHOWN[1:]
_MARKS = {"N": "NaN lost", "M": "NaN made", "S": "sign of zero"}
_HEAD = """# Accuracy

Written by `make edges` (`scripts/edges/run.py`); do not edit. A figure is the largest error in units in the last place
(ulp) over all numbers of the row; a correctly rounded result has at most 0.5. The peers of a row were measured in one
run with the same bits; tfnb may have been measured on more of them, at another time.

"""
_NOTES = """\
The references are glibc's functions of doubles, and of long doubles for float64. (Where there is no gcc, they are
NumPy's and SciPy's.) erfinv and ndtri are Halley's method on them. digamma and the Bessel functions are SciPy's, with
doubles, so their rows of float64 say how far a library is from SciPy. So do the peers' figures of erf, erfc, erfinv,
ndtri and lgamma with some 256,000 numbers, which are of an earlier version.

In brackets, for float32, is the stride of the bit patterns that were tried: 1 all 2^32, n each n-th, with the 200
neighbours on both sides of some 100 edges in any case. All patterns of float16 and bfloat16 are tried. Functions of two
numbers, and those of float64, are tried on edges (all pairs of some 300) and on random numbers. "numbers" has the count
of those tried here. A result below the smallest normal number may be 0, and of a subnormal operand the result of 0 is
right as well ([decisions/subnormal-numbers.md](decisions/subnormal-numbers.md)).

After the figure: `N` a NaN was lost (it gave a number), `M` a number gave NaN, `S` a zero has the other sign. A dash:
the library does not have the function for the dtype.

The same bits come out of an element alone, in vectors and tails of every length up to 67, and of a function that is
fused into a chain (`tests/strangers/test_edges.py`).

Near a root of lgamma the result is the difference of large numbers, so errors in ulp are large there in all libraries.
PyTorch's hyperbolic functions end early, as TensorFlow's exp does, which shows as a large error. sigmoid is 1 / (1 +
exp(-x)); in NumPy and PyTorch the sum may lose half a unit that the quotient doubles.

"""
_GRADIENTS = """# Gradients

The same, of the gradient of each function beside the exact derivative. Those of tanh, sigmoid, erf and others are large
where they are nearly 0: as in TensorFlow they are computed of the function's rounded value, as 1 - y^2, or of the
rounded square of x. Functions that choose by a comparison (relu) have a gradient at NaN, as in TensorFlow.

"""


def figures(worst: float, faults: dict[str, int]) -> dict[str, Any]:
    """Returns the figures of one library: its largest error, and a letter for each kind of fault."""
    return {"worst": worst, "marks": "".join(letter for letter, kind in _MARKS.items() if kind in faults)}


def _number(worst: float) -> str:
    return f"{worst:.2f}" if worst < 100 else f"{worst:.1e}"


def _cell(found: dict[str, Any] | None) -> str:
    return f"{_number(found['worst'])} {found['marks']}".strip() if found and "worst" in found else "-"


def _count(found: dict[str, Any] | None, strides: bool) -> str:
    if not found or "worst" not in found:
        return ""
    return f"{found['count']:,}" + (f" ({found['stride']})" if strides else "")


def read_page(page: Path) -> dict[tuple[str, str], Row]:
    """Returns the figures of a page by dtype and function, then by library; a page that does not exist has none."""
    rows: dict[tuple[str, str], Row] = {}
    dtype, gradient = "", ""
    for line in page.read_text(encoding="utf-8").splitlines() if page.exists() else ():
        if line.startswith("## "):
            title = line.removeprefix("## ").split(", ")
            dtype, gradient = title[-1], GRADIENT if len(title) > 1 else ""
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not dtype or len(cells) != len(_SHOWN) + 3 or not re.match(r"[\d.]+|-$", cells[1]):
            continue
        counts = dict(zip(_SHOWN, [cells[-2], *[cells[-1]] * len(_PEERS)], strict=True))
        row: Row = {}
        for library, cell in zip(_SHOWN, cells[1:], strict=False):
            if cell != "-":
                worst, _, marks = cell.partition(" ")
                count, _, stride = counts[library].partition(" (")
                row[library] = {"worst": float(worst), "marks": marks, "count": int(count.replace(",", ""))}
                row[library]["stride"] = int(stride.rstrip(")") or 1)
        rows[dtype, gradient + cells[0]] = row
    return rows


def _worst_five(rows: dict[tuple[str, str], Row], titles: dict[str, str]) -> Iterator[str]:
    yield "| dtype | library | functions |\n|---|---|---|\n"
    for dtype in _DTYPES:
        for library in _SHOWN:
            known = [
                (row[library]["worst"], name)
                for (kind, name), row in rows.items()
                if kind == dtype and not name.startswith(GRADIENT) and "worst" in row.get(library, {})
            ]
            worst = ", ".join(f"{name} {_number(error)}" for error, name in sorted(known, reverse=True)[:5])
            if worst:
                yield f"| {dtype} | {titles[library]} | {worst} |\n"


def _table(rows: dict[str, Row], head: str, dtype: str) -> Iterator[str]:
    yield f"| function | {head} | numbers | peers' numbers |\n|---{'|---' * (len(_SHOWN) + 2)}|\n"
    for name, row in rows.items():
        cells = " | ".join(_cell(row.get(library)) for library in _SHOWN)
        strides = dtype == "float32" and name not in TWO
        theirs = next((_count(row.get(p), strides) for p in _PEERS if _count(row.get(p), strides)), "")
        yield f"| {name.removeprefix(GRADIENT)} | {cells} | {_count(row.get('tfnb'), strides)} | {theirs} |\n"
    yield "\n"


def write_page(page: Path, rows: dict[tuple[str, str], Row], there: str) -> None:
    """Writes the page of these rows; `there` is the version of TensorFlow, or empty for that of the page."""
    if not there and page.exists():
        told = re.search(r"TensorFlow (\d[.\d]*)", page.read_text(encoding="utf-8"))
        there = told[1] if told else ""
    titles = {"tfnb": "tfnb", "tensorflow": f"TensorFlow {there}".strip(), "numpy": "NumPy, SciPy", "torch": "PyTorch"}
    head = " | ".join(titles[library] for library in _SHOWN)
    order = {name: k for k, name in enumerate([*ONE, *TWO])}
    names = sorted({name for _, name in rows}, key=lambda name: order.get(name.removeprefix(GRADIENT), len(order)))
    parts = [_HEAD, "The worst five functions, with their errors in ulp:\n\n", *_worst_five(rows, titles), "\n", _NOTES]
    for title in ("", "Gradients, "):
        if title and any(name.startswith(GRADIENT) for name in names):
            parts.append(_GRADIENTS)
        for dtype in _DTYPES:
            chosen = [name for name in names if name.startswith(GRADIENT) == bool(title) and (dtype, name) in rows]
            if chosen:
                parts += [f"## {title}{dtype}\n\n", *_table({name: rows[dtype, name] for name in chosen}, head, dtype)]
    page.write_text("".join(parts).rstrip() + "\n", encoding="utf-8")
