"""The check of the packages that tfnb requires: that each is there, in a version within its bounds, and imports.

Metadata alone do not tell that a package works: another Python's binaries or a half-removed folder fail only when they
are imported. Invariant: it runs in a process of its own, since importing all takes seconds and 150 MB.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module, metadata

from packaging.requirements import Requirement

from tfnb.doctor.records import Record, pip_install
from tfnb.doctor.requirements import module_of, name_of, requirements

__all__ = ["check"]


def check(fix: bool) -> Iterator[Record]:
    """Yields a record for each package that is missing, has a wrong version or does not import; else a single one."""
    try:
        needed = [Requirement(text) for text in requirements()]
    except metadata.PackageNotFoundError:  # the check of Python says that and what helps
        return
    needed = [one for one in needed if one.marker is None or one.marker.evaluate()]
    bad = [record for requirement in needed if (record := _record_of(requirement)) is not None]
    yield from bad
    if not bad:
        yield Record("packages", "ok", f"{len(needed)} packages are there, within their bounds, and import")


def _record_of(requirement: Requirement) -> Record | None:
    """What is wrong with a package; None if nothing is."""
    name, command = requirement.name, pip_install("--upgrade", str(requirement).split(";")[0].strip())
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Record("packages", "wrong", f"{name} is missing", command)
    if not requirement.specifier.contains(version, prereleases=True):
        return Record("packages", "wrong", f"{name} is {version}; needed {requirement.specifier}", command)
    module = module_of(name_of(str(requirement)))
    try:
        import_module(module)
    except Exception as error:  # a broken package may raise anything
        again = pip_install("--force-reinstall", "--no-deps", f"{name}=={version}")
        return Record("packages", "wrong", f"{name} {version} does not import: {type(error).__name__}: {error}", again)
    return None
