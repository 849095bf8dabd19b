"""`make release-check`: builds what would be published, and tries it as strangers install it.

    python scripts/release_check.py [--pythons python3.10 python3.13 ...] [--lowest PYTHON] [--out FOLDER]

The source distribution is built twice and the wheel is built from it without node; both must have the same bytes each
time, and hold what they should and nothing of this machine. The wheel is installed for each Python in a folder with a
space in its name, with the highest versions of all packages, and once with the lowest ones that pyproject.toml
permits. There a small training runs with a home that cannot be written, and prints nothing but its own line.
Invariant: nothing of the checkout is imported by what is tried, and the checkout is not changed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from email import message_from_bytes
from functools import partial
from pathlib import Path

__all__ = ["Wrong", "build", "check_contents", "lowest", "main", "run", "without_node"]

ROOT = Path(__file__).resolve().parents[1]
EPOCH = "1700000000"  # the time that archives note for all files, so that two builds are equal
TRAINING = """
import numpy as np, tfnb as tf
x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.layers.dense(x, 8, tf.nn.tanh), 1) - y))
step = tf.train.AdamOptimizer(0.05).minimize(loss)
rng = np.random.default_rng(0)
xs = rng.standard_normal((200, 3)).astype(np.float32)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, step], {x: xs, y: xs.sum(1, keepdims=True)})[0] for _ in range(100)]
assert losses[-1] < 0.1 * losses[0], losses[::20]
import tfnb.notebook.viewer, tfnb.session.dask, tfnb.v1.keras
print("loss", losses[0], "->", losses[-1])
"""
# What may be in an archive, by the first part of its path below the package's own folder.
IN_SDIST = {
    "CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "SECURITY.md", ".gitignore", "pyproject.toml",
    "hatch_build.py", "examples", "kernels_cl", "labextension", "scripts", "tfnb",
}  # fmt: skip
IN_WHEEL = {"tfnb"}
UNWANTED = re.compile(
    r"(^|/)(__pycache__|node_modules|\.venv[^/]*|tests|\.git)(/|$)"
    r"|\.(pyc|map|rej|swp)$|(?<!/schemas/tfnb/package\.json)\.orig$"  # that one JupyterLab's builder writes
)


class Wrong(Exception):
    """What a check found."""


def run(command: Iterable[object], **options: object) -> str:
    """Runs a command and returns what it printed. Raises `Wrong` with the end of that if it fails."""
    done = subprocess.run(  # type: ignore[call-overload]
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    if done.returncode:
        raise Wrong(f"{' '.join(map(str, command))[:200]}\n" + "\n".join(done.stdout.splitlines()[-15:]))
    return str(done.stdout)


def files_of(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the name and the content of each file; names in a source distribution are without its own folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            yield from ((name, wheel.read(name)) for name in wheel.namelist() if not name.endswith("/"))
        return
    with tarfile.open(archive) as source:
        for member in source.getmembers():
            content = source.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name.partition("/")[2], content.read()


def check_contents(archive: Path, version: str, places: Iterable[str]) -> str:
    """Returns how many files there are. Raises `Wrong` for a file that should not be there, or that names a place of
    this machine."""
    allowed = IN_WHEEL | {f"tfnb-{version}.dist-info", f"tfnb-{version}.data"} if archive.suffix == ".whl" else IN_SDIST
    wanted = {"tfnb/__init__.py", "tfnb/notebook/static/viewer.js", "tfnb/public_names.txt"}
    count = size = 0
    for name, content in files_of(archive):
        count, size = count + 1, size + len(content)
        wanted.discard(name)
        if name.split("/")[0] not in allowed or UNWANTED.search(name):
            raise Wrong(f"{archive.name} has {name}")
        found = [place for place in places if place.encode() in content]
        if found:
            raise Wrong(f"{name} in {archive.name} names {found[0]}")
    if wanted:
        raise Wrong(f"{archive.name} lacks {sorted(wanted)}")
    return f"{count} files, {size / 1e6:.1f} MB unpacked, {archive.stat().st_size / 1e6:.1f} MB packed"


def requirements_of(wheel: Path) -> list[str]:
    """Returns what a wheel asks for; what is installed of the checkout may be older."""
    (metadata,) = [content for name, content in files_of(wheel) if name.endswith(".dist-info/METADATA")]
    return message_from_bytes(metadata).get_all("Requires-Dist", [])


def lowest(requirements: Iterable[str]) -> list[str]:
    """Returns the lowest version that each requirement permits, as constraints of pip; extras have none."""
    needed = [r for r in requirements if "extra ==" not in r]
    found = [re.match(r"([\w.-]+)(?:\[[^]]*])?[^>;]*>=([\w.]+)", r) for r in needed]
    return [f"{match[1]}=={match[2]}" for match in found if match]


def without_node() -> dict[str, str]:
    """An environment in which no node and no npm is found."""
    folders = os.environ["PATH"].split(os.pathsep)
    kept = [f for f in folders if not any((Path(f) / name).exists() for name in ("node", "npm"))]
    return {**os.environ, "PATH": os.pathsep.join(kept)}


def build(out: Path) -> tuple[Path, Path]:
    """Builds the source distribution, and the wheel from it without node."""
    epoch = {"SOURCE_DATE_EPOCH": EPOCH}
    command = [sys.executable, "-m", "build", "--no-isolation"]
    run([*command, "--sdist", ROOT, "--outdir", out], env=os.environ | epoch)
    (source,) = out.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(source, folder, filter="data")
        run([*command, "--wheel", next(Path(folder).iterdir()), "--outdir", out], env=without_node() | epoch)
    (wheel,) = out.glob("*.whl")
    return source, wheel


def digests(archives: Iterable[Path]) -> list[str]:
    return [hashlib.sha256(a.read_bytes()).hexdigest() for a in archives]


def try_installed(wheel: Path, python: str, folder: Path, constraints: list[str]) -> str:
    """Installs the wheel in a new environment and trains in it; returns what was installed."""
    home = folder / "a home"
    shutil.rmtree(folder, ignore_errors=True)
    run([python, "-m", "venv", folder / "an environment"])
    there = folder / "an environment" / "bin"
    (folder / "constraints.txt").write_text("\n".join(constraints) + "\n")
    run([there / "python", "-m", "pip", "install", "-q", "-c", folder / "constraints.txt", wheel], cwd=folder)
    run([there / "python", "-m", "pip", "check"], cwd=folder)
    program = folder / "training.py"
    program.write_text(TRAINING)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "XDG", "TFNB"))}
    home.write_text("")  # no folder can be made below a file
    environment |= {
        "HOME": str(home / "of nobody"),
        "TFNB_CACHE_DIR": str(folder / "cache"),
        "PATH": f"{there}{os.pathsep}/usr/bin:/bin",
    }
    told = run([there / "python", "-W", "error::DeprecationWarning:tfnb", program], cwd=folder, env=environment)
    if len(told.splitlines()) != 1:
        raise Wrong(f"a training of one line prints\n{told}")
    version = run([there / "tfnb", "--version"], cwd=folder, env=environment).strip()
    packages = run([there / "python", "-m", "pip", "list", "--format=freeze"], cwd=folder).splitlines()
    size = sum(f.stat().st_size for f in (folder / "an environment").rglob("*") if f.is_file())
    numpy = next(p for p in packages if p.startswith("numpy=="))
    return f"{version}; {len(packages)} packages with {numpy}, {size / 1e6:.0f} MB; {told.splitlines()[-1]}"


def check(title: str, act: Callable[[], str]) -> bool:
    """Runs a check and prints its line."""
    start = time.monotonic()
    try:
        told, mark = act(), "ok"
    except Wrong as e:
        told, mark = str(e), "WRONG"
    print(f"{mark:6}{title}: {told} ({time.monotonic() - start:.0f} s)", flush=True)
    return mark == "ok"


def main() -> int:
    """Runs all checks; returns 1 if one of them found something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pythons", nargs="*", default=[sys.executable])
    parser.add_argument(
        "--lowest", default="", help="the Python that is tried with the lowest versions; none: left out"
    )
    parser.add_argument("--out", default="dist", help="where the archives go")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="release ") as name:
        return _checks(arguments, Path(name))


