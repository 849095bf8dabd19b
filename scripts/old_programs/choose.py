"""Chooses the programs of the collection from the texts of the repositories alone; nothing is run.

Invariant: the same repositories at the same commits give the same list. A program imports tensorflow, opens a session or
trains an estimator, does something when it is run, and imports nothing that the programs' environments lack. Programs are
ordered by a hash, at most `EACH` of a repository; one without contrib is taken only if it has a partner with contrib.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from sources import checkout, git, git_directory, python3, read_text
from table import Program, read_repositories, write_programs

__all__ = ["choose", "is_program", "order"]

EACH = 8
LARGEST = 300_000
INSTALLED = frozenset(
    "tensorflow numpy scipy sklearn matplotlib pandas PIL six tqdm nltk gym requests h5py yaml IPython".split()
)
# These make a program one of TensorFlow 2 or of eager execution.
OTHER = re.compile(r"GradientTape|enable_eager|tf\.function|compat\.v2|contrib\.eager|tensorflow_addons|enable_v2")
RUNS = re.compile(r"Session\(|Estimator\(|\.fit\(|tf\.app\.run|Classifier\(|Regressor\(|sess\.run|Supervisor\(")
SKIPPED = re.compile(r"(^|/)(tests?|docs?|setup|conf|__init__)(/|\.py|$)|_test\.py$|test_[^/]*\.py$|/\.", re.IGNORECASE)


def imported(tree: ast.Module) -> set[str]:
    """Returns the names of the modules that a text imports, the first part of each."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def acts(tree: ast.Module) -> bool:
    """Says whether a text does more than define: a call, a loop or a condition at its outermost level."""
    return any(isinstance(s, (ast.With, ast.For, ast.While, ast.If)) for s in tree.body) or any(
        isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and "run" in ast.dump(s.value.func) for s in tree.body
    )


def is_program(text: str, own: Iterable[str]) -> bool:
    """Says whether a text of Python 3 is a program that may be chosen; `own` are the names of its neighbours."""
    if "tensorflow" not in text or OTHER.search(text) or not RUNS.search(text):
        return False
    tree = ast.parse(text)
    names = imported(tree)
    known = INSTALLED | set(sys.stdlib_module_names) | set(own) | {"urllib2", "cPickle", "__future__"}
    return "tensorflow" in names and acts(tree) and names <= known


def neighbours(file: Path) -> dict[str, Path]:
    """Returns the modules and packages that stand beside a file."""
    beside = {p.stem: p for p in file.parent.glob("*.py")}
    return beside | {p.name: p for p in file.parent.iterdir() if p.is_dir() and any(p.glob("*.py"))}


def uses_contrib(file: Path, text: str, own: dict[str, Path]) -> bool:
    """Says whether a program, or one of its own modules that it imports, names contrib."""
    texts, seen, open_names = [text], {file.stem}, imported(ast.parse(text))
    while open_names:
        name = open_names.pop()
        if name not in own or name in seen:
            continue
        seen.add(name)
        for module in [own[name]] if own[name].is_file() else sorted(own[name].glob("*.py")):
            other = python3(read_text(module))
            if other is not None:
                texts.append(other)
                open_names |= imported(ast.parse(other)) - seen
    return any(re.search(r"\bcontrib\b", text) for text in texts)


def order(repository: str, path: str) -> str:
    """Returns what programs are sorted by: it has nothing to do with what they contain."""
    return hashlib.sha256(f"tfnb 17 {repository} {path}".encode()).hexdigest()


def candidates(repository: str, folder: Path, mirrors: Path | None) -> list[Program]:
    """Returns all programs of a repository that may be chosen."""
    directory = git_directory(repository, folder, mirrors)
    commit = git("--git-dir", directory, "rev-parse", "HEAD").decode().strip()
    root = folder / "trees" / f"{repository.replace('/', '+')}@{commit[:12]}"
    checkout(directory, commit, root)
    found, texts = [], set()
    for file in sorted((*root.rglob("*.py"), *root.rglob("*.ipynb"))):
        path = file.relative_to(root).as_posix()
        if SKIPPED.search(path) or not file.is_file() or file.is_symlink() or file.stat().st_size > LARGEST:
            continue
        raw = read_text(file)
        if "tensorflow" not in raw or raw in texts:
            continue
        texts.add(raw)
        text, own = python3(raw), neighbours(file)
        if text is not None and is_program(text, own):
            found.append(Program(repository, commit, path, uses_contrib(file, text, own)))
    return found


def choose(programs: Iterable[Program], count: int) -> list[Program]:
    """Returns `count` programs in the order of their hashes, at most `EACH` of a repository, half or more with contrib."""
    chosen: list[Program] = []
    each: Counter[str] = Counter()
    waiting: list[Program] = []
    with_contrib = 0

    def take(program: Program) -> None:
        if len(chosen) < count and each[program.repository] < EACH:
            chosen.append(program)
            each[program.repository] += 1

    for program in sorted(programs, key=lambda p: order(p.repository, p.path)):
        if not program.contrib:
            waiting.append(program)
            continue
        before = len(chosen)
        take(program)
        with_contrib += len(chosen) - before
        while waiting and len(chosen) < 2 * with_contrib:
            take(waiting.pop(0))
    return chosen


def main() -> None:
    """Writes the table of the chosen programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where sources are put; outside this project")
    parser.add_argument("--mirrors", type=Path, help="a folder of git directories, OWNER+NAME/repo, used before GitHub")
    parser.add_argument("--count", type=int, default=300)
    options = parser.parse_args()
    found: list[Program] = []
    for repository in read_repositories():
        own = candidates(repository, options.folder, options.mirrors)
        print(f"{repository}: {len(own)} programs, {sum(p.contrib for p in own)} with contrib", flush=True)
        found += own
    chosen = choose(found, options.count)
    write_programs(chosen)
    print(f"{len(chosen)} of {len(found)} chosen, {sum(p.contrib for p in chosen)} with contrib,", end=" ")
    print(f"from {len({p.repository for p in chosen})} repositories")


if __name__ == "__main__":
    main()
