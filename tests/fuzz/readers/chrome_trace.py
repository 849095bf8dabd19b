"""Chrome traces, plain and gzipped, read and drawn as JupyterLab's server does."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

from fuzz.mutate import VALUES, deep_list, of_bytes, of_json
from fuzz.target import Target
from tfnb.notebook.server.documents import TraceDocument
from tfnb.notebook.traces import trace_file
from tfnb.ops.io.record_files import DEFLATE


def _trace() -> dict[str, Any]:
    events: list[dict[str, Any]] = [
        {
            "ph": "X",
            "pid": 1,
            "tid": k % 3,
            "ts": k,
            "dur": 1,
            "name": f"n{k % 7}",
            "cat": "kernel",
            "args": {"step": k % 2, "name": "a/b", "op": "Mul", "bytes": 5, "nodes": ["x"]},
        }
        for k in range(12)
    ]
    events += [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "t"}},
        {"ph": "B", "pid": 1, "tid": 9, "ts": 1, "name": "b"},
        {"ph": "E", "pid": 1, "tid": 9, "ts": 3},
        {"ph": "s", "id": 4, "pid": 1, "tid": 1, "ts": 1},
        {"ph": "f", "id": 4, "pid": 1, "tid": 2, "ts": 3},
    ]
    return {"traceEvents": events, "otherData": {"tfnb_steps": [[0, 5], [5, 9]]}}


def _hostile() -> list[bytes]:
    def event(**changes: Any) -> dict[str, Any]:
        return {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "name": "n", **changes}

    def text(events: Any) -> bytes:
        return json.dumps(events).encode()

    return [
        deep_list(100_000),
        b"[" * 1_000_000,
        b'[{"ph":"X","ts":1,"args":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}]",
        gzip.compress(b"[" * (60 << 20)),
        gzip.compress(b"[" + b"{}," * (5 << 20) + b"{}]"),
        gzip.compress(b"[" + b"[]," * (5 << 20) + b"[]]"),
        gzip.compress(b'["' + b"a" * (80 << 20)),
        b'[{"ph":"X","ts":' + b"9" * 1_000_000 + b"}]",
        text([event(pid=k, tid=k, ts=k, args={"step": k}) for k in range(3000)]),
        text([event(tid=k, ts=k) for k in range(3000)]),
        text([event(ts=k, dur=1e9) for k in range(3000)]),
        text(
            [
                event(pid=[1], tid={"a": 1}, name={"x": [1]}, cat=5, args=[1]),
                {"ph": "s", "id": [1]},
                event(ts=1e18, dur=1e18),
            ]
        ),
        text([event(args={"nodes": ["x"] * 10_000, "step": 10**30})]),
        text([event(name="x" * 100_000)]),
        b'[{"ph":"X","ts":NaN,"dur":Infinity}]',
        b"",
    ]


def target(folder: Path) -> Target:
    path = folder / "trace.json"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        document = TraceDocument(str(path), lambda _place: True)
        document.exchange({"key": "k"}, [{"type": "open"}, {"type": "load"}])
        document._timeline._repr_html_()

    def product(data: bytes) -> int:
        """What a gzipped trace may inflate to."""
        return min(len(data) * DEFLATE, trace_file.MOST_BYTES) if data[:2] == b"\x1f\x8b" else 0

    def zipped(change: Any) -> Any:
        return lambda data, rng: gzip.compress(change(data, rng), 1, mtime=0)

    plain = json.dumps(_trace()).encode()
    seeds = [plain, json.dumps(_trace()["traceEvents"]).encode()]
    values = [
        *VALUES,
        "B",
        "E",
        "X",
        "M",
        "s",
        "f",
        "kernel",
        "/job:x",
        [[1]],
        [[1, 2, 3]],
        [["a", "b"]],
        [[1e308, 1e308]],
    ]
    trees = of_json(lambda tree: json.dumps(tree).encode("utf-8", "replace"), values)
    in_bytes = of_bytes(seeds)

    def of_zipped_bytes(data: bytes, rng: Random) -> bytes:
        return in_bytes(gzip.compress(data, 1, mtime=0), rng)

    return Target(seeds, _hostile(), [in_bytes, trees, trees, zipped(trees), of_zipped_bytes], read, product)
