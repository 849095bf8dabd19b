"""What a TensorFlow makes of files: `PYTHON run.py FOLDER OUT.jsonl [--module tfnb] [--limit 60]`.

Pictures are decoded in every way, SavedModels and graphs are loaded and run on numbers drawn from their names. It runs
under Python 3.7 with TensorFlow 1.15, under TensorFlow 2 and under tfnb alike. A child does the work, so that a file
which ends or stops it is told as such, and the next child goes on with the next file.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import queue
import re
import subprocess
import sys
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp")
GRAPHS = (".pb", ".pbtxt", ".meta")
MODEL = ("saved_model.pb", "saved_model.pbtxt")
CHANNELS = (0, 1, 3, 4)
SAMPLES = 200  # values that are kept of a result, at equal distances
FETCHES = 12  # results of a graph
SKIPPED = (
    "Placeholder",
    "PlaceholderWithDefault",
    "PlaceholderV2",
    "Const",
    "NoOp",
    "Assert",
    "SaveV2",
    "RestoreV2",
    "WriteFile",
)


def kind_of(path: str) -> str:
    if os.path.isdir(path):
        return "model"
    end = os.path.splitext(path)[1].lower()
    return "picture" if end in PICTURES else "graph" if end in GRAPHS else "picture"


def inputs_of(folder: str) -> Iterator[str]:
    """Yields the files and SavedModels below a folder."""
    for root, folders, names in os.walk(folder):
        folders.sort()
        if any(name in MODEL for name in names):
            folders[:] = []
            yield root
        else:
            for name in sorted(names):
                if os.path.splitext(name)[1].lower() in ("", *PICTURES, *GRAPHS):
                    yield os.path.join(root, name)


def told(value: Any) -> list:
    """Returns a result as JSON: dtype, shape, some of its values, and a digest of them all."""
    value = np.asarray(value)
    if value.dtype == object:
        flat = [v.hex() if isinstance(v, bytes) else str(v) for v in value.ravel().tolist()]
        digest = hashlib.sha1("/".join(flat).encode()).hexdigest()[:10]
        return ["string", list(value.shape), flat[:SAMPLES], digest]
    digest = hashlib.sha1(np.ascontiguousarray(value).tobytes()).hexdigest()[:10]
    flat = value.ravel()[:: max(value.size // SAMPLES, 1)][:SAMPLES]
    flat = flat.astype(np.float64) if flat.dtype.kind in "fV" else flat
    return [
        str(value.dtype),
        list(value.shape),
        [v if isinstance(v, (int, bool)) else repr(v) for v in flat.tolist()],
        digest,
    ]


def attempt(function: Callable[[], Any]) -> Any:
    """Returns what a function gives, or its error as {"error": class, "says": message}."""
    try:
        return function()
    except Exception as error:
        return {"error": type(error).__name__, "says": str(error)[:300]}


class Pictures:
    """Decodes pictures by each op, with each number of channels and type."""

    def __init__(self, tf: Any) -> None:
        self.graph = tf.Graph()
        self.ops = {}
        with self.graph.as_default():
            self.contents = tf.placeholder(tf.string, [])
            for n in CHANNELS:
                for dtype in (tf.uint8, tf.uint16):
                    self.ops[f"png {n} {dtype.name}"] = tf.image.decode_png(self.contents, n, dtype)
                if n != 4:
                    self.ops[f"jpeg {n}"] = tf.image.decode_jpeg(self.contents, n)
                if n != 1:
                    self.ops[f"bmp {n}"] = tf.image.decode_bmp(self.contents, n)
            self.ops["gif"] = tf.image.decode_gif(self.contents)
            self.ops["jpeg shape"] = shape = tf.image.extract_jpeg_shape(self.contents)
            window = tf.stack([shape[0] // 4, shape[1] // 3, shape[0] // 2 + 1, shape[1] // 2 + 1])
            self.ops["jpeg crop"] = tf.image.decode_and_crop_jpeg(self.contents, window)
            for ratio in (2, 4, 8):
                self.ops[f"jpeg ratio {ratio}"] = tf.image.decode_jpeg(self.contents, ratio=ratio)
            for method in ("INTEGER_FAST", "INTEGER_ACCURATE"):
                self.ops[f"jpeg dct {method}"] = tf.image.decode_jpeg(self.contents, dct_method=method)
            self.ops["jpeg not fancy"] = tf.image.decode_jpeg(self.contents, fancy_upscaling=False)
            for n in (0, 3):
                self.ops[f"any {n}"] = tf.image.decode_image(self.contents, n)
            self.ops["any float32"] = tf.image.decode_image(self.contents, dtype=tf.float32)
            self.session = tf.Session()

    def run(self, path: str) -> dict:
        with open(path, "rb") as file:
            data = file.read()
        ends = {b"\x89PNG": "png", b"\xff\xd8\xff\xe0": "jpeg", b"\xff\xd8\xff\xe1": "jpeg", b"GIF8": "gif"}
        own = ends.get(data[:4], "jpeg" if data[:3] == b"\xff\xd8\xff" else "bmp" if data[:2] == b"BM" else "png")
        ops = {
            name: op
            for name, op in self.ops.items()
            if name.startswith((own, "any", "jpeg") if own == "png" else (own, "any"))
        }
        return {
            name: attempt(lambda op=op: told(self.session.run(op, {self.contents: data}))) for name, op in ops.items()
        }


def value_for(name: str, dtype: str, shape: Any) -> Any:
    """Returns a value for an input, drawn from its name: as small numbers as most graphs take."""
    rng = np.random.RandomState(zlib.crc32(name.encode()) & 0x7FFFFFFF)
    sizes = [2 if n in (None, -1) else int(n) for n in (shape if shape is not None else [2])]
    if int(np.prod(sizes)) > 1 << 24:
        raise ValueError(f"an input of {sizes}")
    if dtype == "string":
        return np.full(sizes, b"a b", object)
    if dtype == "bool":
        return rng.rand(*sizes) > 0.5
    if "int" in dtype:
        return rng.randint(0, 3, sizes).astype(dtype)
    return rng.rand(*sizes).astype(dtype) if sizes else np.dtype(dtype).type(rng.rand())


def shape_of(tensor: Any) -> Any:
    return None if tensor.shape.ndims is None else tensor.shape.as_list()


def run_model(tf: Any, path: str) -> dict:
    """Loads each graph of a SavedModel, and runs its signatures."""
    name = next(n for n in MODEL if os.path.exists(os.path.join(path, n)))
    tag_sets = tags_of(os.path.join(path, name))
    results = {}
    for tags in tag_sets:
        with tf.Graph().as_default(), tf.Session() as session:
            meta = attempt(partial(tf.saved_model.loader.load, session, tags, path))
            if isinstance(meta, dict):
                results["load " + " ".join(tags)] = meta
                continue
            results["load " + " ".join(tags)] = "loaded"
            for key in sorted(meta.signature_def):
                done = attempt(partial(signature, session, meta.signature_def[key]))
                results["{} {}".format(" ".join(tags), key)] = done
    return results


def tags_of(path: str) -> list:
    """Returns the tags of the graphs of a SavedModel, read field by field, since tfnb has no such message."""
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".pbtxt"):
        parts = re.split(rb"\nmeta_graphs|^meta_graphs", data)[1:]
        return [[t.decode() for t in re.findall(rb'\n\s+tags: "([^"]*)"', p)] for p in parts]
    found = []
    for number, meta in fields(data):
        if number == 2:
            info = [v for n, v in fields(meta) if n == 1]
            found.append([v.decode() for n, v in fields(info[0]) if n == 4] if info else [])
    return found


def fields(data: bytes) -> Iterator[tuple]:
    """Yields the number and the content of a message's fields."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or number()
            yield tag >> 3, data[at : at + size]
            at += size


