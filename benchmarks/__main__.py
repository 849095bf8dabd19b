"""`make bench`: our medians and TensorFlow's from one alternating run, the ratio, and the floor.

Both systems run in processes of their own and take turns, round by round, so that what else the machine does
hits both. The ratio is the median over rounds of (peer's median / ours): above 1 we are faster.

`--against FOLDER` takes another checkout of tfnb as the peer, for a comparison before and after a change. The best
times of all rounds are compared then, because equal kernels differ less than the machine does, and no targets judged.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from pathlib import Path

from benchmarks import compiling, first_steps, many_shapes, peak, shapes
from benchmarks.ops import OPS, WHY
from benchmarks.programs import PROGRAMS, Program
from benchmarks.systems import System, take_turns
from benchmarks.tables import TABLES

OP_ROUNDS = 5
WARM_SECONDS = 2.0  # in which a second process compiles what makes the steps of a program that runs often faster


def processor() -> str:
    """The name of the processor, and the widest vectors that it has."""
    try:
        fields = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines())
    except (OSError, ValueError):
        return platform.processor() or "an unknown processor"
    cpu = {name.strip(): value.strip() for name, value in fields.items()}
    flags = cpu.get("flags", "").split()
    width = next((width for flag, width in (("avx512f", 512), ("avx2", 256), ("avx", 128)) if flag in flags), 128)
    return f"{cpu.get('model name', platform.processor())}, {os.cpu_count()} cores, vectors of {width} bits"


def peer_name(against: bool) -> str:
    return "there" if against else "TF"


def compare(program: Program, ours: System, peer: System, rounds: int, against: bool) -> tuple[float, float, float]:
    """Times of both, in seconds, and their ratio."""
    for w in (ours, peer):
        w.ask(f"make {program.name}")
        end = time.monotonic() + WARM_SECONDS
        while True:
            w.ask(f"round {max(2, program.steps // 4)}")
            if time.monotonic() > end:
                break
    return take_turns(ours, peer, rounds, program.steps, best=against)


def op_table(ours: System, peer: System, only: str, against: bool) -> list[str]:
    """Prints the operations' table; the names that need a reason and have none, and the mean if it is too low."""
    print(f"\n{'operation':24} {'size':6} {'tfnb us':>9} {f'{peer_name(against)} us':>9} {'ratio':>7}  note")
    ratios, slow = [], []
    for op, size in ((o, s) for o in OPS for s in ("small", "large") if only in o.name):
        for w in (ours, peer):
            w.ask(f"make op:{op.name}:{size}")
        took = max(w.ask("round 5")["median"] for w in (ours, peer))
        steps = max(5, min(300, int(0.03 / took)))
        a, b, ratio = take_turns(ours, peer, OP_ROUNDS, steps, best=against)
        ratios.append(ratio)
        why = WHY.get(f"{op.name} {size}", "")
        if ratio < 0.5 and not why:
            slow.append(f"{op.name} {size}")
        print(
            f"{op.name:24} {size:6} {1e6 * a:9.1f} {1e6 * b:9.1f} {ratio:6.2f}x  {why if ratio < 0.5 else ''}",
            flush=True,
        )
    if ratios:
        mean = statistics.geometric_mean(ratios)
        print(f"{len(OPS)} operations, geometric mean {mean:.2f}x (target 1.0x)")
        slow += ["geometric mean of the operations"] if mean < 1.0 else []
    return slow


def new_shapes(args: argparse.Namespace) -> list[str]:
    """Measures what new shapes and new programs cost, as far as the arguments want it; returns what misses a limit."""
    missed = []
    if not args.no_shapes:
        print("\nsteps on new shapes:")
        missed += shapes.report(args.only)
    if not args.no_first_steps:
        print("\nfirst steps:")
        missed += first_steps.report(args.only)
    if not args.no_growth:
        print("\ncompile time against nodes:")
        missed += first_steps.report_growth(args.only)
    if not args.no_many_shapes and not args.only:
        print("\nmany shapes:")
        missed += many_shapes.report()
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="part of a program's name")
    parser.add_argument("--no-compile", action="store_true", help="leave the compile times out")
    parser.add_argument("--no-ops", action="store_true", help="leave the table of operations out")
    parser.add_argument("--no-shapes", action="store_true", help="leave the steps on new shapes out")
    parser.add_argument("--no-first-steps", action="store_true", help="leave the first steps of whole programs out")
    parser.add_argument("--no-growth", action="store_true", help="leave compile time against nodes out")
    parser.add_argument("--no-many-shapes", action="store_true", help="leave the 10,000 different shapes out")
    parser.add_argument("--against", metavar="FOLDER", help="another checkout of tfnb, compared instead of TensorFlow")
    args = parser.parse_args()
    against = args.against is not None
    fast, wide = peak.flops(), peak.bandwidth()
    print(processor())
    print(f"this machine: {fast / 1e9:.0f} Gflop/s (NumPy matmul), {wide / 1e9:.1f} GB/s (copy)\n")
    columns = "".join(f" {name:>{width}}" for name, width in (("ratio", 7), ("target", 7), ("floor ms", 9)))
    print(f"{'program':20} {'tfnb ms':>9} {f'{peer_name(against)} ms':>9}{columns}  note")
    ours = System("tfnb")
    peer = System("tfnb", args.against) if against else System("tensorflow")
    if against:
        ours.pin()
        peer.pin()
    missed = []
    for p in (*PROGRAMS, *TABLES):
        if args.only not in p.name:
            continue
        a, b, ratio = compare(p, ours, peer, args.rounds, against)
        floor = 1e3 * (p.flops / fast + p.nbytes / wide)
        text = f"{floor:9.2f}" if floor else "        -"
        print(f"{p.name:20} {1e3 * a:9.3f} {1e3 * b:9.3f} {ratio:6.2f}x {p.target:6.1f}x {text}  {p.note}", flush=True)
        if ratio < p.target:
            missed.append(p.name)
    if not args.no_ops:
        slow = op_table(ours, peer, args.only, against)
        missed += slow
    ours.close()
    peer.close()
    if not args.no_compile:
        print("\nwaiting for the first result:")
        missed += compiling.report(args.against)
    if not against:
        missed += new_shapes(args)
        print(f"\ntargets missed: {', '.join(missed) or 'none'}")


if __name__ == "__main__":
    main()
