"""A machine for `tfnb doctor`: a home of its own, and faults that are made with files and environment variables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(next(p for p in sys.path if p.endswith("site-packages")))
_FAMILIES = ("TFNB_", "POCL_", "OCL_", "OPENCL_", "JUPYTER", "XDG_", "OMP_", "OPENBLAS_", "MKL_", "DASK_")


class Machine:
    """`doctor(*checks)` runs the command on it; what it has found is in `records`, its status in `status`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.home.mkdir()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(_FAMILIES)}
        self.env |= {"HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        self.before: list[str] = []  # a command that starts the doctor
        self.user: str | int | None = None
        self.limit: Callable[[], None] | None = None
        self.records: list[dict[str, str]] = []
        self.status = -1

    @property
    def cache(self) -> Path:
        return self.home / ".cache" / "tfnb"

    def first_on_path(self, name: str, text: str = "") -> Path:
        """Writes a file, by its path below a folder that Python searches first; returns its path."""
        first = self.folder / "first"
        path = first / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if not self.env["PYTHONPATH"].startswith(str(first)):
            self.env["PYTHONPATH"] = os.pathsep.join((str(first), self.env["PYTHONPATH"]))
        return path

    def metadata(self, name: str, version: str, **fields: str) -> None:
        """Installs metadata of a distribution, before those that are there."""
        lines = [f"{key.replace('_', '-')}: {value}" for key, value in fields.items()]
        text = "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines, ""])
        self.first_on_path(f"{name.replace('-', '_')}-{version}.dist-info/METADATA", text)

    def block(self, *modules: str) -> None:
        """Lets the import of modules fail, in all processes."""
        self.first_on_path(
            "sitecustomize.py",
            "import sys\n"
            "class Blocked:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            f"        if name.partition('.')[0] in {modules}:\n"
            "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
            "sys.meta_path.insert(0, Blocked())\n",
        )

    def doctor(self, *checks: str, fix: bool = False, python: str = sys.executable) -> Machine:
        command = [*self.before, python, "-m", "tfnb", "doctor", "--json", *(["--fix"] if fix else []), *checks]
        done = subprocess.run(
            command,
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            user=self.user,
            preexec_fn=self.limit,
        )
        assert done.stdout.startswith("{"), done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        told = json.loads(done.stdout)
        self.records, self.status = told["records"], done.returncode
        assert (self.status == 1) == bool(told["wrong"]) == any(r["state"] == "wrong" for r in self.records)
        return self

    def find(self, state: str, *texts: str) -> str:
        """Returns the command of the only record of this state that has all these texts."""
        found = [r for r in self.records if r["state"] == state and all(t in r["text"] for t in texts)]
        assert len(found) == 1, self.records
        return found[0]["command"]

    def states(self) -> set[str]:
        return {r["state"] for r in self.records}


def linked(source: Path, target: Path, without: Sequence[str]) -> Path:
    """Makes a folder of links to what is in `source`, without some paths below it; returns it."""
    inside = {name.partition("/")[0]: [] for name in without}
    for name in without:
        head, _, rest = name.partition("/")
        inside[head] += [rest] if rest else []
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.name not in inside:
            (target / path.name).symlink_to(path)
        elif inside[path.name]:
            linked(path, target / path.name, inside[path.name])
    return target
