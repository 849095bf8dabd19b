"""Writes docs/api_status.md: each public name of TensorFlow 1.15, and whether tfnb has it, refuses it or lacks it.

The names and arguments are those of tests/data/api_1_15.tsv, which scripts/api_names.py lists. A name whose function
does not accept one of the arguments counts as incomplete, not as present. `--check` only says whether the page is
current.
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from api_usage import _ABSENT, find, rows

from tfnb.v1.names.refused import reason_for

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api_status.md"
STATES = ("present", "incomplete", "missing", "refused")


@dataclass(frozen=True)
class Status:
    """Whether tfnb has a name: its `state` of `STATES`, and in `detail` the arguments that lack, or the reason."""

    symbol: str
    state: str
    detail: str = ""

    @property
    def place(self) -> str:
        """The module that the page lists the name under."""
        parts = self.symbol.split(".")
        return ".".join(parts[: 3 if parts[1] == "contrib" else 2]) if len(parts) > 2 else "tf"

    @property
    def rest(self) -> str:
        return self.symbol[len(self.place) + 1 :]


def lacking(value: object, arguments: str) -> list[str]:
    """The names of `arguments`, separated by commas, that the callable does not accept by name."""
    if inspect.isbuiltin(value):  # a function of Python itself, as those of tf.contrib.specs are in TensorFlow, too
        return []
    try:
        parameters = inspect.signature(value).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return []
    by_name = {n for n, p in parameters.items() if p.kind is not p.POSITIONAL_ONLY}
    return [name for name in arguments.split(",") if name and name not in by_name]


def statuses() -> Iterator[Status]:
    """The status of each public name."""
    for row in rows("api_1_15.tsv"):
        symbol, arguments = row["symbol"], row["arguments"] or ""
        reason = reason_for(symbol.partition(".")[2])
        value = find(symbol)
        if reason and value is _ABSENT:
            yield Status(symbol, "refused", reason)
        elif value is _ABSENT:
            yield Status(symbol, "missing")
        else:
            lacks = lacking(value, arguments) if arguments != "-" and callable(value) else []
            yield Status(symbol, "incomplete" if lacks else "present", ", ".join(lacks))


def uses() -> dict[str, int]:
    """The number of public programs' files that use a name."""
    return {row["symbol"]: int(row["files"]) for row in rows("api_usage.tsv")}


def share(found: list[Status], weights: dict[str, int] | None = None) -> float:
    """The share of present names among those that are not refused; each counts as 1, or by its weight."""
    counted = [(weights.get(s.symbol, 0) if weights else 1, s.state) for s in found if s.state != "refused"]
    return sum(w for w, state in counted if state == "present") / (sum(w for w, _ in counted) or 1)


def parts(found: list[Status]) -> dict[str, list[Status]]:
    """The parts of the API that have counts of their own."""
    contrib = [s for s in found if s.symbol.startswith("tf.contrib.")]
    raw = [s for s in found if s.symbol.startswith("tf.raw_ops.")]
    keras = [s for s in found if s.symbol.startswith("tf.keras.")]
    apart = {s.symbol for s in (*contrib, *raw, *keras)}
    return {
        "all": found,
        "without contrib": [s for s in found if s not in set(contrib)],
        "without contrib, keras and raw_ops": [s for s in found if s.symbol not in apart],
        "keras": keras,
        "raw_ops": raw,
        "contrib": contrib,
    }


def page(found: list[Status]) -> str:
    """The text of docs/api_status.md."""
    weights = uses()
    lines = [
        "# The API of TensorFlow 1.15",
        "",
        "Written by `python scripts/api_status.py`. A name is *incomplete* when its function lacks an argument,",
        "*refused* when tfnb will not have it, for the reason given; using it raises an error that says the same.",
        "The share is of present names among those that are not refused.",
        "",
        f"Weighted by use in public programs (`tests/data/api_usage.tsv`): {share(found, weights):.1%}.",
        "",
        "| part | names | present | incomplete | missing | refused | share |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, of_part in parts(found).items():
        counts = " | ".join(str(sum(s.state == state for s in of_part)) for state in STATES)
        lines.append(f"| {name} | {len(of_part)} | {counts} | {share(of_part):.1%} |")
    lines += ["", "## Refused", "", "| name | reason |", "|---|---|"]
    reasons: dict[tuple[str, str], int] = defaultdict(int)
    for s in found:
        if s.state == "refused":
            reasons[(s.place if reason_for(s.place.partition(".")[2]) else s.symbol, s.detail)] += 1
    lines += [f"| `{name}` ({n}) | {detail} |" for (name, detail), n in sorted(reasons.items())]
    lines += ["", "## Incomplete", "", "| name | arguments that lack |", "|---|---|"]
    lines += [f"| `{s.symbol}` | {s.detail} |" for s in found if s.state == "incomplete"]
    lines += ["", "## Missing", "", "| module | names |", "|---|---|"]
    missing: dict[str, list[str]] = defaultdict(list)
    for s in found:
        if s.state == "missing":
            missing[s.place].append(s.rest)
    lines += [f"| `{place}` | {' '.join(names)} |" for place, names in sorted(missing.items())]
    return "\n".join(lines) + "\n"


def main() -> int:
    text = page(list(statuses()))
    if "--check" in sys.argv:
        return int(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    print("\n".join(line for line in text.splitlines() if line.startswith(("Weighted", "| all", "| without"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
