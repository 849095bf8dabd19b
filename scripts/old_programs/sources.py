"""Repositories as git directories, and copies of their programs that Python 3 reads and that end soon.

Invariant: a program's text is changed alike for every implementation: Python 2 becomes Python 3, a notebook becomes its
cells, and numbers of epochs become small. Nothing is ever written into this project's folder.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path

from fissix import refactor

__all__ = ["cells", "checkout", "few_epochs", "git_directory", "python3", "read_text"]

# A name that says how often all data is seen, or how long training is, with its number.
EPOCHS = re.compile(
    r"((?:[A-Za-z_]*(?:epoch|EPOCH|Epoch)[A-Za-z_]*|(?:n_|num_|max_|total_|train_|training_)?(?:iters?|iterations|ITERATIONS)"
    r"|(?:max|train|training|total)_steps?|(?:n|num|max|total)_(?:episodes|games)|MAX_EPISODES)['\"]?\s*[=,:]\s*)(\d[\d_]*(?:e\d+)?)\b"
)
FEW = {"epoch": 2, "other": 60}


def git(*arguments: str | Path) -> bytes:
    """Returns the output of a git command; raises `CalledProcessError` where it fails."""
    return subprocess.run(("git", *map(str, arguments)), check=True, capture_output=True).stdout


def git_directory(repository: str, folder: Path, mirrors: Path | None = None) -> Path:
    """Returns the git directory of a repository `owner/name`: that of the folder of mirrors, else a clone in `folder`."""
    if mirrors is not None:
        base = mirrors / repository.replace("/", "+") / "repo"
        for candidate in (base / ".git", base):
            if (candidate / "HEAD").is_file():
                return candidate
    clone = folder / "git" / repository.replace("/", "+")
    if not (clone / "HEAD").is_file():
        git("clone", "--quiet", "--bare", f"https://github.com/{repository}.git", clone)
    return clone


def checkout(directory: Path, commit: str, target: Path) -> None:
    """Puts the files of a commit into the folder `target`, unless it is there. Links, and files that a mirror lacks, are left out."""
    if target.is_dir():
        return
    listed = git("--git-dir", directory, "ls-tree", "-r", "-z", commit).decode("utf-8", "replace").split("\0")
    entries = [line.split("\t", 1) for line in listed if line]
    files = [(head.split()[2], path) for head, path in entries if head.startswith("100")]
    names = "".join(f"{name}\n" for name, _ in files).encode()
    command = ("git", "--git-dir", str(directory), "cat-file", "--batch")
    output = memoryview(subprocess.run(command, input=names, check=True, capture_output=True).stdout)
    place, unfinished = 0, target.with_name(target.name + ".unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    for _, path in files:
        end = bytes(output[place : place + 200]).index(b"\n") + place
        header = bytes(output[place:end]).decode().split()
        place = end + 1
        if header[-1] == "missing":
            continue
        file = unfinished / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(output[place : place + int(header[2])])
        place += int(header[2]) + 1
    unfinished.rename(target)


def read_text(file: Path) -> str:
    """Returns the text of a file; a notebook's is that of its cells of code."""
    text = file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n").lstrip("\ufeff")
    return cells(text) if file.suffix == ".ipynb" else text


def cells(notebook: str) -> str:
    """Returns the code of a notebook's text; lines for IPython or the shell become `pass`. Bad JSON gives no text."""
    try:
        content = json.loads(notebook)
    except ValueError:
        return ""
    sheets = content.get("cells") or [cell for sheet in content.get("worksheets", ()) for cell in sheet["cells"]]
    blocks = []
    for cell in sheets:
        source = cell.get("source", cell.get("input", ""))
        text = source if isinstance(source, str) else "".join(source)
        if cell.get("cell_type") != "code" or text.startswith("%%"):
            continue
        lines = [re.sub(r"^(\s*)[%!?].*$", r"\1pass", line) for line in text.splitlines()]
        blocks.append("\n".join(re.sub(r"^(\s*)[\w.]+\?+$", r"\1pass", line) for line in lines))
    return "\n\n".join(blocks) + "\n"


def parses(text: str) -> bool:
    """Says whether Python 3 compiles a text."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def python3(text: str) -> str | None:
    """Returns a text of Python 2 or 3 as Python 3, or None where it is neither."""
    if parses(text):
        return text
    text = text.expandtabs(8) if not parses(text.expandtabs(4)) else text.expandtabs(4)
    if parses(text):
        return text
    fixers = [name for name in refactor.get_fixers_from_package("fissix.fixes") if not name.endswith("fix_future")]
    try:
        converted = str(refactor.RefactoringTool(fixers).refactor_string(text + "\n", "program"))
    except Exception:  # the converter raises classes of several libraries
        return None
    return converted if parses(converted) else None


def few_epochs(text: str) -> str:
    """Returns a text whose numbers of epochs are at most 2, and of iterations, training steps and episodes at most 60."""

    def smaller(match: re.Match[str]) -> str:
        most = FEW["epoch" if "epoch" in match[1].lower() else "other"]
        return match[0] if int(float(match[2].replace("_", ""))) <= most else f"{match[1]}{most}"

    return EPOCHS.sub(smaller, text)
