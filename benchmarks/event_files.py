"""Reading a million scalars of 50 runs, the viewer beside TensorBoard: `python -m benchmarks.event_files`.

Each reads the same files, in turns, in a process of its own: seconds from the first look at the folder until all
points are in, and the process's peak memory (libraries and all). TensorBoard has two loaders: the one in Python, which
its EventAccumulator uses and which it falls back to, and its data server, which is a program in Rust.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RUNS, TAGS = 50, ("train/loss", "train/accuracy", "eval/loss", "rate")
SYSTEMS = {
    "tfnb": "tfnb, as tf.view reads",
    "server": "TensorBoard's data server (Rust)",
    "python": "TensorBoard's loader (Python)",
}


def write_log(root: Path, points: int) -> None:
    """Event files as a training writes them: an event per scalar."""
    import numpy as np

    import tfnb as tf
    from tfnb.summary.records import frame

    steps = points // RUNS // len(TAGS)
    values = np.random.default_rng(0).normal(size=(RUNS, steps, len(TAGS))).cumsum(1)
    for r in range(RUNS):
        folder = root / f"run{r:02}"
        folder.mkdir(parents=True)
        events = [tf.Event(wall_time=1.7e9, file_version="brain.Event:2")]
        for step in range(steps):
            for k, tag in enumerate(TAGS):
                value = tf.Summary.Value(tag=tag, simple_value=float(values[r, step, k]))
                events.append(tf.Event(wall_time=1.7e9 + step / 10, step=step, summary=tf.Summary(value=[value])))
        data = b"".join(frame(e.SerializeToString()) for e in events)
        (folder / "events.out.tfevents.1700000000.host").write_bytes(data)


def read_by_tfnb(folder: str) -> float:
    """Seconds."""
    import tfnb as tf
    from tfnb.notebook.viewer.sources import sources_of

    tf.Event()  # as any program that logs has loaded protobuf
    start = time.perf_counter()
    (source,) = sources_of(folder)
    took = time.perf_counter() - start
    assert len(source.runs) == RUNS
    return took


def read_by_python(folder: str) -> float:
    """Seconds, with the limits on points that TensorBoard sets itself."""
    from tensorboard.backend.event_processing import plugin_event_multiplexer

    start = time.perf_counter()
    loader = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"scalars": 1000})
    loader.AddRunsFromDirectory(folder)
    loader.Reload()
    took = time.perf_counter() - start
    assert len(loader.Runs()) == RUNS
    return took


def read_by_server(folder: str) -> tuple[float, int]:
    """Seconds until the server tells the last step of every curve; kilobytes of its peak."""
    from tensorboard import context
    from tensorboard.data import server_ingester
    from tensorboard.util import grpc_util

    made: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen
    start = time.perf_counter()

    def noted(*args: Any, **how: Any) -> Any:
        made.append(popen(*args, **how))
        return made[-1]

    server_ingester.subprocess.Popen = noted
    ingester = server_ingester.SubprocessServerDataIngester(
        server_ingester.get_server_binary(),
        folder,
        reload_interval=0,
        channel_creds_type=grpc_util.ChannelCredsType.LOCAL,
        samples_per_plugin={"scalars": 1000},
    )
    # The client looks for the port at once and then each half second: ask often instead, or that is what is measured.
    sleep, server_ingester.time.sleep = time.sleep, lambda _s: sleep(0.005)
    try:
        ingester.start()
    finally:
        server_ingester.time.sleep = sleep
    provider, last = ingester.data_provider, int(Path(folder, "last").read_text())
    while True:
        found = provider.list_scalars(context.RequestContext(), experiment_id="", plugin_name="scalars")
        ends = [series.max_step for tags in found.values() for series in tags.values()]
        if len(ends) == RUNS * len(TAGS) and min(ends) == last:
            break
        time.sleep(0.01)
    took = time.perf_counter() - start
    peak = _peak(made[0].pid)
    made[0].terminate()
    return took, peak


def _peak(pid: int | str) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def measure(system: str, folder: str) -> tuple[float, float]:
    """(seconds, MB at the peak) of this process's reading."""
    if system == "server":
        took, peak = read_by_server(folder)
        return took, peak / 1024
    took = {"tfnb": read_by_tfnb, "python": read_by_python}[system](folder)
    return took, _peak("self") / 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.event_files", description=__doc__)
    parser.add_argument("system", nargs="?", choices=SYSTEMS, help="only measure this one here")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    if args.system:
        print(*measure(args.system, args.folder))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_log(Path(folder), args.points)
        (Path(folder) / "last").write_text(str(args.points // RUNS // len(TAGS) - 1))
        found: dict[str, list[tuple[float, float]]] = {s: [] for s in SYSTEMS}
        for _ in range(args.rounds):
            for system in SYSTEMS:
                command = [sys.executable, "-m", "benchmarks.event_files", system, folder]
                ran = subprocess.run(command, capture_output=True, text=True, check=True)
                seconds, peak = map(float, ran.stdout.split()[-2:])
                found[system].append((seconds, peak))
    print(f"{args.points:,} scalars of {RUNS} runs, median of {args.rounds} rounds")
    ours = statistics.median(s for s, _ in found["tfnb"])
    for system, text in SYSTEMS.items():
        seconds, peak = (statistics.median(x) for x in zip(*found[system], strict=True))
        print(f"{text:34} {seconds:7.2f} s {seconds / ours:7.1f}x {peak:7.0f} MB")


if __name__ == "__main__":
    main()
