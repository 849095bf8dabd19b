"""Graphs that JupyterLab's server shows: a file of a GraphDef, MetaGraphDef or SavedModel, and the view made of it."""

from __future__ import annotations

from pathlib import Path

from fuzz.mutate import NUMBERS, of_bytes, of_message
from fuzz.readers.graph_import import graph_defs, hostile_graphs, of_nodes, words
from fuzz.target import Target
from tfnb.ir.protos import proto
from tfnb.notebook.server.documents import GraphDocument


def shown(path: Path) -> None:
    """Opens the file as the server does, and asks for the graph and a card as a browser does."""
    document = GraphDocument(str(path), lambda _place: True)
    document.exchange({}, [{"type": "graph"}, {"type": "card", "node": 0}])


def target(folder: Path) -> Target:
    path = folder / "graph.pb"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        shown(path)

    seeds = graph_defs()
    meta = proto("meta_graph").MetaGraphDef()
    meta.graph_def.ParseFromString(seeds[0])
    meta.collection_def["train_op"].node_list.value.append("x")
    seeds.append(meta.SerializeToString())
    empty = [b"\x0a\x00" * 1_000_000, b"\x0a\x02\x0a\x00" * 200_000]
    ways = [of_bytes(seeds), of_message(words(), NUMBERS), of_nodes(seeds)]
    return Target(seeds, [*hostile_graphs(), *empty], ways, read)
