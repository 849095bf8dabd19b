"""`make fuzz`: many inputs for each reader; `--replay FILE --targets NAME` reads one that was saved.

Prints a table, a line as each reader ends, leaves what failed under `--out`, and ends with 1 if anything did.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TextIO

from fuzz.runner import HEAD, Run
from fuzz.target import make_target, target_names


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000, help="for each target")
    parser.add_argument("--targets", nargs="+", default=target_names(), choices=target_names())
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--replay", type=Path, help="a saved input, for the one target named")
    args = parser.parse_args()
    if args.replay is not None:
        (name,) = args.targets
        with tempfile.TemporaryDirectory() as folder:
            make_target(name, Path(folder)).read(args.replay.read_bytes())
        return 0
    run = Run(args.targets, args.inputs, args.seed, args.workers, lambda line: say(line, sys.stderr), say)
    say(HEAD)
    run.go()
    for line in run.kinds():
        say(line)
    if run.failed():
        run.save(args.out)
        say(f"inputs that failed are in {args.out}")
    return int(run.failed())


def say(line: str, to: TextIO = sys.stdout) -> None:
    to.write(line + "\n")
    to.flush()


if __name__ == "__main__":
    sys.exit(main())
