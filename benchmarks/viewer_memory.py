"""What whole programs hold of a million scalars of 50 runs: `python -m benchmarks.viewer_memory`.

TensorBoard as its user starts it, with the loader that it chooses itself, beside a kernel in which `tf.view` has run,
and a JupyterLab in which the folder was opened. All processes of a program are added up when it has told the last step
of every curve: their proportional set size, where pages that several processes share are dealt out to them. A kernel
that has imported tfnb, and Jupyter's server, are there whether somebody looks at a log or not; TensorBoard is started
for it. So what they held before is printed too, and the difference is what looking at the log costs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jupyter_client import KernelManager

from benchmarks.event_files import RUNS, TAGS, write_log
from tests.browser.conftest import servers

Held = tuple[dict[str, float], dict[str, float]]  # MB by process: without the log, and with it
SETTLING = 3.0  # seconds from the last answer to the measurement
VIEW = """
view = tf.view({folder!r})
last = [int(s.step[-1]) for run in view._state.runs for s in run.scalars.values()]
"""


def held(leader: int) -> dict[str, float]:
    """MB by process, of a session of processes."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) != leader:
                continue
            pss = (folder / "smaps_rollup").read_text().split("\nPss:")[1].split()[0]
            name = (folder / "comm").read_text().strip()
            found[f"{name} {folder.name}"] = int(pss) / 1024
    return found


def settled(leader: int) -> dict[str, float]:
    time.sleep(SETTLING)
    return held(leader)


@contextlib.contextmanager
def started(command: list[str], folder: str, page: str, wanted: bytes = b"") -> Iterator[int]:
    """A server that runs; its process."""
    quietly = {**os.environ, "PYTHONWARNINGS": "ignore"}
    log = Path(folder) / "said"
    process = servers.start([sys.executable, *command], log, env=quietly)
    try:
        servers.wait_for(page, process, log, wanted)
        yield process.pid
    finally:
        servers.end_group(process)


def of_tensorboard(logs: str, last: int, place: str) -> Held:
    port = servers.free_port()
    at = f"http://127.0.0.1:{port}/data/plugin/scalars"
    command = ["-m", "tensorboard.main", "--logdir", logs, "--port", str(port), "--host=127.0.0.1"]
    with started(command, place, f"{at}/tags", b"run") as leader:
        for run in range(RUNS):
            for tag in TAGS:
                asked = urllib.parse.urlencode({"run": f"run{run:02}", "tag": tag})
                _until(lambda asked=asked: _json(f"{at}/scalars?{asked}")[-1][1] == last)
        return {}, settled(leader)


def of_server(logs: str, last: int, place: str) -> Held:
    port = servers.free_port()
    url = f"http://127.0.0.1:{port}"
    root, name = os.path.split(logs)
    command = [
        *("-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"),
        *(f"--IdentityProvider.token={servers.TOKEN}", f"--ServerApp.root_dir={root}"),
        "--ServerApp.jpserver_extensions={'tfnb.notebook.server': True}",
    ]
    with started(command, place, f"{url}/{servers.STATUS}") as leader:
        before = settled(leader)
        told = {"name": "document-of-the-benchmark", "kind": "events", "path": name, "first": True}
        head = {"Authorization": f"token {servers.TOKEN}"}
        request = urllib.request.Request(f"{url}/tfnb/document", json.dumps(told).encode(), head)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.read().count(b"run49") >= 1
        return before, settled(leader)


def of_kernel(logs: str, last: int, place: str) -> Held:
    manager = KernelManager()
    manager.start_kernel(cwd=os.getcwd(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(60)
        client.execute_interactive("import tfnb as tf", timeout=60)
        before = settled(manager.provisioner.pid)
        client.execute_interactive(VIEW.format(folder=logs), output_hook=lambda _message: None, timeout=120)
        reply = client.execute("", user_expressions={"last": "min(last), max(last), len(last)"}, reply=True, timeout=60)
        told = reply["content"]["user_expressions"]["last"]["data"]["text/plain"]
        assert told == str((last, last, RUNS * len(TAGS))), told
        return before, settled(manager.provisioner.pid)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _json(page: str) -> Any:
    with urllib.request.urlopen(page, timeout=60) as answer:
        return json.load(answer)


def _until(true: Any, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError, IndexError):
            if true():
                return
        time.sleep(0.1)
    raise SystemExit("TensorBoard did not come to the end of the log")


PROGRAMS = {
    "tensorboard --logdir": of_tensorboard,
    "a kernel after tf.view": of_kernel,
    "Jupyter's server with the folder open": of_server,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.viewer_memory", description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    found: dict[str, list[Held]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        logs = os.path.join(folder, "logs")
        write_log(Path(logs), args.points)
        of_kernel(logs, args.points // RUNS // len(TAGS) - 1, folder)  # the first on a machine makes the templates
        for _ in range(args.rounds):
            for name, measure in PROGRAMS.items():
                found[name].append(measure(logs, args.points // RUNS // len(TAGS) - 1, folder))
    print(f"{args.points:,} scalars of {RUNS} runs, median of {args.rounds} rounds, MB")
    print(f"{'':40} {'for the log':>12} {'in all':>8}")
    for name, rounds in found.items():
        total = statistics.median(sum(held.values()) for _, held in rounds)
        more = statistics.median(sum(held.values()) - sum(before.values()) for before, held in rounds)
        parts = ", ".join(f"{process.split()[0]} {size:.0f}" for process, size in rounds[-1][1].items())
        print(f"{name:40} {more:12.0f} {total:8.0f}  ({parts})")


if __name__ == "__main__":
    main()
