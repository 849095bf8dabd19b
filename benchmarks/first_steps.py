"""`python -m benchmarks.first_steps`: how long the first steps of programs take, cold and in a second process.

Seconds from the call of the initialiser to the result of the first step; the graph and the session are there before.
"Cold" has a cache folder that holds compiled library kernels only, "second" is another process with the folder that the
first one left. Every figure is taken in a process of its own, in turns with TensorFlow. `--growth` measures the cold
time of programs of growing size, says whether it is linear in the number of nodes, and with `--plot FILE` draws it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

from benchmarks.first_programs import FIRST_PROGRAMS, GROWING, Parts
from benchmarks.library_kernels import cold_cache
from benchmarks.worker import load_system

__all__ = ["report", "report_growth"]

_BEND = 1.5  # a time is linear if the last doubling's seconds a node are at most so many times those before
Result = dict[str, Any]  # "init", "step": seconds; "nodes"; or "error": text


def measure_here(system: str, name: str, size: int) -> Result:
    """The seconds of this process's first steps. `size` is 0 for a program of a fixed size."""
    tf = load_system(system)
    parts: Parts = GROWING[name][0](tf, size) if size else next(p for p in FIRST_PROGRAMS if p.name == name).build(tf)
    init, fetches, feeds = parts
    session = tf.Session()
    start = time.perf_counter()
    session.run(init)
    middle = time.perf_counter()
    session.run(fetches, feeds)
    end = time.perf_counter()
    nodes = len(tf.get_default_graph().get_operations())
    return {"init": middle - start, "step": end - middle, "nodes": nodes}


def _in_process(system: str, name: str, size: int, environment: dict[str, str], patience: float) -> Result:
    command = [sys.executable, "-m", "benchmarks.first_steps", "--here", system, name, str(size)]
    environment = {**os.environ, **environment}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {patience:g} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["ended"])[-1][:60]}
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def _cold_and_second(name: str, size: int, patience: float, second: bool = True) -> list[Result]:
    """The results of a cold process and of a second one. Repeated if library kernels were compiled."""
    while True:
        with cold_cache() as cache:
            results = [_in_process("tfnb", name, size, cache.environment, patience)]
            if cache.collect() and "error" not in results[0]:
                continue
            if second and "error" not in results[0]:
                results.append(_in_process("tfnb", name, size, cache.environment, patience))
            return results


def _seconds(result: Result) -> float | None:
    return None if "error" in result else result["init"] + result["step"]


def _text(result: Result | None, limit: float | None) -> str:
    if result is None:
        return f"{'-':>16} {'':7}"
    seconds = _seconds(result)
    if seconds is None:
        return f"{result['error']:>16} {'':7}"
    limited = f"(<= {limit:g})" if limit is not None else ""
    return f"{result['init']:7.2f} +{result['step']:7.2f} {limited:9}"


def report(only: str = "", peer: bool = True, patience: float = 240) -> list[str]:
    """Prints a line for each program and returns the names of those that miss a limit."""
    print(f"{'first steps':24} {'cold: init + step, s':>26} {'second process':>26} {'TensorFlow':>17}")
    missed = []
    for program in FIRST_PROGRAMS:
        if only not in program.name:
            continue
        other = None
        if peer and program.has_peer:
            other = _in_process("tensorflow", program.name, 0, {}, patience)
        cold, *later = _cold_and_second(program.name, 0, patience)
        second = later[0] if later else None
        texts = [_text(cold, program.cold), _text(second, program.second), _text(other, None)]
        held = [_holds(cold, program.cold), program.second is None or _holds(second, program.second)]
        print(f"{program.name:24} {' '.join(texts)} {'held' if all(held) else 'MISSED'}", flush=True)
        missed += [] if all(held) else [program.name]
    return missed


def _holds(result: Result | None, limit: float) -> bool:
    seconds = None if result is None else _seconds(result)
    return seconds is not None and seconds <= limit


def report_growth(only: str = "", patience: float = 240, plot: str = "") -> list[str]:
    """Prints the cold seconds of programs of growing size, and returns the names of those that are not linear."""
    curves: dict[str, list[tuple[int, float]]] = {}
    missed = []
    for name, (_, sizes) in GROWING.items():
        if only not in name:
            continue
        print(f"\n{name}: nodes, seconds, milliseconds a node")
        points = curves.setdefault(name, [])
        for size in sizes:
            result = _cold_and_second(name, size, patience, second=False)[0]
            seconds = _seconds(result)
            if seconds is None:
                print(f"  size {size}: {result['error']}", flush=True)
                break
            points.append((result["nodes"], seconds))
            bar = "#" * min(60, round(10 * seconds))
            print(f"  {result['nodes']:7} {seconds:8.2f} {1e3 * seconds / result['nodes']:8.3f}  {bar}", flush=True)
        linear = len(points) == len(sizes) and is_linear(points)
        print(f"  {'linear' if linear else 'NOT LINEAR'}")
        missed += [] if linear else [f"{name} linear"]
    if plot:
        _draw(curves, plot)
    return missed


def is_linear(points: list[tuple[int, float]]) -> bool:
    """Whether the seconds a node of the last rise are at most `_BEND` times those before; 0.1 s are let go."""
    (first_nodes, first), (before_nodes, before), (last_nodes, last) = points[0], points[-2], points[-1]
    slope = (before - first) / (before_nodes - first_nodes)
    return last - before <= _BEND * max(slope, 0.0) * (last_nodes - before_nodes) + 0.1


def _draw(curves: dict[str, list[tuple[int, float]]], path: str) -> None:
    from bokeh.palettes import Category10_10
    from bokeh.plotting import figure, output_file, save
    from bokeh.resources import INLINE

    output_file(path, "Compile time against nodes", mode="inline")
    chart = figure(width=800, height=500, x_axis_label="nodes", y_axis_label="seconds, cold")
    for (name, points), colour in zip(curves.items(), Category10_10, strict=False):
        nodes, seconds = zip(*points, strict=True) if points else ((), ())
        chart.line(nodes, seconds, legend_label=name, color=colour)
        chart.scatter(nodes, seconds, color=colour)
    save(chart, resources=INLINE)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.first_steps", description=__doc__)
    parser.add_argument("--here", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", metavar="NAME", help="part of a program's name")
    parser.add_argument("--tfnb-only", action="store_true", help="leave TensorFlow out")
    parser.add_argument("--patience", type=float, default=240, metavar="SECONDS", help="when a process is given up")
    parser.add_argument("--growth", action="store_true", help="compile time against nodes instead")
    parser.add_argument("--plot", default="", metavar="FILE", help="an HTML file of compile time against nodes")
    args = parser.parse_args()
    if args.here:
        system, name, size = args.here
        print(json.dumps(measure_here(system, name, int(size))))
        return
    if args.growth:
        missed = report_growth(args.only, args.patience, args.plot)
    else:
        missed = report(args.only, not args.tfnb_only, args.patience)
    print(f"\ntargets missed: {', '.join(missed) or 'none'}")


if __name__ == "__main__":
    main()