def _checks(arguments: argparse.Namespace, folder: Path) -> int:
    version = run([sys.executable, "-c", "from tfnb.release import VERSION; print(VERSION)"], cwd=ROOT).strip()
    archives: list[Path] = []

    def equal() -> str:
        archives.extend(build(folder / "one"))
        if digests(archives) != digests(build(folder / "two")):
            raise Wrong("two builds differ")
        return ", ".join(a.name for a in archives)

    if not check("built twice, the wheel without node, with equal bytes", equal):
        return 1
    places = {str(ROOT), str(Path.home()), str(folder)} - {"/"}
    good = [check(f"contents of {a.name}", partial(check_contents, a, version, places)) for a in archives]
    good.append(check("descriptions", lambda: _described(archives)))
    for python in arguments.pythons:
        shown = run([python, "-c", "import platform; print(platform.python_version())"]).strip()
        good.append(check(f"Python {shown}", partial(try_installed, archives[1], python, folder / "high est", [])))
    if arguments.lowest:
        constraints = lowest(requirements_of(archives[1]))
        act = partial(try_installed, archives[1], arguments.lowest, folder / "low est", constraints)
        good.append(check("the lowest versions", act))
    if all(good):
        Path(arguments.out).mkdir(exist_ok=True)
        for archive in archives:
            shutil.copy(archive, arguments.out)
    return 0 if all(good) else 1


def _described(archives: Iterable[Path]) -> str:
    """Returns what twine says of the archives' metadata, among them the page that an index would show."""
    run([sys.executable, "-m", "twine", "check", "--strict", *archives])
    return "as an index wants them"


if __name__ == "__main__":
    sys.exit(main())
