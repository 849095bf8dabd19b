"""Compares what two systems made of the same files: `python compare.py THERE.jsonl HERE.jsonl [--list N]`.

A file is *equal* if all its results are (pictures to the bit, numbers to 1e-4), *refused* if both refuse it or its
results, *beyond* if only the first refuses. Anything else is *different*, and is listed. Of JPEG files the accurate
transform is compared to the bit, what a smaller picture or the fast transform gives within some levels, and what is
scaled up otherwise by its shape alone.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

LEVELS = 20  # by which the fast transform of JPEG is off the accurate one
TOLERANCE = 1e-4


def is_error(result: Any) -> bool:
    return isinstance(result, dict) and "error" in result


def near(a: Any, b: Any, jpeg: bool) -> bool:
    """Whether two results, as `run.told` writes them, are the same."""
    if a == b or isinstance(a, str) or isinstance(b, str):
        return bool(a == b)
    if isinstance(a, list) and a and isinstance(a[0], list):
        return len(a) == len(b) and all(near(x, y, jpeg) for x, y in zip(a, b, strict=True))
    if a[:2] != b[:2]:
        return False
    if a[3] == b[3]:
        return True
    if a[0] == "string" or (a[0].startswith("uint") and not jpeg):
        return False
    if jpeg:
        pairs = zip(map(float, a[2]), map(float, b[2]), strict=True)
        return all(abs(x - y) <= (LEVELS if a[0].startswith("uint") else LEVELS / 255) for x, y in pairs)
    for x, y in zip(map(float, a[2]), map(float, b[2]), strict=True):
        if not (x == y or (x != x and y != y) or abs(x - y) <= TOLERANCE * max(1, abs(x))):
            return False
    return True


def is_jpeg(path: str) -> bool:
    return path.lower().endswith((".jpg", ".jpeg"))


def verdict(path: str, there: Any, here: Any) -> tuple[str, str]:
    """Returns what became of a file, and which result differs."""
    if is_error(there) or is_error(here):
        if is_error(there):
            return ("refused" if is_error(here) else "beyond"), ""
        return "different", f"{here['error']}: {here['says']}"
    if there.get("random") is True:
        there = {k: v if is_error(v) or isinstance(v, (str, bool)) else "random" for k, v in there.items()}
        here = {k: v if is_error(v) or isinstance(v, (str, bool)) else "random" for k, v in here.items()}
    kinds = set()
    for key, wanted in there.items():
        found = here.get(key, {"error": "missing", "says": "no such result"})
        if isinstance(wanted, (str, bool)) and isinstance(found, (str, bool)):
            if wanted != found and key != "import":
                return "different", f"{key}: {found} for {wanted}"
        elif is_error(wanted):
            kinds.add("refused" if is_error(found) else "beyond")
        elif is_error(found):
            return "different", f"{key}: {found['error']}: {found['says']}"
        elif key == "jpeg not fancy" and wanted[:2] == found[:2]:
            kinds.add("equal")
        elif not near(wanted, found, is_jpeg(path) and key not in ("jpeg dct INTEGER_ACCURATE", "jpeg shape")):
            return "different", f"{key}: {str(found)[:120]} for {str(wanted)[:120]}"
        else:
            kinds.add("equal")
    return ("equal" if "equal" in kinds or not kinds else "refused" if kinds == {"refused"} else "beyond"), ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("there", type=Path)
    parser.add_argument("here", type=Path)
    parser.add_argument("--list", type=int, default=20, help="how many differing files are printed")
    given = parser.parse_args()
    there, here = (dict(map(json.loads, path.read_text().splitlines())) for path in (given.there, given.here))
    counts: Counter[tuple[str, str]] = Counter()
    shown = 0
    for path in sorted(there.keys() & here.keys()):
        wanted = there[path]
        kind = path.partition("/")[0] if "/" in path else Path(path).suffix
        said, why = verdict(path, wanted, here[path])
        counts[kind, said] += 1
        if said == "different" and shown < given.list:
            shown += 1
            print(f"{path}\n    {why[:400]}")
    for (kind, said), n in sorted(counts.items()):
        print(f"{kind}\t{said}\t{n}")


if __name__ == "__main__":
    main()
