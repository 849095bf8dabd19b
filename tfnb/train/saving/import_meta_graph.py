"""`tf.train.import_meta_graph` restores the graph of a program together with its saver.

Invariant: the saver that is returned uses the nodes of the saver in the file.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.meta_graph import MetaGraphLike, import_scoped_meta_graph
from tfnb.ir.default import get_default_graph
from tfnb.ir.graphdef.message import as_message
from tfnb.train.input.queue_runner import QueueRunner
from tfnb.train.saving.saver import Saver

__all__ = ["API", "import_meta_graph"]


def import_meta_graph(
    meta_graph_or_file: MetaGraphLike, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Saver | None:
    """Adds the graph and the collections of a MetaGraphDef, a message or a file, to the default graph.

    clear_devices: ignore device names. import_scope: a name scope for the nodes. Returns the saver of the file; or a
    new one if the file has none but the graph has variables; or else None. Raises the errors of `tf.import_graph_def`,
    `NotFoundError` for a missing file and `DataLossError` for a file of another kind; nothing is added then.

    As in TensorFlow, `save` and `restore` of the saver run the operations that the file names, whatever they do.
    """
    graph = get_default_graph()
    message, scope = import_scoped_meta_graph(
        meta_graph_or_file,
        clear_devices,
        graph,
        import_scope,
        kwargs.get("input_map"),
        {GraphKeys.QUEUE_RUNNERS: QueueRunner.from_proto, GraphKeys.SAVERS: _saver},
    )
    if message.HasField("saver_def"):
        return Saver.from_proto(message.saver_def, scope)
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope or None)
    return Saver(variables) if variables else None


def _saver(content: bytes, scope: str | None) -> Saver:
    """Returns a member of the collection of savers."""
    return Saver.from_proto(as_message("saver", "SaverDef", content), scope)


API: dict[str, Any] = {"train.import_meta_graph": import_meta_graph}
