"""The picture of a cluster that stays in a saved notebook: tables of the tasks, of the transfers and of the devices.

Invariant: names are text, never markup; the size of the picture does not depend on the number of steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from tfnb.notebook.traces.lanes import short_name

__all__ = ["amount", "cluster_html", "summary"]

_SIGNS = {"alive": "● alive", "late": "◐ late", "lost": "✕ lost"}
_MOST_TASKS, _MOST_PAIRED = 100, 16
_LEFT = "text-align:left;"


def amount(size: float) -> str:
    """Returns a number of bytes in a suitable unit."""
    if size < 1024:
        return f"{round(size, 1):g} bytes"
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"


def summary(state: Mapping[str, Any]) -> str:
    """Returns one sentence about the whole cluster."""
    tasks = state["tasks"]
    count = {s: sum(t["state"] == s for t in tasks) for s in _SIGNS}
    parts = [f"{count['alive']} of {len(tasks)} tasks alive"]
    parts += [f"{count[s]} {s}" for s in ("late", "lost") if count[s]]
    n_variables, size = (sum(t.get(k, 0) for t in tasks) for k in ("variables", "variable_bytes"))
    sent_bytes = sum(s["bytes"] for s in state["sent"])
    return ", ".join(
        [*parts, f"{n_variables:,} variables of {amount(size)}", f"{amount(sent_bytes)} sent between tasks"]
    )


def cluster_html(state: Mapping[str, Any]) -> str:
    """Tables of tasks, transfers between tasks, and devices."""
    tasks = state["tasks"]
    devices: dict[str, int] = {}
    for d in state["devices"]:
        devices[d["task"]] = devices.get(d["task"], 0) + d["in_use"]
    rows = [
        [
            short_name(t["name"]),
            _SIGNS[t["state"]],
            _number(t, "steps"),
            _number(t, "variables"),
            amount(t.get("variable_bytes", 0)),
            amount(devices.get(t["name"], 0)),
            amount(t.get("memory", 0)),
            _number(t, "refused"),
            t["address"],
        ]
        for t in tasks[:_MOST_TASKS]
    ]
    head = [
        "task",
        "state",
        "steps",
        "variables",
        "variable bytes",
        "device memory",
        "process memory",
        "refused calls",
        "address",
    ]
    rest_text = f"<p>and {len(tasks) - _MOST_TASKS:,} more tasks</p>" if len(tasks) > _MOST_TASKS else ""
    return f"<p>{escape(summary(state))}</p>{_table(head, rows, (0, 1, 8))}{rest_text}{_pairs(state)}{_devices(state)}"


def _number(task: Mapping[str, Any], what: str) -> str:
    return f"{task[what]:,}" if what in task else ""


def _pairs(state: Mapping[str, Any]) -> str:
    """Returns a table with a row for each sender and a column for each receiver: bytes per step, and in total."""
    volume: dict[str, int] = {}
    for s in state["sent"]:
        for name in (s["from"], s["to"]):
            volume[name] = volume.get(name, 0) + s["bytes"]
    busiest = set(sorted(volume, key=lambda n: -volume[n])[:_MOST_PAIRED])
    names = [t["name"] for t in state["tasks"] if t["name"] in busiest]
    if not names:
        return "<p>no transfers between tasks yet</p>"
    transfers = {(s["from"], s["to"]): s for s in state["sent"]}

    def cell(pair: tuple[str, str]) -> str:
        s = transfers.get(pair)
        return "" if s is None else f"{amount(s['bytes'] / max(s['steps'], 1))} per step, {amount(s['bytes'])}"

    rows = [[short_name(a), *(cell((a, b)) for b in names)] for a in names]
    return _table(["from \\ to", *map(short_name, names)], rows, (0,))


def _devices(state: Mapping[str, Any]) -> str:
    rows = [
        [
            f"{short_name(d['task'])} {d['name'].rpartition('device:')[2]}",
            d["kind"],
            amount(d["in_use"]),
            amount(d["peak"]),
            amount(d["limit"]) if d["limit"] else "none",
        ]
        for d in state["devices"][:_MOST_TASKS]
    ]
    return _table(["device", "kind", "in use", "peak", "limit"], rows, (0, 1))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], words: tuple[int, ...]) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        inner = "".join(
            f"<{tag} style='{_LEFT if k in words else ''}white-space:nowrap'>{escape(str(c)[:200])}</{tag}>"
            for k, c in enumerate(cells)
        )
        return f"<tr>{inner}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table class='tfnb-table'><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"
