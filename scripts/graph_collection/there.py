"""Runs one graph file under TensorFlow 1.15.5 and keeps GraphDef, feeds and results: `there.py FILE RESULT`.

It has the syntax of Python 3.7. What depends on random numbers, on Python functions or on other state, and what is
inside a loop, is not fetched. Invariant: a result file exists only if some output could be computed.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

VARIABLES = ("Variable", "VariableV2")
PASSING = (*VARIABLES, "ReadVariableOp", "VarHandleOp", "Placeholder", "Assert", "Print")
MOST_ELEMENTS = 30_000_000
SIZES = ({"batch": 2, "other": 5, "any": [2, 4]}, {"batch": 1, "other": 32, "any": [1, 32, 32, 3]})


def read(path: str) -> Any:
    """Returns the GraphDef of a file: itself, a MetaGraph's or a SavedModel's first one; None for other files."""
    with open(path, "rb") as file:
        content = file.read()
    for kind, graph in (
        (tf.GraphDef, lambda m: m),
        (meta_graph_pb2.MetaGraphDef, lambda m: m.graph_def),
        (saved_model_pb2.SavedModel, lambda m: m.meta_graphs[0].graph_def),
    ):
        message = kind()
        try:
            if path.endswith("pbtxt"):
                text_format.Merge(content.decode("utf-8"), message)
            else:
                message.ParseFromString(content)
            found = graph(message)
        except Exception:  # protobuf raises classes of its own and of others for a file of another kind
            continue
        if found.node and all(n.op and n.name for n in found.node):
            return found
    return None


def outputs(graph: Any) -> list[Any]:
    """Returns the tensors that nobody reads and that only fed values determine."""
    unsure: set[Any] = set()
    inside: set[Any] = set()
    before = -1
    while before != len(unsure) + len(inside):
        before = len(unsure) + len(inside)
        for op in graph.get_operations():
            own_state = op.op_def.is_stateful and op.type not in PASSING
            if own_state or any(t.op in unsure for t in op.inputs):
                unsure.add(op)
            if op.type in ("Enter", "RefEnter") or (
                op.type not in ("Exit", "RefExit") and any(t.op in inside for t in op.inputs)
            ):
                inside.add(op)
    left = [op for op in graph.get_operations() if op not in unsure and op not in inside and op.type not in PASSING]
    tensors = [t for op in left for t in op.outputs if t.dtype not in (tf.resource, tf.variant) and op.type != "Const"]
    return [t for t in tensors if not t.dtype._is_ref_dtype and not any(c not in unsure for c in t.consumers())]


def value(tensor: Any, rng: Any, sizes: dict[str, Any]) -> Any:
    """Returns random numbers for a placeholder or variable."""
    shape = tensor.shape
    if shape.ndims is None:
        dims = [2] if tensor.dtype == tf.string else sizes["any"]
    else:
        dims = [sizes["batch" if i == 0 else "other"] if n is None else n for i, n in enumerate(shape.as_list())]
    dtype = tensor.dtype.base_dtype
    if np.prod(dims) > MOST_ELEMENTS:
        raise ValueError(f"a value of {np.prod(dims)} elements")
    if dtype == tf.string:
        return np.full(dims, b"a b", object)
    if dtype == tf.bool:
        return np.zeros(dims, bool)
    if dtype.is_integer:
        return rng.randint(0, 3, dims).astype(dtype.as_numpy_dtype)
    return rng.uniform(-1, 1, dims).astype(dtype.as_numpy_dtype)


def feeds_of(graph: Any, sizes: dict[str, Any]) -> dict[str, Any]:
    """Returns values for the placeholders, and for what reads a variable the variable's."""
    rng, feeds, handles = np.random.RandomState(7), {}, {}
    for op in graph.get_operations():
        if op.type in ("Placeholder", "PlaceholderV2") or op.type in VARIABLES:
            feeds[op.outputs[0].name] = value(op.outputs[0], rng, sizes)
        elif op.type == "ReadVariableOp":
            handle = op.inputs[0].name
            if handle not in handles:
                handles[handle] = value(op.outputs[0], rng, sizes)
            feeds[op.outputs[0].name] = handles[handle]
    return feeds


def computed(session: Any, tensors: list[Any], feeds: dict[str, Any]) -> dict[str, Any]:
    """Returns the values of those tensors that the session can compute, by name."""
    found = {}
    for t in tensors:
        if t.name not in feeds:
            try:
                found[t.name] = session.run(t, feeds)
            except Exception as e:
                print(f"refused: {str(e).splitlines()[0][:150]}")
    return found


def main(path: str, result: str) -> None:
    """Keeps the results of a file, or prints why there are none."""
    definition = read(path)
    if definition is None:
        print("no graph")
        return
    for node in definition.node:
        node.device = ""
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(definition, name="")
        except Exception as e:
            print(f"refused there: {str(e).splitlines()[0][:150]}")
            return
        options = tf.ConfigProto(operation_timeout_in_ms=20000)
        with tf.Session(config=options) as session:
            for sizes in SIZES:
                feeds = feeds_of(graph, sizes)
                values = computed(session, outputs(graph), feeds)
                if values:
                    kept = {"graph": definition.SerializeToString(), "feeds": feeds, "values": values}
                    with open(result, "wb") as file:
                        pickle.dump(kept, file, protocol=4)
                    return
    print("no output there")


if __name__ == "__main__":
    main(*sys.argv[1:3])
