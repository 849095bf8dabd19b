"""Long life: sessions, graphs, threads and views come and go, a million steps run; what is left of them is measured.

`python scripts/soak.py` prints how memory, file descriptors and threads grow per 10,000 of each, after a warm-up, and
exits with 1 when something grows past its limit. `--short` takes half a minute, `--only NAME ...` chooses. Each part
runs in a process of its own, and its line is printed when the part ends.

Memory is measured after the collector and the C library have given back what is free, in two ways. "resident" is what
the process has of the machine's memory. "allocated" is what its code has asked for and not given back; it counts memory
that has never been touched. Growth is the difference between the medians of the first and the last windows.

Two parts hold memory for a reason that is not a leak of tfnb's, so what remains without that reason is measured beside
them: the nodes of a graph that grows, and what PoCL keeps of each program that was built and released. Their limit is
for what they grow beyond that. They are judged by what is allocated: PoCL allocates 2 MB for a program and touches half
of it, so where programs follow each other in the same memory, resident memory rises by 1 MB for each of the 256
programs that are kept, and then stays.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import gc
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyopencl as cl

import tfnb as tf
from tfnb.devices.opencl.build import kernels_root
from tfnb.devices.opencl.platforms import units
from tfnb.settings import load_settings

WINDOWS = 20  # of which the first and the last quarter are compared
LIMIT = 1.0  # MB per 10,000
PROGRAMS = 60  # different programs of the parts that make new graphs and fetches: all are kept
KEPT = 256  # generated programs that tfnb's library keeps
FETCHES = 500  # of a graph
REBUILT = 300  # different programs of the part that builds them again: more than are kept


class Part(NamedTuple):
    """`make()` gives what is done once per number; `warm` of them come before the `count` that are measured.

    `floor()` gives what is done to measure the growth that is not judged, and `of` says what that growth is.
    """

    make: Callable[[], Callable[[int], None]]
    count: int
    warm: int
    short: int
    unit: str
    floor: Callable[[], Callable[[int], None]] | None = None
    of: str = ""


class Growth(NamedTuple):
    """Megabytes per 10,000; `allocated` is 0 where the C library does not say."""

    resident: float
    allocated: float
    descriptors: int
    threads: int
    seconds: float


def resident() -> float:
    """Megabytes of this process."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class _MallInfo(ctypes.Structure):
    """The C library's `struct mallinfo2`."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    )


def allocated() -> float:
    """Megabytes that `malloc` has given out; Python's objects are among them under PYTHONMALLOC=malloc."""
    tell = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if tell is None:
        return 0.0
    tell.restype = _MallInfo
    info = tell()
    return float(info.uordblks + info.hblkhd) / 2**20


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def measure(once: Callable[[int], None], count: int, warm: int) -> Growth:
    """What `count` times leave behind."""
    for n in range(warm):
        once(n)
    enlarge_interned_strings()
    resident()
    fds, threads, begin = descriptors(), threading.active_count(), time.monotonic()
    seen, given = [], []
    width = max(count // WINDOWS, 1)
    for window in range(WINDOWS):
        for n in range(width):
            once(warm + window * width + n)
        seen.append(resident())
        given.append(allocated())
    return Growth(
        _per_10_000(seen, width),
        _per_10_000(given, width),
        descriptors() - fds,
        threading.active_count() - threads,
        time.monotonic() - begin,
    )


def enlarge_interned_strings() -> None:
    """Makes Python's table of interned strings so large that it does not double during a measurement.

    It keeps the places of strings that are gone, and doubles when all places are used: 0.9 MB in one step.
    """
    strings = [sys.intern(f"interned string {n}") for n in range(150_000)]
    strings.clear()


def _per_10_000(seen: list[float], width: int) -> float:
    quarter = WINDOWS // 4
    grown = statistics.median(seen[-quarter:]) - statistics.median(seen[:quarter])
    return grown / ((WINDOWS - quarter) * width) * 10_000


def temporary_folder() -> str:
    """Creates a folder, which is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="tfnb-soak-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# ---- the parts -----------------------------------------------------------------------------------


def steps() -> Callable[[int], None]:
    g = tf.Graph()
    with g.as_default():
        x = tf.placeholder(tf.float32, [8])
        v = tf.Variable(tf.zeros([8]))
        fetches = [v.assign_add(x), tf.reduce_sum(v)]
        init = tf.global_variables_initializer()
    session = tf.Session(graph=g)
    session.run(init)
    feed = {x: np.ones(8, np.float32)}
    return lambda n: session.run(fetches, feed) and None


def host_steps() -> Callable[[int], None]:
    """Steps with queues, Python functions and branches: those that need the executor."""
    g = tf.Graph()
    with g.as_default():
        x = tf.placeholder(tf.float32, [])
        q = tf.FIFOQueue(5, tf.float32)
        enqueue, dequeue = q.enqueue(x), q.dequeue()
        y = tf.cond(x > 0.0, lambda: x + 1.0, lambda: x - 1.0)
        z = [tf.py_func(lambda a: a, [x], tf.float32), tf.py_func(lambda a: a, [y], tf.float32)]
        # The pool starts a thread whenever all others are busy, those of the step before too, so a busy machine would
        # start its last ones during the measurement. Functions that wait for each other start them before it.
        meeting = threading.Barrier(2 * len(z))
        together = [tf.py_func(lambda a: (meeting.wait(), a)[1], [x], tf.float32) for _ in range(meeting.parties)]
    session = tf.Session(graph=g)
    session.run(together, {x: 0.0})

    def once(n: int) -> None:
        session.run(enqueue, {x: 1.0})
        session.run(dequeue)
        session.run(z, {x: float(n % 3 - 1)})

    return once


def sessions() -> Callable[[int], None]:
    g = tf.Graph()
    with g.as_default():
        v = tf.Variable(tf.ones([1000]))
        y = tf.reduce_sum(v * 2.0)
        q = tf.FIFOQueue(5, tf.float32)
        enqueue, dequeue, function = q.enqueue(1.0), q.dequeue(), tf.py_func(lambda a: a, [y], tf.float32)
        init = tf.global_variables_initializer()

    def once(n: int) -> None:
        session = tf.Session(graph=g)
        session.run(init)
        session.run(y)
        if n % 10 == 0:
            for each in (enqueue, dequeue, function):
                session.run(each)
        if n % 3:
            session.close()  # the others are closed when they are collected

    return once


def graphs() -> Callable[[int], None]:
    """New graphs, whose programs have been seen."""
    return lambda n: new_graph(n % PROGRAMS)


def rebuilt() -> Callable[[int], None]:
    """New graphs, each with a program that the library has released and builds again."""
    return lambda n: new_graph(n % REBUILT)


def new_graph(number: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(tf.ones([100]))
        session.run(tf.global_variables_initializer())
        session.run(tf.reduce_sum(v * float(number)))


def rebuilt_without_tfnb() -> Callable[[int], None]:
    """The same programs as those of `rebuilt`, built by the driver alone, launched once and held as long."""
    folder = temporary_folder()
    os.environ["TFNB_KEEP_SOURCE"] = folder  # tfnb writes each program that it generates into this folder
    for n in range(REBUILT):
        new_graph(n)
    sources = [path.read_text() for path in sorted(Path(folder).glob("*.cl"))]
    unit = units(load_settings())[0]
    device = unit.device_of(unit.inline is not None)
    queue = cl.CommandQueue(unit.context, device)
    memory = cl.Buffer(unit.context, cl.mem_flags.READ_WRITE, 4096)
    held: deque[object] = deque(maxlen=KEPT)

    def once(n: int) -> None:
        program = cl._cl._Program(unit.context, sources[n % len(sources)])
        program._build(options=f"-cl-denorms-are-zero -I {kernels_root()}".encode(), devices=[device])
        for name in program.get_info(cl.program_info.KERNEL_NAMES).split(";"):
            kernel = cl.Kernel(program, name)  # the kernels of `all_kernels` would keep the program
            for k in range(kernel.num_args):
                try:
                    kernel.set_arg(k, memory)
                except cl.Error:  # the argument is a size
                    kernel.set_arg(k, np.int32(1))
            cl.enqueue_nd_range_kernel(queue, kernel, (1,), (1,))
        queue.finish()
        held.append(program)

    return once


def threads() -> Callable[[int], None]:
    g = tf.Graph()
    with g.as_default():
        x = tf.placeholder(tf.float32, [8])
        y = tf.reduce_sum(x * 2.0)
    session = tf.Session(graph=g)
    feed = {x: np.ones(8, np.float32)}

    def once(n: int) -> None:
        thread = threading.Thread(target=session.run, args=(y, feed))
        thread.start()
        thread.join()

    return once


def fetches() -> Callable[[int], None]:
    """Each fetch is new to the session. Each window has a graph, so that all windows end with as many nodes."""
    made: list[object] = []

    def once(n: int) -> None:
        if n % FETCHES == 0:
            for session in made[:1]:
                session.close()  # type: ignore[attr-defined]
            g = tf.Graph()
            with g.as_default():
                made[:] = [tf.Session(graph=g), tf.placeholder(tf.float32, [])]
        session, x = made
        with session.graph.as_default():  # type: ignore[attr-defined]
            y = x * float(n % PROGRAMS)  # type: ignore[operator]
        session.run(y, {x: 1.0})  # type: ignore[attr-defined]

    return once


def growing_graph() -> Callable[[int], None]:
    return grower(runs=True)


def nodes() -> Callable[[int], None]:
    return grower(runs=False)


def grower(runs: bool) -> Callable[[int], None]:
    """Adds a node; runs what was there before it or not."""
    g = tf.Graph()
    session = tf.Session(graph=g)
    with g.as_default():
        v = tf.Variable(tf.ones([10]))
        y = tf.reduce_sum(v)
    session.run(v.initializer)

    def once(n: int) -> None:
        with g.as_default():
            tf.constant(float(n))
        if runs:
            session.run(y)

    return once


def shapes() -> Callable[[int], None]:
    g = tf.Graph()
    with g.as_default():
        x = tf.placeholder(tf.float32, [None, None])
        y = tf.reduce_sum(x * 2.0)
    session = tf.Session(graph=g)
    # 3,660 different shapes, whose sizes do not grow: what is kept of the last ones would grow with them.
    return lambda n: session.run(y, {x: np.ones((n % 60 + 1, n % 61 + 1), np.float32)}) and None


def views() -> Callable[[int], None]:
    """Views of event files and graphs, loss plots and timelines, as a saved notebook has them."""
    folder = temporary_folder()
    with tf.summary.FileWriter(folder) as writer:
        for k in range(5):
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=1.0 / (k + 1))]), k)
    g = tf.Graph()
    with g.as_default():
        x = tf.placeholder(tf.float32, [4, 4], name="x")
        y = tf.reduce_sum(tf.matmul(x, x), name="y")
    metadata = tf.RunMetadata()
    with tf.Session(graph=g) as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: np.ones((4, 4), np.float32)}, options, metadata)
    from tfnb.notebook import LossPlot, show_graph, timeline

    def once(n: int) -> None:
        kind = n % 3
        if n % 50 == 25:  # which takes as long as all the others
            with open(os.devnull, "w") as nowhere:
                plot = LossPlot(stream=nowhere)
                plot.add(1, loss=1.0)
                plot._repr_html_()
                plot.close()
        elif kind == 0:
            with tf.view(folder) as view:
                view._repr_html_()
        elif kind == 1:
            shown = show_graph(g)
            shown._repr_html_()
            shown.close()
        else:
            timeline(metadata)._repr_html_()

    return once


PARTS = {
    "steps": Part(steps, 1_000_000, 20_000, 10_000, "steps"),
    "host steps": Part(host_steps, 20_000, 500, 400, "times three steps"),
    "sessions": Part(sessions, 10_000, 1000, 100, "sessions"),
    "graphs": Part(graphs, 10_000, 1000, 0, "graphs with sessions"),
    "programs": Part(rebuilt, 2_000, 600, 0, "programs built again", rebuilt_without_tfnb, "PoCL alone"),
    "threads": Part(threads, 10_000, 300, 600, "threads, a step each"),
    "fetches": Part(fetches, WINDOWS * FETCHES, 2 * FETCHES, 0, "fetches"),
    "growing graph": Part(growing_graph, 1_000, 100, 400, "runs, a node each", nodes, "the nodes alone"),
    "shapes": Part(shapes, 3_000, 600, 0, "shapes"),
    "views": Part(views, 10_000, 200, 40, "views"),
}


# ---- the whole -----------------------------------------------------------------------------------


def run_part(name: str, short: bool) -> bool:
    """Measures one part and prints its line; did it hold its limit?"""
    part = PARTS[name]
    count = part.short if short else part.count
    warm = min(part.warm, count) if short else part.warm
    grown = measure(part.make(), count, warm)
    judged = grown.resident
    if part.floor is not None:
        floor = measure(part.floor(), count, warm)
        print_line("", count, part.of, floor)
        judged = grown.allocated - floor.allocated
    # Few are measured in a short run, where a few pages more weigh much: allow for 2 MB in all.
    limit = max(LIMIT, 2.0 / count * 10_000) if short else LIMIT
    held = judged <= limit and grown.descriptors <= 0 and grown.threads <= 0
    print_line(name, count, part.unit, grown, f"{judged:>+9.2f} {limit:>6.1f}   {'' if held else 'TOO MUCH'}")
    return held


def print_line(name: str, count: int, what: str, grown: Growth, verdict: str = "") -> None:
    print(
        f"{name:15} {count:>9,} {what:22} {grown.resident:>+9.2f} {grown.allocated:>+9.2f} {grown.descriptors:>+5} "
        f"{grown.threads:>+8} {grown.seconds:>8.0f} {verdict}",
        flush=True,
    )


def chosen(names: list[str], short: bool) -> Iterator[str]:
    for name, part in PARTS.items():
        if (not names or name in names) and (part.short or not short):
            yield name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="few of each, in this process")
    parser.add_argument("--only", nargs="*", default=[], choices=list(PARTS))
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        return not run_part(options.part, options.short)
    print("MB per 10,000")
    print(
        f"{'part':15} {'count':>9} {'of':22} {'resident':>9} {'allocated':>9} {'fds':>5} {'threads':>8} {'seconds':>8} "
        f"{'judged':>9} {'limit':>6}",
        flush=True,
    )
    failed = 0
    cache_folder = temporary_folder()
    for name in chosen(options.only, options.short):
        if options.short:
            failed += not run_part(name, True)
        else:  # a process for each, which has nothing of the others
            command = [sys.executable, __file__, "--part", name]
            environment = {
                **os.environ,
                "PYTHONMALLOC": "malloc",  # so that `allocated` counts Python's objects
                # pyopencl keeps a database of all kernels of this machine, and up to 2 MB of its pages in memory.
                "XDG_CACHE_HOME": cache_folder,
                "TFNB_CACHE_DIR": str(load_settings().cache_path),
            }
            failed += subprocess.run(command, check=False, env=environment).returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
