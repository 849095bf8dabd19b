"""Which exported models are kept: `tf.contrib.session_bundle.gc` of TensorFlow 0.x and 1.x.

A filter takes a list of `Path`s and returns those that it chooses, sorted. Invariant: it reads and deletes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from tfnb.client.platform.gfile import ListDirectory

__all__ = ["API", "Path", "get_paths", "negation"]


class Path(NamedTuple):
    """A file or folder and its version, None if it has none."""

    path: str
    export_version: int | None


Filter: TypeAlias = Callable[[Sequence[Path]], list[Path]]


def _version(path: Path) -> int:
    assert path.export_version is not None
    return path.export_version


def largest_export_versions(n: int) -> Filter:
    """Returns the filter that chooses the `n` largest versions."""

    def keep(paths: Sequence[Path]) -> list[Path]:
        versions = sorted((p for p in paths if p.export_version is not None), key=_version, reverse=True)
        return sorted(versions[:n])

    return keep


def one_of_every_n_export_versions(n: int) -> Filter:
    """Returns the filter that chooses the largest version of each interval [0, n], (n, 2n], (2n, 3n] and so on."""

    def keep(paths: Sequence[Path]) -> list[Path]:
        chosen: dict[int, Path] = {}
        for path in sorted((p for p in paths if p.export_version is not None), key=_version):
            chosen[max(0, (_version(path) - 1) // n)] = path
        return sorted(chosen.values())

    return keep


def mod_export_version(n: int) -> Filter:
    """Returns the filter that chooses the versions that are multiples of `n`."""
    return lambda paths: sorted(p for p in paths if p.export_version is not None and p.export_version % n == 0)


def union(lf: Filter, rf: Filter) -> Filter:
    """Returns the filter that chooses what one of the filters `lf` and `rf` chooses."""
    return lambda paths: sorted({*lf(paths), *rf(paths)})


def negation(f: Filter) -> Filter:
    """Returns the filter that chooses what the filter `f` does not choose."""
    return lambda paths: sorted(set(paths) - set(f(paths)))


def get_paths(base_dir: str, parser: Callable[[Path], Path | None]) -> list[Path]:
    """Returns what is in the folder `base_dir`, sorted.

    parser: gets a `Path` without a version and returns it with one, or None to leave it out. Raises `NotFoundError`
    when there is no such folder.
    """
    found = (parser(Path(os.path.join(base_dir, name), None)) for name in ListDirectory(base_dir))
    return sorted(path for path in found if path is not None)


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    Path,
    get_paths,
    largest_export_versions,
    mod_export_version,
    negation,
    one_of_every_n_export_versions,
    union,
)
API: dict[str, Any] = {f"contrib.session_bundle.gc.{value.__name__}": value for value in _FUNCTIONS}
