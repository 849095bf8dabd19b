"""Runs the collection under the TensorFlow of its time and under tfnb, and writes docs/programs.md.

    python scripts/old_programs/run.py --folder WORK --there 1.15.5=PYTHON --there 0.12.1=PYTHON

Sources are fetched from GitHub into the folder `--folder`, which must lie outside this project. What has a result there
is not run again; remove the result to repeat it. Invariant: both runs get equal texts, data and seeds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from compare import compare_values, reason
from data import make_data
from report import write_page
from sources import checkout, few_epochs, git, git_directory, python3, read_text
from table import Program, read_programs

__all__ = ["Runner", "main"]

CHILD = Path(__file__).resolve().parent / "child"
ROOT = Path(__file__).resolve().parents[2]
SOFT_SECONDS = 8
# A program that waits for a key, or for a thread that is gone, is ended after so many seconds of next to no work.
LOOK_EACH, MOST_IDLE, IDLE_SHARE = 10, 90, 0.005
# A program that fails for want of data fails under every version.
NO_DATA = re.compile(r"FileNotFound|URLError|ModuleNotFound|NotADirectory|No such file|usage:|NotFoundError")


class Runner:
    """Runs programs in copies of their repositories, below one folder."""

    def __init__(self, folder: Path, mirrors: Path | None, there: dict[str, str], here: str, limit: int) -> None:
        self.folder, self.mirrors, self.there, self.here, self.limit = folder, mirrors, there, here, limit
        self.data = make_data(folder / "data")

    def result_file(self, program: Program, side: str) -> Path:
        """Returns where the result of a side, `there`, `here` or `again`, is kept."""
        return self.folder / "results" / program.key / f"{side}.json"

    def result(self, program: Program, side: str) -> Any:
        """Returns a kept result, or None."""
        file = self.result_file(program, side)
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None

    def prepare(self, program: Program, side: str) -> Path:
        """Returns the program's file in a fresh copy of its repository."""
        tree = self.folder / "trees" / f"{program.repository.replace('/', '+')}@{program.commit[:12]}"
        checkout(git_directory(program.repository, self.folder, self.mirrors), program.commit, tree)
        copy = self.folder / "copies" / program.key / side
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tree, copy, ignore=lambda _, names: [n for n in names if n.endswith((".gif", ".mp4", ".png"))])
        file = copy / program.path
        for module in {file, *file.parent.glob("*.py"), *file.parent.glob("*/*.py")}:
            text = python3(read_text(module))
            if text is not None:
                module.with_suffix(".py").write_text(few_epochs(text), encoding="utf-8")
        return file.with_suffix(".py")

    def run(
        self, program: Program, side: str, command: list[str], settings: dict[str, Any], **variables: str
    ) -> dict[str, Any]:
        """Runs a program once, with environment variables, and returns its result."""
        file, home = self.prepare(program, side), self.result_file(program, side).parent
        home.mkdir(parents=True, exist_ok=True)
        record, config = home / f"{side}.record.json", home / f"{side}.settings.json"
        record.unlink(missing_ok=True)
        common = {"record": str(record), "values": str(self.values(program)), "data": str(self.data)}
        config.write_text(json.dumps(settings | common), encoding="utf-8")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TFNB"))} | {
            "OLD_PROGRAM_SETTINGS": str(config), "PYTHONPATH": str(CHILD), "PYTHONHASHSEED": "0", "MPLBACKEND": "Agg",
            "HOME": str(self.data / "home"), "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "",
            "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore",
            **variables,
        }  # fmt: skip
        with open(home / f"{side}.log", "wb") as log:
            process = subprocess.Popen(
                [*command, file.name, *program.arguments], cwd=file.parent, env=environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=lambda: limit_time(self.limit),
            )  # fmt: skip
            code = code_of(process, 8 * self.limit)
        output = (home / f"{side}.log").read_bytes().decode("utf-8", "replace")[-5000:]
        kept = json.loads(record.read_text(encoding="utf-8")) if record.exists() else None
        shutil.rmtree(self.folder / "copies" / program.key / side, ignore_errors=True)
        return {
            "code": code,
            "timed_out": code in (None, -signal.SIGXCPU),
            "limit": self.limit,
            "record": kept,
            "output": output,
        }

    def values(self, program: Program) -> Path:
        """Returns the folder of the initial values."""
        folder = self.folder / "results" / program.key / "values"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def run_there(self, program: Program) -> dict[str, Any]:
        """Runs a program under the first TensorFlow that runs it, or else returns the first failure."""
        first = None
        for version, python in self.there.items():
            settings = {"implementation": "tensorflow", "seconds": SOFT_SECONDS}
            result = self.run(program, "there", [python], settings) | {"version": version}
            if result["code"] == 0:
                return result
            first = first or result
            if result["timed_out"] or NO_DATA.search(reason(result)):
                break
        return first or {}

    def run_here(self, program: Program, there: dict[str, Any]) -> dict[str, Any]:
        """Runs a program under tfnb for as many session runs as there."""
        settings = {"implementation": "tfnb"} | as_long_as(there)
        era = ["--era", "0.12"] if there["version"].startswith("0.") else []
        result = self.run(program, "here", [self.here, "-m", "tfnb", "run", *era], settings)
        return result | {"commit": commit_of(ROOT), "when": datetime.now(UTC).isoformat(timespec="seconds")}

    def run_again(self, program: Program, there: dict[str, Any]) -> list[dict[str, Any]]:
        """Runs a program twice more under its TensorFlow, from initial values that differ in the last bit.

        Once operations run one after another, once at the same time, so that values that depend on their order differ.
        """
        settings = {"implementation": "tensorflow", "again": True} | as_long_as(there)
        python = [self.there[there["version"]]]
        return [
            self.run(program, "again", python, settings, TF_NUM_INTEROP_THREADS="1"),
            self.run(program, "again", python, settings),
        ]

    def both(self, program: Program, sides: str) -> None:
        """Runs what has no result yet."""
        there = self.result(program, "there")
        if there is None and "t" in sides:
            there = self.run_there(program)
            self.result_file(program, "there").write_text(json.dumps(there), encoding="utf-8")
        line = "-" if there is None else "runs" if there["code"] == 0 else f"no: {reason(there)}"
        if there is not None and there["code"] == 0 and "h" in sides and self.result(program, "here") is None:
            here = self.run_here(program, there)
            self.result_file(program, "here").write_text(json.dumps(here), encoding="utf-8")
            line += " | " + ("runs" if here["code"] == 0 else f"no: {reason(here)}")
            self.result_file(program, "again").unlink(missing_ok=True)
            if differ(there, here):
                again = self.run_again(program, there)
                self.result_file(program, "again").write_text(json.dumps(again), encoding="utf-8")
                line += " | again"
        print(f"{program.key}: {line}", flush=True)


