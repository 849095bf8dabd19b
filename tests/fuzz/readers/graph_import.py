"""GraphDefs by `tf.import_graph_def`: small graphs, whose names, ops, attributes and tensors are changed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import tfnb as tf
from fuzz.mutate import NUMBERS, of_bytes, of_message
from fuzz.target import Mutate, Target
from tfnb.ir.protos import proto
from tfnb.ops import CATALOG

_SIZES = (-1, 0, 1, 2, 3, 7, 64, 1 << 16, 1 << 28, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63))


def _small_graphs() -> list[Any]:
    """Functions that build a few nodes each, of the kinds that a reader must look at closely."""

    def dense() -> None:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        tf.nn.relu(tf.matmul(x, tf.constant(np.arange(12.0, dtype=np.float32).reshape(4, 3))))

    def convolution() -> None:
        x = tf.placeholder(tf.float32, [None, 8, 8, 3])
        tf.nn.max_pool(tf.nn.conv2d(x, tf.ones([3, 3, 3, 4]), [1, 1, 1, 1], "SAME"), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    def shapes() -> None:
        x = tf.placeholder(tf.float32, [6, 4])
        parts = tf.split(x, 2, 1)
        tf.transpose(tf.stack(parts), [2, 0, 1])
        tf.reshape(tf.strided_slice(x, [0, 0], [2, 2]), [-1])
        tf.fill(tf.placeholder(tf.int32, [2]), 1.0)

    def loop() -> None:
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])

    def branch() -> None:
        tf.cond(tf.placeholder(tf.bool, []), lambda: tf.constant(1.0), lambda: tf.constant(2.0))

    def state() -> None:
        v = tf.Variable(tf.zeros([2]))
        tf.assign_add(v, [1.0, 2.0])
        tf.FIFOQueue(3, [tf.float32]).enqueue(1.0)

    def words() -> None:
        tf.string_join(["a", tf.as_string(tf.constant([1, 2]))])
        tf.one_hot([1, 2], 4)
        tf.tile(tf.zeros([2, 2]), [2, 1])

    return [dense, convolution, shapes, loop, branch, state, words]


def graph_defs() -> list[bytes]:
    found = []
    for build in _small_graphs():
        with tf.Graph().as_default() as graph:
            build()
        found.append(graph.as_graph_def().SerializeToString())
    return found


def words() -> list[bytes]:
    """What stands in GraphDefs as text: names of ops, attributes, inputs, devices."""
    return [
        *(name.encode() for name in sorted(CATALOG)),
        b"x",
        b"x:0",
        b"^x",
        b"x:9",
        b"Const",
        b"",
        b"a b",
        b"../x",
        b"\xff\xfe",
        b"_x",
        b"/job:x",
        b"/cpu:99",
        b"/device:CPU:99999999999",
        b"loc:@x",
        b"SAME",
        b"NHWC",
        b"T",
        b"dtype",
        b"shape",
        b"value",
        b"N",
        b"_class",
        b"x" * 5000,
    ]


def hostile_graphs() -> list[bytes]:
    """Graphs of few bytes that say much, and deep or long ones."""
    graph_def = proto("graph").GraphDef

    def placeholder(graph: Any, shape: list[int], kind: int = 3, name: str = "x") -> None:
        node = graph.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = kind
        for size in shape:
            node.attr["shape"].shape.dim.add(size=size)

    def constant(graph: Any, name: str, shape: list[int], values: list[float], kind: int = 1) -> None:
        node = graph.node.add(name=name, op="Const")
        node.attr["dtype"].type = kind
        tensor = node.attr["value"].tensor
        tensor.dtype = kind
        for size in shape:
            tensor.tensor_shape.dim.add(size=size)
        (tensor.float_val if kind == 1 else tensor.int_val if kind == 3 else tensor.double_val).extend(values)

    found = []
    for size in (200_000_000, (1 << 31) - 1, 1 << 62):
        graph = graph_def()
        placeholder(graph, [size])
        constant(graph, "one", [], [1.0])
        graph.node.add(name="fill", op="Fill", input=["x", "one"])
        found.append(graph)
    for shape, values in (
        ([1 << 28], [1.0, 2.0]),
        ([1 << 40], [1.0]),
        ([0, 1 << 62], []),
        ([1] * 300, [1.0]),
        ([-1], [1.0]),
    ):
        graph = graph_def()
        for k in range(3):
            constant(graph, f"c{k}", shape, values)
        found.append(graph)
    for kind in (7, 11, 12, 13, 15, 16, 20, 21, 23, 99, 101, 120):
        graph = graph_def()
        constant(graph, "c", [1], [], kind)
        found.append(graph)
    graph = graph_def()  # many outputs of few bytes
    placeholder(graph, [1 << 20], 1)
    constant(graph, "axis", [], [0], 3)
    for k in range(60):
        node = graph.node.add(name=f"s{k}", op="Split", input=["axis", "x"])
        node.attr["num_split"].i = 65_536
        node.attr["T"].type = 1
    found.append(graph)
    graph = graph_def()  # a long chain
    placeholder(graph, [2], 1, "n0")
    for k in range(1, 2000):
        graph.node.add(name=f"n{k}", op="Neg", input=[f"n{k - 1}"]).attr["T"].type = 1
    found.append(graph)
    graph = graph_def()  # a ring
    for k in range(50):
        graph.node.add(name=f"n{k}", op="Neg", input=[f"n{(k - 1) % 50}"]).attr["T"].type = 1
    found.append(graph)
    return [*(g.SerializeToString() for g in found), b"\x0a\x00" * 100_000, *_functions(graph_def), b""]


def _functions(graph_def: Any) -> list[bytes]:
    """Each function calls the next one twice; and one that calls itself."""
    found = []
    for depth, last in ((40, ""), (1, "f0")):
        graph = graph_def()
        for k in range(depth):
            function = graph.library.function.add()
            function.signature.name = f"f{k}"
            arg = function.signature.input_arg.add(name="a")
            arg.type = 1
            out = function.signature.output_arg.add(name="b")
            out.type = 1
            following = last or (f"f{k + 1}" if k + 1 < depth else "Neg")
            for n, source in enumerate(("a", "c0:b:0")):
                node = function.node_def.add(
                    name=f"c{n}", op=following, input=[source if following != "Neg" or n == 0 else "c0:y:0"]
                )
                if following == "Neg":
                    node.attr["T"].type = 1
            function.ret["b"] = "c1:y:0" if following == "Neg" else "c1:b:0"
        node = graph.node.add(name="x", op="Placeholder")
        node.attr["dtype"].type = 1
        graph.node.add(name="call", op="f0", input=["x"])
        found.append(graph.SerializeToString())
    return found


def of_nodes(seeds: list[bytes]) -> Mutate:
    """Joins nodes of several graphs, with sizes and types changed where a GraphDef has them."""
    graph_def = proto("graph").GraphDef
    names = words()

    def mutate(data: bytes, rng: Random) -> bytes:
        graph = graph_def()
        try:
            graph.ParseFromString(data)
            graph.MergeFromString(rng.choice(seeds) if rng.random() < 0.3 else b"")
        except Exception:  # the class of protobuf's error depends on its implementation
            return data
        for _ in range(rng.randint(1, 3)):
            if not graph.node:
                break
            _change(rng.choice(graph.node), graph, rng, names)
        return graph.SerializeToString()

    return mutate


def _change(node: Any, graph: Any, rng: Random, names: list[bytes]) -> None:
    way = rng.randrange(8)
    if way == 0:
        node.op = rng.choice(names).decode("utf-8", "replace")
    elif way == 1 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(graph.node).name + rng.choice(("", ":0", ":1", ":9"))
    elif way == 2:
        node.input.append(("^" if rng.random() < 0.5 else "") + rng.choice(graph.node).name)
    elif way == 3:
        node.name = rng.choice((rng.choice(graph.node).name, "", "a b", "é", "../x", "_x"))
    elif node.attr:
        held = node.attr[rng.choice(sorted(node.attr))]
        kind = held.WhichOneof("value")
        if kind == "tensor":
            tensor = held.tensor
            if tensor.tensor_shape.dim and rng.random() < 0.5:
                tensor.tensor_shape.dim[0].size = rng.choice(_SIZES)
            else:
                tensor.tensor_shape.dim.add(size=rng.choice(_SIZES))
            if rng.random() < 0.4:
                tensor.int_val.extend(rng.choice((0, 1, -1, 2**31 - 1)) for _ in range(rng.randint(1, 3)))
            if rng.random() < 0.3:
                tensor.dtype = rng.randint(0, 25)
        elif kind == "shape":
            held.shape.dim.add(size=rng.choice(_SIZES))
        elif kind == "type":
            held.type = rng.choice((0, 1, 2, 3, 4, 7, 9, 10, 14, 19, 20, 21, 101, 103, 120, 999))
        elif kind == "list":
            held.list.i.append(rng.choice(_SIZES))
        else:
            held.i = rng.choice(_SIZES)


def target(folder: Path) -> Target:
    def read(data: bytes) -> None:
        with tf.Graph().as_default():
            tf.import_graph_def(data, name="")

    seeds = graph_defs()
    texts = words()
    ways = [of_bytes(seeds), of_message(texts, NUMBERS), of_nodes(seeds), of_nodes(seeds)]
    return Target(seeds, hostile_graphs(), ways, read)
