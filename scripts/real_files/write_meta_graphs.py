"""Writes MetaGraphs with tables and data sets, run by a TensorFlow: `PYTHON write_meta_graphs.py FOLDER`.

It made the files of `tests/data/meta_graphs`, whose lists of ops were taken out. Each has outputs out0, out1 and so on,
perhaps an operation "init", and inputs x and h.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[2] if len(sys.argv) > 2 else "tensorflow.compat.v1")
FOLDER = sys.argv[1]
Dataset, lookup = tf.data.Dataset, tf.lookup


def save(name: str, *outputs: Any) -> None:
    for k, output in enumerate(outputs):
        tf.identity(output, name=f"out{k}")
    tf.train.export_meta_graph(os.path.join(FOLDER, f"{name}.meta"))
    tf.reset_default_graph()


def once(name: str, dataset: Any) -> None:
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    save(name, *(element if isinstance(element, tuple) else (element,)))


def write_tables() -> None:
    def pairs() -> Any:
        return lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))

    words = tf.constant(["b", "z", "a"])
    table = lookup.StaticHashTable(pairs(), 7)
    save("static", table.lookup(words), table.size())
    save("vocab", lookup.StaticVocabularyTable(pairs(), 3).lookup(tf.constant(["b", "z", "a"])))
    if hasattr(tf, "contrib"):
        table = tf.contrib.lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=2)
        save("contrib", table.lookup(tf.constant(["a", "z"])))
        table = tf.contrib.lookup.index_to_string_table_from_tensor(["a", "b"], "unk")
        save("contrib2", table.lookup(tf.constant([1, 9], tf.int64)))


def write_data_sets() -> None:
    experimental = tf.data.experimental
    once("map", Dataset.range(10).map(lambda x: x * 2))
    once("pmap", Dataset.range(10).map(lambda x: x * 2, num_parallel_calls=2))
    once("filter", Dataset.range(10).filter(lambda x: tf.equal(x % 3, 1)))
    floats = Dataset.from_tensor_slices(np.arange(10.0).astype("f"))
    once("batch", floats.shuffle(1).repeat(2).batch(3).prefetch(1))
    once("flat", Dataset.range(3).flat_map(lambda x: Dataset.from_tensors(x + 5).repeat(2)))
    once("inter", Dataset.range(3).interleave(lambda x: Dataset.from_tensors(x + 5).repeat(2), cycle_length=2))
    once("zip", Dataset.zip((Dataset.range(4), Dataset.range(5).skip(1))))
    once("pad", Dataset.range(1, 5).map(lambda x: tf.fill([x], x)).padded_batch(2, [None]))
    sums = experimental.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s + x))
    once("scan", Dataset.range(5).apply(sums))
    once("conc", Dataset.range(2).concatenate(Dataset.range(7, 9)))
    once("mb", Dataset.range(9).apply(experimental.map_and_batch(lambda x: x + 1, 4)))


def write_iterators() -> None:
    pairs = Dataset.from_tensor_slices((np.arange(4).astype("f"), np.array(["a", "b", "c", "d"])))
    iterator = tf.data.make_initializable_iterator(pairs.map(lambda x, s: (x + 1.0, s)).batch(2))
    tf.group(iterator.initializer, name="init")
    save("init", *iterator.get_next())
    x, v = tf.placeholder(tf.float32, [None], name="x"), tf.Variable(2.0)
    iterator = tf.data.make_initializable_iterator(Dataset.from_tensor_slices(x).map(lambda e: e * v))
    tf.group(iterator.initializer, name="init")
    save("capture", iterator.get_next())
    handle = tf.placeholder(tf.string, [], name="h")
    tf.data.make_one_shot_iterator(Dataset.range(3).map(lambda x: x + 4)).string_handle(name="sh")
    save("handle", tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next())


if __name__ == "__main__":
    if hasattr(tf, "disable_v2_behavior"):
        tf.disable_v2_behavior()
    os.makedirs(FOLDER, exist_ok=True)
    tf.reset_default_graph()
    write_tables()
    write_data_sets()
    write_iterators()
