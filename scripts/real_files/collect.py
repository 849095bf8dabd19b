"""Takes pictures, SavedModels and graphs out of public repositories: `python collect.py WORK [--mirrors FOLDER]`.

`repositories.tsv` names repositories and commits. Each is cloned to WORK/git, or read from FOLDER/OWNER+NAME/repo; the
files go to WORK/pictures, WORK/models and WORK/graphs under names of their contents. They are never committed.
"""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter
from pathlib import Path, PurePosixPath

HERE = Path(__file__).parent
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp")
GRAPHS = (".pb", ".pbtxt", ".meta")
MODEL = ("saved_model.pb", "saved_model.pbtxt")
MOST = {"pictures": 250, "models": 60, "graphs": 150}  # of one repository, so that none outweighs the others
LARGEST = 4 << 20  # bytes; a mirror lacks larger files
Blobs = dict[str, tuple[str, int]]


def git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True).stdout


def repository(name: str, commit: str, work: Path, mirrors: Path | None) -> Path:
    """Returns the folder of a repository that has the commit, after cloning it if it is not there."""
    if mirrors is not None and (mirrors / name.replace("/", "+") / "repo").is_dir():
        return mirrors / name.replace("/", "+") / "repo"
    folder = work / "git" / name.replace("/", "+")
    if not folder.is_dir():
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet")
        git(folder, "fetch", "--quiet", "--depth", "1", f"https://github.com/{name}", commit)
    return folder


def blobs(folder: Path, commit: str) -> Blobs:
    """Returns the object and the size of each file of a commit, by path."""
    found: Blobs = {}
    for line in git(folder, "ls-tree", "-r", "-l", "-z", commit).split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        _, kind, name, size = head.decode().split()
        if kind == "blob":
            found[path.decode("utf-8", "replace")] = (name, int(size) if size.isdigit() else LARGEST + 1)
    return found


def write(folder: Path, name: str, path: Path) -> bool:
    try:
        content = git(folder, "cat-file", "blob", name)
    except subprocess.CalledProcessError:  # the largest files of a mirror can be absent
        return False
    if content.startswith(b"version https://git-lfs"):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return True


def take(owner: str, folder: Path, commit: str, work: Path) -> Counter[str]:
    """Writes the files of a repository that are of use."""
    counts: Counter[str] = Counter()
    files = blobs(folder, commit)
    models = {str(PurePosixPath(path).parent) for path in files if PurePosixPath(path).name in MODEL}
    for path, (name, size) in files.items():
        suffix, parent = PurePosixPath(path).suffix.lower(), str(PurePosixPath(path).parent)
        kind = "pictures" if suffix in PICTURES else "graphs" if suffix in GRAPHS else ""
        if not kind or parent in models or not 0 < size <= LARGEST or counts[kind] >= MOST[kind]:
            continue
        target = work / kind / f"{name[:16]}{suffix}"
        if target.exists() or not write(folder, name, target):
            continue
        if suffix == ".pbtxt" and b"node" not in target.read_bytes()[:4000]:
            target.unlink()
            continue
        counts[kind] += 1
    for parent in sorted(models):
        target = work / "models" / f"{owner.replace('/', '+')}" / parent
        if counts["models"] < MOST["models"] and not target.exists():
            inside = {p: b for p, b in files.items() if p.startswith(f"{parent}/")}
            counts["models"] += all(write(folder, b[0], target / p[len(parent) + 1 :]) for p, b in inside.items())
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--mirrors", type=Path)
    given = parser.parse_args()
    total: Counter[str] = Counter()
    for line in (HERE / "repositories.tsv").read_text().splitlines():
        name, commit = line.split("\t")
        counts = take(name, repository(name, commit, given.work, given.mirrors), commit, given.work)
        total += counts
        print(name, dict(counts), flush=True)
    print("in all", dict(total))


if __name__ == "__main__":
    main()