def commit_of(folder: Path) -> str:
    """Returns the short name of the commit that a folder's files are of."""
    return git("-C", folder, "rev-parse", "--short=8", "HEAD").decode().strip()


def code_of(process: subprocess.Popen[bytes], seconds: int) -> int | None:
    """Waits for a process and returns its exit code; one that runs too long, or only waits, is ended: None.

    Time in which it is ready to run and other processes have the processors counts neither as running nor as waiting.
    """
    before, passed, idle = (0.0, 0.0), 0.0, 0
    while passed < seconds and idle < MOST_IDLE:
        try:
            return process.wait(LOOK_EACH)
        except subprocess.TimeoutExpired:
            now = ran_and_ready(process.pid)
            ran, ready = (abs(new - old) for new, old in zip(now, before, strict=True))
            idle = idle + LOOK_EACH if ran + ready < IDLE_SHARE * LOOK_EACH else 0
            passed += LOOK_EACH * (1.0 if idle else ran / (ran + ready))
            before = now
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return None


def ran_and_ready(pid: int) -> tuple[float, float]:
    """Returns for how many seconds a process's threads had a processor, and for how many they waited for one."""
    ran, ready = 0.0, 0.0
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # the thread has ended meanwhile
            numbers = file.read_text(encoding="utf-8").split()
            ran, ready = ran + int(numbers[0]) / 1e9, ready + int(numbers[1]) / 1e9
    return ran, ready


def as_long_as(there: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings that end a program after as many session runs as the reference, if that was ended early.

    The program's own runs are counted, or, if most are those of an estimator or the like for it, all of them.
    """
    record = there["record"]
    if not record or record["ended"] != "cut":
        return {}
    return {"own": record["own"] if 2 * record["own"] >= record["outer"] else 0, "outer": record["outer"]}


def differ(there: dict[str, Any], here: dict[str, Any]) -> bool:
    """Says whether both ran and comparable values differ."""
    if here["code"] != 0 or not there["record"] or not here["record"]:
        return False
    return not compare_values(there["record"], here["record"]).agree


def limit_time(seconds: int) -> None:
    """Ends the process after so many seconds of processor time, which other programs of the machine do not change."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def versions(texts: list[str]) -> dict[str, str]:
    """Returns the Pythons of `VERSION=PYTHON` texts by version."""
    return dict(text.split("=", 1) for text in texts)


def main() -> None:
    """Runs the programs of the table and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where sources, data and results are kept")
    parser.add_argument("--mirrors", type=Path, help="a folder of git directories, OWNER+NAME/repo, used before GitHub")
    parser.add_argument("--there", action="append", default=[], metavar="VERSION=PYTHON", help="a real TensorFlow")
    parser.add_argument("--here", default=sys.executable, help="the Python that has tfnb")
    parser.add_argument("--limit", type=int, default=80, help="seconds of processor time for a program")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="a pattern for the programs' names")
    parser.add_argument(
        "--first", type=int, default=0, metavar="N", help="run the programs of the table from its Nth on"
    )
    parser.add_argument("--count", type=int, default=None, help="how many of them")
    parser.add_argument("--sides", default="th", help="t: under TensorFlow, h: under tfnb")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "programs.md")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if folder.is_relative_to(ROOT):
        parser.error(f"--folder {folder} lies in this project; sources of others stay outside")
    runner = Runner(folder, options.mirrors, versions(options.there), options.here, options.limit)
    programs = read_programs()
    with ThreadPoolExecutor(options.jobs) as pool:
        last = None if options.count is None else options.first + options.count
        chosen = [p for p in programs[options.first : last] if re.search(options.only, p.key)]
        list(pool.map(lambda program: runner.both(program, options.sides), chosen))
    results = [(p, *(runner.result(p, side) for side in ("there", "here", "again"))) for p in programs]
    print(write_page(results, options.page))


if __name__ == "__main__":
    main()
