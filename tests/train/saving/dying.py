"""A program that saves again and again until it is killed: `dying.py FOLDER MODE`; prints each step it finished."""

from __future__ import annotations

import sys

import numpy as np

import tfnb as tf

folder, mode = sys.argv[1:]
step = tf.Variable(0, name="step")
big = tf.Variable(np.zeros(300_000, np.float32), name="big")
forward = tf.group(step.assign_add(1), big.assign_add(tf.ones([300_000])))
saver = tf.train.Saver(max_to_keep=2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    latest = tf.train.latest_checkpoint(folder)
    if latest:
        saver.restore(sess, latest)
        saver.recover_last_checkpoints(tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        sess.run(forward)
        now = int(sess.run(step))
        if mode == "async":
            saver.save_async(sess, f"{folder}/m", now)
            saver.wait()
        elif mode == "same":
            saver.save(sess, f"{folder}/m")
        else:
            saver.save(sess, f"{folder}/m", now)
        sys.stdout.write(f"{now}\n")
        sys.stdout.flush()
