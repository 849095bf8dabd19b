"""Builds the browser's side out of labextension/, if what lies there is not made of these sources already.

`python scripts/frontend.py` builds, and gives an editable install of this environment the new extension; `make` calls
it, and so does the build hook of wheels. Invariant: a digest of all sources lies with what was made of them, so a
checkout, a source distribution and a second call know without node that nothing is to be done.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (20, 19)


class CannotBuild(RuntimeError):
    """What building needs is not on this machine: node, npm or the packages."""


class FrontEnd:
    """Sources and products below one checkout."""

    def __init__(self, root: Path = ROOT) -> None:
        self.folder = root / "labextension"
        self.static = root / "tfnb" / "notebook" / "static"
        self.extension = root / "tfnb" / "labextension"
        self.stamp = self.extension / "sources.sha256"

    def sources(self) -> Iterator[Path]:
        """All files that the products are made of."""
        for name in ("package.json", "package-lock.json"):
            yield self.folder / name
        for part in ("schema", "scripts", "src"):
            yield from (path for path in sorted((self.folder / part).rglob("*")) if path.is_file())
        made = {path.stem for path in self.products()}
        for path in sorted(self.static.rglob("*")):  # what is written by hand
            if path.is_file() and not (path.parent == self.static and path.stem in made):
                yield path

    def products(self) -> list[Path]:
        """The widgets' modules and style sheets, by the names of their sources."""
        names = [path.stem for path in sorted((self.folder / "src" / "widgets").glob("*.ts"))]
        return [self.static / f"{name}.js" for name in names]

    def digest(self) -> str:
        found = hashlib.sha256()
        for path in self.sources():
            content = path.read_bytes()
            found.update(f"{path.name}\0{len(content)}\0".encode())
            found.update(content)
        return found.hexdigest()

    def current(self) -> bool:
        """Is everything there, and made of these sources?"""
        made = [*self.products(), self.extension / "package.json", self.stamp]
        return all(path.exists() for path in made) and self.stamp.read_text() == self.digest()

    def build(self) -> None:
        """Installs the packages where they are not those of the lock file, and builds.

        Raises `CannotBuild`, or `CalledProcessError` after the failing program has said why.
        """
        npm, node = shutil.which("npm"), shutil.which("node")
        if npm is None or node is None:
            missing = " and ".join(n for n, at in (("node", node), ("npm", npm)) if at is None)
            raise CannotBuild(_needed(f"{missing} was not found"))
        told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
        version = told.stdout.strip().lstrip("v")
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            raise CannotBuild(_needed(f"node {version} was found"))
        if not self._installed():
            command = [npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"]
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CannotBuild(_needed(f"`npm ci` in labextension/ failed ({_first_line(done.stderr)})"))
            self._record.write_text(self._lock_digest())
        subprocess.run([node, "scripts/build.mjs"], cwd=self.folder, check=True)
        self.stamp.write_text(self.digest())

    def _installed(self) -> bool:
        """Are the packages those of the lock file? A link is somebody's own choice and is left alone."""
        if (self.folder / "node_modules").is_symlink():
            return True
        return self._record.exists() and self._record.read_text() == self._lock_digest()

    @property
    def _record(self) -> Path:
        return self.folder / "node_modules" / ".lock.sha256"

    def _lock_digest(self) -> str:
        return hashlib.sha256((self.folder / "package-lock.json").read_bytes()).hexdigest()

    def give(self, prefix: Path) -> bool:
        """Brings the extension of an editable install up to date; was there one?"""
        there = prefix / "share" / "jupyter" / "labextensions" / "tfnb"
        if not (there / "package.json").exists() or there.is_symlink():
            return False
        shutil.rmtree(there)
        shutil.copytree(self.extension, there)
        return True


def _first_line(told: str) -> str:
    """The first thing that npm says of its own accord: what follows are codes, addresses and places of logs."""
    lines = [line.removeprefix("npm error").strip() for line in told.splitlines()]
    said = [line for line in lines if line and not line.startswith(("code ", "syscall ", "errno "))]
    return said[0][:160] if said else "it says nothing"


def _needed(fault: str) -> str:
    oldest = ".".join(map(str, OLDEST))
    return (
        f"the browser's side of tfnb is not built: {fault}.\n"
        f"It takes node {oldest} or later with npm, and a network once; then: python {Path(__file__).resolve()}"
    )


def main() -> int:
    front_end = FrontEnd()
    if not front_end.current():
        try:
            front_end.build()
        except CannotBuild as fault:
            print(f"NOTE: {fault}\nEverything else works: there are pictures instead of live widgets.")
            return 0
        except subprocess.CalledProcessError as fault:
            print(f"the browser's side could not be built: {fault}")
            return 1
    front_end.give(Path(sys.prefix))
    return 0


if __name__ == "__main__":
    sys.exit(main())
