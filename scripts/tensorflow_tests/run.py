"""Runs TensorFlow's own tests under a TensorFlow of their time and under tfnb, and writes docs/conformance.md.

    python scripts/tensorflow_tests/run.py --folder WORK --there 0.12.1=PYTHON --there 1.5.0=PYTHON --here PYTHON

Sources are fetched from GitHub into the folder `--folder`, which must lie outside this project. What has a result there
is not run again; remove the result to repeat it. Each file runs in a process of its own. A test that takes longer than
40 seconds is ended. Invariant: a test that passes there and has no result here counts as not passed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "old_programs"))

from report import write_page
from sources import checkout, git_directory
from suites import SOURCES, SUITES, Suite

__all__ = ["Runner", "main", "read_rows"]

CHILD = Path(__file__).resolve().parent / "child"
ROOT = Path(__file__).resolve().parents[2]
TEST_SECONDS = 40
HANGS_SECONDS = 60  # a test that not even the alarm ends, since it waits in a library
LOOK_EACH = 0.2

Row = dict[str, Any]


def read_rows(file: Path) -> list[Row]:
    """Returns the lines of a file of results; a line that a killed process has not finished is left out."""
    rows = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


class Runner:
    """Runs test files, with sources and results below one folder."""

    def __init__(self, folder: Path, mirrors: Path | None, there: dict[str, str], here: str) -> None:
        self.folder, self.mirrors, self.there, self.here = folder, mirrors, there, here
        self.numpy = folder / "numpy"

    def tree(self, suite: Suite) -> Path:
        """Returns the folder with the suite's sources, which is made on first use."""
        tree = self.folder / "trees" / suite.name
        checkout(git_directory(suite.repository, self.folder, self.mirrors), suite.commit, tree)
        return tree

    def results(self, suite: Suite, side: str, path: str) -> Path:
        """Returns the file of the results of a test file on a side, `there` or `here`."""
        return self.folder / "results" / suite.name / side / f"{path.replace('/', '+')}.jsonl"

    def public_names(self, suite: Suite) -> dict[str, list[str]]:
        """Returns the public names of the suite's TensorFlow: each last part with the whole names that end in it."""
        file = self.folder / "results" / suite.name / "names.json"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([self.there[suite.version], CHILD / "public_names.py", file], check=True)
        found: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8"))
        return found

    def run(self, suite: Suite, side: str, path: str) -> None:
        """Runs the tests of a file that have no result yet."""
        file = self.results(suite, side, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        begin = time.monotonic()
        while not any("end" in row for row in read_rows(file)):
            before = len(read_rows(file))
            code = self._run_once(suite, side, path, file)
            rows = read_rows(file)
            if any("end" in row for row in rows):
                break
            last = rows[-1] if len(rows) > before else {}
            how = "hang" if code is None else "crash"
            with file.open("a", encoding="utf-8") as lines:
                row: Row = {"id": last.get("start", "<import>"), "status": how, "message": f"exit code {code}"}
                lines.write("\n" + json.dumps(row) + "\n")
                if "start" not in last:
                    lines.write(json.dumps({"end": True}) + "\n")
        print(f"{suite.name} {side} {path}: {time.monotonic() - begin:.0f} s", flush=True)

    def _run_once(self, suite: Suite, side: str, path: str, file: Path) -> int | None:
        """Runs one process for the rest of a file; returns its exit code, or None if it was killed since it hung."""
        python = self.here if side == "here" else self.there[suite.version]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TFNB"))} | {
            "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "CUDA_VISIBLE_DEVICES": "",
            "TEST_SECONDS": str(TEST_SECONDS),
        }  # fmt: skip
        if side == "here":
            environment["PYTHONPATH"] = os.pathsep.join((str(self.numpy), str(ROOT)))
        place = self.folder / "cwd"
        place.mkdir(exist_ok=True)
        test = self.tree(suite) / SOURCES / path
        with open(file.with_suffix(".log"), "ab") as log:
            process = subprocess.Popen(
                [python, CHILD / "one_file.py", side, suite.era, test, file], cwd=place, env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            size, since = -1, time.monotonic()
            while process.poll() is None and time.monotonic() - since < HANGS_SECONDS:
                time.sleep(LOOK_EACH)
                now = file.stat().st_size if file.exists() else 0
                if now != size:
                    size, since = now, time.monotonic()
            code = process.poll()
            if code is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            return code


def install_numpy(runner: Runner) -> None:
    """Puts NumPy 1.26 into the folder: the tests use what NumPy 2 has dropped."""
    if not runner.numpy.exists():
        pip = [runner.here, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]
        subprocess.run([*pip, str(runner.numpy), "numpy==1.26.*"], check=True)


def main() -> None:
    """Runs the suites and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where sources and results are kept")
    parser.add_argument("--mirrors", type=Path, help="a folder of git directories, OWNER+NAME/repo, used before GitHub")
    parser.add_argument("--there", action="append", default=[], metavar="VERSION=PYTHON", help="a real TensorFlow")
    parser.add_argument("--here", default=sys.executable, help="the Python that has what tfnb needs")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="a pattern for the paths of the test files")
    parser.add_argument("--sides", default="th", help="t: under TensorFlow, h: under tfnb")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "conformance.md")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if folder.is_relative_to(ROOT):
        parser.error(f"--folder {folder} lies in this project; sources of others stay outside")
    folder.mkdir(parents=True, exist_ok=True)
    runner = Runner(folder, options.mirrors, dict(text.split("=", 1) for text in options.there), options.here)
    install_numpy(runner)
    with ThreadPoolExecutor(options.jobs) as pool:
        for suite in SUITES:
            files = [path for path in suite.files(runner.tree(suite)) if re.search(options.only, path)]
            for side in [s for s in ("there", "here") if s[0] in options.sides]:
                list(pool.map(lambda path, suite=suite, side=side: runner.run(suite, side, path), files))
    print(write_page(runner, options.page))


if __name__ == "__main__":
    main()
