"""Runs graphs of others under TensorFlow 1.15.5 and under tfnb, and says which results differ.

    python scripts/graph_collection/run.py --folder WORK --there PYTHON [--tests] [--mirrors FOLDER] [--only TEXT]

These are the files of `graphs.tsv`, whose placeholders and variables are fed with random numbers of a fixed seed, and
with `--tests` what the tests of the projects in `tests.tsv` run, with their own feeds. The Python of 1.15.5 then needs
pytest, parameterized, requests, onnx 1.12 and flatbuffers. All is fetched from GitHub into the folder, which must lie
outside this project. Invariant: both sides get the same GraphDef and the same feeds.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "old_programs"))

from sources import checkout, git_directory  # noqa: E402

SECONDS = 240
RECORDING_SECONDS = 1800
AT_ONCE = 60  # graphs of one process


def listed(only: str) -> Iterator[tuple[str, str, str]]:
    """Yields (repository, commit, path) of the files whose line contains the text."""
    for line in (HERE / "graphs.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        if only in line:
            repository, commit, path = line.split("\t")
            yield repository, commit, path


def fetched(folder: Path, mirrors: Path | None, repository: str, commit: str, path: str) -> Path:
    """Returns the file, which is taken out of the repository's commit the first time."""
    name = hashlib.sha1(f"{repository}/{path}".encode()).hexdigest()[:12] + Path(path).suffix
    file = folder / "files" / name
    if not file.exists():
        directory = git_directory(repository, folder, mirrors)
        content = subprocess.run(["git", "-C", directory, "show", f"{commit}:{path}"], capture_output=True, check=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.stdout)
    return file


def side(python: str, script: str, *files: Path) -> str:
    """Runs one side in a process of its own; returns the last line that it prints."""
    command = [python, "-W", "ignore", str(HERE / script), *map(str, files)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, cwd=files[0].parent, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no end within {SECONDS} s"
    return (done.stdout.strip().splitlines() or [f"ended with {done.returncode}"])[-1]


def recorded(folder: Path, mirrors: Path | None, there: str, only: str) -> Iterator[list[Path]]:
    """Yields the kept graphs of each project, which are recorded the first time."""
    for line in (HERE / "tests.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        repository, commit, pattern = line.split("\t")
        if only not in line:
            continue
        name = repository.replace("/", "+")
        tree, out = folder / "trees" / name, folder / "recorded" / name
        if not out.is_dir():
            checkout(git_directory(repository, folder, mirrors), commit, tree)
            out.mkdir(parents=True)
            files = sorted(map(str, tree.glob(pattern)))
            command = [there, "-W", "ignore", str(HERE / "record.py"), str(out), str(tree), *files]
            subprocess.run(command, stdout=sys.stderr, timeout=RECORDING_SECONDS, cwd=out, check=False)
        yield sorted(out.glob("*.values"))


def compared(files: list[Path]) -> Iterator[str]:
    """Yields a line for each kept graph: its file's name and what became of it here."""
    for start in range(0, len(files), AT_ONCE):
        left = files[start : start + AT_ONCE]
        while left:  # a graph that ends its process counts, and the others follow in another one
            command = [sys.executable, "-W", "ignore", str(HERE / "here.py"), "--named", *map(str, left)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS * AT_ONCE, check=False)
            lines = done.stdout.strip().splitlines()
            yield from lines
            if len(lines) < len(left):
                yield f"{left[len(lines)].name}: ended with {done.returncode}"
            left = left[len(lines) + 1 :]


def main() -> None:
    """Fetches, runs both sides, and prints a line for each graph and the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--there", required=True, help="the Python of TensorFlow 1.15.5")
    parser.add_argument("--mirrors", type=Path, help="a folder of git directories, OWNER+NAME/repo, used before GitHub")
    parser.add_argument("--tests", action="store_true", help="the graphs of tests instead of those of files")
    parser.add_argument("--only", default="", help="a text in the line of the table")
    given = parser.parse_args()
    sums: Counter[str] = Counter()
    for files in recorded(given.folder, given.mirrors, given.there, given.only) if given.tests else ():
        for line in compared(files):
            sums[line.split(": ", 2)[1]] += 1
            print(line, flush=True)
    for repository, commit, path in listed(given.only) if not given.tests else ():
        file = fetched(given.folder, given.mirrors, repository, commit, path)
        values = file.with_suffix(file.suffix + ".values")
        outcome = "equal" if values.exists() else side(given.there, "there.py", file, values)
        if values.exists():
            outcome = side(sys.executable, "here.py", values)
        sums[outcome.partition(":")[0]] += 1
        print(f"{repository}/{path}: {outcome}", flush=True)
    for outcome, count in sums.most_common():
        print(f"{count:5} {outcome}")


if __name__ == "__main__":
    main()
