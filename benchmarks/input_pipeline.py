"""`python -m benchmarks.input_pipeline`: records from disk, ours against TensorFlow's, and beside a training.

Two questions, each answered by an alternating run: how fast are a million small records read in batches, compared
with TensorFlow's tf.data; and does a conv net trained from shuffled TFRecords go as fast as one fed from memory?
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs import _lenet
from benchmarks.worker import _system

RECORDS = 1_000_000
BATCH = 64


def write_records(path: str, n: int) -> None:
    """`n` records of 20 to 69 bytes."""
    import tfnb

    rng = np.random.RandomState(0)
    some = [rng.bytes(20 + i % 50) for i in range(1000)]
    with tfnb.python_io.TFRecordWriter(path) as w:
        for i in range(n):
            w.write(some[i % 1000])


def read_rate(tf: Any, path: str, shuffle: int) -> tuple[float, float]:
    """Records per second of one walk in batches of 1,000, and per second of processor time."""
    with tf.Graph().as_default():
        dataset = tf.data.TFRecordDataset(path)
        if shuffle:
            dataset = dataset.shuffle(shuffle)
        batch = (
            tf.data.make_one_shot_iterator(dataset.batch(1000)).get_next()
            if not hasattr(dataset, "make_one_shot_iterator")
            else dataset.batch(1000).make_one_shot_iterator().get_next()
        )
        count, start, busy = 0, time.perf_counter(), time.process_time()
        with tf.Session() as sess:
            read = sess.make_callable(batch)
            try:
                while True:
                    count += len(read())
            except tf.errors.OutOfRangeError:
                pass
        return count / (time.perf_counter() - start), count / (time.process_time() - busy)


def records_table() -> None:
    """One process per walk and system, in turns. Processor time tells also on a busy machine what a record costs.

    What limits ours is one Python thread: about 0.25 us a record to cut it out of its block, 0.1 us for its checksum,
    0.1 us to put it into a batch, 0.3 us to mix it.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "records")
        write_records(path, RECORDS)
        for shuffle in (0, 10_000):
            rates: dict[str, list[list[float]]] = {"tfnb": [], "tensorflow": []}
            for _ in range(3):
                for system, found in rates.items():
                    command = [sys.executable, "-m", "benchmarks.input_pipeline", system, path, str(shuffle)]
                    run = subprocess.run(command, capture_output=True, text=True, check=True)
                    found.append([float(x) for x in run.stdout.split()])
            (ours, our_cpu), (theirs, their_cpu) = (
                [statistics.median(column) / 1e6 for column in zip(*r, strict=True)] for r in rates.values()
            )
            print(
                f"1 M records, shuffle {shuffle}: ours {ours:.2f} M/s, TensorFlow {theirs:.2f} M/s, ratio "
                f"{ours / theirs:.2f}; per processor second {our_cpu:.2f} M and {their_cpu:.2f} M, ratio "
                f"{our_cpu / their_cpu:.2f}",
                flush=True,
            )


def training_table(rounds: int = 30, steps: int = 10) -> None:
    """Milliseconds of a training step, fed from memory and from shuffled TFRecords, in turns."""
    import tfnb as tf

    rng = np.random.RandomState(0)
    images = rng.randint(0, 256, (2000, 784)).astype(np.uint8)
    labels = rng.randint(0, 10, 2000).astype(np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "train")
        with tf.python_io.TFRecordWriter(path) as w:
            for image, label in zip(images, labels, strict=True):
                w.write(bytes([label]) + image.tobytes())
        with tf.Graph().as_default(), tf.Session() as sess:
            loss, feeds = _lenet(tf, BATCH)
            x, y = feeds
            step = tf.train.AdamOptimizer(1e-4).minimize(loss)
            dataset = tf.data.TFRecordDataset(path).shuffle(1000).repeat().batch(BATCH, drop_remainder=True)

            def decode(records: Any) -> Any:
                raw = tf.reshape(tf.decode_raw(records, tf.uint8), [BATCH, 785])
                pixels = tf.cast(raw[:, 1:], tf.float32) * (1 / 255.0)
                return tf.reshape(pixels, [BATCH, 28, 28, 1]), tf.one_hot(tf.cast(raw[:, 0], tf.int32), 10)

            image, label = dataset.map(decode).prefetch(4).make_one_shot_iterator().get_next()
            sess.run(tf.global_variables_initializer())
            pick = np.random.RandomState(1)
            floats = (images / 255.0).astype(np.float32).reshape(-1, 28, 28, 1)
            one_hot = np.eye(10, dtype=np.float32)[labels]

            def from_memory() -> None:
                at = pick.randint(0, 2000, BATCH)
                sess.run([loss, step], {x: floats[at], y: one_hot[at]})

            # the same graph, its placeholders replaced by the elements
            def from_disk() -> None:
                sess.run([disk_loss, disk_step])

            disk_loss, disk_step = _on(tf, image, label)
            sess.run(tf.global_variables_initializer())
            ways: dict[str, Callable[[], None]] = {"memory": from_memory, "disk": from_disk}
            for way in ways.values():
                for _ in range(5):
                    way()
            times: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(rounds):
                for name, way in ways.items():
                    start = time.perf_counter()
                    for _ in range(steps):
                        way()
                    times[name].append((time.perf_counter() - start) / steps * 1e3)
    memory, disk = (statistics.median(t) for t in times.values())
    ratio = statistics.median(a / b for a, b in zip(times["memory"], times["disk"], strict=True))
    print(
        f"conv net, batch {BATCH}: a step from memory {memory:.1f} ms, from TFRecords {disk:.1f} ms, ratio {ratio:.2f}"
    )


def _on(tf: Any, image: Any, label: Any) -> tuple[Any, Any]:
    """The conv net on tensors: as `_lenet`, with placeholders that default to them."""
    before = tf.placeholder
    tf.placeholder = lambda dtype, shape: tf.placeholder_with_default(image if len(shape) == 4 else label, shape)
    try:
        loss, _ = _lenet(tf, BATCH)
    finally:
        tf.placeholder = before
    return loss, tf.train.AdamOptimizer(1e-4).minimize(loss)


def main() -> None:
    if len(sys.argv) > 1:
        print(*read_rate(_system(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
        return
    records_table()
    training_table()


if __name__ == "__main__":
    main()
