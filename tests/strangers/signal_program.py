"""A program that gets signals at any moment of its steps, and whose handlers do what programs' handlers do.

`python -m tests.strangers.signal_program N SEED [KIND ...]` gets N signals, of 12 numbers, and prints for each reaction how
often it was right. It ends with an error at the first signal that is lost, handled twice, or whose exception does not
come out of the step as itself, and with the stacks of all threads when a step does not come back.
"""

from __future__ import annotations

import collections
import faulthandler
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time

import numpy as np

import tfnb as tf

NUMBERS = [
    getattr(signal, f"SIG{name}") for name in "HUP INT QUIT USR1 USR2 ALRM VTALRM PROF TERM WINCH URG IO".split()
]
REACTIONS = ["raise", "exit", "run", "save", "close"]
_PATIENCE = 20.0  # seconds in which any single signal must have been handled


class TimeUpError(Exception):
    """What a time limit raises."""


class Program:
    """A graph with steps of many kinds, and a session that is made anew when a handler has closed it."""

    def __init__(self, rng: random.Random, folder: str) -> None:
        self.rng, self.folder = rng, folder
        self.x = tf.placeholder(tf.float32, [None])
        self.v, self.w = tf.Variable(np.int64(0)), tf.Variable(np.int64(0))
        self.handled = tf.Variable(np.int64(0))
        self.count = tf.assign_add(self.handled, 1)
        self.both = tf.group(tf.assign_add(self.v, 1), tf.assign_add(self.w, 1))
        self.queue = tf.FIFOQueue(50, tf.float32)
        self.puts, self.takes = self.queue.enqueue(1.0), self.queue.dequeue()
        self.nothing = tf.FIFOQueue(5, tf.float32).dequeue()
        self.function = tf.py_func(lambda a: a + 1, [self.x], tf.float32)
        self.two = [tf.py_func(lambda a, k=k: time.sleep(0.002) or a + k, [self.x], tf.float32) for k in (1, 2)]
        one = tf.py_func(lambda: np.int32(1), [], tf.int32)
        self.loop = tf.while_loop(
            lambda i: i < 30, lambda i: i + one, [tf.constant(0)], shape_invariants=[tf.TensorShape(None)]
        )
        self.counting = tf.while_loop(lambda i: i < 20_000, lambda i: i + 1, [tf.constant(0)])
        self.branch = tf.cond(tf.reduce_sum(self.x) > 0, lambda: self.x * 2, lambda: self.x * 3)
        rows = tf.data.Dataset.range(10**7)
        self.rows = rows.map(lambda k: k * 2).repeat().make_one_shot_iterator().get_next()
        self.ahead = rows.map(lambda k: k * 2, 2).prefetch(2).make_one_shot_iterator().get_next()
        mapped = rows.map(lambda k: tf.py_func(lambda a: a + 1, [k], tf.int64))
        self.mapped = mapped.make_one_shot_iterator().get_next()
        self.init = tf.global_variables_initializer()
        self.saver = tf.train.Saver(max_to_keep=2)
        self.fed = [tf.placeholder(tf.float32, []) for _ in range(2)]
        self.parts = [self.fed[0] + 1.0, self.fed[0] * self.fed[1]]
        self.n_saved = 0
        self.open()

    def open(self) -> None:
        self.session = tf.Session()
        self.session.run(self.init)

    def kinds(self):
        run, ones = lambda *args: self.session.run(*args), {self.x: np.ones(3, np.float32)}
        return {
            "update": lambda: run(self.both),
            "queue": lambda: (run([self.puts]), run(self.takes)),
            "empty queue": lambda: run(self.nothing),
            "function": lambda: run(self.function, ones),
            "functions in threads": lambda: run(self.two, ones),
            "loop of functions": lambda: run(self.loop),
            "loop": lambda: run(self.counting),
            "branch": lambda: run(self.branch, ones),
            "new shape": lambda: run(self.branch, {self.x: np.ones(self.rng.randint(1, 10**6), np.float32)}),
            "new step": lambda: run(self.x * self.rng.random() + 1, ones),
            "data set": lambda: run(self.rows),
            "data set in threads": lambda: run(self.ahead),
            "data set of functions": lambda: run(self.mapped),
            "partial run": self.run_in_parts,
            "deadline": lambda: self.run_late(),
            "saving": lambda: self.save("own"),
            "new session": self.run_elsewhere,
        }

    def run_in_parts(self) -> None:
        handle = self.session.partial_run_setup(self.parts, self.fed)
        assert self.session.partial_run(handle, self.parts[0], {self.fed[0]: 2.0}) == 3.0
        assert self.session.partial_run(handle, self.parts[1], {self.fed[1]: 4.0}) == 8.0

    def run_late(self) -> None:
        try:
            self.session.run(self.nothing, options=tf.RunOptions(timeout_in_ms=3))
        except tf.errors.DeadlineExceededError:
            return

    def run_elsewhere(self) -> None:
        with tf.Graph().as_default(), tf.Session() as session:
            session.run(tf.constant(1) + 1)

    def save(self, name: str) -> None:
        self.n_saved += 1
        self.saver.save(self.session, os.path.join(self.folder, name), global_step=self.n_saved)

    def react(self, reaction: str) -> None:
        if reaction == "raise":
            raise TimeUpError("the time is up")
        if reaction == "exit":
            sys.exit("the machine is taken away")
        if reaction == "run":
            self.session.run(self.count)
        elif reaction == "save":
            self.save("last")
        else:
            self.session.close()


