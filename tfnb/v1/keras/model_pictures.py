"""`plot_model`: a model as a graph of its layers, drawn by Graphviz.

pydot is imported when it is used; without it, `tf.show_graph` draws the graph of operations. Invariant: a layer is one
node, and an edge goes from each layer to those that are called with its outputs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ops.lazy_library import library
from tfnb.v1.keras.engine.base_layer import Layer
from tfnb.v1.keras.engine.network import Network
from tfnb.v1.keras.engine.structure import history_of
from tfnb.v1.keras.layers.wrappers import Wrapper

__all__ = ["model_to_dot", "plot_model"]

_DIRECTIONS = ("TB", "LR")


def _label(layer: Layer, show_shapes: bool, show_layer_names: bool) -> str:
    kind = type(layer).__name__
    if isinstance(layer, Wrapper):
        kind = f"{kind}({type(layer.layer).__name__})"
    text = f"{layer.name}: {kind}" if show_layer_names else kind
    if not show_shapes or not layer.inbound_nodes:
        return text
    shapes = (str(layer.input_shape), str(layer.output_shape))
    return f"{text}\n|{{input:|output:}}|{{{{{shapes[0]}}}|{{{shapes[1]}}}}}"


def model_to_dot(
    model: Network,
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
    subgraph: bool = False,
) -> Any:
    """Returns the graph of a model's layers, a graph of pydot.

    rankdir: "TB", from top to bottom, or "LR". expand_nested: models inside are drawn as frames around their layers.
    dpi: of pictures. subgraph: the result is a frame in another graph. Raises `UnimplementedError` without pydot, and
    `InvalidArgumentError` for a model without layers.
    """
    pydot = library("pydot", "pydot", "plot_model; tf.show_graph draws a graph without it,")
    if rankdir not in _DIRECTIONS:
        raise InvalidArgumentError(f"model_to_dot: rankdir={rankdir!r}; needed TB or LR")
    if not model._is_graph:
        raise InvalidArgumentError("model_to_dot: a model that is defined by `call`, or has no inputs, has no graph")
    if subgraph:
        result = pydot.Cluster(style="dashed", graph_name=model.name)
        result.set("label", model.name)
        result.set("labeljust", "l")
    else:
        result = pydot.Dot()
        result.set("rankdir", rankdir)
        result.set("concentrate", True)
        result.set("dpi", dpi)
    result.set_node_defaults(shape="record")
    nested = {id(layer) for layer in model.layers if expand_nested and isinstance(layer, Network) and layer._is_graph}
    for layer in model.layers:
        if id(layer) in nested:
            inner = model_to_dot(layer, show_shapes, show_layer_names, rankdir, True, dpi, subgraph=True)
            result.add_subgraph(inner)
        else:
            result.add_node(pydot.Node(str(id(layer)), label=_label(layer, show_shapes, show_layer_names)))
    for call in model._calls:
        for tensor in call.input_tensors:
            before = history_of(tensor)[0]
            if before is call.layer:
                continue
            start = _ends(before, nested)[1]
            result.add_edge(pydot.Edge(str(id(start)), str(id(_ends(call.layer, nested)[0]))))
    return result


def _ends(layer: Any, nested: set[int]) -> tuple[Any, Any]:
    """Returns the first and the last layer of a model that is drawn as a frame, and otherwise the layer itself."""
    if id(layer) not in nested:
        return layer, layer
    first, last = history_of(layer.inputs[0])[0], history_of(layer.outputs[0])[0]
    return _ends(first, {id(m) for m in layer.layers if isinstance(m, Network)})[0], last


def plot_model(
    model: Network,
    to_file: str | Path = "model.png",
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
) -> None:
    """Writes a picture of a model's layers, in the format of the name's end, by Graphviz; ".dot" is its text.

    See `model_to_dot`. Raises `NotFoundError` when the program `dot` of Graphviz is not installed.
    """
    graph = model_to_dot(model, show_shapes, show_layer_names, rankdir, expand_nested, dpi)
    kind = Path(to_file).suffix[1:] or "png"
    if kind == "dot":
        Path(to_file).write_text(graph.to_string(), encoding="utf-8")
        return
    try:
        picture = graph.create(format=kind)
    except OSError as error:
        raise NotFoundError(f"plot_model: the program dot of Graphviz is needed for a picture: {error}") from error
    Path(to_file).write_bytes(picture)
