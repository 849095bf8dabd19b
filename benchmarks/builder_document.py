"""`python -m benchmarks.builder_document`: how long the builder's document takes to open a large graph, and to edit it.

The large graph is Inception's towers, repeated to 39,551 nodes, in a file: seconds from the file to the first drawing
(at most 3), of the import that follows in the background, and of an edit (at most 0.1). Then, for two graphs of 300
nodes, the processor time in the kernel of each kind of gesture and of its undo, messages as JSON included (at most 100
ms): a grid of one operation, and a network of 42 layers with its gradients. The browser is not in these figures;
`benchmarks/builder_view.py` has those.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.inception_graph import repeated_towers
from tfnb.notebook.builder.document import Document
from tfnb.notebook.builder.files.imports import opened
from tfnb.notebook.graph.file_formats import read_graph
from tfnb.system.collector import SECONDS_AFTER, put_off

NODES = 39_551
EDITS = 7  # one in each tower
ROW = 17


def grid(nodes: int) -> str:
    """A program of so many operations, each reading its left or its upper neighbour."""
    lines = ["import tfnb as tf", "", "n0 = tf.ones([8, 8])"]
    for k in range(1, nodes):
        lines.append(f"n{k} = tf.tanh(n{k - 1 if k % 2 else max(0, k - ROW)})")
    return "\n".join(lines) + "\n"


def network(nodes: int) -> str:
    """A program of so many nodes that trains a network: its last node has the gradients of all layers."""
    lines = ["import tfnb as tf", "", "h0 = tf.placeholder(tf.float32, [None, 64])"]
    lines.append("labels = tf.placeholder(tf.int64, [None])")
    layers = (nodes - 4) // 7
    for k in range(1, layers + 1):
        lines += [
            f"# layer {k}",
            f"w{k} = tf.Variable(tf.random_normal([64, 64], stddev=0.1), name='w{k}')",
            f"b{k} = tf.Variable(tf.zeros([64]))",
            f"p{k} = tf.matmul(h{k - 1}, w{k})",
            f"n{k} = p{k} + b{k}",
            f"r{k} = tf.nn.relu(n{k})",
            f"s{k} = tf.nn.softsign(r{k})",
            f"h{k} = tf.nn.dropout(s{k}, keep_prob=0.9)",
        ]
    lines += [
        f"logits = tf.layers.dense(h{layers}, 10)",
        "loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)",
        "train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)",
    ]
    return "\n".join(lines) + "\n"


def gestures(k: int) -> dict[str, dict[str, Any]]:
    """A gesture of each kind at node `n{k}`, of which both programs have one that is no input of its neighbours."""
    node, wire = f"n{k}", {"node": f"n{k}", "output": 0}
    add = {"edit": "add", "call": "tf.nn.relu", "wires": [["features", wire]], "to": [], "position": [1, 1]}
    return {
        "move": {"edit": "move", "positions": {node: [float(k), 1.0]}},
        "add": {**add, "parameters": {}},
        "connect": {"edit": "connect", "wire": {"node": f"n{k - 1}", "output": 0}, "node": node, "port": ""},
        "set": {"edit": "set", "node": node, "name": "name", "text": "'other'"},
        "rename": {"edit": "rename", "node": node, "name": "other"},
        "delete": {"edit": "delete", "nodes": [node], "heal": False},
        "delete and join": {"edit": "delete", "nodes": [node], "heal": True},
        "duplicate": {"edit": "duplicate", "nodes": [node]},
        "group": {"edit": "group", "nodes": [node], "name": "part"},
        "note": {"edit": "note", "id": "", "text": "a note", "before": node},
    }


def processor(action: Callable[[], Any]) -> tuple[float, Any]:
    """The processor time of an answer with its JSON, as the notebook gives it: without a search for garbage."""
    with put_off():
        begin = time.process_time()
        result = action()
        json.dumps(result)
        took = time.process_time() - begin
    time.sleep(2 * SECONDS_AFTER)
    return took, result


def each_gesture(name: str, source: str, places: range) -> None:
    document = Document(source, is_trusted=True)
    document.apply({"type": "open"})
    all_times: list[float] = []
    print(f"{name}, {len(document.program.statements)} statements; ms of processor time, and those of the undo:")
    for kind in gestures(places[0]):
        times, undos = [], []
        for k in places:
            edit: Any = gestures(k)[kind]
            took, answer = processor(lambda e=edit: document.apply({"type": "gesture", "gesture": 1, "edits": [e]}))
            if answer[0]["is_refused"]:
                continue
            times.append(1e3 * took)
            undos.append(1e3 * processor(lambda: document.apply({"type": "undo", "gesture": 1}))[0])
        all_times += [*times, *undos]
        if times:
            medians = f"{statistics.median(times):.0f}, undo {statistics.median(undos):.0f}"
            print(f"  {kind}: {medians}; longest {max(times):.0f}")
    all_times.sort()
    print(f"  95th percentile of all: {all_times[int(0.95 * len(all_times))]:.0f} ms (at most 100)")


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = action()
    return time.perf_counter() - begin, result


def drawn(path: str) -> Document:
    """The document of a graph file, after what the browser asks of it for the first drawing."""
    given = opened(read_graph(path), path)
    document = Document(given.source, known=given.known, is_trusted=True, original=given.graph)
    node = document.drawing()["order"][-1]
    document.apply({"type": "inside", "request": 1, "node": node})
    return document


def large() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "inception.pb"
        path.write_bytes(repeated_towers(NODES).SerializeToString())
        to_drawing, document = seconds(lambda: drawn(str(path)))
        to_import, _ = seconds(document.complete)
        edits = []
        for k in range(EDITS):
            pick = {"edit": "pick", "operation": f"tower_{k}/conv0/Relu", "output": 0}
            message = {"type": "gesture", "gesture": k, "edits": [pick]}
            edits.append(seconds(lambda message=message: document.apply(message))[0])
    print(f"{NODES:,} nodes: drawn after {to_drawing:.2f} s (at most 3), imported in {to_import:.2f} s more")
    print(f"an edit: median {1e3 * statistics.median(edits):.0f} ms (at most 100), longest {1e3 * max(edits):.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-large", action="store_true", help="only the graphs of 300 nodes")
    if not parser.parse_args().no_large:
        large()
    each_gesture("a grid", grid(300), range(21, 300, 40))
    each_gesture("a network", network(300), range(3, 42, 6))


if __name__ == "__main__":
    main()
