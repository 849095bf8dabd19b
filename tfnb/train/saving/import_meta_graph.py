"""Restoring a program's graph with its saver: `tf.train.import_meta_graph`.

Invariant: the saver that comes back uses the nodes of the file's own saver.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.meta_graph import import_scoped_meta_graph
from tfnb.ir.default import get_default_graph
from tfnb.train.input.queue_runner import QueueRunner
from tfnb.train.saving.saver import Saver

__all__ = ["API", "import_meta_graph"]


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Saver | None:
    """Adds the graph and the collections of a MetaGraphDef (a message or a file) to the default graph.

    clear_devices: ignores device names. import_scope: a name scope to put it in. Gives the saver of the file, a new one
    when it names none but the graph has variables, else None. Raises what `tf.import_graph_def` raises,
    `NotFoundError` for a missing file, `DataLossError` for one that is no MetaGraphDef; nothing is added then.

    The saver's `save` and `restore` run the ops that the file names for them, whatever these do, as in TensorFlow.
    """
    graph = get_default_graph()
    message, scope = import_scoped_meta_graph(
        meta_graph_or_file,
        clear_devices,
        graph,
        import_scope,
        kwargs.get("input_map"),
        {GraphKeys.QUEUE_RUNNERS: QueueRunner.from_proto},
    )
    if message.HasField("saver_def"):
        return Saver.from_proto(message.saver_def, scope)
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope or None)
    return Saver(variables) if variables else None


API: dict[str, Any] = {"train.import_meta_graph": import_meta_graph}
