"""`python -m benchmarks.shapes`: steps of which each has a shape that was not seen before, beside TensorFlow's.

Milliseconds a step, mean of the 3rd to the 40th step, in which all shapes are new, and of the same steps once more,
with shapes that were seen. Both systems run in processes of their own and take turns. tfnb's starts with a cache folder
that holds compiled library kernels only. A step on a new shape may take twice TensorFlow's (at least 1 ms), and 1.5
times one on a seen shape plus 0.5 ms.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass

import numpy as np

from benchmarks.library_kernels import cold_cache
from benchmarks.shape_programs import SHAPE_PROGRAMS, STEPS, ShapeProgram
from benchmarks.systems import System, in_turns

__all__ = ["report"]

_FIRST = 2  # the first step that counts: the 3rd
_TURN = 4  # steps in a turn
_COLUMNS = (("tfnb new", 9), ("again", 8), ("seen", 8), ("TF new", 9), ("seen", 8), ("new", 7), ("builds", 6))


@dataclass(frozen=True)
class Times:
    """Seconds of the steps of one system, by number: on new shapes, on the same shapes again, and on them once more.

    A shape that comes for the second time may get kernel objects of its own, so the third time is that of a seen one.
    """

    new: list[float]
    again: list[float]
    seen: list[float]
    builds: int  # generated programs that tfnb built in all these steps

    @property
    def mean_new(self) -> float:
        return statistics.fmean(self.new[_FIRST:])

    @property
    def mean_again(self) -> float:
        return statistics.fmean(self.again[_FIRST:])

    @property
    def mean_seen(self) -> float:
        return statistics.fmean(self.seen[_FIRST:])


def measure(program: ShapeProgram, peer: bool) -> list[Times]:
    """The times of tfnb and, if a peer is wanted, of TensorFlow."""
    while True:
        with cold_cache() as cache:
            systems = [System("tfnb", environment=cache.environment), *([System("tensorflow")] if peer else [])]
            for system in systems:
                system.ask(f"make shapes:{program.name}")
            rounds = [_steps(systems) for _ in range(3)]
            for system in systems:
                system.close()
            if not cache.collect():  # else library kernels were compiled meanwhile
                builds = cache.generated_programs()
                return [Times(*times, builds) for times in zip(*rounds, strict=True)]
            print(f"{program.name}: library kernels were compiled; measured again", file=sys.stderr)


def _steps(systems: list[System]) -> list[list[float]]:
    """The seconds of all steps of each system."""
    times: list[list[float]] = [[] for _ in systems]
    starts = [0, *range(_FIRST, STEPS, _TURN), STEPS]
    for turn, (start, end) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
        answers = in_turns(systems, turn, f"steps {start} {end}")
        sums = [answer["sum"] for answer in answers]
        if not np.allclose(sums, sums[0], rtol=1e-2, atol=1e-4):
            raise SystemExit(f"after step {end} the systems' results have the sums {sums}")
        for row, answer in zip(times, answers, strict=True):
            row += answer["times"]
    return times


def misses(ours: Times, peer: Times | None) -> list[str]:
    """The limits that are not held, in words."""
    wrong = []
    if peer is not None and ours.mean_new > max(2 * peer.mean_new, 1e-3):
        wrong.append(f"over {1e3 * max(2 * peer.mean_new, 1e-3):.2f} ms")
    limit = 1.5 * ours.mean_seen + 0.5e-3
    if ours.mean_new > limit:
        wrong.append(f"seen shapes allow {1e3 * limit:.2f}")
    return wrong


def report(only: str = "", peer: bool = True, verbose: bool = False) -> list[str]:
    """Prints a line for each program and returns the names of those that miss a limit."""
    columns = "".join(f" {name:>{width}}" for name, width in _COLUMNS)
    print(f"{'changing':20}{columns}  limits (ms a step)")
    missed = []
    for program in SHAPE_PROGRAMS:
        if only not in program.name:
            continue
        ours, *others = measure(program, peer)
        other = others[0] if others else None
        wrong = misses(ours, other)
        theirs = f"{1e3 * other.mean_new:9.2f} {1e3 * other.mean_seen:8.2f}" if other else f"{'-':>9} {'-':>8}"
        ratio = f"{ours.mean_new / other.mean_new:6.1f}x" if other else f"{'-':>7}"
        times = f"{1e3 * ours.mean_new:9.2f} {1e3 * ours.mean_again:8.2f} {1e3 * ours.mean_seen:8.2f} {theirs} {ratio}"
        print(f"{program.name:20} {times} {ours.builds:6}  {'; '.join(wrong) or 'held'}", flush=True)
        if verbose:
            for name, seconds in (
                ("tfnb new", ours.new),
                ("again", ours.again),
                ("seen", ours.seen),
                *_rows(other),
            ):
                print(f"    {name:9} " + " ".join(f"{1e3 * t:.2f}" for t in seconds))
        missed += [program.name] if wrong else []
    return missed


def _rows(other: Times | None) -> list[tuple[str, list[float]]]:
    return [] if other is None else [("TF new", other.new), ("TF seen", other.seen)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.shapes", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="part of a program's name")
    parser.add_argument("--tfnb-only", action="store_true", help="leave TensorFlow out")
    parser.add_argument("--verbose", action="store_true", help="print the milliseconds of each step")
    args = parser.parse_args()
    missed = report(args.only, not args.tfnb_only, args.verbose)
    print(f"\ntargets missed: {', '.join(missed) or 'none'}")


if __name__ == "__main__":
    main()
