"""A wheel, a wheel by way of an sdist, and the checkout hold the same package, kernels and digits."""

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def digest(content):
    return hashlib.sha256(content).hexdigest()


def shipped(folder, suffixes):
    return {
        path.relative_to(ROOT).as_posix(): digest(path.read_bytes())
        for path in sorted((ROOT / folder).rglob("*"))
        if path.is_file() and path.suffix in suffixes
    }


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheel built from the checkout, and the one built from the sdist."""
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation"]
    for what in (["--wheel", str(ROOT), "--outdir", out / "direct"], [str(ROOT), "--outdir", out]):
        done = subprocess.run(
            [*build, *map(str, what)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return [*(out / "direct").glob("*.whl"), *out.glob("*.whl")]


def test_wheels_hold_the_package(wheels):
    direct, by_sdist = wheels
    expected = shipped("tfnb", {".py", ".js", ".css", ".gz", ".md", ".typed"})
    kernels = shipped("kernels_cl", {".cl", ".clh"})
    assert kernels
    expected |= {f"tfnb/{name}": content for name, content in kernels.items()}
    for wheel in (direct, by_sdist):
        with zipfile.ZipFile(wheel) as archive:
            found = {n: digest(archive.read(n)) for n in archive.namelist() if "dist-info" not in n}
        assert {n: c for n, c in found.items() if n in expected} == expected
        strangers = [n for n in found if n not in expected and not n.endswith(".md")]
        assert strangers == []


@pytest.mark.opencl
def test_the_wheel_works_away_from_the_checkout(wheels, tmp_path):
    """Unpacked elsewhere, it finds its kernels and digits: a matrix product is a library kernel."""
    with zipfile.ZipFile(wheels[1]) as archive:
        archive.extractall(tmp_path / "site")
    program = tmp_path / "program.py"
    program.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, tfnb as tf\n"
        "assert tf.__file__.startswith(sys.argv[1]), tf.__file__\n"
        "x = np.ones((64, 64), np.float32)\n"
        "p = tf.placeholder(tf.float32, [64, 64])\n"
        "with tf.Session() as sess:\n"
        "    assert (sess.run(tf.matmul(p, p), {p: x}) == 64).all()\n"
        "assert tf.datasets.mnist.read_data_sets().train.num_examples == 8000\n"
        "assert tf.notebook.LossPlot\n"
    )
    done = subprocess.run(
        [sys.executable, program, tmp_path / "site"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
