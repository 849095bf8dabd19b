"""What a newcomer reads where something is missing: at most three lines, with the command that helps."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from broken_machine import ROOT, Machine

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
PROGRAM = """
import tfnb as tf
try:
    tf.Session()
except tf.OpError as e:
    print(e)
"""


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def says(machine, *command, cwd=ROOT, status=0):
    """The lines that a command writes, of which a newcomer needs no more than three."""
    done = subprocess.run(
        [*map(str, command)],
        # A make that runs the tests would let its child tell of the folders that it enters.
        env={name: value for name, value in machine.env.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")},
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == status, done.stdout
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("make: ", "setting up"))]
    assert 1 <= len(lines) <= 3, done.stdout
    return lines


@pytest.mark.opencl
def test_no_platform(machine):
    machine.env["OCL_ICD_VENDORS"] = str(machine.folder / "nowhere")
    fault, helps, doctor = says(machine, sys.executable, "-c", PROGRAM)
    assert fault.startswith("no OpenCL platform was found") and "tfnb doctor opencl" in doctor
    assert helps.startswith(f"PoCL runs on any CPU: {sys.executable} -m pip install")


def test_no_pyopencl(machine):
    machine.block("pyopencl")
    fault, helps, doctor = says(machine, sys.executable, "-c", PROGRAM)
    assert fault == "OpenCL cannot be used: No module named 'pyopencl'" and "tfnb doctor opencl" in doctor
    assert "-m pip install" in helps


def test_no_pyopencl_in_an_environment_of_conda(machine):
    """There PoCL is a package of its own."""
    machine.block("pyopencl")
    (machine.folder / "conda-meta").mkdir()
    program = f"import sys; sys.prefix = {str(machine.folder)!r}\n{PROGRAM}"
    helps = says(machine, sys.executable, "-c", program)[1]
    assert helps == "PoCL runs on any CPU: conda install -c conda-forge pyopencl pocl"


def test_an_old_python(machine):
    """The version is looked at before anything that it could not read."""
    program = """
import sys
sys.version_info, sys.version = (3, 9, 2), "3.9.2 (default)"
try:
    import tfnb
except ImportError as e:
    print(e)
assert not {"tfnb.errors", "tfnb.frontend"} & set(sys.modules)
"""
    fault, helps = says(machine, sys.executable, "-c", program)
    assert fault == f"tfnb needs Python 3.10 or later; {sys.executable} is 3.9.2"
    assert "python3.12 -m venv NEW" in helps


@needs_make
def test_an_old_python_or_none_for_make(machine):
    old = machine.folder / "python3.9"
    # As it is called: python3.9 -c PROGRAM.
    wrapped = "import sys; sys.version_info, sys.version = (3, 9, 2), '3.9.2'; exec(sys.argv[1])"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{wrapped}" "$2"\n')
    old.chmod(0o755)
    checkout = a_checkout(machine.folder / "checkout")
    (told,) = says(machine, "make", f"PYTHON={old}", "demo", cwd=checkout, status=2)
    assert told.startswith("tfnb needs Python 3.10 or later") and told.endswith("make PYTHON=python3.12 demo")
    (told,) = says(machine, "make", "PYTHON=python3.99", "demo", cwd=checkout, status=2)
    assert told.startswith("there is no python3.99") and told.endswith("make PYTHON=python3.12 demo")


@needs_make
def test_pip_without_a_network(machine):
    """An index where nobody answers: pip alone says so six times in long lines for each package."""
    checkout = a_checkout(machine.folder / "checkout")
    machine.env |= {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1", "PIP_CONFIG_FILE": os.devnull}
    machine.env.pop("PIP_EXTRA_INDEX_URL", None)
    fault, fetch, again = says(machine, "make", f"PYTHON={sys.executable}", "demo", cwd=checkout, status=2)
    assert fault.startswith("pip could not install") and "pip.log" in fault and "ERROR" in fault
    assert "pip wheel --wheel-dir WHEELS" in fetch and "'.[test]'" in fetch
    assert again.endswith(f"PIP_NO_INDEX=1 PIP_FIND_LINKS={checkout}/WHEELS make demo")
    assert "127.0.0.1" in (checkout / "pip.log").read_text()


def a_checkout(folder: Path) -> Path:
    """What `make` needs of a checkout until pip runs."""
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("scripts", "labextension", "tfnb"):
        (folder / name).mkdir()
    shutil.copy(ROOT / "scripts" / "frontend.py", folder / "scripts")
    shutil.copy(ROOT / "tfnb" / "release.py", folder / "tfnb")
    return folder


@pytest.mark.parametrize("found", ["none", "old", "offline"])
def test_no_front_end(machine, found):
    """Without node, with an old one, and with one whose npm reaches nobody."""
    checkout = a_checkout(machine.folder / "checkout")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / "labextension" / name, checkout / "labextension")
    folders = os.environ["PATH"].split(os.pathsep)
    kept = [f for f in folders if not any((Path(f) / name).exists() for name in ("node", "npm"))]
    if found == "none":
        machine.env["PATH"] = os.pathsep.join(kept)
    elif found == "old":
        for name, text in (("node", "echo v18.19.1"), ("npm", "exit 1")):
            path = machine.folder / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        machine.env["PATH"] = os.pathsep.join((str(machine.folder / "bin"), *kept, "/bin"))
    elif shutil.which("npm") is None:
        pytest.skip("no npm")
    else:
        machine.env |= {"npm_config_registry": "http://127.0.0.1:9/", "npm_config_fetch_retries": "0"}
        machine.env |= {"npm_config_cache": str(machine.folder / "npm")}
    fault, helps, rest = says(machine, sys.executable, checkout / "scripts" / "frontend.py", cwd=checkout)
    told = {
        "none": "node and npm was not found",
        "old": "node 18.19.1 was found",
        "offline": "request to http://127.0.0.1:9/",
    }
    assert told[found] in fault
    assert helps.endswith(f"python {checkout}/scripts/frontend.py") and "pictures" in rest
