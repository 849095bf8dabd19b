"""The tests of control flow and training on 2 and 3 logical devices and on 2 and 4 tasks of Dask: `make spread`.

First on one device, to know what each step gives; then on each target, where the same steps must give the same to the
bit, with every op a kernel of its own. At the end random programs, dealt out at random. `--targets`, `--files` and
`--programs` choose less; with `--results` what one device gave is kept, and is there for a later run without it. What
comes after `--` goes to pytest.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ONE = "one"
TARGETS = (ONE, "devices:2", "devices:3", "tasks:2", "tasks:4")
FILES = ("tests/client", "tests/train", "tests/programs", "tests/ops/control_flow/test_switch_merge.py")


def run_tests(target: str, results: str, files: list[str], more: list[str]) -> tuple[bool, str]:
    """(did all pass, pytest's last line) of the tests on one target; prints what failed, or was left out and why."""
    workers = os.environ.get("TEST_WORKERS", "2")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", workers, f"--results={results}"]
    target_option = [] if target == ONE else [f"--target={target}"]
    done = subprocess.run(
        [*command, *target_option, *files, *more],
        cwd=ROOT,
        env={**os.environ, "TFNB_OPTIMIZE": "0", "COLUMNS": "300"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    for line in lines:
        if re.match(r"(FAILED|ERROR|SKIPPED|COMPARED|NOT COMPARED) ", line):
            sys.stdout.write(f"  {line[:300]}\n")
    return done.returncode == 0, lines[-1].strip("= ") if lines else "no output"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", nargs="*", default=TARGETS)
    parser.add_argument("--files", nargs="*", default=FILES)
    parser.add_argument("--results", help="a folder to keep what one device gives")
    parser.add_argument("--programs", type=int, default=500, help="random programs on 3 devices and on 2 tasks")
    parser.add_argument("more", nargs="*", help="for pytest")
    asked = parser.parse_args()
    if not asked.results and asked.targets and asked.targets[0] != ONE:
        parser.error(f"without --results there is nothing to compare {asked.targets[0]} with: --targets {ONE} ...")
    fine = True
    with tempfile.TemporaryDirectory() as passing:
        for target in asked.targets:
            begin = time.monotonic()
            passed, line = run_tests(target, asked.results or passing, list(asked.files), asked.more)
            fine = fine and passed
            sys.stdout.write(f"{target}: {line} ({time.monotonic() - begin:.0f} s in all)\n")
            sys.stdout.flush()
    for target in ("devices:3", "tasks:2") if asked.programs else ():
        program = [sys.executable, "tests/client/control_flow/random_loops.py", "0", str(asked.programs), target]
        env = {**os.environ, "TFNB_OPTIMIZE": "0", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        done = subprocess.run(program, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
        lines = done.stdout.splitlines()
        fine = fine and done.returncode == 0 and bool(lines) and lines[-1].endswith("different: []")
        sys.stdout.write(f"random programs on {target}: {lines[-1] if lines else 'failed'}\n")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
