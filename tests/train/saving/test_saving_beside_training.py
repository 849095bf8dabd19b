"""How long steps take while a checkpoint is written beside them."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl
MEGABYTES = 64


def seconds(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def longest_step(saver, session, step, path, meta):
    """(seconds of the longest step while a checkpoint is written, how many there were)."""
    saver.save_async(session, path, 1, write_meta_graph=meta)
    steps = []
    while not saver._pending.done():
        steps.append(seconds(lambda: session.run(step)))
    saver.wait()
    return max(steps), len(steps)


@pytest.mark.not_compared("steps run for as long as a save takes")
def test_no_step_waits_for_the_disk(tmp_path, capsys):
    """While 64 MB are checked, written and synced the steps go on, none of them nearly as long as the save."""
    for k in range(4):
        tf.Variable(np.zeros((MEGABYTES << 20) // 16, np.float32), name=f"v{k}")
    small = tf.Variable(np.zeros(1000, np.float32))
    step = small.assign_add(np.ones(1000, np.float32))
    saver = tf.train.Saver(max_to_keep=1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        path = str(tmp_path / "m")
        for _ in range(4):  # the machine may be busy with something else
            alone = seconds(lambda: saver.save(session, path, 0, write_meta_graph=False))
            longest, count = longest_step(saver, session, step, path, False)
            if longest < 0.5 * alone:
                break
        with_graph, _ = longest_step(saver, session, step, path, True)
        saver.close()
    with capsys.disabled():
        sys.stderr.write(
            f"\n{MEGABYTES} MB: a save takes {alone * 1e3:.0f} ms; the longest of {count} steps beside it "
            f"{longest * 1e3:.0f} ms, {with_graph * 1e3:.0f} ms with the MetaGraph\n"
        )
    assert count >= 5
    assert longest < 0.5 * alone
