"""Writes docs/differences.md: what tfnb does otherwise than TensorFlow, from the tables of the oracle suite, and which
operations and dtypes of TensorFlow 1.15.5 are missing.

The same tables and that of docs/hints.md become the data of `tfnb check`. `--check` says whether both are current.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
CASES = sorted({str(path.parent) for path in (TESTS / "ops").glob("*/cases_*.py")})
sys.path[:0] = [str(ROOT), str(TESTS / "ops"), *CASES, str(TESTS / "oracle")]

from differences import ELSEWHERE, KINDS, NOTES, RULES  # noqa: E402
from pages import settle  # noqa: E402
from registered import TYPES, lacking_types, missing_ops, reason_of, wider_types  # noqa: E402

PAGE = ROOT / "docs" / "differences.md"
HINTS = ROOT / "docs" / "hints.md"
DATA = ROOT / "tfnb" / "v1" / "programs" / "differences.json"
HEAD = """# Differences from TensorFlow

Written by `python scripts/difference_page.py` from `tests/oracle/differences.py`; do not edit.

`tests/oracle/test_generated.py` runs the operations on generated cases (sizes 0 and 1 among them, dtypes, special
values, attributes, axes and indices, valid or not) on both sides: values, dtypes, shapes and gradients agree, and what
one side refuses the other refuses, but for what stands here. TensorFlow is that of the
oracle suite, on the CPU."""


def _names(text: str) -> str:
    return "any operation" if text == "*" else ", ".join(f"`{n}`" for n in sorted(text.split()))


def page() -> str:
    """The whole text."""
    parts = [HEAD]
    for kind, title in KINDS.items():
        rules = [r for r in RULES if r.kind.split()[0] == kind]
        parts.append(f"## {title}")
        parts.append("\n".join(f"- {r.reason[0].upper()}{r.reason[1:]}: {_names(r.ops)}." for r in rules))
    parts.append("## In words")
    parts.append("\n".join(f"- {note}" for note in NOTES))
    parts.append("## Operations that generated cases do not reach")
    parts.append("\n".join(f"- {why[0].upper()}{why[1:]}: {_names(ops)}." for why, ops in ELSEWHERE.items()))
    parts += ["## Operations of 1.15.5 that are missing", _missing(), "## Types of operations", _types()]
    return "\n\n".join(parts) + "\n"


def _missing() -> str:
    ops: dict[str, list[str]] = {}
    for op in missing_ops():
        ops.setdefault(reason_of(op) or "no reason stands in the table", []).append(op)
    return "\n".join(f"- {why[0].upper()}{why[1:]}: {_names(' '.join(ops[why]))}." for why in sorted(ops))


def _types() -> str:
    """The dtypes that lack or are more, by reason and by dtype; 1.15.5 is that of `tests/data/ops_1_15.json`."""
    rows = ["Those that TensorFlow 1.15.5 has a kernel for on CPUs, and tfnb refuses:", ""]
    for why, (dtypes, pattern) in TYPES.items():
        found = {w for w, d in lacking_types() if d in dtypes.split() and re.fullmatch(pattern, w)}
        rows.append(f"- {why[0].upper()}{why[1:]} ({', '.join(dtypes.split())}): {_names(' '.join(found))}.")
    more: dict[str, set[str]] = {}
    for where, dtype in wider_types():
        more.setdefault(dtype, set()).add(where)
    rows += ["", "Those that tfnb takes, and TensorFlow 1.15.5 refuses; most came with later versions:", ""]
    rows += [f"- {dtype}: {_names(' '.join(more[dtype]))}." for dtype in sorted(more)]
    return "\n".join(rows)


def data() -> str:
    """The data of `tfnb check`: [reason, names in lower case without versions] for results that differ, and
    [parameter, functions, reason] for parameters without effect.
    """
    kinds = {"value", "gradient"}
    values = [(r.reason, r.ops) for r in RULES if kinds & set(r.kind.split()) and r.ops != "*"]
    named = [(why, sorted({re.sub(r"V\d$", "", op).lower() for op in ops.split()})) for why, ops in values]
    rows = re.findall(r"^\| `([^|]+)` \| ([^|]+) \| ([^|]+) \|$", HINTS.read_text(encoding="utf-8"), re.M)
    hints = [(name, re.findall(r"`([^`]+)`", where) or ["*"], why) for name, where, why in rows]
    return json.dumps({"values": named, "without effect": hints}, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(settle(PAGE, page(), "difference_page.py") or settle(DATA, data(), "difference_page.py"))