def main(n: int, seed: int, wanted: list[str]) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        program = Program(rng, folder)
        kinds = program.kinds()
        for name in list(kinds):
            if name != "empty queue":
                kinds[name]()
        right: collections.Counter[str] = collections.Counter()
        n_counted = 0
        for k in range(n):
            kind, reaction = rng.choice(wanted or list(kinds)), REACTIONS[k % len(REACTIONS)]
            if kind == "empty queue" and reaction in ("run", "save"):
                kind = "queue"
            faulthandler.dump_traceback_later(_PATIENCE, exit=True)
            sys.stderr.write(f"{k} {kind}: {reaction}\n")
            # "every millisecond": the moments walk through the first 15 ms of a step
            _try(program, kinds[kind], reaction, NUMBERS[k % len(NUMBERS)], (k % 15 + rng.random()) / 1000)
            n_counted += reaction == "run"
            if reaction == "close":
                program.open()
                n_counted = 0
            v, w, count = program.session.run([program.v, program.w, program.handled])
            assert v == w, f"a step was done by half: {v}, {w}"
            assert count == n_counted, f"{count} handlers have counted, not {n_counted}"
            right[reaction] += 1
        program.session.close()
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(json.dumps(right))


def _try(program: Program, step, reaction: str, number: int, delay: float) -> None:
    called: list[BaseException | None] = []

    def handler(*_) -> None:
        called.append(None)
        try:
            program.react(reaction)
        except BaseException as e:
            called[-1] = e
            raise

    before = signal.signal(number, handler)
    sender = threading.Timer(delay, os.kill, [os.getpid(), number])
    came: BaseException | None = None
    try:
        sender.start()
        while not called:
            step()
    except BaseException as e:
        came = e
    sender.join()
    assert signal.getsignal(number) is handler
    signal.signal(number, before)
    assert len(called) == 1, f"the handler was called {len(called)} times, and {came!r} was raised"
    if reaction == "close":
        closed = (tf.errors.CancelledError, tf.errors.FailedPreconditionError, tf.errors.AbortedError)
        assert called[0] is None and (came is None or isinstance(came, closed)), (called[0], came)
    else:
        assert came is called[0], f"{called[0]!r} was raised in the handler, and {came!r} by the step"


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
