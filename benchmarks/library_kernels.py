"""Cache folders for tfnb that hold the compiled kernels of `kernels_cl` and nothing else: what "cold" means here.

A machine compiles library kernels once, so no measurement of first steps should contain them. A process is therefore
given a copy of the library kernels that earlier processes have compiled. If it compiled another one all the same, this
is added to them and the measurement repeated. tfnb writes the source of each generated program into the folder that
TFNB_KEEP_SOURCE names; the archives of all other programs are those of library kernels.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tfnb.settings import load_settings

__all__ = ["ColdCache", "cold_cache"]

_KEY = 16  # the digits of a program's key in the name of its kept source
_KINDS = {"kernels": "*.bin", "programs": "*.mark"}  # archives of compiled kernels, and marks of those compiled


def _collected() -> Path:
    return load_settings().cache_path / "benchmarks" / "library"


@dataclass(frozen=True)
class ColdCache:
    """A cache folder for processes of tfnb, and the environment that makes them use it."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "TFNB_CACHE_DIR": str(self.folder),
            "TFNB_KEEP_SOURCE": str(self.folder / "sources"),
            "TFNB_QUIET": "1",
            "TFNB_INTERPRET": "1",
        }

    def generated_programs(self) -> int:
        """The number of generated programs that were built with this folder."""
        return len(list((self.folder / "sources").glob("*.cl")))

    def collect(self) -> bool:
        """Adds the library kernels that were compiled with this folder to the collection; were there any?"""
        generated = {path.stem for path in (self.folder / "sources").glob("*.cl")}
        added = False
        for kind, pattern in _KINDS.items():
            target = _collected() / kind
            target.mkdir(parents=True, exist_ok=True)
            for path in (self.folder / kind).glob(pattern):
                known = target / path.name
                if path.stem[:_KEY] not in generated and not _same_size(path, known):
                    shutil.copyfile(path, known)
                    added = True
        return added


def _same_size(path: Path, other: Path) -> bool:
    """An archive grows with each kernel of its program."""
    return other.exists() and other.stat().st_size == path.stat().st_size


@contextmanager
def cold_cache() -> Iterator[ColdCache]:
    """A new cache folder with the library kernels that were ever collected, which ends with the context."""
    with tempfile.TemporaryDirectory() as name:
        if _collected().is_dir():
            shutil.copytree(_collected(), name, dirs_exist_ok=True)
        yield ColdCache(Path(name))
