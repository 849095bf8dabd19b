"""`python -m benchmarks.builder_document`: how long the builder's document takes to open a large graph, and to edit it.

The graph is Inception's towers, repeated to 39,551 nodes, in a file. Seconds from the file to the first drawing (at
most 3), of the import that follows in the background, and of an edit (at most 0.1). The browser is not in these
figures; `benchmarks/builder_view.py` has those.
"""

from __future__ import annotations

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

NODES = 39_551
EDITS = 9


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


def main() -> None:
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


if __name__ == "__main__":
    main()
