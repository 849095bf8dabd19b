"""The collection as a table: one line for each program, with tabs, under the names in the first line.

Invariant: a line names a repository, a commit and a path in it; nothing of the repositories themselves is kept here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PROGRAMS", "REPOSITORIES", "Program", "read_programs", "read_repositories", "write_programs"]

HERE = Path(__file__).resolve().parent
REPOSITORIES = HERE / "repositories.txt"
PROGRAMS = HERE / "programs.tsv"
COLUMNS = ("repository", "commit", "path", "contrib", "arguments")


@dataclass(frozen=True)
class Program:
    """A program: `path` in the `repository` at `commit`; `contrib` says whether it or its own modules use tf.contrib."""

    repository: str
    commit: str
    path: str
    contrib: bool
    arguments: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A name for files and logs."""
        return f"{self.repository}/{self.path}".replace("/", "+").replace(" ", "_")


def read_repositories(file: Path = REPOSITORIES) -> list[str]:
    """Returns the names `owner/name` of a file with one on each line; lines that start with # are comments."""
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def read_programs(file: Path = PROGRAMS) -> list[Program]:
    """Returns the programs of a table, in its order."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines()[1:]:
        repository, commit, path, contrib, arguments = line.split("\t")
        found.append(Program(repository, commit, path, contrib == "yes", tuple(arguments.split())))
    return found


def write_programs(programs: Iterable[Program], file: Path = PROGRAMS) -> None:
    """Writes a table."""
    lines = ["\t".join(COLUMNS)]
    for p in programs:
        lines.append("\t".join((p.repository, p.commit, p.path, "yes" if p.contrib else "no", " ".join(p.arguments))))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