def signature(session: Any, definition: Any) -> list:
    graph, feeds = session.graph, {}
    for key in sorted(definition.inputs):
        info = definition.inputs[key]
        tensor = graph.get_tensor_by_name(info.name)
        if not info.name.startswith(("ParseExample", "parse")):
            feeds[tensor] = value_for(key, tensor.dtype.base_dtype.name, shape_of(tensor))
    names = sorted(definition.outputs)
    values = session.run(
        [graph.get_tensor_by_name(definition.outputs[k].name) for k in names if definition.outputs[k].name.count(":")],
        feeds,
    )
    return [told(v) for v in values]


def run_graph(tf: Any, path: str) -> dict:
    """Imports a graph and computes what nothing reads."""
    with tf.Graph().as_default() as graph:
        load_graph(tf, path)
        with tf.Session() as session:
            results = {"import": f"{len(graph.get_operations())} nodes"}
            if os.path.splitext(path)[1] == ".meta":
                results["initialise"] = attempt(lambda: initialised(tf, session))
            feeds = {}
            for op in graph.get_operations():
                if op.type in ("Placeholder", "PlaceholderV2"):
                    tensor = op.outputs[0]
                    feeds[tensor] = attempt(lambda t=tensor: value_for(t.op.name, t.dtype.base_dtype.name, shape_of(t)))
            feeds = {t: v for t, v in feeds.items() if not isinstance(v, dict)}
            for tensor in last(graph):
                results[tensor.name] = attempt(lambda t=tensor: told(session.run(t, feeds)))
        results["random"] = any(
            "Random" in op.type or op.type in ("Multinomial", "TruncatedNormal") for op in graph.get_operations()
        )
        return results


