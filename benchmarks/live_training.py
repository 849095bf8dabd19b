"""The kernel's side of `benchmarks.live_viewer`: a training in blocks of some seconds, watched and not in turns."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from IPython.display import clear_output

import tfnb as tf
from benchmarks.programs import lenet_train, mlp

TRAININGS = {"LeNet": (lenet_train, 1), "MLP": (mlp, 10)}  # and how many steps there are per summary
_GOING = 2.0  # seconds that are not measured while a view goes
_TICKS = os.sysconf("SC_CLK_TCK")

Log = Callable[[int, float], None]
End = Callable[[], None]


def _nothing() -> None:
    pass


def viewer(watched: bool) -> tuple[Log, End]:
    """Summaries of three scalars into files; the viewer shows them, or there is none."""
    folder = tempfile.mkdtemp(prefix="tfnb-live-")
    writer = tf.summary.FileWriter(folder)
    noise = np.random.default_rng(0)
    view = tf.view(writer) if watched else None

    def log(step: int, loss: float) -> None:
        value = loss + 0.1 * noise.standard_normal()
        told = {"train/loss": value, "train/accuracy": 1 - value, "train/rate": 0.1 * 0.5 ** (step // 1000)}
        values = [tf.Summary.Value(tag=tag, simple_value=v) for tag, v in told.items()]
        writer.add_summary(tf.Summary(value=values), step)

    def end() -> None:
        if view is not None:
            view.close()
        writer.close()
        shutil.rmtree(folder)

    return log, end


def loss_plot(watched: bool) -> tuple[Log, End]:
    """A loss plot, or nothing."""
    if not watched:
        return lambda _step, _loss: None, _nothing
    plot = tf.notebook.LossPlot()
    noise = np.random.default_rng(0)
    return lambda step, loss: plot.add(step, loss=loss + 0.1 * noise.standard_normal()), plot.close


WAYS = {"viewer": viewer, "loss plot": loss_plot}


def _seconds(stat: Path) -> float:
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def processor() -> dict[str, float]:
    """Seconds of processor time by what took it: threads of this kernel, and other programs by their names."""
    found: dict[str, float] = {}
    names = {t.native_id: t.name for t in threading.enumerate()}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        pid = int(stat.parent.name)
        try:
            if pid == os.getpid():
                for task in stat.parent.glob("task/*/stat"):
                    comm = task.read_text().partition("(")[2].rpartition(")")[0]
                    name = f"kernel: {names.get(int(task.parent.name), comm)}"
                    found[name] = found.get(name, 0.0) + _seconds(task)
                continue
            command = (stat.parent / "cmdline").read_bytes()
            kind = re.search(rb"--type=([\w-]+)", command)
            if re.match(rb"[^\0 ]*chrom", command):
                name = f"browser: {kind.group(1).decode() if kind else 'main'}"
            elif b"\0jupyterlab\0" in command:
                name = "Jupyter's server"
            else:
                continue
            found[name] = found.get(name, 0.0) + _seconds(stat)
        except OSError:  # it has ended
            continue
    return found


def block(step: Callable[[], Any], every: int, way: str, watched: bool, after: float, seconds: float) -> dict[str, Any]:
    """Trains for some seconds; seconds per step, when that was, and what the processors did.

    after: seconds for which a view is there before they are counted.
    """
    clear_output(wait=True)
    log, end = WAYS[way](watched)
    counted, start, before = 0, 0.0, {}
    begin, k = time.perf_counter(), 0
    settling = after if watched else _GOING
    while True:
        loss, _ = step()
        if k % every == 0:
            log(k, float(loss))
        k += 1
        now = time.perf_counter()
        if not counted and now - begin > settling:
            before, start, counted = processor(), time.time(), k
            begin_counted = time.perf_counter()
        elif counted and now - begin_counted > seconds:
            break
    took = (time.perf_counter() - begin_counted) / (k - counted)
    after, stop = processor(), time.time()
    end()
    used = {name: (after[name] - before.get(name, 0.0)) / (stop - start) for name in after}
    return {"step": took, "start": start, "stop": stop, "used": used}


def measure(training: str, way: str, pairs: int, after: float, seconds: float, into: str) -> None:
    """Measures pairs of blocks, of which one is watched, first the one and then the other first."""
    make, every = TRAININGS[training]
    step = make(tf)
    block(step, every, way, True, 3.0, 4.0)  # BokehJS starts; kernels are compiled
    found = []
    for k in range(pairs):
        order = (True, False) if k % 2 else (False, True)
        found.append({str(watched): block(step, every, way, watched, after, seconds) for watched in order})
    Path(into + ".part").write_text(json.dumps(found))
    os.replace(into + ".part", into)
