"""The page docs/accuracy.md: a table for each dtype, ours beside the peers', and the worst five rows of each library.

Invariant: of a function that was measured several times, the row over most numbers stands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from functions import ONE

__all__ = ["write_page"]

_SHOWN = ("tfnb", "tensorflow", "numpy", "torch")
_HEAD = """# Accuracy

Written by `make edges` (`scripts/edges/run.py`); do not edit. A cell is the largest error in units in the last place
(ulp) over all numbers of the row, as measured in one run with the same bits; a correctly rounded result has at most
0.5. The references are NumPy's and SciPy's functions in float64, and in long double for float64. SciPy has erf, erfc,
erfinv, ndtri, lgamma, digamma and the Bessel functions in float64 only: their rows for float64 say how far a library is
from SciPy, not from the truth.

"stride" tells which bit patterns of float32 were tried: 1 all 2^32, n each n-th, with the 200 neighbours on both sides
of some 100 edges in any case. All patterns of float16 and bfloat16 are tried. Functions of two numbers, and those of
float64, are tried on edges (all pairs of some 300) and on random numbers; "numbers" has the count. A result below the
smallest normal number may be 0, and of a subnormal operand the result of 0 is right as well
([decisions/subnormal-numbers.md](decisions/subnormal-numbers.md)).

After the figure: `N` a NaN was lost (it gave a number), `M` a number gave NaN, `S` a zero has the other sign. A dash:
the library does not have the function for the dtype.

Near a root of lgamma or digamma the result is the difference of large numbers, so errors in ulp are large there in all
libraries. PyTorch's hyperbolic functions end early, as TensorFlow's exp does, which shows as a large error.

"""


def _cell(found: dict[str, Any] | None) -> str:
    if found is None or "absent" in found:
        return "-"
    marks = "".join(
        m for m, kind in (("N", "NaN lost"), ("M", "NaN made"), ("S", "sign of zero")) if kind in found["faults"]
    )
    worst = found["worst"]
    text = f"{worst:.2f}" if worst < 100 else f"{worst:.1e}"
    return f"{text} {marks}".strip()


def _latest(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["dtype"], row["function"]
        if key not in found or found[key]["count"] <= row["count"]:
            found[key] = row
    return found


def write_page(page: Path, rows: list[dict[str, Any]], there: str) -> None:
    """Writes the page of these rows; `there` is the version of TensorFlow."""
    latest = _latest(rows)
    titles = {"tfnb": "tfnb", "tensorflow": f"TensorFlow {there}".strip(), "numpy": "NumPy, SciPy", "torch": "PyTorch"}
    parts = [_HEAD]
    head = " | ".join(titles[library] for library in _SHOWN)
    for dtype in ("float32", "float16", "bfloat16", "float64"):
        of_type = [row for (kind, _), row in latest.items() if kind == dtype]
        if not of_type:
            continue
        parts.append(f"## {dtype}\n\n| function | {head} | numbers | stride |\n|---{'|---' * (len(_SHOWN) + 2)}|\n")
        for row in of_type:
            cells = " | ".join(_cell(row.get(library)) for library in _SHOWN)
            stride = str(row["stride"]) if dtype == "float32" and row["function"] in ONE else ""
            parts.append(f"| {row['function']} | {cells} | {row['count']:,} | {stride} |\n")
        parts.append("\n")
    parts.append("## The worst five\n\n| dtype | library | functions |\n|---|---|---|\n")
    for dtype in ("float32", "float16", "bfloat16", "float64"):
        for library in _SHOWN:
            known = [
                (row[library]["worst"], name)
                for (kind, name), row in latest.items()
                if kind == dtype and "worst" in row.get(library, {})
            ]
            worst = ", ".join(f"{name} {error:.3g}" for error, name in sorted(known, reverse=True)[:5])
            if worst:
                parts.append(f"| {dtype} | {titles[library]} | {worst} |\n")
    page.write_text("".join(parts), encoding="utf-8")