def load_graph(tf: Any, path: str) -> None:
    text_format = importlib.import_module("google.protobuf.text_format")
    if path.endswith(".meta"):
        tf.train.import_meta_graph(path, clear_devices=True)
        return
    message = tf.GraphDef()
    with open(path, "rb") as file:
        content = file.read()
    if path.endswith(".pbtxt"):
        text_format.Parse(content.decode(), message)
    else:
        message.ParseFromString(content)
    for node in message.node:
        node.device = ""
    tf.import_graph_def(message, name="")


def initialised(tf: Any, session: Any) -> str:
    session.run(tf.tables_initializer())
    variables = tf.global_variables() + tf.local_variables()
    for v in variables:  # the same values here and there, whatever the initializers draw
        shape = v.shape.as_list()
        v.load(value_for(v.op.name, v.dtype.base_dtype.name, shape), session)
    return f"{len(variables)} variables"


def last(graph: Any) -> list:
    """Returns some of the tensors that nothing reads, by name."""
    read = {t for op in graph.get_operations() for t in op.inputs}
    found = []
    for op in sorted(graph.get_operations(), key=lambda op: op.name):
        state = re.search("Save|Summary|^Assign|^(Resource)?(Sparse)?Apply", op.type)
        if op.type in SKIPPED or state or "save/" in op.name:
            continue
        for t in op.outputs:
            if (
                t not in read
                and t.dtype.base_dtype.name not in ("resource", "variant")
                and not t.dtype.name.endswith("_ref")
            ):
                found.append(t)
    return found[:FETCHES]


def child(module: str) -> None:
    """Reads paths, and writes for each a line with the result."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    warnings.filterwarnings("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    tf = importlib.import_module(module)
    if module == "tensorflow.compat.v1":
        tf.disable_v2_behavior()
    if hasattr(tf, "logging"):
        tf.logging.set_verbosity("ERROR")
    pictures = Pictures(tf)
    runs = {
        "picture": pictures.run,
        "model": lambda path: run_model(tf, path),
        "graph": lambda path: run_graph(tf, path),
    }
    for line in sys.stdin:
        path = line.rstrip("\n")
        out.write(json.dumps(attempt(partial(runs[kind_of(path)], path))) + "\n")
        out.flush()


class Child:
    """A process that works on one file after the other."""

    def __init__(self, module: str) -> None:
        command = [sys.executable, os.path.abspath(__file__), "--child", module]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def ask(self, path: str, limit: float) -> Any:
        """Returns the result for a file; None when the process ended or took longer than `limit` seconds."""
        try:
            self.process.stdin.write(path + "\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=limit)
        except (OSError, queue.Empty):
            line = ""
        return json.loads(line) if line else None

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--module", default="tensorflow", help="tensorflow, tensorflow.compat.v1 or tfnb")
    parser.add_argument("--limit", type=float, default=60, help="seconds for a file")
    given = parser.parse_args()
    worker, count = Child(given.module), 0
    with open(given.out, "w") as file:  # a line for each file, so that nothing is lost when it is stopped
        for path in inputs_of(given.folder):
            found = worker.ask(path, given.limit)
            if found is None:
                worker.close()
                worker, found = Child(given.module), {"error": "ended", "says": "the process ended or took too long"}
            file.write(json.dumps([os.path.relpath(path, given.folder), found]) + "\n")
            file.flush()
            count += 1
    worker.close()
    print(count, "files")


if __name__ == "__main__":
    child(sys.argv[2]) if sys.argv[1:2] == ["--child"] else main()
